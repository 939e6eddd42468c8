/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Attributes of objects of every type.
 *
 * They are read and set through an O_PATH descriptor: nothing is really opened, so that a FIFO
 * can't block a worker and a device is not touched, and symbolic links have times like everything
 * else. Only a size needs a real descriptor, the file's own.
 *
 * Settings run as the caller: then the kernel clears setuid and setgid as it does for a local user.
 */
#include "internal.h"

#include <sys/sysmacros.h>

static struct timespec time_of(struct statx_timestamp from)
{
	return (struct timespec){ .tv_sec = from.tv_sec, .tv_nsec = from.tv_nsec };
}

/* The change attribute: nanoseconds of the later of ctime and mtime, as FSAL_VFS */
static uint64_t change_of(const struct fsal_attrlist *attrs)
{
	uint64_t changed = timespec_to_nsecs((struct timespec *)&attrs->ctime);
	uint64_t modified = timespec_to_nsecs((struct timespec *)&attrs->mtime);

	return changed > modified ? changed : modified;
}

void attributes_fill(const struct statx *stx, fsal_fsid_t fsid, struct fsal_attrlist *attrs)
{
	if (attrs == NULL)
		return;
	attrs->supported = DB_ATTRIBUTES;
	attrs->valid_mask |= DB_ATTRIBUTES;
	attrs->type = posix2fsal_type(stx->stx_mode);
	attrs->filesize = stx->stx_size;
	attrs->fsid = fsid;
	attrs->fileid = stx->stx_ino;
	attrs->mode = unix2fsal_mode(stx->stx_mode);
	attrs->numlinks = stx->stx_nlink;
	attrs->owner = stx->stx_uid;
	attrs->group = stx->stx_gid;
	attrs->atime = time_of(stx->stx_atime);
	attrs->ctime = time_of(stx->stx_ctime);
	attrs->mtime = time_of(stx->stx_mtime);
	attrs->change = change_of(attrs);
	attrs->spaceused = stx->stx_blocks * 512;
	attrs->rawdev.major = stx->stx_rdev_major;
	attrs->rawdev.minor = stx->stx_rdev_minor;
}

static int stat_open_file(const struct db_object *object, struct statx *stx)
{
	int fd, rc;

	if (object->file == NULL)
		return -EBADF;
	fd = file_acquire_open(object->file);
	if (fd < 0)
		return fd;
	rc = object_stat(fd, "", stx);
	file_release(object->file, false);
	return rc;
}

static int object_stat_any(const struct db_object *object, struct statx *stx)
{
	_cleanup_close_ int fd = -1;

	if (object->seen != NULL) {
		*stx = *object->seen;
		return 0;
	}
	if (stat_open_file(object, stx) == 0)
		return 0;
	fd = object_open(object, O_PATH);
	if (fd < 0)
		return fd;
	return object_stat(fd, "", stx);
}

/* A caller that asked for RDATTR_ERROR (RFC 8881 5.8.1.12) lives without the attributes */
int attributes_get(const struct db_object *object, struct fsal_attrlist *attrs)
{
	struct statx stx;
	int rc;

	if (attrs == NULL)
		return 0;
	rc = object_stat_any(object, &stx);
	if (rc == 0) {
		attributes_fill(&stx, object->handle.fsid, attrs);
		return 0;
	}
	if (!FSAL_TEST_MASK(attrs->request_mask, ATTR_RDATTR_ERR))
		return rc;
	attrs->valid_mask = ATTR_RDATTR_ERR;
	return 0;
}

static fsal_status_t getattrs(struct fsal_obj_handle *obj, struct fsal_attrlist *attrs)
{
	return status_of(attributes_get(db_object_of(obj), attrs));
}

/* RFC 8881 18.30.4, RFC 1813 3.3.2: a size that no file can have is FBIG, not INVAL */
int file_set_size(struct db_object *object, uint64_t size)
{
	int fd, rc;

	if (object->handle.type != REGULAR_FILE || object->file == NULL)
		return object->handle.type == DIRECTORY ? -EISDIR : -EINVAL;
	if (size > INT64_MAX)
		return -EFBIG;
	fd = file_acquire(object->file, true);
	if (fd < 0)
		return fd;
	as_caller();
	rc = ftruncate(fd, (off_t)size) != 0 ? -errno : 0;
	as_root();
	if (rc == 0)
		file_truncated(object->file, size);
	file_release(object->file, true);
	return rc;
}

