/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The table of files: finding and references. See file.h; what outlives references: housekeeping.c.
 *
 * Buckets are sharded, each shard with its own mutex and growing by itself. A file is in the table
 * as long as it has references; the last one goes away under the bucket lock, so that nobody can
 * find it in between. A latched error is a reference: see file_latch().
 *
 * Walkers of the LRU lists may meet a file whose last reference is gone but which has not yet left
 * the lists; file_ref_unless_zero() tells.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "file.h"
#include "file_internal.h"

#define SHARDS 64
#define SHARD_BUCKETS_MIN 16
#define SHARD_LOAD 2 /* files per bucket at which a shard doubles */
#define LIMIT_MAX (1U << 20)
#define LIMIT_MIN 8 /* descriptors: below, a handful of requests would starve */

struct shard {
	pthread_mutex_t lock; /* the bucket lock */
	struct file **buckets;
	unsigned int bucket_count; /* a power of two */
	unsigned int files;
};

/* FNV-1a, 64 bits, over what makes a file unique */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001B3ULL;
	return hash;
}

static uint64_t hash_of(const struct volume *volume, const struct kernel_handle *handle)
{
	uint64_t hash = 0xCBF29CE484222325ULL;

	hash = hash_bytes(hash, &volume, sizeof(volume));
	hash = hash_bytes(hash, &handle->type, sizeof(handle->type));
	hash = hash_bytes(hash, handle->data, handle->len);
	return hash ^ (hash >> 29);
}

static struct shard *shard_of(struct file_table *table, uint64_t hash)
{
	return &table->shards[hash % SHARDS];
}

static struct file **bucket_of(struct shard *shard, uint64_t hash)
{
	return &shard->buckets[(hash / SHARDS) & (shard->bucket_count - 1)];
}

/* Bucket lock held. Without memory the chains just get longer. */
static void shard_grow(struct shard *shard)
{
	struct shard larger = { .bucket_count = shard->bucket_count * 2 };
	struct file *file;

	larger.buckets = calloc(larger.bucket_count, sizeof(struct file *));
	if (larger.buckets == NULL)
		return;
	for (unsigned int i = 0; i < shard->bucket_count; i++) {
		while ((file = shard->buckets[i]) != NULL) {
			struct file **bucket = bucket_of(&larger, file->hash);

			shard->buckets[i] = file->hash_next;
			file->hash_next = *bucket;
			*bucket = file;
		}
	}
	free(shard->buckets);
	shard->buckets = larger.buckets;
	shard->bucket_count = larger.bucket_count;
}

/* Bucket lock held */
static void shard_insert(struct shard *shard, struct file *file)
{
	struct file **bucket;

	if (shard->files >= shard->bucket_count * SHARD_LOAD)
		shard_grow(shard);
	bucket = bucket_of(shard, file->hash);
	file->hash_next = *bucket;
	*bucket = file;
	shard->files++;
}

/* Bucket lock held */
static void shard_remove(struct shard *shard, struct file *file)
{
	struct file **link = bucket_of(shard, file->hash);

	while (*link != file)
		link = &(*link)->hash_next;
	*link = file->hash_next;
	shard->files--;
}

static struct file *file_new(struct file_table *table, struct volume *volume,
			     const struct kernel_handle *handle)
{
	struct file *file = calloc(1, sizeof(*file) + table->config.extra_size);

	if (file == NULL)
		return NULL;
	file->table = table;
	file->volume = volume;
	file->handle = *handle;
	atomic_init(&file->refs, 1);
	atomic_init(&file->drop_align, KERNEL_FOLIO_MAX);
	for (int i = 0; i < FD_COUNT; i++)
		file->descriptor[i] = (struct descriptor){ .file = file, .fd = -1 };
	TAILQ_INIT(&file->drops);
	pthread_mutex_init(&file->lock, NULL);
	cond_init_monotonic(&file->credit);
	pthread_cond_init(&file->sync_done, NULL);
	if (table->config.extra_init != NULL)
		table->config.extra_init(file->extra);
	counter_add(&table->counters.files, 1);
	return file;
}

/* Out of the table, without references */
static void file_free(struct file *file)
{
	struct file_table *table = file->table;

	file_set_inactive(file);
	descriptor_close_all(file);
	if (table->config.extra_fini != NULL)
		table->config.extra_fini(file->extra);
	pthread_cond_destroy(&file->credit);
	pthread_cond_destroy(&file->sync_done);
	pthread_mutex_destroy(&file->lock);
	free(file->tracker);
	free(file);
	counter_add(&table->counters.files, (uint64_t)-1);
}

