/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Window tracker: see window.h. The open windows are an unordered array of which the least recently
 * used gives way; what is handed out passes through the array of due ranges, which absorbs a caller
 * with little room.
 */
#include "window.h"

#include <string.h>

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t window_size_for(uint64_t stream_cache)
{
	uint64_t size = WINDOW_SIZE_MAX;

	while (size > WINDOW_SIZE_MIN && size > stream_cache / 4)
		size /= 2;
	return size;
}

void window_init(struct window_tracker *tracker, uint64_t size)
{
	memset(tracker, 0, sizeof(*tracker));
	tracker->size = size;
}

static struct byte_range range_of(const struct window_tracker *tracker, uint64_t index)
{
	return range_make(index * tracker->size, tracker->size);
}

/* --- handing out --- */

/* Join @r to the last of @count ranges if the two touch */
static bool extend_last(struct byte_range *range, unsigned int count, struct byte_range r)
{
	if (count == 0 || (range[count - 1].end != r.start && range[count - 1].start != r.end))
		return false;
	if (range[count - 1].end == r.start)
		range[count - 1].end = r.end;
	else
		range[count - 1].start = r.start;
	return true;
}

static void due_push(struct window_tracker *tracker, struct byte_range r)
{
	if (extend_last(tracker->due, tracker->due_count, r))
		return;
	if (tracker->due_count == WINDOW_DUE_MAX) {
		tracker->forgotten += range_len(tracker->due[0]);
		tracker->due_count--;
		memmove(tracker->due, tracker->due + 1, tracker->due_count * sizeof(r));
	}
	tracker->due[tracker->due_count++] = r;
}

/* Where the caller wants ranges */
struct sink {
	struct byte_range *range;
	unsigned int max;
	unsigned int count;
};

static void drain(struct window_tracker *tracker, struct sink *sink)
{
	unsigned int n = 0;

	for (; n < tracker->due_count; n++) {
		if (extend_last(sink->range, sink->count, tracker->due[n]))
			continue;
		if (sink->count == sink->max)
			break;
		sink->range[sink->count++] = tracker->due[n];
	}
	tracker->due_count -= n;
	memmove(tracker->due, tracker->due + n, tracker->due_count * sizeof(*tracker->due));
}

static void note_recent(struct window_tracker *tracker, uint64_t index)
{
	tracker->recent[tracker->recent_next++ % WINDOW_RECENT_MAX] = index + 1;
}

/* The last windows of @r, whole ones */
static void note_recent_range(struct window_tracker *tracker, struct byte_range r)
{
	uint64_t end = r.end / tracker->size;
	uint64_t index = r.start / tracker->size;

	if (end - index > WINDOW_RECENT_MAX)
		index = end - WINDOW_RECENT_MAX;
	for (; index < end; index++)
		note_recent(tracker, index);
}

static bool is_recent(const struct window_tracker *tracker, uint64_t index)
{
	for (unsigned int i = 0; i < WINDOW_RECENT_MAX; i++)
		if (tracker->recent[i] == index + 1)
			return true;
	return false;
}

/* Close @window: due if this is a stream and nobody else uses it, else forgotten */
static void retire(struct window_tracker *tracker, struct window *window)
{
	const struct range_set *covered = &window->covered;

	if (tracker->stream && !window->kept) {
		for (unsigned int i = 0; i < covered->count; i++)
			due_push(tracker, covered->range[i]);
		if (covered->count > 0)
			note_recent(tracker, window->index);
	} else {
		tracker->forgotten += range_set_bytes(covered);
	}
	*window = tracker->window[--tracker->open];
}

/* --- open windows --- */

static struct window *find(const struct window_tracker *tracker, uint64_t index)
{
	for (unsigned int i = 0; i < tracker->open; i++)
		if (tracker->window[i].index == index)
			return (struct window *)&tracker->window[i];
	return NULL;
}

static struct window *oldest(struct window_tracker *tracker)
{
	struct window *window = &tracker->window[0];

	for (unsigned int i = 1; i < tracker->open; i++)
		if (tracker->window[i].last_used < window->last_used)
			window = &tracker->window[i];
	return window;
}

static struct window *lowest(struct window_tracker *tracker)
{
	struct window *window = &tracker->window[0];

	for (unsigned int i = 1; i < tracker->open; i++)
		if (tracker->window[i].index < window->index)
			window = &tracker->window[i];
	return window;
}

