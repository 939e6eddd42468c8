/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Record marking (RFC 5531, section 11) and reply headers. See rpc_record.h. */
#include "rpc_record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { MSG_REPLY = 1, REPLY_ACCEPTED = 0, ACCEPT_SUCCESS = 0 };

#define LAST_FRAGMENT 0x80000000u
#define REST_MAX (80u << 20)

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int stream_error(ssize_t n)
{
	if (n == 0)
		return -ECONNRESET;
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int refill(struct rpc_conn *conn)
{
	ssize_t n;

	do
		n = recv(conn->fd, conn->rx, sizeof(conn->rx), 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return stream_error(n);
	conn->rx_begin = 0;
	conn->rx_end = n;
	return 0;
}

/*
 * Large pieces bypass the buffer. MSG_TRUNC makes TCP discard without copying
 * (tcp(7)), which keeps an unverified READ cheap for the client.
 */
static int stream_direct(struct rpc_conn *conn, uint8_t *dst, size_t len)
{
	int flags = MSG_WAITALL | (dst ? 0 : MSG_TRUNC);
	ssize_t n;

	while (len > 0) {
		n = recv(conn->fd, dst, len, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return stream_error(n);
		if (dst)
			dst += n;
		len -= n;
	}
	return 0;
}

static int stream_read(struct rpc_conn *conn, uint8_t *dst, size_t len)
{
	size_t n;
	int err;

	while (len > 0) {
		n = smaller(conn->rx_end - conn->rx_begin, len);
		if (n == 0 && len >= sizeof(conn->rx))
			return stream_direct(conn, dst, len);
		if (n == 0) {
			err = refill(conn);
			if (err)
				return err;
			continue;
		}
		if (dst) {
			memcpy(dst, conn->rx + conn->rx_begin, n);
			dst += n;
		}
		conn->rx_begin += n;
		len -= n;
	}
	return 0;
}

static int next_fragment(struct rpc_conn *conn)
{
	uint32_t mark;
	int err;

	err = stream_read(conn, (uint8_t *)&mark, sizeof(mark));
	if (err)
		return err;
	mark = ntohl(mark);
	conn->last_fragment = mark & LAST_FRAGMENT;
	conn->fragment_left = mark & ~LAST_FRAGMENT;
	return 0;
}

int rpc_pull(struct rpc_conn *conn, void *dst, size_t len)
{
	uint8_t *to = dst;
	size_t n;
	int err;

	while (len > 0) {
		if (conn->fragment_left == 0) {
			err = conn->last_fragment ? -EPROTO : next_fragment(conn);
			if (err)
				return err;
			continue;
		}
		n = smaller(conn->fragment_left, len);
		err = stream_read(conn, to, n);
		if (err)
			return err;
		conn->fragment_left -= n;
		if (to)
			to += n;
		len -= n;
	}
	return 0;
}

int rpc_pull_u32(struct rpc_conn *conn, uint32_t *ret)
{
	uint32_t word;
	int err = rpc_pull(conn, &word, sizeof(word));

	if (err == 0)
		*ret = ntohl(word);
	return err;
}

static int reserve(uint8_t **buf, size_t *cap, size_t need)
{
	uint8_t *grown;

	if (need > REST_MAX)
		return -EMSGSIZE;
	if (need <= *cap)
		return 0;
	grown = realloc(*buf, need);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	*cap = need;
	return 0;
}

int rpc_pull_rest(struct rpc_conn *conn, uint8_t **buf, size_t *cap, size_t *ret_len)
{
	size_t len = 0, n;
	int err = 0;

	while (err == 0 && (conn->fragment_left || !conn->last_fragment)) {
		n = conn->fragment_left;
		if (n == 0) {
			err = next_fragment(conn);
			continue;
		}
		err = reserve(buf, cap, len + n);
		if (err == 0)
			err = rpc_pull(conn, *buf + len, n);
		len += n;
	}
	if (err == 0)
		*ret_len = len;
	return err;
}

int rpc_skip_rest(struct rpc_conn *conn)
{
	int err = 0;

	while (err == 0 && (conn->fragment_left || !conn->last_fragment))
		err = conn->fragment_left ? rpc_pull(conn, NULL, conn->fragment_left)
					  : next_fragment(conn);
	return err;
}

int record_begin(struct rpc_conn *conn, uint32_t *ret_xid)
{
	int err = next_fragment(conn);

	return err ? err : rpc_pull_u32(conn, ret_xid);
}

static int refused(struct rpc_conn *conn, const char *what, uint32_t code)
{
	snprintf(conn->error, sizeof(conn->error), "%s %u", what, code);
	return -EPROTO;
}

static int skip_verifier(struct rpc_conn *conn)
{
	uint32_t flavor, len;
	int err = rpc_pull_u32(conn, &flavor);

	if (err == 0)
		err = rpc_pull_u32(conn, &len);
	if (err == 0)
		err = rpc_pull(conn, NULL, (len + 3) & ~3u);
	return err;
}

int record_accepted(struct rpc_conn *conn)
{
	uint32_t type, reply, stat = 0, auth = 0;
	int err;

	err = rpc_pull_u32(conn, &type);
	if (err == 0)
		err = rpc_pull_u32(conn, &reply);
	if (err)
		return err;
	if (type != MSG_REPLY)
		return refused(conn, "RPC message type", type);
	if (reply != REPLY_ACCEPTED) {
		err = rpc_pull_u32(conn, &stat);
		if (err == 0 && stat == 1)
			err = rpc_pull_u32(conn, &auth);
		return err ? err : refused(conn, "RPC denied, auth_stat", auth);
	}
	err = skip_verifier(conn);
	if (err == 0)
		err = rpc_pull_u32(conn, &stat);
	if (err)
		return err;
	return stat == ACCEPT_SUCCESS ? 0 : refused(conn, "RPC accept_stat", stat);
}
