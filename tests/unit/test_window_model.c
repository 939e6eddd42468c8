/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Window tracker against a naive model: for each 4 KiB, how many times it has to be handed out yet.
 * For every pattern of writing, with a seeded random sequence:
 *
 * - nothing is handed out that was not written since it was last handed out, except between two
 *   written places of a window that was in more than RANGE_SET_MAX pieces;
 * - nothing of a kept window is handed out;
 * - what was written and not handed out is still open, due, kept or counted as forgotten.
 */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define CELL UINT64_C(4096)
#define CELLS (UINT64_C(64) * 256) /* 64 MiB */
#define MIB (UINT64_C(1) << 20)
#define ROOM (WINDOW_OPEN_MAX * RANGE_SET_MAX + WINDOW_DUE_MAX)

struct model {
	struct window_tracker tracker;
	uint64_t base; /* file offset of cell 0 */
	uint64_t seed;
	uint64_t handed;		/* bytes */
	unsigned char written[CELLS];	/* times, and not yet handed out */
	unsigned char pieces_ok[CELLS]; /* by window: never in too many pieces since it was empty */
	uint64_t kept[WINDOW_OPEN_MAX]; /* windows that were kept before the call */
	unsigned int kept_count;
};

static uint64_t cells_per_window(const struct model *m)
{
	return m->tracker.size / CELL;
}

static void begin(struct model *m, uint64_t window_size, uint64_t base, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	memset(m->pieces_ok, 1, sizeof(m->pieces_ok));
	window_init(&m->tracker, window_size);
	m->base = base;
	m->seed = seed;
}

static uint64_t window_of(const struct model *m, uint64_t cell)
{
	return cell / cells_per_window(m);
}

/* How many pieces the window of @cell is in, as far as the model knows: an upper bound */
static void count_pieces(struct model *m, uint64_t cell)
{
	uint64_t at = window_of(m, cell) * cells_per_window(m);
	unsigned int pieces = m->written[at] > 0;

	for (uint64_t i = at + 1; i < at + cells_per_window(m); i++)
		pieces += m->written[i] && !m->written[i - 1];
	if (pieces > RANGE_SET_MAX)
		m->pieces_ok[window_of(m, cell)] = 0;
}

/* Nothing of the window of @cell is left: what was joined is gone too */
static void forgive_pieces(struct model *m, uint64_t cell)
{
	uint64_t at = window_of(m, cell) * cells_per_window(m);

	for (uint64_t i = at; i < at + cells_per_window(m); i++)
		if (m->written[i])
			return;
	m->pieces_ok[window_of(m, cell)] = 1;
}

/* What is rewritten while it is due is handed out once more */
static unsigned char times_due(const struct model *m, uint64_t cell)
{
	struct byte_range r = range_make(m->base + cell * CELL, CELL);
	unsigned char times = 0;

	for (unsigned int i = 0; i < m->tracker.due_count; i++)
		times += range_len(range_intersect(m->tracker.due[i], r)) > 0;
	return times;
}

static void check_not_kept(const struct model *m, struct byte_range r)
{
	for (unsigned int i = 0; i < m->kept_count; i++) {
		struct byte_range kept = range_make(m->kept[i] * m->tracker.size, m->tracker.size);

		CU_ASSERT_EQUAL(range_len(range_intersect(kept, r)), 0);
	}
}

static void hand_out(struct model *m, struct byte_range r)
{
	uint64_t from = (r.start - m->base) / CELL;
	uint64_t to = (r.end - m->base) / CELL;

	CU_ASSERT_FATAL(r.start < r.end && r.start >= m->base && to <= CELLS);
	CU_ASSERT_EQUAL(r.start % CELL + r.end % CELL, 0);
	check_not_kept(m, r);
	for (uint64_t i = from; i < to; i++) {
		CU_ASSERT(m->written[i] || !m->pieces_ok[window_of(m, i)]);
		m->written[i] -= m->written[i] > 0;
	}
	for (uint64_t i = window_of(m, from); i <= window_of(m, to - 1); i++) {
		count_pieces(m, i * cells_per_window(m));
		forgive_pieces(m, i * cells_per_window(m));
	}
	m->handed += range_len(r);
}

static void hand_out_all(struct model *m, const struct byte_range *r, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		hand_out(m, r[i]);
}

/* What the tracker knows before a call: kept windows, and sets so full that they may be joined */
static void note_windows(struct model *m)
{
	m->kept_count = 0;
	for (unsigned int i = 0; i < m->tracker.open; i++) {
		const struct window *window = &m->tracker.window[i];

		if (window->kept)
			m->kept[m->kept_count++] = window->index;
		if (window->covered.count == RANGE_SET_MAX)
			m->pieces_ok[window->index - m->base / m->tracker.size] = 0;
	}
}

static void write_cells(struct model *m, uint64_t cell, uint64_t count, unsigned int room)
{
	struct byte_range r[ROOM];

	if (cell >= CELLS)
		return;
	if (count > CELLS - cell)
		count = CELLS - cell;
	for (uint64_t i = cell; i < cell + count; i++)
		m->written[i] = times_due(m, i) + 1;
	for (uint64_t i = cell; i < cell + count; i += cells_per_window(m))
		count_pieces(m, i);
	count_pieces(m, cell + count - 1);
	note_windows(m);
	hand_out_all(m, r,
		     window_add(&m->tracker, range_make(m->base + cell * CELL, count * CELL), r,
				room));
}

static void take_all(struct model *m)
{
	struct byte_range r[ROOM];

	note_windows(m);
	hand_out_all(m, r, window_take_all(&m->tracker, r, ROOM));
}

