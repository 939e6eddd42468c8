/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume's modes are sticky and what it can't do gives way to what it can; its end is bounded
 * whatever is queued.
 */
/* wrap: sync_file_range posix_fadvise posix_fadvise64 close pthread_create pwritev2 pwritev64v2 */
#include "volume.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "file_fixture.h"
#include "volume_internal.h"

static void a_missing_mode_gives_way_to_the_next(void)
{
	struct volume *volume = fixture.volume;

	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_PASSTHROUGH), IO_MODE_PASSTHROUGH);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_BUFFERED), IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_RANGE), IO_MODE_RANGE);
	volume_downgrade(volume, IO_MODE_DONTCACHE, EOPNOTSUPP);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_AUTO), IO_MODE_RANGE);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_DONTCACHE), IO_MODE_RANGE);
	CU_ASSERT(volume_downgrade(volume, IO_MODE_RANGE, ENOSYS));
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_AUTO), IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_DONTCACHE), IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_RANGE), IO_MODE_BUFFERED);
	CU_ASSERT_EQUAL(volume_mode(volume, IO_MODE_PASSTHROUGH), IO_MODE_PASSTHROUGH);
}

static void only_the_first_downgrade_is_news(void)
{
	struct volume_probe probe;

	CU_ASSERT(volume_downgrade(fixture.volume, IO_MODE_RANGE, EPERM));
	CU_ASSERT_FALSE(volume_downgrade(fixture.volume, IO_MODE_RANGE, ENOSYS));
	CU_ASSERT_FALSE(volume_downgrade(fixture.volume, IO_MODE_BUFFERED, EIO));
	volume_probe_result(fixture.volume, &probe);
	CU_ASSERT_EQUAL(probe.range_error, EPERM);
}

static void auto_reads_are_dropped_by_range(void)
{
	CU_ASSERT_EQUAL(volume_read_mode(fixture.volume, IO_MODE_AUTO), IO_MODE_RANGE);
	CU_ASSERT_EQUAL(volume_read_mode(fixture.volume, IO_MODE_BUFFERED), IO_MODE_BUFFERED);
	volume_downgrade(fixture.volume, IO_MODE_RANGE, ENOSYS);
	CU_ASSERT_NOT_EQUAL(volume_read_mode(fixture.volume, IO_MODE_AUTO), IO_MODE_RANGE);
}

static void the_error_epoch_grows(void)
{
	uint64_t before = volume_error_epoch(fixture.volume);

	volume_bump_error_epoch(fixture.volume);
	CU_ASSERT_EQUAL(volume_error_epoch(fixture.volume), before + 1);
}

static void a_failed_open_closes_the_descriptor(void)
{
	struct volume *volume;
	int fd;

	for (unsigned int thread = 0; thread < 2; thread++) {
		fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		mock_reset();
		for (unsigned int i = 0; i < thread; i++)
			mock_push_real(MOCK_PTHREAD_CREATE);
		mock_fail(MOCK_PTHREAD_CREATE, EAGAIN);
		CU_ASSERT_EQUAL(volume_open(fd, &volume), -EAGAIN);
		CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), -1);
	}
}

/* The helpers hang in the disk with a queue behind them; what is queued is advisory */
static void closing_discards_what_is_queued(void)
{
	static struct gate gate; /* helpers may look at it after the test */
	struct file *file = fixture_file("queued");

	fixture_mode(IO_MODE_RANGE, 256 * MIB);
	atomic_store(&gate.closed, true);
	mock_hook(MOCK_SYNC_FILE_RANGE, gate_hook, &gate);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 64 * MIB, MIB), 0);
	CU_ASSERT(atomic_load(&fixture.counters->windows_queued) >= 7);
	CU_ASSERT_EQUAL(atomic_load(&fixture.counters->windows_dropped), 0);
	CU_ASSERT_EQUAL(fixture_commit(file), 0);
	CU_ASSERT_EQUAL(fixture_stream(file, 64 * MIB, 128 * MIB, MIB), 0);
	file_put(file);
	atomic_store(&gate.closed, false);
	fixture_end();
	CU_ASSERT_EQUAL(fixture.dir_fd, -1);
}

static void *quiesce(void *arg)
{
	volume_quiesce(arg);
	return NULL;
}

/* A helper that hangs in the disk does not keep a throttled writer from ending */
static void closing_wakes_throttled_writers(void)
{
	static struct gate gate; /* helpers may look at it after the test */
	struct file *file = fixture_file("throttled");
	pthread_t closer;

	fixture_mode(IO_MODE_RANGE, 8 * MIB);
	atomic_store(&gate.closed, true);
	mock_hook(MOCK_SYNC_FILE_RANGE, gate_hook, &gate);
	CU_ASSERT_EQUAL(fixture_stream(file, 0, 8 * MIB, MIB), 0);
	pthread_create(&closer, NULL, quiesce, fixture.volume);
	CU_ASSERT_EQUAL(fixture_stream(file, 8 * MIB, 32 * MIB, MIB), 0);
	atomic_store(&gate.closed, false);
	pthread_join(closer, NULL);
	file_put(file);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "a missing mode gives way to the next", a_missing_mode_gives_way_to_the_next },
		{ "only the first downgrade is news", only_the_first_downgrade_is_news },
		{ "Auto READs are dropped by range", auto_reads_are_dropped_by_range },
		{ "the error epoch grows", the_error_epoch_grows },
		{ "a failed open closes the descriptor", a_failed_open_closes_the_descriptor },
		{ "closing discards what is queued", closing_discards_what_is_queued },
		{ "closing wakes throttled writers", closing_wakes_throttled_writers },
		CU_TEST_INFO_NULL,
	};

	return fixture_main("volume", tests);
}
