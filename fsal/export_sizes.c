/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sizes of exports: see export_sizes.h; the arithmetic is in src/sizes.c. */
#include "internal.h"

#include <limits.h>
#include <stdio.h>

#include "analyse.h"
#include "config_parsing.h"
#include "export_mgr.h"
#include "nfs_core.h"
#include "nfs_exports.h"
#include "size_store.h"

static const struct {
	const char *max;
	const char *pref;
	uint32_t max_set;
	uint32_t pref_set;
} names[SIZE_DIRECTIONS] = {
	[SIZE_READ] = { "MaxRead", "PrefRead", EXPORT_OPTION_MAXREAD_SET,
			EXPORT_OPTION_PREFREAD_SET },
	[SIZE_WRITE] = { "MaxWrite", "PrefWrite", EXPORT_OPTION_MAXWRITE_SET,
			 EXPORT_OPTION_PREFWRITE_SET },
};

/** The sizes of an EXPORT block. */
struct size_texts {
	uint64_t max_read, max_write, pref_read, pref_write;
	uint32_t set;
};

#define SIZE_ITEM(key, member, bit)                                                                \
	CONF_ITEM_UI64_SET(key, SIZE_LIMIT_MIN, FSAL_MAXIOSIZE, FSAL_MAXIOSIZE, size_texts,        \
			   member, bit, set)
static struct config_item size_items[] = {
	SIZE_ITEM("MaxRead", max_read, EXPORT_OPTION_MAXREAD_SET),
	SIZE_ITEM("MaxWrite", max_write, EXPORT_OPTION_MAXWRITE_SET),
	SIZE_ITEM("PrefRead", pref_read, EXPORT_OPTION_PREFREAD_SET),
	SIZE_ITEM("PrefWrite", pref_write, EXPORT_OPTION_PREFWRITE_SET),
	CONFIG_EOL,
};

static struct config_block size_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.dropbehind-sizes",
	.blk_desc.name = "EXPORT",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.flags = CONFIG_RELAX,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = size_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/* The live export has its old values while update_export() runs: read the block around ours */
static int texts_of_update(void *node, struct size_texts *ret_texts)
{
	struct config_error_type errors = { 0 };
	void *parent = ((struct config_node *)node)->u.nterm.parent;
	int rc;

	*ret_texts = (struct size_texts){ 0 };
	if (parent == NULL || !init_error_type(&errors))
		return -EINVAL;
	rc = load_config_from_node(parent, &size_block, ret_texts, true, &errors);
	fclose(errors.fp);
	free(errors.diag_buf);
	return rc != 0 ? -EINVAL : 0;
}

static void texts_of_create(struct size_texts *ret_texts)
{
	const struct gsh_export *live = op_ctx->ctx_export;

	*ret_texts = (struct size_texts){
		.max_read = live->MaxRead,
		.max_write = live->MaxWrite,
		.pref_read = live->PrefRead,
		.pref_write = live->PrefWrite,
		.set = live->options_set,
	};
}

static void size_ask(struct export_size *size, const struct size_texts *texts,
		     enum size_direction direction)
{
	bool read = direction == SIZE_READ;

	size->set = (texts->set & names[direction].max_set) != 0;
	size->asked = size->set ? (read ? texts->max_read : texts->max_write) : 0;
	size->pref = 0;
	if ((texts->set & names[direction].pref_set) != 0)
		size->pref = read ? texts->pref_read : texts->pref_write;
}

/* @refused: the export itself, at load; an update that is refused serves what it served */
static void say_short(struct db_export *export, enum size_direction direction,
		      const struct size_ceilings *ceilings, const struct size_offer *offer,
		      bool refused)
{
	struct export_size *size = &export->size[direction];
	uint64_t requests = export->config.options.value[OPTION_Socket_Requests];
	char help[SIZE_REMEDY_TEXT], result[40];

	sizes_remedy(direction, ceilings, offer->needed, help);
	snprintf(result, sizeof(result), "served %" PRIu64, size->served);
	snprintf(size->line, sizeof(size->line),
		 "%s = %" PRIu64 "%s: %s[2] = %" PRIu64 " carries less than %" PRIu64
		 " requests of it, which need %" PRIu64
		 "; %s. Remedy: %s; then SIGHUP or UpdateExport",
		 names[direction].max, size->set ? size->asked : size->served,
		 size->set ? "" : " (not set)", size_sysctl(direction), offer->ceiling, requests,
		 offer->needed, refused ? "the export is refused" : result, help);
}

