/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dropbehindctl connections: the TCP connections of an NFS server, their socket buffers and what
 * limits each. Asks the kernel, not the daemon: any server's port can be looked at.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "connections.h"
#include "daemons.h"
#include "json.h"
#include "socket_counters.h"

#define NFS_PORT 2049
#define REQUESTS 4     /* Socket_Requests, its default */
#define PEER_COLUMN 23 /* "255.255.255.255:65535" and some; IPv6 gets its own line */

struct query {
	uint16_t ports[CONNECTION_PORTS_MAX];
	unsigned int port_count;
	uint64_t size; /* of the largest request, bytes */
	bool json;
	struct size_ceilings ceilings;
	uint64_t needed[SIZE_DIRECTIONS];
	struct socket_counters counters;
};

static const char *const limit_name[] = {
	[CONNECTION_SEND_BUFFER] = "send_buffer",
	[CONNECTION_RECEIVE_BUFFER] = "receive_buffer",
	[CONNECTION_NETWORK] = "network",
	[CONNECTION_CLIENT] = "client",
	[CONNECTION_OK] = "none",
};

static enum connection_limit judge(const struct query *query, const struct connection *connection,
				   char *text, size_t size)
{
	return connection_verdict(connection, &query->ceilings, query->needed, text, size);
}

/* --- text --- */

static uint64_t kib(uint64_t bytes)
{
	return (bytes + 1023) / 1024;
}

static void print_connection(const struct query *query, const struct connection *c)
{
	char peer[CONNECTION_END_TEXT], verdict[CONNECTION_VERDICT];

	connection_end_to_text(&c->peer, peer, sizeof(peer));
	if (strlen(peer) > PEER_COLUMN) {
		printf("%s\n", peer);
		peer[0] = '\0';
	}
	judge(query, c, verdict, sizeof(verdict));
	printf("%-*s %8" PRIu64 " %8" PRIu64 " %4u%% %8" PRIu64 " %8" PRIu64 " %6" PRIu32
	       " %6" PRIu32 "\n",
	       PEER_COLUMN, peer, kib(c->send_buffer), kib(c->send_used),
	       connection_share(c->send_limited_us, c->busy_us), kib(c->receive_buffer),
	       kib(c->receive_used), c->retransmits, c->drops);
	printf("  %s\n", verdict);
}

static void print_port(const struct query *query, const struct connections *list, uint16_t port)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < list->count; i++)
		count += list->item[i].local.port == port;
	printf("port %" PRIu16 ": %u connection%s\n", port, count, count == 1 ? "" : "s");
	if (count == 0)
		return;
	printf("%-*s %8s %8s %5s %8s %8s %6s %6s\n", PEER_COLUMN, "peer", "send KiB", "used",
	       "full", "recv KiB", "used", "resent", "drops");
	for (unsigned int i = 0; i < list->count; i++)
		if (list->item[i].local.port == port)
			print_connection(query, &list->item[i]);
}

static void print_counters(const struct query *query)
{
	bool any = false;

	printf("since this network namespace began:");
	for (int i = 0; i < SOCKET_COUNTER_COUNT; i++) {
		if (query->counters.value[i] == 0)
			continue;
		printf("\n  %-24s %12" PRIu64, socket_counter_name(i), query->counters.value[i]);
		any = true;
	}
	printf("%s\n", any ? "" : " nothing dropped, pruned or sent again");
}

static void print_text(const struct query *query, const struct connections *list)
{
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		printf("%s[2] = %" PRIu64 "; %d requests of %" PRIu64 " bytes need %" PRIu64 "\n",
		       size_sysctl(d), query->ceilings.bytes[d], REQUESTS, query->size,
		       query->needed[d]);
	for (unsigned int i = 0; i < query->port_count; i++)
		print_port(query, list, query->ports[i]);
	if (list->total > list->count)
		printf("%u more are not listed\n", list->total - list->count);
	print_counters(query);
}

/* --- JSON --- */

static void json_end_point(struct json *json, const char *name, const struct connection_end *end)
{
	char text[CONNECTION_END_TEXT];

	connection_end_to_text(end, text, sizeof(text));
	json_string(json, name, text);
}

