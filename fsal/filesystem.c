/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Filesystems below an export: claiming them from Ganesha's table, and telling which one an object
 * found under a directory is on.
 *
 * A directory entry can lead to
 *   - the parent's own filesystem: same device, or same mount and another device, which is a btrfs
 *     subvolume: there inode numbers repeat, so the object gets an fsid of its own;
 *   - another mount that an export of ours covers, claimed at load or, if it was mounted later,
 *     now;
 *   - a mount we can't serve (another FSAL's, or one without handles): the entry is shown as what
 *     stat(2) says of it, behind a "dummy" handle, and never fails the listing of its parent. We
 *     look no further
 *     into it: a mount that hangs must not hang a worker.
 */
#include "internal.h"

#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>

static void report_unexportable(struct fsal_export *export, const struct fsal_filesystem *fs,
				const char *call, int error)
{
	const char *remedy = "export another filesystem or see the error";

	if (error == -EPERM || error == -EACCES)
		remedy = "give the daemon CAP_DAC_READ_SEARCH (in a container by "
			 "securityContext.capabilities, in systemd by CapabilityBoundingSet)";
	else if (error == -EOPNOTSUPP)
		remedy = "it has no file handles: overlayfs needs the mount options "
			 "index=on,nfs_export=on; some filesystems can't be exported";
	LogCrit(COMPONENT_FSAL,
		"Export %" PRIu16 ": can't export %s (%s): %s failed: %s. Remedy: %s.",
		op_ctx->ctx_export->export_id, fs->path, fs->type != NULL ? fs->type : "?", call,
		strerror(-error), remedy);
	db_export_of(export)->claim_reported = true;
}

/* Handles must be made and opened before a client depends on them */
static int handles_check(struct fsal_export *export, const struct fsal_filesystem *fs, int mount_fd)
{
	struct kernel_handle kernel;
	_cleanup_close_ int fd = -1;
	int rc = handle_of_name(mount_fd, "", &kernel);

	if (rc != 0) {
		report_unexportable(export, fs, "name_to_handle_at", rc);
		return rc;
	}
	fd = handle_open(mount_fd, &kernel, O_PATH);
	if (fd < 0) {
		report_unexportable(export, fs, "open_by_handle_at", fd);
		return fd;
	}
	return 0;
}

