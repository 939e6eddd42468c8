/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Page cache residency: see residency.h. cachestat(2) answers in one call and knows dirty pages;
 * mincore(2) needs a mapping, a byte per page, and knows only presence.
 */
#include "residency.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kernel_abi.h"
#include "range.h"

#define VEC_PAGES 4096 /* pages asked of one mincore() */

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int by_cachestat(int fd, uint64_t offset, uint64_t len, struct residency *ret)
{
	/* A length that wraps would hide the end from the kernel: to the end, then */
	struct kernel_cachestat_range range = { .off = offset,
						.len = len > UINT64_MAX - offset ? 0 : len };
	struct kernel_cachestat stat = { 0 };
	int rc = kernel_cachestat(fd, &range, &stat);

	if (rc < 0)
		return rc;
	*ret = (struct residency){
		.cached = stat.nr_cache * page_size(),
		.dirty = stat.nr_dirty * page_size(),
		.writeback = stat.nr_writeback * page_size(),
	};
	return 0;
}

static int count_resident(unsigned char *map, size_t len, uint64_t *ret_pages)
{
	unsigned char vec[VEC_PAGES];
	size_t page = page_size();
	uint64_t pages = 0;

	for (size_t at = 0; at < len; at += VEC_PAGES * page) {
		size_t part = len - at < VEC_PAGES * page ? len - at : VEC_PAGES * page;

		if (mincore(map + at, part, vec) < 0)
			return -errno;
		for (size_t i = 0; i < part / page; i++)
			pages += vec[i] & 1;
	}
	*ret_pages = pages;
	return 0;
}

static int by_mincore(int fd, uint64_t offset, uint64_t len, struct residency *ret)
{
	struct byte_range r = range_make(offset, len == 0 ? UINT64_MAX : len);
	uint64_t pages = 0;
	struct stat st;
	void *map;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = range_round_out(range_intersect(r, range_make(0, (uint64_t)st.st_size)), page_size());
	if (range_len(r) > 0) {
		map = mmap(NULL, range_len(r), PROT_READ, MAP_SHARED, fd, (off_t)r.start);
		if (map == MAP_FAILED)
			return -errno;
		rc = count_resident(map, range_len(r), &pages);
		munmap(map, range_len(r));
		if (rc < 0)
			return rc;
	}
	*ret = (struct residency){ .cached = pages * page_size() };
	return 0;
}

int residency_of(int fd, uint64_t offset, uint64_t len, struct residency *ret)
{
	int rc = by_cachestat(fd, offset, len, ret);

	if (rc == -ENOSYS || rc == -EPERM)
		rc = by_mincore(fd, offset, len, ret);
	return rc;
}
