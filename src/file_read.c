/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READ, and dropping behind sequential readers. See file.h.
 *
 * A run is a series of READs of which none begins further ahead of the furthest one than READ_REACH
 * times its own size; those far behind were overtaken on the way here. After READ_STREAM_BYTES it
 * is a stream: whole windows are dropped some way behind the furthest READ, for the sake of those
 * that were overtaken; in Dontcache the READs carry the flag besides, which alone leaves what
 * readahead brought in beside it. One run per file is known: several readers at different places
 * are left to the kernel.
 *
 * Windows that were resident before the run came are kept. They are looked at LOOK_AHEAD windows
 * before the reader reaches them, so that the kernel's readahead (4 MiB on btrfs) is not taken for
 * somebody's data.
 */
#include <errno.h>
#include <sys/stat.h>

#include "file.h"
#include "file_internal.h"
#include "kernel_abi.h"
#include "residency.h"

#define READ_REACH 16
#define READ_REACH_MAX (32U << 20)
#define READ_STREAM_BYTES (4U << 20)
#define READ_WINDOW KERNEL_FOLIO_MAX
#define READ_LAG_MAX (16U << 20)
#define LOOK_AHEAD 8
#define KEEP_BITS 64
#define DROPS_MAX 8 /* ranges of one READ; what does not fit comes with the next */

struct read_op {
	const struct io_request *req;
	enum io_mode mode; /* in force */
	uint64_t stream_cache;
	int fd;
	uint64_t bytes;
	uint64_t size; /* of the file, when the READ came */
	bool stream;
};

struct read_drops {
	unsigned int count;
	struct byte_range range[DROPS_MAX];
};

static bool is_kept(const struct reader *reader, uint64_t window)
{
	return (reader->keep >> (window % KEEP_BITS)) & 1;
}

static void set_kept(struct reader *reader, uint64_t window, bool kept)
{
	uint64_t bit = (uint64_t)1 << (window % KEEP_BITS);

	reader->keep = kept ? reader->keep | bit : reader->keep & ~bit;
}

/* File lock held. A READ that was overtaken neither ends the run nor counts for it. */
static bool is_of_run(const struct reader *reader, const struct read_op *op)
{
	uint64_t reach = op->bytes < READ_REACH_MAX / READ_REACH ? op->bytes * READ_REACH
								 : READ_REACH_MAX;
	uint64_t oldest = reader->top > KEEP_BITS ? reader->top - KEEP_BITS : 0;

	return reader->running && op->req->offset <= range_make(reader->next, reach).end &&
	       op->req->offset / READ_WINDOW >= oldest;
}

/* File lock held. Only what is further than before counts: reading one place again is no stream. */
static void note_run(struct reader *reader, struct read_op *op)
{
	uint64_t end = range_make(op->req->offset, op->bytes).end;

	if (!is_of_run(reader, op)) {
		*reader = (struct reader){ .running = true, .next = op->req->offset };
		reader->base = reader->top = op->req->offset / READ_WINDOW;
	}
	if (end > reader->next) {
		reader->bytes += end - reader->next;
		reader->next = end;
	}
	op->stream = reader->bytes >= READ_STREAM_BYTES;
}

/* File lock held. The windows of the file not yet looked at, up to LOOK_AHEAD beyond the reader. */
static struct byte_range claim_windows(struct reader *reader, uint64_t size)
{
	uint64_t end = reader->next / READ_WINDOW + 1 + LOOK_AHEAD;
	uint64_t eof = (size + READ_WINDOW - 1) / READ_WINDOW;
	struct byte_range claimed = { reader->top, end < eof ? end : eof };

	if (claimed.end <= claimed.start)
		return (struct byte_range){ 0, 0 };
	reader->top = claimed.end;
	if (range_len(claimed) > KEEP_BITS)
		claimed.start = claimed.end - KEEP_BITS;
	if (reader->base < claimed.end && claimed.end - reader->base > KEEP_BITS)
		reader->base = claimed.end - KEEP_BITS;
	/* whoever comes to drop before they were looked at finds them kept */
	for (uint64_t window = claimed.start; window < claimed.end; window++)
		set_kept(reader, window, true);
	return claimed;
}

static bool is_resident(int fd, uint64_t window)
{
	struct residency residency;

	if (residency_of(fd, window * READ_WINDOW, READ_WINDOW, &residency) != 0)
		return true;
	return residency.cached >= READ_WINDOW / 2;
}

static void look_ahead(struct file *file, int fd, struct byte_range windows)
{
	for (uint64_t window = windows.start; window < windows.end; window++) {
		bool kept = is_resident(fd, window);

		pthread_mutex_lock(&file->lock);
		if (window < file->reader.top && window >= file->reader.base)
			set_kept(&file->reader, window, kept);
		pthread_mutex_unlock(&file->lock);
	}
}

