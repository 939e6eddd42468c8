/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The sizes that exports offered last, kept over restarts: a mounted NFSv3 client never asks FSINFO
 * again, so what it was once told must not shrink behind its back.
 *
 * A text file with a line "export_id max_read max_write" each; written anew and renamed, so that a
 * crash leaves the old or the new one. Lines that don't parse are ignored.
 */
#ifndef DROPBEHIND_SIZE_STORE_H
#define DROPBEHIND_SIZE_STORE_H

#include <stdint.h>

#include "sizes.h"

/**
 * size_store_get - what @export_id offered last, bytes, into @ret_sizes; zeroes if unknown.
 * Returns 0 or -errno (a file that does not exist is no error).
 */
int size_store_get(const char *path, uint16_t export_id, uint64_t ret_sizes[SIZE_DIRECTIONS]);

/** size_store_put - remember @sizes for @export_id. Returns 0 or -errno. The caller serialises. */
int size_store_put(const char *path, uint16_t export_id, const uint64_t sizes[SIZE_DIRECTIONS]);

#endif
