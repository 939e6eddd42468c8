/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the parts of a file object share:
 *
 *     file_table.c   finding, references
 *     housekeeping.c what outlives references, and the tick
 *     descriptor.c   opening, pinning, reaping
 *     file.c         unsynced data, the latch, COMMIT, truncation
 *     file_write.c   WRITE, its windows, the throttle
 *     file_read.c    READ
 *     writeback.c    dropping: the helpers of the volume
 */
#ifndef DROPBEHIND_FILE_INTERNAL_H
#define DROPBEHIND_FILE_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "file.h"
#include "handle.h"
#include "kernel_abi.h"
#include "volume_internal.h"
#include "window.h"

enum { FD_READ, FD_WRITE, FD_COUNT };

struct descriptor {
	TAILQ_ENTRY(descriptor) lru; /* LRU lock; linked while fd is open */
	struct file *file;
	int fd;		  /* -1: not open; guarded by the file lock */
	atomic_bool used; /* since the reaper last looked */
};

TAILQ_HEAD(descriptor_list, descriptor);

/** A sequential reader of the file; see file_read.c. Guarded by the file lock. */
struct reader {
	bool running;	/* the rest is of a run */
	uint64_t next;	/* end of the furthest READ of the run */
	uint64_t bytes; /* read in the run */
	uint64_t base;	/* windows below are done with */
	uint64_t top;	/* windows below were looked at */
	uint64_t keep;	/* bit w % 64 for window w in [top - 64, top): was resident before */
};

struct file {
	struct file *hash_next; /* bucket lock */
	uint64_t hash;
	struct file_table *table;
	struct volume *volume;
	struct kernel_handle handle;
	atomic_uint refs; /* from 1 to 0 only under the bucket lock */

	pthread_mutex_t lock; /* the file lock */
	struct descriptor descriptor[FD_COUNT];
	atomic_uint pins; /* no descriptor is closed while > 0; raised under the file lock */

	/* Data and errors. Unsynced data exists while written != synced. */
	_Atomic uint64_t written; /* WRITEs whose data reached the kernel */
	_Atomic uint64_t synced;  /* value of written at the start of the last sync */
	atomic_int error;	  /* latched errno, or 0; set under the file lock */
	bool sync_running;	  /* file lock: this and the next four */
	uint64_t sync_started;
	uint64_t sync_finished;
	int sync_rc; /* of the last one */
	pthread_cond_t sync_done;
	atomic_bool recently_used; /* of a latched file, since the last sweep */

	/* Write-behind, guarded by the file lock */
	struct window_tracker *tracker; /* NULL until a stream may have begun */
	uint64_t queued;		/* bytes with the helpers */
	uint64_t credited;		/* bytes credited ever */
	unsigned int waiting;		/* throttled writers */
	pthread_cond_t credit;
	struct drop_list drops; /* queue lock of the volume */
	_Atomic uint64_t drop_align;

	struct reader reader;
	_Atomic uint64_t last_io; /* CLOCK_MONOTONIC seconds */

	/* LRU lock of the table */
	TAILQ_ENTRY(file) active;  /* has a tracker or a reader to be looked after */
	TAILQ_ENTRY(file) latched; /* has a latched error, and a reference for it */
	bool is_active;
	bool is_latched;
	uint64_t quiet_since; /* of a latched file: held by nobody else since; 0: by somebody */

	max_align_t extra[];
};

TAILQ_HEAD(file_list, file);

struct file_table {
	struct file_table_config config;
	struct file_counters counters;
	struct shard *shards;

	pthread_mutex_t lru_lock;   /* the LRU lock: the three lists */
	struct descriptor_list lru; /* all open descriptors */
	unsigned int lru_count;
	struct file_list active;
	unsigned int active_count;
	struct file_list latched;

	pthread_mutex_t tick_lock;
	pthread_cond_t tick;
	bool stopping;
	pthread_t housekeeper;
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline uint64_t request_bytes(const struct io_request *req)
{
	uint64_t bytes = 0;

	for (int i = 0; i < req->iov_count; i++)
		bytes += req->iov[i].iov_len;
	return bytes;
}

/**
 * flag_refused - @rc may mean that a flag is not supported; EPERM by a container's seccomp filter.
 */
static inline bool flag_refused(ssize_t rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EPERM;
}

/* file_table.c */

/** file_ref_unless_zero - for walkers of the LRU lists: false if the file is being freed. */
bool file_ref_unless_zero(struct file *file);

/* housekeeping.c */

uint64_t file_now(void); /* CLOCK_MONOTONIC, seconds */

/** file_set_active - have the sweep look after @file, or no longer. File lock held. */
void file_set_active(struct file *file);
void file_set_inactive(struct file *file);

int housekeeper_start(struct file_table *table);

/** housekeeper_stop - stop the thread and end every latch. */
void housekeeper_stop(struct file_table *table);

/* descriptor.c */

/** descriptor_close_all - of a file that nobody refers to any more. */
void descriptor_close_all(struct file *file);

/* file.c */

bool file_is_unsynced(const struct file *file);

/** file_note_written - data reached the kernel. Before the descriptor is released. */
void file_note_written(struct file *file);

/**
 * file_sync - fsync(2), of the read-write descriptor if one is open, else of @fd; the file is
 * pinned. May share the sync of others, which began after this call. A writeback error is latched
 * before anybody is answered. Returns 0 or -errno.
 * @counter: what the sync is counted as, if it is this caller's.
 */
int file_sync(struct file *file, int fd, _Atomic uint64_t *counter);

/** file_error - the latched error as -errno, or 0. */
int file_error(const struct file *file);

/** file_unlatch - forget the latched error, and put the reference it held. */
void file_unlatch(struct file *file);

/** file_downgrade - @mode does not work on the file's volume: the first to notice is told on. */
void file_downgrade(struct file *file, enum io_mode mode, int error);

/* file_write.c */

#define RANGE_LIST_MAX (WINDOW_OPEN_MAX * RANGE_SET_MAX + WINDOW_DUE_MAX)

/** Ranges that a tracker handed out; they count as queued until credited. */
struct range_list {
	unsigned int count;
	struct byte_range range[RANGE_LIST_MAX];
};

/** file_take_windows - take the open windows of a stream; the caller drops and credits them. */
void file_take_windows(struct file *file, struct range_list *ret_list);

/** file_flush_windows - hand the open windows of a stream to the helpers. */
void file_flush_windows(struct file *file);

/** file_forget_windows - free the tracker of a file that is no stream, if nobody is writing. */
void file_forget_windows(struct file *file);

/* file_read.c */

/** reader_finish - drop what a sequential reader left behind and forget it. */
void reader_finish(struct file *file);

#endif
