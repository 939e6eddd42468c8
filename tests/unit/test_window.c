/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Window tracker, scenario by scenario. test_window_model.c runs long random sequences of the same
 * kinds against a naive model.
 */
#include "window.h"

#include <string.h>

#include "unit.h"

#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)
#define OUT_MAX 256

static struct window_tracker tracker;
static struct byte_range out[OUT_MAX]; /* everything handed out, in order */
static unsigned int out_count;
static uint64_t out_bytes;

static void start(uint64_t size)
{
	window_init(&tracker, size);
	out_count = 0;
	out_bytes = 0;
}

static void note_out(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		out_bytes += range_len(out[out_count + i]);
	out_count += count;
}

static unsigned int write_at(uint64_t offset, uint64_t len)
{
	unsigned int count =
		window_add(&tracker, range_make(offset, len), out + out_count, OUT_MAX - out_count);

	note_out(count);
	return count;
}

static unsigned int take_all(void)
{
	unsigned int count = window_take_all(&tracker, out + out_count, OUT_MAX - out_count);

	note_out(count);
	return count;
}

static void write_all(uint64_t offset, uint64_t len, uint64_t each)
{
	for (uint64_t at = 0; at < len; at += each)
		write_at(offset + at, each);
}

static bool out_is(unsigned int i, uint64_t from, uint64_t to)
{
	return i < out_count && out[i].start == from && out[i].end == to;
}

static bool last_is(uint64_t from, uint64_t to)
{
	return out_count > 0 && out_is(out_count - 1, from, to);
}

static void sizes(void)
{
	CU_ASSERT_EQUAL(window_size_for(0), WINDOW_SIZE_MIN);
	CU_ASSERT_EQUAL(window_size_for(MIB), WINDOW_SIZE_MIN);
	CU_ASSERT_EQUAL(window_size_for(16 * MIB - 1), 2 * MIB);
	CU_ASSERT_EQUAL(window_size_for(16 * MIB), 4 * MIB);
	CU_ASSERT_EQUAL(window_size_for(24 * MIB), 4 * MIB);
	CU_ASSERT_EQUAL(window_size_for(32 * MIB), 8 * MIB);
	CU_ASSERT_EQUAL(window_size_for(1024 * MIB), 8 * MIB);
	CU_ASSERT_EQUAL(window_size_for(UINT64_MAX), WINDOW_SIZE_MAX);
}

static void small_file_hands_out_nothing(void)
{
	start(MIB);
	write_all(0, 4 * MIB - 64 * KIB, 64 * KIB);
	CU_ASSERT_EQUAL(out_count, 0);
	CU_ASSERT_EQUAL(take_all(), 0);
	CU_ASSERT_FALSE(tracker.stream);
}

static void beginning_is_handed_out_once_it_is_a_stream(void)
{
	start(MIB);
	write_all(0, 4 * MIB - 64 * KIB, 64 * KIB);
	CU_ASSERT_EQUAL(write_at(4 * MIB - 64 * KIB, 64 * KIB), 1);
	CU_ASSERT(out_is(0, 0, 4 * MIB));
	write_all(4 * MIB, MIB + 5, MIB + 5);
	CU_ASSERT(last_is(4 * MIB, 5 * MIB));
	CU_ASSERT_EQUAL(take_all(), 1);
	CU_ASSERT(last_is(5 * MIB, 5 * MIB + 5));
	CU_ASSERT_EQUAL(take_all(), 0);
	CU_ASSERT_EQUAL(tracker.open, 0);
	CU_ASSERT_EQUAL(tracker.forgotten, 0);
}

/* A client with 8 WRITEs in flight; no window is handed out while one of its WRITEs is missing */
static void out_of_order_arrival(void)
{
	static const unsigned int arrival[8] = { 3, 0, 1, 7, 2, 6, 5, 4 };

	start(2 * MIB);
	for (uint64_t base = 0; base < 64; base += 8)
		for (unsigned int i = 0; i < 8; i++)
			write_at((base + arrival[i]) * 512 * KIB, 512 * KIB);
	CU_ASSERT_EQUAL(out_bytes, 32 * MIB);
	for (unsigned int i = 0; i < out_count; i++)
		CU_ASSERT(out[i].start % (2 * MIB) == 0 && out[i].end % (2 * MIB) == 0);
	CU_ASSERT_EQUAL(take_all(), 0);
	write_at(32 * MIB + 512 * KIB, 512 * KIB);
	write_at(33 * MIB, MIB);
	CU_ASSERT_EQUAL(out_bytes, 32 * MIB);
	write_at(32 * MIB, 512 * KIB);
	CU_ASSERT(last_is(32 * MIB, 34 * MIB));
}

