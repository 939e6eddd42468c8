/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Objects: from wire handles and directory entries to fsal_obj_handle and back.
 *
 * Handles come from the network. A handle is taken only if it decodes, its filesystem is one that
 * the export covers, and the kernel opens it; a handle made for another export's filesystem is
 * stale here.
 */
#include "internal.h"

#include <sys/sysmacros.h>

int object_stat(int fd, const char *name, struct statx *ret)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC_AS_STAT;

	if (name[0] == '\0')
		flags |= AT_EMPTY_PATH;
	if (statx(fd, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, ret) != 0)
		return -errno;
	return 0;
}

int object_volume(const struct db_object *object, struct volume **ret_volume)
{
	struct volume *volume = object->seen == NULL ? filesystem_volume(object->handle.fs) : NULL;

	if (volume == NULL)
		return -EXDEV;
	*ret_volume = volume;
	return 0;
}

int object_open(const struct db_object *object, int flags)
{
	struct wire_handle wire;
	struct volume *volume;
	int rc = object_volume(object, &volume);

	if (rc != 0)
		return rc;
	if (wire_handle_decode(object->wire, object->wire_len, &wire) != 0)
		return -EBADMSG;
	return handle_open(volume_mount_fd(volume), &wire.kernel, flags);
}

static int wire_make(const struct db_child *child, struct db_object *object)
{
	struct wire_handle wire = {
		.fsid_type = child->dummy ? FSID_TWO_UINT64 : child->fs->fsid_type,
		.dummy = child->dummy,
		.kernel = child->kernel,
	};
	fsal_fsid_t fsid = child->dummy ? child->fsid : child->fs->fsid;
	int rc = encode_fsid((char *)wire.fsid, sizeof(wire.fsid), &fsid, wire.fsid_type);

	if (rc < 0)
		return -EINVAL;
	wire.fsid_len = (uint8_t)rc;
	rc = wire_handle_encode(&wire, object->wire, sizeof(object->wire));
	if (rc < 0)
		return rc;
	object->wire_len = (uint8_t)rc;
	return 0;
}

static int link_target_read(struct db_object *object)
{
	char target[PATH_MAX];
	_cleanup_close_ int fd = object_open(object, O_PATH);
	ssize_t len;

	if (fd < 0)
		return fd;
	len = readlinkat(fd, "", target, sizeof(target));
	if (len < 0)
		return -errno;
	if ((size_t)len == sizeof(target))
		return -ENAMETOOLONG;
	target[len] = '\0';
	object->link_target = gsh_strdup(target);
	return 0;
}

/* The parts that only one type of object has */
static int object_complete(struct db_object *object, const struct db_child *child)
{
	if (child->dummy) {
		object->seen = gsh_malloc(sizeof(*object->seen));
		*object->seen = child->stx;
		return 0;
	}
	if (object->handle.type == SYMBOLIC_LINK)
		return link_target_read(object);
	if (object->handle.type != REGULAR_FILE)
		return 0;
	object->file = file_get(DROPBEHIND.files, filesystem_volume(child->fs), &child->kernel);
	return object->file != NULL ? 0 : -ENOMEM;
}

int object_new(struct fsal_export *export, const struct db_child *child,
	       struct db_object **ret_object)
{
	struct db_object *object = gsh_calloc(1, sizeof(*object));
	struct fsal_obj_handle *obj = &object->handle;
	int rc;

	obj->fs = child->fs;
	obj->fsid = child->fsid;
	obj->fileid = child->stx.stx_ino;
	obj->type = posix2fsal_type(child->stx.stx_mode);
	obj->obj_ops = &DROPBEHIND.obj_ops;
	object->dev = makedev(child->stx.stx_dev_major, child->stx.stx_dev_minor);
	rc = wire_make(child, object);
	if (rc == 0)
		rc = object_complete(object, child);
	if (rc != 0) {
		gsh_free(object->seen);
		gsh_free(object);
		return rc;
	}
	fsal_obj_handle_init(obj, export, obj->type);
	*ret_object = object;
	return 0;
}

/* Also called while the daemon ends, without a request context */
static void release(struct fsal_obj_handle *obj)
{
	struct db_object *object = db_object_of(obj);

	fsal_obj_handle_fini(obj);
	if (object->file != NULL)
		file_put(object->file);
	gsh_free(object->link_target);
	gsh_free(object->seen);
	gsh_free(object);
}

/* Shares and descriptors live in the inode that both handles have in common: nothing to merge */
static fsal_status_t merge(struct fsal_obj_handle *original, struct fsal_obj_handle *duplicate)
{
	(void)original;
	(void)duplicate;
	return status_of(0);
}

static fsal_status_t handle_to_wire(const struct fsal_obj_handle *obj, fsal_digesttype_t type,
				    struct gsh_buffdesc *desc)
{
	const struct db_object *object = db_object_of(obj);

	if (type != FSAL_DIGEST_NFSV3 && type != FSAL_DIGEST_NFSV4)
		return fsalstat(ERR_FSAL_SERVERFAULT, 0);
	if (desc->len < object->wire_len)
		return fsalstat(ERR_FSAL_TOOSMALL, 0);
	memcpy(desc->addr, object->wire, object->wire_len);
	desc->len = object->wire_len;
	return status_of(0);
}

