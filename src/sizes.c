/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sizes and socket buffers: see sizes.h for the arithmetic and where it comes from. */
#include "sizes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const check_name[SOCKET_CHECK_COUNT] = {
	[SOCKET_CHECK_WARN] = "Warn",
	[SOCKET_CHECK_CLAMP] = "Clamp",
	[SOCKET_CHECK_REFUSE] = "Refuse",
	[SOCKET_CHECK_OFF] = "Off",
};

/* Memory charged for a hundred bytes of payload */
static const unsigned int charged[SIZE_DIRECTIONS] = {
	[SIZE_READ] = 113,
	[SIZE_WRITE] = 200,
};

const char *socket_check_name(enum socket_check check)
{
	return (unsigned int)check < SOCKET_CHECK_COUNT ? check_name[check] : "invalid";
}

int socket_check_parse(const char *name, enum socket_check *ret_check)
{
	for (unsigned int i = 0; i < SOCKET_CHECK_COUNT; i++) {
		if (strcasecmp(name, check_name[i]) == 0) {
			*ret_check = (enum socket_check)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *size_sysctl(enum size_direction direction)
{
	return direction == SIZE_READ ? "net.ipv4.tcp_wmem" : "net.ipv4.tcp_rmem";
}

static int ceiling_read(const char *proc, enum size_direction direction,
			struct size_ceilings *ceilings, bool *ret_writable)
{
	unsigned long long min, initial, max;
	char path[256];
	FILE *file;
	int fields;

	snprintf(path, sizeof(path), "%s/sys/net/ipv4/%s", proc,
		 strrchr(size_sysctl(direction), '.') + 1);
	file = fopen(path, "re");
	if (file == NULL)
		return -errno;
	fields = fscanf(file, "%llu %llu %llu", &min, &initial, &max);
	fclose(file);
	/* The kernel keeps them as int; a negative number comes out of scanf as a huge one */
	if (fields != 3 || max == 0 || max > SIZE_SYSCTL_LIMIT)
		return -EPROTO;
	ceilings->min[direction] = min;
	ceilings->initial[direction] = initial;
	ceilings->bytes[direction] = max;
	*ret_writable = access(path, W_OK) == 0;
	return 0;
}

int sizes_ceilings_read(const char *proc, struct size_ceilings *ret_ceilings)
{
	struct size_ceilings ceilings = { .writable = true };
	bool writable = false;
	int rc;

	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		rc = ceiling_read(proc, d, &ceilings, &writable);
		if (rc != 0)
			return rc;
		ceilings.writable = ceilings.writable && writable;
	}
	*ret_ceilings = ceilings;
	return 0;
}

uint64_t sizes_needed(enum size_direction direction, uint64_t size, unsigned int requests)
{
	return (requests * (size + SIZE_RPC_HEADER) * charged[direction] + 99) / 100;
}

uint64_t sizes_carried(enum size_direction direction, uint64_t ceiling, unsigned int requests)
{
	uint64_t size = SIZE_LIMIT_MAX;

	while (size >= SIZE_LIMIT_MIN && sizes_needed(direction, size, requests) > ceiling)
		size /= 2;
	return size >= SIZE_LIMIT_MIN ? size : 0;
}

static uint64_t at_least(uint64_t value, uint64_t floor)
{
	return value < floor ? floor : value;
}

static uint64_t at_most(uint64_t value, uint64_t cap)
{
	return value > cap ? cap : value;
}

void sizes_offer(enum size_direction direction, const struct size_wish *wish,
		 const struct size_ceilings *ceilings, const struct size_rules *rules,
		 struct size_offer *ret_offer)
{
	enum socket_check check = rules->check;
	unsigned int requests = rules->requests;
	uint64_t ceiling = ceilings->bytes[direction];
	uint64_t fits = at_least(sizes_carried(direction, ceiling, requests), SIZE_AUTO_MIN);
	struct size_offer offer = { .ceiling = ceiling, .max = wish->max };

	if (!wish->set)
		offer.max = at_least(at_most(fits, SIZE_AUTO_MAX), wish->in_force);
	offer.needed = sizes_needed(direction, offer.max, requests);
	offer.is_short = check != SOCKET_CHECK_OFF && offer.needed > ceiling;
	/* What fits is served as asked, though it be no power of two */
	if (wish->set && offer.is_short && check == SOCKET_CHECK_CLAMP)
		offer.max = at_most(wish->max, at_least(fits, wish->in_force));
	offer.refused = offer.is_short && wish->set && check == SOCKET_CHECK_REFUSE;
	*ret_offer = offer;
}

void sizes_command(enum size_direction direction, const struct size_ceilings *ceilings,
		   uint64_t needed, char *text)
{
	text[0] = '\0';
	if (needed <= SIZE_SYSCTL_LIMIT)
		snprintf(text, SIZE_COMMAND_TEXT,
			 "sysctl -w %s=\"%" PRIu64 " %" PRIu64 " %" PRIu64 "\"",
			 size_sysctl(direction), ceilings->min[direction],
			 ceilings->initial[direction], needed);
}

void sizes_remedy(enum size_direction direction, const struct size_ceilings *ceilings,
		  uint64_t needed, char *text)
{
	const char *key = direction == SIZE_READ ? "MaxRead" : "MaxWrite";
	char command[SIZE_COMMAND_TEXT];

	sizes_command(direction, ceilings, needed, command);
	if (command[0] == '\0')
		snprintf(text, SIZE_REMEDY_TEXT,
			 "no sysctl holds more than %d: lower Socket_Requests or %s",
			 SIZE_SYSCTL_LIMIT, key);
	else
		snprintf(text, SIZE_REMEDY_TEXT, "%s%s", command,
			 ceilings->writable ? ""
					    : " (/proc/sys is read-only here: in a pod, "
					      "securityContext.sysctls)");
}

void sizes_memory(uint64_t max_read, uint64_t max_write, unsigned int rpc_threads,
		  struct size_memory *ret_memory)
{
	ret_memory->per_connection = max_write + SIZE_RPC_HEADER;
	ret_memory->workers = rpc_threads * (max_read + max_write);
}
