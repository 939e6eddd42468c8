/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * WRITE: transfer, note the windows, hand full ones to the helpers, sync if stable, wait if the
 * stream is ahead of the disk. See file.h.
 *
 * In flight is what a stream wrote and nobody credited yet: the open windows of the tracker plus
 * what the helpers have. A writer that finds more than stream_cache in flight waits until as much
 * was credited as was too much when it came. Each writer has its own mark, so they are released
 * one after the other at the pace of the disk, not all at once when the excess is gone.
 *
 * A stable WRITE is transferred and then synced by fsync(2), not with RWF_SYNC: pwritev2(2) gives
 * one error for both, and only one of the sync may be latched.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "file.h"
#include "file_internal.h"
#include "kernel_abi.h"
#include "residency.h"

/* Below, RWF_DONTCACHE's writeback per call costs more than the window's */
#define DONTCACHE_MIN (64U << 10)
/*
 * Smaller WRITEs that are not part of a stream don't look at what is resident: it would cost more
 */
#define LOOK_MIN (64U << 10)
/* Windows of one WRITE that are looked at: 64 MiB in the smallest windows, and both ends */
#define LOOK_MAX 66
#define THROTTLE_POLL_NS 100000000L

struct write_op {
	const struct io_request *req;
	enum io_mode mode; /* in force */
	bool keep_resident;
	uint64_t stream_cache;
	int fd;

	/* what the file's state says, before the transfer */
	bool stream;
	uint64_t window_size;
	uint64_t first_window;
	bool is_new[LOOK_MAX];
	bool kept[LOOK_MAX];
	unsigned int kept_count;
};

/* --- windows --- */

/* File lock held */
static uint64_t list_bytes(const struct range_list *list)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < list->count; i++)
		bytes += range_len(list->range[i]);
	return bytes;
}

/* File lock held */
static void take_windows(struct file *file, struct range_list *list)
{
	list->count = 0;
	if (file->tracker != NULL)
		list->count = window_take_all(file->tracker, list->range, RANGE_LIST_MAX);
	file->queued += list_bytes(list);
}

void file_take_windows(struct file *file, struct range_list *ret_list)
{
	pthread_mutex_lock(&file->lock);
	take_windows(file, ret_list);
	pthread_mutex_unlock(&file->lock);
}

static void enqueue(struct file *file, const struct range_list *list)
{
	for (unsigned int i = 0; i < list->count; i++)
		volume_enqueue(file->volume, file, list->range[i]);
}

void file_flush_windows(struct file *file)
{
	struct range_list list;

	file_take_windows(file, &list);
	enqueue(file, &list);
}

/* File lock held */
static bool is_watched(const struct file *file)
{
	return file->tracker != NULL && file->tracker->stream && file->tracker->open > 0;
}

void file_forget_windows(struct file *file)
{
	pthread_mutex_lock(&file->lock);
	if (!is_watched(file)) {
		free(file->tracker);
		file->tracker = NULL;
		file_set_inactive(file);
	}
	pthread_mutex_unlock(&file->lock);
}

/* File lock held. A smaller stream_cache than before asks for smaller windows. */
static struct window_tracker *tracker_of(struct file *file, uint64_t stream_cache,
					 struct range_list *ret_flushed)
{
	uint64_t size = window_size_for(stream_cache);

	ret_flushed->count = 0;
	if (file->tracker != NULL && file->tracker->size <= size)
		return file->tracker;
	if (file->tracker != NULL) {
		take_windows(file, ret_flushed);
		window_init(file->tracker, size);
		return file->tracker;
	}
	file->tracker = malloc(sizeof(*file->tracker));
	if (file->tracker != NULL) {
		window_init(file->tracker, size);
		file_set_active(file);
	}
	return file->tracker;
}

/* File lock held */
static uint64_t in_flight(const struct file *file)
{
	const struct window_tracker *tracker = file->tracker;
	uint64_t bytes = file->queued;

	if (tracker == NULL || !tracker->stream || !volume_can_drop(file->volume))
		return bytes;
	for (unsigned int i = 0; i < tracker->due_count; i++)
		bytes += range_len(tracker->due[i]);
	for (unsigned int i = 0; i < tracker->open; i++) {
		if (!tracker->window[i].kept)
			bytes += range_set_bytes(&tracker->window[i].covered);
	}
	return bytes;
}

/* --- before the transfer: pages that somebody else uses --- */