static uint64_t known(const struct model *m)
{
	uint64_t bytes = m->tracker.forgotten;

	for (unsigned int i = 0; i < m->tracker.open; i++)
		bytes += range_set_bytes(&m->tracker.window[i].covered);
	for (unsigned int i = 0; i < m->tracker.due_count; i++)
		bytes += range_len(m->tracker.due[i]);
	return bytes;
}

static uint64_t pending(const struct model *m)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < CELLS; i++)
		bytes += m->written[i] * CELL;
	return bytes;
}

/* A client with @depth WRITEs in flight that arrive in any order */
static void shuffled_stream(struct model *m, unsigned int depth, uint64_t each,
			    void (*between)(struct model *m))
{
	uint64_t flight[64];
	uint64_t next = 0;

	for (unsigned int i = 0; i < depth; i++, next += each)
		flight[i] = next;
	for (uint64_t n = 0; n < CELLS / each; n++) {
		unsigned int pick = (unsigned int)unit_below(&m->seed, depth);

		/* the client's slots: the oldest is never overtaken by more than all of them */
		for (unsigned int i = 0; i < depth; i++)
			if (next - flight[i] > depth * each)
				pick = i;
		write_cells(m, flight[pick], each, WINDOW_DUE_MAX);
		flight[pick] = next;
		next += each;
		if (between)
			between(m);
	}
	for (unsigned int i = 0; i < depth; i++)
		write_cells(m, flight[i], each, WINDOW_DUE_MAX);
}

static void check_stream_is_complete(struct model *m)
{
	CU_ASSERT(m->tracker.stream);
	CU_ASSERT_EQUAL(pending(m), known(m));
	take_all(m);
	CU_ASSERT_EQUAL(pending(m), 0);
	CU_ASSERT_EQUAL(m->tracker.forgotten, 0);
	CU_ASSERT(m->handed >= CELLS * CELL);
}

static struct model *model; /* too large for the stack */

static const uint64_t window_sizes[] = { 2 * MIB, 4 * MIB, 8 * MIB };

static void streams_are_handed_out_completely(void)
{
	static const unsigned int depth[] = { 1, 8, 64 };
	static const uint64_t each[] = { 16, 64, 256 }; /* 64 KiB, 256 KiB, 1 MiB */
	uint64_t seed = 1;

	for (int s = 0; s < 3; s++) {
		for (int d = 0; d < 3; d++) {
			for (int e = 0; e < 3; e++) {
				if (depth[d] * each[e] > CELLS / 8)
					continue; /* more windows in flight than can be open */
				begin(model, window_sizes[s], 0, seed++);
				shuffled_stream(model, depth[d], each[e], NULL);
				check_stream_is_complete(model);
			}
		}
	}
}

static void stray(struct model *m)
{
	if (unit_below(&m->seed, 50) == 0)
		write_cells(m, unit_below(&m->seed, CELLS), 1, WINDOW_DUE_MAX);
	if (unit_below(&m->seed, 4) == 0)
		write_cells(m, 0, 1, WINDOW_DUE_MAX);
}

static void streams_with_strays_are_handed_out_completely(void)
{
	for (uint64_t seed = 100; seed < 110; seed++) {
		begin(model, window_sizes[seed % 3], 0, seed);
		shuffled_stream(model, 8, 64, stray);
		check_stream_is_complete(model);
	}
}

/* Any mixture of lengths, places, rooms, keeping, taking and truncation */
static void step(struct model *m)
{
	uint64_t cell = unit_below(&m->seed, CELLS);
	unsigned int room = (unsigned int)unit_below(&m->seed, 2 * WINDOW_DUE_MAX);
	uint64_t what = unit_below(&m->seed, 1000);

	if (what < 20) {
		window_keep(&m->tracker, m->base + cell * CELL);
	} else if (what < 24) {
		take_all(m);
	} else if (what < 28) {
		window_truncate(&m->tracker, m->base + cell * CELL);
		memset(m->written + cell, 0, CELLS - cell);
	} else if (what < 300) {
		write_cells(m, cell, 1 + unit_below(&m->seed, 256), room);
	} else if (what < 302) {
		write_cells(m, cell, 1 + unit_below(&m->seed, CELLS / 4), room);
	} else {
		for (int i = 0; i < 20; i++)
			write_cells(m, cell + 32 * (uint64_t)i, 32, room);
	}
}

static void anything_goes(void)
{
	uint64_t handed = 0;

	for (uint64_t seed = 1000; seed < 1040; seed++) {
		uint64_t base = seed % 2 == 0 ? 0 : UINT64_MAX - (CELLS * CELL * 2 - 1);

		begin(model, window_sizes[seed % 3], base, seed);
		for (int i = 0; i < 500; i++) {
			step(model);
			CU_ASSERT(model->tracker.open <= WINDOW_OPEN_MAX);
			CU_ASSERT(model->tracker.due_count <= WINDOW_DUE_MAX);
		}
		CU_ASSERT(pending(model) <= known(model));
		handed += model->handed;
	}
	CU_ASSERT(handed > 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "streams are handed out completely", streams_are_handed_out_completely },
		{ "streams with strays are handed out completely",
		  streams_with_strays_are_handed_out_completely },
		{ "anything goes", anything_goes },
		CU_TEST_INFO_NULL,
	};
	int rc;

	model = malloc(sizeof(*model));
	if (!model)
		return 1;
	rc = unit_run("window model", NULL, tests);
	free(model);
	return rc;
}
