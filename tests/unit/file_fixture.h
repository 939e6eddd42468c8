/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume, a table and files on the filesystem of the current folder, for tests of file objects.
 * The files are real; system calls fail or block where a test says so (mock.h).
 */
#ifndef DROPBEHIND_TEST_FILE_FIXTURE_H
#define DROPBEHIND_TEST_FILE_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <CUnit/Basic.h>

#include "file.h"
#include "mock.h"
#include "volume.h"

#define MIB ((uint64_t)1 << 20)

struct fixture {
	int dir_fd;
	struct volume *volume;
	struct file_table *table;
	struct file_counters *counters;
	struct io_policy policy; /* Auto, 32 MiB */
	atomic_int downgrades;
	atomic_int downgrade_error;
	atomic_int latches;
	atomic_int latch_error;
	atomic_int extras; /* extra_init less extra_fini */
};

extern struct fixture fixture;

/**
 * fixture_begin - end the fixture of the test before and make a new one. Ends the program on
 * failure.
 */
void fixture_begin(void);

/** fixture_begin_limited - the same with a table of @descriptors. */
void fixture_begin_limited(unsigned int descriptors);

/** fixture_end - free everything and remove the files. */
void fixture_end(void);

/**
 * fixture_main - fixture_begin() before each of @tests, fixture_end() after all. Exit status: 77
 * without the rights or the filesystem that the tests need.
 */
int fixture_main(const char *name, CU_TestInfo *tests);

/** fixture_file - the file object of @name, created if need be; the caller puts it. */
struct file *fixture_file(const char *name);

void fixture_mode(enum io_mode mode, uint64_t stream_cache);

/** fixture_write - @len bytes that fixture_read() knows again, in one WRITE. */
ssize_t fixture_write(struct file *file, uint64_t offset, uint64_t len, bool stable);

/** fixture_stream - WRITEs of @size from @offset up to @end. 0, or the first error. */
int fixture_stream(struct file *file, uint64_t offset, uint64_t end, uint64_t size);

/**
 * fixture_read - READ. Returns the count or -errno; -EBADMSG if a byte is neither what
 * fixture_write() wrote there nor a hole.
 */
ssize_t fixture_read(struct file *file, uint64_t offset, uint64_t len);

int fixture_commit(struct file *file);

/** fixture_cached - page cache of the whole file, bytes. */
uint64_t fixture_cached(struct file *file);

/** fixture_wait - until *@counter is at least @value; false after 20 s. */
bool fixture_wait(_Atomic uint64_t *counter, uint64_t value);

/** fixture_wait_dropped - until the helpers dealt with everything that was queued. */
bool fixture_wait_dropped(void);

/** A gate for mock_hook(): calls wait in it while it is closed. */
struct gate {
	atomic_bool closed;
	atomic_uint waiting;
};
void gate_hook(const struct mock_record *record, void *gate);

#endif
