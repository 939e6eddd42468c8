/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte ranges of a file and a small sorted set of them.
 *
 * A range is half open: [start, end). A set keeps at most RANGE_SET_MAX ranges, sorted, disjoint
 * and not touching. When an insertion would exceed that, the two neighbours with the smallest gap
 * are joined: a set may cover bytes that were never inserted, never fewer.
 *
 * Not thread safe; the owner locks.
 */
#ifndef DROPBEHIND_RANGE_H
#define DROPBEHIND_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_SET_MAX 16

struct byte_range {
	uint64_t start; /* first byte */
	uint64_t end;	/* one past the last byte */
};

struct range_set {
	unsigned int count;
	struct byte_range range[RANGE_SET_MAX];
};

/**
 * range_make - range of @len bytes at @offset, cut at UINT64_MAX instead of wrapping.
 */
struct byte_range range_make(uint64_t offset, uint64_t len);

static inline uint64_t range_len(struct byte_range r)
{
	return r.end - r.start;
}

/**
 * range_round_out - grow @r to multiples of @align (a power of two), cut at UINT64_MAX. An empty
 * range is returned as it is.
 */
struct byte_range range_round_out(struct byte_range r, uint64_t align);

/**
 * range_intersect - the common part of @a and @b; an empty range (start == end) if there is none.
 */
struct byte_range range_intersect(struct byte_range a, struct byte_range b);

void range_set_clear(struct range_set *set);

/**
 * range_set_add - insert @r, joining it with every range it overlaps or touches.
 * An empty range is ignored.
 */
void range_set_add(struct range_set *set, struct byte_range r);

/**
 * range_set_cut - remove @r from the set. If splitting would exceed RANGE_SET_MAX, the smaller
 * remainder of the split is lost to the cut: use it only where a lost remainder costs a later
 * drop, never data.
 */
void range_set_cut(struct range_set *set, struct byte_range r);

/**
 * range_set_bytes - number of bytes covered.
 */
uint64_t range_set_bytes(const struct range_set *set);

/**
 * range_set_covers - every byte of @r is in the set; true for an empty @r.
 */
bool range_set_covers(const struct range_set *set, struct byte_range r);

/**
 * range_set_hull - smallest range that holds the whole set; empty for an empty set.
 */
struct byte_range range_set_hull(const struct range_set *set);

#endif