static void json_memory(struct json *json, const struct connection *c)
{
	const struct {
		const char *name;
		uint32_t value;
	} members[] = {
		{ "send_buffer", c->send_buffer },
		{ "send_used", c->send_used },
		{ "receive_buffer", c->receive_buffer },
		{ "receive_used", c->receive_used },
		{ "drops", c->drops },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (c->has_memory)
			json_number(json, members[i].name, members[i].value);
		else
			json_null(json, members[i].name);
	}
}

static void json_info(struct json *json, const struct connection *c)
{
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "busy_us", c->busy_us },
		{ "send_limited_us", c->send_limited_us },
		{ "send_limited_percent", connection_share(c->send_limited_us, c->busy_us) },
		{ "peer_limited_us", c->peer_limited_us },
		{ "bytes_sent", c->bytes_sent },
		{ "bytes_received", c->bytes_received },
		{ "bytes_retransmitted", c->bytes_retransmitted },
		{ "retransmits", c->retransmits },
		{ "rtt_us", c->rtt_us },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (c->has_info)
			json_number(json, members[i].name, members[i].value);
		else
			json_null(json, members[i].name);
	}
}

static void json_connection(struct json *json, const struct query *query,
			    const struct connection *c)
{
	char verdict[CONNECTION_VERDICT];
	enum connection_limit limit = judge(query, c, verdict, sizeof(verdict));

	json_object(json, NULL);
	json_end_point(json, "local", &c->local);
	json_end_point(json, "peer", &c->peer);
	json_number(json, "receive_queue", c->receive_queue);
	json_number(json, "send_queue", c->send_queue);
	json_memory(json, c);
	json_info(json, c);
	json_string(json, "limit", limit_name[limit]);
	json_string(json, "verdict", verdict);
	json_close_object(json);
}

static void print_json(const struct query *query, const struct connections *list)
{
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	json_array(&json, "ports");
	for (unsigned int i = 0; i < query->port_count; i++)
		json_number(&json, NULL, query->ports[i]);
	json_close_array(&json);
	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		json_object(&json, d == SIZE_READ ? "send" : "receive");
		json_string(&json, "sysctl", size_sysctl(d));
		json_number(&json, "ceiling", query->ceilings.bytes[d]);
		json_number(&json, "needed", query->needed[d]);
		json_close_object(&json);
	}
	json_object(&json, "counters");
	for (int i = 0; i < SOCKET_COUNTER_COUNT; i++)
		json_number(&json, socket_counter_name(i), query->counters.value[i]);
	json_close_object(&json);
	json_number(&json, "total", list->total);
	json_array(&json, "connections");
	for (unsigned int i = 0; i < list->count; i++)
		json_connection(&json, query, &list->item[i]);
	json_close_array(&json);
	json_close_object(&json);
	json_end(&json);
}

/* --- the command --- */

/* No connection: is it idle, or is the server somewhere else? */
static enum exit_code say_none(const struct query *query)
{
	struct daemons daemons = { 0 };

	(void)daemons_find("/proc", &daemons);
	if (daemons.here) {
		fprintf(stderr, "no client is connected (ganesha.nfsd runs in this network "
				"namespace; its port may be another: --port)\n");
		return CTL_FINE;
	}
	if (daemons.elsewhere != 0)
		fprintf(stderr,
			"ganesha.nfsd runs in another network namespace: try\n"
			"  nsenter -t %d -n dropbehindctl connections --port %" PRIu16 "\n",
			(int)daemons.elsewhere, query->ports[0]);
	else if (daemons.unreadable != 0)
		fprintf(stderr,
			"ganesha.nfsd runs as process %d; only root can see in which network "
			"namespace\n",
			(int)daemons.unreadable);
	else
		fprintf(stderr, "no ganesha.nfsd runs, as far as /proc shows\n");
	return CTL_UNAVAILABLE;
}

static enum exit_code limited(const struct query *query, const struct connections *list)
{
	char text[CONNECTION_VERDICT];

