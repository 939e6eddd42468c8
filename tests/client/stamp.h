/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Test data that says where it belongs. Content is a function of file id,
 * generation and file offset, defined per sector of 512 bytes: each sector
 * starts with magic, file id, its own offset, generation and a check word; the
 * rest is a fixed pattern. So a block that is lost, stale, torn, misplaced or
 * from another file never verifies, down to half of a 1 KiB write.
 */
#ifndef NFSCLIENT_STAMP_H
#define NFSCLIENT_STAMP_H

#include <stddef.h>
#include <stdint.h>

struct stamp {
	uint64_t file_id;
	uint32_t generation;
};

/* The id that a file gets when none is given: a hash of its last component. */
uint64_t stamp_file_id(const char *path);

/* Fills len bytes at buf with the content of [offset, offset + len). */
void stamp_fill(const struct stamp *stamp, void *buf, size_t len, uint64_t offset);

/*
 * The same for a buffer that stamp_fill() filled before for an offset equal
 * modulo 512 and the same length: writes only the stamps, 1/16 of the bytes.
 */
void stamp_refill(const struct stamp *stamp, void *buf, size_t len, uint64_t offset);

/* Returns len when all is as expected, else the index of the first wrong byte. */
size_t stamp_verify(const struct stamp *stamp, const void *buf, size_t len, uint64_t offset);

#endif
