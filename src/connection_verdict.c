/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What limits a connection, in words: see connections.h. */
#include "connections.h"

#include <inttypes.h>
#include <stdio.h>

#define LIMIT_PERCENT 5	       /* of busy time */
#define RETRANSMIT_PERMILLE 10 /* of bytes sent */

unsigned int connection_share(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return 0;
	if (part >= whole)
		return 100;
	/* In floating point: the counters are of 64 bits and come from elsewhere */
	return (unsigned int)(100.0 * (double)part / (double)whole + 0.5);
}

static uint64_t mebibytes(uint64_t bytes)
{
	return (bytes >> 20) + ((bytes & ((1U << 20) - 1)) != 0);
}

/*
 * A stopped reader ends with a window of less than a segment (measured on loopback and veth), which
 * on loopback is also where a connection begins: so there has to be more unread than room. Kernels
 * that don't tell it, before 6.2, count half of the buffer as window (sizes.h): there the buffer is
 * full when unread payload fills that half, or memory all of it.
 */
static bool receive_is_full(const struct connection *c)
{
	if (c->has_own_window)
		return c->own_window < c->receive_segment && c->receive_queue > c->own_window;
	if (!c->has_memory || c->receive_buffer == 0)
		return false;
	return connection_share(c->receive_used, c->receive_buffer) >= 90 ||
	       connection_share(c->receive_queue, c->receive_buffer) >= 48;
}

static bool loses_packets(const struct connection *c)
{
	return c->bytes_retransmitted > 0 &&
	       c->bytes_retransmitted >= c->bytes_sent / 1000 * RETRANSMIT_PERMILLE;
}

static enum connection_limit limit_of(const struct connection *c)
{
	if (connection_share(c->send_limited_us, c->busy_us) >= LIMIT_PERCENT)
		return CONNECTION_SEND_BUFFER;
	if (receive_is_full(c))
		return CONNECTION_RECEIVE_BUFFER;
	if (loses_packets(c))
		return CONNECTION_NETWORK;
	if (connection_share(c->peer_limited_us, c->busy_us) >= LIMIT_PERCENT)
		return CONNECTION_CLIENT;
	return CONNECTION_OK;
}

static void advise_send(const struct connection *c, uint64_t ceiling, uint64_t needed, char *text,
			size_t size)
{
	unsigned int share = connection_share(c->send_limited_us, c->busy_us);

	if (ceiling < needed)
		snprintf(text, size,
			 "send buffer full %u %% of the time: raise %s[2] to %" PRIu64 " MiB",
			 share, size_sysctl(SIZE_READ), mebibytes(needed));
	else
		snprintf(text, size,
			 "send buffer full %u %% of the time: %s[2] holds the requests it has to, "
			 "a link this long (%u us) needs more than %" PRIu64 " MiB",
			 share, size_sysctl(SIZE_READ), c->rtt_us, mebibytes(ceiling));
}

static void advise_receive(const struct connection *c, uint64_t ceiling, uint64_t needed,
			   char *text, size_t size)
{
	if (ceiling < needed)
		snprintf(text, size, "receive buffer full: raise %s[2] to %" PRIu64 " MiB",
			 size_sysctl(SIZE_WRITE), mebibytes(needed));
	else
		snprintf(text, size,
			 "receive buffer full: %u bytes of requests wait for a worker or the disk",
			 c->receive_queue);
}

enum connection_limit connection_verdict(const struct connection *connection,
					 const struct size_ceilings *ceilings,
					 const uint64_t needed[SIZE_DIRECTIONS], char *text,
					 size_t size)
{
	const struct connection *c = connection;
	enum connection_limit limit = limit_of(c);

	switch (limit) {
	case CONNECTION_SEND_BUFFER:
		advise_send(c, ceilings->bytes[SIZE_READ], needed[SIZE_READ], text, size);
		break;
	case CONNECTION_RECEIVE_BUFFER:
		advise_receive(c, ceilings->bytes[SIZE_WRITE], needed[SIZE_WRITE], text, size);
		break;
	case CONNECTION_NETWORK:
		snprintf(text, size, "network limited: %u %% of what was sent was sent again",
			 connection_share(c->bytes_retransmitted, c->bytes_sent));
		break;
	case CONNECTION_CLIENT:
		snprintf(text, size, "client limited: its receive buffer full %u %% of the time",
			 connection_share(c->peer_limited_us, c->busy_us));
		break;
	case CONNECTION_OK:
		snprintf(text, size, "ok");
		break;
	}
	return limit;
}