/* File lock held */
static unsigned int find_new(struct window_tracker *tracker, struct write_op *op)
{
	struct byte_range range = range_make(op->req->offset, request_bytes(op->req));
	uint64_t last = (range.end - 1) / tracker->size;
	unsigned int found = 0;
	bool partly;

	for (unsigned int i = 0; i < LOOK_MAX && op->first_window + i <= last; i++) {
		uint64_t start = (op->first_window + i) * tracker->size;

		partly = start < range.start || range.end - start < tracker->size;
		op->is_new[i] = partly ? window_claim(tracker, start)
				       : window_is_new(tracker, start);
		found += op->is_new[i];
	}
	return found;
}

/* Half of what the window has of the file, clean: dirty pages may be of a WRITE beside this one */
static bool is_resident(int fd, struct byte_range window)
{
	struct residency residency;
	uint64_t clean;

	if (residency_of(fd, window.start, range_len(window), &residency) != 0)
		return false;
	clean = residency.cached;
	clean -= residency.dirty < clean ? residency.dirty : clean;
	clean -= residency.writeback < clean ? residency.writeback : clean;
	return clean >= range_len(window) / 2;
}

static void look_at_windows(struct file *file, struct write_op *op)
{
	struct byte_range window;
	struct stat st;

	if (fstat(op->fd, &st) != 0 || op->req->offset >= (uint64_t)st.st_size)
		return;
	for (unsigned int i = 0; i < LOOK_MAX; i++) {
		window = range_make((op->first_window + i) * op->window_size, op->window_size);
		window = range_intersect(window, (struct byte_range){ 0, (uint64_t)st.st_size });
		if (!op->is_new[i] || range_len(window) == 0)
			continue;
		/* in this order: once it left the helpers, what is resident is not ours */
		op->kept[i] = !writeback_overlaps(file->volume, file, window) &&
			      is_resident(op->fd, window);
		op->kept_count += op->kept[i];
	}
}

static void prepare(struct file *file, struct write_op *op)
{
	struct window_tracker *tracker;
	struct range_list flushed;
	unsigned int found = 0;
	uint64_t bytes = request_bytes(op->req);

	pthread_mutex_lock(&file->lock);
	tracker = tracker_of(file, op->stream_cache, &flushed);
	if (tracker != NULL) {
		op->stream = tracker->stream;
		op->window_size = tracker->size;
		op->first_window = op->req->offset / tracker->size;
		if (op->keep_resident &&
		    (bytes >= LOOK_MIN || tracker->stream || tracker->writes == 0))
			found = find_new(tracker, op);
	}
	pthread_mutex_unlock(&file->lock);
	enqueue(file, &flushed);
	if (found > 0)
		look_at_windows(file, op);
}

/* --- the transfer --- */

/* EPERM is also what an immutable file says, with or without the flag */
static ssize_t transfer(struct file *file, struct write_op *op)
{
	bool uncached = op->mode == IO_MODE_DONTCACHE && op->stream && op->kept_count == 0 &&
			request_bytes(op->req) >= DONTCACHE_MIN;
	ssize_t done, plain;

	if (op->mode == IO_MODE_DONTCACHE && !uncached)
		op->mode = IO_MODE_RANGE;
	done = io_transfer_write(op->fd, op->req, uncached ? RWF_DONTCACHE : 0);
	if (!uncached || !flag_refused(done))
		return done;
	op->mode = IO_MODE_RANGE;
	plain = io_transfer_write(op->fd, op->req, 0);
	if (plain != done)
		file_downgrade(file, IO_MODE_DONTCACHE, (int)-done);
	return plain;
}

/* --- after it --- */

/* File lock held */
static void add_part(struct window_tracker *tracker, uint64_t start, uint64_t end,
		     struct range_list *list)
{
	list->count += window_add(tracker, (struct byte_range){ start, end },
				  list->range + list->count, RANGE_LIST_MAX - list->count);
}

/* File lock held. Windows to be kept go in one by one: the tracker remembers few at a time. */
static void add_windows(struct window_tracker *tracker, const struct write_op *op,
			struct byte_range written, struct range_list *list)
{
	uint64_t at = written.start;
	struct byte_range window;

	for (unsigned int i = 0; op->kept_count > 0 && i < LOOK_MAX; i++) {
		window = range_make((op->first_window + i) * tracker->size, tracker->size);
		window = range_intersect(window, written);
		if (!op->kept[i] || range_len(window) == 0)
			continue;
		add_part(tracker, at, window.start, list);
		window_keep(tracker, window.start);
		add_part(tracker, window.start, window.end, list);
		at = window.end;
	}
	add_part(tracker, at, written.end, list);
}

