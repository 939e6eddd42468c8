/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Directories: LOOKUP and READDIR.
 *
 * READDIR hands the core an object and attributes for every entry. An error here would fail the
 * listing of the whole directory, so an entry is left out only when it vanished in between; one on
 * another filesystem is shown as far as it is known (filesystem.c).
 *
 * Cookies are the kernel's d_off, which is what FSAL_VFS gives out, and stay valid over a restart.
 * NFS reserves 0, 1 and 2 (RFC 8881 18.23.3, Ganesha's FIRST_COOKIE), the kernel does not: those
 * travel as their complement, which no d_off can be (loff_t is signed).
 */
#include "internal.h"

#include <dirent.h>
#include <sys/syscall.h>

#define DIRENT_BUFFER 32768

/** As getdents64(2) fills it: include/linux/dirent.h of the kernel. */
struct kernel_dirent {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

static fsal_cookie_t cookie_of(int64_t offset)
{
	return offset < FIRST_COOKIE ? ~(fsal_cookie_t)offset : (fsal_cookie_t)offset;
}

static int64_t offset_of_cookie(fsal_cookie_t cookie)
{
	return (int64_t)((cookie >> 63) != 0 ? ~cookie : cookie);
}

int child_find(const struct db_object *dir, int dir_fd, const char *name, struct db_child *child)
{
	int rc = object_stat(dir_fd, name, &child->stx);

	if (rc != 0)
		return rc;
	rc = filesystem_locate(dir, dir_fd, name, child);
	if (rc != 0 || child->dummy) {
		child->kernel.len = 0;
		return rc;
	}
	return handle_of_name(dir_fd, name, &child->kernel);
}

static int child_object(struct db_object *dir, int dir_fd, const char *name,
			struct db_object **ret_object, struct fsal_attrlist *attrs)
{
	struct db_child child;
	int rc = child_find(dir, dir_fd, name, &child);

	if (rc != 0)
		return rc;
	rc = object_new(op_ctx->fsal_export, &child, ret_object);
	if (rc == 0)
		attributes_fill(&child.stx, child.fsid, attrs);
	return rc;
}

int child_lookup(struct db_object *dir, const char *name, struct db_object **ret_object,
		 struct fsal_attrlist *attrs)
{
	_cleanup_close_ int dir_fd = -1;

	if (dir->handle.type != DIRECTORY)
		return -ENOTDIR;
	dir_fd = object_open(dir, O_PATH | O_DIRECTORY);
	if (dir_fd < 0)
		return dir_fd;
	return child_object(dir, dir_fd, name, ret_object, attrs);
}

static fsal_status_t lookup(struct fsal_obj_handle *dir, const char *name,
			    struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs)
{
	struct db_object *object;
	int rc = child_lookup(db_object_of(dir), name, &object, attrs);

	*ret_obj = rc == 0 ? &object->handle : NULL;
	return status_of(rc);
}

struct listing {
	struct db_object *dir;
	int fd;
	attrmask_t attrmask;
	fsal_readdir_cb callback;
	void *state;
};

static bool is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Returns 1 to stop, 0 to go on, -errno */
static int list_entry(struct listing *list, const struct kernel_dirent *entry)
{
	struct db_object *object;
	struct fsal_attrlist attrs;
	enum fsal_dir_result result;
	int rc;

	if (is_dot(entry->d_name))
		return 0;
	fsal_prepare_attrs(&attrs, list->attrmask);
	rc = child_object(list->dir, list->fd, entry->d_name, &object, &attrs);
	if (rc == 0) {
		result = list->callback(entry->d_name, &object->handle, &attrs, list->state,
					cookie_of(entry->d_off));
		rc = result >= DIR_READAHEAD ? 1 : 0;
	} else if (rc == -ENOENT || rc == -ESTALE) {
		rc = 0;
	}
	fsal_release_attrs(&attrs);
	return rc;
}

static int list_all(struct listing *list, bool *ret_eof)
{
	char buffer[DIRENT_BUFFER] __attribute__((aligned(8)));
	long bytes, at;
	int rc;

	for (;;) {
		bytes = syscall(SYS_getdents64, list->fd, buffer, sizeof(buffer));
		if (bytes < 0)
			return -errno;
		if (bytes == 0) {
			*ret_eof = true;
			return 0;
		}
		for (at = 0; at < bytes;) {
			const struct kernel_dirent *entry = (void *)(buffer + at);

			rc = list_entry(list, entry);
			if (rc != 0)
				return rc < 0 ? rc : 0;
			at += entry->d_reclen;
		}
	}
}

static int list_from(struct listing *list, const fsal_cookie_t *whence, bool *ret_eof)
{
	if (whence != NULL && lseek(list->fd, offset_of_cookie(*whence), SEEK_SET) < 0)
		return -errno;
	return list_all(list, ret_eof);
}

static fsal_status_t readdir_all(struct fsal_obj_handle *dir, fsal_cookie_t *whence, void *state,
				 fsal_readdir_cb callback, attrmask_t attrmask, bool *eof)
{
	_cleanup_close_ int fd = object_open(db_object_of(dir), O_RDONLY | O_DIRECTORY);
	struct listing list = {
		.dir = db_object_of(dir),
		.fd = fd,
		.attrmask = attrmask,
		.callback = callback,
		.state = state,
	};

	*eof = false;
	if (fd < 0)
		return status_of(fd);
	return status_of(list_from(&list, whence, eof));
}

void directory_ops_init(struct fsal_obj_ops *ops)
{
	ops->lookup = lookup;
	ops->readdir = readdir_all;
}
