/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Data that a client believes to be safe: COMMIT, close and the latch. Over-reporting an error is
 * allowed, under-reporting never.
 */
/* wrap: fsync sync_file_range posix_fadvise posix_fadvise64 close pwritev2 pwritev64v2 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "file_fixture.h"

#define STREAM (32 * MIB)

static uint64_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

static void commit_syncs_the_writing_descriptor(void)
{
	struct file *file = fixture_file("f");
	int rw, ro = file_acquire(file, false);

	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
	rw = file_acquire(file, true);
	CU_ASSERT_NOT_EQUAL(rw, ro);
	CU_ASSERT_EQUAL(file_commit(file, ro), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	CU_ASSERT_EQUAL(mock_record(MOCK_FSYNC, 0).fd, rw);
	file_release(file, false);
	file_release(file, true);
	file_put(file);
}

/* What was written before a restart is not known here, and is committed all the same */
static void commit_of_a_file_never_written_syncs(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	file_put(file);
}

static void commit_drops_a_stream_at_once(void)
{
	static const enum io_mode modes[] = { IO_MODE_AUTO, IO_MODE_RANGE, IO_MODE_DONTCACHE };
	struct file *file = fixture_file("f");

	for (unsigned int i = 0; i < 6; i++) { /* a new file, then overwriting it */
		fixture_mode(modes[i % 3], 16 * MIB);
		CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM + 12345, MIB), 0);
		CU_ASSERT_EQUAL(fixture_commit(file), 0);
		CU_ASSERT(fixture_cached(file) <= STREAM / 100);
	}
	CU_ASSERT_EQUAL(fixture_read(file, 0, STREAM + 12345), (ssize_t)(STREAM + 12345));
	file_put(file);
}

static void commit_leaves_small_files_cached(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_stream(file, 0, MIB, MIB / 4), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_cached(file), MIB);
	file_put(file);
}

static void a_committed_file_closes_without_sync(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	file_put(file);
	file = fixture_file("g");
	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), 4096);
	file_put(file);
	file = fixture_file("h");
	CU_ASSERT_EQUAL(fixture_read(file, 0, 4096), 0);
	file_put(file);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 2);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->syncs_close), 0);
}

static void the_last_put_syncs_what_was_not_committed(void)
{
	static const enum io_mode modes[] = { IO_MODE_AUTO, IO_MODE_BUFFERED, IO_MODE_PASSTHROUGH };
	struct file *file;

	for (unsigned int i = 0; i < 3; i++) {
		fixture_mode(modes[i], 16 * MIB);
		file = fixture_file("f");
		file_ref(file);
		CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
		file_put(file);
		CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), i);
		file_put(file);
		CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), i + 1);
	}
}

static void an_error_of_the_last_put_waits_for_the_next_client(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
	mock_fail(MOCK_FSYNC, ENOSPC);
	file_put(file);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 1);
	file = fixture_file("f");
	CU_ASSERT_EQUAL(fixture_commit(file), -ENOSPC);
	file_put(file);
}

static void a_failed_fsync_is_never_retried_into_success(void)
{
	uint64_t epoch = volume_error_epoch(fixture.volume);
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
	mock_fail(MOCK_FSYNC, EIO);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(fixture_commit(file), -EIO);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), -EIO);
	CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
	CU_ASSERT_EQUAL(volume_error_epoch(fixture.volume), epoch + 1);
	CU_ASSERT_EQUAL(atomic_load(&fixture.latches), 1);
	CU_ASSERT_EQUAL(atomic_load(&fixture.latch_error), EIO);
	file_put(file);
}

static void an_interrupted_fsync_is_no_error(void)
{
	struct file *file = fixture_file("f");

	mock_fail(MOCK_FSYNC, EINTR);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 2);
	file_put(file);
}

