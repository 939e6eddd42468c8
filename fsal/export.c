/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Exports: creation, update of the live options, removal, and what is asked of an export as a
 * whole.
 *
 * An update never fails for a value of ours: an error at SIGHUP would make the core remove the live
 * export (export_mgr.c, prune_defunct_exports). What can't change or is not valid stays as it is,
 * with one line that says so.
 */
#include "internal.h"

#include <sys/statvfs.h>

#include "config_parsing.h"
#include "export_mgr.h"

static enum io_mode mode_of(const struct option_values *values, enum option_id id)
{
	return (enum io_mode)values->value[id];
}

static void policy_set(struct db_export *export, const struct option_values *values)
{
	struct io_policy *policy = &export->policy;

	atomic_store_explicit(&policy->write_mode, mode_of(values, OPTION_Write_Mode),
			      memory_order_relaxed);
	atomic_store_explicit(&policy->read_mode, mode_of(values, OPTION_Read_Mode),
			      memory_order_relaxed);
	atomic_store_explicit(&policy->stream_cache, values->value[OPTION_Stream_Cache],
			      memory_order_relaxed);
}

static void explain(const struct volume_probe *probe, enum io_mode wanted, enum io_mode in_force,
		    char *buf, size_t size)
{
	const char *asked = wanted == IO_MODE_AUTO ? "probed" : "asked for";

	if (in_force == IO_MODE_DONTCACHE || in_force == wanted)
		snprintf(buf, size, "%s", asked);
	else if (in_force == IO_MODE_RANGE && probe->dontcache_error == 0)
		snprintf(buf, size, "%s: keeps readahead", asked);
	else if (in_force == IO_MODE_RANGE)
		snprintf(buf, size, "%s: RWF_DONTCACHE: %s", asked,
			 strerror(probe->dontcache_error));
	else if (probe->range_error == EMEDIUMTYPE)
		snprintf(buf, size, "%s: the page cache is all this filesystem has", asked);
	else
		snprintf(buf, size, "%s: no writeback to wait for: %s", asked,
			 strerror(probe->range_error));
}

/* The one line per export that names the mode in force and why */
static void announce(const struct db_export *export, const struct option_values *values)
{
	const struct fsal_filesystem *fs = export->export.root_fs;
	const struct volume *volume = filesystem_volume(fs);
	struct volume_probe probe;
	enum io_mode write_mode = volume_mode(volume, mode_of(values, OPTION_Write_Mode));
	enum io_mode read_mode = volume_read_mode(volume, mode_of(values, OPTION_Read_Mode));
	char write_why[96], read_why[96];

	volume_probe_result(volume, &probe);
	explain(&probe, mode_of(values, OPTION_Write_Mode), write_mode, write_why,
		sizeof(write_why));
	explain(&probe, mode_of(values, OPTION_Read_Mode), read_mode, read_why, sizeof(read_why));
	LogEvent(COMPONENT_FSAL,
		 "Export %" PRIu16
		 " Path=%s (%s): writes %s (%s), reads %s (%s), Stream_Cache %" PRIu64,
		 export->export.export_id, CTX_FULLPATH(op_ctx), probe.fs_type,
		 io_mode_name(write_mode), write_why, io_mode_name(read_mode), read_why,
		 values->value[OPTION_Stream_Cache]);
}

static void release(struct fsal_export *fsal_export)
{
	struct db_export *export = db_export_of(fsal_export);

	size_keeper_forget(export);
	unclaim_all_export_maps(fsal_export);
	fsal_detach_export(fsal_export->fsal, &fsal_export->exports);
	free_export_ops(fsal_export);
	pthread_mutex_destroy(&export->update_lock);
	gsh_free(export->path);
	gsh_free(export);
}

static uint32_t fs_maxread(struct fsal_export *export)
{
	return atomic_load(&db_export_of(export)->size[SIZE_READ].cap);
}

static uint32_t fs_maxwrite(struct fsal_export *export)
{
	return atomic_load(&db_export_of(export)->size[SIZE_WRITE].cap);
}

static fsal_status_t get_fs_dynamic_info(struct fsal_export *export, struct fsal_obj_handle *obj,
					 fsal_dynamicfsinfo_t *info)
{
	struct statvfs st;
	struct volume *volume = filesystem_volume(obj->fs);

	if (volume == NULL)
		return status_of(-EXDEV);
	if (fstatvfs(volume_mount_fd(volume), &st) != 0)
		return status_of(-errno);
	info->total_bytes = st.f_frsize * st.f_blocks;
	info->free_bytes = st.f_frsize * st.f_bfree;
	info->avail_bytes = st.f_frsize * st.f_bavail;
	info->total_files = st.f_files;
	info->free_files = st.f_ffree;
	info->avail_files = st.f_favail;
	/* asked of the export's root, these become what was not set: export_sizes.h */
	info->maxread = fs_maxread(export);
	info->maxwrite = fs_maxwrite(export);
	info->time_delta.tv_sec = 0;
	info->time_delta.tv_nsec = FSAL_DEFAULT_TIME_DELTA_NSEC;
	return status_of(0);
}

