/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * WRITE in its modes: what reaches the kernel and how, what stays in the page cache, and that a
 * writer ahead of the disk waits, but never for ever.
 */
/* wrap: pwritev2 pwritev64v2 fsync sync_file_range posix_fadvise posix_fadvise64 */
#include "file.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "file_fixture.h"
#include "kernel_abi.h"
#include "residency.h"

static void unstable_never_syncs(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_stream(file, 0, 16 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 0);
	for (unsigned int i = 0; i < mock_calls(MOCK_PWRITEV2); i++)
		CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, i).flags & ~RWF_DONTCACHE, 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	file_put(file);
}

static void stable_syncs_before_it_returns(void)
{
	static const enum io_mode modes[] = { IO_MODE_AUTO, IO_MODE_RANGE, IO_MODE_BUFFERED,
					      IO_MODE_PASSTHROUGH };
	struct file *file = fixture_file("f");

	for (unsigned int i = 0; i < 4; i++) {
		fixture_mode(modes[i], 16 * MIB);
		mock_reset();
		CU_ASSERT_EQUAL(fixture_write(file, 0, 100000, true), 100000);
		CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
		CU_ASSERT(mock_record(MOCK_FSYNC, 0).order > mock_record(MOCK_PWRITEV2, 0).order);
	}
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->syncs_stable_write), 4);
	file_put(file);
}

static void a_partial_stable_write_syncs_what_it_wrote(void)
{
	struct file *file = fixture_file("f");

	mock_push_part(MOCK_PWRITEV2, 5000);
	mock_fail(MOCK_PWRITEV2, ENOSPC);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 100000, true), 5000);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	mock_fail(MOCK_PWRITEV2, ENOSPC);
	CU_ASSERT_EQUAL(fixture_write(file, 5000, 100000, true), -ENOSPC);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	CU_ASSERT_EQUAL(fixture_commit(file), 0); /* the client was told: nothing is latched */
	file_put(file);
}

static void a_failed_stable_write_is_latched(void)
{
	struct file *file = fixture_file("f");

	mock_fail(MOCK_FSYNC, EIO);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), -EIO);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), -EIO);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 1);
	CU_ASSERT_EQUAL(fixture_commit(file), -EIO);
	file_put(file);
}

static void short_and_interrupted_transfers_go_on(void)
{
	struct file *file = fixture_file("f");

	mock_push_part(MOCK_PWRITEV2, 1);
	mock_fail(MOCK_PWRITEV2, EINTR);
	mock_push_part(MOCK_PWRITEV2, 70000);
	CU_ASSERT_EQUAL(fixture_write(file, 10, 200000, false), 200000);
	CU_ASSERT_EQUAL(fixture_read(file, 0, 300000), 200010);
	file_put(file);
}

static void passthrough_is_nothing_but_the_transfer(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_PASSTHROUGH, MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 16 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 16);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	CU_ASSERT_EQUAL(mock_calls(MOCK_SYNC_FILE_RANGE), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_POSIX_FADVISE), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 16 * MIB);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->write_requests[IO_MODE_PASSTHROUGH]), 16);
	file_put(file);
}

static bool can_dontcache(void)
{
	return volume_mode(fixture.volume, IO_MODE_DONTCACHE) == IO_MODE_DONTCACHE;
}

static void the_flag_is_for_large_writes_of_streams(void)
{
	struct file *file = fixture_file("f");

	if (!can_dontcache())
		return;
	fixture_mode(IO_MODE_DONTCACHE, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_write(file, 0, MIB, false), (ssize_t)MIB);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).flags, 0);
	CU_ASSERT_EQUAL(fixture_stream(file, MIB, 8 * MIB, MIB), 0);
	mock_reset();
	CU_ASSERT_EQUAL(fixture_write(file, 8 * MIB, MIB, false), (ssize_t)MIB);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).flags, RWF_DONTCACHE);
	CU_ASSERT_EQUAL(fixture_write(file, 9 * MIB, 65535, false), 65535);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 1).flags, 0);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->write_requests[IO_MODE_DONTCACHE]), 5);
	file_put(file);
}

