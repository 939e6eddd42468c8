/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What is said of a filesystem follows from what its system calls answered, not from its name.
 */
/* wrap: pwritev2 pwritev64v2 sync_file_range syscall fstatfs fstatfs64 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kernel_abi.h"
#include "mock.h"
#include "unit.h"

static struct volume_probe probe;

/* With calls that succeed without being made; the page is then resident as @resident tells */
static void script(int dontcache_error, int range_error, bool resident)
{
	static struct kernel_cachestat stat;

	stat.nr_cache = resident ? 65536 / (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	mock_reset();
	if (dontcache_error != 0)
		mock_fail(MOCK_PWRITEV2, dontcache_error);
	else
		mock_push(MOCK_PWRITEV2, 65536, 0);
	for (int i = 0; i < 10; i++) {
		if (range_error != 0)
			mock_fail(MOCK_SYNC_FILE_RANGE, range_error);
		else
			mock_push(MOCK_SYNC_FILE_RANGE, 0, 0);
		mock_push_data(MOCK_CACHESTAT, 0, &stat, sizeof(stat));
	}
}

static int probe_here(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = probe_filesystem(fd, &probe);

	close(fd);
	return rc;
}

static void everything_works(void)
{
	script(0, 0, false);
	CU_ASSERT_EQUAL(probe_here("."), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_DONTCACHE);
	CU_ASSERT_EQUAL(probe.dontcache_error, 0);
	CU_ASSERT_EQUAL(probe.range_error, 0);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).flags, RWF_DONTCACHE);
}

static void a_flag_that_is_refused_leaves_range(void)
{
	static const int errors[] = { EOPNOTSUPP, EPERM, ENOSYS, EINVAL };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		script(errors[i], 0, false);
		CU_ASSERT_EQUAL(probe_here("."), 0);
		CU_ASSERT_EQUAL(probe.mode, IO_MODE_RANGE);
		CU_ASSERT_EQUAL(probe.dontcache_error, errors[i]);
	}
}

static void nothing_works(void)
{
	script(EOPNOTSUPP, EPERM, false);
	CU_ASSERT_EQUAL(probe_here("."), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(probe.range_error, EPERM);
}

static void the_flag_alone_is_still_dontcache(void)
{
	script(0, EPERM, false);
	CU_ASSERT_EQUAL(probe_here("."), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_DONTCACHE);
	CU_ASSERT_EQUAL(probe.range_error, EPERM);
}

static void pages_that_stay_mean_no_backing_store(void)
{
	script(EOPNOTSUPP, 0, true);
	CU_ASSERT_EQUAL(probe_here("."), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(probe.range_error, EMEDIUMTYPE);
}

static void no_scratch_file_means_range(void)
{
	mock_reset();
	CU_ASSERT_EQUAL(probe_here("/proc"), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_RANGE);
	CU_ASSERT_NOT_EQUAL(probe.dontcache_error, 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 0);
}

static void a_full_filesystem_means_range(void)
{
	mock_reset();
	mock_always(MOCK_PWRITEV2, -1, ENOSPC);
	CU_ASSERT_EQUAL(probe_here("."), 0);
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_RANGE);
	CU_ASSERT_EQUAL(probe.dontcache_error, ENOSPC);
}

static void failing_statfs_is_an_error(void)
{
	mock_reset();
	mock_fail(MOCK_FSTATFS, EIO);
	memset(&probe, 7, sizeof(probe));
	CU_ASSERT_EQUAL(probe_here("."), -EIO);
	CU_ASSERT_EQUAL(probe.fs_type[0], 7);
}

/* The real calls on a filesystem that every Linux has */
static void tmpfs_is_buffered(void)
{
	mock_reset();
	if (probe_here("/dev/shm") != 0 || strcmp(probe.fs_type, "tmpfs") != 0)
		return;
	CU_ASSERT_EQUAL(probe.mode, IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(probe.range_error, EMEDIUMTYPE);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "everything works", everything_works },
		{ "a flag that is refused leaves Range", a_flag_that_is_refused_leaves_range },
		{ "nothing works", nothing_works },
		{ "the flag alone is still Dontcache", the_flag_alone_is_still_dontcache },
		{ "pages that stay mean no backing store", pages_that_stay_mean_no_backing_store },
		{ "no scratch file means Range", no_scratch_file_means_range },
		{ "a full filesystem means Range", a_full_filesystem_means_range },
		{ "failing statfs is an error", failing_statfs_is_an_error },
		{ "tmpfs is Buffered", tmpfs_is_buffered },
		CU_TEST_INFO_NULL,
	};

	return unit_run("probe", mock_reset, tests);
}