static void rewriting_earns_nothing(void)
{
	start(MIB);
	for (int i = 0; i < 1000; i++)
		write_all(0, 2 * MIB, 256 * KIB);
	CU_ASSERT_FALSE(tracker.stream);
	CU_ASSERT_EQUAL(out_count + take_all(), 0);
	write_all(2 * MIB, 2 * MIB, 256 * KIB);
	CU_ASSERT(out_is(0, 0, 4 * MIB));
	for (int i = 0; i < 100; i++)
		write_at(4 * MIB, MIB - 1);
	CU_ASSERT_EQUAL(out_count, 1);
	write_at(5 * MIB - 1, 1);
	CU_ASSERT(last_is(4 * MIB, 5 * MIB));
	write_at(4 * MIB, MIB);
	CU_ASSERT_EQUAL(out_count, 3);
}

static void reverse_order_is_a_stream(void)
{
	start(MIB);
	for (uint64_t at = 64 * MIB; at > 0; at -= 256 * KIB)
		write_at(at - 256 * KIB, 256 * KIB);
	CU_ASSERT_EQUAL(out_bytes, 64 * MIB);
	CU_ASSERT(out_is(0, 60 * MIB, 64 * MIB));
	CU_ASSERT(last_is(0, MIB));
}

static void write_of_many_windows(void)
{
	start(8 * MIB);
	CU_ASSERT_EQUAL(write_at(0, 64 * MIB), 1);
	CU_ASSERT(out_is(0, 0, 64 * MIB));
	CU_ASSERT_EQUAL(tracker.open, 0);
	CU_ASSERT_EQUAL(write_at(64 * MIB + 100, 64 * MIB), 1);
	CU_ASSERT(last_is(72 * MIB, 128 * MIB));
	CU_ASSERT_EQUAL(tracker.open, 2);
	write_at(64 * MIB, 100);
	CU_ASSERT(last_is(64 * MIB, 72 * MIB));
	CU_ASSERT_EQUAL(take_all(), 1);
	CU_ASSERT(last_is(128 * MIB, 128 * MIB + 100));
	CU_ASSERT_EQUAL(out_bytes, 128 * MIB + 100);
	CU_ASSERT_FALSE(window_is_new(&tracker, 120 * MIB));
	CU_ASSERT(window_is_new(&tracker, 200 * MIB));
}

/* What is open inside the long WRITE goes out with it, not a second time */
static void write_over_open_windows(void)
{
	start(MIB);
	write_all(0, 4 * MIB, MIB);
	write_at(5 * MIB + 10, 20);
	write_at(7 * MIB + 10, 20);
	CU_ASSERT_EQUAL(write_at(4 * MIB, 8 * MIB), 1);
	CU_ASSERT(last_is(4 * MIB, 12 * MIB));
	CU_ASSERT_EQUAL(take_all(), 0);
}

static void top_of_the_number_space(void)
{
	const uint64_t top = UINT64_MAX - (8 * MIB - 1); /* a multiple of 8 MiB */

	start(MIB);
	write_all(top, 8 * MIB, 256 * KIB); /* the last WRITE is cut by one byte */
	CU_ASSERT_EQUAL(out_bytes, 8 * MIB - 1);
	CU_ASSERT(last_is(UINT64_MAX - (MIB - 1), UINT64_MAX));
	CU_ASSERT_EQUAL(write_at(top, 16 * MIB), 1);
	CU_ASSERT(last_is(top, UINT64_MAX));
	write_at(UINT64_MAX - 1, 1);
	CU_ASSERT_EQUAL(take_all(), 1);
	CU_ASSERT(last_is(UINT64_MAX - 1, UINT64_MAX));
	CU_ASSERT_EQUAL(write_at(UINT64_MAX, 5), 0);
	CU_ASSERT_EQUAL(write_at(0, UINT64_MAX), 1);
	CU_ASSERT(last_is(0, UINT64_MAX));
}