static struct window *touch(struct window_tracker *tracker, uint64_t index)
{
	struct window *window = find(tracker, index);

	if (!window) {
		if (tracker->open == WINDOW_OPEN_MAX)
			retire(tracker, oldest(tracker));
		window = &tracker->window[tracker->open++];
		*window = (struct window){ .index = index };
	}
	window->last_used = tracker->writes;
	return window;
}

/* Bytes of @r that are covered already. The windows of @r are in use: none gives way to another. */
static uint64_t use_known(struct window_tracker *tracker, struct byte_range r)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < tracker->open; i++) {
		struct window *window = &tracker->window[i];
		const struct range_set *covered = &window->covered;

		if (range_len(range_intersect(range_of(tracker, window->index), r)) > 0)
			window->last_used = tracker->writes;
		for (unsigned int j = 0; j < covered->count; j++)
			bytes += range_len(range_intersect(covered->range[j], r));
	}
	return bytes;
}

/* --- runs: is this a stream? --- */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Run that @written belongs to, NULL for a stray. Runs that it shows to be one are joined. */
static struct window_run *run_of(struct window_tracker *tracker, struct byte_range written)
{
	uint64_t reach =
		min_u64(range_len(written), UINT64_MAX / WINDOW_STREAM_REACH) * WINDOW_STREAM_REACH;
	struct window_run *first = NULL;

	for (unsigned int i = 0; i < WINDOW_RUN_MAX; i++) {
		struct window_run *run = &tracker->run[i];

		if (run->last_used == 0 || distance(run->end, written.start) > reach)
			continue;
		if (!first) {
			first = run;
			continue;
		}
		first->credit =
			(uint32_t)min_u64((uint64_t)first->credit + run->credit, WINDOW_CREDIT_MAX);
		*run = (struct window_run){ 0 };
	}
	return first;
}

/* A stray costs every run, and begins its own in place of the poorest, of these the oldest */
static struct window_run *begin_run(struct window_tracker *tracker, uint64_t len)
{
	uint32_t cost = (uint32_t)min_u64(len, WINDOW_STRAY_MAX);
	struct window_run *run = &tracker->run[0];

	if (cost < WINDOW_STRAY_MIN)
		cost = WINDOW_STRAY_MIN;
	for (unsigned int i = 0; i < WINDOW_RUN_MAX; i++) {
		struct window_run *other = &tracker->run[i];

		other->credit -= (uint32_t)min_u64(other->credit, cost);
		if (other->credit < run->credit ||
		    (other->credit == run->credit && other->last_used < run->last_used))
			run = other;
	}
	run->credit = 0;
	return run;
}

static void note_run(struct window_tracker *tracker, struct byte_range written)
{
	uint64_t fresh = range_len(written) - use_known(tracker, written);
	struct window_run *run = run_of(tracker, written);
	uint32_t best = 0;

	if (!run)
		run = begin_run(tracker, range_len(written));
	run->end = written.end;
	run->last_used = tracker->writes;
	run->credit = (uint32_t)min_u64(min_u64(fresh, WINDOW_CREDIT_MAX) + run->credit,
					WINDOW_CREDIT_MAX);
	for (unsigned int i = 0; i < WINDOW_RUN_MAX; i++)
		if (tracker->run[i].credit > best)
			best = tracker->run[i].credit;
	if (best >= WINDOW_STREAM_BYTES)
		tracker->stream = true;
	else if (best <= WINDOW_STREAM_BYTES / 2)
		tracker->stream = false;
}

/* --- placing a WRITE --- */

/* @r window by window: at most one window for each end, or as many as are not yet a stream */
static void cover(struct window_tracker *tracker, struct byte_range r)
{
	while (r.start < r.end) {
		uint64_t index = r.start / tracker->size;
		struct byte_range part = range_intersect(r, range_of(tracker, index));

		range_set_add(&touch(tracker, index)->covered, part);
		r.start = part.end;
	}
}

