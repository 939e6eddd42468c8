/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* JSON: see json.h. */
#include "json.h"

#include <inttypes.h>
#include <string.h>

/* Length of the UTF-8 sequence at @text (RFC 3629, table in section 4), 0 if there is none */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first, last; /* of the leading byte */
		unsigned char low, high;   /* of the second */
		size_t length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (text[0] < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (text[1] < forms[i].low || text[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

static void write_string(FILE *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', to);
	while (*at != '\0') {
		size_t length = utf8_length(at);

		if (length == 0)
			fputs("\\ufffd", to);
		else if (*at == '"' || *at == '\\')
			fprintf(to, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(to, "\\u%04x", *at);
		else
			fwrite(at, 1, length, to);
		at += length == 0 ? 1 : length;
	}
	fputc('"', to);
}

static void new_line(struct json *json)
{
	fputc('\n', json->to);
	for (unsigned int i = 0; i < json->depth; i++)
		fputs("  ", json->to);
}

static void next(struct json *json, const char *name)
{
	if (!json->first)
		fputc(',', json->to);
	if (json->depth > 0)
		new_line(json);
	json->first = false;
	if (name == NULL)
		return;
	write_string(json->to, name);
	fputs(": ", json->to);
}

static void open_bracket(struct json *json, const char *name, char bracket)
{
	next(json, name);
	fputc(bracket, json->to);
	json->depth++;
	json->first = true;
}

static void close_bracket(struct json *json, char bracket)
{
	bool empty = json->first;

	json->depth--;
	json->first = false;
	if (!empty)
		new_line(json);
	fputc(bracket, json->to);
}

void json_begin(struct json *json, FILE *to)
{
	*json = (struct json){ .to = to, .first = true };
}

void json_end(struct json *json)
{
	fputc('\n', json->to);
}

void json_object(struct json *json, const char *name)
{
	open_bracket(json, name, '{');
}

void json_array(struct json *json, const char *name)
{
	open_bracket(json, name, '[');
}

void json_close_object(struct json *json)
{
	close_bracket(json, '}');
}

void json_close_array(struct json *json)
{
	close_bracket(json, ']');
}

void json_string(struct json *json, const char *name, const char *value)
{
	if (value == NULL) {
		json_null(json, name);
		return;
	}
	next(json, name);
	write_string(json->to, value);
}

void json_number(struct json *json, const char *name, uint64_t value)
{
	next(json, name);
	fprintf(json->to, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *name, bool value)
{
	next(json, name);
	fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *name)
{
	next(json, name);
	fputs("null", json->to);
}