static void random_pattern_hands_out_nothing(void)
{
	static const uint64_t len[] = { 4 * KIB, 64 * KIB, 1024 * KIB };
	uint64_t seed = 5;

	for (int i = 0; i < 3; i++) {
		start(8 * MIB);
		for (int n = 0; n < 20000; n++)
			write_at(unit_below(&seed, (16 << 10) * MIB / len[i]) * len[i], len[i]);
		CU_ASSERT_FALSE(tracker.stream);
		CU_ASSERT_EQUAL(out_count + take_all(), 0);
		CU_ASSERT(tracker.forgotten > 0);
	}
}

static void strided_beyond_the_reach_hands_out_nothing(void)
{
	start(8 * MIB);
	for (uint64_t n = 0; n < 10000; n++)
		write_at(n * (WINDOW_STREAM_REACH + 2) * 64 * KIB, 64 * KIB);
	CU_ASSERT_FALSE(tracker.stream);
	CU_ASSERT_EQUAL(out_count + take_all(), 0);
}

/* Within the reach it is a stream with holes; only what was written goes out */
static void strided_within_the_reach_is_a_stream(void)
{
	start(2 * MIB);
	for (uint64_t n = 0; n < 200; n++)
		write_at(n * 512 * KIB, 64 * KIB);
	CU_ASSERT(tracker.stream);
	while (take_all() > 0)
		;
	CU_ASSERT_EQUAL(out_bytes + tracker.forgotten, 200 * 64 * KIB);
	for (unsigned int i = 0; i < out_count; i++)
		CU_ASSERT_EQUAL(range_len(out[i]), 64 * KIB);
}

static void stray_write_does_not_end_a_stream(void)
{
	start(MIB);
	write_all(0, 100 * MIB, MIB);
	write_at(0, 4 * KIB); /* the header */
	CU_ASSERT(tracker.stream);
	write_at(100 * MIB, MIB);
	CU_ASSERT(last_is(100 * MIB, 101 * MIB));
	CU_ASSERT_EQUAL(take_all(), 1);
	CU_ASSERT(last_is(0, 4 * KIB));
}

/* A header and an index rewritten after every 1 MiB, from the very beginning */
static void repeated_header_does_not_hinder_a_stream(void)
{
	start(2 * MIB);
	for (uint64_t at = 4 * MIB; at < 200 * MIB; at += MIB) {
		write_at(at, MIB);
		write_at(0, 512);
		write_at(MIB + 5, 4 * KIB);
	}
	CU_ASSERT(tracker.stream);
	CU_ASSERT_EQUAL(tracker.open, 1);
	CU_ASSERT_EQUAL(out_bytes, 196 * MIB);
}

static void many_strays_end_a_stream_and_it_comes_back(void)
{
	static const uint64_t len[] = { 4 * KIB, MIB };
	static const unsigned int want[] = { 96, 6 };
	unsigned int strays;

	for (int i = 0; i < 2; i++) {
		start(2 * MIB);
		write_all(0, 64 * MIB, MIB);
		for (strays = 0; tracker.stream && strays < 100; strays++)
			write_at(1024 * MIB * (strays + 1), len[i]);
		CU_ASSERT_EQUAL(strays, want[i]);
	}
	out_count = 0;
	CU_ASSERT_EQUAL(take_all(), 0);
	CU_ASSERT_EQUAL(write_at(64 * MIB, MIB), 0);
	CU_ASSERT_EQUAL(write_at(65 * MIB, MIB), 1); /* half of its credit is left */
	CU_ASSERT(last_is(64 * MIB, 66 * MIB));
}

/* Two runs that a WRITE between them joins: their credit counts once, however often it comes */
static void joined_runs_count_once(void)
{
	start(2 * MIB);
	write_at(0, MIB);
	write_at(20 * MIB, MIB);
	for (int i = 0; i < 20; i++)
		write_at(10 * MIB, MIB);
	CU_ASSERT_FALSE(tracker.stream);
	write_at(11 * MIB, MIB);
	CU_ASSERT_FALSE(tracker.stream);
	write_at(12 * MIB, MIB);
	CU_ASSERT(tracker.stream);
}

