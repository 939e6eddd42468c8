/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The adapter: Ganesha's FSAL interface in front of the core library (src/).
 *
 * Objects and lifetimes
 *
 *   module      one, static; owns the file table
 *   export      one per EXPORT block: options and the policy that I/O reads
 *   filesystem  one per claimed mount: Ganesha's fsal_filesystem with our volume as private data
 *   object      one per NFS file handle in the metadata cache: wire handle, type, and for a regular
 *               file a reference on its core file
 *   inode       the adapter's part of a core file: share reservations and opens, common to all
 *               objects and exports of one inode
 *   state       one per NFSv4 or NLM open or lock
 *
 * Inside the adapter errors are 0 or -errno; status_of() turns them into an fsal_status_t once, at
 * the end of each operation.
 *
 * Credentials: system calls that the caller's rights decide run between as_caller() and as_root().
 * Descriptors are opened by handle as root, before. No lock is held across either.
 */
#ifndef DROPBEHIND_INTERNAL_H
#define DROPBEHIND_INTERNAL_H

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsal.h"
#include "FSAL/access_check.h"
#include "FSAL/fsal_commonlib.h"
#include "FSAL/fsal_config.h"
#include "FSAL/fsal_init.h"
#include "FSAL/fsal_localfs.h"
#include "fsal_convert.h"
#include "sal_data.h"

#include "export_sizes.h"
#include "file.h"
#include "handle.h"
#include "options.h"
#include "volume.h"

#define DB_MODULE_NAME "DROPBEHIND"

/** The attributes we serve: those of stat(2). */
#define DB_ATTRIBUTES ((attrmask_t)ATTRS_POSIX)

struct db_module {
	struct fsal_module module;
	struct fsal_obj_ops obj_ops;
	struct file_table *files;
	struct option_values defaults; /* from the DROPBEHIND block */
	uint64_t boot_verifier;	       /* NFSv4 write verifier of this run, before any error */
	bool ready;		       /* init_config succeeded */
};

extern struct db_module DROPBEHIND;

/** What an EXPORT's FSAL block says. */
struct export_config {
	enum fsid_type fsid_type;
	struct option_values options;
};

struct db_export {
	struct fsal_export export;
	pthread_mutex_t update_lock; /* two updates can run at once (SIGHUP and D-Bus) */
	struct export_config config; /* guarded by update_lock */
	struct io_policy policy;     /* what I/O reads */
	char *path;
	struct export_size size[SIZE_DIRECTIONS];
	struct glist_head watched; /* keeper lock */
	time_t watched_until;	   /* keeper lock; 0: not watched */
	bool claim_reported;	   /* a line said why a filesystem could not be claimed */
};

/** Private data of a claimed fsal_filesystem. */
struct db_filesystem {
	struct volume *volume;
	uint64_t mount_id; /* as statx(2) and name_to_handle_at(2) tell it */
};

/** The adapter's part of a core file; see file_extra(). */
struct db_inode {
	pthread_mutex_t lock;	 /* guards share and opens; never held across a system call */
	struct fsal_share share; /* reservations of all opens of the inode */
	unsigned int opens;	 /* share states that are open */
	atomic_bool stateless;	 /* an open without state is counted by the core: see close() */
};

struct db_object {
	struct fsal_obj_handle handle;
	struct file *file; /* regular files only */
	dev_t dev;
	struct statx *seen; /* dummies only: all we know of an object that is not ours */
	char *link_target;  /* symbolic links: they never change */
	uint8_t wire_len;
	unsigned char wire[WIRE_HANDLE_MAX];
};

/** The access mode of an open, shared with the lock states that hang on it. */
struct db_open_mode {
	atomic_uint refs;
	_Atomic(fsal_openflags_t) flags;
};

struct db_state {
	struct state_t state;
	struct db_open_mode *mode; /* own for opens, the open's for locks; NULL for NLM locks */
	pthread_mutex_t lock;	   /* guards lock_fd's opening */
	int lock_fd;		   /* OFD locks of a lock state, else -1 */
};

/** What is known of a directory entry before an object is made of it. */
struct db_child {
	struct statx stx;
	struct fsal_filesystem *fs;
	fsal_fsid_t fsid;
	bool dummy;
	struct kernel_handle kernel;
};

static inline struct db_object *db_object_of(const struct fsal_obj_handle *obj)
{
	return container_of(obj, struct db_object, handle);
}

static inline struct db_export *db_export_of(const struct fsal_export *export)
{
	return container_of(export, struct db_export, export);
}

static inline struct db_state *db_state_of(struct state_t *state)
{
	return container_of(state, struct db_state, state);
}

