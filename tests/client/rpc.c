/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Calls: connecting, encoding headers, sending, and the poll loop. See rpc.h. */
#include "rpc.h"
#include "rpc_record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MSG_CALL = 0, RPC_VERSION = 2, FLAVOR_NONE = 0, FLAVOR_SYS = 1 };

#define LAST_FRAGMENT 0x80000000u
#define CONNS_MAX 1024

static void put_u32(struct rpc_call *call, uint32_t value)
{
	value = htonl(value);
	memcpy(call->head + call->head_len, &value, sizeof(value));
	call->head_len += sizeof(value);
}

static int set_options(int fd, int timeout_ms)
{
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0)
		return -errno;
	return 0;
}

static int connect_to(const struct addrinfo *ai, int timeout_ms)
{
	int fd, err;

	fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
	if (fd < 0)
		return -errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0)
		err = -errno;
	else
		err = set_options(fd, timeout_ms);
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

int rpc_connect(struct rpc_conn *conn, const char *host, uint16_t port, int timeout_ms)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list, *ai;
	char service[8];
	int fd = -EHOSTUNREACH, err;

	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
	conn->timeout_ms = timeout_ms;
	conn->send_end = &conn->send_first;
	conn->next_xid = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &list);
	if (err) {
		snprintf(conn->error, sizeof(conn->error), "%s: %s", host, gai_strerror(err));
		return -EHOSTUNREACH;
	}
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_to(ai, timeout_ms);
	freeaddrinfo(list);
	if (fd < 0) {
		snprintf(conn->error, sizeof(conn->error), "connect to %s port %u: %s", host, port,
			 strerror(-fd));
		return fd;
	}
	conn->fd = fd;
	return 0;
}

void rpc_close(struct rpc_conn *conn)
{
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
}

static void put_auth_sys(struct rpc_call *call, const struct rpc_cred *cred)
{
	static const char machine[] = "nfsclient\0\0"; /* padded to 12 bytes */
	uint32_t i;

	put_u32(call, FLAVOR_SYS);
	put_u32(call, 4 + 4 + 12 + 4 + 4 + 4 + 4 * cred->ngids);
	put_u32(call, 0);
	put_u32(call, 9);
	memcpy(call->head + call->head_len, machine, 12);
	call->head_len += 12;
	put_u32(call, cred->uid);
	put_u32(call, cred->gid);
	put_u32(call, cred->ngids);
	for (i = 0; i < cred->ngids; i++)
		put_u32(call, cred->gids[i]);
}

void rpc_begin(struct rpc_conn *conn, struct rpc_call *call, uint32_t prog, uint32_t vers,
	       uint32_t proc)
{
	call->head_len = 4; /* record mark, filled in by rpc_submit() */
	call->sent = 0;
	call->payload = NULL;
	call->payload_len = 0;
	put_u32(call, 0); /* xid, likewise */
	put_u32(call, MSG_CALL);
	put_u32(call, RPC_VERSION);
	put_u32(call, prog);
	put_u32(call, vers);
	put_u32(call, proc);
	put_auth_sys(call, conn->cred);
	put_u32(call, FLAVOR_NONE);
	put_u32(call, 0);
}

static size_t padding(size_t len)
{
	return -len & 3;
}

static size_t wire_len(const struct rpc_call *call)
{
	return call->head_len + call->payload_len + padding(call->payload_len);
}

int rpc_submit(struct rpc_conn *conn, struct rpc_call *call)
{
	uint32_t word;

	if (conn->in_flight == RPC_SLOTS)
		return -EAGAIN;
	while (conn->calls[conn->next_xid % RPC_SLOTS])
		conn->next_xid++;
	call->xid = conn->next_xid++;
	conn->calls[call->xid % RPC_SLOTS] = call;
	conn->in_flight++;

	word = htonl(LAST_FRAGMENT | (uint32_t)(wire_len(call) - 4));
	memcpy(call->head, &word, sizeof(word));
	word = htonl(call->xid);
	memcpy(call->head + 4, &word, sizeof(word));
	call->sent = 0;
	call->next = NULL;
	*conn->send_end = call;
	conn->send_end = &call->next;
	return 0;
}

