/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The TCP connections of the daemon with their buffers, asked of the kernel by sock_diag(7), and
 * what the namespace's counters say of buffers that overflowed.
 *
 * Everything is of the calling thread's network namespace and needs no privilege. Nothing is kept
 * between calls. A dump walks the kernel's table of established connections once per port and
 * address family and holds each listed socket's lock for the time of copying its figures: off the
 * data path, for status commands. Measured on Linux 6.18 with two virtual CPUs: see src/README.
 *
 * Not promised: a snapshot of one instant. Connections come and go during a dump.
 */
#ifndef DROPBEHIND_CONNECTIONS_H
#define DROPBEHIND_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sizes.h"

#define CONNECTIONS_MAX 4096	/* listed at most by one call */
#define CONNECTION_PORTS_MAX 16 /* asked for at most by one call */
#define CONNECTION_END_TEXT 64	/* room for connection_end_to_text() */
#define CONNECTION_VERDICT 192	/* room for connection_verdict() */

/** One end of a connection. An IPv4-mapped IPv6 address is an IPv4 address here. */
struct connection_end {
	int family;	     /* AF_INET or AF_INET6 */
	uint16_t port;	     /* host byte order */
	uint8_t address[16]; /* network byte order, the first 4 for AF_INET */
};

/** Figures the running kernel does not give are 0. Times are sums since the connection began. */
struct connection {
	struct connection_end local, peer;
	uint32_t receive_queue; /* payload the daemon has not read yet, bytes */
	uint32_t send_queue;	/* payload the client has not acknowledged yet, bytes */

	/* sk_meminfo: memory charged, and how much may be, bytes */
	bool has_memory;
	uint32_t receive_used, receive_buffer;
	uint32_t send_used, send_buffer;
	uint32_t drops; /* packets */

	/* struct tcp_info */
	bool has_info;
	uint64_t busy_us;	  /* data was queued or in flight */
	uint64_t send_limited_us; /* of that, everything sent, more to come, buffer full */
	uint64_t peer_limited_us; /* of that, the client's receive window closed */
	uint64_t bytes_sent;	  /* with retransmissions */
	uint64_t bytes_retransmitted;
	uint64_t bytes_acked;	 /* payload that arrived at the client */
	uint64_t bytes_received; /* payload that arrived here */
	uint64_t delivery_rate;	 /* bytes per second */
	uint32_t retransmits;	 /* segments */
	uint32_t rtt_us, min_rtt_us;
	uint32_t segment;	  /* largest segment sent, bytes */
	uint32_t window;	  /* congestion window, segments */
	uint32_t peer_window;	  /* receive window of the client, bytes */
	bool has_own_window;	  /* since Linux 6.2 */
	uint32_t own_window;	  /* receive window last advertised, bytes */
	uint32_t receive_segment; /* what the client's segments are taken to hold, bytes */
};

struct connections {
	struct connection *item; /* malloc'ed */
	unsigned int count;	 /* listed */
	unsigned int total;	 /* found: more than listed if there were too many */
};

/**
 * connections_list - the connections whose local port is one of @ports, most @limit of them listed.
 *
 * Listening sockets, handshakes and TIME_WAIT are left out. On success the caller frees the list by
 * connections_free().
 * Returns 0; -EINVAL for no or too many ports; -ENOENT if the kernel has no tcp_diag; -errno.
 */
int connections_list(const uint16_t *ports, unsigned int port_count, unsigned int limit,
		     struct connections *ret_list);
void connections_free(struct connections *list);

/**
 * connection_parse - one answer of sock_diag: struct inet_diag_msg and its attributes, @len bytes.
 *
 * Takes any bytes. Attributes shorter or longer than this library's headers say come from another
 * kernel version: what is there is used. Returns 0 or -EBADMSG.
 */
int connection_parse(const void *message, size_t len, struct connection *ret_connection);

/** connection_end_to_text - "192.0.2.1:2049" or "[2001:db8::1]:2049", cut at @size. */
void connection_end_to_text(const struct connection_end *end, char *text, size_t size);

/** connection_share - @part of @whole in percent, rounded; 0 of nothing. At most 100. */
unsigned int connection_share(uint64_t part, uint64_t whole);

/** What limits a connection, worst first. */
enum connection_limit {
	CONNECTION_SEND_BUFFER,	   /* ours: tcp_wmem */
	CONNECTION_RECEIVE_BUFFER, /* ours: tcp_rmem, or requests wait for a worker or the disk */
	CONNECTION_NETWORK,	   /* packets get lost */
	CONNECTION_CLIENT,	   /* does not read as fast as we send */
	CONNECTION_OK,
};

/**
 * connection_verdict - what limits @connection, as a value and as words for an operator.
 *
 * A share below 5 % (of busy time; of bytes for retransmissions 1 %) limits nothing. The receive
 * side is an observation of now: a sender held back by our window is seen only at the client.
 * @ceilings: the namespace's; @needed: what sizes_needed() says for the export, per direction,
 * bytes. The advice rounds up to whole MiB; where the ceiling is there already, it says so instead.
 * @text has room for CONNECTION_VERDICT bytes.
 */
enum connection_limit connection_verdict(const struct connection *connection,
					 const struct size_ceilings *ceilings,
					 const uint64_t needed[SIZE_DIRECTIONS], char *text,
					 size_t size);

#endif