static void four_writers_of_one_file(void)
{
	start(2 * MIB);
	for (uint64_t at = 0; at < 32 * MIB; at += 256 * KIB)
		for (uint64_t writer = 0; writer < 4; writer++)
			write_at(writer * 4096 * MIB + at, 256 * KIB);
	CU_ASSERT_EQUAL(out_bytes, 4 * 32 * MIB);
	CU_ASSERT_EQUAL(tracker.forgotten, 0);
}

/* More windows in pieces than can be open: the least recently used goes out as it is */
static void oldest_gives_way(void)
{
	start(MIB);
	write_all(0, 4 * MIB, MIB);
	for (uint64_t i = 4; i < 4 + WINDOW_OPEN_MAX; i++)
		write_at(i * MIB, MIB - 1);
	write_at(4 * MIB + 9, 1); /* 5 is the oldest now */
	CU_ASSERT_EQUAL(out_count, 1);
	CU_ASSERT_EQUAL(write_at(12 * MIB, MIB - 1), 1);
	CU_ASSERT(last_is(5 * MIB, 6 * MIB - 1));
	write_at(6 * MIB - 1, 1); /* the late byte: nothing is handed out twice */
	CU_ASSERT(last_is(6 * MIB, 7 * MIB - 1));
	CU_ASSERT(take_all() > 0);
	CU_ASSERT_EQUAL(out_bytes, 4 * MIB + 9 * (MIB - 1) + 1);
}

static void kept_window_is_left_out(void)
{
	start(MIB);
	write_all(0, 4 * MIB, MIB);
	CU_ASSERT(window_is_new(&tracker, 5 * MIB + 1));
	window_keep(&tracker, 5 * MIB + 1);
	CU_ASSERT_FALSE(window_is_new(&tracker, 5 * MIB));
	write_all(4 * MIB, 3 * MIB, 256 * KIB);
	CU_ASSERT_EQUAL(out_count, 3);
	CU_ASSERT(out_is(1, 4 * MIB, 5 * MIB));
	CU_ASSERT(out_is(2, 6 * MIB, 7 * MIB));
	CU_ASSERT_EQUAL(write_at(4 * MIB, 4 * MIB), 2);
	CU_ASSERT(out_is(3, 4 * MIB, 5 * MIB));
	CU_ASSERT(out_is(4, 6 * MIB, 8 * MIB));
	CU_ASSERT_EQUAL(take_all(), 0);
	CU_ASSERT_EQUAL(tracker.forgotten, MIB);
	CU_ASSERT(window_is_new(&tracker, 5 * MIB));
}

static void claim_is_true_for_one(void)
{
	start(MIB);
	CU_ASSERT(window_claim(&tracker, 5));
	CU_ASSERT_FALSE(window_claim(&tracker, MIB - 1));
	CU_ASSERT(window_claim(&tracker, MIB));
	write_all(0, 4 * MIB, MIB);
	CU_ASSERT_EQUAL(tracker.open, 0);
	CU_ASSERT_FALSE(window_claim(&tracker, 3 * MIB)); /* resident because of us */
	CU_ASSERT(window_claim(&tracker, 4 * MIB));
	write_all(4 * MIB, 16 * MIB, MIB);
	CU_ASSERT(window_claim(&tracker, 0)); /* long ago */
}

/* After COMMIT dropped everything, what is resident in the last windows is somebody else's */
static void settled_windows_are_new(void)
{
	start(MIB);
	write_all(0, 8 * MIB, MIB);
	CU_ASSERT_FALSE(window_is_new(&tracker, 7 * MIB));
	window_settle(&tracker);
	CU_ASSERT(window_is_new(&tracker, 7 * MIB));
	write_all(8 * MIB, 8 * MIB, MIB);
	CU_ASSERT_FALSE(window_is_new(&tracker, 15 * MIB));
}

