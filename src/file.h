/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A file object: one inode that NFS clients do I/O on, whatever number of NFS handles, opens and
 * exports refer to it. It binds together the descriptors, the window tracker, the latch of
 * writeback errors and the bytes in flight of that inode.
 *
 * Lifetime: file_get() finds or creates it by (volume, kernel handle), file_put() drops a
 * reference. The last reference closes the descriptors — syncing first if there is unsynced data,
 * so that an error is not lost with the descriptor — and frees the object, unless an error is
 * latched: then it stays in the table until the latch expires (file_table_sweep()).
 *
 * Descriptors: a read-only one first, a second, read-write one at the first WRITE; a stream has
 * both, since its helpers wait on one that nobody syncs. They are opened by handle with root's
 * rights and grant nothing: the caller checks access for every operation. Idle ones are kept on an
 * LRU of the table and reaped when the table's limit is reached; EMFILE and ENFILE reap and retry,
 * and become -EMFILE only if nothing could be reaped.
 *
 * Errors of writeback are told by the kernel once per descriptor. Whoever meets one latches it: a
 * sync (one at a time per file, so that none is answered between an error and its latch), a
 * helper, the sync before a close. From then on every COMMIT and stable WRITE returns it.
 *
 * Lock order (outer first):
 *
 *     table bucket lock  >  file lock  >  LRU lock  >  volume queue lock
 *
 *     OK:    lock(file); note range; unlock(file); volume_enqueue(...)
 *     ERROR: lock(file); fsync(fd)      — no lock is ever held across a blocking system call
 */
#ifndef DROPBEHIND_FILE_H
#define DROPBEHIND_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "handle.h"
#include "strategy.h"
#include "volume.h"

struct file;
struct file_table;

/**
 * What an export asks of the engine; read with relaxed atomics at every request, so it may change
 * under I/O.
 */
struct io_policy {
	_Atomic(enum io_mode) write_mode;
	_Atomic(enum io_mode) read_mode;
	_Atomic uint64_t stream_cache; /* bytes one streaming file may hold in the page cache */
};

struct file_table_config {
	unsigned int descriptor_limit; /* of the table; 0: a quarter of RLIMIT_NOFILE */
	unsigned int latch_seconds;    /* how long a latched error outlives the last reference */
	size_t extra_size;	       /* bytes per file for the adapter: see file_extra() */
	void (*extra_init)(void *extra);
	void (*extra_fini)(void *extra);
	/* Once per downgrade or latched error, without locks, by any thread. May be NULL. */
	void (*on_downgrade)(struct volume *volume, enum io_mode mode, int error, void *arg);
	void (*on_latch)(struct volume *volume, const struct kernel_handle *handle, int error,
			 void *arg);
	void *arg;
};

/** Counters of the whole table, monotonic unless said otherwise. Relaxed atomics. */
struct file_counters {
	_Atomic uint64_t write_requests[IO_MODE_COUNT]; /* by the mode that carried them */
	_Atomic uint64_t write_bytes[IO_MODE_COUNT];
	_Atomic uint64_t read_requests[IO_MODE_COUNT];
	_Atomic uint64_t read_bytes[IO_MODE_COUNT];
	_Atomic uint64_t syncs_stable_write;
	_Atomic uint64_t syncs_commit;
	_Atomic uint64_t syncs_close;
	_Atomic uint64_t windows_queued;
	_Atomic uint64_t windows_dropped;
	_Atomic uint64_t bytes_dropped;
	_Atomic uint64_t drop_failures; /* FADV_DONTNEED or sync_file_range refused: advisory */
	_Atomic uint64_t throttled;	/* WRITEs that waited */
	_Atomic uint64_t throttle_ns;
	_Atomic uint64_t errors_latched;
	_Atomic uint64_t descriptors; /* gauge: open now */
	_Atomic uint64_t reaped;
	_Atomic uint64_t files; /* gauge */
};

int file_table_create(const struct file_table_config *config, struct file_table **ret_table);

/**
 * file_table_destroy - every file must have been put; latched ones are freed. Every volume was
 * closed, or at least forgotten, before: its helpers hold files.
 */
void file_table_destroy(struct file_table *table);

/**
 * file_table_forget - @volume is about to be closed: stop its helpers, free the files of it that
 * only a latched error keeps. No other file of it may be referenced any more. Comes before
 * volume_close().
 */
void file_table_forget(struct file_table *table, struct volume *volume);

