/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Writes strict JSON (RFC 8259), one value after the other; commas and indentation come by
 * themselves. A name is given for members of an object and is NULL in an array.
 *
 * Strings may hold any bytes: what is not UTF-8 becomes U+FFFD.
 */
#ifndef DROPBEHIND_CTL_JSON_H
#define DROPBEHIND_CTL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	unsigned int depth;
	bool first; /* no comma before the next value */
};

void json_begin(struct json *json, FILE *to);
void json_end(struct json *json); /* the last newline */

void json_object(struct json *json, const char *name);
void json_array(struct json *json, const char *name);
void json_close_object(struct json *json);
void json_close_array(struct json *json);

void json_string(struct json *json, const char *name, const char *value); /* NULL: null */
void json_number(struct json *json, const char *name, uint64_t value);
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

#endif