static void little_room_defers(void)
{
	struct byte_range one;

	start(MIB);
	write_all(0, 4 * MIB, MIB);
	for (uint64_t i = 0; i < 4; i++)
		write_at(5 * MIB + 2 * i * MIB, MIB - 1);
	CU_ASSERT_EQUAL(window_take_all(&tracker, &one, 0), 0);
	for (uint64_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(window_take_all(&tracker, &one, 1), 1);
		CU_ASSERT_EQUAL(one.start, 5 * MIB + 2 * i * MIB);
		CU_ASSERT_EQUAL(range_len(one), MIB - 1);
	}
	CU_ASSERT_EQUAL(window_take_all(&tracker, &one, 1), 0);
	CU_ASSERT_EQUAL(window_add(&tracker, range_make(20 * MIB, MIB), &one, 0), 0);
	CU_ASSERT_EQUAL(window_add(&tracker, range_make(30 * MIB, MIB), &one, 1), 1);
	CU_ASSERT_EQUAL(one.start, 20 * MIB);
	CU_ASSERT_EQUAL(window_add(&tracker, range_make(0, 0), &one, 1), 1);
	CU_ASSERT_EQUAL(one.start, 30 * MIB);
	CU_ASSERT_EQUAL(tracker.forgotten, 0);
}

static void truncate_forgets_what_lies_beyond(void)
{
	struct byte_range one;

	start(MIB);
	write_all(0, 4 * MIB, MIB);
	write_at(4 * MIB, MIB - 1);
	write_at(6 * MIB, MIB - 1);
	CU_ASSERT_EQUAL(window_add(&tracker, range_make(7 * MIB, MIB), &one, 0), 0);
	window_truncate(&tracker, 4 * MIB + 100);
	CU_ASSERT(tracker.stream);
	CU_ASSERT_EQUAL(take_all(), 1);
	CU_ASSERT(last_is(4 * MIB, 4 * MIB + 100));
	write_at(4 * MIB + 100, 16); /* an append at the new end, far from the old one */
	CU_ASSERT_EQUAL(tracker.run[0].end, 4 * MIB + 116);
	window_truncate(&tracker, 1024 * MIB);
	CU_ASSERT_EQUAL(take_all(), 1);
	write_at(4 * MIB, MIB - 1);
	window_truncate(&tracker, 4 * MIB);
	CU_ASSERT_EQUAL(take_all(), 0);
	CU_ASSERT(window_claim(&tracker, 100 * MIB));
}

static void truncate_to_zero_starts_again(void)
{
	struct window_tracker fresh;

	start(MIB);
	write_all(0, 8 * MIB, MIB);
	write_at(8 * MIB, 5);
	window_truncate(&tracker, 0);
	window_init(&fresh, MIB);
	CU_ASSERT_EQUAL(memcmp(&tracker, &fresh, sizeof(fresh)), 0);
	out_count = 0;
	write_all(0, 3 * MIB, MIB);
	CU_ASSERT_EQUAL(out_count + take_all(), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "sizes", sizes },
		{ "small file hands out nothing", small_file_hands_out_nothing },
		{ "beginning is handed out once it is a stream",
		  beginning_is_handed_out_once_it_is_a_stream },
		{ "out of order arrival", out_of_order_arrival },
		{ "rewriting earns nothing", rewriting_earns_nothing },
		{ "reverse order is a stream", reverse_order_is_a_stream },
		{ "write of many windows", write_of_many_windows },
		{ "write over open windows", write_over_open_windows },
		{ "top of the number space", top_of_the_number_space },
		{ "random pattern hands out nothing", random_pattern_hands_out_nothing },
		{ "strided beyond the reach hands out nothing",
		  strided_beyond_the_reach_hands_out_nothing },
		{ "strided within the reach is a stream", strided_within_the_reach_is_a_stream },
		{ "stray write does not end a stream", stray_write_does_not_end_a_stream },
		{ "repeated header does not hinder a stream",
		  repeated_header_does_not_hinder_a_stream },
		{ "many strays end a stream and it comes back",
		  many_strays_end_a_stream_and_it_comes_back },
		{ "joined runs count once", joined_runs_count_once },
		{ "four writers of one file", four_writers_of_one_file },
		{ "oldest gives way", oldest_gives_way },
		{ "kept window is left out", kept_window_is_left_out },
		{ "claim is true for one", claim_is_true_for_one },
		{ "settled windows are new", settled_windows_are_new },
		{ "little room defers", little_room_defers },
		{ "truncate forgets what lies beyond", truncate_forgets_what_lies_beyond },
		{ "truncate to zero starts again", truncate_to_zero_starts_again },
		CU_TEST_INFO_NULL,
	};

	return unit_run("window", NULL, tests);
}
