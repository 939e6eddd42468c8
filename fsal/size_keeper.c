/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The keeper: a thread that mends the sizes of a live export after an update.
 *
 * The core copies the new sizes into the live export after update_export() has returned, and calls
 * nobody then. So the keeper looks every millisecond for a few seconds, and stores what must not
 * have shrunk. Readers and the core use atomic accesses, and so does it; a client that asks FSINFO
 * in that millisecond sees the smaller size.
 *
 * It holds no reference on the export: the last one must not be put by a thread that release()
 * would wait for. size_keeper_forget(), from release(), is what makes the pointers safe.
 */
#include "internal.h"

#include <time.h>

#include "abstract_atomic.h"
#include "export_mgr.h"

#define KEEPER_PERIOD_NS 1000000L
#define KEEPER_SECONDS 5

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct glist_head watched; /* of db_export.watched */
	bool running;
	bool stopping;
	pthread_t thread;
} keeper = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
};

static void mend(uint64_t *live_max, uint64_t *live_pref, const struct export_size *size)
{
	uint64_t floor = atomic_load(&size->floor);
	uint64_t max = atomic_fetch_uint64_t(live_max);

	if (max < floor) {
		atomic_store_uint64_t(live_max, floor);
		max = floor;
	}
	if (atomic_fetch_uint64_t(live_pref) > max)
		atomic_store_uint64_t(live_pref, max);
}

static void mend_export(struct db_export *export)
{
	struct gsh_export *live = export->export.owning_export;

	mend(&live->MaxRead, &live->PrefRead, &export->size[SIZE_READ]);
	mend(&live->MaxWrite, &live->PrefWrite, &export->size[SIZE_WRITE]);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Keeper lock held */
static void round_of_work(void)
{
	struct glist_head *at, *next;

	glist_for_each_safe (at, next, &keeper.watched) {
		struct db_export *export = glist_entry(at, struct db_export, watched);

		mend_export(export);
		if (seconds() < export->watched_until)
			continue;
		glist_del(&export->watched);
		export->watched_until = 0;
	}
}

static void *keeper_main(void *arg)
{
	const struct timespec period = { .tv_nsec = KEEPER_PERIOD_NS };

	pthread_mutex_lock(&keeper.lock);
	while (!keeper.stopping) {
		if (glist_empty(&keeper.watched)) {
			pthread_cond_wait(&keeper.work, &keeper.lock);
			continue;
		}
		round_of_work();
		pthread_mutex_unlock(&keeper.lock);
		nanosleep(&period, NULL);
		pthread_mutex_lock(&keeper.lock);
	}
	pthread_mutex_unlock(&keeper.lock);
	return arg;
}

int size_keeper_start(void)
{
	int rc;

	glist_init(&keeper.watched);
	keeper.stopping = false;
	rc = pthread_create(&keeper.thread, NULL, keeper_main, NULL);
	keeper.running = rc == 0;
	return -rc;
}

void size_keeper_stop(void)
{
	if (!keeper.running)
		return;
	pthread_mutex_lock(&keeper.lock);
	keeper.stopping = true;
	pthread_cond_signal(&keeper.work);
	pthread_mutex_unlock(&keeper.lock);
	pthread_join(keeper.thread, NULL);
	keeper.running = false;
}

void size_keeper_watch(struct db_export *export)
{
	pthread_mutex_lock(&keeper.lock);
	if (export->watched_until == 0)
		glist_add_tail(&keeper.watched, &export->watched);
	export->watched_until = seconds() + KEEPER_SECONDS;
	pthread_cond_signal(&keeper.work);
	pthread_mutex_unlock(&keeper.lock);
}

void size_keeper_forget(struct db_export *export)
{
	pthread_mutex_lock(&keeper.lock);
	if (export->watched_until != 0)
		glist_del(&export->watched);
	export->watched_until = 0;
	pthread_mutex_unlock(&keeper.lock);
}
