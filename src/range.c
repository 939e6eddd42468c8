/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte ranges and sets of them: see range.h. A set is a sorted array; every operation walks it
 * once.
 */
#include "range.h"

#include <string.h>

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_empty(struct byte_range r)
{
	return r.start >= r.end;
}

struct byte_range range_make(uint64_t offset, uint64_t len)
{
	return (struct byte_range){ offset, offset + min_u64(len, UINT64_MAX - offset) };
}

struct byte_range range_round_out(struct byte_range r, uint64_t align)
{
	uint64_t mask = align - 1;

	if (is_empty(r))
		return r;
	r.start &= ~mask;
	r.end = r.end > UINT64_MAX - mask ? UINT64_MAX : (r.end + mask) & ~mask;
	return r;
}

struct byte_range range_intersect(struct byte_range a, struct byte_range b)
{
	struct byte_range r = { max_u64(a.start, b.start), min_u64(a.end, b.end) };

	if (is_empty(r))
		r.end = r.start;
	return r;
}

void range_set_clear(struct range_set *set)
{
	set->count = 0;
}

/* Of @count sorted ranges, one more than fit, join the two neighbours that are closest */
static void join_closest(struct byte_range *range, unsigned int count)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i + 1 < count; i++)
		if (range[i + 1].start - range[i].end < range[best + 1].start - range[best].end)
			best = i;
	range[best].end = range[best + 1].end;
	memmove(&range[best + 1], &range[best + 2], (count - best - 2) * sizeof(*range));
}

void range_set_add(struct range_set *set, struct byte_range r)
{
	struct byte_range range[RANGE_SET_MAX + 1];
	unsigned int count = 0;
	unsigned int i = 0;

	if (is_empty(r))
		return;
	while (i < set->count && set->range[i].end < r.start)
		range[count++] = set->range[i++];
	for (; i < set->count && set->range[i].start <= r.end; i++) {
		r.start = min_u64(r.start, set->range[i].start);
		r.end = max_u64(r.end, set->range[i].end);
	}
	range[count++] = r;
	while (i < set->count)
		range[count++] = set->range[i++];
	if (count > RANGE_SET_MAX)
		join_closest(range, count--);
	memcpy(set->range, range, count * sizeof(*range));
	set->count = count;
}

void range_set_cut(struct range_set *set, struct byte_range r)
{
	struct range_set out = { .count = 0 };

	if (is_empty(r))
		return;
	for (unsigned int i = 0; i < set->count; i++) {
		struct byte_range old = set->range[i];
		struct byte_range left = range_intersect(old, (struct byte_range){ 0, r.start });
		struct byte_range right =
			range_intersect(old, (struct byte_range){ r.end, UINT64_MAX });
		bool split = !is_empty(left) && !is_empty(right);

		if (split && set->count == RANGE_SET_MAX) {
			if (range_len(left) < range_len(right))
				left = right;
			right.end = right.start;
		}
		if (!is_empty(left))
			out.range[out.count++] = left;
		if (!is_empty(right))
			out.range[out.count++] = right;
	}
	*set = out;
}

uint64_t range_set_bytes(const struct range_set *set)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < set->count; i++)
		bytes += range_len(set->range[i]);
	return bytes;
}

bool range_set_covers(const struct range_set *set, struct byte_range r)
{
	if (is_empty(r))
		return true;
	for (unsigned int i = 0; i < set->count; i++)
		if (set->range[i].start <= r.start && r.end <= set->range[i].end)
			return true;
	return false;
}

struct byte_range range_set_hull(const struct range_set *set)
{
	if (set->count == 0)
		return (struct byte_range){ 0, 0 };
	return (struct byte_range){ set->range[0].start, set->range[set->count - 1].end };
}
