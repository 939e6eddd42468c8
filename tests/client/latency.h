/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Every latency of a run, in microseconds; percentiles by sorting at the end. */
#ifndef NFSCLIENT_LATENCY_H
#define NFSCLIENT_LATENCY_H

#include <stddef.h>
#include <stdint.h>

struct latency {
	uint32_t *us;
	size_t used, room;
};

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t now_ns(void);
/* Seconds of CPU that this process has used, user and system. */
double cpu_seconds(void);

/* Makes room for n samples. Returns 0 or -ENOMEM. */
int latency_reserve(struct latency *latency, size_t n);
/* Records a duration; samples beyond the reserved room are dropped. */
void latency_add(struct latency *latency, uint64_t ns);
/* Prints p50_us, p99_us, p999_us, max_us; frees the samples. */
void latency_print(struct latency *latency);

#endif
