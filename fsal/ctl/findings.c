/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Findings: see findings.h. */
#include "findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_name[FINDING_KINDS] = {
	[FINDING_WRONG] = "wrong", [FINDING_DROPPED] = "dropped", [FINDING_UNKNOWN] = "unknown",
	[FINDING_SHORT] = "short", [FINDING_WARNING] = "warning", [FINDING_NOTE] = "note",
};

static void *needed(void *memory)
{
	if (memory != NULL)
		return memory;
	fprintf(stderr, "dropbehindctl: no memory\n");
	abort();
}

static char *copy(const char *text)
{
	return text == NULL ? NULL : needed(strdup(text));
}

void finding_add(struct findings *findings, enum finding_kind kind, const struct about *about,
		 const char *format, ...)
{
	struct finding finding = {
		.kind = kind,
		.file = copy(about->file),
		.line = about->line,
		.export_id = about->export_id,
		.key = copy(about->key),
		.value = copy(about->value),
	};
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&finding.text, format, arguments) < 0)
		finding.text = NULL;
	va_end(arguments);
	needed(finding.text);
	findings->list =
		needed(realloc(findings->list, (findings->count + 1) * sizeof(findings->list[0])));
	findings->list[findings->count++] = finding;
	findings->of_kind[kind]++;
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].file);
		free(findings->list[i].key);
		free(findings->list[i].value);
		free(findings->list[i].text);
	}
	free(findings->list);
	*findings = (struct findings){ 0 };
}

bool findings_bad(const struct findings *findings)
{
	for (int kind = 0; kind < FINDING_WARNING; kind++)
		if (findings->of_kind[kind] > 0)
			return true;
	return false;
}

void findings_print(const struct findings *findings, bool all, FILE *to)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		if (!all && finding->kind >= FINDING_SHORT)
			continue;
		fprintf(to, "%s: ", kind_name[finding->kind]);
		if (finding->file != NULL)
			fprintf(to, "%s:%d: ", finding->file, finding->line);
		if (finding->export_id != NO_EXPORT)
			fprintf(to, "Export %d: ", finding->export_id);
		fprintf(to, "%s\n", finding->text);
	}
}

void findings_summary(const struct findings *findings, FILE *to)
{
	const char *separator = "";

	for (int kind = 0; kind < FINDING_NOTE; kind++) {
		if (findings->of_kind[kind] == 0)
			continue;
		fprintf(to, "%s%zu %s", separator, findings->of_kind[kind], kind_name[kind]);
		separator = ", ";
	}
	if (*separator == '\0')
		fputs("fine", to);
}

static void finding_json(const struct finding *finding, struct json *json)
{
	json_object(json, NULL);
	json_string(json, "kind", kind_name[finding->kind]);
	json_string(json, "file", finding->file);
	if (finding->file != NULL)
		json_number(json, "line", (uint64_t)finding->line);
	else
		json_null(json, "line");
	if (finding->export_id != NO_EXPORT)
		json_number(json, "export", (uint64_t)finding->export_id);
	else
		json_null(json, "export");
	json_string(json, "key", finding->key);
	json_string(json, "value", finding->value);
	json_string(json, "text", finding->text);
	json_close_object(json);
}

void findings_json(const struct findings *findings, struct json *json)
{
	json_array(json, "findings");
	for (size_t i = 0; i < findings->count; i++)
		finding_json(&findings->list[i], json);
	json_close_array(json);
	json_object(json, "result");
	json_bool(json, "fine", !findings_bad(findings));
	for (int kind = 0; kind < FINDING_KINDS; kind++)
		json_number(json, kind_name[kind], findings->of_kind[kind]);
	json_close_object(json);
}