static int mount_open(struct fsal_export *export, struct fsal_filesystem *fs, int *ret_fd)
{
	int fd = open(fs->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0) {
		rc = -errno;
		report_unexportable(export, fs, "open", rc);
		return rc;
	}
	rc = handles_check(export, fs, fd);
	if (rc != 0) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

static int fsid_type_apply(struct fsal_filesystem *fs, enum fsid_type type)
{
	int rc;

	if (type == FSID_NO_TYPE || type == fs->fsid_type)
		return 0;
	rc = change_fsid_type(fs, type);
	if (rc != 0)
		LogCrit(COMPONENT_FSAL, "Can't use the fsid_type of the export for %s: %s",
			fs->path, strerror(-rc));
	return rc;
}

/* Called under Ganesha's fs_lock. ENXIO for a nested mount means "leave it out" to the core. */
int filesystem_claim(struct fsal_filesystem *fs, struct fsal_export *export, void **private_data)
{
	struct db_filesystem *mine;
	struct statx stx;
	int mount_fd = -1, rc;

	if (*private_data != NULL)
		return 0;
	rc = mount_open(export, fs, &mount_fd);
	if (rc != 0)
		return ENXIO;
	rc = fsid_type_apply(fs, db_export_of(export)->config.fsid_type);
	if (rc == 0)
		rc = object_stat(mount_fd, "", &stx);
	if (rc != 0) {
		close(mount_fd);
		return -rc;
	}
	mine = gsh_calloc(1, sizeof(*mine));
	mine->mount_id = stx.stx_mnt_id;
	rc = volume_open(mount_fd, &mine->volume);
	if (rc != 0) {
		report_unexportable(export, fs, "probing", rc);
		gsh_free(mine);
		return -rc;
	}
	*private_data = mine;
	return 0;
}

void filesystem_unclaim(struct fsal_filesystem *fs)
{
	struct db_filesystem *mine = fs->private_data;

	if (mine == NULL)
		return;
	file_table_forget(DROPBEHIND.files, mine->volume);
	volume_close(mine->volume);
	gsh_free(mine);
	fs->private_data = NULL;
}

struct volume *filesystem_volume(const struct fsal_filesystem *fs)
{
	const struct db_filesystem *mine = fs->private_data;

	if (fs->fsal != &DROPBEHIND.module || mine == NULL)
		return NULL;
	return mine->volume;
}

/*
 * Devices that could not be claimed, with the time of the attempt: a client that keeps looking at
 * such a mount point must not make us read the mount table and write a line each time.
 */
#define REFUSED_MAX 32
#define REFUSED_SECONDS 60

static struct {
	pthread_mutex_t lock;
	unsigned int next;
	struct {
		dev_t dev;
		time_t when;
	} entry[REFUSED_MAX];
} refused = { .lock = PTHREAD_MUTEX_INITIALIZER };

static time_t monotonic_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static bool refused_lately(dev_t dev)
{
	time_t since = monotonic_seconds() - REFUSED_SECONDS;
	bool found = false;

	pthread_mutex_lock(&refused.lock);
	for (unsigned int i = 0; i < REFUSED_MAX && !found; i++)
		found = refused.entry[i].dev == dev && refused.entry[i].when > since;
	pthread_mutex_unlock(&refused.lock);
	return found;
}

static void refused_add(dev_t dev)
{
	pthread_mutex_lock(&refused.lock);
	refused.entry[refused.next].dev = dev;
	refused.entry[refused.next].when = monotonic_seconds();
	refused.next = (refused.next + 1) % REFUSED_MAX;
	pthread_mutex_unlock(&refused.lock);
}

/*
 * Nothing but what is mounted below the export belongs to it: LOOKUP of ".." in its root, which the
 * core does by itself (mdcache_helpers.c, mdc_get_parent), leads to the filesystem around it, and a
 * claim would make all handles of that one valid in this export.
 */
static bool is_below_export(const struct fsal_filesystem *fs)
{
	const char *path = CTX_FULLPATH(op_ctx);
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	return strncmp(fs->path, path, len) == 0 && fs->path[len] == '/';
}

/*
 * The claimed filesystem with device @dev, reading the mount table anew and claiming what is
 * nobody's. NULL if it can't be ours. Pointers to unclaimed ones are not kept: the next reading
 * frees them.
 *
 * The claim's root goes to a dummy: the core writes there the filesystem it found, and that must
 * not become the export's root.
 */
static struct fsal_filesystem *filesystem_discover(dev_t dev)
{
	struct stat st = { .st_dev = dev };
	fsal_dev_t fsal_dev = posix2fsal_devt(dev);
	struct fsal_filesystem *root = NULL, *fs = lookup_dev(&fsal_dev);

	if (fs != NULL && filesystem_volume(fs) != NULL)
		return fs;
	if (refused_lately(dev))
		return NULL;
	if (fs == NULL && populate_posix_file_systems(CTX_FULLPATH(op_ctx)) == 0)
		fs = lookup_dev(&fsal_dev);
	if (fs != NULL && fs->fsal == NULL && is_below_export(fs))
		(void)claim_posix_filesystems(CTX_FULLPATH(op_ctx), &DROPBEHIND.module,
					      op_ctx->fsal_export, filesystem_claim,
					      filesystem_unclaim, &root, &st);
	if (fs != NULL && filesystem_volume(fs) != NULL)
		return fs;
	refused_add(dev);
	return NULL;
}

/* Stable over reboots, unlike an anonymous device number: the kernel mixes in the subvolume's id */
static fsal_fsid_t subvolume_fsid(int fd, const char *name, fsal_fsid_t parent)
{
	struct statfs st;
	uint64_t word;
	_cleanup_close_ int own = -1;

	if (name[0] != '\0') {
		own = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		fd = own;
	}
	if (fd < 0 || fstatfs(fd, &st) != 0)
		return parent;
	memcpy(&word, &st.f_fsid, sizeof(word));
	return (fsal_fsid_t){ .major = parent.major ^ word, .minor = parent.minor };
}

int filesystem_locate(const struct db_object *parent, int fd, const char *name,
		      struct db_child *child)
{
	const struct db_filesystem *mine = parent->handle.fs->private_data;
	dev_t dev = makedev(child->stx.stx_dev_major, child->stx.stx_dev_minor);
	struct fsal_filesystem *fs;

	child->dummy = false;
	child->fs = parent->handle.fs;
	child->fsid = parent->handle.fsid;
	if (dev == parent->dev)
		return 0;
	if (child->stx.stx_mnt_id == mine->mount_id) {
		child->fsid = subvolume_fsid(fd, name, parent->handle.fs->fsid);
		return 0;
	}
	fs = filesystem_discover(dev);
	if (fs == NULL) {
		/* unique for the device, and not to be found in Ganesha's table */
		child->dummy = true;
		child->fsid.major = parent->handle.fs->fsid.major ^ dev;
		child->fsid.minor = ~parent->handle.fs->fsid.minor;
		return 0;
	}
	child->fs = fs;
	child->fsid = fs->fsid;
	return 0;
}