	for (unsigned int i = 0; i < list->count; i++)
		if (judge(query, &list->item[i], text, sizeof(text)) <= CONNECTION_RECEIVE_BUFFER)
			return CTL_FOUND;
	return CTL_FINE;
}

static enum exit_code ask(struct query *query)
{
	struct connections list;
	enum exit_code code;
	int rc = sizes_ceilings_read("/proc", &query->ceilings);

	if (rc == 0)
		rc = socket_counters_read("/proc", &query->counters);
	if (rc == 0)
		rc = connections_list(query->ports, query->port_count, CONNECTIONS_MAX, &list);
	if (rc != 0) {
		fprintf(stderr, "dropbehindctl connections: the kernel does not tell: %s\n",
			rc == -ENOENT ? "it has no tcp_diag" : strerror(-rc));
		return CTL_UNAVAILABLE;
	}
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		query->needed[d] = sizes_needed(d, query->size, REQUESTS);
	if (query->json)
		print_json(query, &list);
	else
		print_text(query, &list);
	code = list.total == 0 ? say_none(query) : limited(query, &list);
	connections_free(&list);
	return code;
}

static bool number_of(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number < min ||
	    number > max)
		return false;
	*ret_number = number;
	return true;
}

static enum exit_code take_port(struct query *query, const char *text)
{
	uint64_t port;

	if (!number_of(text, 1, UINT16_MAX, &port))
		return usage_error(&connections_command, "a port is 1 to 65535, not", text);
	if (query->port_count == CONNECTION_PORTS_MAX)
		return usage_error(&connections_command, "too many ports", NULL);
	for (unsigned int i = 0; i < query->port_count; i++)
		if (query->ports[i] == port)
			return CTL_FINE;
	query->ports[query->port_count++] = (uint16_t)port;
	return CTL_FINE;
}

static enum exit_code parse(int argc, char **argv, struct query *query)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "port", required_argument, NULL, 'p' },
		{ "size", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	enum exit_code code = CTL_FINE;
	int option;

	opterr = 0;
	while (code == CTL_FINE && (option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == 'j')
			query->json = true;
		else if (option == 'p')
			code = take_port(query, optarg);
		else if (option != 's')
			code = usage_error(&connections_command,
					   option == ':' ? "value missing" : "no such option",
					   argv[optind - 1]);
		else if (!number_of(optarg, SIZE_LIMIT_MIN, SIZE_LIMIT_MAX, &query->size))
			code = usage_error(&connections_command,
					   "a size is 512 to 67108864 bytes, not", optarg);
	}
	if (code == CTL_FINE && optind < argc)
		code = usage_error(&connections_command, "not understood", argv[optind]);
	return code;
}

static enum exit_code run(int argc, char **argv)
{
	struct query query = { .size = SIZE_AUTO_MIN };
	enum exit_code code = parse(argc, argv, &query);

	if (code != CTL_FINE)
		return code;
	if (query.port_count == 0)
		query.ports[query.port_count++] = NFS_PORT;
	return ask(&query);
}

const struct command connections_command = {
	.name = "connections",
	.arguments = "[--port N]... [--size BYTES] [--json]",
	.summary = "TCP connections of the server: socket buffers and what limits each",
	.help = "Asks the kernel for the TCP connections of the NFS server in this network\n"
		"namespace (for another: nsenter -t PID -n dropbehindctl connections).\n\n"
		"  send KiB, recv KiB  size of the socket's buffer now; it grows up to\n"
		"                      net.ipv4.tcp_wmem[2] and tcp_rmem[2]\n"
		"  used                memory that the data in it takes\n"
		"  full                share of the busy time in which the send buffer was full\n"
		"  resent, drops       segments sent again; packets dropped here\n\n"
		"  --port N      the server's port (2049); may be given again\n"
		"  --size BYTES  largest request that clients send (1048576, as Linux does)\n"
		"  --json        print JSON instead; all sizes in bytes\n\n"
		"Exit status: 0 fine, 1 a socket buffer limits a connection, 64 usage,\n"
		"69 the kernel does not tell, or no server is seen from here.\n",
	.run = run,
};