/* chmod(2) through /proc: fchmod() refuses O_PATH descriptors, fchmodat2() came with Linux 6.6 */
static int set_mode(const struct db_object *object, int fd, const struct fsal_attrlist *attrs)
{
	struct fsal_export *export = op_ctx->fsal_export;
	mode_t mode = fsal2unix_mode(attrs->mode) & ~export->exp_ops.fs_umask(export);
	char path[32];

	if (object->handle.type == SYMBOLIC_LINK)
		return 0; /* Linux keeps no mode for them */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode) != 0 ? -errno : 0;
}

static int set_owner(int fd, const struct fsal_attrlist *attrs)
{
	uid_t uid = FSAL_TEST_MASK(attrs->valid_mask, ATTR_OWNER) ? (uid_t)attrs->owner : (uid_t)-1;
	gid_t gid = FSAL_TEST_MASK(attrs->valid_mask, ATTR_GROUP) ? (gid_t)attrs->group : (gid_t)-1;

	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 ? -errno : 0;
}

static struct timespec time_to_set(const struct fsal_attrlist *attrs, attrmask_t server,
				   attrmask_t given, struct timespec value)
{
	if (FSAL_TEST_MASK(attrs->valid_mask, server))
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	if (FSAL_TEST_MASK(attrs->valid_mask, given))
		return value;
	return (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static int set_times(int fd, const struct fsal_attrlist *attrs)
{
	const struct timespec times[2] = {
		time_to_set(attrs, ATTR_ATIME_SERVER, ATTR_ATIME, attrs->atime),
		time_to_set(attrs, ATTR_MTIME_SERVER, ATTR_MTIME, attrs->mtime),
	};

	return utimensat(fd, "", times, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 ? -errno : 0;
}

/* Owner before mode: a change of owner clears setuid and setgid (kernel, fs/attr.c) */
static int set_as_caller(const struct db_object *object, int fd, const struct fsal_attrlist *attrs)
{
	int rc = 0;

	as_caller();
	if (FSAL_TEST_MASK(attrs->valid_mask, ATTR_OWNER | ATTR_GROUP))
		rc = set_owner(fd, attrs);
	if (rc == 0 && FSAL_TEST_MASK(attrs->valid_mask, ATTR_MODE))
		rc = set_mode(object, fd, attrs);
	if (rc == 0 && FSAL_TEST_MASK(attrs->valid_mask, ATTR_ATIME | ATTR_MTIME))
		rc = set_times(fd, attrs);
	as_root();
	return rc;
}

/*
 * NFS lets everyone who may write set a single time to the server's (RFC 8881 5.8.2.38), which is
 * what truncate(2) on a client sends; utimensat(2) wants the owner unless both times are "now". The
 * core has checked write access before it called us.
 */
static int set_server_times(int fd, const struct fsal_attrlist *attrs)
{
	if (FSAL_TEST_MASK(attrs->valid_mask, ATTR_ATIME | ATTR_MTIME) ||
	    !FSAL_TEST_MASK(attrs->valid_mask, ATTR_ATIME_SERVER | ATTR_MTIME_SERVER))
		return 0;
	return set_times(fd, attrs);
}

int attributes_set(struct db_object *object, bool bypass, struct state_t *state,
		   struct fsal_attrlist *attrs)
{
	const attrmask_t others = ATTR_MODE | ATTR_OWNER | ATTR_GROUP | ATTRS_SET_TIME;
	_cleanup_close_ int fd = -1;
	int rc;

	if (FSAL_TEST_MASK(attrs->valid_mask, ATTR_SIZE)) {
		rc = share_check(object, state, FSAL_O_WRITE, bypass);
		if (rc == 0)
			rc = file_set_size(object, attrs->filesize);
		if (rc != 0)
			return rc;
	}
	if (!FSAL_TEST_MASK(attrs->valid_mask, others))
		return 0;
	fd = object_open(object, O_PATH);
	if (fd < 0)
		return fd;
	rc = set_as_caller(object, fd, attrs);
	return rc != 0 ? rc : set_server_times(fd, attrs);
}

static fsal_status_t setattr2(struct fsal_obj_handle *obj, bool bypass, struct state_t *state,
			      struct fsal_attrlist *attrs)
{
	return status_of(attributes_set(db_object_of(obj), bypass, state, attrs));
}

void attributes_ops_init(struct fsal_obj_ops *ops)
{
	ops->getattrs = getattrs;
	ops->setattr2 = setattr2;
}
