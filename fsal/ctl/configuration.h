/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a ganesha.conf says about our exports, and everything in it that is not valid, is dropped or
 * is not known.
 *
 * Judged are our own blocks, the sizes of our exports, and the few keys of other blocks that the
 * answer depends on. Whether the other exports and blocks are right is Ganesha's to say; only
 * syntax errors are reported for the whole file.
 */
#ifndef DROPBEHIND_CTL_CONFIGURATION_H
#define DROPBEHIND_CTL_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "findings.h"
#include "options.h"
#include "sizes.h"
#include "tree.h"

/** MaxRead, MaxWrite, PrefRead or PrefWrite of an export. */
struct asked_size {
	bool set; /* and valid */
	uint64_t bytes;
	struct place place; /* of the statement, or of the EXPORT block */
};

struct export_entry {
	int id; /* NO_EXPORT if missing or not valid */
	const char *path;
	struct place place;
	struct asked_size max[SIZE_DIRECTIONS];
	struct asked_size pref[SIZE_DIRECTIONS];
	struct option_values options;
	bool refused; /* something in it makes Ganesha refuse it */
};

struct configuration {
	struct tree tree;
	struct export_entry *exports;
	size_t count;
	struct option_values defaults; /* for the exports, from the DROPBEHIND block */
	bool defaults_bad;	       /* the module does not load: no export is served */
	uint64_t rpc_threads;
	uint64_t connections; /* at most */
	const char *recovery_root;
	struct findings findings;
};

/** "MaxRead", "PrefWrite", … */
const char *size_key(enum size_direction direction, bool preferred);

/** configuration_read - returns 0 or -errno (nothing to free then). */
int configuration_read(const char *path, struct configuration *ret_configuration);
void configuration_free(struct configuration *configuration);

/* syntax.c */

/** syntax_report - what the parser could not read, and statements without a value. */
void syntax_report(const struct tree *tree, struct findings *findings);

#endif
