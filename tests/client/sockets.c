/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the core library says of sockets and sizes, for scripts:
 *
 *	sockets needed read|write SIZE REQUESTS     the ceiling in bytes
 *	sockets list PORT NEEDED                    one line of key=value per connection
 *	sockets bench COUNT                         cost of listing COUNT loopback connections
 *
 * NEEDED is taken as the need of both directions. Exit status 0, 1 with the error, 64 usage.
 */
#include "connections.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 50

static int failed(const char *what, int rc)
{
	fprintf(stderr, "sockets: %s: %s\n", what, strerror(-rc));
	return 1;
}

static int needed(char **argv)
{
	enum size_direction direction = strcmp(argv[0], "read") == 0 ? SIZE_READ : SIZE_WRITE;

	printf("%" PRIu64 "\n", sizes_needed(direction, strtoull(argv[1], NULL, 10),
					     (unsigned int)strtoul(argv[2], NULL, 10)));
	return 0;
}

static void print(const struct connection *c, const struct size_ceilings *ceilings,
		  const uint64_t need[SIZE_DIRECTIONS])
{
	char peer[CONNECTION_END_TEXT], verdict[CONNECTION_VERDICT];

	connection_end_to_text(&c->peer, peer, sizeof(peer));
	connection_verdict(c, ceilings, need, verdict, sizeof(verdict));
	printf("peer=%s receive_queue=%u receive_used=%u receive_buffer=%u send_queue=%u "
	       "send_used=%u send_buffer=%u ",
	       peer, c->receive_queue, c->receive_used, c->receive_buffer, c->send_queue,
	       c->send_used, c->send_buffer);
	printf("own_window=%u busy_us=%" PRIu64 " send_limited_us=%" PRIu64
	       " peer_limited_us=%" PRIu64 " rtt_us=%u received=%" PRIu64 " acked=%" PRIu64
	       " verdict=%s\n",
	       c->own_window, c->busy_us, c->send_limited_us, c->peer_limited_us, c->rtt_us,
	       c->bytes_received, c->bytes_acked, verdict);
}

static int list(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[0], NULL, 10);
	uint64_t bytes = strtoull(argv[1], NULL, 10);
	uint64_t need[SIZE_DIRECTIONS] = { bytes, bytes };
	struct size_ceilings ceilings;
	struct connections found;
	int rc = sizes_ceilings_read("/proc", &ceilings);

	if (rc == 0)
		rc = connections_list(&port, 1, CONNECTIONS_MAX, &found);
	if (rc < 0)
		return failed("list", rc);
	for (unsigned int i = 0; i < found.count; i++)
		print(&found.item[i], &ceilings, need);
	connections_free(&found);
	return 0;
}

static double microseconds(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) * 1e6 +
	       (double)(to->tv_nsec - from->tv_nsec) / 1e3;
}

static int connect_many(int listener, const struct sockaddr_in *address, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
		    accept(listener, NULL, NULL) < 0)
			return -1;
	}
	return 0;
}

static int bench(char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct timespec from, to;
	struct connections found;
	uint16_t port;

	if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 16) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0 ||
	    connect_many(listener, &address, strtoul(argv[0], NULL, 10)) < 0) {
		perror("sockets: bench");
		return 1;
	}
	port = ntohs(address.sin_port);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < ROUNDS; i++) {
		int rc = connections_list(&port, 1, CONNECTIONS_MAX, &found);

		if (rc < 0)
			return failed("bench", rc);
		len = found.count;
		connections_free(&found);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("listed=%u us_per_call=%.0f\n", len, microseconds(&from, &to) / ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "needed") == 0)
		return needed(argv + 2);
	if (argc == 4 && strcmp(argv[1], "list") == 0)
		return list(argv + 2);
	if (argc == 3 && strcmp(argv[1], "bench") == 0)
		return bench(argv + 2);
	fprintf(stderr, "usage: sockets needed read|write SIZE REQUESTS | list PORT NEEDED | "
			"bench COUNT\n");
	return 64;
}
