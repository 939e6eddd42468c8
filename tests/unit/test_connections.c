/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Connections as the kernel tells them, on real loopback sockets, and answers as no kernel should
 * send them: every truncation, flipped bits, random bytes. recv() is wrapped to put those in place
 * of the kernel's.
 */
/* wrap: recv */
#include "connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#define FUZZ_ROUNDS 100000
#define FUZZ_LIST 40	/* every so many by way of a socket, which takes longer */
#define STEPS_MAX 20000 /* of waiting, a millisecond each */

ssize_t __real_recv(int fd, void *buffer, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t len, int flags);

/* What the next recv() brings instead of the kernel's; after it, the end of the dump */
static struct {
	bool active;
	const void *data;
	size_t len;
	int error;
} script;

/* The last answer of the kernel with a connection in it */
static _Alignas(struct nlmsghdr) uint8_t recorded[32768];
static size_t recorded_len;

ssize_t __wrap_recv(int fd, void *buffer, size_t len, int flags)
{
	struct nlmsghdr done = { .nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE };
	const void *data = script.len > 0 ? script.data : &done;
	size_t have = script.len > 0 ? script.len : sizeof(done);
	ssize_t got;

	if (!script.active) {
		got = __real_recv(fd, buffer, len, flags);
		if (got > 0 && ((struct nlmsghdr *)buffer)->nlmsg_type == SOCK_DIAG_BY_FAMILY) {
			memcpy(recorded, buffer, (size_t)got);
			recorded_len = (size_t)got;
		}
		return got;
	}
	script.len = 0;
	if (script.error != 0) {
		errno = script.error;
		script.error = 0;
		return -1;
	}
	memcpy(buffer, data, have < len ? have : len);
	return (ssize_t)have;
}

static void setup(void)
{
	memset(&script, 0, sizeof(script));
}

/* ---- sockets ---- */

struct pair {
	int listener, server, client;
	uint16_t port;
};

/* Listens and connects in the families given; false where @listen has no such address */
static bool pair_open(struct pair *pair, struct sockaddr_storage *listen_at,
		      struct sockaddr_storage *connect_to)
{
	socklen_t len = sizeof(*listen_at);
	int off = 0;

	pair->listener = socket(listen_at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pair->listener < 0)
		return false;
	setsockopt(pair->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(pair->listener, (struct sockaddr *)listen_at, len) < 0) {
		close(pair->listener);
		return false;
	}
	CU_ASSERT_EQUAL_FATAL(listen(pair->listener, 64), 0);
	getsockname(pair->listener, (struct sockaddr *)listen_at, &len);
	/* The port is where sockaddr_in6 has it, too */
	((struct sockaddr_in *)connect_to)->sin_port = ((struct sockaddr_in *)listen_at)->sin_port;
	pair->port = ntohs(((struct sockaddr_in *)listen_at)->sin_port);
	pair->client = socket(connect_to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(
		connect(pair->client, (struct sockaddr *)connect_to, sizeof(*connect_to)), 0);
	pair->server = accept4(pair->listener, NULL, NULL, SOCK_CLOEXEC);
	CU_ASSERT_FATAL(pair->server >= 0);
	return true;
}

static struct sockaddr_storage address(int family, const char *text)
{
	struct sockaddr_storage at = { .ss_family = (sa_family_t)family };

	inet_pton(family, text,
		  family == AF_INET ? (void *)&((struct sockaddr_in *)&at)->sin_addr
				    : (void *)&((struct sockaddr_in6 *)&at)->sin6_addr);
	return at;
}

static void pair_open4(struct pair *pair)
{
	struct sockaddr_storage at = address(AF_INET, "127.0.0.1"), to = at;

	CU_ASSERT_FATAL(pair_open(pair, &at, &to));
}

static void pair_close(struct pair *pair)
{
	close(pair->client);
	close(pair->server);
	close(pair->listener);
}

/* The one connection of @port */
static struct connection only(uint16_t port)
{
	struct connections list;
	struct connection found = { 0 };