/* NFSv3 clients of Linux start from the preferred size, NFSv4.1 clients from the maximum */
static void say_preferred(const struct db_export *export, enum size_direction direction)
{
	const struct export_size *size = &export->size[direction];

	if (size->pref == 0 || size->pref >= size->served)
		return;
	LogWarn(COMPONENT_FSAL,
		"Export %" PRIu16 ": %s = %" PRIu64 " is below %s = %" PRIu64
		": NFSv3 clients that are told no size use the smaller",
		export->export.export_id, names[direction].pref, size->pref, names[direction].max,
		size->served);
}

static void judge(struct db_export *export, enum size_direction direction, uint64_t in_force,
		  const struct size_ceilings *ceilings, struct size_offer *ret_offer)
{
	const struct option_values *options = &export->config.options;
	struct export_size *size = &export->size[direction];
	const struct size_wish wish = {
		.set = size->set,
		.max = size->asked,
		.in_force = in_force,
	};
	const struct size_rules rules = {
		.check = (enum socket_check)options->value[OPTION_Socket_Check],
		.requests = (unsigned int)options->value[OPTION_Socket_Requests],
	};

	sizes_offer(direction, &wish, ceilings, &rules, ret_offer);
	size->served = ret_offer->max;
	size->line[0] = '\0';
}

/* To the log, and to whoever sent the update. What nobody asked for is no warning. */
static void report(const struct db_export *export, enum size_direction direction,
		   struct config_error_type *errors)
{
	const struct export_size *size = &export->size[direction];

	if (size->line[0] == '\0')
		return;
	if (size->set)
		LogWarn(COMPONENT_FSAL, "Export %" PRIu16 ": %s", export->export.export_id,
			size->line);
	else
		LogInfo(COMPONENT_FSAL, "Export %" PRIu16 ": %s", export->export.export_id,
			size->line);
	if (errors != NULL && errors->fp != NULL && size->set)
		fprintf(errors->fp, "Export %" PRIu16 ": %s\f", export->export.export_id,
			size->line);
}

static void ceilings_of_daemon(struct size_ceilings *ret_ceilings)
{
	int rc = sizes_ceilings_read("/proc", ret_ceilings);

	if (rc == 0)
		return;
	LogWarn(COMPONENT_FSAL,
		"Can't read net.ipv4.tcp_rmem and tcp_wmem in /proc/sys: %s. Sizes are not checked "
		"against the socket buffers.",
		strerror(-rc));
	*ret_ceilings = (struct size_ceilings){ .bytes = { UINT64_MAX, UINT64_MAX } };
}

/* --- what exports offered before the daemon was restarted --- */

static void store_path(char *buf, size_t size)
{
	snprintf(buf, size, "%s/dropbehind.sizes", nfs_param.nfsv4_param.recov_root);
}

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

static void offered_before(const struct db_export *export, uint64_t ret_sizes[SIZE_DIRECTIONS])
{
	char path[PATH_MAX];
	int rc;

	store_path(path, sizeof(path));
	pthread_mutex_lock(&store_lock);
	rc = size_store_get(path, export->export.export_id, ret_sizes);
	pthread_mutex_unlock(&store_lock);
	if (rc != 0)
		LogWarn(COMPONENT_FSAL, "Can't read %s: %s. Sizes offered before are not known.",
			path, strerror(-rc));
}

static void remember(const struct db_export *export)
{
	const uint64_t sizes[SIZE_DIRECTIONS] = {
		[SIZE_READ] = export->size[SIZE_READ].served,
		[SIZE_WRITE] = export->size[SIZE_WRITE].served,
	};
	char path[PATH_MAX];
	int rc;

	store_path(path, sizeof(path));
	pthread_mutex_lock(&store_lock);
	rc = size_store_put(path, export->export.export_id, sizes);
	pthread_mutex_unlock(&store_lock);
	if (rc != 0)
		LogWarn(COMPONENT_FSAL,
			"Can't write %s: %s. After a restart Clamp may offer less than before.",
			path, strerror(-rc));
}

