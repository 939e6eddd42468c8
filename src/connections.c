/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Connections by sock_diag(7): see connections.h. */
#include "connections.h"

#include <endian.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_ROOM 32768 /* what the kernel fills per read of a dump at most (af_netlink.c) */
#define LIST_STEP 64	  /* connections */

/* include/net/tcp_states.h, which is no header for programs */
enum { ESTABLISHED = 1, FIN_WAIT1 = 4, FIN_WAIT2 = 5, CLOSE_WAIT = 8, LAST_ACK = 9, CLOSING = 11 };

#define STATES_LISTED                                                                              \
	(1U << ESTABLISHED | 1U << FIN_WAIT1 | 1U << FIN_WAIT2 | 1U << CLOSE_WAIT |                \
	 1U << LAST_ACK | 1U << CLOSING)

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

/* A list being filled */
struct filling {
	struct connections *list;
	unsigned int limit, room;
};

static bool is_v4_mapped(const uint8_t address[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

static struct connection_end end_of(int family, const __be32 address[4], __be16 port)
{
	struct connection_end end = { .family = family, .port = be16toh(port) };

	memcpy(end.address, address, sizeof(end.address));
	if (family == AF_INET6 && is_v4_mapped(end.address)) {
		end.family = AF_INET;
		memmove(end.address, end.address + 12, 4);
	}
	if (end.family == AF_INET)
		memset(end.address + 4, 0, sizeof(end.address) - 4);
	return end;
}

static void take_memory(const void *data, size_t len, struct connection *c)
{
	uint32_t memory[SK_MEMINFO_VARS] = { 0 };

	memcpy(memory, data, len < sizeof(memory) ? len : sizeof(memory));
	c->has_memory = true;
	c->receive_used = memory[SK_MEMINFO_RMEM_ALLOC];
	c->receive_buffer = memory[SK_MEMINFO_RCVBUF];
	c->send_used = memory[SK_MEMINFO_WMEM_QUEUED];
	c->send_buffer = memory[SK_MEMINFO_SNDBUF];
	c->drops = memory[SK_MEMINFO_DROPS];
}

/* tcpi_rcv_wnd follows tcpi_snd_wnd since Linux 6.2; Debian 12's header ends before it */
static void take_own_window(const uint8_t *info, size_t len, struct connection *c)
{
	size_t at = offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t);

	c->has_own_window = len >= at + sizeof(c->own_window);
	if (c->has_own_window)
		memcpy(&c->own_window, info + at, sizeof(c->own_window));
}

static void take_info(const void *data, size_t len, struct connection *c)
{
	struct tcp_info info = { 0 };

	memcpy(&info, data, len < sizeof(info) ? len : sizeof(info));
	c->has_info = true;
	c->busy_us = info.tcpi_busy_time;
	c->send_limited_us = info.tcpi_sndbuf_limited;
	c->peer_limited_us = info.tcpi_rwnd_limited;
	c->bytes_sent = info.tcpi_bytes_sent;
	c->bytes_retransmitted = info.tcpi_bytes_retrans;
	c->bytes_acked = info.tcpi_bytes_acked;
	c->bytes_received = info.tcpi_bytes_received;
	c->delivery_rate = info.tcpi_delivery_rate;
	c->retransmits = info.tcpi_total_retrans;
	c->rtt_us = info.tcpi_rtt;
	c->min_rtt_us = info.tcpi_min_rtt;
	c->segment = info.tcpi_snd_mss;
	c->window = info.tcpi_snd_cwnd;
	c->peer_window = info.tcpi_snd_wnd;
	c->receive_segment = info.tcpi_rcv_mss;
	take_own_window(data, len, c);
}

int connection_parse(const void *message, size_t len, struct connection *ret_connection)
{
	const uint8_t *bytes = message;
	size_t at = NLMSG_ALIGN(sizeof(struct inet_diag_msg));
	struct connection c = { 0 };
	struct inet_diag_msg head;
	struct rtattr attr;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.idiag_family != AF_INET && head.idiag_family != AF_INET6)
		return -EBADMSG;
	c.local = end_of(head.idiag_family, head.id.idiag_src, head.id.idiag_sport);
	c.peer = end_of(head.idiag_family, head.id.idiag_dst, head.id.idiag_dport);
	c.receive_queue = head.idiag_rqueue;
	c.send_queue = head.idiag_wqueue;
	for (; at + sizeof(attr) <= len; at += RTA_ALIGN(attr.rta_len)) {
		memcpy(&attr, bytes + at, sizeof(attr));
		if (attr.rta_len < sizeof(attr) || attr.rta_len > len - at)
			return -EBADMSG;
		if (attr.rta_type == INET_DIAG_SKMEMINFO)
			take_memory(bytes + at + RTA_LENGTH(0), attr.rta_len - RTA_LENGTH(0), &c);
		else if (attr.rta_type == INET_DIAG_INFO)
			take_info(bytes + at + RTA_LENGTH(0), attr.rta_len - RTA_LENGTH(0), &c);
	}
	*ret_connection = c;
	return 0;
}