/* The helpers' wait consumes the error: fsync(2) would not tell it any more */
static void errors_that_helpers_meet_reach_every_commit(void)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT };
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, 16 * MIB);
	for (unsigned int i = 0; i < 3; i++) {
		mock_always(MOCK_SYNC_FILE_RANGE, -1, errors[i]);
		CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM, MIB), 0);
		CU_ASSERT(fixture_wait_dropped());
		mock_always_real(MOCK_SYNC_FILE_RANGE);
		CU_ASSERT_EQUAL(fixture_commit(file), -errors[i]);
		CU_ASSERT_EQUAL(fixture_commit(file), -errors[i]);
		CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), -errors[i]);
		CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, false), 4096);
		file_truncated(file, 4096);
		CU_ASSERT_EQUAL(fixture_commit(file), -errors[i]);
		file_truncated(file, 0);
		CU_ASSERT_EQUAL(fixture_commit(file), 0);
		CU_ASSERT_EQUAL(fixture_write(file, 0, 4096, true), 4096);
	}
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->errors_latched), 3);
	file_put(file);
}

/* On the writer's descriptor a helper would take the error away from an fsync beside it */
static void helpers_wait_on_a_descriptor_that_nobody_syncs(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, 4 * MIB);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(mock_calls(MOCK_SYNC_FILE_RANGE) > 0);
	for (unsigned int i = 0; i < mock_calls(MOCK_SYNC_FILE_RANGE); i++)
		CU_ASSERT_NOT_EQUAL(mock_record(MOCK_SYNC_FILE_RANGE, i).fd,
				    mock_record(MOCK_FSYNC, 0).fd);
	CU_ASSERT_EQUAL(mock_record(MOCK_FSYNC, 0).fd, mock_record(MOCK_PWRITEV2, 0).fd);
	file_put(file);
}

#define CROWD 8

struct crowd {
	struct file *file;
	atomic_uint number;
	atomic_int errors;
};

static void *write_stable(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t offset = atomic_fetch_add(&crowd->number, 1) * 4096;

	if (fixture_write(crowd->file, offset, 4096, true) == -EIO)
		atomic_fetch_add(&crowd->errors, 1);
	return NULL;
}

/* One is in fsync while the others come */
static void crowd_run(struct crowd *crowd)
{
	static struct gate gate; /* hooks may look at it after the test */
	pthread_t thread[CROWD];

	atomic_store(&gate.closed, true);
	mock_hook(MOCK_FSYNC, gate_hook, &gate);
	for (unsigned int i = 0; i < CROWD; i++) {
		pthread_create(&thread[i], NULL, write_stable, crowd);
		while (i == 0 && atomic_load(&gate.waiting) == 0)
			usleep(500);
	}
	while (atomic_load(&fixture.counters->write_requests[IO_MODE_BUFFERED]) < CROWD)
		usleep(500);
	usleep(20000);
	atomic_store(&gate.closed, false);
	for (unsigned int i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
}

static void stable_writes_share_syncs(void)
{
	struct crowd crowd = { .file = fixture_file("f") };

	fixture_mode(IO_MODE_BUFFERED, 4 * MIB);
	crowd_run(&crowd);
	CU_ASSERT_EQUAL(atomic_load(&crowd.errors), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 2);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->syncs_stable_write), 2);
	CU_ASSERT_EQUAL(fixture_read(crowd.file, 0, CROWD * 4096), CROWD * 4096);
	file_put(crowd.file);
}

/* The kernel tells the error to one of the syncs only */
static void an_error_reaches_all_who_sync_at_once(void)
{
	struct crowd crowd = { .file = fixture_file("f") };

	fixture_mode(IO_MODE_BUFFERED, 4 * MIB);
	mock_fail(MOCK_FSYNC, EIO);
	crowd_run(&crowd);
	CU_ASSERT_EQUAL(atomic_load(&crowd.errors), CROWD);
	file_put(crowd.file);
}

static void the_first_error_wins(void)
{
	struct file *file = fixture_file("f");

	file_latch(file, ENOSPC);
	file_latch(file, EIO);
	CU_ASSERT_EQUAL(fixture_commit(file), -ENOSPC);
	CU_ASSERT_EQUAL(atomic_load(&fixture.latches), 1);
	file_put(file);
}