static void prepare(struct file *file, struct read_op *op)
{
	struct byte_range windows;
	struct stat st;

	op->size = fstat(op->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	pthread_mutex_lock(&file->lock);
	note_run(&file->reader, op);
	windows = claim_windows(&file->reader, op->size);
	if (op->stream)
		file_set_active(file);
	pthread_mutex_unlock(&file->lock);
	atomic_store_explicit(&file->last_io, file_now(), memory_order_relaxed);
	look_ahead(file, op->fd, windows);
}

static ssize_t transfer(struct file *file, struct read_op *op)
{
	bool uncached = op->mode == IO_MODE_DONTCACHE && op->stream;
	ssize_t done = io_transfer_read(op->fd, op->req, uncached ? RWF_DONTCACHE : 0);
	ssize_t plain;

	if (!uncached || !flag_refused(done))
		return done;
	op->mode = IO_MODE_RANGE;
	plain = io_transfer_read(op->fd, op->req, 0);
	if (plain != done)
		file_downgrade(file, IO_MODE_DONTCACHE, (int)-done);
	return plain;
}

static void drops_add(struct read_drops *drops, uint64_t window)
{
	struct byte_range range = range_make(window * READ_WINDOW, READ_WINDOW);
	unsigned int n = drops->count;

	if (n > 0 && drops->range[n - 1].end == range.start)
		drops->range[n - 1].end = range.end;
	else
		drops->range[drops->count++] = range;
}

/* File lock held. Windows from base on that end before @before and were looked at. */
static void collect(struct reader *reader, uint64_t before, struct read_drops *drops)
{
	if (before > reader->top)
		before = reader->top;
	for (; reader->base < before && drops->count < DROPS_MAX; reader->base++) {
		if (!is_kept(reader, reader->base))
			drops_add(drops, reader->base);
	}
}

static void drop(struct file *file, int fd, const struct read_drops *drops)
{
	for (unsigned int i = 0; i < drops->count; i++)
		writeback_drop_pages(file, fd, drops->range[i]);
}

/* File lock held. The window may be another reader's by now: only what was read is dropped. */
static void collect_overtaken(const struct reader *reader, struct byte_range done,
			      struct read_drops *drops)
{
	uint64_t window = done.start / READ_WINDOW;

	if (window < reader->base && window + KEEP_BITS >= reader->top && !is_kept(reader, window))
		drops->range[drops->count++] = done;
}

static void drop_behind(struct file *file, const struct read_op *op, struct byte_range done)
{
	uint64_t lag = op->stream_cache / 2 < READ_LAG_MAX ? op->stream_cache / 2 : READ_LAG_MAX;
	struct reader *reader = &file->reader;
	struct read_drops drops = { .count = 0 };
	uint64_t before;

	pthread_mutex_lock(&file->lock);
	collect_overtaken(reader, done, &drops);
	before = reader->next > lag ? (reader->next - lag) / READ_WINDOW : 0;
	collect(reader, done.end >= op->size ? UINT64_MAX : before, &drops);
	pthread_mutex_unlock(&file->lock);
	drop(file, op->fd, &drops);
}

/* File lock held. False when there is nothing more: the next READ begins a new run. */
static bool collect_rest(struct reader *reader, struct read_drops *ret_drops)
{
	ret_drops->count = 0;
	if (reader->bytes >= READ_STREAM_BYTES)
		collect(reader, UINT64_MAX, ret_drops);
	if (ret_drops->count == DROPS_MAX)
		return true;
	*reader = (struct reader){ .running = false };
	return false;
}

void reader_finish(struct file *file)
{
	struct read_drops drops;
	int fd = file_acquire_open(file);
	bool more;

	if (fd < 0)
		return;
	do {
		pthread_mutex_lock(&file->lock);
		more = collect_rest(&file->reader, &drops);
		pthread_mutex_unlock(&file->lock);
		drop(file, fd, &drops);
	} while (more);
	file_release(file, false);
}

static void count(struct file *file, enum io_mode mode, ssize_t bytes)
{
	struct file_counters *counters = file_counters_of(file);

	counter_add(&counters->read_requests[mode], 1);
	counter_add(&counters->read_bytes[mode], (uint64_t)bytes);
}

ssize_t file_read(struct file *file, int fd, const struct io_policy *policy,
		  const struct io_request *req)
{
	enum io_mode wanted = atomic_load_explicit(&policy->read_mode, memory_order_relaxed);
	struct read_op op = {
		.req = req,
		.fd = fd,
		.mode = volume_read_mode(file->volume, wanted),
		.stream_cache = atomic_load_explicit(&policy->stream_cache, memory_order_relaxed),
		.bytes = request_bytes(req),
	};
	bool behind = op.mode == IO_MODE_DONTCACHE || op.mode == IO_MODE_RANGE;
	ssize_t done;

	if (behind && op.bytes > 0)
		prepare(file, &op);
	done = transfer(file, &op);
	if (done < 0)
		return done;
	count(file, op.mode, done);
	if (op.stream)
		drop_behind(file, &op, range_make(req->offset, (uint64_t)done));
	return done;
}
