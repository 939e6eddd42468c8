/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Page cache residency on a real file, by cachestat(2) and by mincore(2), which have to agree.
 */
/* wrap: syscall mmap mmap64 mincore */
#include "residency.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "kernel_abi.h"
#include "mock.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static const struct residency untouched = { 11, 22, 33 };

static int scratch_file(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

/* Where FADV_DONTNEED has nothing to fall back on, residency can't be changed */
static bool can_drop(int fd)
{
	struct statfs fs;

	CU_ASSERT_FATAL(fstatfs(fd, &fs) == 0);
	return fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

static void fill(int fd, uint64_t offset, size_t len)
{
	char *data = malloc(len);

	CU_ASSERT_FATAL(data != NULL);
	memset(data, 'x', len);
	CU_ASSERT_FATAL(pwrite(fd, data, len, (off_t)offset) == (ssize_t)len);
	CU_ASSERT_FATAL(fsync(fd) == 0);
	free(data);
}

static uint64_t cached(int fd, uint64_t offset, uint64_t len)
{
	struct residency r = untouched;

	CU_ASSERT_EQUAL(residency_of(fd, offset, len, &r), 0);
	return r.cached;
}

static void check_drop(int fd)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	fill(fd, 0, 4 * MIB);
	CU_ASSERT_EQUAL(cached(fd, 0, 0), 4 * MIB);
	CU_ASSERT_EQUAL(cached(fd, MIB, MIB), MIB);
	CU_ASSERT_EQUAL(cached(fd, page + 1, page), 2 * page);
	CU_ASSERT_EQUAL(cached(fd, 3 * MIB, 0), MIB);
	CU_ASSERT_EQUAL(cached(fd, 3 * MIB, UINT64_MAX), MIB);
	CU_ASSERT_EQUAL(cached(fd, 16 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(posix_fadvise(fd, 0, KERNEL_FOLIO_MAX, POSIX_FADV_DONTNEED), 0);
	if (can_drop(fd)) {
		CU_ASSERT_EQUAL(cached(fd, 0, KERNEL_FOLIO_MAX), 0);
		CU_ASSERT_EQUAL(cached(fd, 0, 0), 4 * MIB - KERNEL_FOLIO_MAX);
	}
}

static bool have_cachestat(int fd)
{
	struct kernel_cachestat_range range = { 0, 0 };
	struct kernel_cachestat stat;

	return kernel_cachestat(fd, &range, &stat) == 0;
}

static void by_cachestat_sees_a_drop(void)
{
	int fd = scratch_file();

	if (have_cachestat(fd)) {
		check_drop(fd);
		CU_ASSERT_EQUAL(mock_calls(MOCK_MINCORE), 0);
	} else {
		puts(" (no cachestat in this kernel: mincore tested instead)");
		check_drop(fd);
	}
	close(fd);
}

static void by_mincore_sees_the_same(void)
{
	const int absent[] = { ENOSYS, EPERM };

	for (unsigned int i = 0; i < 2; i++) {
		int fd = scratch_file();

		mock_reset();
		mock_always(MOCK_CACHESTAT, -1, absent[i]);
		check_drop(fd);
		CU_ASSERT(mock_calls(MOCK_MINCORE) > 0);
		close(fd);
	}
}

/* More pages than one mincore() is asked for, most of them holes */
static void by_mincore_counts_across_slices(void)
{
	int fd = scratch_file();

	mock_always(MOCK_CACHESTAT, -1, ENOSYS);
	fill(fd, 0, MIB);
	fill(fd, 39 * MIB, MIB + 1);
	CU_ASSERT_EQUAL(cached(fd, 0, 0), 2 * MIB + (uint64_t)sysconf(_SC_PAGESIZE));
	CU_ASSERT_EQUAL(mock_calls(MOCK_MINCORE), 3);
	CU_ASSERT_EQUAL(cached(fd, MIB, 38 * MIB), 0);
	close(fd);
}

static void counts_become_bytes(void)
{
	const struct kernel_cachestat stat = { .nr_cache = 7, .nr_dirty = 3, .nr_writeback = 2 };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct residency r = untouched;

	mock_push_data(MOCK_CACHESTAT, 0, &stat, sizeof(stat));
	CU_ASSERT_EQUAL(residency_of(5, 4096, 8192, &r), 0);
	CU_ASSERT_EQUAL(r.cached, 7 * page);
	CU_ASSERT_EQUAL(r.dirty, 3 * page);
	CU_ASSERT_EQUAL(r.writeback, 2 * page);
	CU_ASSERT_EQUAL(mock_record(MOCK_CACHESTAT, 0).fd, 5);
	CU_ASSERT_EQUAL(mock_record(MOCK_CACHESTAT, 0).offset, 4096);
	CU_ASSERT_EQUAL(mock_record(MOCK_CACHESTAT, 0).len, 8192);
}

static void check_failure(int fd, int want)
{
	struct residency r = untouched;

	CU_ASSERT_EQUAL(residency_of(fd, 0, 0, &r), want);
	CU_ASSERT_EQUAL(memcmp(&r, &untouched, sizeof(r)), 0);
}

static void failures_leave_the_result_alone(void)
{
	int fd = scratch_file();

	fill(fd, 0, MIB);
	check_failure(-1, -EBADF);
	mock_fail(MOCK_CACHESTAT, EOPNOTSUPP);
	check_failure(fd, -EOPNOTSUPP);
	CU_ASSERT_EQUAL(mock_calls(MOCK_MINCORE), 0);
	mock_always(MOCK_CACHESTAT, -1, ENOSYS);
	check_failure(-1, -EBADF);
	mock_fail(MOCK_MINCORE, EAGAIN);
	check_failure(fd, -EAGAIN);
	mock_fail(MOCK_MMAP, EACCES);
	check_failure(fd, -EACCES);
	close(fd);
}

static void empty_file_holds_nothing(void)
{
	int fd = scratch_file();

	CU_ASSERT_EQUAL(cached(fd, 0, 0), 0);
	mock_always(MOCK_CACHESTAT, -1, EPERM);
	CU_ASSERT_EQUAL(cached(fd, 0, 0), 0);
	CU_ASSERT_EQUAL(cached(fd, UINT64_MAX - 5, 0), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_MMAP), 0);
	close(fd);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "cachestat sees a drop", by_cachestat_sees_a_drop },
		{ "mincore sees the same", by_mincore_sees_the_same },
		{ "mincore counts across slices", by_mincore_counts_across_slices },
		{ "counts become bytes", counts_become_bytes },
		{ "failures leave the result alone", failures_leave_the_result_alone },
		{ "empty file holds nothing", empty_file_holds_nothing },
		CU_TEST_INFO_NULL,
	};

	return unit_run("residency", mock_reset, tests);
}
