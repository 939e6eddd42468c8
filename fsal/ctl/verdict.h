/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the exports of a configuration would be served with, as the module decides it
 * (fsal/export_sizes.c), with the socket buffers' ceilings of the calling network namespace.
 */
#ifndef DROPBEHIND_CTL_VERDICT_H
#define DROPBEHIND_CTL_VERDICT_H

#include "configuration.h"

struct export_verdict {
	const struct export_entry *entry;
	struct size_offer offer[SIZE_DIRECTIONS];
	uint64_t pref[SIZE_DIRECTIONS]; /* served, bytes */
	bool refused;			/* not served at all */
};

struct verdict {
	struct configuration *configuration;
	struct size_ceilings ceilings;
	struct export_verdict *exports; /* as many as the configuration has */
	struct size_memory memory;	/* the largest over the exports */
};

/**
 * verdict_make - judge all exports; findings go to @configuration, which must outlive the verdict.
 * Returns 0 or -errno: the sysctls can't be read.
 */
int verdict_make(struct configuration *configuration, struct verdict *ret_verdict);
void verdict_free(struct verdict *verdict);

/**
 * verdict_largest - the export with the largest need in @direction, NULL if none has one: exports
 * that are switched off (Socket_Check = Off) or need more than a sysctl holds don't count.
 */
const struct export_verdict *verdict_largest(const struct verdict *verdict,
					     enum size_direction direction);

#endif
