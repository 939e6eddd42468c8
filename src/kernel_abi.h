/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Kernel interfaces newer than the headers of Debian 12 (glibc 2.36, Linux 6.1). Private to src/
 * and its tests. Whether the running kernel has them is found out by calling, never by its
 * version.
 */
#ifndef DROPBEHIND_KERNEL_ABI_H
#define DROPBEHIND_KERNEL_ABI_H

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

/*
 * include/uapi/linux/fs.h (Linux 6.14): uncached buffered I/O. EOPNOTSUPP where the filesystem
 * lacks FOP_DONTCACHE (include/linux/fs.h, kiocb_set_rw_flags()) or the kernel lacks the flag.
 */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

/*
 * The largest folio of the page cache where a page is 4 KiB (MAX_PAGECACHE_ORDER,
 * include/linux/pagemap.h). FADV_DONTNEED skips a folio that is only partly inside its range
 * (mm/filemap.c, find_lock_entries()), and a WRITE of this size or more makes such folios: ranges
 * to drop have to begin and end at multiples of it, or they leave everything cached.
 */
#define KERNEL_FOLIO_MAX (2U << 20)

/* scripts/syscall.tbl (Linux 6.5): the number is the same on all architectures but alpha */
#if defined(__alpha__)
#define KERNEL_NR_CACHESTAT 561
#else
#define KERNEL_NR_CACHESTAT 451
#endif

/* include/uapi/linux/mman.h: struct cachestat_range, struct cachestat; counts are in pages */
struct kernel_cachestat_range {
	uint64_t off; /* bytes */
	uint64_t len; /* bytes; 0: to the end of the file (mm/filemap.c, cachestat()) */
};

struct kernel_cachestat {
	uint64_t nr_cache;
	uint64_t nr_dirty;
	uint64_t nr_writeback;
	uint64_t nr_evicted;
	uint64_t nr_recently_evicted;
};

/** kernel_cachestat - cachestat(2) with no flags. Returns 0 or -errno. */
static inline int kernel_cachestat(int fd, struct kernel_cachestat_range *range,
				   struct kernel_cachestat *ret)
{
	return syscall((long)KERNEL_NR_CACHESTAT, (long)fd, range, ret, 0L) == 0 ? 0 : -errno;
}

#endif
