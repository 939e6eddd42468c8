/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Window tracker of one file: turns the WRITEs of NFS clients, which arrive out of order, into
 * aligned windows that can be written back and dropped as wholes.
 *
 * Windows. The file is divided in windows of a fixed power-of-two size, aligned in the file. A
 * window that became fully covered is handed out; when more than WINDOW_OPEN_MAX are partly
 * covered, the one written least recently is handed out as it is. Adjacent ranges are handed out
 * as one, so a WRITE of many windows gives one long range.
 *
 * Streams. A WRITE belongs to a run if it begins within WINDOW_STREAM_REACH times its own size of
 * the end of the latest WRITE of that run, on either side; else it begins a run of its own in place
 * of the one with the least credit. WINDOW_RUN_MAX runs are known, so a few clients that write
 * different parts of a file are streams too; runs that one WRITE belongs to are joined. A run is
 * credited with the bytes that its WRITEs newly covered; the file is a stream once one run has
 * WINDOW_STREAM_BYTES. Rewriting the same place earns nothing, so a hot header or a small database
 * never becomes a stream by being written often.
 *
 * Strays. A WRITE outside every run costs each run its size, at least WINDOW_STRAY_MIN and at most
 * WINDOW_STRAY_MAX; a run has at most WINDOW_CREDIT_MAX; and the file stops being a stream when no
 * run has more than half of WINDOW_STREAM_BYTES left. So an established stream survives a header
 * rewritten at offset 0 — also again and again, because the header becomes a run itself — and 6
 * (large) to 96 (small) strays in a row end it.
 *
 * Until the file is a stream nothing is handed out (small files stay cached), but what was written
 * stays known, so that the beginning of a stream is dropped too. A pattern that is not a stream
 * (random, or strided by more than the reach) hands out nothing, and windows beyond WINDOW_OPEN_MAX
 * are forgotten silently: such files are left to the kernel. A single WRITE of WINDOW_STREAM_BYTES
 * or more is a stream by itself, wherever it is.
 *
 * Promise: what was written and not handed out since is still open, due, kept or counted in
 * `forgotten`. Nothing is handed out twice but what was written again. Bytes never written are
 * handed out only if a window was in more than RANGE_SET_MAX pieces, and then only between two.
 *
 * Not its business: a window below KERNEL_FOLIO_MAX may end inside a folio, and so may a tail. Who
 * drops has to grow what is handed out to whole folios (see kernel_abi.h).
 *
 * Pure bookkeeping: no system calls, no locks (the owner of the tracker locks).
 */
#ifndef DROPBEHIND_WINDOW_H
#define DROPBEHIND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "range.h"

#define WINDOW_OPEN_MAX 8
#define WINDOW_DUE_MAX 32   /* ranges that wait for room in the caller's array */
#define WINDOW_RECENT_MAX 8 /* windows handed out last, see window_is_new() */
#define WINDOW_RUN_MAX 8
#define WINDOW_STREAM_BYTES (4U << 20)
#define WINDOW_STREAM_REACH 16
#define WINDOW_CREDIT_MAX (2 * WINDOW_STREAM_BYTES)
#define WINDOW_STRAY_MIN (WINDOW_STREAM_BYTES / 64)
#define WINDOW_STRAY_MAX (WINDOW_STREAM_BYTES / 4)
#define WINDOW_SIZE_MIN (1U << 20)
#define WINDOW_SIZE_MAX (8U << 20)

struct window {
	uint64_t index;	    /* offset / size of the window */
	uint64_t last_used; /* tracker's write count when last touched */
	bool kept;	    /* holds pages that were resident before we wrote: see window_keep() */
	struct range_set covered;
};

struct window_run {
	uint64_t end;	    /* of the latest WRITE of the run */
	uint64_t last_used; /* tracker's write count; 0: no run */
	uint32_t credit;    /* bytes */
};

struct window_tracker {
	uint64_t size;	    /* bytes of a window: a power of two */
	uint64_t writes;    /* WRITEs seen */
	uint64_t forgotten; /* bytes no longer known that were never handed out */
	bool stream;
	unsigned int open;
	unsigned int due_count;
	unsigned int recent_next;
	struct window_run run[WINDOW_RUN_MAX];
	struct byte_range due[WINDOW_DUE_MAX]; /* oldest first */
	uint64_t recent[WINDOW_RECENT_MAX];    /* index + 1; 0: none */
	struct window window[WINDOW_OPEN_MAX];
};

/**
 * window_size_for - window size for a file that may hold @stream_cache bytes:
 * clamp(stream_cache / 4, WINDOW_SIZE_MIN, WINDOW_SIZE_MAX), rounded down to a power of two.
 */
uint64_t window_size_for(uint64_t stream_cache);

/**
 * window_init - @size: bytes of a window, a power of two, as from window_size_for().
 */
void window_init(struct window_tracker *tracker, uint64_t size);

/**
 * window_add - note that @written was written.
 * @ret_full: filled with ranges that are to be written back now; the tracker no longer knows them.
 * @max: room in @ret_full.
 *
 * Returns the number of ranges stored. When more are due than @max, the rest is handed out by
 * the following calls. Should more than WINDOW_DUE_MAX wait, the oldest is forgotten, which costs a
 * drop, never data; with room for WINDOW_DUE_MAX that takes several windows in many pieces
 * giving way at once. A @written longer than a window hands out the whole windows inside it.
 */
unsigned int window_add(struct window_tracker *tracker, struct byte_range written,
			struct byte_range *ret_full, unsigned int max);

/**
 * window_is_new - true if the window holding @offset is neither open nor among the last
 * WINDOW_RECENT_MAX that were handed out (whose pages may be resident because of us): what is
 * resident there before the first write belongs to somebody else.
 */
bool window_is_new(const struct window_tracker *tracker, uint64_t offset);

/**
 * window_claim - as window_is_new(), and opens the window: of several WRITEs in flight to the same
 * new window exactly one gets true. That one looks at what is resident and calls window_keep(); the
 * others may have begun to write by then, so only clean pages tell.
 */
bool window_claim(struct window_tracker *tracker, uint64_t offset);

/**
 * window_keep - the window at @offset holds pages that somebody else uses: it is left to the kernel
 * and never handed out for dropping (window_add() and window_take_all() leave it out), until it
 * is forgotten or taken. Opens the window if it is not open.
 *
 * Call it before window_add() of the WRITE. For a WRITE of several windows do both for one window
 * after the other: not more than WINDOW_OPEN_MAX are remembered as kept at a time.
 */
void window_keep(struct window_tracker *tracker, uint64_t offset);

/**
 * window_take_all - hand out everything that is still open and forget it, for COMMIT, close and
 * idle: the tail of a stream. Returns the number of ranges stored in @ret, in ascending order apart
 * from what was due before (room for WINDOW_OPEN_MAX * RANGE_SET_MAX + WINDOW_DUE_MAX always
 * suffices; with less, call again until it returns 0). Nothing if not a stream.
 */
unsigned int window_take_all(struct window_tracker *tracker, struct byte_range *ret,
			     unsigned int max);

/**
 * window_settle - all that was handed out has left the page cache: what is resident from now on
 * belongs to somebody else, also in the windows handed out last.
 */
void window_settle(struct window_tracker *tracker);

/**
 * window_truncate - the file now ends at @size: forget what lies beyond; at size 0 also forget that
 * the file was a stream. An append at the new end goes on with the stream.
 */
void window_truncate(struct window_tracker *tracker, uint64_t size);

#endif
