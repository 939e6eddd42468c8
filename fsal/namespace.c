/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Changing names: link, rename, unlink; and reading symbolic links.
 * All run as the caller, whose rights on the directories the kernel then judges.
 */
#include "internal.h"

static int directory_open(struct fsal_obj_handle *dir)
{
	if (dir->type != DIRECTORY)
		return -ENOTDIR;
	return object_open(db_object_of(dir), O_PATH | O_DIRECTORY);
}

/*
 * linkat() of a descriptor needs CAP_DAC_READ_SEARCH (AT_EMPTY_PATH, kernel fs/namei.c), which the
 * caller has not: through /proc the kernel asks only for what link(2) asks.
 */
static int link_as_caller(int fd, int dir_fd, const char *name)
{
	char path[32];
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	as_caller();
	rc = linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) != 0 ? -errno : 0;
	as_root();
	return rc;
}

static int link_object(struct fsal_obj_handle *obj, struct fsal_obj_handle *dir, const char *name)
{
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int dir_fd = -1;

	if (obj->fs != dir->fs)
		return -EXDEV;
	fd = object_open(db_object_of(obj), O_PATH);
	if (fd < 0)
		return fd;
	dir_fd = directory_open(dir);
	if (dir_fd < 0)
		return dir_fd;
	return link_as_caller(fd, dir_fd, name);
}

static fsal_status_t make_link(struct fsal_obj_handle *obj, struct fsal_obj_handle *dir,
			       const char *name)
{
	return status_of(link_object(obj, dir, name));
}

static int rename_entry(struct fsal_obj_handle *old_dir, const char *old_name,
			struct fsal_obj_handle *new_dir, const char *new_name)
{
	_cleanup_close_ int old_fd = directory_open(old_dir);
	_cleanup_close_ int new_fd = -1;
	int rc;

	if (old_fd < 0)
		return old_fd;
	new_fd = directory_open(new_dir);
	if (new_fd < 0)
		return new_fd;
	as_caller();
	rc = renameat(old_fd, old_name, new_fd, new_name) != 0 ? -errno : 0;
	as_root();
	return rc;
}

static fsal_status_t rename_object(struct fsal_obj_handle *obj, struct fsal_obj_handle *old_dir,
				   const char *old_name, struct fsal_obj_handle *new_dir,
				   const char *new_name)
{
	(void)obj;
	return status_of(rename_entry(old_dir, old_name, new_dir, new_name));
}

static fsal_status_t unlink_object(struct fsal_obj_handle *dir, struct fsal_obj_handle *obj,
				   const char *name)
{
	_cleanup_close_ int dir_fd = directory_open(dir);
	int rc;

	if (dir_fd < 0)
		return status_of(dir_fd);
	as_caller();
	rc = unlinkat(dir_fd, name, obj->type == DIRECTORY ? AT_REMOVEDIR : 0) != 0 ? -errno : 0;
	as_root();
	return status_of(rc);
}

static fsal_status_t readlink_object(struct fsal_obj_handle *obj, struct gsh_buffdesc *content,
				     bool refresh)
{
	const struct db_object *object = db_object_of(obj);

	(void)refresh;
	if (obj->type != SYMBOLIC_LINK || object->link_target == NULL)
		return status_of(-EINVAL);
	content->len = strlen(object->link_target) + 1;
	content->addr = gsh_malloc(content->len);
	memcpy(content->addr, object->link_target, content->len);
	return status_of(0);
}

void namespace_ops_init(struct fsal_obj_ops *ops)
{
	ops->link = make_link;
	ops->rename = rename_object;
	ops->unlink = unlink_object;
	ops->readlink = readlink_object;
}
