/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What Ganesha drops without a word: a statement with a syntax error ("8M") stays in the tree
 * without a value and the daemon goes on with the default. The parser's message has the line, the
 * tree has the key; they are brought together here.
 */
#include "configuration.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct syntax {
	const struct tree *tree;
	struct findings *findings;
	bool *told; /* per message of the tree */
};

/* Line @number of @file without blanks around and comment, into @buf; "" if it can't be read */
static void source_line(const char *file, int number, char *buf, size_t size)
{
	FILE *from = file == NULL ? NULL : fopen(file, "re");
	char *line = NULL;
	size_t room = 0;
	size_t length;

	buf[0] = '\0';
	if (from == NULL)
		return;
	if (number <= 0)
		number = 1;
	for (int i = 0; i < number; i++) {
		if (getline(&line, &room, from) >= 0)
			continue;
		fclose(from);
		free(line);
		return;
	}
	line[strcspn(line, "#\n")] = '\0';
	snprintf(buf, size, "%s", line + strspn(line, " \t"));
	for (char *at = buf; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = *at == '\t' ? ' ' : '?';
	for (length = strlen(buf); length > 0 && strchr(" \t\r", buf[length - 1]) != NULL; length--)
		buf[length - 1] = '\0';
	fclose(from);
	free(line);
}

/* "MaxRead = 8M;" -> 8388608; 0 if @line is nothing like it */
static uint64_t with_suffix(const char *line)
{
	const char *at = strchr(line, '=');
	unsigned long long number;
	const char *unit;
	char *end;

	if (at == NULL)
		return 0;
	at += 1 + strspn(at + 1, " \t");
	if (*at < '0' || *at > '9')
		return 0;
	number = strtoull(at, &end, 10);
	unit = *end == '\0' ? NULL : strchr("kKmMgG", *end);
	if (unit == NULL || number > UINT64_MAX >> 30)
		return 0;
	return number << (10 + (unsigned int)(unit - "kKmMgG") / 2 * 10);
}

static int export_id_of(const struct config_node *block)
{
	const struct config_node *node = NULL;
	struct value value;

	while ((node = tree_next(block, node)) != NULL) {
		if (node_is_block(node) || !node_is(node, "Export_Id"))
			continue;
		node_value(node, &value);
		if (value.base != 0 && value.sign == 0)
			return (int)(strtoul(value.text, NULL, value.base) & UINT16_MAX);
	}
	return NO_EXPORT;
}

/* Of a line with several statements, the one about @key */
static const char *statement_in(char *line, const char *key)
{
	char *at = key == NULL ? NULL : strstr(line, key);
	char *end = at == NULL ? NULL : strchr(at, ';');

	if (at == NULL)
		return line;
	if (end != NULL)
		end[1] = '\0';
	return at;
}

static void say_dropped(struct findings *findings, const struct about *about, const char *message)
{
	char buf[160];
	const char *line;
	uint64_t bytes;

	if (about->file == NULL) {
		finding_add(findings, FINDING_DROPPED, about, "%s", message);
		return;
	}
	source_line(about->file, about->line, buf, sizeof(buf));
	line = statement_in(buf, about->key);
	bytes = with_suffix(line);
	if (bytes != 0)
		finding_add(findings, FINDING_DROPPED, about,
			    "`%s' is ignored: numbers have no suffixes, write %" PRIu64, line,
			    bytes);
	else if (about->key != NULL && line[0] != '\0' && strchr(line, ';') == NULL)
		finding_add(findings, FINDING_DROPPED, about,
			    "`%s' has no semicolon: all up to the next one is ignored", line);
	else if (line[0] != '\0')
		finding_add(findings, FINDING_DROPPED, about, "`%s' is ignored: %s", line, message);
	else
		finding_add(findings, FINDING_DROPPED, about, "%s", message);
}

/* The message about the statement at @place: on its line, or on one of the next if it is long */
static struct tree_message *message_for(const struct syntax *syntax, const struct place *place)
{
	struct tree_message *best = NULL;

	for (size_t i = 0; i < syntax->tree->count; i++) {
		struct tree_message *message = &syntax->tree->messages[i];

		if (syntax->told[i] || message->file == NULL || place->file == NULL ||
		    strcmp(message->file, place->file) != 0 || message->line < place->line ||
		    strstr(message->text, "statement") == NULL)
			continue;
		if (best == NULL || message->line < best->line)
			best = message;
	}
	return best;
}

static void empty_statement(struct syntax *syntax, const struct config_node *node, int export_id)
{
	struct place place = node_place(node);
	struct tree_message *message = message_for(syntax, &place);
	struct about about = {
		.file = place.file,
		.line = place.line,
		.export_id = export_id,
		.key = node_name(node),
	};

	if (message == NULL) {
		finding_add(syntax->findings, FINDING_DROPPED, &about,
			    "%s has no value and is ignored", node_name(node));
		return;
	}
	syntax->told[message - syntax->tree->messages] = true;
	say_dropped(syntax->findings, &about, message->text);
}

static void walk(struct syntax *syntax, const struct config_node *block, int export_id)
{
	const struct config_node *node = NULL;
	struct value value;

	while ((node = tree_next(block, node)) != NULL) {
		if (node_is_block(node)) {
			bool is_export = node_is(node, "EXPORT");

			walk(syntax, node, is_export ? export_id_of(node) : export_id);
			continue;
		}
		node_value(node, &value);
		if (value.terms == 0)
			empty_statement(syntax, node, export_id);
	}
}

/* Of a word that stands where none may be, each character has a message */
static bool is_repeated(const struct tree *tree, size_t i)
{
	static const char start[] = "Unexpected character";
	const struct tree_message *this = &tree->messages[i];
	const struct tree_message *last = i > 0 ? this - 1 : NULL;

	return last != NULL && this->line == last->line && this->file != NULL &&
	       last->file != NULL && strcmp(this->file, last->file) == 0 &&
	       strncmp(this->text, start, strlen(start)) == 0 &&
	       strncmp(last->text, start, strlen(start)) == 0;
}

void syntax_report(const struct tree *tree, struct findings *findings)
{
	struct syntax syntax = {
		.tree = tree,
		.findings = findings,
		.told = calloc(tree->count + 1, sizeof(bool)),
	};

	if (syntax.told == NULL)
		abort();
	if (tree_top(tree) != NULL)
		walk(&syntax, tree_top(tree), NO_EXPORT);
	for (size_t i = 0; i < tree->count; i++) {
		const struct tree_message *message = &tree->messages[i];
		const struct about about = {
			.file = message->file,
			.line = message->line,
			.export_id = NO_EXPORT,
		};

		if (syntax.told[i] || is_repeated(tree, i))
			continue;
		if (message->is_end)
			finding_add(findings, FINDING_DROPPED, &about,
				    "syntax error here, nothing of the file is used (is a closing "
				    "brace or a semicolon missing before?)");
		else
			say_dropped(findings, &about, message->text);
	}
	free(syntax.told);
	if (tree->fatal) {
		const struct about about = { .export_id = NO_EXPORT };

		finding_add(findings, FINDING_WRONG, &about,
			    "ganesha.nfsd does not start with this file");
	}
}