/* @whole windows of a stream: due at once but for those that are kept */
static void pass_through(struct window_tracker *tracker, struct byte_range whole)
{
	struct range_set pass = { .count = 0 };
	unsigned int i = 0;

	range_set_add(&pass, whole);
	while (i < tracker->open) {
		struct window *window = &tracker->window[i];
		struct byte_range r = range_of(tracker, window->index);

		if (range_len(range_intersect(r, whole)) == 0) {
			i++;
		} else if (window->kept) {
			range_set_add(&window->covered, r);
			window->last_used = tracker->writes;
			range_set_cut(&pass, r);
			i++;
		} else {
			*window = tracker->window[--tracker->open];
		}
	}
	for (i = 0; i < pass.count; i++) {
		due_push(tracker, pass.range[i]);
		note_recent_range(tracker, pass.range[i]);
	}
}

static struct byte_range whole_windows(const struct window_tracker *tracker, struct byte_range r)
{
	uint64_t mask = tracker->size - 1;
	struct byte_range whole = { (r.start + mask) & ~mask, r.end & ~mask };

	if (r.start > UINT64_MAX - mask || whole.start >= whole.end)
		whole.start = whole.end = r.start;
	return whole;
}

/* Full windows last used before @before, in ascending order, so that neighbours become one range */
static void retire_full(struct window_tracker *tracker, uint64_t before)
{
	struct window *full;

	do {
		full = NULL;
		for (unsigned int i = 0; i < tracker->open; i++) {
			struct window *window = &tracker->window[i];

			if (window->last_used < before && !window->kept &&
			    (!full || window->index < full->index) &&
			    range_set_covers(&window->covered, range_of(tracker, window->index)))
				full = window;
		}
		if (full)
			retire(tracker, full);
	} while (full);
}

unsigned int window_add(struct window_tracker *tracker, struct byte_range written,
			struct byte_range *ret_full, unsigned int max)
{
	struct sink sink = { .range = ret_full, .max = max };
	struct byte_range whole;

	drain(tracker, &sink);
	if (written.start >= written.end)
		return sink.count;
	tracker->writes++;
	note_run(tracker, written);
	if (tracker->stream) {
		whole = whole_windows(tracker, written);
		retire_full(tracker, tracker->writes);
		pass_through(tracker, whole);
		drain(tracker, &sink);
		cover(tracker, (struct byte_range){ written.start, whole.start });
		cover(tracker, (struct byte_range){ whole.end, written.end });
		retire_full(tracker, UINT64_MAX);
	} else {
		cover(tracker, written);
	}
	drain(tracker, &sink);
	return sink.count;
}

bool window_is_new(const struct window_tracker *tracker, uint64_t offset)
{
	uint64_t index = offset / tracker->size;

	return !find(tracker, index) && !is_recent(tracker, index);
}

bool window_claim(struct window_tracker *tracker, uint64_t offset)
{
	bool is_new = window_is_new(tracker, offset);

	touch(tracker, offset / tracker->size);
	return is_new;
}

void window_keep(struct window_tracker *tracker, uint64_t offset)
{
	touch(tracker, offset / tracker->size)->kept = true;
}

unsigned int window_take_all(struct window_tracker *tracker, struct byte_range *ret,
			     unsigned int max)
{
	struct sink sink = { .range = ret, .max = max };

	drain(tracker, &sink);
	while (tracker->stream && tracker->open > 0 && tracker->due_count == 0) {
		retire(tracker, lowest(tracker));
		drain(tracker, &sink);
	}
	return sink.count;
}

void window_settle(struct window_tracker *tracker)
{
	memset(tracker->recent, 0, sizeof(tracker->recent));
}

static void truncate_windows(struct window_tracker *tracker, struct byte_range beyond)
{
	unsigned int i = 0;

	while (i < tracker->open) {
		struct window *window = &tracker->window[i];

		range_set_cut(&window->covered, beyond);
		if (window->index * tracker->size >= beyond.start)
			*window = tracker->window[--tracker->open];
		else
			i++;
	}
}

static void truncate_due(struct window_tracker *tracker, uint64_t size)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < tracker->due_count; i++) {
		struct byte_range r =
			range_intersect(tracker->due[i], (struct byte_range){ 0, size });

		if (range_len(r) > 0)
			tracker->due[kept++] = r;
	}
	tracker->due_count = kept;
}

void window_truncate(struct window_tracker *tracker, uint64_t size)
{
	if (size == 0) {
		window_init(tracker, tracker->size);
		return;
	}
	truncate_windows(tracker, (struct byte_range){ size, UINT64_MAX });
	truncate_due(tracker, size);
	for (unsigned int i = 0; i < WINDOW_RUN_MAX; i++)
		tracker->run[i].end = min_u64(tracker->run[i].end, size);
}
