/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Byte-range locks, as OFD locks (fcntl(2)) on a descriptor that each lock owner's state has for
 * itself: local programs and other owners then conflict as they should, and closing the
 * descriptor drops all of that owner's locks.
 */
#include "internal.h"

/* A writable descriptor serves both kinds of lock; read locks must work where none can be had */
static int lock_open(const struct db_object *object, bool write)
{
	int fd = object_open(object, O_RDWR | O_NONBLOCK);

	if (fd >= 0 || write)
		return fd;
	return object_open(object, O_RDONLY | O_NONBLOCK);
}

/*
 * NFS ranges reach 2^64 - 1, the kernel's 2^63 - 1: what begins beyond can't be locked, what ends
 * beyond is locked to the end.
 */
static int range_convert(const fsal_lock_param_t *lock, struct flock *ret)
{
	if (lock->lock_start > INT64_MAX)
		return -ERANGE;
	ret->l_whence = SEEK_SET;
	ret->l_start = (off_t)lock->lock_start;
	ret->l_len = lock->lock_length > INT64_MAX - lock->lock_start ? 0
								      : (off_t)lock->lock_length;
	return 0;
}

static void conflict_report(const struct flock *found, fsal_lock_param_t *ret)
{
	if (ret == NULL)
		return;
	if (found->l_type == F_UNLCK) {
		ret->lock_type = FSAL_NO_LOCK;
		ret->lock_start = 0;
		ret->lock_length = 0;
		return;
	}
	ret->lock_type = found->l_type == F_RDLCK ? FSAL_LOCK_R : FSAL_LOCK_W;
	ret->lock_start = (uint64_t)found->l_start;
	ret->lock_length = (uint64_t)found->l_len;
}

static int ofd_lock(int fd, int command, struct flock *lock)
{
	int rc;

	lock->l_pid = 0; /* OFD commands demand it */
	do {
		rc = fcntl(fd, command, lock);
	} while (rc != 0 && errno == EINTR);
	return rc != 0 ? -errno : 0;
}

static int lock_test(const struct db_object *object, struct flock *lock,
		     fsal_lock_param_t *conflict)
{
	_cleanup_close_ int fd = lock_open(object, false);
	int rc;

	if (fd < 0)
		return fd;
	rc = ofd_lock(fd, F_OFD_GETLK, lock);
	if (rc == 0)
		conflict_report(lock, conflict);
	return rc;
}

static int lock_set(const struct db_object *object, struct db_state *state, struct flock *lock,
		    fsal_lock_param_t *conflict)
{
	struct flock wanted = *lock;
	int rc;

	if (state->lock_fd < 0)
		state->lock_fd = lock_open(object, lock->l_type == F_WRLCK);
	if (state->lock_fd < 0)
		return state->lock_fd;
	rc = ofd_lock(state->lock_fd, F_OFD_SETLK, lock);
	if (rc != -EAGAIN && rc != -EACCES)
		return rc;
	if (ofd_lock(state->lock_fd, F_OFD_GETLK, &wanted) == 0)
		conflict_report(&wanted, conflict);
	return -EAGAIN;
}

static int lock_clear(struct db_state *state, struct flock *lock)
{
	if (state->lock_fd < 0)
		return 0; /* never locked anything */
	lock->l_type = F_UNLCK;
	return ofd_lock(state->lock_fd, F_OFD_SETLK, lock);
}

static int lock_change(const struct db_object *object, struct db_state *state, bool unlock,
		       struct flock *lock, fsal_lock_param_t *conflict)
{
	int rc;

	pthread_mutex_lock(&state->lock);
	rc = unlock ? lock_clear(state, lock) : lock_set(object, state, lock, conflict);
	pthread_mutex_unlock(&state->lock);
	return rc;
}

static int lock_dispatch(const struct db_object *object, struct state_t *state, fsal_lock_op_t op,
			 const fsal_lock_param_t *request, fsal_lock_param_t *conflict)
{
	struct flock lock = { .l_type = request->lock_type == FSAL_LOCK_R ? F_RDLCK : F_WRLCK };
	int rc = object->file != NULL ? range_convert(request, &lock) : -EINVAL;

	if (rc != 0)
		return rc;
	if (op == FSAL_OP_LOCKT)
		return lock_test(object, &lock, conflict);
	if (op != FSAL_OP_LOCK && op != FSAL_OP_UNLOCK)
		return -EOPNOTSUPP;
	if (state == NULL)
		return -EINVAL;
	return lock_change(object, db_state_of(state), op == FSAL_OP_UNLOCK, &lock, conflict);
}

static fsal_status_t lock_op2(struct fsal_obj_handle *obj, struct state_t *state, void *owner,
			      fsal_lock_op_t op, fsal_lock_param_t *request,
			      fsal_lock_param_t *conflict)
{
	(void)owner;
	return status_of(lock_dispatch(db_object_of(obj), state, op, request, conflict));
}

void lock_ops_init(struct fsal_obj_ops *ops)
{
	ops->lock_op2 = lock_op2;
}
