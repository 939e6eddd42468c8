/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Data and errors of a file: what is not yet on disk, the latch, COMMIT, truncation. See file.h.
 *
 * The latch is a reference on the file: as long as an error is latched the file stays in the table,
 * whoever puts it. It ends by truncation to 0, by expiry, or with the volume.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "file.h"
#include "file_internal.h"

bool file_is_unsynced(const struct file *file)
{
	return atomic_load(&file->written) != atomic_load(&file->synced);
}

void file_note_written(struct file *file)
{
	atomic_fetch_add(&file->written, 1);
}

static void note_synced(struct file *file, uint64_t upto)
{
	uint64_t before = atomic_load(&file->synced);

	while (before < upto && !atomic_compare_exchange_weak(&file->synced, &before, upto))
		;
}

/*
 * A failed sync counts as one: the kernel marked the pages clean and told the error once per
 * descriptor (mm/filemap.c, file_check_and_advance_wb_err()), a second fsync would succeed. From
 * here on the latch tells it.
 */
static int sync_now(struct file *file, int fd, uint64_t written)
{
	int rc;

	do
		rc = fsync(fd) != 0 ? -errno : 0;
	while (rc == -EINTR);
	if (rc != 0 && rc != -EINVAL && rc != -EROFS && rc != -EBADF)
		file_latch(file, -rc);
	note_synced(file, written);
	return rc;
}

/* File lock held, given up in between */
static void sync_round(struct file *file, int fd)
{
	int writer = file->descriptor[FD_WRITE].fd;
	uint64_t written = atomic_load(&file->written);
	int rc;

	file->sync_running = true;
	file->sync_started++;
	pthread_mutex_unlock(&file->lock);
	rc = sync_now(file, writer >= 0 ? writer : fd, written);
	pthread_mutex_lock(&file->lock);
	file->sync_running = false;
	file->sync_finished = file->sync_started;
	file->sync_rc = rc;
	pthread_cond_broadcast(&file->sync_done);
}

/*
 * One sync of a file at a time: those who come meanwhile share the next one. Besides saving syncs
 * this makes errors safe: the fsync that consumed one has latched it before another, that would
 * no longer see it, begins or is answered.
 */
int file_sync(struct file *file, int fd, _Atomic uint64_t *counter)
{
	uint64_t round;
	int rc;

	pthread_mutex_lock(&file->lock);
	round = file->sync_started + 1;
	while (file->sync_running && file->sync_finished < round)
		pthread_cond_wait(&file->sync_done, &file->lock);
	if (file->sync_finished < round) {
		counter_add(counter, 1);
		sync_round(file, fd);
	}
	rc = file->sync_rc;
	pthread_mutex_unlock(&file->lock);
	return rc;
}

/* --- the latch --- */

int file_error(const struct file *file)
{
	return -atomic_load(&file->error);
}

/* File lock held. No latch outlives its volume. */
static void retain(struct file *file)
{
	struct file_table *table = file->table;

	if (volume_is_closing(file->volume))
		return;
	file_ref(file);
	pthread_mutex_lock(&table->lru_lock);
	TAILQ_INSERT_TAIL(&table->latched, file, latched);
	file->is_latched = true;
	file->quiet_since = 0;
	pthread_mutex_unlock(&table->lru_lock);
}

void file_latch(struct file *file, int error)
{
	const struct file_table_config *config = &file->table->config;
	bool first;

	pthread_mutex_lock(&file->lock);
	first = atomic_load(&file->error) == 0;
	if (first) {
		volume_bump_error_epoch(file->volume);
		atomic_store(&file->error, error);
		retain(file);
		pthread_cond_broadcast(&file->credit);
	}
	pthread_mutex_unlock(&file->lock);
	if (!first)
		return;
	counter_add(&file->table->counters.errors_latched, 1);
	if (config->on_latch != NULL)
		config->on_latch(file->volume, &file->handle, error, config->arg);
}

