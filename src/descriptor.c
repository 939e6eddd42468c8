/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Descriptors of files: opened by handle, pinned while used, reaped when there are too many.
 *
 * Every open descriptor of the table is on one list and counts as one slot of descriptor_limit. The
 * list is a clock: the reaper passes over those used since it last came by. A pin is of the file,
 * so neither of its descriptors is closed under a user of either. Two openers of one file may race;
 * the later one closes its own again, so nobody waits for a filesystem on another's behalf.
 *
 * A read-write descriptor with unsynced data is synced and checked before it is closed. The reaper
 * turns to those last, the volume of the opener first: a sync may take as long as the disk likes.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "file_internal.h"

/* Descriptors looked at in one go; more often than twice round is of no use */
#define REAP_VISITS_MAX 1024
/*
 * All descriptors may be in use for a moment, or being synced by other openers. A client that is
 * told to come again does so after seconds, so half a second is worth waiting.
 */
#define SLOT_TRIES 50
#define SLOT_PAUSE_NS 10000000L

/* File lock held */
static int pin(struct file *file, struct descriptor *descriptor)
{
	atomic_fetch_add(&file->pins, 1);
	atomic_store_explicit(&descriptor->used, true, memory_order_relaxed);
	return descriptor->fd;
}

/* The first of @which, else of @other, that is open; -EBADF if neither is */
static int pin_open(struct file *file, int which, int other)
{
	struct descriptor *descriptor = &file->descriptor[which];
	int fd = -EBADF;

	pthread_mutex_lock(&file->lock);
	if (descriptor->fd < 0)
		descriptor = &file->descriptor[other];
	if (descriptor->fd >= 0)
		fd = pin(file, descriptor);
	pthread_mutex_unlock(&file->lock);
	return fd;
}

/* --- reaping --- */

/* File lock held. Takes the descriptor out; the caller closes what is returned. */
static int detach(struct descriptor *descriptor)
{
	struct file_table *table = descriptor->file->table;
	int fd = descriptor->fd;

	pthread_mutex_lock(&table->lru_lock);
	TAILQ_REMOVE(&table->lru, descriptor, lru);
	table->lru_count--;
	pthread_mutex_unlock(&table->lru_lock);
	descriptor->fd = -1;
	return fd;
}

/* Only the read-write one of a file has data that went through it */
static bool carries_data(const struct descriptor *descriptor)
{
	return descriptor == &descriptor->file->descriptor[FD_WRITE] &&
	       file_is_unsynced(descriptor->file);
}

/* File lock held, and again on return. False if somebody else came in between. */
static bool sync_unlocked(struct descriptor *descriptor)
{
	struct file *file = descriptor->file;
	int fd = descriptor->fd;
	bool alone;

	atomic_fetch_add(&file->pins, 1);
	pthread_mutex_unlock(&file->lock);
	(void)file_sync(file, fd, &file->table->counters.syncs_close);
	pthread_mutex_lock(&file->lock);
	alone = atomic_fetch_sub(&file->pins, 1) == 1;
	return alone && !carries_data(descriptor);
}

