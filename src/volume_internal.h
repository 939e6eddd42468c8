/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What volume.c and writeback.c share: the volume itself and the queue of its two helper threads.
 */
#ifndef DROPBEHIND_VOLUME_INTERNAL_H
#define DROPBEHIND_VOLUME_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "range.h"
#include "volume.h"

enum drop_state {
	DROP_TO_START,
	DROP_TO_DROP,
	DROP_BUSY,  /* a helper works on it */
	DROP_TAKEN, /* somebody else does: see writeback_take() */
};

/**
 * A range of a file on its way out of the page cache. It holds a reference on the file. Links and
 * state are guarded by the volume's queue lock; file and range don't change.
 */
struct drop {
	TAILQ_ENTRY(drop) queue;   /* the queue that the state tells; in none while busy */
	TAILQ_ENTRY(drop) of_file; /* struct file's drops, from enqueueing to the end */
	struct file *file;
	struct byte_range range;
	enum drop_state state;
	uint64_t serial;   /* in the order of enqueueing */
	atomic_bool hurry; /* somebody synced the file and drops the range: leave it to them */
};

TAILQ_HEAD(drop_list, drop);

struct volume {
	int mount_fd;
	_Atomic unsigned int lacks; /* bit per enum io_mode that was found not to work */
	_Atomic uint64_t error_epoch;
	atomic_bool closing;

	pthread_mutex_t lock; /* the queue lock: probe, both queues, every drop, closing */
	struct volume_probe probe;
	pthread_cond_t startable;
	pthread_cond_t droppable;
	pthread_cond_t let_go; /* a helper is done with a drop */
	struct drop_list to_start;
	struct drop_list to_drop;
	uint64_t last_serial;
	bool running;
	pthread_t starter;
	pthread_t dropper;
};

void cond_init_monotonic(pthread_cond_t *cond);

/** writeback_start - start both helper threads. Returns 0 or -errno; nothing runs on failure. */
int writeback_start(struct volume *volume);

/**
 * writeback_stop - stop and join the helpers, discard what is queued. Does nothing the second
 * time.
 */
void writeback_stop(struct volume *volume);

/**
 * volume_quiesce - stop the helpers before volume_close(): after it no file is latched on the
 * volume.
 */
void volume_quiesce(struct volume *volume);

/** volume_is_closing - no drop is queued any more and nobody may wait for one. */
bool volume_is_closing(const struct volume *volume);

/** volume_can_drop - windows of this volume can be written back and dropped by range. */
bool volume_can_drop(const struct volume *volume);

/** Drops of a file that were taken from the helpers. */
struct taken {
	struct drop_list drops; /* linked by queue */
	uint64_t upto;		/* serial of the last drop that there was */
	unsigned int busy_count;
	struct byte_range busy[2]; /* that helpers were busy with, one each */
};

/**
 * writeback_take - take all queued drops of @file out of the queue: the caller drops the ranges
 * itself and ends each with writeback_end().
 */
void writeback_take(struct volume *volume, struct file *file, struct taken *ret_taken);

/**
 * writeback_take_rest - after a sync of @file: have the helpers let go of what they were busy with
 * at writeback_take(), since the pages that a helper waits for can't be dropped by anybody else.
 * Waits for them, but not for long.
 */
void writeback_take_rest(struct volume *volume, struct file *file, struct taken *taken);

/** writeback_end - credit @bytes of @drop to its file, put the file, free @drop. */
void writeback_end(struct drop *drop, uint64_t bytes);

/**
 * writeback_overlaps - true if a part of @range is on its way out for @file. Takes the queue lock.
 */
bool writeback_overlaps(struct volume *volume, struct file *file, struct byte_range range);

/**
 * writeback_drop_pages - FADV_DONTNEED for @range of @file, which was written back. Grown to whole
 * pages, and at its beginning to @file's drop_align: the kernel leaves a folio alone that reaches
 * beyond the range (mm/truncate.c, mapping_try_invalidate()), so the slice that completes a folio
 * has to name all of it. A refusal is only counted.
 */
void writeback_drop_pages(struct file *file, int fd, struct byte_range range);

#endif