static void a_refused_flag_is_given_up_once_and_for_all(void)
{
	static const int errors[] = { EOPNOTSUPP, EPERM, ENOSYS };
	struct file *file;

	for (unsigned int i = 0; i < 3; i++) {
		fixture_begin();
		if (!can_dontcache())
			return;
		fixture_mode(IO_MODE_DONTCACHE, 32 * MIB);
		file = fixture_file("f");
		CU_ASSERT_EQUAL(fixture_stream(file, 0, 4 * MIB, MIB), 0);
		mock_fail(MOCK_PWRITEV2, errors[i]);
		CU_ASSERT_EQUAL(fixture_write(file, 4 * MIB, MIB, false), (ssize_t)MIB);
		CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 4).flags, RWF_DONTCACHE);
		CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 5).flags, 0);
		CU_ASSERT_EQUAL(fixture_stream(file, 5 * MIB, 9 * MIB, MIB), 0);
		CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 10);
		for (unsigned int n = 5; n < 10; n++)
			CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, n).flags, 0);
		CU_ASSERT_EQUAL(atomic_load(&fixture.downgrades), 1);
		CU_ASSERT_EQUAL(atomic_load(&fixture.downgrade_error), errors[i]);
		CU_ASSERT_EQUAL(fixture_commit(file), 0);
		CU_ASSERT_EQUAL(fixture_cached(file), 0);
		CU_ASSERT_EQUAL(fixture_read(file, 0, 10 * MIB), (ssize_t)(9 * MIB));
		file_put(file);
	}
}

/* An immutable file says EPERM too */
static void eperm_of_the_file_is_no_downgrade(void)
{
	struct file *file = fixture_file("f");

	if (!can_dontcache())
		return;
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 4 * MIB, MIB), 0);
	mock_push_times(MOCK_PWRITEV2, 2, -1, EPERM);
	CU_ASSERT_EQUAL(fixture_write(file, 4 * MIB, MIB, false), -EPERM);
	CU_ASSERT_EQUAL(atomic_load(&fixture.downgrades), 0);
	CU_ASSERT(can_dontcache());
	file_put(file);
}

static void small_and_random_writes_are_left_to_the_kernel(void)
{
	struct file *file = fixture_file("f");

	for (uint64_t i = 0; i < 256; i++)
		CU_ASSERT_EQUAL(fixture_write(file, (i * 37 % 256) * MIB, 4096, false), 4096);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 256 * 4096);
	CU_ASSERT_EQUAL(mock_calls(MOCK_SYNC_FILE_RANGE), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_POSIX_FADVISE), 0);
	file_put(file);
}

static void auto_keeps_what_was_resident(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_BUFFERED, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 32 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 32 * MIB);
	fixture_mode(IO_MODE_AUTO, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 64 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 32 * MIB);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 64 * MIB, false), (ssize_t)(64 * MIB));
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 32 * MIB);
	fixture_mode(IO_MODE_RANGE, 32 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 32 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 0);
	file_put(file);
}

static void auto_drops_what_it_brought_in_itself(void)
{
	struct file *file = fixture_file("f");

	for (unsigned int i = 0; i < 3; i++) /* the second pass comes while the first is queued */
		CU_ASSERT_EQUAL(fixture_stream(file, 0, 24 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 0);
	file_put(file);
}

/* Written back, but not yet dropped: resident and clean, and nobody else's */
static void auto_drops_what_helpers_still_have(void)
{
	static struct gate gate; /* helpers may look at it after the test */
	struct file *file = fixture_file("f");
	int fd = file_acquire(file, true);

	volume_downgrade(fixture.volume, IO_MODE_DONTCACHE,
			 EOPNOTSUPP); /* it would drop by itself */
	fixture_mode(IO_MODE_AUTO, 256 * MIB);
	atomic_store(&gate.closed, true);
	mock_hook(MOCK_POSIX_FADVISE, gate_hook, &gate);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 128 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fsync(fd), 0);
	/* all of it but for what the kernel may have reclaimed on a slow machine */
	CU_ASSERT(fixture_cached(file) >= 112 * MIB);
	for (uint64_t at = 0; at < 32 * MIB; at += 8 * MIB)
		CU_ASSERT_EQUAL(fixture_write(file, at, MIB, false), (ssize_t)MIB);
	atomic_store(&gate.closed, false);
	CU_ASSERT(fixture_wait_dropped());
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 32 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), 0);
	file_release(file, true);
	file_put(file);
}