static int add(struct filling *filling, const struct connection *connection)
{
	struct connections *list = filling->list;

	list->total++;
	if (list->count >= filling->limit)
		return 0;
	if (list->count == filling->room) {
		unsigned int room = filling->room + LIST_STEP + filling->room / 2;
		struct connection *item = reallocarray(list->item, room, sizeof(*item));

		if (item == NULL)
			return -ENOMEM;
		list->item = item;
		filling->room = room;
	}
	list->item[list->count++] = *connection;
	return 0;
}

static int take_error(const struct nlmsghdr *header)
{
	const struct nlmsgerr *error = NLMSG_DATA(header);

	if (header->nlmsg_len < NLMSG_LENGTH(sizeof(*error)))
		return -EBADMSG;
	return error->error < 0 ? error->error : -EBADMSG;
}

/* What one recv() brought. Returns 1 when the dump is complete, 0 when there is more */
static int take_messages(const void *buffer, int len, struct filling *filling)
{
	const struct nlmsghdr *header = buffer;
	struct connection connection;
	int rc = 0;

	for (; rc == 0 && NLMSG_OK(header, (unsigned int)len); header = NLMSG_NEXT(header, len)) {
		if (header->nlmsg_type == NLMSG_DONE)
			return 1;
		if (header->nlmsg_type == NLMSG_ERROR)
			return take_error(header);
		if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			continue;
		rc = connection_parse(NLMSG_DATA(header), NLMSG_PAYLOAD(header, 0), &connection);
		if (rc == 0)
			rc = add(filling, &connection);
	}
	return rc;
}

static int ask(int fd, int family, uint16_t port)
{
	struct question question = {
		.header = { .nlmsg_len = sizeof(question),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.request = { .sdiag_family = (uint8_t)family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_ext = 1 << (INET_DIAG_INFO - 1) |
					  1 << (INET_DIAG_SKMEMINFO - 1),
			     .idiag_states = STATES_LISTED,
			     .id.idiag_sport = htobe16(port) },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (sendto(fd, &question, sizeof(question), 0, (struct sockaddr *)&kernel, sizeof(kernel)) <
	    0)
		return -errno;
	return 0;
}

static int dump(int fd, int family, uint16_t port, struct filling *filling)
{
	_Alignas(struct nlmsghdr) char buffer[ANSWER_ROOM];
	int rc = ask(fd, family, port);
	ssize_t len;

	while (rc == 0) {
		len = recv(fd, buffer, sizeof(buffer), MSG_TRUNC);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		if (len == 0 || (size_t)len > sizeof(buffer))
			return -EBADMSG;
		rc = take_messages(buffer, (int)len, filling);
	}
	return rc < 0 ? rc : 0;
}

static int dump_all(int fd, const uint16_t *ports, unsigned int port_count, struct filling *filling)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < port_count; i++) {
		rc = dump(fd, AF_INET, ports[i], filling);
		if (rc == 0)
			rc = dump(fd, AF_INET6, ports[i], filling);
	}
	return rc;
}

int connections_list(const uint16_t *ports, unsigned int port_count, unsigned int limit,
		     struct connections *ret_list)
{
	struct connections list = { 0 };
	struct filling filling = { .list = &list, .limit = limit };
	int fd, rc;

	if (port_count == 0 || port_count > CONNECTION_PORTS_MAX)
		return -EINVAL;
	if (filling.limit > CONNECTIONS_MAX)
		filling.limit = CONNECTIONS_MAX;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return -errno;
	rc = dump_all(fd, ports, port_count, &filling);
	close(fd);
	if (rc < 0) {
		connections_free(&list);
		return rc;
	}
	*ret_list = list;
	return 0;
}

void connections_free(struct connections *list)
{
	free(list->item);
	*list = (struct connections){ 0 };
}

void connection_end_to_text(const struct connection_end *end, char *text, size_t size)
{
	bool v4 = end->family == AF_INET;
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char host[INET6_ADDRSTRLEN] = "?";

	memcpy(&in4.sin_addr, end->address, sizeof(in4.sin_addr));
	memcpy(&in6.sin6_addr, end->address, sizeof(in6.sin6_addr));
	/* Numeric: nothing is looked up */
	getnameinfo(v4 ? (struct sockaddr *)&in4 : (struct sockaddr *)&in6,
		    v4 ? sizeof(in4) : sizeof(in6), host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	snprintf(text, size, v4 ? "%s:%u" : "[%s]:%u", host, end->port);
}