struct file_counters *file_table_counters(struct file_table *table);

/**
 * file_table_sweep - free latched files without references whose time is over, drop the tail of
 * streams idle for 2 s. Cheap when there is nothing to do. Called about once a second by the
 * table's own housekeeping thread; exposed for tests.
 * @now: CLOCK_MONOTONIC seconds.
 */
void file_table_sweep(struct file_table *table, uint64_t now);

/**
 * file_get - the file object of @handle on @volume, created if new. Returns NULL only for ENOMEM.
 */
struct file *file_get(struct file_table *table, struct volume *volume,
		      const struct kernel_handle *handle);
void file_ref(struct file *file);

/** file_put - may sync and close descriptors when it drops the last reference: may block. */
void file_put(struct file *file);

void *file_extra(struct file *file);
struct volume *file_volume(struct file *file);

/**
 * file_acquire - a descriptor of the file for reading or for writing, pinned until file_release().
 * @write: a read-write descriptor; otherwise any.
 *
 * Needs CAP_DAC_READ_SEARCH effective when the descriptor has to be opened: call with root's
 * credentials, then switch. Opens with O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, and O_NOATIME for none.
 * Returns the descriptor or -errno: -ESTALE (also for ENOENT), -EROFS, -ETXTBSY, …; -EMFILE after
 * half a second in which every descriptor was in use.
 */
int file_acquire(struct file *file, bool write);
void file_release(struct file *file, bool write);

/**
 * file_acquire_open - as file_acquire(file, false), but only if a descriptor is open already:
 * -EBADF if not. Opens nothing, so it needs no rights; for fstat(2) beside running I/O.
 */
int file_acquire_open(struct file *file);

/**
 * file_write - WRITE (RFC 1813 3.3.7, RFC 8881 18.32) to @fd, which file_acquire(file, true) gave.
 * Runs under the caller's credentials, so that the kernel clears suid and sgid and charges quota.
 *
 * UNSTABLE never syncs. Stable means FILE_SYNC: the core of Ganesha answers FILE_SYNC4 for it, so
 * data and metadata are on disk (fsync, not fdatasync) before it returns; those that come at once
 * share syncs.
 * A latched writeback error is returned by every stable WRITE; by an unstable one never.
 * May wait: throttled to the disk when the stream holds more than policy->stream_cache bytes that
 * are not yet dropped. Never waits with a lock held.
 *
 * Returns bytes written (a short count only if an error came after a part), or -errno.
 */
ssize_t file_write(struct file *file, int fd, const struct io_policy *policy,
		   const struct io_request *req);

/**
 * file_read - READ from @fd. Returns the exact count; fewer than asked means end of file.
 * Call with root's credentials: of a file that the caller could not write the kernel does not tell
 * what is resident (mm/filemap.c, can_do_cachestat()), and then nothing is dropped.
 */
ssize_t file_read(struct file *file, int fd, const struct io_policy *policy,
		  const struct io_request *req);

/**
 * file_commit - COMMIT: everything written before is on disk with its metadata (fsync), and the
 * tail of a stream is dropped. The whole file whatever range was asked (RFC 8881 18.3 allows more).
 * Returns 0, or -errno of the sync or of the latch; an error is latched first and stays: returned
 * by every COMMIT until file_truncated() to 0 or until the latch expires. Never retried into
 * success.
 */
int file_commit(struct file *file, int fd);

/**
 * file_truncated - the size was set to @size: forget windows beyond; 0 also clears the latch. Needs
 * root's credentials, as file_acquire().
 */
void file_truncated(struct file *file, uint64_t size);

/** file_closed - the last NFS open went away: the tail of a stream is queued for dropping. */
void file_closed(struct file *file);

/**
 * file_latch - a writeback error was met; @error is a positive errno. The first one stays. No lock
 * held.
 */
void file_latch(struct file *file, int error);

/* Between file.c, its neighbours and volume.c only. */

/**
 * file_helper_fd - the read-only descriptor, pinned until file_helper_release(). Waiting for
 * writeback consumes errors per descriptor: on one of its own the helper takes none away from
 * fsync(2). Returns the descriptor or -errno. Needs root's credentials.
 */
int file_helper_fd(struct file *file);
void file_helper_release(struct file *file);

/** file_credit - @bytes of @file are no longer in flight: wakes writers. */
void file_credit(struct file *file, uint64_t bytes);

struct file_counters *file_counters_of(struct file *file);

#endif
