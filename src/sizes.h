/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * How large a READ or WRITE this network namespace's socket buffers carry, and what to offer.
 *
 * The rule is FreeBSD's (nfs_bufpackets): a buffer holds a few requests of the maximum size, so
 * that one travels while the next is worked on. ntirpc sets no SO_SNDBUF or SO_RCVBUF on TCP: the
 * kernel's autotuning sizes the buffers, up to net.ipv4.tcp_rmem[2] and tcp_wmem[2] of the daemon's
 * network namespace (not net.core.*mem_max, which bound setsockopt only).
 *
 * A buffer is charged for memory, not for payload (sk_buff truesize), so the ceiling must exceed
 * the payload by the kernel's overhead:
 *
 *   receive  the window is what tcp_win_from_space() makes of the buffer, and a sender can't have
 *            more in flight than the window. Before Linux 6.6 that is half of the buffer
 *            (tcp_adv_win_scale = 1); since then it begins as half (include/net/tcp.h:
 *            TCP_DEFAULT_SCALING_RATIO) and follows the ratio of payload to memory of the packets
 *            that arrive (tcp_measure_rcv_mss()):
 *                tcp_rmem[2] >= requests * (size + header) * 2
 *   send     sk_wmem_queued counts the payload's pages and, for each skb, struct sk_buff, its
 *            shared info and the reserved header. An skb holds up to 64 KiB where the device takes
 *            GSO packets, as all but exotic ones do:
 *                tcp_wmem[2] >= requests * (size + header) * 1.13
 *
 * Memory per byte of payload in full buffers, `ss -tmi` on the daemon's socket, the other side
 * stopped, Linux 6.18 (tests/nfs/socket-buffers-need-what-sizes-says.sh measures it again):
 *
 *                                                          receive        send
 *     loopback                                             1.00 .. 1.06   1.01 .. 1.02
 *     veth, MTU 1500, packets kept whole (GSO)             1.01 .. 1.03   1.01
 *     veth, MTU 1500, one segment per skb (gso_max_segs 1) 1.57           1.57
 *
 * So 2 holds for every packet of which at least half is payload. It does not for a driver that
 * gives each 1500-byte frame a page of its own and merges nothing (reckoned, not measured: 2.9 to
 * 3), and 1.13 does not without GSO: there a buffer holds fewer requests than asked, which slows
 * and does not break.
 *
 * sizes_carried() is the inverse of sizes_needed(). Pure arithmetic but for sizes_ceilings_read().
 */
#ifndef DROPBEHIND_SIZES_H
#define DROPBEHIND_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIZE_LIMIT_MIN 512	   /* Ganesha's lower limit of MaxRead and MaxWrite, bytes */
#define SIZE_LIMIT_MAX (64U << 20) /* its upper limit: FSAL_MAXIOSIZE */
#define SIZE_AUTO_MIN (1U << 20)   /* offered when nothing was set, whatever the buffers are */
#define SIZE_AUTO_MAX (4U << 20)
#define SIZE_RPC_HEADER 512 /* RPC and NFS around the payload: compound, handle, attributes */

/** Which way the payload goes, seen from the server. */
enum size_direction { SIZE_READ, SIZE_WRITE, SIZE_DIRECTIONS };

enum socket_check {
	SOCKET_CHECK_WARN,
	SOCKET_CHECK_CLAMP,
	SOCKET_CHECK_REFUSE,
	SOCKET_CHECK_OFF,
	SOCKET_CHECK_COUNT
};

/** Autotuning ceilings of the daemon's network namespace, bytes. */
struct size_ceilings {
	uint64_t bytes[SIZE_DIRECTIONS]; /* tcp_wmem[2] for READ, tcp_rmem[2] for WRITE */
	uint64_t min[SIZE_DIRECTIONS];	 /* [0] and [1] of the same: a remedy leaves them alone */
	uint64_t initial[SIZE_DIRECTIONS];
	bool writable; /* /proc/sys can be changed from here: false in most pods */
};

const char *socket_check_name(enum socket_check check);
int socket_check_parse(const char *name, enum socket_check *ret_check); /* 0 or -EINVAL */

/** "net.ipv4.tcp_wmem" or "net.ipv4.tcp_rmem". */
const char *size_sysctl(enum size_direction direction);

/**
 * sizes_ceilings_read - from @proc ("/proc", another for tests). Returns 0 or -errno.
 */
int sizes_ceilings_read(const char *proc, struct size_ceilings *ret_ceilings);

/** sizes_needed - the ceiling that @requests requests of @size bytes need. */
uint64_t sizes_needed(enum size_direction direction, uint64_t size, unsigned int requests);

/** sizes_carried - the largest power of two that fits @ceiling; 0 if SIZE_LIMIT_MIN does not. */
uint64_t sizes_carried(enum size_direction direction, uint64_t ceiling, unsigned int requests);

/** What an operator asked for in one direction. */
struct size_wish {
	bool set;	   /* MaxRead or MaxWrite is in the file */
	uint64_t max;	   /* bytes, if set */
	uint64_t in_force; /* what this export offered before, 0 if never: see Clamp */
};

/** By which rules a wish is judged: options of the export. */
struct size_rules {
	enum socket_check check;
	unsigned int requests; /* that a buffer must hold */
};

struct size_offer {
	uint64_t max;	  /* to be served, bytes */
	bool is_short;	  /* the buffers don't carry it */
	bool refused;	  /* Refuse, and it was set */
	uint64_t ceiling; /* now */
	uint64_t needed;  /* for what was asked, or, if nothing was, for what is served */
};

/**
 * sizes_offer - judge one direction.
 *
 *   not set  the largest power of two that fits, within SIZE_AUTO_MIN..SIZE_AUTO_MAX, and never
 *            less than was offered before
 *   Warn     what was asked
 *   Clamp    the largest that fits, never below SIZE_AUTO_MIN nor below what was offered before
 *            (mounted NFSv3 clients never ask again), never above what was asked
 *   Refuse   refused if it does not fit
 *   Off      what was asked, and is_short is never set
 */
void sizes_offer(enum size_direction direction, const struct size_wish *wish,
		 const struct size_ceilings *ceilings, const struct size_rules *rules,
		 struct size_offer *ret_offer);

#define SIZE_SYSCTL_LIMIT INT32_MAX /* tcp_rmem and tcp_wmem hold an int each */
#define SIZE_COMMAND_TEXT 128	    /* room for sizes_command() */
#define SIZE_REMEDY_TEXT 256	    /* room for sizes_remedy() */

/**
 * sizes_command - the command that raises a ceiling to @needed bytes, "" if no ceiling can be that
 * high. @text has room for SIZE_COMMAND_TEXT bytes.
 */
void sizes_command(enum size_direction direction, const struct size_ceilings *ceilings,
		   uint64_t needed, char *text);

/** sizes_remedy - the same in words, with what to do where the command can't be used. */
void sizes_remedy(enum size_direction direction, const struct size_ceilings *ceilings,
		  uint64_t needed, char *text);

/** Memory that sizes can make the daemon use at worst, bytes. */
struct size_memory {
	uint64_t per_connection; /* ntirpc allocates a request's whole record before reading it */
	uint64_t workers;	 /* RPC threads x (MaxRead + MaxWrite) */
};

void sizes_memory(uint64_t max_read, uint64_t max_write, unsigned int rpc_threads,
		  struct size_memory *ret_memory);

#endif
