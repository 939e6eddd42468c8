/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Write and read strategies: how bytes go to the kernel. Chosen per call from the policy of the
 * export and from what the filesystem can do, as a `const struct strategy *`.
 *
 *   dontcache    RWF_DONTCACHE where the request is worth it; windows dropped behind all the same
 *                (the flag alone leaves overwritten ext4 blocks and misaligned tails cached)
 *   range        plain pwritev2/preadv2; windows dropped behind
 *   buffered     plain; nothing is dropped (filesystems without a backing store, or by choice)
 *   passthrough  as buffered, and nothing of the engine runs at all
 *
 * A capability found missing at run time (EOPNOTSUPP, EPERM or ENOSYS for a flag) clears a sticky
 * bit of the volume and the next strategy takes over within the same call.
 */
#ifndef DROPBEHIND_STRATEGY_H
#define DROPBEHIND_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum io_mode {
	IO_MODE_AUTO,
	IO_MODE_DONTCACHE,
	IO_MODE_RANGE,
	IO_MODE_BUFFERED,
	IO_MODE_PASSTHROUGH,
	IO_MODE_COUNT
};

/** One READ or WRITE. The vectors are not modified. */
struct io_request {
	const struct iovec *iov;
	int iov_count;
	uint64_t offset; /* bytes */
	bool stable;	 /* WRITE only: FILE_SYNC4 before returning */
};

/**
 * io_mode_name - "Auto", "Dontcache", … as in the configuration.
 */
const char *io_mode_name(enum io_mode mode);

/**
 * io_mode_parse - reverse of io_mode_name(), case-insensitive. Returns 0 or -EINVAL.
 */
int io_mode_parse(const char *name, enum io_mode *ret_mode);

/**
 * io_transfer_write, io_transfer_read - pwritev2/preadv2 until everything is done, going on after
 * short transfers and EINTR and splitting at IOV_MAX. @flags are RWF_* bits.
 *
 * Returns the number of bytes done, which is less than asked only at end of file (read) or when an
 * error came after part was done (the error then shows at the next call), else -errno. Other errors
 * than EINTR are never retried here: EOPNOTSUPP for a flag comes up at once, with nothing done, and
 * so does EAGAIN, which regular files give only for RWF_NOWAIT or a lease.
 *
 * Nothing asked returns 0 without a call. An offset that off_t can't hold is -EFBIG for a WRITE
 * (RFC 1813 3.3.7) and end of file for a READ. A pwritev2 that makes no progress is -EIO.
 */
ssize_t io_transfer_write(int fd, const struct io_request *req, int flags);
ssize_t io_transfer_read(int fd, const struct io_request *req, int flags);

#endif