struct sampler {
	struct file *file;
	atomic_bool stop;
	uint64_t peak;
};

static void *sample(void *arg)
{
	struct sampler *sampler = arg;
	uint64_t cached;

	while (!atomic_load(&sampler->stop)) {
		cached = fixture_cached(sampler->file);
		if (cached > sampler->peak)
			sampler->peak = cached;
		usleep(500);
	}
	return NULL;
}

static void check_bound(uint64_t stream_cache, uint64_t size, uint64_t slack)
{
	struct sampler sampler = { .file = fixture_file("bounded") };
	pthread_t thread;

	fixture_mode(IO_MODE_RANGE, stream_cache);
	CU_ASSERT_EQUAL(fixture_write(sampler.file, 0, 4096, false), 4096);
	pthread_create(&thread, NULL, sample, &sampler);
	CU_ASSERT_EQUAL(fixture_stream(sampler.file, 0, 128 * MIB, size), 0);
	CU_ASSERT_EQUAL(fixture_commit(sampler.file), 0);
	atomic_store(&sampler.stop, true);
	pthread_join(thread, NULL);
	CU_ASSERT(sampler.peak <= stream_cache + slack);
	CU_ASSERT_EQUAL(fixture_cached(sampler.file), 0);
	file_put(sampler.file);
}

/* One request in flight, one folio that its last slice completes, and for the smallest cache the
 * WRITEs before the file is known to be a stream */
static void the_cache_bound_holds_during_the_stream(void)
{
	check_bound(16 * MIB, MIB, 3 * MIB);
	check_bound(8 * MIB, 4 * MIB, 6 * MIB);
	check_bound(MIB, MIB / 4, 5 * MIB);
}

static void one_write_larger_than_the_cache_gets_through(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, MIB);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 64 * MIB, false), (ssize_t)(64 * MIB));
	CU_ASSERT_EQUAL(fixture_write(file, 64 * MIB + 1, 64 * MIB, false), (ssize_t)(64 * MIB));
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(fixture_cached(file) <= 128 * MIB / 100);
	file_put(file);
}

/* Every window stays partly covered: nothing would ever be queued by itself */
static void throttling_hands_out_open_windows_first(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 4 * MIB, MIB), 0);
	for (uint64_t at = 4 * MIB; at < 64 * MIB; at += MIB)
		CU_ASSERT_EQUAL(fixture_write(file, at, MIB - 4096, false), (ssize_t)(MIB - 4096));
	CU_ASSERT(atomic_load(&fixture.counters->throttled) > 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(fixture_cached(file) <= MIB);
	file_put(file);
}

struct writer {
	struct file *file;
	int rc;
	atomic_bool done;
};

static void *write_64_mib(void *arg)
{
	struct writer *writer = arg;

	writer->rc = fixture_stream(writer->file, 0, 64 * MIB, MIB);
	atomic_store(&writer->done, true);
	return NULL;
}

static uint64_t bytes_written(void)
{
	uint64_t bytes = 0;

	for (unsigned int mode = 0; mode < IO_MODE_COUNT; mode++)
		bytes += atomic_load(&fixture.counters->write_bytes[mode]);
	return bytes;
}

