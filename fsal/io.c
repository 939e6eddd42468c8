/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * READ, WRITE, COMMIT, SEEK, ALLOCATE and DEALLOCATE: acquire the file's descriptor, let the core
 * library do the operation, release.
 *
 * The write verifier (RFC 8881 18.32.3) changes when a writeback error may have lost unstable data
 * of the volume. The core asks for it after the operation, so it is sampled before and kept in
 * op_ctx->fsal_private: a WRITE that raced with the failure must not carry the new one.
 */
#include "internal.h"

#include <sys/ioctl.h>

_Static_assert(sizeof(void *) == sizeof(uint64_t), "fsal_private holds the verifier");

static void verifier_sample(const struct volume *volume)
{
	uint64_t verifier = DROPBEHIND.boot_verifier + volume_error_epoch(volume);

	op_ctx->fsal_private = (void *)(uintptr_t)verifier;
}

void db_get_write_verifier(struct fsal_export *export, struct gsh_buffdesc *verifier)
{
	uint64_t value = (uint64_t)(uintptr_t)op_ctx->fsal_private;

	(void)export;
	if (value == 0)
		value = DROPBEHIND.boot_verifier;
	memcpy(verifier->addr, &value, MIN(verifier->len, sizeof(value)));
}

static const struct io_policy *policy_of_request(void)
{
	return &db_export_of(op_ctx->fsal_export)->policy;
}

static int regular_check(const struct db_object *object)
{
	if (object->file != NULL)
		return 0;
	return object->handle.type == DIRECTORY ? -EISDIR : -EINVAL;
}

static size_t bytes_asked(const struct fsal_io_arg *arg)
{
	size_t bytes = 0;

	for (int i = 0; i < arg->iov_count; i++)
		bytes += arg->iov[i].iov_len;
	return bytes;
}

/* RFC 1813 3.3.6: eof is TRUE if the read ended at the end of file, so a full read has to look */
static bool at_end(int fd, const struct fsal_io_arg *arg)
{
	struct stat st;

	if (arg->io_amount < bytes_asked(arg))
		return true;
	return fstat(fd, &st) == 0 && arg->offset + arg->io_amount >= (uint64_t)st.st_size;
}

static int read_acquired(struct db_object *object, int fd, struct fsal_io_arg *arg)
{
	const struct io_request req = {
		.iov = arg->iov,
		.iov_count = arg->iov_count,
		.offset = arg->offset,
	};
	ssize_t done = file_read(object->file, fd, policy_of_request(), &req);

	if (done < 0)
		return (int)done;
	arg->io_amount = (size_t)done;
	arg->end_of_file = at_end(fd, arg);
	return 0;
}

static int read_object(struct db_object *object, bool bypass, struct fsal_io_arg *arg)
{
	int fd, rc;

	if (arg->info != NULL)
		return -EOPNOTSUPP; /* READ_PLUS: the core of 4.3 can't answer it */
	rc = regular_check(object);
	if (rc == 0)
		rc = share_check(object, arg->state, FSAL_O_READ, bypass);
	if (rc != 0)
		return rc;
	if (arg->offset > INT64_MAX) {
		arg->io_amount = 0;
		arg->end_of_file = true;
		return 0;
	}
	fd = file_acquire(object->file, false);
	if (fd < 0)
		return fd;
	rc = read_acquired(object, fd, arg);
	file_release(object->file, false);
	return rc;
}

static void read2(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done_cb,
		  struct fsal_io_arg *arg, void *caller_arg)
{
	int rc = read_object(db_object_of(obj), bypass, arg);

	done_cb(obj, status_of(rc), arg, caller_arg);
}

/* root keeps every privilege: no switch, and no system calls for it */
static ssize_t write_as_caller(struct file *file, int fd, const struct io_request *req)
{
	bool other = op_ctx->creds.caller_uid != 0;
	ssize_t done;

	if (other)
		as_caller();
	done = file_write(file, fd, policy_of_request(), req);
	if (other)
		as_root();
	return done;
}