/* Describes what is left of a call; returns the number of vectors. */
static int unsent(const struct rpc_call *call, struct iovec iov[3])
{
	static const char zeros[4];
	const struct iovec parts[3] = {
		{ (void *)call->head, call->head_len },
		{ (void *)call->payload, call->payload_len },
		{ (void *)zeros, padding(call->payload_len) },
	};
	size_t skip = call->sent;
	int i, n = 0;

	for (i = 0; i < 3; i++) {
		if (skip >= parts[i].iov_len) {
			skip -= parts[i].iov_len;
			continue;
		}
		iov[n].iov_base = (uint8_t *)parts[i].iov_base + skip;
		iov[n++].iov_len = parts[i].iov_len - skip;
		skip = 0;
	}
	return n;
}

static int send_queued(struct rpc_conn *conn)
{
	struct rpc_call *call;
	struct iovec iov[3];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	while ((call = conn->send_first) != NULL) {
		msg.msg_iovlen = unsent(call, iov);
		n = sendmsg(conn->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		call->sent += n;
		if (call->sent < wire_len(call))
			continue;
		conn->send_first = call->next;
		if (!conn->send_first)
			conn->send_end = &conn->send_first;
	}
	return 0;
}

static int dispatch(struct rpc_conn *conn)
{
	struct rpc_call *call;
	uint32_t xid;
	int err;

	err = record_begin(conn, &xid);
	if (err)
		return err;
	call = conn->calls[xid % RPC_SLOTS];
	if (!call || call->xid != xid) {
		snprintf(conn->error, sizeof(conn->error), "reply to unknown call %08x", xid);
		return -EPROTO;
	}
	conn->calls[xid % RPC_SLOTS] = NULL;
	conn->in_flight--;
	err = record_accepted(conn);
	if (err == 0)
		err = call->receive(conn, call);
	return err ? err : rpc_skip_rest(conn);
}

static int serve(struct rpc_conn *conn, short revents)
{
	int err = 0;

	if (revents & POLLOUT)
		err = send_queued(conn);
	if (err == 0 && (revents & (POLLIN | POLLERR | POLLHUP)))
		do
			err = dispatch(conn);
		while (err == 0 && conn->rx_begin < conn->rx_end);
	if (err && !conn->error[0])
		snprintf(conn->error, sizeof(conn->error), "%s", strerror(-err));
	return err;
}

/* Flushes every queue and fills in what to poll for; returns calls in flight. */
static unsigned int prepare(struct rpc_conn **conns, unsigned int n, struct pollfd *fds)
{
	unsigned int i, in_flight = 0;

	for (i = 0; i < n; i++) {
		fds[i].fd = conns[i]->in_flight ? conns[i]->fd : -1;
		fds[i].events = POLLIN;
		/* A send error shows as POLLERR or POLLHUP at the next poll. */
		(void)send_queued(conns[i]);
		if (conns[i]->send_first)
			fds[i].events |= POLLOUT;
		in_flight += conns[i]->in_flight;
	}
	return in_flight;
}

int rpc_pump(struct rpc_conn **conns, unsigned int nconns, struct rpc_conn **ret_failed)
{
	struct pollfd fds[CONNS_MAX];
	unsigned int i;
	int err, ready;

	*ret_failed = conns[0];
	if (nconns > CONNS_MAX)
		return -E2BIG;
	if (prepare(conns, nconns, fds) == 0)
		return 0;
	ready = poll(fds, nconns, conns[0]->timeout_ms ? conns[0]->timeout_ms : -1);
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	if (ready == 0) {
		snprintf(conns[0]->error, sizeof(conns[0]->error), "no reply in %d ms",
			 conns[0]->timeout_ms);
		return -ETIMEDOUT;
	}
	for (i = 0; i < nconns; i++) {
		if (fds[i].fd < 0 || !fds[i].revents)
			continue;
		*ret_failed = conns[i];
		err = serve(conns[i], fds[i].revents);
		if (err)
			return err;
	}
	return 0;
}
