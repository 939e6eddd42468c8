/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Making directory entries of every type, through one path: make the entry as the caller, describe
 * it, build the object, set the attributes that remain, read back what the client gets to see.
 * Whatever fails after the entry exists removes it again, and the error is reported.
 */
#include "internal.h"

#include <sys/sysmacros.h>

struct entry_kind {
	object_file_type_t type;
	mode_t mode;	  /* S_IF* */
	int unlink_flags; /* for the undo */
};

static const struct entry_kind kinds[] = {
	{ REGULAR_FILE, S_IFREG, 0 },	{ DIRECTORY, S_IFDIR, AT_REMOVEDIR },
	{ SYMBOLIC_LINK, S_IFLNK, 0 },	{ SOCKET_FILE, S_IFSOCK, 0 },
	{ FIFO_FILE, S_IFIFO, 0 },	{ BLOCK_FILE, S_IFBLK, 0 },
	{ CHARACTER_FILE, S_IFCHR, 0 },
};

static const struct entry_kind *kind_of(object_file_type_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type == type)
			return &kinds[i];
	}
	return NULL;
}

/* The mode for the system call. It is not set again, so that setgid inheritance stays. */
static mode_t take_mode(struct fsal_attrlist *attrs)
{
	struct fsal_export *export = op_ctx->fsal_export;
	mode_t mode = FSAL_TEST_MASK(attrs->valid_mask, ATTR_MODE) ? fsal2unix_mode(attrs->mode)
								   : 0600;

	FSAL_UNSET_MASK(attrs->valid_mask, ATTR_MODE);
	return mode & ~export->exp_ops.fs_umask(export);
}

static int entry_make(int dir_fd, const char *name, const struct entry_kind *kind,
		      const struct create_spec *spec)
{
	mode_t mode = take_mode(spec->attrs);
	dev_t dev = 0;
	int rc;

	if (kind->type == BLOCK_FILE || kind->type == CHARACTER_FILE)
		dev = makedev(spec->attrs->rawdev.major, spec->attrs->rawdev.minor);
	FSAL_UNSET_MASK(spec->attrs->valid_mask, ATTR_RAWDEV);
	as_caller();
	if (kind->type == DIRECTORY)
		rc = mkdirat(dir_fd, name, mode);
	else if (kind->type == SYMBOLIC_LINK)
		rc = symlinkat(spec->link_target, dir_fd, name);
	else
		rc = mknodat(dir_fd, name, kind->mode | mode, dev);
	rc = rc != 0 ? -errno : 0;
	as_root();
	return rc;
}

/* Ganesha's core rule: attributes that the call itself could not give are set afterwards */
static int attributes_remaining(struct db_object *object, const struct create_spec *spec)
{
	struct fsal_filesystem *fs = object->handle.fs;
	struct statx stx;
	struct stat st = { 0 };
	int rc;

	if (spec->attrs->valid_mask == 0)
		return 0;
	rc = attributes_set(object, true, NULL, spec->attrs);
	if (rc != 0 || !spec->verifier || fs->trunc_verif)
		return rc;

	/* some filesystems keep 31 bits of a time: then the verifier is stored with 31 bits too */
	_cleanup_close_ int fd = object_open(object, O_PATH);

	if (fd < 0)
		return fd;
	rc = object_stat(fd, "", &stx);
	if (rc != 0)
		return rc;
	st.st_atim.tv_sec = stx.stx_atime.tv_sec;
	st.st_mtim.tv_sec = stx.stx_mtime.tv_sec;
	if (st.st_atim.tv_sec == spec->attrs->atime.tv_sec &&
	    st.st_mtim.tv_sec == spec->attrs->mtime.tv_sec)
		return 0;
	fs->trunc_verif = true;
	spec->attrs->atime.tv_sec &= INT32_MAX;
	spec->attrs->mtime.tv_sec &= INT32_MAX;
	return attributes_set(object, true, NULL, spec->attrs);
}

static int object_make(struct db_object *dir, int dir_fd, const char *name,
		       const struct create_spec *spec, struct db_object **ret_object)
{
	struct db_child child;
	struct db_object *object;
	int rc = child_find(dir, dir_fd, name, &child);

	if (rc != 0)
		return rc;
	if (posix2fsal_type(child.stx.stx_mode) != spec->type)
		return -EEXIST; /* somebody replaced it on the host */
	rc = object_new(op_ctx->fsal_export, &child, &object);
	if (rc != 0)
		return rc;
	rc = attributes_remaining(object, spec);
	if (rc != 0) {
		object->handle.obj_ops->release(&object->handle);
		return rc;
	}
	*ret_object = object;
	return 0;
}

int create_object(struct db_object *dir, const char *name, struct create_spec *spec,
		  struct db_object **ret_object, struct fsal_attrlist *attrs_out)
{
	const struct entry_kind *kind = kind_of(spec->type);
	struct db_object *object;
	_cleanup_close_ int dir_fd = -1;
	int rc;

	if (kind == NULL)
		return -EINVAL;
	if (dir->handle.type != DIRECTORY)
		return -ENOTDIR;
	dir_fd = object_open(dir, O_PATH | O_DIRECTORY);
	if (dir_fd < 0)
		return dir_fd;
	rc = entry_make(dir_fd, name, kind, spec);
	if (rc != 0)
		return rc;
	rc = object_make(dir, dir_fd, name, spec, &object);
	if (rc == 0) {
		rc = attributes_get(object, attrs_out);
		if (rc != 0)
			object->handle.obj_ops->release(&object->handle);
	}
	if (rc != 0) {
		(void)unlinkat(dir_fd, name, kind->unlink_flags);
		return rc;
	}
	*ret_object = object;
	return 0;
}

static fsal_status_t create_entry(struct fsal_obj_handle *dir, const char *name,
				  struct create_spec *spec, struct fsal_obj_handle **ret_obj,
				  struct fsal_attrlist *attrs_out)
{
	struct db_object *object;
	int rc = create_object(db_object_of(dir), name, spec, &object, attrs_out);

	*ret_obj = rc == 0 ? &object->handle : NULL;
	return status_of(rc);
}

static fsal_status_t make_directory(struct fsal_obj_handle *dir, const char *name,
				    struct fsal_attrlist *attrs, struct fsal_obj_handle **ret_obj,
				    struct fsal_attrlist *attrs_out)
{
	struct create_spec spec = { .type = DIRECTORY, .attrs = attrs };

	return create_entry(dir, name, &spec, ret_obj, attrs_out);
}

static fsal_status_t make_node(struct fsal_obj_handle *dir, const char *name,
			       object_file_type_t type, struct fsal_attrlist *attrs,
			       struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs_out)
{
	struct create_spec spec = { .type = type, .attrs = attrs };

	return create_entry(dir, name, &spec, ret_obj, attrs_out);
}

static fsal_status_t make_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
				  struct fsal_attrlist *attrs, struct fsal_obj_handle **ret_obj,
				  struct fsal_attrlist *attrs_out)
{
	struct create_spec spec = { .type = SYMBOLIC_LINK, .attrs = attrs, .link_target = target };

	return create_entry(dir, name, &spec, ret_obj, attrs_out);
}

void create_ops_init(struct fsal_obj_ops *ops)
{
	ops->mkdir = make_directory;
	ops->mknode = make_node;
	ops->symlink = make_symlink;
}
