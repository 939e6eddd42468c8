/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The helpers of a volume: write back, wait, drop, credit.
 *
 * A drop goes through two queues in the order in which it came. The starter submits the writeback
 * of the whole range and passes it on; the dropper waits for it slice by slice, drops each and
 * credits it to the file. Both work without the queue lock, on a pinned descriptor of the file.
 *
 * The wait reports errors of writeback, once per descriptor, whatever part of the file they are of.
 * Helpers latch what they meet, and wait on a descriptor that nobody syncs: an fsync(2) beside them
 * meets the same error by itself, so there is no moment in which only a helper knows of it. That
 * dropping is refused is only counted.
 */
#include "volume_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "file_internal.h"

#define LET_GO_NS 100000000L /* a helper has a slice to end, at the most */

bool writeback_overlaps(struct volume *volume, struct file *file, struct byte_range range)
{
	struct drop *drop;
	bool found = false;

	pthread_mutex_lock(&volume->lock);
	TAILQ_FOREACH(drop, &file->drops, of_file)
	{
		if (range_len(range_intersect(drop->range, range)) > 0)
			found = true;
	}
	pthread_mutex_unlock(&volume->lock);
	return found;
}

/* False if the volume takes no more */
static bool queue_add(struct volume *volume, struct drop *drop)
{
	bool taken = false;

	pthread_mutex_lock(&volume->lock);
	if (!volume_is_closing(volume)) {
		drop->serial = ++volume->last_serial;
		TAILQ_INSERT_TAIL(&drop->file->drops, drop, of_file);
		TAILQ_INSERT_TAIL(&volume->to_start, drop, queue);
		pthread_cond_signal(&volume->startable);
		taken = true;
	}
	pthread_mutex_unlock(&volume->lock);
	return taken;
}

void volume_enqueue(struct volume *volume, struct file *file, struct byte_range range)
{
	struct drop *drop = NULL;

	if (volume_can_drop(volume))
		drop = calloc(1, sizeof(*drop));
	if (drop != NULL) {
		drop->file = file;
		drop->range = range;
		file_ref(file);
		if (queue_add(volume, drop)) {
			counter_add(&file_counters_of(file)->windows_queued, 1);
			return;
		}
		file_put(file);
		free(drop);
	}
	file_credit(file, range_len(range));
}

void writeback_end(struct drop *drop, uint64_t bytes)
{
	struct file *file = drop->file;
	struct volume *volume = file->volume;

	pthread_mutex_lock(&volume->lock);
	TAILQ_REMOVE(&file->drops, drop, of_file);
	pthread_cond_broadcast(&volume->let_go);
	pthread_mutex_unlock(&volume->lock);
	free(drop);
	file_credit(file, bytes);
	file_put(file);
}

/* Queue lock held */
static void queue_remove(struct volume *volume, struct drop *drop)
{
	if (drop->state == DROP_TO_START)
		TAILQ_REMOVE(&volume->to_start, drop, queue);
	else
		TAILQ_REMOVE(&volume->to_drop, drop, queue);
}

/* Queue lock held. Returns how many helpers are busy with. */
static unsigned int take_queued(struct volume *volume, struct file *file, struct taken *taken)
{
	unsigned int busy = 0;
	struct drop *drop;

	TAILQ_FOREACH(drop, &file->drops, of_file)
	{
		if (drop->serial > taken->upto || drop->state == DROP_TAKEN)
			continue;
		if (drop->state == DROP_BUSY) {
			busy++;
			continue;
		}
		queue_remove(volume, drop);
		drop->state = DROP_TAKEN;
		TAILQ_INSERT_TAIL(&taken->drops, drop, queue);
	}
	return busy;
}

/* Queue lock held */
static void note_busy(struct file *file, struct taken *taken)
{
	struct drop *drop;

	TAILQ_FOREACH(drop, &file->drops, of_file)
	{
		if (drop->state == DROP_BUSY && taken->busy_count < 2)
			taken->busy[taken->busy_count++] = drop->range;
	}
}

void writeback_take(struct volume *volume, struct file *file, struct taken *ret_taken)
{
	TAILQ_INIT(&ret_taken->drops);
	ret_taken->busy_count = 0;
	pthread_mutex_lock(&volume->lock);
	ret_taken->upto = volume->last_serial;
	if (take_queued(volume, file, ret_taken) > 0)
		note_busy(file, ret_taken);
	pthread_mutex_unlock(&volume->lock);
}

/* Queue lock held */
static void hurry(struct file *file, const struct taken *taken)
{
	struct drop *drop;

	TAILQ_FOREACH(drop, &file->drops, of_file)
	{
		if (drop->serial <= taken->upto)
			atomic_store(&drop->hurry, true);
	}
}

void writeback_take_rest(struct volume *volume, struct file *file, struct taken *taken)
{
	struct timespec until;
	int rc = 0;

	if (taken->busy_count == 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LET_GO_NS;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&volume->lock);
	hurry(file, taken);
	while (take_queued(volume, file, taken) > 0 && rc == 0)
		rc = pthread_cond_timedwait(&volume->let_go, &volume->lock, &until);
	pthread_mutex_unlock(&volume->lock);
}

void writeback_drop_pages(struct file *file, int fd, struct byte_range range)
{
	struct file_counters *counters = file_counters_of(file);
	struct byte_range pages = range_round_out(range, (uint64_t)sysconf(_SC_PAGESIZE));
	uint64_t align = atomic_load_explicit(&file->drop_align, memory_order_relaxed);
	int rc;

	pages.start &= ~(align - 1);
	rc = posix_fadvise(fd, (off_t)pages.start, (off_t)range_len(pages), POSIX_FADV_DONTNEED);
	if (rc == 0)
		counter_add(&counters->bytes_dropped, range_len(range));
	else
		counter_add(&counters->drop_failures, 1);
}