static void handle_to_key(struct fsal_obj_handle *obj, struct gsh_buffdesc *desc)
{
	struct db_object *object = db_object_of(obj);

	desc->addr = object->wire;
	desc->len = object->wire_len;
}

static bool handle_cmp(struct fsal_obj_handle *left, struct fsal_obj_handle *right)
{
	const struct db_object *a = db_object_of(left), *b = db_object_of(right);

	return a == b || (left->fsal == right->fsal && a->wire_len == b->wire_len &&
			  memcmp(a->wire, b->wire, a->wire_len) == 0);
}

/*
 * The filesystem that a handle's fsid names, if the export covers it. The export's root can't
 * change, so it is compared without a lock.
 */
static int filesystem_of_wire(struct fsal_export *export, const struct wire_handle *wire,
			      struct fsal_filesystem **ret_fs)
{
	struct fsal_filesystem *fs = export->root_fs;
	enum fsid_type type = (enum fsid_type)wire->fsid_type;
	fsal_fsid_t fsid;
	bool ours;

	if (decode_fsid((char *)wire->fsid, wire->fsid_len, &fsid, type) < 0)
		return -EBADMSG;
	if (fsal_fs_compare_fsid(type, &fsid, fs->fsid_type, &fs->fsid) != 0) {
		PTHREAD_RWLOCK_rdlock(&fs_lock);
		fs = lookup_fsid_locked(&fsid, type);
		ours = fs != NULL && filesystem_volume(fs) != NULL &&
		       is_filesystem_exported(fs, export);
		PTHREAD_RWLOCK_unlock(&fs_lock);
		if (!ours)
			return -ESTALE;
	}
	*ret_fs = fs;
	return 0;
}

static int wire_resolve(struct fsal_export *export, const struct gsh_buffdesc *desc,
			struct wire_handle *wire, struct fsal_filesystem **ret_fs)
{
	if (desc->addr == NULL || wire_handle_decode(desc->addr, desc->len, wire) != 0)
		return -EBADMSG;
	return filesystem_of_wire(export, wire, ret_fs);
}

fsal_status_t db_wire_to_host(struct fsal_export *export, fsal_digesttype_t type,
			      struct gsh_buffdesc *desc, int flags)
{
	struct fsal_filesystem *fs;
	struct wire_handle wire;

	(void)type;
	(void)flags;
	return status_of(wire_resolve(export, desc, &wire, &fs));
}

/* Describes the object open as @fd on @fs */
static int child_of_fd(int fd, struct fsal_filesystem *fs, struct db_child *child)
{
	struct db_object pseudo_root = { .handle.fs = fs, .handle.fsid = fs->fsid };
	int rc = object_stat(fd, "", &child->stx);

	if (rc != 0)
		return rc;
	pseudo_root.dev = makedev(fs->dev.major, fs->dev.minor);
	return filesystem_locate(&pseudo_root, fd, "", child);
}

static int object_publish(struct fsal_export *export, const struct db_child *child,
			  struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	struct db_object *object;
	int rc = object_new(export, child, &object);

	if (rc != 0)
		return rc;
	attributes_fill(&child->stx, child->fsid, attrs);
	*ret_obj = &object->handle;
	return 0;
}

static int create_handle(struct fsal_export *export, const struct gsh_buffdesc *desc,
			 struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	struct fsal_filesystem *fs;
	struct db_child child;
	struct wire_handle wire;
	_cleanup_close_ int fd = -1;
	int rc = wire_resolve(export, desc, &wire, &fs);

	if (rc != 0)
		return rc;
	if (wire.dummy)
		return -ESTALE;
	fd = handle_open(volume_mount_fd(filesystem_volume(fs)), &wire.kernel, O_PATH);
	if (fd < 0)
		return fd;
	rc = child_of_fd(fd, fs, &child);
	if (rc != 0)
		return rc;
	child.kernel = wire.kernel;
	return object_publish(export, &child, ret_obj, attrs);
}

fsal_status_t db_create_handle(struct fsal_export *export, struct gsh_buffdesc *desc,
			       struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	*ret_obj = NULL;
	return status_of(create_handle(export, desc, ret_obj, attrs));
}

static int lookup_path(struct fsal_export *export, const char *path,
		       struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	struct db_child child;
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = child_of_fd(fd, export->root_fs, &child);
	if (rc != 0)
		return rc;
	rc = handle_of_name(fd, "", &child.kernel);
	if (rc != 0)
		return rc;
	return object_publish(export, &child, ret_obj, attrs);
}

fsal_status_t db_lookup_path(struct fsal_export *export, const char *path,
			     struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	*ret_obj = NULL;
	dbus_object_register();
	return status_of(lookup_path(export, path, ret_obj, attrs));
}

void object_ops_init(struct fsal_obj_ops *ops)
{
	ops->release = release;
	ops->merge = merge;
	ops->handle_to_wire = handle_to_wire;
	ops->handle_to_key = handle_to_key;
	ops->handle_cmp = handle_cmp;
}
