/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READ: exact counts in every mode, and only streams that nobody else had in the cache leave it.
 */
/* wrap: preadv2 preadv64v2 posix_fadvise posix_fadvise64 fsync */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "file_fixture.h"
#include "kernel_abi.h"

#define SIZE (48 * MIB)

static const enum io_mode all_modes[] = { IO_MODE_AUTO, IO_MODE_DONTCACHE, IO_MODE_RANGE,
					  IO_MODE_BUFFERED, IO_MODE_PASSTHROUGH };

/*
 * A file of @size bytes, on disk and not in the cache. Pages that readahead still has in flight
 * can't be dropped: a test that counts to the page does without.
 */
static struct file *cold_file(uint64_t size, bool readahead)
{
	struct file *file = fixture_file("f");
	int fd;

	fixture_mode(IO_MODE_BUFFERED, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_write(file, 0, size, false), (ssize_t)size);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	fd = file_acquire(file, false);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!readahead)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	file_release(file, false);
	CU_ASSERT_EQUAL(fixture_cached(file), 0);
	return file;
}

static bool read_through(struct file *file, uint64_t size, uint64_t by)
{
	for (uint64_t at = 0; at < size; at += by) {
		if (fixture_read(file, at, by) != (ssize_t)(size - at < by ? size - at : by))
			return false;
	}
	return true;
}

static void counts_are_exact_at_the_end(void)
{
	struct file *file = cold_file(6 * MIB + 77, true);

	for (unsigned int i = 0; i < 5; i++) {
		fixture_mode(all_modes[i], 32 * MIB);
		CU_ASSERT(read_through(file, 6 * MIB + 77, MIB));
		CU_ASSERT_EQUAL(fixture_read(file, 6 * MIB, 77), 77);
		CU_ASSERT_EQUAL(fixture_read(file, 6 * MIB + 77, 10), 0);
		CU_ASSERT_EQUAL(fixture_read(file, 100 * MIB, 10), 0);
		CU_ASSERT_EQUAL(fixture_read(file, 5 * MIB, 0), 0);
	}
	file_put(file);
}

static void a_stream_leaves_nothing_behind(void)
{
	static const uint64_t sizes[] = { 65536, MIB, 4 * MIB };
	struct file *file = cold_file(SIZE + 123, true);

	for (unsigned int i = 0; i < 9; i++) {
		fixture_mode(all_modes[i % 3], 32 * MIB);
		CU_ASSERT(read_through(file, SIZE + 123, sizes[i / 3]));
		CU_ASSERT(fixture_cached(file) <= SIZE / 100);
	}
	file_put(file);
}

static void the_bound_holds_on_the_way(void)
{
	struct file *file = cold_file(SIZE, true);
	uint64_t cached, peak = 0;

	fixture_mode(IO_MODE_RANGE, 8 * MIB);
	for (uint64_t at = 0; at < SIZE; at += MIB) {
		CU_ASSERT_EQUAL(fixture_read(file, at, MIB), (ssize_t)MIB);
		cached = fixture_cached(file);
		peak = cached > peak ? cached : peak;
	}
	CU_ASSERT(peak <= SIZE / 2); /* the lag, a window, and readahead: 8 MiB on some disks */
	file_put(file);
}

static void what_was_resident_stays(void)
{
	struct file *file = cold_file(SIZE, true);
	uint64_t before;

	fixture_mode(IO_MODE_BUFFERED, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_read(file, 8 * MIB, 16 * MIB), (ssize_t)(16 * MIB));
	before = fixture_cached(file); /* with what readahead brought in */
	for (unsigned int i = 0; i < 3; i++) {
		fixture_mode(all_modes[i], 32 * MIB);
		CU_ASSERT(read_through(file, SIZE, MIB));
		CU_ASSERT(fixture_cached(file) + 2 * MIB >= before);
		CU_ASSERT(fixture_cached(file) <= before + 2 * MIB);
		file_closed(file);
	}
	file_put(file);
}

static void small_files_stay_cached(void)
{
	struct file *file = cold_file(3 * MIB, true);

	fixture_mode(IO_MODE_RANGE, MIB);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT(read_through(file, 3 * MIB, 65536));
	CU_ASSERT_EQUAL(fixture_cached(file), 3 * MIB);
	file_put(file);
}

static void random_reads_are_left_to_the_kernel(void)
{
	struct file *file = cold_file(SIZE, true);

	fixture_mode(IO_MODE_RANGE, MIB);
	mock_reset();
	for (uint64_t i = 0; i < 2000; i++)
		CU_ASSERT_EQUAL(fixture_read(file, i * 7919 % 12000 * 4096, 4096), 4096);
	CU_ASSERT_EQUAL(mock_calls(MOCK_POSIX_FADVISE), 0);
	file_put(file);
}

static void an_idle_stream_loses_its_tail(void)
{
	struct file *file = cold_file(SIZE, false);
	struct timespec now;

	fixture_mode(IO_MODE_RANGE, 32 * MIB);
	CU_ASSERT(read_through(file, SIZE / 2, MIB));
	CU_ASSERT(fixture_cached(file) > 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	file_table_sweep(fixture.table, (uint64_t)now.tv_sec + 3);
	CU_ASSERT_EQUAL(fixture_cached(file), 0);
	file_put(file);
}

static void a_refused_flag_is_given_up_once_and_for_all(void)
{
	struct file *file = cold_file(SIZE, true);

	fixture_mode(IO_MODE_DONTCACHE, 32 * MIB);
	if (volume_mode(fixture.volume, IO_MODE_DONTCACHE) == IO_MODE_DONTCACHE) {
		CU_ASSERT(read_through(file, 6 * MIB, MIB));
		CU_ASSERT_EQUAL(mock_record(MOCK_PREADV2, 5).flags, RWF_DONTCACHE);
		mock_fail(MOCK_PREADV2, EOPNOTSUPP);
		CU_ASSERT_EQUAL(fixture_read(file, 6 * MIB, MIB), (ssize_t)MIB);
		CU_ASSERT_EQUAL(fixture_read(file, 7 * MIB, MIB), (ssize_t)MIB);
		CU_ASSERT_EQUAL(mock_record(MOCK_PREADV2, 8).flags, 0);
		CU_ASSERT_EQUAL(mock_calls(MOCK_PREADV2), 9);
		CU_ASSERT_EQUAL(atomic_load(&fixture.downgrades), 1);
	}
	file_put(file);
}

static void errors_reach_the_caller(void)
{
	struct file *file = cold_file(MIB, true);

	mock_fail(MOCK_PREADV2, EIO);
	CU_ASSERT_EQUAL(fixture_read(file, 0, 4096), -EIO);
	CU_ASSERT_EQUAL(fixture_commit(file), 0); /* what is read is not what was written */
	file_put(file);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "counts are exact at the end", counts_are_exact_at_the_end },
		{ "a stream leaves nothing behind", a_stream_leaves_nothing_behind },
		{ "the bound holds on the way", the_bound_holds_on_the_way },
		{ "what was resident stays", what_was_resident_stays },
		{ "small files stay cached", small_files_stay_cached },
		{ "random READs are left to the kernel", random_reads_are_left_to_the_kernel },
		{ "an idle stream loses its tail", an_idle_stream_loses_its_tail },
		{ "a refused flag is given up once and for all",
		  a_refused_flag_is_given_up_once_and_for_all },
		{ "errors reach the caller", errors_reach_the_caller },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("file_read", tests);
}