static inline struct db_inode *db_inode_of(const struct db_object *object)
{
	return file_extra(object->file);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define _cleanup_close_ __attribute__((cleanup(close_fd)))

/* convert.c */
fsal_status_t status_of(int error); /* 0 or -errno */

/* credentials of the request in op_ctx; nest nothing in between */
void as_caller(void);
void as_root(void);

/* abi.c */
int abi_check(void);

/* config.c */
int config_load_module(config_file_t file, struct config_error_type *errors,
		       struct option_values *ret_values);
/* @update: an error keeps what is in force, and says so */
int config_load_export(void *node, struct config_error_type *errors, bool update,
		       struct export_config *ret_config);

/* export.c */
fsal_status_t db_create_export(struct fsal_module *module, void *node,
			       struct config_error_type *errors, const struct fsal_up_vector *up);
fsal_status_t db_update_export(struct fsal_module *module, void *node,
			       struct config_error_type *errors, struct fsal_export *original,
			       struct fsal_module *super);

/* filesystem.c */
int filesystem_claim(struct fsal_filesystem *fs, struct fsal_export *export, void **private_data);
void filesystem_unclaim(struct fsal_filesystem *fs);
struct volume *filesystem_volume(const struct fsal_filesystem *fs); /* NULL if not ours */

/**
 * filesystem_locate - which filesystem the object described by @child->stx is on, given its parent.
 * Sets fs, fsid and dummy of @child. @fd: the object, or the directory it is in with @name.
 */
int filesystem_locate(const struct db_object *parent, int fd, const char *name,
		      struct db_child *child);

/* object.c */
int object_stat(int fd, const char *name, struct statx *ret);
int object_new(struct fsal_export *export, const struct db_child *child,
	       struct db_object **ret_object);
int object_open(const struct db_object *object, int flags); /* by handle, as root */
int object_volume(const struct db_object *object, struct volume **ret_volume);
void object_ops_init(struct fsal_obj_ops *ops);
fsal_status_t db_lookup_path(struct fsal_export *export, const char *path,
			     struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs);
fsal_status_t db_create_handle(struct fsal_export *export, struct gsh_buffdesc *desc,
			       struct fsal_obj_handle **ret_obj, struct fsal_attrlist *attrs);
fsal_status_t db_wire_to_host(struct fsal_export *export, fsal_digesttype_t type,
			      struct gsh_buffdesc *desc, int flags);

/* directory.c */
int child_find(const struct db_object *dir, int dir_fd, const char *name, struct db_child *child);
int child_lookup(struct db_object *dir, const char *name, struct db_object **ret_object,
		 struct fsal_attrlist *attrs);
void directory_ops_init(struct fsal_obj_ops *ops);

/* create.c */
struct create_spec {
	object_file_type_t type;
	struct fsal_attrlist *attrs; /* to set; the mode is taken out when it has been applied */
	const char *link_target;     /* symbolic links */
	bool verifier;		     /* attrs carry an exclusive create's verifier in the times */
};

/**
 * create_object - make @name in @dir; -EEXIST if it is there. Whatever fails after the entry was
 * made removes it again.
 */
int create_object(struct db_object *dir, const char *name, struct create_spec *spec,
		  struct db_object **ret_object, struct fsal_attrlist *attrs_out);
void create_ops_init(struct fsal_obj_ops *ops);

/* namespace.c */
void namespace_ops_init(struct fsal_obj_ops *ops);

/* attributes.c */
void attributes_fill(const struct statx *stx, fsal_fsid_t fsid, struct fsal_attrlist *attrs);
int attributes_get(const struct db_object *object, struct fsal_attrlist *attrs);
int attributes_set(struct db_object *object, bool bypass, struct state_t *state,
		   struct fsal_attrlist *attrs);
int file_set_size(struct db_object *object, uint64_t size);
void attributes_ops_init(struct fsal_obj_ops *ops);

/* open.c */
struct state_t *db_alloc_state(struct fsal_export *export, enum state_type type,
			       struct state_t *related);
void db_free_state(struct fsal_export *export, struct state_t *state);
void db_inode_init(void *inode);
void db_inode_fini(void *inode);

/**
 * share_check - may an operation that needs @access (FSAL_O_READ or FSAL_O_WRITE) on @object go
 * on under @state (may be NULL) beside the share reservations of others?
 */
int share_check(const struct db_object *object, struct state_t *state, fsal_openflags_t access,
		bool bypass);
void open_ops_init(struct fsal_obj_ops *ops);

/* io.c */
void db_get_write_verifier(struct fsal_export *export, struct gsh_buffdesc *verifier);
void io_ops_init(struct fsal_obj_ops *ops);

/* dbus.c */
void dbus_object_register(void);

/* lock.c */
void lock_ops_init(struct fsal_obj_ops *ops);

#endif
