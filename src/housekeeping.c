/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What happens to files without anybody asking: idle streams lose their tail, latched errors that
 * nobody came for expire. A thread of the table looks once a second.
 *
 * Only files on the active and latched lists are looked at; the others cost nothing.
 */
#include <errno.h>
#include <time.h>

#include "file.h"
#include "file_internal.h"

#define TAIL_IDLE_SECONDS 2    /* after which the tail of a stream is dropped */
#define FORGET_IDLE_SECONDS 30 /* after which a file that is no stream is no longer watched */

uint64_t file_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec;
}

void file_set_active(struct file *file)
{
	struct file_table *table = file->table;

	if (file->is_active)
		return;
	pthread_mutex_lock(&table->lru_lock);
	TAILQ_INSERT_TAIL(&table->active, file, active);
	table->active_count++;
	file->is_active = true;
	pthread_mutex_unlock(&table->lru_lock);
}

void file_set_inactive(struct file *file)
{
	struct file_table *table = file->table;

	if (!file->is_active)
		return;
	pthread_mutex_lock(&table->lru_lock);
	TAILQ_REMOVE(&table->active, file, active);
	table->active_count--;
	file->is_active = false;
	pthread_mutex_unlock(&table->lru_lock);
}

static void look_after(struct file *file, uint64_t now)
{
	uint64_t last = atomic_load_explicit(&file->last_io, memory_order_relaxed);
	uint64_t idle = now > last ? now - last : 0;

	if (idle >= TAIL_IDLE_SECONDS) {
		file_flush_windows(file);
		reader_finish(file);
	}
	if (idle >= FORGET_IDLE_SECONDS)
		file_forget_windows(file);
}

/* The next of the active files, with a reference, moved to the end of the list; or NULL */
static struct file *next_active(struct file_table *table)
{
	struct file *file;

	pthread_mutex_lock(&table->lru_lock);
	file = TAILQ_FIRST(&table->active);
	if (file != NULL) {
		TAILQ_REMOVE(&table->active, file, active);
		TAILQ_INSERT_TAIL(&table->active, file, active);
		if (!file_ref_unless_zero(file))
			file = NULL;
	}
	pthread_mutex_unlock(&table->lru_lock);
	return file;
}

static void sweep_active(struct file_table *table, uint64_t now)
{
	struct file *file;
	unsigned int left;

	pthread_mutex_lock(&table->lru_lock);
	left = table->active_count;
	pthread_mutex_unlock(&table->lru_lock);
	for (; left > 0; left--) {
		file = next_active(table);
		if (file == NULL)
			continue;
		look_after(file, now);
		file_put(file);
	}
}

/* LRU lock held. The latch's own reference is the only one of a file that nobody uses. */
static bool is_expired(struct file *file, uint64_t now)
{
	bool used = atomic_exchange(&file->recently_used, false);

	if (used || atomic_load(&file->refs) > 1) {
		file->quiet_since = 0;
		return false;
	}
	if (file->quiet_since == 0)
		file->quiet_since = now;
	return now - file->quiet_since >= file->table->config.latch_seconds;
}

/* Ends the latch of a file that is expired at @now, or is of @volume. False if there is none. */
static bool unlatch_one(struct file_table *table, const struct volume *volume, uint64_t now)
{
	struct file *file;

	pthread_mutex_lock(&table->lru_lock);
	TAILQ_FOREACH(file, &table->latched, latched)
	{
		if (volume != NULL ? file->volume == volume : is_expired(file, now))
			break;
	}
	if (file != NULL)
		file_ref(file);
	pthread_mutex_unlock(&table->lru_lock);
	if (file == NULL)
		return false;
	file_unlatch(file);
	file_put(file);
	return true;
}

void file_table_sweep(struct file_table *table, uint64_t now)
{
	sweep_active(table, now);
	while (unlatch_one(table, NULL, now))
		;
}

void file_table_forget(struct file_table *table, struct volume *volume)
{
	volume_quiesce(volume);
	while (unlatch_one(table, volume, 0))
		;
}

static void *housekeeper_main(void *arg)
{
	struct file_table *table = arg;
	struct timespec next;

	pthread_setname_np(pthread_self(), "drop_tick");
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&table->tick_lock);
	while (!table->stopping) {
		next.tv_sec++;
		while (!table->stopping &&
		       pthread_cond_timedwait(&table->tick, &table->tick_lock, &next) == 0)
			;
		if (table->stopping)
			break;
		pthread_mutex_unlock(&table->tick_lock);
		file_table_sweep(table, file_now());
		clock_gettime(CLOCK_MONOTONIC, &next);
		pthread_mutex_lock(&table->tick_lock);
	}
	pthread_mutex_unlock(&table->tick_lock);
	return NULL;
}

int housekeeper_start(struct file_table *table)
{
	return -pthread_create(&table->housekeeper, NULL, housekeeper_main, table);
}

void housekeeper_stop(struct file_table *table)
{
	struct file *file;

	pthread_mutex_lock(&table->tick_lock);
	table->stopping = true;
	pthread_cond_signal(&table->tick);
	pthread_mutex_unlock(&table->tick_lock);
	pthread_join(table->housekeeper, NULL);
	while ((file = TAILQ_FIRST(&table->latched)) != NULL) {
		file_ref(file);
		file_unlatch(file);
		file_put(file);
	}
}
