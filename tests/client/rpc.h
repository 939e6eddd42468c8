/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ONC RPC over TCP (RFC 5531) for a test client: many calls in flight on one
 * connection, payloads of any size that a record can carry, no copy of them in
 * user space. libnfs 4.0 refuses replies above 1 MiB + 4 KiB, so only its XDR
 * routines are used here, not its transport.
 *
 * One thread drives everything through rpc_pump(). Sending never blocks;
 * receiving blocks only inside a reply whose first bytes have arrived.
 *
 * Not promised: reconnecting, retransmission, UDP, RPCSEC_GSS.
 */
#ifndef NFSCLIENT_RPC_H
#define NFSCLIENT_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_HEAD_MAX 8192
#define RPC_SLOTS 4096	/* calls in flight per connection, power of two */
#define RPC_GIDS_MAX 16 /* RFC 5531, appendix A */

struct rpc_conn;

/* AUTH_SYS identity of every call on a connection. */
struct rpc_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[RPC_GIDS_MAX];
};

/*
 * A call in flight. The caller owns it and its payload until receive() ran.
 * receive() pulls the results with rpc_pull() and returns 0 or -errno; an error
 * ends rpc_pump(). It may submit the same call again.
 */
struct rpc_call {
	int (*receive)(struct rpc_conn *conn, struct rpc_call *call);
	void *owner;
	const void *payload;
	size_t payload_len;
	struct rpc_call *next;
	uint32_t xid;
	size_t head_len;
	size_t sent;
	uint8_t head[RPC_HEAD_MAX];
};

struct rpc_conn {
	int fd;
	int timeout_ms;
	const struct rpc_cred *cred;
	uint32_t next_xid;
	unsigned int in_flight;
	struct rpc_call *send_first, **send_end;
	struct rpc_call *calls[RPC_SLOTS];
	uint32_t fragment_left; /* bytes of the current fragment not pulled */
	bool last_fragment;
	size_t rx_begin, rx_end;
	uint8_t rx[4096];
	char error[160];
};

/*
 * Connects to host:port (numeric or name). timeout_ms bounds each wait for the
 * peer; 0 waits for ever. Returns 0 or -errno with conn->error set.
 */
int rpc_connect(struct rpc_conn *conn, const char *host, uint16_t port, int timeout_ms);
void rpc_close(struct rpc_conn *conn);

/*
 * Encodes the header of a call up to the verifier. The caller appends the
 * arguments to call->head at call->head_len, then submits.
 */
void rpc_begin(struct rpc_conn *conn, struct rpc_call *call, uint32_t prog, uint32_t vers,
	       uint32_t proc);
/* Queues the call. Returns 0, or -EAGAIN when RPC_SLOTS are in flight. */
int rpc_submit(struct rpc_conn *conn, struct rpc_call *call);

/*
 * Sends what the sockets take and receives at least one reply, or, with
 * nothing in flight, returns at once. Returns 0 or -errno (-ETIMEDOUT,
 * -ECONNRESET, -EPROTO, what a receive() returned) with *ret_failed set.
 */
int rpc_pump(struct rpc_conn **conns, unsigned int nconns, struct rpc_conn **ret_failed);

/* Pulls len bytes of the current record; dst NULL discards without copying. */
int rpc_pull(struct rpc_conn *conn, void *dst, size_t len);
/* Pulls one XDR unsigned integer. */
int rpc_pull_u32(struct rpc_conn *conn, uint32_t *ret);
/* Pulls the rest of the record into *buf, enlarging it as needed. */
int rpc_pull_rest(struct rpc_conn *conn, uint8_t **buf, size_t *cap, size_t *ret_len);
/* Drops the rest of the record. */
int rpc_skip_rest(struct rpc_conn *conn);

#endif
