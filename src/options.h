/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The options of an export, from text to values. Ganesha's own converters never name the key and
 * turn a misspelt word silently into the default, so the adapter takes every value as text and
 * this module judges it. The list itself is config/options.def.
 */
#ifndef DROPBEHIND_OPTIONS_H
#define DROPBEHIND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sizes.h"
#include "strategy.h"

/** OPTION_Write_Mode, … : index into the arrays below. */
enum option_id {
#define OPTION(key, kind, def, min, max, live, doc) OPTION_##key,
#include "options.def"
#undef OPTION
	OPTION_COUNT
};

enum option_kind {
	OPTION_KIND_MODE,
	OPTION_KIND_CHECK,
	OPTION_KIND_BOOL,
	OPTION_KIND_COUNT,
	OPTION_KIND_BYTES,
};

struct option_spec {
	const char *key;
	enum option_kind kind;
	uint64_t def;
	uint64_t min; /* in the unit of the kind */
	uint64_t max;
	bool live;
	const char *doc;
};

extern const struct option_spec option_specs[OPTION_COUNT];

/** Values as written in the configuration; NULL where a key was not given. */
struct option_texts {
	char *text[OPTION_COUNT];
};

/** Values in force; those of kind MODE are an enum io_mode, of CHECK an enum socket_check. */
struct option_values {
	uint64_t value[OPTION_COUNT];
};

/** What is wrong with a value, for one clear line. */
struct option_error {
	const char *key;   /* as in the list */
	const char *value; /* points into the texts */
	char want[96];	   /* "one of Auto, Dontcache, …" or "1048576..1073741824 bytes, …" */
};

void options_defaults(struct option_values *ret_values);

/**
 * options_parse - judge @texts; keys not given take their value from @defaults.
 * On success fills @ret_values and returns 0. On the first bad value fills @ret_error, leaves
 * @ret_values untouched and returns -EINVAL (not understood) or -ERANGE.
 */
int options_parse(const struct option_texts *texts, const struct option_values *defaults,
		  struct option_values *ret_values, struct option_error *ret_error);

/**
 * options_to_text - "Write_Mode = Auto; …" into @buf of @size bytes, always terminated.
 * Returns the length that was needed, as snprintf(3).
 */
size_t options_to_text(const struct option_values *values, char *buf, size_t size);

/** One difference between two sets of values. */
struct option_change {
	const char *key;
	char from[24];
	char to[24];
};

/**
 * options_diff - the keys whose values differ. Returns how many were stored.
 */
unsigned int options_diff(const struct option_values *from, const struct option_values *to,
			  struct option_change ret_changes[OPTION_COUNT]);

#endif