static void export_ops_init(struct export_ops *ops)
{
	ops->release = release;
	ops->lookup_path = db_lookup_path;
	ops->wire_to_host = db_wire_to_host;
	ops->create_handle = db_create_handle;
	ops->fs_maxread = fs_maxread;
	ops->fs_maxwrite = fs_maxwrite;
	ops->get_fs_dynamic_info = get_fs_dynamic_info;
	ops->get_write_verifier = db_get_write_verifier;
	ops->alloc_state = db_alloc_state;
	ops->free_state = db_free_state;
}

/* What is wrong with a path that could not be resolved; the core's lines give only the errno */
static void report_path(int error)
{
	const char *remedy = "see the line before";

	if (error == ENOENT || error == ENOTDIR)
		remedy =
			"create the directory or mount its filesystem before the daemon starts, or "
			"correct Path";
	else if (error == EINVAL)
		remedy = "see the line before; one filesystem can't be exported by two FSALs of "
			 "one daemon";
	LogCrit(COMPONENT_FSAL, "Export %" PRIu16 " Path=%s can't be exported: %s. Remedy: %s.",
		op_ctx->ctx_export->export_id, CTX_FULLPATH(op_ctx), strerror(error), remedy);
}

static int path_check(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int export_attach(struct db_export *export)
{
	int rc = path_check(CTX_FULLPATH(op_ctx));

	if (rc != 0) {
		report_path(-rc);
		return rc;
	}
	rc = fsal_attach_export(&DROPBEHIND.module, &export->export.exports);

	if (rc != 0)
		return -rc;
	rc = resolve_posix_filesystem(CTX_FULLPATH(op_ctx), &DROPBEHIND.module, &export->export,
				      filesystem_claim, filesystem_unclaim,
				      &export->export.root_fs);
	if (rc == 0)
		return 0;
	if (!export->claim_reported)
		report_path(rc);
	unclaim_all_export_maps(&export->export);
	fsal_detach_export(&DROPBEHIND.module, &export->export.exports);
	return -rc;
}

fsal_status_t db_create_export(struct fsal_module *module, void *node,
			       struct config_error_type *errors, const struct fsal_up_vector *up)
{
	struct db_export *export;
	int rc;

	if (!DROPBEHIND.ready)
		return fsalstat(ERR_FSAL_NOT_INIT, 0);
	export = gsh_calloc(1, sizeof(*export));
	fsal_export_init(&export->export);
	export_ops_init(&export->export.exp_ops);
	export->export.fsal = module;
	export->export.up_ops = up;
	export->path = gsh_strdup(CTX_FULLPATH(op_ctx));
	pthread_mutex_init(&export->update_lock, NULL);

	rc = config_load_export(node, errors, false, &export->config);
	if (rc == 0)
		rc = export_sizes_create(export);
	if (rc == 0)
		rc = export_attach(export);
	if (rc != 0) {
		free_export_ops(&export->export);
		pthread_mutex_destroy(&export->update_lock);
		gsh_free(export->path);
		gsh_free(export);
		return status_of(rc);
	}
	policy_set(export, &export->config.options);
	op_ctx->fsal_export = &export->export;
	announce(export, &export->config.options);
	return status_of(0);
}

static void report_changes(const struct db_export *export, const struct option_values *from,
			   const struct option_values *to)
{
	struct option_change change[OPTION_COUNT];
	unsigned int count = options_diff(from, to, change);

	for (unsigned int i = 0; i < count; i++)
		LogEvent(COMPONENT_FSAL, "Export %" PRIu16 ": %s changed from %s to %s",
			 export->export.export_id, change[i].key, change[i].from, change[i].to);
}

/* @original may be of another FSAL: update_export() must judge it before it is taken for ours */
fsal_status_t db_update_export(struct fsal_module *module, void *node,
			       struct config_error_type *errors, struct fsal_export *original,
			       struct fsal_module *super)
{
	fsal_status_t status = update_export(module, node, errors, original, super);
	struct db_export *export;
	struct export_config config;

	if (FSAL_IS_ERROR(status))
		return status;
	export = db_export_of(original);
	pthread_mutex_lock(&export->update_lock);
	if (config_load_export(node, errors, true, &config) == 0) {
		if (config.fsid_type != export->config.fsid_type)
			LogCrit(COMPONENT_FSAL,
				"Export %" PRIu16
				": fsid_type can't change while exported; the old one "
				"stays. Restart the daemon, or remove the export and add it again.",
				original->export_id);
		report_changes(export, &export->config.options, &config.options);
		export->config.options = config.options;
		policy_set(export, &config.options);
		export_sizes_update(export, node, errors);
	}
	pthread_mutex_unlock(&export->update_lock);
	return status_of(0);
}
