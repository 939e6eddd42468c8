/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Options from text to values: see options.h. What a kind means is in the table `kinds`. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct option_spec option_specs[OPTION_COUNT] = {
#define OPTION(key, kind, def, min, max, live, doc)                                                \
	{ #key, OPTION_KIND_##kind, def, min, max, live, doc },
#include "options.def"
#undef OPTION
};

/* Decimal digits and nothing else: strtoull() alone takes "-1", " 1" and "8M" */
static int parse_number(const struct option_spec *spec, const char *text, uint64_t *ret_value)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long long number;

	if (digits == 0 || text[digits] != '\0')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, NULL, 10);
	if (errno == ERANGE || number < spec->min || number > spec->max)
		return -ERANGE;
	*ret_value = number;
	return 0;
}

static void format_number(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64, value);
}

static void want_bytes(const struct option_spec *spec, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64 "..%" PRIu64 " bytes, digits only", spec->min, spec->max);
}

static void want_count(const struct option_spec *spec, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64 "..%" PRIu64, spec->min, spec->max);
}

/* The words of Ganesha's own converter, config_parsing.c */
static int parse_bool(const struct option_spec *spec, const char *text, uint64_t *ret_value)
{
	static const char *const words[2][3] = {
		{ "false", "no", "off" },
		{ "true", "yes", "on" },
	};

	(void)spec;
	for (unsigned int i = 0; i < 6; i++) {
		if (strcasecmp(text, words[i / 3][i % 3]) != 0)
			continue;
		*ret_value = i / 3;
		return 0;
	}
	return -EINVAL;
}

static void format_bool(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", value != 0 ? "true" : "false");
}

static void want_bool(const struct option_spec *spec, char *buf, size_t size)
{
	(void)spec;
	snprintf(buf, size, "true or false");
}

static int parse_check(const struct option_spec *spec, const char *text, uint64_t *ret_value)
{
	enum socket_check check;
	int rc = socket_check_parse(text, &check);

	(void)spec;
	if (rc == 0)
		*ret_value = check;
	return rc;
}

static void format_check(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", socket_check_name((enum socket_check)value));
}

static void want_check(const struct option_spec *spec, char *buf, size_t size)
{
	(void)spec;
	snprintf(buf, size, "one of %s, %s, %s, %s", socket_check_name(SOCKET_CHECK_WARN),
		 socket_check_name(SOCKET_CHECK_CLAMP), socket_check_name(SOCKET_CHECK_REFUSE),
		 socket_check_name(SOCKET_CHECK_OFF));
}

static int parse_mode(const struct option_spec *spec, const char *text, uint64_t *ret_value)
{
	enum io_mode mode;
	int rc = io_mode_parse(text, &mode);

	(void)spec;
	if (rc == 0)
		*ret_value = mode;
	return rc;
}

static void format_mode(uint64_t value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", io_mode_name((enum io_mode)value));
}

static void want_mode(const struct option_spec *spec, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "one of ");

	(void)spec;
	for (int mode = 0; mode < IO_MODE_COUNT && used < size; mode++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", mode > 0 ? ", " : "",
					 io_mode_name((enum io_mode)mode));
}

static const struct {
	int (*parse)(const struct option_spec *spec, const char *text, uint64_t *ret_value);
	void (*format)(uint64_t value, char *buf, size_t size);
	void (*want)(const struct option_spec *spec, char *buf, size_t size);
} kinds[] = {
	[OPTION_KIND_MODE] = { parse_mode, format_mode, want_mode },
	[OPTION_KIND_CHECK] = { parse_check, format_check, want_check },
	[OPTION_KIND_BOOL] = { parse_bool, format_bool, want_bool },
	[OPTION_KIND_COUNT] = { parse_number, format_number, want_count },
	[OPTION_KIND_BYTES] = { parse_number, format_number, want_bytes },
};

void options_defaults(struct option_values *ret_values)
{
	for (unsigned int i = 0; i < OPTION_COUNT; i++)
		ret_values->value[i] = option_specs[i].def;
}

int options_parse(const struct option_texts *texts, const struct option_values *defaults,
		  struct option_values *ret_values, struct option_error *ret_error)
{
	struct option_values values = *defaults;

	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		int rc = 0;

		if (texts->text[i] != NULL)
			rc = kinds[spec->kind].parse(spec, texts->text[i], &values.value[i]);
		if (rc == 0)
			continue;
		ret_error->key = spec->key;
		ret_error->value = texts->text[i];
		kinds[spec->kind].want(spec, ret_error->want, sizeof(ret_error->want));
		return rc;
	}
	*ret_values = values;
	return 0;
}

size_t options_to_text(const struct option_values *values, char *buf, size_t size)
{
	char value[24];
	size_t used = 0;

	if (size > 0)
		buf[0] = '\0';
	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		size_t room = used < size ? size - used : 0;

		kinds[spec->kind].format(values->value[i], value, sizeof(value));
		used += (size_t)snprintf(room > 0 ? buf + used : NULL, room, "%s%s = %s;",
					 i > 0 ? " " : "", spec->key, value);
	}
	return used;
}

unsigned int options_diff(const struct option_values *from, const struct option_values *to,
			  struct option_change ret_changes[OPTION_COUNT])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		struct option_change *change = &ret_changes[count];

		if (from->value[i] == to->value[i])
			continue;
		change->key = spec->key;
		kinds[spec->kind].format(from->value[i], change->from, sizeof(change->from));
		kinds[spec->kind].format(to->value[i], change->to, sizeof(change->to));
		count++;
	}
	return count;
}
