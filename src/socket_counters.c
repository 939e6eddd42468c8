/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Counters of the network namespace: see socket_counters.h. netstat and snmp hold pairs of lines,
 * "TcpExt: name name ..." and "TcpExt: value value ..."; snmp6 one "name value" a line.
 */
#include "socket_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counter_place {
	const char *line, *key, *name;
};

static const struct counter_place place[SOCKET_COUNTER_COUNT] = {
#define SOCKET_COUNTER_PLACE(counter, line_, key_)                                                 \
	[SOCKET_##counter] = { .line = line_, .key = key_, .name = key_ },
	SOCKET_COUNTERS(SOCKET_COUNTER_PLACE)
};

const char *socket_counter_name(enum socket_counter counter)
{
	switch (counter) {
	case SOCKET_UDP_IN_ERRORS:
		return "UdpInErrors";
	case SOCKET_UDP_RECEIVE_BUFFER_ERRORS:
		return "UdpRcvbufErrors";
	case SOCKET_UDP_SEND_BUFFER_ERRORS:
		return "UdpSndbufErrors";
	default:
		return (unsigned int)counter < SOCKET_COUNTER_COUNT ? place[counter].name
								    : "invalid";
	}
}

static void add(struct socket_counters *counters, const char *line, const char *key, uint64_t value)
{
	for (unsigned int i = 0; i < SOCKET_COUNTER_COUNT; i++)
		if (strcmp(place[i].line, line) == 0 && strcmp(place[i].key, key) == 0)
			counters->value[i] += value;
}

/* The two lines are cut into words */
static int take_pair(char *names, char *values, struct socket_counters *counters)
{
	char *name_at = NULL, *value_at = NULL, *end;
	const char *line = strtok_r(names, " \n", &name_at);
	const char *again = strtok_r(values, " \n", &value_at);

	if (line == NULL || again == NULL || strcmp(line, again) != 0)
		return -EPROTO;
	for (;;) {
		const char *key = strtok_r(NULL, " \n", &name_at);
		const char *value = strtok_r(NULL, " \n", &value_at);

		if (key == NULL && value == NULL)
			return 0;
		if (key == NULL || value == NULL)
			return -EPROTO;
		/* Tcp: MaxConn is -1; nothing else is negative, and nothing here uses it */
		add(counters, line, key, strtoull(value, &end, 10));
		if (*end != '\0')
			return -EPROTO;
	}
}

static FILE *open_below(const char *proc, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/net/%s", proc, name);
	return fopen(path, "re");
}

static int read_pairs(const char *proc, const char *name, struct socket_counters *counters)
{
	FILE *file = open_below(proc, name);
	char *names = NULL, *values = NULL;
	size_t names_room = 0, values_room = 0;
	int rc = file == NULL ? -errno : 0;

	if (file == NULL)
		return rc;
	while (rc == 0 && getline(&names, &names_room, file) > 0)
		rc = getline(&values, &values_room, file) > 0 ? take_pair(names, values, counters)
							      : -EPROTO;
	fclose(file);
	free(names);
	free(values);
	return rc;
}

static void read_udp6(const char *proc, struct socket_counters *counters)
{
	FILE *file = open_below(proc, "snmp6");
	char line[256], key[64];
	uint64_t value;

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "Udp6%63s %" SCNu64, key, &value) == 2)
			add(counters, "Udp:", key, value);
	fclose(file);
}

int socket_counters_read(const char *proc, struct socket_counters *ret_counters)
{
	struct socket_counters counters = { 0 };
	int rc = read_pairs(proc, "netstat", &counters);

	if (rc == 0)
		rc = read_pairs(proc, "snmp", &counters);
	if (rc != 0)
		return rc;
	read_udp6(proc, &counters);
	*ret_counters = counters;
	return 0;
}