static int write_object(struct db_object *object, bool bypass, struct fsal_io_arg *arg)
{
	const struct io_request req = {
		.iov = arg->iov,
		.iov_count = arg->iov_count,
		.offset = arg->offset,
		.stable = arg->fsal_stable,
	};
	ssize_t done;
	int fd, rc = regular_check(object);

	if (rc == 0)
		rc = share_check(object, arg->state, FSAL_O_WRITE, bypass);
	if (rc != 0)
		return rc;
	if (arg->offset > INT64_MAX)
		return -EFBIG;
	verifier_sample(file_volume(object->file));
	fd = file_acquire(object->file, true);
	if (fd < 0)
		return fd;
	done = write_as_caller(object->file, fd, &req);
	file_release(object->file, true);
	if (done < 0)
		return (int)done;
	arg->io_amount = (size_t)done;
	return 0;
}

static void write2(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done_cb,
		   struct fsal_io_arg *arg, void *caller_arg)
{
	int rc = write_object(db_object_of(obj), bypass, arg);

	if (rc != 0)
		arg->fsal_stable = false;
	done_cb(obj, status_of(rc), arg, caller_arg);
}

static int commit_object(struct db_object *object)
{
	int fd, rc = regular_check(object);

	if (rc != 0)
		return rc;
	verifier_sample(file_volume(object->file));
	fd = file_acquire(object->file, false);
	if (fd < 0)
		return fd;
	rc = file_commit(object->file, fd);
	file_release(object->file, false);
	return rc;
}

static fsal_status_t commit2(struct fsal_obj_handle *obj, off_t offset, size_t len)
{
	(void)offset;
	(void)len;
	return status_of(commit_object(db_object_of(obj)));
}

static int seek_fd(int fd, struct io_info *info)
{
	bool hole = info->io_content.what == NFS4_CONTENT_HOLE;
	uint64_t offset = info->io_content.hole.di_offset;
	struct stat st;
	off_t found;

	if (offset > INT64_MAX)
		return -ENXIO;
	found = lseek(fd, (off_t)offset, hole ? SEEK_HOLE : SEEK_DATA);
	if (found < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		return -errno;
	info->io_eof = found >= st.st_size;
	info->io_content.hole.di_offset = (uint64_t)found;
	return 0;
}

static fsal_status_t seek2(struct fsal_obj_handle *obj, struct state_t *state, struct io_info *info)
{
	struct db_object *object = db_object_of(obj);
	int fd, rc = regular_check(object);

	if (rc == 0)
		rc = share_check(object, state, FSAL_O_READ, false);
	if (rc != 0)
		return status_of(rc);
	fd = file_acquire(object->file, false);
	if (fd < 0)
		return status_of(fd);
	rc = seek_fd(fd, info);
	file_release(object->file, false);
	return status_of(rc);
}

static fsal_status_t allocate(struct fsal_obj_handle *obj, struct state_t *state, uint64_t offset,
			      uint64_t length, bool fill)
{
	struct db_object *object = db_object_of(obj);
	int fd, rc = regular_check(object);

	if (rc == 0)
		rc = share_check(object, state, FSAL_O_WRITE, false);
	if (rc == 0 && (offset > INT64_MAX || length > INT64_MAX - offset))
		rc = -EFBIG;
	if (rc != 0)
		return status_of(rc);
	fd = file_acquire(object->file, true);
	if (fd < 0)
		return status_of(fd);
	as_caller();
	rc = fallocate(fd, fill ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		       (off_t)length);
	rc = rc != 0 ? -errno : 0;
	as_root();
	file_release(object->file, true);
	return status_of(rc);
}

void io_ops_init(struct fsal_obj_ops *ops)
{
	ops->read2 = read2;
	ops->write2 = write2;
	ops->commit2 = commit2;
	ops->seek2 = seek2;
	ops->fallocate = allocate;
}
