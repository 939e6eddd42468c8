/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The module: registration with the daemon that loads it, and its start and end.
 *
 * The constructor runs in dlopen(3), before any configuration of ours is read; init_config() runs
 * once, with the parse tree that caused the load. If it fails the module stays registered and the
 * next EXPORT calls create_export without it: create_export asks `ready`.
 */
#include "internal.h"

#include <limits.h>

/* Where a volume is mounted, for people */
static const char *volume_path(const struct volume *volume, char *buf, size_t size)
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", volume_mount_fd(volume));
	len = readlink(link, buf, size - 1);
	buf[len > 0 ? len : 0] = '\0';
	return buf;
}

static void log_downgrade(struct volume *volume, enum io_mode mode, int error, void *arg)
{
	char path[PATH_MAX];

	(void)arg;
	LogWarn(COMPONENT_FSAL,
		"%s: mode %s stopped working (%s) and is not used there until the daemon restarts",
		volume_path(volume, path, sizeof(path)), io_mode_name(mode), strerror(error));
}

/* 0 if it can't be told: on a broken disk, or for a thread that has taken on a caller's rights */
static ino_t inode_of(const struct volume *volume, const struct kernel_handle *handle)
{
	_cleanup_close_ int fd = handle_open(volume_mount_fd(volume), handle, O_PATH);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return 0;
	return st.st_ino;
}

/* A client can cause many of these on a broken disk: one line a second, the rest is counted */
static void log_latch(struct volume *volume, const struct kernel_handle *handle, int error,
		      void *arg)
{
	static _Atomic time_t last;
	struct timespec now;
	char path[PATH_MAX];
	time_t before = atomic_load(&last);

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (before == now.tv_sec || !atomic_compare_exchange_strong(&last, &before, now.tv_sec))
		return;
	LogCrit(COMPONENT_FSAL,
		"Writeback failed on inode %ju of %s: %s. Every COMMIT and stable WRITE of the "
		"file returns this until it is truncated to 0.",
		(uintmax_t)inode_of(volume, handle), volume_path(volume, path, sizeof(path)),
		strerror(error));
}

struct db_module DROPBEHIND = {
	.module = {
		.fs_info = {
			.maxfilesize = INT64_MAX,
			.maxlink = _POSIX_LINK_MAX,
			.maxnamelen = NAME_MAX,
			.maxpathlen = PATH_MAX,
			.no_trunc = true,
			.chown_restricted = true,
			.case_preserving = true,
			.link_support = true,
			.symlink_support = true,
			.lock_support = true,
			.cansettime = true,
			.homogenous = true,
			.unique_handles = true,
			.acl_support = FSAL_ACLSUPPORT_ALLOW,
			.supported_attrs = DB_ATTRIBUTES,
			.maxread = FSAL_MAXIOSIZE,
			.maxwrite = FSAL_MAXIOSIZE,
			.compliant_eof_behavior = true,
			.expire_time_parent = -1,
		},
	},
};

static int table_create(void)
{
	const struct file_table_config config = {
		.latch_seconds = 120,
		.extra_size = sizeof(struct db_inode),
		.extra_init = db_inode_init,
		.extra_fini = db_inode_fini,
		.on_downgrade = log_downgrade,
		.on_latch = log_latch,
	};

	return file_table_create(&config, &DROPBEHIND.files);
}

static fsal_status_t init_config(struct fsal_module *module, config_file_t file,
				 struct config_error_type *errors)
{
	struct timespec now;

	if (abi_check() != 0)
		return fsalstat(ERR_FSAL_NOT_INIT, 0);
	if (config_load_module(file, errors, &DROPBEHIND.defaults) != 0)
		return fsalstat(ERR_FSAL_INVAL, 0);
	if (table_create() != 0)
		return fsalstat(ERR_FSAL_NOMEM, 0);
	if (size_keeper_start() != 0)
		return fsalstat(ERR_FSAL_NOMEM, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	DROPBEHIND.boot_verifier = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	DROPBEHIND.ready = true;
	display_fsinfo(module);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static MODULE_INIT void dropbehind_init(void)
{
	struct fsal_module *module = &DROPBEHIND.module;

	/* a daemon of another interface version refuses us here */
	if (register_fsal(module, DB_MODULE_NAME, FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION,
			  FSAL_ID_NO_PNFS) != 0) {
		LogCrit(COMPONENT_FSAL,
			"FSAL_" DB_MODULE_NAME
			": this daemon is not the nfs-ganesha " GANESHA_VERSION
			" (FSAL interface %d.%d) that the module was built for. Remedy: rebuild it "
			"against the installed version.",
			FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION);
		return;
	}
	module->m_ops.init_config = init_config;
	module->m_ops.create_export = db_create_export;
	module->m_ops.update_export = db_update_export;

	fsal_default_obj_ops_init(&DROPBEHIND.obj_ops);
	object_ops_init(&DROPBEHIND.obj_ops);
	directory_ops_init(&DROPBEHIND.obj_ops);
	create_ops_init(&DROPBEHIND.obj_ops);
	namespace_ops_init(&DROPBEHIND.obj_ops);
	attributes_ops_init(&DROPBEHIND.obj_ops);
	open_ops_init(&DROPBEHIND.obj_ops);
	io_ops_init(&DROPBEHIND.obj_ops);
	lock_ops_init(&DROPBEHIND.obj_ops);
}

/* The core destroyed every object and export before: nothing refers to the table any more */
static MODULE_FINI void dropbehind_fini(void)
{
	size_keeper_stop();
	if (DROPBEHIND.files != NULL)
		file_table_destroy(DROPBEHIND.files);
	DROPBEHIND.files = NULL;
	(void)unregister_fsal(&DROPBEHIND.module);
}
