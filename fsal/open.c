/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Opens, share reservations and their state.
 *
 * An NFS open here is a share reservation on the inode and nothing else: descriptors belong to the
 * core file, whoever opened it. The reservation is taken under the inode's lock together with the
 * check for conflicts, before anything is done to the file, so two opens can't both win.
 *
 * Opens without state (every NFSv3 CREATE) are counted by the core as one open descriptor each,
 * which it takes back only when close() says that it closed one: `stateless` remembers that.
 */
#include "internal.h"

void db_inode_init(void *inode)
{
	pthread_mutex_init(&((struct db_inode *)inode)->lock, NULL);
}

void db_inode_fini(void *inode)
{
	pthread_mutex_destroy(&((struct db_inode *)inode)->lock);
}

static struct db_open_mode *mode_new(void)
{
	struct db_open_mode *mode = gsh_calloc(1, sizeof(*mode));

	atomic_init(&mode->refs, 1);
	atomic_init(&mode->flags, FSAL_O_CLOSED);
	return mode;
}

static void mode_put(struct db_open_mode *mode)
{
	if (mode != NULL && atomic_fetch_sub(&mode->refs, 1) == 1)
		gsh_free(mode);
}

struct state_t *db_alloc_state(struct fsal_export *export, enum state_type type,
			       struct state_t *related)
{
	struct db_state *state = gsh_calloc(1, sizeof(*state));

	init_state(&state->state, export, type, related);
	pthread_mutex_init(&state->lock, NULL);
	state->lock_fd = -1;
	if (related != NULL && db_state_of(related)->mode != NULL) {
		state->mode = db_state_of(related)->mode;
		atomic_fetch_add(&state->mode->refs, 1);
	} else {
		state->mode = mode_new();
	}
	return &state->state;
}

void db_free_state(struct fsal_export *export, struct state_t *state)
{
	struct db_state *mine = db_state_of(state);

	(void)export;
	close_fd(&mine->lock_fd);
	pthread_mutex_destroy(&mine->lock);
	mode_put(mine->mode);
	gsh_free(mine);
}

static fsal_openflags_t state_flags(struct state_t *state)
{
	return state != NULL ? atomic_load(&db_state_of(state)->mode->flags) : FSAL_O_CLOSED;
}

static bool is_share(const struct state_t *state)
{
	return state->state_type == STATE_TYPE_SHARE || state->state_type == STATE_TYPE_NLM_SHARE ||
	       state->state_type == STATE_TYPE_9P_FID;
}

static int conflict_error(fsal_status_t status)
{
	return FSAL_IS_ERROR(status) ? -ETXTBSY : 0;
}

int share_check(const struct db_object *object, struct state_t *state, fsal_openflags_t access,
		bool bypass)
{
	struct db_inode *inode;
	fsal_status_t status;

	if (object->file == NULL)
		return 0;
	if ((state_flags(state) & access) == access)
		return 0; /* its own reservation covers it */
	inode = db_inode_of(object);
	pthread_mutex_lock(&inode->lock);
	status = check_share_conflict(&inode->share, access, bypass);
	pthread_mutex_unlock(&inode->lock);
	return conflict_error(status);
}

/* Moves @state's reservation from what it is to @flags, or leaves all as it was */
static int share_change(struct db_object *object, struct state_t *state, fsal_openflags_t flags)
{
	struct db_inode *inode = db_inode_of(object);
	struct db_open_mode *mode = db_state_of(state)->mode;
	fsal_openflags_t old;
	fsal_status_t status;

	pthread_mutex_lock(&inode->lock);
	old = atomic_load(&mode->flags);
	update_share_counters(&inode->share, old, FSAL_O_CLOSED);
	status = check_share_conflict(&inode->share, flags, false);
	if (FSAL_IS_ERROR(status)) {
		update_share_counters(&inode->share, FSAL_O_CLOSED, old);
	} else {
		update_share_counters(&inode->share, FSAL_O_CLOSED, flags);
		atomic_store(&mode->flags, FSAL_O_NFS_FLAGS(flags));
		inode->opens += old == FSAL_O_CLOSED ? 1 : 0;
	}
	pthread_mutex_unlock(&inode->lock);
	return conflict_error(status);
}