static void say_memory(const struct db_export *export)
{
	unsigned int threads = nfs_param.core_param.rpc.ioq_thrd_max;
	struct size_memory memory;

	sizes_memory(export->size[SIZE_READ].served, export->size[SIZE_WRITE].served, threads,
		     &memory);
	LogInfo(COMPONENT_FSAL,
		"Export %" PRIu16 ": at worst its sizes take %" PRIu64
		" bytes in %u RPC threads and "
		"%" PRIu64 " bytes per connection for the record of a request",
		export->export.export_id, memory.workers, threads, memory.per_connection);
}

/*
 * With all four sizes set the core never asks get_fs_dynamic_info(), so a preferred size above the
 * maximum stays unless it is mended here, where the new export can still be written to.
 */
static void preferred_repair(const struct db_export *export)
{
	struct gsh_export *live = op_ctx->ctx_export;

	if (live->PrefRead > export->size[SIZE_READ].served)
		live->PrefRead = export->size[SIZE_READ].served;
	if (live->PrefWrite > export->size[SIZE_WRITE].served)
		live->PrefWrite = export->size[SIZE_WRITE].served;
}

int export_sizes_create(struct db_export *export)
{
	uint64_t before[SIZE_DIRECTIONS] = { 0 };
	struct size_ceilings ceilings;
	struct size_texts texts;
	struct size_offer offer;
	bool refused = false;

	ceilings_of_daemon(&ceilings);
	texts_of_create(&texts);
	offered_before(export, before);
	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		struct export_size *size = &export->size[d];

		size_ask(size, &texts, d);
		judge(export, d, before[d], &ceilings, &offer);
		atomic_store(&size->cap, (uint32_t)size->served);
		if (offer.is_short)
			say_short(export, d, &ceilings, &offer, offer.refused);
		report(export, d, NULL);
		say_preferred(export, d);
		refused = refused || offer.refused;
	}
	if (refused)
		return -ERANGE;
	preferred_repair(export);
	remember(export);
	say_memory(export);
	return 0;
}

/* --- updates --- */

static void say_held(struct export_size *size, enum size_direction direction, uint64_t wanted)
{
	snprintf(size->line, sizeof(size->line),
		 "%s lowered from %" PRIu64 " to %" PRIu64 ": not done, served %" PRIu64
		 ", because mounted NFSv3 clients never ask again. To lower it all the same: "
		 "Allow_Shrink = true in the FSAL block",
		 names[direction].max, size->served, wanted, size->served);
}

static void update_one(struct db_export *export, enum size_direction direction,
		       const struct size_ceilings *ceilings, struct config_error_type *errors)
{
	struct export_size *size = &export->size[direction];
	bool shrink = export->config.options.value[OPTION_Allow_Shrink] != 0;
	uint64_t before = size->served;
	struct size_offer offer;
	uint64_t wanted;

	judge(export, direction, shrink ? 0 : before, ceilings, &offer);
	wanted = size->served;
	if (offer.refused || (wanted < before && !shrink))
		size->served = before;
	if (offer.is_short)
		say_short(export, direction, ceilings, &offer, false);
	else if (wanted < size->served)
		say_held(size, direction, wanted);
	size->floor = size->served < before ? size->served : before;
	atomic_store(&size->cap, (uint32_t)size->served);
	report(export, direction, errors);
	say_preferred(export, direction);
	if (size->served != before)
		LogEvent(COMPONENT_FSAL,
			 "Export %" PRIu16 ": %s served changes from %" PRIu64 " to %" PRIu64,
			 export->export.export_id, names[direction].max, before, size->served);
}

void export_sizes_update(struct db_export *export, void *node, struct config_error_type *errors)
{
	struct size_ceilings ceilings;
	struct size_texts texts;

	if (texts_of_update(node, &texts) != 0)
		return; /* the core says which value is wrong */
	ceilings_of_daemon(&ceilings);
	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		size_ask(&export->size[d], &texts, d);
		update_one(export, d, &ceilings, errors);
	}
	remember(export);
	size_keeper_watch(export);
}
