/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The counters of a network namespace that tell of socket buffers too small: packets pruned,
 * collapsed or dropped. They are sums over all sockets since the namespace began, whoever they
 * belong to; only their growth means something.
 */
#ifndef DROPBEHIND_SOCKET_COUNTERS_H
#define DROPBEHIND_SOCKET_COUNTERS_H

#include <stdint.h>

/* Enumerator, line of /proc/net/netstat or /proc/net/snmp, name there */
#define SOCKET_COUNTERS(X)                                                                         \
	X(PRUNE_CALLED, "TcpExt:", "PruneCalled")                                                  \
	X(RECEIVE_PRUNED, "TcpExt:", "RcvPruned")                                                  \
	X(OUT_OF_ORDER_PRUNED, "TcpExt:", "OfoPruned")                                             \
	X(RECEIVE_COLLAPSED, "TcpExt:", "TCPRcvCollapsed")                                         \
	X(RECEIVE_QUEUE_DROP, "TcpExt:", "TCPRcvQDrop")                                            \
	X(BACKLOG_DROP, "TcpExt:", "TCPBacklogDrop")                                               \
	X(LISTEN_OVERFLOWS, "TcpExt:", "ListenOverflows")                                          \
	X(LISTEN_DROPS, "TcpExt:", "ListenDrops")                                                  \
	X(MEMORY_PRESSURES, "TcpExt:", "TCPMemoryPressures")                                       \
	X(RETRANSMITTED, "Tcp:", "RetransSegs")                                                    \
	X(UDP_IN_ERRORS, "Udp:", "InErrors")                                                       \
	X(UDP_RECEIVE_BUFFER_ERRORS, "Udp:", "RcvbufErrors")                                       \
	X(UDP_SEND_BUFFER_ERRORS, "Udp:", "SndbufErrors")

enum socket_counter {
#define SOCKET_COUNTER_ENUM(name, line, key) SOCKET_##name,
	SOCKET_COUNTERS(SOCKET_COUNTER_ENUM)
#undef SOCKET_COUNTER_ENUM
		SOCKET_COUNTER_COUNT
};

struct socket_counters {
	uint64_t value[SOCKET_COUNTER_COUNT]; /* 0 where the kernel has no such counter */
};

/** socket_counter_name - as the kernel calls it: "PruneCalled"; those of UDP "UdpInErrors". */
const char *socket_counter_name(enum socket_counter counter);

/**
 * socket_counters_read - from @proc ("/proc", another for tests): net/netstat and net/snmp, and
 * what net/snmp6 has for UDP over IPv6 added, if it is there.
 *
 * Returns 0, -errno where one of the first two can't be read, -EPROTO where it has a line of
 * counters whose names and values don't pair.
 */
int socket_counters_read(const char *proc, struct socket_counters *ret_counters);

#endif