struct file *file_get(struct file_table *table, struct volume *volume,
		      const struct kernel_handle *handle)
{
	uint64_t hash = hash_of(volume, handle);
	struct shard *shard = shard_of(table, hash);
	struct file *file;

	pthread_mutex_lock(&shard->lock);
	file = *bucket_of(shard, hash);
	while (file != NULL && (file->hash != hash || file->volume != volume ||
				!handle_equal(&file->handle, handle)))
		file = file->hash_next;
	if (file != NULL) {
		file_ref(file);
		atomic_store_explicit(&file->recently_used, true, memory_order_relaxed);
	} else {
		file = file_new(table, volume, handle);
		if (file != NULL) {
			file->hash = hash;
			shard_insert(shard, file);
		}
	}
	pthread_mutex_unlock(&shard->lock);
	return file;
}

void file_ref(struct file *file)
{
	atomic_fetch_add(&file->refs, 1);
}

bool file_ref_unless_zero(struct file *file)
{
	unsigned int refs = atomic_load(&file->refs);

	while (refs > 0) {
		if (atomic_compare_exchange_weak(&file->refs, &refs, refs + 1))
			return true;
	}
	return false;
}

static bool put_unless_last(struct file *file)
{
	unsigned int refs = atomic_load(&file->refs);

	while (refs > 1) {
		if (atomic_compare_exchange_weak(&file->refs, &refs, refs - 1))
			return true;
	}
	return false;
}

/* The data of a volume that goes away stays in the kernel, and no client can be told any more */
static bool needs_sync(struct file *file)
{
	return file_is_unsynced(file) && !volume_is_closing(file->volume);
}

/* A descriptor must not take an error with it that nobody was told; see also descriptor.c */
static void sync_before_last_put(struct file *file)
{
	int fd = file_acquire_open(file);

	if (fd < 0) {
		atomic_store(&file->synced, atomic_load(&file->written));
		return;
	}
	(void)file_sync(file, fd, &file->table->counters.syncs_close);
	file_release(file, true);
}

/* Out of the table with the last reference, unless somebody came in between */
static bool leave_table(struct file *file)
{
	struct shard *shard = shard_of(file->table, file->hash);
	unsigned int mine = 1;
	bool left;

	pthread_mutex_lock(&shard->lock);
	left = !needs_sync(file) && atomic_compare_exchange_strong(&file->refs, &mine, 0);
	if (left)
		shard_remove(shard, file);
	pthread_mutex_unlock(&shard->lock);
	return left;
}

void file_put(struct file *file)
{
	while (!put_unless_last(file)) {
		if (needs_sync(file))
			sync_before_last_put(file);
		if (leave_table(file)) {
			file_free(file);
			return;
		}
	}
}

void *file_extra(struct file *file)
{
	return file->extra;
}

struct volume *file_volume(struct file *file)
{
	return file->volume;
}

struct file_counters *file_counters_of(struct file *file)
{
	return &file->table->counters;
}

struct file_counters *file_table_counters(struct file_table *table)
{
	return &table->counters;
}

/* --- the table's own life --- */

static unsigned int default_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > LIMIT_MAX * 4UL)
		return LIMIT_MAX;
	return (unsigned int)(limit.rlim_cur / 4);
}

static void shards_free(struct file_table *table)
{
	for (unsigned int i = 0; table->shards != NULL && i < SHARDS; i++) {
		pthread_mutex_destroy(&table->shards[i].lock);
		free(table->shards[i].buckets);
	}
	free(table->shards);
}

static int shards_create(struct file_table *table)
{
	table->shards = calloc(SHARDS, sizeof(*table->shards));
	if (table->shards == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < SHARDS; i++) {
		struct shard *shard = &table->shards[i];

		pthread_mutex_init(&shard->lock, NULL);
		shard->bucket_count = SHARD_BUCKETS_MIN;
		shard->buckets = calloc(shard->bucket_count, sizeof(struct file *));
		if (shard->buckets == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void table_free(struct file_table *table)
{
	shards_free(table);
	pthread_cond_destroy(&table->tick);
	pthread_mutex_destroy(&table->tick_lock);
	pthread_mutex_destroy(&table->lru_lock);
	free(table);
}

int file_table_create(const struct file_table_config *config, struct file_table **ret_table)
{
	struct file_table *table = calloc(1, sizeof(*table));
	int rc;

	if (table == NULL)
		return -ENOMEM;
	table->config = *config;
	if (table->config.descriptor_limit == 0)
		table->config.descriptor_limit = default_limit();
	if (table->config.descriptor_limit < LIMIT_MIN)
		table->config.descriptor_limit = LIMIT_MIN;
	TAILQ_INIT(&table->lru);
	TAILQ_INIT(&table->active);
	TAILQ_INIT(&table->latched);
	pthread_mutex_init(&table->lru_lock, NULL);
	pthread_mutex_init(&table->tick_lock, NULL);
	cond_init_monotonic(&table->tick);
	rc = shards_create(table);
	if (rc == 0)
		rc = housekeeper_start(table);
	if (rc != 0) {
		table_free(table);
		return rc;
	}
	*ret_table = table;
	return 0;
}

void file_table_destroy(struct file_table *table)
{
	housekeeper_stop(table);
	table_free(table);
}
