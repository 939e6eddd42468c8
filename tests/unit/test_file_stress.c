/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Everything at once, for the sanitizers: streams, small and stable WRITEs, READs, COMMITs,
 * truncation, close, errors, sweeps and reaping, on a few files from several threads, with a policy
 * that changes under them. Content is checked by every READ, leaks and counts at the end.
 */
/* wrap: fsync */
#include "file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "file_fixture.h"
#include "unit.h"

#define THREADS 6
#define FILES 40
#define HOT_FILES 4    /* get half of the operations */
#define DESCRIPTORS 24 /* what all threads and helpers can pin at most, and a few */
#define SECONDS 2      /* and as long as it takes to drop WINDOWS */
#define WINDOWS 20
#define AREA (24 * MIB)

static atomic_uint seeds;
static atomic_uint wrong;
static atomic_bool stop;

static bool is_expected(int64_t rc)
{
	return rc >= 0 || rc == -EIO; /* latched by another thread */
}

static int64_t stream_some(struct file *file, uint64_t *random)
{
	uint64_t size = (uint64_t)65536 << unit_below(random, 5);
	uint64_t at = unit_below(random, AREA / size) * size;
	uint64_t end = at + unit_below(random, 16) * MIB;

	return fixture_stream(file, at, end < AREA ? end : AREA, size);
}

static int64_t one_operation(struct file *file, uint64_t *random)
{
	uint64_t offset = unit_below(random, AREA);

	switch (unit_below(random, 16)) {
	case 0:
		return fixture_commit(file);
	case 1:
		file_truncated(file, unit_below(random, 4) == 0 ? 0 : offset);
		return 0;
	case 2:
		file_closed(file);
		return 0;
	case 3:
		if (unit_below(random, 8) == 0)
			file_latch(file, EIO);
		return 0;
	case 4:
		return fixture_write(file, offset, unit_below(random, 5000), true);
	case 5:
		fixture_mode((enum io_mode)unit_below(random, IO_MODE_COUNT),
			     (1 + unit_below(random, 8)) * MIB);
		return 0;
	case 6:
	case 7:
		return fixture_write(file, offset, unit_below(random, 5000), false);
	case 8:
	case 9:
	case 10:
		return fixture_read(file, offset, unit_below(random, 3 * MIB));
	default:
		return stream_some(file, random);
	}
}

static struct file *file_of(uint64_t number)
{
	char name[16];

	snprintf(name, sizeof(name), "f%u", (unsigned int)number);
	return fixture_file(name);
}

static void *worker(void *arg)
{
	uint64_t random = atomic_fetch_add(&seeds, 1) + 1;
	struct file *file;
	uint64_t files;
	int64_t rc;

	(void)arg;
	while (!atomic_load(&stop)) {
		files = unit_below(&random, 2) == 0 ? HOT_FILES : FILES;
		file = file_of(unit_below(&random, files));
		rc = one_operation(file, &random);
		file_put(file);
		if (!is_expected(rc)) {
			fprintf(stderr, "unexpected: %lld\n", (long long)rc);
			atomic_fetch_add(&wrong, 1);
		}
	}
	return NULL;
}

static void *sweeper(void *arg)
{
	struct timespec now;
	const struct timespec pause = { .tv_nsec = 5000000 };
	unsigned int round = 0;
	uint64_t ahead;

	(void)arg;
	while (!atomic_load(&stop)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ahead = round++ % 50 == 49 ? 300 : round % 3; /* most let a stream come to be */
		file_table_sweep(fixture.table, (uint64_t)now.tv_sec + ahead);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void everything_at_once(void)
{
	const struct timespec duration = { .tv_sec = SECONDS };
	/* as a metadata cache would; the hot ones come and go */
	struct file *held[FILES - HOT_FILES];
	pthread_t thread[THREADS + 1];

	fixture_begin_limited(DESCRIPTORS);
	mock_always(MOCK_FSYNC, 0, 0); /* else the disk would be all that is tested */
	for (unsigned int i = 0; i < FILES - HOT_FILES; i++)
		held[i] = file_of(HOT_FILES + i);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	pthread_create(&thread[THREADS], NULL, sweeper, NULL);
	nanosleep(&duration, NULL);
	CU_ASSERT(fixture_wait(&fixture.counters->windows_dropped, WINDOWS));
	atomic_store(&stop, true);
	for (unsigned int i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int i = 0; i < FILES - HOT_FILES; i++)
		file_put(held[i]);
	CU_ASSERT_EQUAL(atomic_load(&wrong), 0);
	CU_ASSERT(atomic_load(&fixture.counters->descriptors) <= DESCRIPTORS);
	CU_ASSERT(atomic_load(&fixture.counters->reaped) > 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "everything at once", everything_at_once },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("file_stress", tests);
}
