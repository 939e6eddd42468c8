/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of the I/O modes, and transfers that go on until everything is done: see strategy.h.
 *
 * The caller's vectors are passed to the kernel as they are. Only where a transfer has to go on, or
 * to end, inside a vector, that vector goes alone through a local copy.
 */
#include "strategy.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <strings.h>

static const char *const mode_name[IO_MODE_COUNT] = {
	[IO_MODE_AUTO] = "Auto",
	[IO_MODE_DONTCACHE] = "Dontcache",
	[IO_MODE_RANGE] = "Range",
	[IO_MODE_BUFFERED] = "Buffered",
	[IO_MODE_PASSTHROUGH] = "Passthrough",
};

const char *io_mode_name(enum io_mode mode)
{
	if ((unsigned int)mode >= IO_MODE_COUNT)
		return "invalid";
	return mode_name[mode];
}

int io_mode_parse(const char *name, enum io_mode *ret_mode)
{
	for (unsigned int i = 0; i < IO_MODE_COUNT; i++) {
		if (strcasecmp(name, mode_name[i]) == 0) {
			*ret_mode = (enum io_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

typedef ssize_t transfer_fn(int fd, const struct iovec *iov, int count, off_t offset, int flags);

/* Where a transfer stands */
struct cursor {
	const struct iovec *iov; /* current vector */
	int count;		 /* vectors left, the current one included */
	size_t inside;		 /* bytes of the current vector that are done */
	uint64_t offset;	 /* in the file */
	uint64_t left;		 /* bytes to do */
};

static struct cursor cursor_of(const struct io_request *req)
{
	struct cursor c = { .iov = req->iov, .count = req->iov_count, .offset = req->offset };

	for (int i = 0; i < req->iov_count; i++)
		c.left += req->iov[i].iov_len;
	return c;
}

static void advance(struct cursor *c, uint64_t bytes)
{
	c->offset += bytes;
	c->left -= bytes;
	c->inside += bytes;
	while (c->count > 0 && c->inside >= c->iov->iov_len) {
		c->inside -= c->iov->iov_len;
		c->iov++;
		c->count--;
	}
}

/*
 * Vectors for the next call: at least one byte, whole vectors of the caller where possible, else
 * one in @part. Returns their number.
 */
static int next_vectors(const struct cursor *c, struct iovec *part, const struct iovec **ret_iov)
{
	uint64_t bytes = 0;
	int n = 0;

	if (c->inside == 0) {
		while (n < c->count && n < IOV_MAX && c->iov[n].iov_len <= c->left - bytes)
			bytes += c->iov[n++].iov_len;
	}
	*ret_iov = c->iov;
	if (n > 0)
		return n;
	part->iov_base = (char *)c->iov->iov_base + c->inside;
	part->iov_len = c->iov->iov_len - c->inside;
	if (part->iov_len > c->left)
		part->iov_len = c->left;
	*ret_iov = part;
	return 1;
}

static ssize_t transfer(transfer_fn *call, int fd, struct cursor *c, int flags)
{
	const struct iovec *iov;
	struct iovec part;
	ssize_t done = 0;
	ssize_t n;
	int count;

	/* Past empty vectors: a call that has a byte to transfer can't rightly return 0 */
	advance(c, 0);
	while (c->left > 0) {
		count = next_vectors(c, &part, &iov);
		n = call(fd, iov, count, (off_t)c->offset, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done > 0 ? done : -errno;
		if (n == 0)
			break;
		advance(c, (uint64_t)n);
		done += n;
	}
	return done;
}

/* Offsets above OFF_MAX would turn negative, and -1 means the file position: pwritev2(2) */
#define OFF_MAX ((uint64_t)INT64_MAX)

ssize_t io_transfer_write(int fd, const struct io_request *req, int flags)
{
	struct cursor c = cursor_of(req);
	bool empty = c.left == 0;
	ssize_t done;

	if (c.offset > OFF_MAX || c.left > OFF_MAX - c.offset)
		return -EFBIG;
	done = transfer(pwritev2, fd, &c, flags);
	return done == 0 && !empty ? -EIO : done;
}

ssize_t io_transfer_read(int fd, const struct io_request *req, int flags)
{
	struct cursor c = cursor_of(req);

	if (c.offset > OFF_MAX)
		return 0;
	if (c.left > OFF_MAX - c.offset)
		c.left = OFF_MAX - c.offset;
	return transfer(preadv2, fd, &c, flags);
}
