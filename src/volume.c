/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * A volume's life, its modes and its error epoch: see volume.h. The helpers are in writeback.c.
 *
 * What was found missing is a bit per mode that is only ever set, so that volume_mode() reads one
 * word without a lock at each request.
 */
#include "volume.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"
#include "volume_internal.h"

static unsigned int mode_bit(enum io_mode mode)
{
	return 1U << mode;
}

static bool lacks(const struct volume *volume, enum io_mode mode)
{
	unsigned int bits = atomic_load_explicit(&volume->lacks, memory_order_relaxed);

	return (bits & mode_bit(mode)) != 0;
}

static enum io_mode best_mode(const struct volume *volume)
{
	if (!lacks(volume, IO_MODE_DONTCACHE))
		return IO_MODE_DONTCACHE;
	return lacks(volume, IO_MODE_RANGE) ? IO_MODE_BUFFERED : IO_MODE_RANGE;
}

static void note_probe(struct volume *volume)
{
	const struct volume_probe *probe = &volume->probe;
	unsigned int bits = 0;

	if (probe->mode != IO_MODE_DONTCACHE)
		bits |= mode_bit(IO_MODE_DONTCACHE);
	if (probe->range_error != 0)
		bits |= mode_bit(IO_MODE_RANGE);
	atomic_init(&volume->lacks, bits);
}

static void volume_free(struct volume *volume)
{
	pthread_cond_destroy(&volume->startable);
	pthread_cond_destroy(&volume->droppable);
	pthread_cond_destroy(&volume->let_go);
	pthread_mutex_destroy(&volume->lock);
	close(volume->mount_fd);
	free(volume);
}

void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int volume_open(int mount_fd, struct volume **ret_volume)
{
	struct volume *volume = calloc(1, sizeof(*volume));
	int rc;

	if (volume == NULL) {
		close(mount_fd);
		return -ENOMEM;
	}
	volume->mount_fd = mount_fd;
	pthread_mutex_init(&volume->lock, NULL);
	pthread_cond_init(&volume->startable, NULL);
	pthread_cond_init(&volume->droppable, NULL);
	cond_init_monotonic(&volume->let_go);
	TAILQ_INIT(&volume->to_start);
	TAILQ_INIT(&volume->to_drop);
	rc = probe_filesystem(mount_fd, &volume->probe);
	if (rc == 0) {
		note_probe(volume);
		rc = writeback_start(volume);
	}
	if (rc != 0) {
		volume_free(volume);
		return rc;
	}
	*ret_volume = volume;
	return 0;
}

void volume_quiesce(struct volume *volume)
{
	writeback_stop(volume);
}

void volume_close(struct volume *volume)
{
	writeback_stop(volume);
	volume_free(volume);
}

int volume_mount_fd(const struct volume *volume)
{
	return volume->mount_fd;
}

void volume_probe_result(const struct volume *volume, struct volume_probe *ret_probe)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&volume->lock;

	pthread_mutex_lock(lock);
	*ret_probe = volume->probe;
	pthread_mutex_unlock(lock);
}

enum io_mode volume_mode(const struct volume *volume, enum io_mode wanted)
{
	switch (wanted) {
	case IO_MODE_AUTO:
		return best_mode(volume);
	case IO_MODE_DONTCACHE:
	case IO_MODE_RANGE:
		if (!lacks(volume, wanted))
			return wanted;
		return lacks(volume, IO_MODE_RANGE) ? IO_MODE_BUFFERED : IO_MODE_RANGE;
	default:
		return wanted;
	}
}

enum io_mode volume_read_mode(const struct volume *volume, enum io_mode wanted)
{
	if (wanted == IO_MODE_AUTO && volume_can_drop(volume))
		return IO_MODE_RANGE;
	return volume_mode(volume, wanted);
}

bool volume_downgrade(struct volume *volume, enum io_mode mode, int error)
{
	unsigned int before;

	if (mode != IO_MODE_DONTCACHE && mode != IO_MODE_RANGE)
		return false;
	before = atomic_fetch_or(&volume->lacks, mode_bit(mode));
	if ((before & mode_bit(mode)) != 0)
		return false;
	pthread_mutex_lock(&volume->lock);
	if (mode == IO_MODE_DONTCACHE)
		volume->probe.dontcache_error = error;
	else
		volume->probe.range_error = error;
	volume->probe.mode = best_mode(volume);
	pthread_mutex_unlock(&volume->lock);
	return true;
}

bool volume_can_drop(const struct volume *volume)
{
	return !lacks(volume, IO_MODE_RANGE);
}

bool volume_is_closing(const struct volume *volume)
{
	return atomic_load(&volume->closing);
}

uint64_t volume_error_epoch(const struct volume *volume)
{
	return atomic_load(&volume->error_epoch);
}

void volume_bump_error_epoch(struct volume *volume)
{
	atomic_fetch_add(&volume->error_epoch, 1);
}
