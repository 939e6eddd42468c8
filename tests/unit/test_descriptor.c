/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Descriptors: few, never closed under their user, never closed with an error that nobody was told.
 */
/* wrap: open_by_handle_at close fsync pwritev2 pwritev64v2 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "file_fixture.h"
#include "unit.h"

#define LIMIT 8 /* the smallest that a table takes */

static void open_files(struct file **file, unsigned int count)
{
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		file[i] = fixture_file(name);
	}
}

static void put_files(struct file **file, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		file_put(file[i]);
}

static void readers_use_what_is_open(void)
{
	struct file *file = fixture_file("f");
	int fd;

	CU_ASSERT_EQUAL(file_acquire_open(file), -EBADF);
	fd = file_acquire(file, false);
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	file_release(file, false);
	fd = file_acquire(file, true);
	CU_ASSERT_EQUAL(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	CU_ASSERT_EQUAL(file_acquire(file, false), fd);
	CU_ASSERT_EQUAL(file_acquire_open(file), fd);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->descriptors), 2);
	CU_ASSERT_EQUAL(mock_calls(MOCK_OPEN_BY_HANDLE_AT), 2);
	for (int i = 0; i < 3; i++)
		file_release(file, i == 0);
	file_put(file);
}

static void one_object_per_inode(void)
{
	struct file *file = fixture_file("f");
	struct file *other = fixture_file("g");

	CU_ASSERT_PTR_EQUAL(fixture_file("f"), file);
	CU_ASSERT_PTR_NOT_EQUAL(other, file);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 2);
	file_put(file);
	file_put(file);
	file_put(other);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 0);
}

static void many_files_are_found_again(void)
{
	static struct file *file[5000];
	char name[16];
	bool same = true;

	open_files(file, 5000);
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		same = fixture_file(name) == file[i] && same;
		file_put(file[i]);
	}
	CU_ASSERT(same);
	put_files(file, 5000);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->files), 0);
}

static void open_errors_reach_the_caller(void)
{
	static const int errors[] = { EROFS, EACCES, ETXTBSY, EIO };
	struct file *file = fixture_file("f");

	for (unsigned int i = 0; i < 4; i++) {
		mock_fail(MOCK_OPEN_BY_HANDLE_AT, errors[i]);
		CU_ASSERT_EQUAL(file_acquire(file, i % 2 == 0), -errors[i]);
	}
	unlinkat(fixture.dir_fd, "f", 0);
	CU_ASSERT_EQUAL(file_acquire(file, false), -ESTALE);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->descriptors), 0);
	file_put(file);
}

static void the_limit_reaps_idle_descriptors(void)
{
	struct file *file[3 * LIMIT];

	fixture_begin_limited(LIMIT);
	open_files(file, 3 * LIMIT);
	for (unsigned int i = 0; i < 3 * LIMIT; i++) {
		CU_ASSERT(file_acquire(file[i], false) >= 0);
		file_release(file[i], false);
	}
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->descriptors), LIMIT);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->reaped), 2 * LIMIT);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 0);
	put_files(file, 3 * LIMIT);
}

static void a_pinned_descriptor_is_never_reaped(void)
{
	struct file *file[LIMIT + 1];
	int fd[LIMIT];

	fixture_begin_limited(LIMIT);
	open_files(file, LIMIT + 1);
	for (unsigned int i = 0; i < LIMIT; i++)
		fd[i] = file_acquire(file[i], i % 2 == 0);
	CU_ASSERT_EQUAL(file_acquire(file[LIMIT], false), -EMFILE);
	for (unsigned int i = 0; i < LIMIT; i++)
		CU_ASSERT(fcntl(fd[i], F_GETFD) >= 0);
	file_release(file[3], false);
	CU_ASSERT_EQUAL(file_acquire(file[LIMIT], false), fd[3]); /* the number is free again */
	file_release(file[LIMIT], false);
	for (unsigned int i = 0; i < LIMIT; i++) {
		if (i != 3)
			file_release(file[i], i % 2 == 0);
	}
	put_files(file, LIMIT + 1);
}

static void emfile_reaps_and_tries_again(void)
{
	static const int errors[] = { EMFILE, ENFILE };
	struct file *file[2];
	uint64_t reaped;

	for (unsigned int i = 0; i < 2; i++) {
		open_files(file, 2);
		CU_ASSERT(file_acquire(file[0], false) >= 0);
		file_release(file[0], false);
		reaped = atomic_load(&fixture.counters->reaped);
		mock_fail(MOCK_OPEN_BY_HANDLE_AT, errors[i]);
		CU_ASSERT(file_acquire(file[1], i == 1) >= 0);
		file_release(file[1], i == 1);
		CU_ASSERT_EQUAL(atomic_load(&fixture.counters->reaped), reaped + 1);
		CU_ASSERT_EQUAL(file_acquire_open(file[0]), -EBADF);
		CU_ASSERT_EQUAL(atomic_load(&fixture.counters->descriptors), 1);
		put_files(file, 2);
	}
}

static void emfile_with_nothing_to_reap_is_emfile(void)
{
	static const int errors[] = { EMFILE, ENFILE };
	struct file *file = fixture_file("f");

	for (unsigned int i = 0; i < 2; i++) {
		mock_fail(MOCK_OPEN_BY_HANDLE_AT, errors[i]);
		CU_ASSERT_EQUAL(file_acquire(file, false), -EMFILE);
	}
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->descriptors), 0);
	file_put(file);
}

