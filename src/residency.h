/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How much of a file is in the page cache: cachestat(2) (Linux 6.5), else mmap(2) + mincore(2).
 * EPERM and ENOSYS from cachestat (container seccomp filters, older kernels) both mean absent.
 *
 * Whole pages are counted: a range that ends inside a page counts all of it. To a caller who
 * neither owns nor may write the file, mincore(2) reports every page as present (mm/mincore.c,
 * can_do_mincore()) and cachestat(2) refuses: ask with root's credentials.
 */
#ifndef DROPBEHIND_RESIDENCY_H
#define DROPBEHIND_RESIDENCY_H

#include <stdint.h>

struct residency {
	uint64_t cached;    /* bytes resident */
	uint64_t dirty;	    /* bytes dirty; 0 where only mincore is available */
	uint64_t writeback; /* bytes under writeback; 0 where only mincore is available */
};

/**
 * residency_of - page cache held by [@offset, @offset + @len) of @fd; @len 0 means to the end.
 * @fd: open for reading (mmap(2) needs it).
 * Returns 0 or -errno; @ret is untouched on failure. A range beyond the end holds nothing.
 */
int residency_of(int fd, uint64_t offset, uint64_t len, struct residency *ret);

#endif
