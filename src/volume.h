/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume: one mounted filesystem that is exported, with what was probed of it and the two helper
 * threads that write back and drop behind the streams on it.
 *
 * Each volume has its own threads: a disk that is slow or stuck holds up only its own files. The
 * starter submits writeback of windows (sync_file_range WRITE), the dropper waits for the oldest
 * one in slices of VOLUME_SLICE bytes and drops each slice (FADV_DONTNEED), crediting its file as
 * it goes, so that a throttled writer is paced by the disk in steps of a slice instead of being
 * stalled for a whole window. Helpers hold references on files, never on anything of an export.
 *
 * Lock order: see file.h.
 */
#ifndef DROPBEHIND_VOLUME_H
#define DROPBEHIND_VOLUME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "range.h"
#include "strategy.h"

#define VOLUME_SLICE (1U << 20)

struct file;
struct volume;

/** Why a volume runs in the mode it runs in, for logs and status. */
struct volume_probe {
	enum io_mode mode;   /* IO_MODE_DONTCACHE, _RANGE or _BUFFERED: the best one that works */
	int dontcache_error; /* 0, or the errno that RWF_DONTCACHE met */
	int range_error;     /* 0, or the errno that sync_file_range met, or EMEDIUMTYPE where no
			      * backing store exists to write back to */
	char fs_type[32]; /* as statfs(2) tells: "ext4", "xfs", "btrfs", "tmpfs", else hex magic */
};

/**
 * volume_open - take @mount_fd (a directory on the filesystem, used for open_by_handle_at(2),
 * O_RDONLY; owned by the volume from here on, also on failure), probe it and start the helpers.
 *
 * Must be called with root's credentials: the helper threads inherit them.
 * Returns 0 or -errno.
 */
int volume_open(int mount_fd, struct volume **ret_volume);

/**
 * volume_close - stop and join the helpers after what is queued was dropped or abandoned; close
 * the mount descriptor. No file may refer to the volume any more but by the queue, and
 * file_table_forget() came before. Bounded: queued drops are advisory and are discarded, a helper
 * inside a blocking system call is waited for.
 */
void volume_close(struct volume *volume);

int volume_mount_fd(const struct volume *volume);
void volume_probe_result(const struct volume *volume, struct volume_probe *ret_probe);

/**
 * volume_mode - the mode in force for @wanted on this volume: Auto becomes the probed mode;
 * a mode the filesystem can't do becomes the best one it can (Dontcache → Range → Buffered).
 */
enum io_mode volume_mode(const struct volume *volume, enum io_mode wanted);

/**
 * volume_read_mode - the same for READ, where Auto prefers Range: RWF_DONTCACHE drops per READ what
 * the next one wants of readahead, and was up to 3 times slower in READs of 64 KiB.
 */
enum io_mode volume_read_mode(const struct volume *volume, enum io_mode wanted);

/**
 * volume_downgrade - @mode turned out not to work, with @error. Sticky.
 * Returns true for the first caller only, so that one line is logged.
 */
bool volume_downgrade(struct volume *volume, enum io_mode mode, int error);

/**
 * volume_error_epoch - grows by one each time a writeback error is latched on a file of the volume;
 * part of the NFSv4 write verifier (RFC 8881 18.32.3: it must change when unstable data may be
 * lost).
 */
uint64_t volume_error_epoch(const struct volume *volume);
void volume_bump_error_epoch(struct volume *volume);

/**
 * volume_enqueue - hand @range of @file to the helpers: write back, wait, drop, credit. Takes a
 * reference on @file. Called without any lock held.
 */
void volume_enqueue(struct volume *volume, struct file *file, struct byte_range range);

#endif
