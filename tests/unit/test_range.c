/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte ranges and range sets: limits of the number space, joining, the bound on the number of
 * ranges, and long random sequences against an array of flags.
 */
#include "range.h"

#include <stdbool.h>
#include <string.h>

#include "unit.h"

#define UNIVERSE 512 /* bytes that the model knows */

static void add(struct range_set *set, uint64_t start, uint64_t end)
{
	range_set_add(set, (struct byte_range){ start, end });
}

static void cut(struct range_set *set, uint64_t start, uint64_t end)
{
	range_set_cut(set, (struct byte_range){ start, end });
}

static bool is(struct byte_range r, uint64_t start, uint64_t end)
{
	return r.start == start && r.end == end;
}

static void make_is_cut_at_the_top(void)
{
	CU_ASSERT(is(range_make(0, 0), 0, 0));
	CU_ASSERT(is(range_make(5, 7), 5, 12));
	CU_ASSERT(is(range_make(UINT64_MAX - 3, 10), UINT64_MAX - 3, UINT64_MAX));
	CU_ASSERT(is(range_make(UINT64_MAX, UINT64_MAX), UINT64_MAX, UINT64_MAX));
	CU_ASSERT(is(range_make(0, UINT64_MAX), 0, UINT64_MAX));
	CU_ASSERT_EQUAL(range_len(range_make(9, 4)), 4);
}

static void round_out_grows_to_multiples(void)
{
	CU_ASSERT(is(range_round_out((struct byte_range){ 1, 4097 }, 4096), 0, 8192));
	CU_ASSERT(is(range_round_out((struct byte_range){ 4096, 8192 }, 4096), 4096, 8192));
	CU_ASSERT(is(range_round_out((struct byte_range){ 3, 5 }, 1), 3, 5));
	CU_ASSERT(is(range_round_out((struct byte_range){ UINT64_MAX - 1, UINT64_MAX }, 4096),
		     UINT64_MAX - 4095, UINT64_MAX));
	CU_ASSERT(is(range_round_out((struct byte_range){ 4097, 4097 }, 4096), 4097, 4097));
}

static void intersect_of_disjoint_is_empty(void)
{
	struct byte_range a = { 10, 20 };

	CU_ASSERT(is(range_intersect(a, (struct byte_range){ 15, 30 }), 15, 20));
	CU_ASSERT(is(range_intersect(a, (struct byte_range){ 0, 100 }), 10, 20));
	CU_ASSERT_EQUAL(range_len(range_intersect(a, (struct byte_range){ 20, 30 })), 0);
	CU_ASSERT_EQUAL(range_len(range_intersect(a, (struct byte_range){ 0, 5 })), 0);
	CU_ASSERT_EQUAL(range_len(range_intersect(a, (struct byte_range){ 25, 30 })), 0);
}

static void add_joins_what_overlaps_or_touches(void)
{
	struct range_set set = { 0 };

	add(&set, 10, 20);
	add(&set, 30, 40);
	add(&set, 50, 60);
	CU_ASSERT_EQUAL(set.count, 3);
	add(&set, 20, 30);
	CU_ASSERT_EQUAL(set.count, 2);
	CU_ASSERT(is(set.range[0], 10, 40));
	add(&set, 5, 55);
	CU_ASSERT_EQUAL(set.count, 1);
	CU_ASSERT(is(set.range[0], 5, 60));
	add(&set, 7, 8);
	add(&set, 9, 9);
	CU_ASSERT_EQUAL(set.count, 1);
	CU_ASSERT_EQUAL(range_set_bytes(&set), 55);
	add(&set, 0, 1);
	CU_ASSERT(is(set.range[0], 0, 1));
	CU_ASSERT(is(range_set_hull(&set), 0, 60));
	range_set_clear(&set);
	CU_ASSERT(is(range_set_hull(&set), 0, 0));
	CU_ASSERT_EQUAL(range_set_bytes(&set), 0);
}

static void overflow_joins_the_smallest_gap(void)
{
	struct range_set set = { 0 };

	for (uint64_t i = 0; i < RANGE_SET_MAX; i++)
		add(&set, 100 * i, 100 * i + 10);
	add(&set, 1550, 1551); /* gaps: 40 before it (1510), 90 elsewhere */
	CU_ASSERT_EQUAL(set.count, RANGE_SET_MAX);
	CU_ASSERT(is(set.range[RANGE_SET_MAX - 1], 1500, 1551));
	add(&set, 315, 316); /* gap 5 */
	CU_ASSERT_EQUAL(set.count, RANGE_SET_MAX);
	CU_ASSERT(is(set.range[3], 300, 316));
	add(&set, UINT64_MAX - 1, UINT64_MAX);
	CU_ASSERT_EQUAL(set.count, RANGE_SET_MAX);
	CU_ASSERT(is(set.range[RANGE_SET_MAX - 1], UINT64_MAX - 1, UINT64_MAX));
}