/* A disk that does not answer: the writer stops within one request of its bound */
static void check_stuck_disk(void (*wake)(struct file *file, struct gate *gate))
{
	struct writer writer = { .file = fixture_file("f") };
	static struct gate gate; /* helpers may look at it after the test */
	pthread_t thread;

	fixture_mode(IO_MODE_RANGE, 8 * MIB);
	atomic_store(&gate.closed, true);
	mock_hook(MOCK_SYNC_FILE_RANGE, gate_hook, &gate);
	pthread_create(&thread, NULL, write_64_mib, &writer);
	while (bytes_written() < 9 * MIB)
		usleep(1000);
	usleep(100000);
	CU_ASSERT_EQUAL(bytes_written(), 9 * MIB);
	CU_ASSERT_FALSE(atomic_load(&writer.done));
	wake(writer.file, &gate);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(writer.rc, 0);
	CU_ASSERT_EQUAL(bytes_written(), 64 * MIB);
	atomic_store(&gate.closed, false);
	file_put(writer.file);
}

static void by_the_disk(struct file *file, struct gate *gate)
{
	(void)file;
	atomic_store(&gate->closed, false);
}

/* Later WRITEs are bounded as before: a failing disk must not fill the memory */
static void by_an_error(struct file *file, struct gate *gate)
{
	file_latch(file, EIO);
	while (bytes_written() < 10 * MIB)
		usleep(1000);
	usleep(100000);
	CU_ASSERT_EQUAL(bytes_written(), 10 * MIB);
	atomic_store(&gate->closed, false);
}

static void a_throttled_writer_waits_for_the_disk(void)
{
	check_stuck_disk(by_the_disk);
}

static void a_latched_error_wakes_throttled_writers(void)
{
	check_stuck_disk(by_an_error);
}

static void a_smaller_cache_takes_effect_under_io(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, 256 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 36 * MIB, MIB), 0);
	fixture_mode(IO_MODE_RANGE, 2 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 36 * MIB, 72 * MIB, MIB), 0);
	fixture_mode(IO_MODE_BUFFERED, 2 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 72 * MIB, 73 * MIB, MIB), 0);
	fixture_mode(IO_MODE_AUTO, 64 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 73 * MIB, 100 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(fixture_cached(file) <= MIB);
	CU_ASSERT_EQUAL(fixture_read(file, 0, 101 * MIB), (ssize_t)(100 * MIB));
	file_put(file);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "UNSTABLE never syncs", unstable_never_syncs },
		{ "stable syncs before it returns", stable_syncs_before_it_returns },
		{ "a partial stable write syncs what it wrote",
		  a_partial_stable_write_syncs_what_it_wrote },
		{ "a failed stable write is latched", a_failed_stable_write_is_latched },
		{ "short and interrupted transfers go on", short_and_interrupted_transfers_go_on },
		{ "Passthrough is nothing but the transfer",
		  passthrough_is_nothing_but_the_transfer },
		{ "the flag is for large writes of streams",
		  the_flag_is_for_large_writes_of_streams },
		{ "a refused flag is given up once and for all",
		  a_refused_flag_is_given_up_once_and_for_all },
		{ "EPERM of the file is no downgrade", eperm_of_the_file_is_no_downgrade },
		{ "small and random writes are left to the kernel",
		  small_and_random_writes_are_left_to_the_kernel },
		{ "Auto keeps what was resident", auto_keeps_what_was_resident },
		{ "Auto drops what it brought in itself", auto_drops_what_it_brought_in_itself },
		{ "Auto drops what helpers still have", auto_drops_what_helpers_still_have },
		{ "the cache bound holds during the stream",
		  the_cache_bound_holds_during_the_stream },
		{ "one write larger than the cache gets through",
		  one_write_larger_than_the_cache_gets_through },
		{ "throttling hands out open windows first",
		  throttling_hands_out_open_windows_first },
		{ "a throttled writer waits for the disk", a_throttled_writer_waits_for_the_disk },
		{ "a latched error wakes throttled writers",
		  a_latched_error_wakes_throttled_writers },
		{ "a smaller cache takes effect under I/O", a_smaller_cache_takes_effect_under_io },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("file_write", tests);
}