static void share_drop(struct db_object *object, struct state_t *state)
{
	struct db_inode *inode = db_inode_of(object);
	struct db_open_mode *mode = db_state_of(state)->mode;
	fsal_openflags_t old;
	bool last;

	pthread_mutex_lock(&inode->lock);
	old = atomic_exchange(&mode->flags, FSAL_O_CLOSED);
	update_share_counters(&inode->share, old, FSAL_O_CLOSED);
	if (old != FSAL_O_CLOSED && inode->opens > 0)
		inode->opens--;
	last = inode->opens == 0;
	pthread_mutex_unlock(&inode->lock);
	if (last)
		file_closed(object->file);
}

/* What an open meets at once and not at the first I/O: a read-only filesystem, a busy text */
static int access_probe(struct db_object *object, fsal_openflags_t flags)
{
	bool write = (flags & FSAL_O_WRITE) != 0;
	int fd = file_acquire(object->file, write);

	if (fd < 0)
		return fd;
	file_release(object->file, write);
	return 0;
}

static int verifier_check(const struct db_object *object, fsal_verifier_t verifier)
{
	struct fsal_attrlist attrs;
	struct stat st = { 0 };
	int rc;

	fsal_prepare_attrs(&attrs, ATTR_ATIME | ATTR_MTIME);
	rc = attributes_get(object, &attrs);
	st.st_atim = attrs.atime;
	st.st_mtim = attrs.mtime;
	fsal_release_attrs(&attrs);
	if (rc != 0)
		return rc;
	return check_verifier_stat(&st, verifier, object->handle.fs->trunc_verif) ? 0 : -EEXIST;
}

/* An existing file found by name: the core's own check comes after us, too late for a truncation */
static int truncate_allowed(struct db_object *object)
{
	fsal_status_t status =
		fsal_test_access(&object->handle, FSAL_WRITE_ACCESS, NULL, NULL, true);

	return FSAL_IS_ERROR(status) ? -EACCES : 0;
}

struct open_request {
	struct state_t *state;
	fsal_openflags_t flags;
	enum fsal_create_mode mode;
	const char *name;
	struct fsal_attrlist *attrs;
	char *verifier;
};

static int reserve(struct db_object *object, const struct open_request *req)
{
	if (req->state != NULL)
		return share_change(object, req->state, req->flags);
	atomic_store(&db_inode_of(object)->stateless, true);
	return 0;
}

static void unreserve(struct db_object *object, const struct open_request *req)
{
	if (req->state != NULL)
		share_drop(object, req->state);
}

static int open_steps(struct db_object *object, const struct open_request *req)
{
	int rc = access_probe(object, req->flags);

	if (rc == 0 && req->mode >= FSAL_EXCLUSIVE && req->mode != FSAL_EXCLUSIVE_9P)
		rc = verifier_check(object, req->verifier);
	if (rc == 0 && (req->flags & FSAL_O_TRUNC) != 0) {
		rc = truncate_allowed(object);
		if (rc == 0)
			rc = file_set_size(object, 0);
	}
	return rc;
}

/* Opens a file that exists */
static int open_existing(struct db_object *object, const struct open_request *req)
{
	int rc;

	if (object->handle.type == DIRECTORY)
		return -EISDIR;
	if (object->handle.type != REGULAR_FILE || object->file == NULL)
		return object->seen != NULL ? -EXDEV : -ELOOP;
	rc = reserve(object, req);
	if (rc != 0)
		return rc;
	rc = open_steps(object, req);
	if (rc != 0)
		unreserve(object, req);
	return rc;
}

static int open_found(struct db_object *dir, const struct open_request *req,
		      struct db_object **ret_object, struct fsal_attrlist *attrs_out)
{
	struct db_object *object;
	int rc;

	if (req->mode == FSAL_GUARDED)
		return -EEXIST;
	rc = child_lookup(dir, req->name, &object, NULL);
	if (rc != 0)
		return rc;
	rc = open_existing(object, req);
	if (rc == 0) {
		rc = attributes_get(object, attrs_out);
		if (rc != 0)
			unreserve(object, req);
	}
	if (rc != 0) {
		object->handle.obj_ops->release(&object->handle);
		return rc;
	}
	*ret_object = object;
	return 0;
}

static int open_new(struct db_object *dir, const struct open_request *req,
		    struct db_object **ret_object, struct fsal_attrlist *attrs_out)
{
	struct create_spec spec = {
		.type = REGULAR_FILE,
		.attrs = req->attrs,
		.verifier = req->mode >= FSAL_EXCLUSIVE,
	};
	int rc;

