/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The one place where an errno becomes a status of the FSAL interface, and where a thread takes on
 * the caller's credentials.
 *
 * Ganesha's own conversion is not used: it logs, at CRIT for what it does not know, and a client
 * can make it. Where ours says something else, that is why:
 *   EMFILE ENFILE ENOMEM ENOBUFS EINTR   DELAY: passing shortages. IO is reported to applications,
 *   and
 *                                        NOMEM makes NFSv3 drop the request unanswered
 *   EBADF EOVERFLOW                      SERVERFAULT: our mistake, or a handle too long for the
 *   wire.
 *                                        NOT_OPENED ends as a dropped request or a stale handle
 *   ENODATA                              NOXATTR (RFC 8276 4.2): Ganesha makes NO_DATA a
 *   SERVERFAULT ETXTBSY                              SHARE_DENIED, as FSAL_VFS
 */
#include "internal.h"

static const struct {
	int error;
	fsal_errors_t status;
} errors[] = {
	{ EPERM, ERR_FSAL_PERM },
	{ ENOENT, ERR_FSAL_NOENT },
	{ EIO, ERR_FSAL_IO },
	{ ENXIO, ERR_FSAL_NXIO },
	{ ENODEV, ERR_FSAL_NXIO },
	{ EACCES, ERR_FSAL_ACCESS },
	{ EEXIST, ERR_FSAL_EXIST },
	{ EXDEV, ERR_FSAL_XDEV },
	{ ENOTDIR, ERR_FSAL_NOTDIR },
	{ EISDIR, ERR_FSAL_ISDIR },
	{ EINVAL, ERR_FSAL_INVAL },
	{ EFBIG, ERR_FSAL_FBIG },
	{ ENOSPC, ERR_FSAL_NOSPC },
	{ EDQUOT, ERR_FSAL_DQUOT },
	{ EROFS, ERR_FSAL_ROFS },
	{ EMLINK, ERR_FSAL_MLINK },
	{ ENAMETOOLONG, ERR_FSAL_NAMETOOLONG },
	{ ENOTEMPTY, ERR_FSAL_NOTEMPTY },
	{ ELOOP, ERR_FSAL_SYMLINK },
	{ ESTALE, ERR_FSAL_STALE },
	{ ENOTSUP, ERR_FSAL_NOTSUPP },
	{ ENOSYS, ERR_FSAL_NOTSUPP },
	{ ENOTTY, ERR_FSAL_NOTSUPP },
	{ ENODATA, ERR_FSAL_NOXATTR },
	{ ERANGE, ERR_FSAL_BAD_RANGE },
	{ EDEADLK, ERR_FSAL_DEADLOCK },
	{ ETXTBSY, ERR_FSAL_SHARE_DENIED },
	{ EBADMSG, ERR_FSAL_BADHANDLE },
	{ EAGAIN, ERR_FSAL_DELAY },
	{ EBUSY, ERR_FSAL_DELAY },
	{ ETIMEDOUT, ERR_FSAL_DELAY },
	{ EINTR, ERR_FSAL_DELAY },
	{ EMFILE, ERR_FSAL_DELAY },
	{ ENFILE, ERR_FSAL_DELAY },
	{ ENOMEM, ERR_FSAL_DELAY },
	{ ENOBUFS, ERR_FSAL_DELAY },
};

fsal_status_t status_of(int error)
{
	if (error == 0)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].error == -error)
			return fsalstat(errors[i].status, -error);
	}
	return fsalstat(ERR_FSAL_SERVERFAULT, -error);
}

void as_caller(void)
{
	fsal_set_credentials(&op_ctx->creds);
}

void as_root(void)
{
	fsal_restore_ganesha_credentials();
}