static bool close_idle(struct descriptor *descriptor, bool may_sync)
{
	struct file *file = descriptor->file;
	int fd = -1;

	pthread_mutex_lock(&file->lock);
	if (descriptor->fd >= 0 && atomic_load(&file->pins) == 0 &&
	    (!carries_data(descriptor) || (may_sync && sync_unlocked(descriptor))))
		fd = detach(descriptor);
	pthread_mutex_unlock(&file->lock);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* The next descriptor of the clock, with a reference on its file; NULL for one to pass over */
static struct descriptor *next_victim(struct file_table *table)
{
	struct descriptor *descriptor;

	pthread_mutex_lock(&table->lru_lock);
	descriptor = TAILQ_FIRST(&table->lru);
	if (descriptor != NULL) {
		TAILQ_REMOVE(&table->lru, descriptor, lru);
		TAILQ_INSERT_TAIL(&table->lru, descriptor, lru);
		if (atomic_exchange_explicit(&descriptor->used, false, memory_order_relaxed) ||
		    !file_ref_unless_zero(descriptor->file))
			descriptor = NULL;
	}
	pthread_mutex_unlock(&table->lru_lock);
	return descriptor;
}

static unsigned int visits(struct file_table *table)
{
	unsigned int count;

	pthread_mutex_lock(&table->lru_lock);
	count = table->lru_count;
	pthread_mutex_unlock(&table->lru_lock);
	return count < REAP_VISITS_MAX / 2 ? 2 * count : REAP_VISITS_MAX;
}

/* @of: sync descriptors of this volume if need be; NULL: of none */
static bool reap_pass(struct file_table *table, bool may_sync, const struct volume *of)
{
	struct descriptor *descriptor;
	struct file *file;
	bool reaped = false;

	for (unsigned int left = visits(table); left > 0 && !reaped; left--) {
		descriptor = next_victim(table);
		if (descriptor == NULL)
			continue;
		file = descriptor->file;
		reaped = close_idle(descriptor, may_sync && (of == NULL || file->volume == of));
		file_put(file);
	}
	return reaped;
}

/* True if a descriptor was closed; its slot is the caller's */
static bool reap_one(struct file *opener)
{
	struct file_table *table = opener->table;

	if (!reap_pass(table, false, NULL) && !reap_pass(table, true, opener->volume) &&
	    !reap_pass(table, true, NULL))
		return false;
	counter_add(&table->counters.reaped, 1);
	return true;
}

/* --- opening --- */

static int slot_take(struct file *opener)
{
	struct file_table *table = opener->table;
	_Atomic uint64_t *used = &table->counters.descriptors;
	uint64_t now = atomic_load(used);

	while (now < table->config.descriptor_limit) {
		if (atomic_compare_exchange_weak(used, &now, now + 1))
			return 0;
	}
	return reap_one(opener) ? 0 : -EMFILE;
}

static int slot_wait(struct file *opener)
{
	const struct timespec pause = { .tv_nsec = SLOT_PAUSE_NS };
	int rc;

	for (int tries = 0;; tries++) {
		rc = slot_take(opener);
		if (rc != -EMFILE || tries == SLOT_TRIES)
			return rc;
		nanosleep(&pause, NULL);
	}
}

static void slot_return(struct file *file)
{
	counter_add(&file->table->counters.descriptors, (uint64_t)-1);
}

/* The process or the system may be short of descriptors before the table is */
static int open_by_handle(struct file *file, int which)
{
	int flags = which == FD_WRITE ? O_RDWR : O_RDONLY;
	int mount_fd = volume_mount_fd(file->volume);
	int fd = handle_open(mount_fd, &file->handle, flags);

	if (fd != -EMFILE && fd != -ENFILE)
		return fd;
	if (!reap_one(file))
		return -EMFILE;
	slot_return(file);
	fd = handle_open(mount_fd, &file->handle, flags);
	return fd == -ENFILE ? -EMFILE : fd;
}

/* Pins what is installed: @fd, or what another opener installed before */
static int install(struct file *file, int which, int fd)
{
	struct file_table *table = file->table;
	struct descriptor *descriptor = &file->descriptor[which];
	int spare = fd;

	pthread_mutex_lock(&file->lock);
	if (descriptor->fd < 0) {
		descriptor->fd = fd;
		pthread_mutex_lock(&table->lru_lock);
		TAILQ_INSERT_TAIL(&table->lru, descriptor, lru);
		table->lru_count++;
		pthread_mutex_unlock(&table->lru_lock);
		spare = -1;
	}
	fd = pin(file, descriptor);
	pthread_mutex_unlock(&file->lock);
	if (spare >= 0) {
		close(spare);
		slot_return(file);
	}
	return fd;
}

static int open_pinned(struct file *file, int which)
{
	int fd, rc = slot_wait(file);

	if (rc != 0)
		return rc;
	fd = open_by_handle(file, which);
	if (fd < 0) {
		slot_return(file);
		return fd;
	}
	return install(file, which, fd);
}

int file_acquire(struct file *file, bool write)
{
	int fd = pin_open(file, FD_WRITE, write ? FD_WRITE : FD_READ);

	return fd == -EBADF ? open_pinned(file, write ? FD_WRITE : FD_READ) : fd;
}

void file_release(struct file *file, bool write)
{
	(void)write;
	atomic_fetch_sub(&file->pins, 1);
}

int file_acquire_open(struct file *file)
{
	return pin_open(file, FD_WRITE, FD_READ);
}

int file_helper_fd(struct file *file)
{
	int fd = pin_open(file, FD_READ, FD_READ);

	return fd == -EBADF ? open_pinned(file, FD_READ) : fd;
}

void file_helper_release(struct file *file)
{
	file_release(file, false);
}

void descriptor_close_all(struct file *file)
{
	int fd;

	for (int i = 0; i < FD_COUNT; i++) {
		fd = -1;
		pthread_mutex_lock(&file->lock);
		if (file->descriptor[i].fd >= 0)
			fd = detach(&file->descriptor[i]);
		pthread_mutex_unlock(&file->lock);
		if (fd >= 0) {
			close(fd);
			slot_return(file);
		}
	}
}
