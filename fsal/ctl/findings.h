/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a check found: one line each, in the order found.
 */
#ifndef DROPBEHIND_CTL_FINDINGS_H
#define DROPBEHIND_CTL_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "json.h"

enum finding_kind {
	FINDING_WRONG,	 /* a value that is refused */
	FINDING_DROPPED, /* a statement that Ganesha does not see */
	FINDING_UNKNOWN, /* a key that Ganesha ignores */
	FINDING_SHORT,	 /* socket buffers that don't carry what was asked */
	FINDING_WARNING, /* served as asked, but look at it */
	FINDING_NOTE,
	FINDING_KINDS
};

#define NO_EXPORT (-1)

/** What a finding is about. file may be NULL; strings are copied. */
struct about {
	const char *file;
	int line;
	int export_id; /* or NO_EXPORT */
	const char *key;
	const char *value;
};

struct finding {
	enum finding_kind kind;
	char *file;
	int line;
	int export_id;
	char *key;   /* NULL if it is about no key */
	char *value; /* as written */
	char *text;
};

struct findings {
	struct finding *list;
	size_t count;
	size_t of_kind[FINDING_KINDS];
};

/** finding_add - a line; ends the program if there is no memory. */
void finding_add(struct findings *findings, enum finding_kind kind, const struct about *about,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
void findings_free(struct findings *findings);

/** findings_bad - is anything short, wrong, dropped or unknown? */
bool findings_bad(const struct findings *findings);

/** findings_print - the lines; from FINDING_SHORT on only if @all. */
void findings_print(const struct findings *findings, bool all, FILE *to);

/** findings_summary - "1 short, 2 wrong" or "fine". */
void findings_summary(const struct findings *findings, FILE *to);

/** findings_json - members "findings" and "result" of the object that is open. */
void findings_json(const struct findings *findings, struct json *json);

#endif