static void cut_splits_and_removes(void)
{
	struct range_set set = { 0 };

	add(&set, 0, 100);
	cut(&set, 40, 60);
	CU_ASSERT_EQUAL(set.count, 2);
	CU_ASSERT(is(set.range[0], 0, 40));
	CU_ASSERT(is(set.range[1], 60, 100));
	cut(&set, 50, 50);
	cut(&set, 45, 55);
	CU_ASSERT_EQUAL(range_set_bytes(&set), 80);
	cut(&set, 30, 70);
	CU_ASSERT_EQUAL(range_set_bytes(&set), 60);
	cut(&set, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(set.count, 0);
	cut(&set, 0, UINT64_MAX);
	CU_ASSERT_EQUAL(set.count, 0);
}

static void cut_of_a_full_set_loses_the_smaller_part(void)
{
	struct range_set set = { 0 };

	for (uint64_t i = 0; i < RANGE_SET_MAX; i++)
		add(&set, 100 * i, 100 * i + 50);
	cut(&set, 210, 220); /* leaves 10 and 30 */
	CU_ASSERT_EQUAL(set.count, RANGE_SET_MAX);
	CU_ASSERT(is(set.range[2], 220, 250));
	cut(&set, 530, 540); /* leaves 30 and 10 */
	CU_ASSERT_EQUAL(set.count, RANGE_SET_MAX);
	CU_ASSERT(is(set.range[5], 500, 530));
}

static void covers_needs_every_byte(void)
{
	struct range_set set = { 0 };

	add(&set, 10, 20);
	add(&set, 21, 30);
	CU_ASSERT(range_set_covers(&set, (struct byte_range){ 10, 20 }));
	CU_ASSERT(range_set_covers(&set, (struct byte_range){ 22, 23 }));
	CU_ASSERT_FALSE(range_set_covers(&set, (struct byte_range){ 10, 30 }));
	CU_ASSERT_FALSE(range_set_covers(&set, (struct byte_range){ 9, 11 }));
	CU_ASSERT(range_set_covers(&set, (struct byte_range){ 5, 5 }));
	add(&set, 20, 21);
	CU_ASSERT(range_set_covers(&set, (struct byte_range){ 10, 30 }));
}

/* Sorted, disjoint, not touching, not too many */
static bool well_formed(const struct range_set *set)
{
	if (set->count > RANGE_SET_MAX)
		return false;
	for (unsigned int i = 0; i < set->count; i++) {
		if (set->range[i].start >= set->range[i].end)
			return false;
		if (i > 0 && set->range[i].start <= set->range[i - 1].end)
			return false;
	}
	return true;
}

static void flags_of(const struct range_set *set, bool flags[UNIVERSE])
{
	memset(flags, 0, UNIVERSE * sizeof(*flags));
	for (unsigned int i = 0; i < set->count; i++)
		for (uint64_t b = set->range[i].start; b < set->range[i].end; b++)
			flags[b] = true;
}

static unsigned int pieces_of(const bool flags[UNIVERSE])
{
	unsigned int pieces = flags[0];

	for (unsigned int i = 1; i < UNIVERSE; i++)
		pieces += flags[i] && !flags[i - 1];
	return pieces;
}

/* One random operation on the set and the model; the model then follows what the set is allowed */
static void step(struct range_set *set, bool model[UNIVERSE], uint64_t *seed)
{
	uint64_t start = unit_below(seed, UNIVERSE);
	struct byte_range r = { start, start + unit_below(seed, (UNIVERSE - start) / 8 + 1) };
	bool adding = unit_below(seed, 4) != 0;
	bool now[UNIVERSE];
	bool exact;

	for (uint64_t b = r.start; b < r.end; b++)
		model[b] = adding;
	exact = pieces_of(model) <= RANGE_SET_MAX;
	if (adding)
		range_set_add(set, r);
	else
		range_set_cut(set, r);
	CU_ASSERT(well_formed(set));
	flags_of(set, now);
	for (unsigned int b = 0; b < UNIVERSE; b++) {
		/* What an add covers too much, or a cut too much removes, is on one side only */
		CU_ASSERT(now[b] == model[b] || (!exact && now[b] == adding));
	}
	memcpy(model, now, sizeof(now));
}

static void random_sequences_match_a_model(void)
{
	uint64_t seed = 20240229;

	for (int round = 0; round < 200; round++) {
		struct range_set set = { 0 };
		bool model[UNIVERSE] = { false };

		for (int i = 0; i < 200; i++)
			step(&set, model, &seed);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "make is cut at the top", make_is_cut_at_the_top },
		{ "round out grows to multiples", round_out_grows_to_multiples },
		{ "intersection of disjoint ranges is empty", intersect_of_disjoint_is_empty },
		{ "add joins what overlaps or touches", add_joins_what_overlaps_or_touches },
		{ "overflow joins the smallest gap", overflow_joins_the_smallest_gap },
		{ "cut splits and removes", cut_splits_and_removes },
		{ "cut of a full set loses the smaller part",
		  cut_of_a_full_set_loses_the_smaller_part },
		{ "covers needs every byte", covers_needs_every_byte },
		{ "random sequences match a model", random_sequences_match_a_model },
		CU_TEST_INFO_NULL,
	};

	return unit_run("range", NULL, tests);
}
