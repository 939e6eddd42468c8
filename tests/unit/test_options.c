/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The option list: every option of config/options.def is taken at its ends and refused one step
 * beyond, whatever is added to the list later.
 */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct option_values defaults, values;
static struct option_error error;

static void setup(void)
{
	options_defaults(&defaults);
}

static void nothing_given_means_defaults(void)
{
	struct option_texts texts = { 0 };
	struct option_change change[OPTION_COUNT];

	CU_ASSERT_EQUAL(options_parse(&texts, &defaults, &values, &error), 0);
	CU_ASSERT_EQUAL(options_diff(&defaults, &values, change), 0);
}

/* Returns what the parser says of the number @text for the field at @slot */
static int parse_at(char **slot, struct option_texts *texts, const char *text)
{
	char copy[64];
	int rc;

	snprintf(copy, sizeof(copy), "%s", text);
	*slot = copy;
	rc = options_parse(texts, &defaults, &values, &error);
	*slot = NULL;
	return rc;
}

static void check_bytes(const struct option_spec *spec, char **slot, struct option_texts *texts)
{
	static const char *const nonsense[] = { "",    "8M",   "-1",  " 1048576", "1048576 ",
						"abc", "0x10", "1e6", "1.5",	  "+1048576" };
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64, spec->min);
	CU_ASSERT_EQUAL(parse_at(slot, texts, text), 0);
	snprintf(text, sizeof(text), "%" PRIu64, spec->max);
	CU_ASSERT_EQUAL(parse_at(slot, texts, text), 0);
	snprintf(text, sizeof(text), "%" PRIu64, spec->min - 1);
	CU_ASSERT_EQUAL(parse_at(slot, texts, text), -ERANGE);
	CU_ASSERT_STRING_EQUAL(error.key, spec->key);
	snprintf(text, sizeof(text), "%" PRIu64, spec->max + 1);
	CU_ASSERT_EQUAL(parse_at(slot, texts, text), -ERANGE);
	CU_ASSERT_EQUAL(parse_at(slot, texts, "99999999999999999999999"), -ERANGE);
	snprintf(text, sizeof(text), "%" PRIu64 "..%" PRIu64, spec->min, spec->max);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.want, text));
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		CU_ASSERT_EQUAL(parse_at(slot, texts, nonsense[i]), -EINVAL);
}

static void check_mode(const struct option_spec *spec, char **slot, struct option_texts *texts)
{
	static const char *const nonsense[] = {
		"", "Fast", "Auto ", "0", "Dontcach", "Dontcachee"
	};

	for (int mode = 0; mode < IO_MODE_COUNT; mode++) {
		CU_ASSERT_EQUAL(parse_at(slot, texts, io_mode_name((enum io_mode)mode)), 0);
	}
	CU_ASSERT_EQUAL(parse_at(slot, texts, "dontCACHE"), 0);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		CU_ASSERT_EQUAL(parse_at(slot, texts, nonsense[i]), -EINVAL);
		CU_ASSERT_STRING_EQUAL(error.key, spec->key);
		for (int mode = 0; mode < IO_MODE_COUNT; mode++)
			CU_ASSERT_PTR_NOT_NULL(
				strstr(error.want, io_mode_name((enum io_mode)mode)));
	}
}

/* Words of a kind, and what is close to one of them */
static void check_words(const struct option_spec *spec, char **slot, struct option_texts *texts,
			const char *const *words)
{
	char near_miss[32];

	for (; *words != NULL; words++) {
		CU_ASSERT_EQUAL(parse_at(slot, texts, *words), 0);
		snprintf(near_miss, sizeof(near_miss), "%sx", *words);
		CU_ASSERT_EQUAL(parse_at(slot, texts, near_miss), -EINVAL);
		CU_ASSERT_STRING_EQUAL(error.key, spec->key);
	}
	CU_ASSERT_EQUAL(parse_at(slot, texts, ""), -EINVAL);
	CU_ASSERT_EQUAL(parse_at(slot, texts, "2"), -EINVAL);
}

static void every_option_is_judged(void)
{
	static const char *const checks[] = { "Warn", "Clamp", "Refuse", "Off", "cLaMp", NULL };
	static const char *const bools[] = { "true", "false", "Yes", "no", "on", "OFF", NULL };
	struct option_texts texts = { 0 };

	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];

		if (spec->kind == OPTION_KIND_MODE)
			check_mode(spec, &texts.text[i], &texts);
		else if (spec->kind == OPTION_KIND_CHECK)
			check_words(spec, &texts.text[i], &texts, checks);
		else if (spec->kind == OPTION_KIND_BOOL)
			check_words(spec, &texts.text[i], &texts, bools);
		else
			check_bytes(spec, &texts.text[i], &texts);
		CU_ASSERT_FATAL(strlen(spec->doc) > 0);
	}
}

static void a_bad_value_changes_nothing(void)
{
	char good[] = "2097152", bad[] = "sideways";
	struct option_texts texts = { 0 };
	struct option_change change[OPTION_COUNT];

	texts.text[OPTION_Write_Mode] = bad;
	texts.text[OPTION_Stream_Cache] = good;
	values = defaults;
	CU_ASSERT_EQUAL(options_parse(&texts, &defaults, &values, &error), -EINVAL);
	CU_ASSERT_EQUAL(options_diff(&defaults, &values, change), 0);
	CU_ASSERT_STRING_EQUAL(error.key, "Write_Mode");
	CU_ASSERT_STRING_EQUAL(error.value, "sideways");
}

static void the_text_form_names_every_key(void)
{
	char text[512], small[8];
	size_t needed = options_to_text(&defaults, text, sizeof(text));

	CU_ASSERT_EQUAL(needed, strlen(text));
	CU_ASSERT_EQUAL(text[needed - 1], ';');
	for (unsigned int i = 0; i < OPTION_COUNT; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, option_specs[i].key));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Write_Mode = Auto;"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Stream_Cache = 33554432;"));
	CU_ASSERT_EQUAL(options_to_text(&defaults, small, sizeof(small)), needed);
	CU_ASSERT(strlen(small) < sizeof(small));
}

static void a_difference_is_named_with_both_values(void)
{
	struct option_change change[OPTION_COUNT];

	values = defaults;
	values.value[OPTION_Read_Mode] = IO_MODE_RANGE;
	values.value[OPTION_Stream_Cache] = 1048576;
	CU_ASSERT_EQUAL_FATAL(options_diff(&defaults, &values, change), 2);
	CU_ASSERT_STRING_EQUAL(change[0].key, "Read_Mode");
	CU_ASSERT_STRING_EQUAL(change[0].from, "Auto");
	CU_ASSERT_STRING_EQUAL(change[0].to, "Range");
	CU_ASSERT_STRING_EQUAL(change[1].from, "33554432");
	CU_ASSERT_STRING_EQUAL(change[1].to, "1048576");
}

int main(void)
{
	static CU_TestInfo tests[] = {
		{ "nothing given means defaults", nothing_given_means_defaults },
		{ "every option is judged", every_option_is_judged },
		{ "a bad value changes nothing", a_bad_value_changes_nothing },
		{ "the text form names every key", the_text_form_names_every_key },
		{ "a difference is named with both values",
		  a_difference_is_named_with_both_values },
		CU_TEST_INFO_NULL,
	};

	return unit_run("options", setup, tests);
}