	if (spec.verifier)
		set_common_verifier(req->attrs, req->verifier, dir->handle.fs->trunc_verif);
	rc = create_object(dir, req->name, &spec, ret_object, attrs_out);
	if (rc == 0)
		(void)reserve(*ret_object, req); /* nobody else can have one on a new inode */
	return rc;
}

/* Tries to create first, as O_CREAT does: an entry found there is opened unless the mode forbids */
static int open_by_name(struct db_object *dir, const struct open_request *req,
			struct db_object **ret_object, struct fsal_attrlist *attrs_out,
			bool *ret_created)
{
	int rc = -EEXIST;

	*ret_created = false;
	if (req->mode != FSAL_NO_CREATE)
		rc = open_new(dir, req, ret_object, attrs_out);
	if (rc == 0)
		*ret_created = true;
	if (rc != -EEXIST)
		return rc;
	return open_found(dir, req, ret_object, attrs_out);
}

static fsal_status_t open2(struct fsal_obj_handle *obj, struct state_t *state,
			   fsal_openflags_t openflags, enum fsal_create_mode mode, const char *name,
			   struct fsal_attrlist *attrs, fsal_verifier_t verifier,
			   struct fsal_obj_handle **new_obj, struct fsal_attrlist *attrs_out,
			   bool *caller_perm_check)
{
	const struct open_request req = {
		.state = state,
		.flags = openflags,
		.mode = mode,
		.name = name,
		.attrs = attrs,
		.verifier = verifier,
	};
	struct db_object *object = NULL;
	bool created = false;
	int rc;

	if (name == NULL) {
		rc = open_existing(db_object_of(obj), &req);
		if (rc == 0)
			rc = attributes_get(db_object_of(obj), attrs_out);
	} else {
		rc = open_by_name(db_object_of(obj), &req, &object, attrs_out, &created);
		*new_obj = rc == 0 ? &object->handle : NULL;
	}
	*caller_perm_check = rc == 0 && !created;
	return status_of(rc);
}

static bool check_verifier(struct fsal_obj_handle *obj, fsal_verifier_t verifier)
{
	return verifier_check(db_object_of(obj), verifier) == 0;
}

static fsal_openflags_t status2(struct fsal_obj_handle *obj, struct state_t *state)
{
	(void)obj;
	return state_flags(state);
}

static fsal_status_t reopen2(struct fsal_obj_handle *obj, struct state_t *state,
			     fsal_openflags_t openflags)
{
	struct db_object *object = db_object_of(obj);
	fsal_openflags_t old = state_flags(state);
	int rc;

	if (object->file == NULL)
		return status_of(-EXDEV);
	rc = share_change(object, state, openflags);
	if (rc != 0)
		return status_of(rc);
	rc = access_probe(object, openflags);
	if (rc == 0 && (openflags & FSAL_O_TRUNC) != 0)
		rc = file_set_size(object, 0);
	if (rc != 0)
		(void)share_change(object, state, old);
	return status_of(rc);
}

static fsal_status_t close2(struct fsal_obj_handle *obj, struct state_t *state)
{
	struct db_object *object = db_object_of(obj);
	struct db_state *mine = db_state_of(state);

	pthread_mutex_lock(&mine->lock);
	close_fd(&mine->lock_fd);
	mine->lock_fd = -1;
	pthread_mutex_unlock(&mine->lock);
	if (is_share(state) && object->file != NULL)
		share_drop(object, state);
	return status_of(0);
}

/*
 * The core asks to close the descriptor of stateless opens. Its count of open descriptors goes down
 * for every answer but NOT_OPENED (include/fsal.h, fsal_close), so NO_ERROR is given once for
 * each time that it counted one. The descriptor itself stays in the core library's cache.
 */
static fsal_status_t close_object(struct fsal_obj_handle *obj)
{
	struct db_object *object = db_object_of(obj);

	if (object->file == NULL || !atomic_exchange(&db_inode_of(object)->stateless, false))
		return fsalstat(ERR_FSAL_NOT_OPENED, 0);
	return status_of(0);
}

void open_ops_init(struct fsal_obj_ops *ops)
{
	ops->open2 = open2;
	ops->check_verifier = check_verifier;
	ops->status2 = status2;
	ops->reopen2 = reopen2;
	ops->close2 = close2;
	ops->close = close_object;
}