/* Order of the last fsync and of the close of @fd, 0 if there was none */
static unsigned long order_of(enum mock_call call, int fd)
{
	unsigned long order = 0;

	for (unsigned int i = 0; i < mock_calls(call); i++) {
		if (mock_record(call, i).fd == fd)
			order = mock_record(call, i).order;
	}
	return order;
}

static void clean_descriptors_go_first_and_dirty_ones_are_synced(void)
{
	struct file *file[2 * LIMIT];
	int dirty_fd;

	fixture_begin_limited(LIMIT);
	open_files(file, 2 * LIMIT);
	CU_ASSERT_EQUAL(fixture_write(file[0], 0, 4096, false), 4096);
	dirty_fd = file_acquire(file[0], true);
	file_release(file[0], true);
	for (unsigned int i = 1; i < 2 * LIMIT - 1; i++) {
		CU_ASSERT(file_acquire(file[i], false) >= 0);
		file_release(file[i], false);
	}
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 0);
	CU_ASSERT_EQUAL(file_acquire_open(file[0]), dirty_fd);
	file_release(file[0], true);

	for (unsigned int i = 1; i < 2 * LIMIT; i++)
		(void)file_acquire_open(file[i]);
	CU_ASSERT(file_acquire(file[2 * LIMIT - 1], false) >= 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_FSYNC), 1);
	CU_ASSERT(order_of(MOCK_FSYNC, dirty_fd) < order_of(MOCK_CLOSE, dirty_fd));
	CU_ASSERT_EQUAL(file_acquire_open(file[0]), -EBADF);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->syncs_close), 1);
	put_files(file, 2 * LIMIT);
}

static void an_error_met_by_reaping_is_told(void)
{
	struct file *file[2];

	open_files(file, 2);
	CU_ASSERT_EQUAL(fixture_write(file[0], 0, 4096, false), 4096);
	mock_fail(MOCK_OPEN_BY_HANDLE_AT, EMFILE);
	mock_fail(MOCK_FSYNC, EIO);
	CU_ASSERT(file_acquire(file[1], false) >= 0);
	file_release(file[1], false);
	CU_ASSERT_EQUAL(file_acquire_open(file[0]), -EBADF);
	CU_ASSERT_EQUAL(fixture_commit(file[0]), -EIO);
	CU_ASSERT_EQUAL(fixture_commit(file[0]), -EIO);
	put_files(file, 2);
}

#define CROWD_FILES 1000
#define CROWD_THREADS 8
#define CROWD_LIMIT 16

struct crowd {
	struct file *file[CROWD_FILES];
	atomic_uint seed;
	atomic_uint failures;
	atomic_uint over; /* limit */
};

static void *crowd_member(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t seed = atomic_fetch_add(&crowd->seed, 1) + 1;
	struct file *file;

	for (unsigned int i = 0; i < 1000; i++) {
		file = crowd->file[unit_below(&seed, CROWD_FILES)];
		if (unit_below(&seed, 4) == 0 ? fixture_write(file, 0, 512, false) != 512
					      : fixture_read(file, 0, 512) < 0)
			atomic_fetch_add(&crowd->failures, 1);
		if (atomic_load(&fixture.counters->descriptors) > CROWD_LIMIT)
			atomic_fetch_add(&crowd->over, 1);
	}
	return NULL;
}

static void the_limit_holds_in_a_crowd(void)
{
	static struct crowd crowd;
	pthread_t thread[CROWD_THREADS];

	fixture_begin_limited(CROWD_LIMIT);
	mock_always(MOCK_FSYNC, 0, 0);
	open_files(crowd.file, CROWD_FILES);
	for (unsigned int i = 0; i < CROWD_THREADS; i++)
		pthread_create(&thread[i], NULL, crowd_member, &crowd);
	for (unsigned int i = 0; i < CROWD_THREADS; i++)
		pthread_join(thread[i], NULL);
	CU_ASSERT_EQUAL(atomic_load(&crowd.failures), 0);
	CU_ASSERT_EQUAL(atomic_load(&crowd.over), 0);
	CU_ASSERT(atomic_load(&fixture.counters->reaped) > 1000);
	put_files(crowd.file, CROWD_FILES);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "readers use what is open", readers_use_what_is_open },
		{ "one object per inode", one_object_per_inode },
		{ "many files are found again", many_files_are_found_again },
		{ "open errors reach the caller", open_errors_reach_the_caller },
		{ "the limit reaps idle descriptors", the_limit_reaps_idle_descriptors },
		{ "a pinned descriptor is never reaped", a_pinned_descriptor_is_never_reaped },
		{ "EMFILE reaps and tries again", emfile_reaps_and_tries_again },
		{ "EMFILE with nothing to reap is EMFILE", emfile_with_nothing_to_reap_is_emfile },
		{ "clean descriptors go first, dirty ones are synced",
		  clean_descriptors_go_first_and_dirty_ones_are_synced },
		{ "an error met by reaping is told", an_error_met_by_reaping_is_told },
		{ "the limit holds in a crowd", the_limit_holds_in_a_crowd },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("descriptor", tests);
}