static void account(struct file *file, struct write_op *op, struct byte_range written)
{
	struct range_list list = { .count = 0 };
	struct window_tracker *tracker;

	pthread_mutex_lock(&file->lock);
	tracker = file->tracker;
	if (tracker != NULL) {
		if (tracker->size != op->window_size)
			op->kept_count = 0; /* of other windows than these */
		if (op->kept_count > 0 && tracker->size < KERNEL_FOLIO_MAX)
			atomic_store(&file->drop_align, 1);
		add_windows(tracker, op, written, &list);
	}
	if (!volume_can_drop(file->volume))
		list.count = 0;
	file->queued += list_bytes(&list);
	pthread_mutex_unlock(&file->lock);
	atomic_store_explicit(&file->last_io, file_now(), memory_order_relaxed);
	enqueue(file, &list);
}

/* What a writer waits for */
struct wait {
	uint64_t limit; /* bytes in flight */
	uint64_t mark;	/* of credited */
	int error;	/* latched before: only another one wakes */
};

/* File lock held */
static bool must_wait(const struct file *file, const struct wait *wait)
{
	return file->credited < wait->mark && in_flight(file) > wait->limit &&
	       file_error(file) == wait->error && !volume_is_closing(file->volume);
}

/*
 * File lock held. Nobody signals when the volume closes under a stuck disk, so look now and then.
 */
static void wait_for_credit(struct file *file)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += THROTTLE_POLL_NS;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&file->credit, &file->lock, &until);
}

/* File lock held, given up in between. False if there is nothing to wait for. */
static bool wait_step(struct file *file)
{
	struct range_list list;

	if (file->queued > 0) {
		wait_for_credit(file);
		return true;
	}
	take_windows(file, &list);
	if (list.count == 0)
		return false;
	pthread_mutex_unlock(&file->lock);
	enqueue(file, &list);
	pthread_mutex_lock(&file->lock);
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void throttle(struct file *file, uint64_t limit)
{
	struct file_counters *counters = file_counters_of(file);
	struct wait wait = { .limit = limit };
	uint64_t excess, began;

	pthread_mutex_lock(&file->lock);
	excess = in_flight(file);
	excess -= limit < excess ? limit : excess;
	if (excess > 0) {
		began = now_ns();
		wait.mark = file->credited + excess;
		wait.error = file_error(file);
		file->waiting++;
		while (must_wait(file, &wait) && wait_step(file))
			;
		file->waiting--;
		counter_add(&counters->throttled, 1);
		counter_add(&counters->throttle_ns, now_ns() - began);
	}
	pthread_mutex_unlock(&file->lock);
}

static void count(struct file *file, enum io_mode mode, ssize_t bytes)
{
	struct file_counters *counters = file_counters_of(file);

	counter_add(&counters->write_requests[mode], 1);
	counter_add(&counters->write_bytes[mode], (uint64_t)bytes);
}

/* Data is in the kernel: from here on an error is one of writeback */
static int make_stable(struct file *file, int fd)
{
	int rc = file_sync(file, fd, &file_counters_of(file)->syncs_stable_write);
	int latched = file_error(file);

	return latched != 0 ? latched : rc;
}

static bool is_behind(enum io_mode mode)
{
	return mode == IO_MODE_DONTCACHE || mode == IO_MODE_RANGE;
}

static ssize_t write_behind(struct file *file, struct write_op *op)
{
	ssize_t done;

	prepare(file, op);
	done = transfer(file, op);
	if (done <= 0)
		return done;
	file_note_written(file);
	account(file, op, range_make(op->req->offset, (uint64_t)done));
	return done;
}

static ssize_t write_plain(struct file *file, struct write_op *op)
{
	ssize_t done = io_transfer_write(op->fd, op->req, 0);

	if (done > 0)
		file_note_written(file);
	return done;
}

ssize_t file_write(struct file *file, int fd, const struct io_policy *policy,
		   const struct io_request *req)
{
	enum io_mode wanted = atomic_load_explicit(&policy->write_mode, memory_order_relaxed);
	struct write_op op = {
		.req = req,
		.fd = fd,
		.mode = volume_mode(file->volume, wanted),
		.keep_resident = wanted == IO_MODE_AUTO,
		.stream_cache = atomic_load_explicit(&policy->stream_cache, memory_order_relaxed),
	};
	bool behind = is_behind(op.mode) && request_bytes(req) > 0;
	ssize_t done;
	int rc = req->stable ? file_error(file) : 0;

	if (rc != 0)
		return rc;
	done = behind ? write_behind(file, &op) : write_plain(file, &op);
	if (done < 0)
		return done;
	count(file, op.mode, done);
	if (req->stable)
		rc = make_stable(file, fd);
	if (behind)
		throttle(file, op.stream_cache);
	return rc != 0 ? rc : done;
}