	CU_ASSERT_EQUAL_FATAL(connections_list(&port, 1, CONNECTIONS_MAX, &list), 0);
	CU_ASSERT_EQUAL(list.total, 1);
	CU_ASSERT_EQUAL_FATAL(list.count, 1);
	found = list.item[0];
	connections_free(&list);
	CU_ASSERT_PTR_NULL(list.item);
	return found;
}

static uint16_t client_port(const struct pair *pair)
{
	struct sockaddr_in6 at;
	socklen_t len = sizeof(at);

	getsockname(pair->client, (struct sockaddr *)&at, &len);
	return ntohs(at.sin6_port); /* where sockaddr_in has it too */
}

static void check_ends(const struct pair *pair, const char *host)
{
	struct connection c = only(pair->port);
	char want[CONNECTION_END_TEXT], text[CONNECTION_END_TEXT];

	snprintf(want, sizeof(want), "%s:%u", host, client_port(pair));
	connection_end_to_text(&c.peer, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, want);
	snprintf(want, sizeof(want), "%s:%u", host, pair->port);
	connection_end_to_text(&c.local, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, want);
	CU_ASSERT_TRUE(c.has_info);
	CU_ASSERT_TRUE(c.has_memory);
	CU_ASSERT(c.send_buffer > 0 && c.receive_buffer > 0 && c.segment > 0);
}

static void both_ends_are_named(void)
{
	struct sockaddr_storage any = address(AF_INET6, "::"), here = address(AF_INET6, "::1");
	struct sockaddr_storage here4 = address(AF_INET, "127.0.0.1"), to = here;
	struct pair pair;

	pair_open4(&pair);
	check_ends(&pair, "127.0.0.1");
	pair_close(&pair);
	/* As the daemon listens: the kernel says ::ffff:127.0.0.1 */
	if (pair_open(&pair, &any, &here4)) {
		check_ends(&pair, "127.0.0.1");
		pair_close(&pair);
	} else {
		puts("no IPv6 here");
	}
	if (pair_open(&pair, &here, &to)) {
		check_ends(&pair, "[::1]");
		pair_close(&pair);
	}
}

static void only_the_ports_asked_for(void)
{
	struct pair a, b, other;
	struct connections list;
	uint16_t ports[2];

	pair_open4(&a);
	pair_open4(&b);
	pair_open4(&other);
	ports[0] = a.port;
	ports[1] = b.port;
	CU_ASSERT_EQUAL_FATAL(connections_list(ports, 2, 10, &list), 0);
	CU_ASSERT_EQUAL_FATAL(list.count, 2);
	CU_ASSERT_EQUAL(list.item[0].local.port, a.port);
	CU_ASSERT_EQUAL(list.item[1].local.port, b.port);
	connections_free(&list);
	pair_close(&b);
	/* FIN_WAIT or gone; a listener alone is no connection */
	close(a.server);
	close(a.client);
	CU_ASSERT_EQUAL_FATAL(connections_list(&ports[1], 1, 10, &list), 0);
	CU_ASSERT_EQUAL(list.count, 0);
	connections_free(&list);
	close(a.listener);
	pair_close(&other);
}

static void a_list_has_a_limit_and_says_so(void)
{
	enum { MANY = 300 };
	static int client[MANY], server[MANY];
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct connections list;
	struct pair pair;

	pair_open4(&pair);
	at.sin_port = htons(pair.port);
	for (int i = 0; i < MANY; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM, 0);
		CU_ASSERT_EQUAL_FATAL(connect(client[i], (struct sockaddr *)&at, sizeof(at)), 0);
		server[i] = accept(pair.listener, NULL, NULL);
	}
	for (unsigned int limit = 0; limit <= MANY + 1; limit += MANY / 2) {
		CU_ASSERT_EQUAL_FATAL(connections_list(&pair.port, 1, limit, &list), 0);
		CU_ASSERT_EQUAL(list.count, limit);
		CU_ASSERT_EQUAL(list.total, MANY + 1);
		connections_free(&list);
	}
	CU_ASSERT_EQUAL_FATAL(connections_list(&pair.port, 1, UINT32_MAX, &list), 0);
	CU_ASSERT_EQUAL(list.count, MANY + 1);
	connections_free(&list);
	for (int i = 0; i < MANY; i++) {
		close(client[i]);
		close(server[i]);
	}
	pair_close(&pair);
}