static void a_latch_expires_when_nobody_comes_for_it(void)
{
	struct file *file = fixture_file("f");
	uint64_t now = seconds() + 1000;

	file_latch(file, EIO);
	file_table_sweep(fixture.table, now);
	file_table_sweep(fixture.table, now + 200); /* somebody has it */
	CU_ASSERT_EQUAL(fixture_commit(file), -EIO);
	file_put(file);
	file_table_sweep(fixture.table, now + 300);
	file_table_sweep(fixture.table, now + 399);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 1);
	file_put(fixture_file("f")); /* somebody came by */
	file_table_sweep(fixture.table, now + 450);
	file_table_sweep(fixture.table, now + 540);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 1);
	file_table_sweep(fixture.table, now + 700);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 0);
	file = fixture_file("f");
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	file_put(file);
}

static void a_latch_ends_with_its_volume(void)
{
	struct file *file = fixture_file("f");

	file_latch(file, EIO);
	file_put(file);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 1);
	file_table_forget(fixture.table, fixture.volume);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 0);
}

static void drops_that_are_refused_are_only_counted(void)
{
	struct file *file = fixture_file("f");

	mock_always(MOCK_POSIX_FADVISE, EINVAL, 0);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(atomic_load(&fixture.counters->drop_failures) > 0);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->errors_latched), 0);
	file_put(file);
}

static void a_helper_that_meets_a_missing_call_downgrades(void)
{
	struct file *file = fixture_file("f");

	fixture_mode(IO_MODE_RANGE, 4 * MIB);
	mock_always(MOCK_SYNC_FILE_RANGE, -1, ENOSYS);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(atomic_load(&fixture.downgrades), 1);
	CU_ASSERT_EQUAL(atomic_load(&fixture.downgrade_error), ENOSYS);
	CU_ASSERT_EQUAL(volume_mode(fixture.volume, IO_MODE_RANGE), IO_MODE_BUFFERED);
	file_put(file);
}

static void close_and_idleness_drop_the_tail(void)
{
	struct file *file = fixture_file("f");

	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM + MIB / 2, MIB / 2), 0);
	file_closed(file);
	CU_ASSERT(fixture_wait_dropped());
	CU_ASSERT(fixture_cached(file) <= STREAM / 100);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM + MIB / 2, MIB / 2), 0);
	file_table_sweep(fixture.table, seconds() + 3);
	CU_ASSERT(fixture_wait_dropped());
	CU_ASSERT(fixture_cached(file) <= STREAM / 100);
	file_table_sweep(fixture.table, seconds() + 100); /* no longer watched */
	CU_ASSERT_EQUAL(fixture_stream(file, 0, STREAM, MIB), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT(fixture_cached(file) <= STREAM / 100);
	file_put(file);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "COMMIT syncs the writing descriptor", commit_syncs_the_writing_descriptor },
		{ "COMMIT of a file never written syncs", commit_of_a_file_never_written_syncs },
		{ "COMMIT drops a stream at once", commit_drops_a_stream_at_once },
		{ "COMMIT leaves small files cached", commit_leaves_small_files_cached },
		{ "a committed file closes without sync", a_committed_file_closes_without_sync },
		{ "the last put syncs what was not committed",
		  the_last_put_syncs_what_was_not_committed },
		{ "an error of the last put waits for the next client",
		  an_error_of_the_last_put_waits_for_the_next_client },
		{ "a failed fsync is never retried into success",
		  a_failed_fsync_is_never_retried_into_success },
		{ "an interrupted fsync is no error", an_interrupted_fsync_is_no_error },
		{ "errors that helpers meet reach every COMMIT",
		  errors_that_helpers_meet_reach_every_commit },
		{ "helpers wait on a descriptor that nobody syncs",
		  helpers_wait_on_a_descriptor_that_nobody_syncs },
		{ "stable writes share syncs", stable_writes_share_syncs },
		{ "an error reaches all who sync at once", an_error_reaches_all_who_sync_at_once },
		{ "the first error wins", the_first_error_wins },
		{ "a latch expires when nobody comes for it",
		  a_latch_expires_when_nobody_comes_for_it },
		{ "a latch ends with its volume", a_latch_ends_with_its_volume },
		{ "drops that are refused are only counted",
		  drops_that_are_refused_are_only_counted },
		{ "a helper that meets a missing call downgrades",
		  a_helper_that_meets_a_missing_call_downgrades },
		{ "close and idleness drop the tail", close_and_idleness_drop_the_tail },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("file", tests);
}
