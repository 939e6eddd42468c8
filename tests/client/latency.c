/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See latency.h. */
#include "latency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int latency_reserve(struct latency *latency, size_t n)
{
	latency->us = malloc(n * sizeof(*latency->us));
	latency->room = n;
	latency->used = 0;
	return latency->us || n == 0 ? 0 : -ENOMEM;
}

void latency_add(struct latency *latency, uint64_t ns)
{
	uint64_t us = ns / 1000;

	if (latency->used < latency->room)
		latency->us[latency->used++] = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

static int by_value(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The sample below which `thousandths` of all lie; the last one for 1000. */
static uint32_t rank(const struct latency *latency, unsigned int thousandths)
{
	size_t index = (latency->used * thousandths + 999) / 1000;

	return latency->used ? latency->us[index ? index - 1 : 0] : 0;
}

void latency_print(struct latency *latency)
{
	qsort(latency->us, latency->used, sizeof(*latency->us), by_value);
	printf("p50_us=%u\np99_us=%u\np999_us=%u\nmax_us=%u\n", rank(latency, 500),
	       rank(latency, 990), rank(latency, 999), rank(latency, 1000));
	free(latency->us);
	latency->us = NULL;
}
