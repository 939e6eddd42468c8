/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * residency [--sum] FILE…: how much of each file is in the page cache, by
 * cachestat(2) (Linux 6.5) and, where the kernel refuses it, mincore(2). Prints
 *   cached=BYTES total=BYTES dirty=BYTES|? by=cachestat|mincore file=FILE
 * and with --sum only the sums. Looking changes nothing: no page is read in.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* The kernel's interface: struct cachestat_range, struct cachestat in linux/mman.h. */
struct range {
	uint64_t offset, length;
};
struct counts {
	uint64_t cache, dirty, writeback, evicted, recently_evicted;
};

struct usage {
	uint64_t cached, total, dirty;
	bool exact; /* dirty is known */
};

static int by_cachestat(int fd, struct usage *ret)
{
	struct range whole = { 0, 0 };
	struct counts counts;
	long page = sysconf(_SC_PAGESIZE);

	if (syscall(SYS_cachestat, fd, &whole, &counts, 0) < 0)
		return -errno;
	ret->cached = counts.cache * page;
	ret->dirty = (counts.dirty + counts.writeback) * page;
	ret->exact = true;
	return 0;
}

static int by_mincore(int fd, struct usage *ret)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = (ret->total + page - 1) / page, i;
	unsigned char *map;
	void *at;
	int err = 0;

	if (pages == 0)
		return 0;
	at = mmap(NULL, ret->total, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	map = malloc(pages);
	if (!map || mincore(at, ret->total, map) < 0)
		err = map ? -errno : -ENOMEM;
	for (i = 0; err == 0 && i < pages; i++)
		ret->cached += (map[i] & 1) * page;
	free(map);
	munmap(at, ret->total);
	return err;
}

static int measure(const char *path, struct usage *ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	err = fstat(fd, &st) < 0 ? -errno : 0;
	if (err == 0) {
		ret->total = st.st_size;
		err = by_cachestat(fd, ret);
		if (err)
			err = by_mincore(fd, ret);
	}
	close(fd);
	return err;
}

static void print(const struct usage *usage, const char *path)
{
	printf("cached=%llu total=%llu ", (unsigned long long)usage->cached,
	       (unsigned long long)usage->total);
	if (usage->exact)
		printf("dirty=%llu by=cachestat", (unsigned long long)usage->dirty);
	else
		printf("dirty=? by=mincore");
	printf(" file=%s\n", path);
}

int main(int argc, char **argv)
{
	bool sum = argc > 1 && strcmp(argv[1], "--sum") == 0;
	struct usage usage, all = { .exact = true };
	int i, err, rc = 0;

	if (argc < 2 + sum || strcmp(argv[1], "--help") == 0) {
		fprintf(stderr, "usage: residency [--sum] FILE…\n");
		return 64;
	}
	for (i = 1 + sum; i < argc; i++) {
		err = measure(argv[i], &usage);
		if (err) {
			fprintf(stderr, "residency: %s: %s\n", argv[i], strerror(-err));
			rc = 1;
			continue;
		}
		all.cached += usage.cached;
		all.total += usage.total;
		all.dirty += usage.dirty;
		all.exact = all.exact && usage.exact;
		if (!sum)
			print(&usage, argv[i]);
	}
	if (sum)
		print(&all, "(sum)");
	return rc;
}