void file_unlatch(struct file *file)
{
	struct file_table *table = file->table;
	bool retained;

	pthread_mutex_lock(&file->lock);
	atomic_store(&file->error, 0);
	pthread_mutex_lock(&table->lru_lock);
	retained = file->is_latched;
	if (retained)
		TAILQ_REMOVE(&table->latched, file, latched);
	file->is_latched = false;
	pthread_mutex_unlock(&table->lru_lock);
	pthread_mutex_unlock(&file->lock);
	if (retained)
		file_put(file);
}

void file_downgrade(struct file *file, enum io_mode mode, int error)
{
	const struct file_table_config *config = &file->table->config;

	if (volume_downgrade(file->volume, mode, error) && config->on_downgrade != NULL)
		config->on_downgrade(file->volume, mode, error, config->arg);
}

/* --- COMMIT --- */

/* What a stream still holds when it is committed */
struct tail {
	struct taken queued;
	struct range_list open;
};

static void tail_take(struct file *file, struct tail *tail)
{
	file_take_windows(file, &tail->open);
	writeback_take(file->volume, file, &tail->queued);
}

static void tail_drop(struct file *file, struct tail *tail, int fd)
{
	struct file_counters *counters = file_counters_of(file);
	struct drop *drop;

	writeback_take_rest(file->volume, file, &tail->queued);
	for (unsigned int i = 0; i < tail->queued.busy_count; i++)
		writeback_drop_pages(file, fd, tail->queued.busy[i]);
	while ((drop = TAILQ_FIRST(&tail->queued.drops)) != NULL) {
		TAILQ_REMOVE(&tail->queued.drops, drop, queue);
		writeback_drop_pages(file, fd, drop->range);
		counter_add(&counters->windows_dropped, 1);
		writeback_end(drop, range_len(drop->range));
	}
	for (unsigned int i = 0; i < tail->open.count; i++) {
		writeback_drop_pages(file, fd, tail->open.range[i]);
		counter_add(&counters->windows_dropped, 1);
		file_credit(file, range_len(tail->open.range[i]));
	}
	pthread_mutex_lock(&file->lock);
	if (file->tracker != NULL)
		window_settle(file->tracker);
	pthread_mutex_unlock(&file->lock);
}

int file_commit(struct file *file, int fd)
{
	struct tail tail;
	int rc, latched;

	tail_take(file, &tail);
	rc = file_sync(file, fd, &file->table->counters.syncs_commit);
	tail_drop(file, &tail, fd);
	latched = file_error(file);
	return latched != 0 ? latched : rc;
}

/* --- other events --- */

static void consume_error(int fd)
{
	(void)sync_file_range(fd, 0, 1, SYNC_FILE_RANGE_WAIT_BEFORE);
}

/*
 * The kernel tells an error once per descriptor. One of the two has told it, the other would latch
 * it again, on a file that is a new one.
 */
static void forget_told(struct file *file)
{
	int helper = file_helper_fd(file);
	int writer = file_acquire_open(file);

	if (helper >= 0) {
		consume_error(helper);
		file_helper_release(file);
	}
	if (writer >= 0) {
		consume_error(writer);
		file_release(file, true);
	}
}

void file_truncated(struct file *file, uint64_t size)
{
	pthread_mutex_lock(&file->lock);
	if (file->tracker != NULL)
		window_truncate(file->tracker, size);
	if (size == 0)
		file->reader = (struct reader){ 0 };
	pthread_cond_broadcast(&file->credit);
	pthread_mutex_unlock(&file->lock);
	if (size == 0 && file_error(file) != 0) {
		forget_told(file);
		file_unlatch(file);
	}
}

void file_closed(struct file *file)
{
	file_flush_windows(file);
	reader_finish(file);
	file_forget_windows(file);
}

void file_credit(struct file *file, uint64_t bytes)
{
	pthread_mutex_lock(&file->lock);
	file->queued -= bytes < file->queued ? bytes : file->queued;
	file->credited += bytes;
	if (file->waiting > 0)
		pthread_cond_broadcast(&file->credit);
	pthread_mutex_unlock(&file->lock);
}