static void bad_questions_are_refused(void)
{
	uint16_t ports[CONNECTION_PORTS_MAX + 1] = { 1 };
	struct connections list = { .count = 77 };

	CU_ASSERT_EQUAL(connections_list(ports, 0, 1, &list), -EINVAL);
	CU_ASSERT_EQUAL(connections_list(ports, CONNECTION_PORTS_MAX + 1, 1, &list), -EINVAL);
	CU_ASSERT_EQUAL(list.count, 77);
}

/* ---- buffers ---- */

static const struct size_ceilings ceilings = { .bytes = { 4 << 20, 6 << 20 } };
static const uint64_t needs[SIZE_DIRECTIONS] = { (18 << 20) - 5, 32 << 20 };

static enum connection_limit verdict(const struct connection *c, const char *want)
{
	char text[CONNECTION_VERDICT], cut[8];
	enum connection_limit limit = connection_verdict(c, &ceilings, needs, text, sizeof(text));

	if (want != NULL)
		CU_ASSERT_STRING_EQUAL(text, want);
	CU_ASSERT(strlen(text) + 1 < sizeof(text));
	connection_verdict(c, &ceilings, needs, cut, sizeof(cut));
	CU_ASSERT(strlen(cut) < sizeof(cut));
	return limit;
}

static void a_reader_that_stops_fills_the_buffer(void)
{
	static char block[65536];
	struct connection c;
	struct pair pair;
	size_t sent = 0;
	int steps = 0;

	pair_open4(&pair);
	c = only(pair.port);
	CU_ASSERT_EQUAL(verdict(&c, "ok"), CONNECTION_OK);
	do {
		ssize_t n = send(pair.client, block, sizeof(block), MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		if (n < 0)
			usleep(1000);
		c = only(pair.port);
	} while (verdict(&c, NULL) != CONNECTION_RECEIVE_BUFFER && ++steps < STEPS_MAX);
	verdict(&c, "receive buffer full: raise net.ipv4.tcp_rmem[2] to 32 MiB");
	CU_ASSERT(c.receive_queue > 0 && c.receive_queue <= sent);
	CU_ASSERT_EQUAL(c.bytes_received, c.receive_queue);
	CU_ASSERT(c.receive_used >= c.receive_queue);
	c = only(client_port(&pair));
	CU_ASSERT(c.send_queue > 0);
	CU_ASSERT(c.send_used >= c.send_queue);
	pair_close(&pair);
}

static int send_until_limited(const struct pair *pair, struct connection *c)
{
	static char block[65536];
	int steps, off = 0;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		/* The kernel falls back to acknowledging at once */
		setsockopt(pair->client, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
		if (send(pair->server, block, sizeof(block), MSG_DONTWAIT) < 0)
			usleep(1000);
		*c = only(pair->port);
		if (verdict(c, NULL) == CONNECTION_SEND_BUFFER)
			break;
		if (steps % 100 == 99)
			CU_ASSERT(read(pair->client, block, sizeof(block)) != 0);
	}
	return steps;
}

/*
 * All that fits the buffer is sent, the window is open, and the acknowledgement is delayed: nothing
 * but the buffer holds the sender back.
 */
static void a_small_send_buffer_shows(void)
{
	struct connection c;
	struct pair pair;
	int small = 1;

	pair_open4(&pair);
	setsockopt(pair.server, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	CU_ASSERT(send_until_limited(&pair, &c) < STEPS_MAX);
	CU_ASSERT(c.busy_us >= c.send_limited_us);
	CU_ASSERT(c.bytes_sent > 0);
	CU_ASSERT(c.send_limited_us > 0);
	pair_close(&pair);
}

/* ---- answers no kernel sends ---- */

static int listed_from(const void *data, size_t len)
{
	struct connections list = { 0 };
	uint16_t port = 1;
	int rc;

	script.active = true;
	script.data = data;
	script.len = len;
	rc = connections_list(&port, 1, 8, &list);
	CU_ASSERT(rc <= 0 && list.count <= 8 && list.count <= list.total);
	connections_free(&list);
	return rc;
}

/* A copy of exactly @len bytes: a sanitizer sees who reads beyond */
static int parsed_from(const uint8_t *data, size_t len)
{
	struct connection c;
	uint8_t *copy = malloc(len + (len == 0));
	int rc;

	memcpy(copy, data, len);
	rc = connection_parse(copy, len, &c);
	if (rc == 0)
		verdict(&c, NULL);
	free(copy);
	return rc;
}

static void record(void)
{
	struct pair pair;

	pair_open4(&pair);
	only(pair.port);
	pair_close(&pair);
	CU_ASSERT_FATAL(recorded_len > NLMSG_HDRLEN + sizeof(struct inet_diag_msg));
}

static void truncated_answers_are_harmless(void)
{
	size_t len;

	record();
	len = ((struct nlmsghdr *)recorded)->nlmsg_len - NLMSG_HDRLEN;
	CU_ASSERT_EQUAL(parsed_from(recorded + NLMSG_HDRLEN, len), 0);
	for (size_t cut = 0; cut < sizeof(struct inet_diag_msg); cut++)
		CU_ASSERT_EQUAL(parsed_from(recorded + NLMSG_HDRLEN, cut), -EBADMSG);
	for (size_t cut = sizeof(struct inet_diag_msg); cut < len; cut++)
		parsed_from(recorded + NLMSG_HDRLEN, cut);
	/* From 1: an answer of nothing is tested by itself */
	for (size_t cut = 1; cut < recorded_len; cut++)
		listed_from(recorded, cut);
}

static void mutated_answers_are_harmless(void)
{
	static _Alignas(struct nlmsghdr) uint8_t changed[sizeof(recorded)];
	uint64_t seed = 17;

	record();
	for (int round = 0; round < FUZZ_ROUNDS; round++) {
		size_t len = 1 + unit_below(&seed, recorded_len);
		bool wild = round % 3 == 0;

		memcpy(changed, recorded, recorded_len);
		for (uint64_t flips = wild ? len : 1 + unit_below(&seed, 8); flips > 0; flips--)
			changed[unit_below(&seed, recorded_len)] = (uint8_t)unit_random(&seed);
		if (round % FUZZ_LIST == 0)
			listed_from(changed, len);
		else if (len > NLMSG_HDRLEN)
			parsed_from(changed + NLMSG_HDRLEN, len - NLMSG_HDRLEN);
	}
}

static void errors_of_the_kernel_are_passed_on(void)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} answer = { .header = { .nlmsg_len = sizeof(answer), .nlmsg_type = NLMSG_ERROR },
		     .error = { .error = -ENOENT } };

	CU_ASSERT_EQUAL(listed_from(&answer, sizeof(answer)), -ENOENT);
	answer.error.error = 5;
	CU_ASSERT_EQUAL(listed_from(&answer, sizeof(answer)), -EBADMSG);
	answer.header.nlmsg_len = NLMSG_HDRLEN;
	CU_ASSERT_EQUAL(listed_from(&answer, sizeof(answer)), -EBADMSG);
	script.error = ENOBUFS;
	CU_ASSERT_EQUAL(listed_from(NULL, 0), -ENOBUFS);
	script.error = EINTR;
	CU_ASSERT_EQUAL(listed_from(NULL, 0), 0);
	CU_ASSERT_EQUAL(listed_from(recorded, sizeof(recorded) + 1), -EBADMSG);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "both ends are named", both_ends_are_named },
		{ "only the ports asked for", only_the_ports_asked_for },
		{ "a list has a limit and says so", a_list_has_a_limit_and_says_so },
		{ "bad questions are refused", bad_questions_are_refused },
		{ "a reader that stops fills the buffer", a_reader_that_stops_fills_the_buffer },
		{ "a small send buffer shows", a_small_send_buffer_shows },
		{ "truncated answers are harmless", truncated_answers_are_harmless },
		{ "mutated answers are harmless", mutated_answers_are_harmless },
		{ "errors of the kernel are passed on", errors_of_the_kernel_are_passed_on },
		CU_TEST_INFO_NULL,
	};

	return unit_run("connections", setup, tests);
}