/* ENOMEM is of the call, not of the data; that shows as EIO when it is waited for */
static void sync_failed(struct file *file, int error)
{
	switch (error) {
	case ENOSYS:
	case EPERM:
	case EINVAL:
	case ESPIPE:
	case EOPNOTSUPP:
		file_downgrade(file, IO_MODE_RANGE, error);
		/* fallthrough */
	case ENOMEM:
		counter_add(&file_counters_of(file)->drop_failures, 1);
		break;
	default:
		file_latch(file, error);
	}
}

static void sync_range(struct file *file, int fd, struct byte_range range, unsigned int flags)
{
	if (!volume_can_drop(file->volume))
		return;
	if (sync_file_range(fd, (off_t)range.start, (off_t)range_len(range), flags) != 0)
		sync_failed(file, errno);
}

/* Returns the bytes credited on the way: all, or fewer if the helper was made to let go */
static uint64_t drop_slices(struct volume *volume, struct drop *drop, int fd)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;
	struct byte_range slice = drop->range;

	while (slice.start < drop->range.end && !volume_is_closing(volume) &&
	       !atomic_load(&drop->hurry)) {
		slice.end = (slice.start | (VOLUME_SLICE - 1)) + 1;
		if (slice.end > drop->range.end || slice.end == 0)
			slice.end = drop->range.end;
		sync_range(drop->file, fd, slice, flags);
		writeback_drop_pages(drop->file, fd, slice);
		file_credit(drop->file, range_len(slice));
		slice.start = slice.end;
	}
	return slice.start - drop->range.start;
}

static void drop_one(struct volume *volume, struct drop *drop)
{
	struct file_counters *counters = file_counters_of(drop->file);
	int fd = file_helper_fd(drop->file);
	uint64_t credited = 0;

	if (fd >= 0) {
		credited = drop_slices(volume, drop, fd);
		file_helper_release(drop->file);
		counter_add(&counters->windows_dropped, 1);
	} else {
		counter_add(&counters->drop_failures, 1);
	}
	writeback_end(drop, range_len(drop->range) - credited);
}

static void start_one(struct volume *volume, struct drop *drop)
{
	int fd = file_helper_fd(drop->file);

	if (fd >= 0) {
		sync_range(drop->file, fd, drop->range, SYNC_FILE_RANGE_WRITE);
		file_helper_release(drop->file);
	}
	pthread_mutex_lock(&volume->lock);
	drop->state = DROP_TO_DROP;
	TAILQ_INSERT_TAIL(&volume->to_drop, drop, queue);
	pthread_cond_signal(&volume->droppable);
	pthread_cond_broadcast(&volume->let_go);
	pthread_mutex_unlock(&volume->lock);
}

/* NULL when the volume closes */
static struct drop *queue_next(struct volume *volume, struct drop_list *queue, pthread_cond_t *more)
{
	struct drop *drop = NULL;

	pthread_mutex_lock(&volume->lock);
	while (TAILQ_EMPTY(queue) && !volume_is_closing(volume))
		pthread_cond_wait(more, &volume->lock);
	if (!volume_is_closing(volume)) {
		drop = TAILQ_FIRST(queue);
		TAILQ_REMOVE(queue, drop, queue);
		drop->state = DROP_BUSY;
	}
	pthread_mutex_unlock(&volume->lock);
	return drop;
}

static void *starter_main(void *arg)
{
	struct volume *volume = arg;
	struct drop *drop;

	pthread_setname_np(pthread_self(), "drop_start");
	while ((drop = queue_next(volume, &volume->to_start, &volume->startable)) != NULL)
		start_one(volume, drop);
	return NULL;
}

static void *dropper_main(void *arg)
{
	struct volume *volume = arg;
	struct drop *drop;

	pthread_setname_np(pthread_self(), "drop_behind");
	while ((drop = queue_next(volume, &volume->to_drop, &volume->droppable)) != NULL)
		drop_one(volume, drop);
	return NULL;
}

static void announce_closing(struct volume *volume)
{
	pthread_mutex_lock(&volume->lock);
	atomic_store(&volume->closing, true);
	pthread_cond_broadcast(&volume->startable);
	pthread_cond_broadcast(&volume->droppable);
	pthread_mutex_unlock(&volume->lock);
}

int writeback_start(struct volume *volume)
{
	int rc = pthread_create(&volume->starter, NULL, starter_main, volume);

	if (rc != 0)
		return -rc;
	rc = pthread_create(&volume->dropper, NULL, dropper_main, volume);
	if (rc != 0) {
		announce_closing(volume);
		pthread_join(volume->starter, NULL);
		return -rc;
	}
	volume->running = true;
	return 0;
}

static void discard(struct volume *volume, struct drop_list *queue)
{
	struct drop *drop;

	for (;;) {
		pthread_mutex_lock(&volume->lock);
		drop = TAILQ_FIRST(queue);
		if (drop != NULL) {
			TAILQ_REMOVE(queue, drop, queue);
			drop->state = DROP_TAKEN;
		}
		pthread_mutex_unlock(&volume->lock);
		if (drop == NULL)
			return;
		writeback_end(drop, range_len(drop->range));
	}
}

void writeback_stop(struct volume *volume)
{
	if (!volume->running)
		return;
	announce_closing(volume);
	pthread_join(volume->starter, NULL);
	pthread_join(volume->dropper, NULL);
	volume->running = false;
	discard(volume, &volume->to_start);
	discard(volume, &volume->to_drop);
}
