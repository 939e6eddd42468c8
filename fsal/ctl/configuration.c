/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From the parser's tree to our exports: see configuration.h. */
#include "configuration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Defaults and ranges of Ganesha 4.3: support/nfs_read_conf.c, gsh_config.h */
#define RPC_THREADS_DEFAULT 200
#define RPC_THREADS_MIN 2
#define RPC_THREADS_MAX (1024 * 128)
#define RPC_CONNECTIONS_DEFAULT 1024
#define RPC_CONNECTIONS_MAX 10000
#define RECOVERY_ROOT_DEFAULT "/var/lib/nfs/ganesha"

#define OUR_NAME "DROPBEHIND"

static const char *const size_keys[2][SIZE_DIRECTIONS] = {
	{ [SIZE_READ] = "MaxRead", [SIZE_WRITE] = "MaxWrite" },
	{ [SIZE_READ] = "PrefRead", [SIZE_WRITE] = "PrefWrite" },
};

const char *size_key(enum size_direction direction, bool preferred)
{
	return size_keys[preferred][direction];
}

/* --- one statement --- */

static struct about about_node(const struct config_node *node, int export_id)
{
	struct place place = node_place(node);

	return (struct about){
		.file = place.file,
		.line = place.line,
		.export_id = export_id,
		.key = node_name(node),
	};
}

static void value_text(const struct value *value, char *buf, size_t size)
{
	const char sign[2] = { value->sign, '\0' };

	snprintf(buf, size, "%s%s%s", sign, value->text != NULL ? value->text : "",
		 value->terms > 1 ? ", ..." : "");
}

static void say_wrong(struct findings *findings, const struct config_node *node, int export_id,
		      const char *want)
{
	struct about about = about_node(node, export_id);
	struct value value;
	char text[160];

	node_value(node, &value);
	value_text(&value, text, sizeof(text));
	about.value = text;
	finding_add(findings, FINDING_WRONG, &about, "%s = %s is not valid: want %s",
		    node_name(node), text, want);
}

struct range {
	uint64_t min, max;
	const char *unit; /* "" or " bytes" */
};

/*
 * A number as Ganesha's convert_number() takes it: decimal, 0x or 0, no sign. Says what is wrong
 * and returns false, also for a statement without a value (said elsewhere).
 */
static bool number_of(struct findings *findings, const struct config_node *node, int export_id,
		      const struct range *range, uint64_t *ret_number)
{
	unsigned long long number;
	struct value value;
	char want[96];

	node_value(node, &value);
	if (value.terms == 0)
		return false;
	errno = 0;
	number = value.base != 0 ? strtoull(value.text, NULL, value.base) : 0;
	if (value.base != 0 && value.sign == 0 && value.terms == 1 && errno == 0 &&
	    number >= range->min && number <= range->max) {
		*ret_number = number;
		return true;
	}
	snprintf(want, sizeof(want), "%" PRIu64 "..%" PRIu64 "%s", range->min, range->max,
		 range->unit);
	say_wrong(findings, node, export_id, want);
	return false;
}

static bool is_empty(const struct config_node *node)
{
	struct value value;

	node_value(node, &value);
	return value.terms == 0;
}

/* --- our options --- */

static int option_find(const char *name)
{
	for (int i = 0; i < OPTION_COUNT; i++)
		if (strcasecmp(option_specs[i].key, name) == 0)
			return i;
	return -1;
}

static bool is_size_key(const char *name)
{
	for (int i = 0; i < 2; i++)
		for (int d = 0; d < SIZE_DIRECTIONS; d++)
			if (strcasecmp(size_keys[i][d], name) == 0)
				return true;
	return false;
}

static void say_unknown(struct findings *findings, const struct config_node *node, int export_id,
			const char *block)
{
	struct about about = about_node(node, export_id);
	char known[320] = "";
	size_t used = 0;

	if (is_size_key(node_name(node))) {
		finding_add(findings, FINDING_UNKNOWN, &about,
			    "%s is ignored in the %s block: it belongs in EXPORT { }",
			    node_name(node), block);
		return;
	}
	for (int i = 0; i < OPTION_COUNT && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i > 0 ? ", " : "", option_specs[i].key);
	finding_add(findings, FINDING_UNKNOWN, &about,
		    "%s is not a key of the %s block and is ignored. Keys: %s", node_name(node),
		    block, known);
}

/** The options of a block as statements, until they are judged. */
struct option_nodes {
	const struct config_node *node[OPTION_COUNT];
	struct option_texts texts;
	bool bad;
};

/* Ganesha hands our module the number without its sign, and refuses more than one term */
static void option_take(struct findings *findings, const struct config_node *node, int option,
			int export_id, struct option_nodes *nodes)
{
	struct value value;

	node_value(node, &value);
	if (value.terms == 0)
		return;
	if (value.sign != 0 || value.terms > 1) {
		say_wrong(findings, node, export_id,
			  value.terms > 1 ? "one value" : "no sign (Ganesha drops it)");
		nodes->bad = true;
		return;
	}
	nodes->node[option] = node;
	nodes->texts.text[option] = (char *)value.text;
}

/* Every bad value, not only the first */
static void options_judge(struct findings *findings, struct option_nodes *nodes, int export_id,
			  const struct option_values *defaults, struct option_values *ret_values)
{
	struct option_error error;

	while (options_parse(&nodes->texts, defaults, ret_values, &error) != 0) {
		int option = option_find(error.key);

		say_wrong(findings, nodes->node[option], export_id, error.want);
		nodes->texts.text[option] = NULL;
		nodes->bad = true;
	}
}

static void module_block(struct configuration *configuration, const struct config_node *block)
{
	struct findings *findings = &configuration->findings;
	struct option_nodes nodes = { 0 };
	const struct config_node *node = NULL;
	struct option_values defaults;

	while ((node = tree_next(block, node)) != NULL) {
		int option = node_is_block(node) ? -1 : option_find(node_name(node));

		if (option >= 0)
			option_take(findings, node, option, NO_EXPORT, &nodes);
		else
			say_unknown(findings, node, NO_EXPORT, OUR_NAME);
	}
	options_defaults(&defaults);
	options_judge(findings, &nodes, NO_EXPORT, &defaults, &configuration->defaults);
	configuration->defaults_bad = nodes.bad;
	if (nodes.bad) {
		struct about about = about_node(block, NO_EXPORT);

		about.key = NULL;
		finding_add(findings, FINDING_WRONG, &about,
			    "the module does not load with this block: it serves no export");
	}
}

/* --- FSAL { } of an export --- */

/* FSAL_VFS's keys, which our block takes too; fsid_type's words as in fsal/config.c */
static bool vfs_key(struct findings *findings, const struct config_node *node, int export_id)
{
	static const char *const words[] = { "None", "One64", "Major64", "Two64",
					     "uuid", "Two32", "Dev",	 "Device" };
	struct value value;

	if (node_is(node, "Name") || node_is(node, "async_hsm_restore"))
		return true;
	if (!node_is(node, "fsid_type"))
		return false;
	node_value(node, &value);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (value.text == NULL || strcasecmp(value.text, words[i]) == 0)
			return true;
	say_wrong(findings, node, export_id,
		  "one of None, One64, Major64, Two64, uuid, Two32, Dev, Device");
	return true;
}

static void fsal_block(struct configuration *configuration, const struct config_node *block,
		       struct export_entry *entry)
{
	struct findings *findings = &configuration->findings;
	struct option_nodes nodes = { 0 };
	const struct config_node *node = NULL;

	while ((node = tree_next(block, node)) != NULL) {
		int option = node_is_block(node) ? -1 : option_find(node_name(node));

		if (option >= 0)
			option_take(findings, node, option, entry->id, &nodes);
		else if (node_is_block(node) || !vfs_key(findings, node, entry->id))
			say_unknown(findings, node, entry->id, "FSAL");
	}
	options_judge(findings, &nodes, entry->id, &configuration->defaults, &entry->options);
	entry->refused = entry->refused || nodes.bad || configuration->defaults_bad;
}

/* The FSAL block that is ours, also below a stackable FSAL; NULL if the export is not */
static const struct config_node *our_fsal(const struct config_node *block)
{
	const struct config_node *node = NULL;
	const struct config_node *found = NULL;
	struct value value;

	while (found == NULL && (node = tree_next(block, node)) != NULL) {
		if (node_is_block(node)) {
			found = node_is(node, "FSAL") ? our_fsal(node) : NULL;
			continue;
		}
		if (!node_is(block, "FSAL") || !node_is(node, "Name"))
			continue;
		node_value(node, &value);
		if (value.text != NULL && strcasecmp(value.text, OUR_NAME) == 0)
			found = block;
	}
	return found;
}

/* --- EXPORT { } --- */

static void size_take(struct configuration *configuration, const struct config_node *node,
		      struct export_entry *entry, struct asked_size *size)
{
	static const struct range range = { SIZE_LIMIT_MIN, SIZE_LIMIT_MAX, " bytes" };

	if (is_empty(node))
		return;
	size->place = node_place(node);
	size->set = number_of(&configuration->findings, node, entry->id, &range, &size->bytes);
	entry->refused = entry->refused || !size->set;
}

static void export_statement(struct configuration *configuration, const struct config_node *node,
			     struct export_entry *entry)
{
	struct value value;

	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		if (node_is(node, size_keys[0][d]))
			size_take(configuration, node, entry, &entry->max[d]);
		if (node_is(node, size_keys[1][d]))
			size_take(configuration, node, entry, &entry->pref[d]);
	}
	if (node_is(node, "Path")) {
		node_value(node, &value);
		entry->path = value.text;
	}
	if (option_find(node_name(node)) >= 0) {
		struct about about = about_node(node, entry->id);

		finding_add(&configuration->findings, FINDING_UNKNOWN, &about,
			    "%s is ignored in the EXPORT block: it belongs in its FSAL { }",
			    node_name(node));
	}
}

/* Before all others, for the other messages to name it */
static void export_id(struct configuration *configuration, const struct config_node *block,
		      struct export_entry *entry)
{
	static const struct range range = { 0, UINT16_MAX, "" };
	const struct config_node *node = NULL;
	bool present = false;
	uint64_t number;

	while ((node = tree_next(block, node)) != NULL) {
		if (node_is_block(node) || !node_is(node, "Export_Id") || is_empty(node))
			continue;
		present = true;
		if (number_of(&configuration->findings, node, NO_EXPORT, &range, &number))
			entry->id = (int)number;
	}
	if (!present) {
		struct about about = about_node(block, NO_EXPORT);

		about.key = "Export_Id";
		finding_add(&configuration->findings, FINDING_WRONG, &about,
			    "an EXPORT of " OUR_NAME " has no Export_Id");
	}
	entry->refused = entry->id == NO_EXPORT;
}

static void export_block(struct configuration *configuration, const struct config_node *block)
{
	const struct config_node *fsal = our_fsal(block);
	const struct config_node *node = NULL;
	struct export_entry entry = { .id = NO_EXPORT, .place = node_place(block) };
	size_t room = (configuration->count + 1) * sizeof(entry);

	if (fsal == NULL)
		return;
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		entry.max[d].place = entry.pref[d].place = entry.place;
	export_id(configuration, block, &entry);
	while ((node = tree_next(block, node)) != NULL)
		if (!node_is_block(node))
			export_statement(configuration, node, &entry);
	if (entry.path == NULL) {
		struct about about = about_node(block, entry.id);

		about.key = "Path";
		finding_add(&configuration->findings, FINDING_WRONG, &about, "it has no Path");
		entry.refused = true;
	}
	fsal_block(configuration, fsal, &entry);
	configuration->exports = realloc(configuration->exports, room);
	if (configuration->exports == NULL)
		abort();
	configuration->exports[configuration->count++] = entry;
}

/* --- other blocks --- */

static void core_block(struct configuration *configuration, const struct config_node *block)
{
	static const struct range threads = { RPC_THREADS_MIN, RPC_THREADS_MAX, "" };
	static const struct range connections = { 1, RPC_CONNECTIONS_MAX, "" };
	struct findings *findings = &configuration->findings;
	const struct config_node *node = NULL;

	while ((node = tree_next(block, node)) != NULL) {
		if (node_is_block(node))
			continue;
		if (node_is(node, "RPC_Ioq_ThrdMax"))
			number_of(findings, node, NO_EXPORT, &threads, &configuration->rpc_threads);
		if (node_is(node, "RPC_Max_Connections"))
			number_of(findings, node, NO_EXPORT, &connections,
				  &configuration->connections);
	}
}

static void nfsv4_block(struct configuration *configuration, const struct config_node *block)
{
	const struct config_node *node = NULL;
	struct value value;

	while ((node = tree_next(block, node)) != NULL) {
		if (node_is_block(node) || !node_is(node, "RecoveryRoot"))
			continue;
		node_value(node, &value);
		if (value.text != NULL)
			configuration->recovery_root = value.text;
	}
}

/* Ganesha's EXPORT_DEFAULTS has no sizes */
static void defaults_block(struct configuration *configuration, const struct config_node *block)
{
	const struct config_node *node = NULL;

	while ((node = tree_next(block, node)) != NULL)
		if (is_size_key(node_name(node)))
			say_unknown(&configuration->findings, node, NO_EXPORT, "EXPORT_DEFAULTS");
}

static void for_blocks(struct configuration *configuration, const char *name,
		       void (*take)(struct configuration *, const struct config_node *))
{
	const struct config_node *top = tree_top(&configuration->tree);
	const struct config_node *node = NULL;

	while (top != NULL && (node = tree_next(top, node)) != NULL)
		if (node_is_block(node) && node_is(node, name))
			take(configuration, node);
}

int configuration_read(const char *path, struct configuration *ret_configuration)
{
	struct configuration configuration = {
		.rpc_threads = RPC_THREADS_DEFAULT,
		.connections = RPC_CONNECTIONS_DEFAULT,
		.recovery_root = RECOVERY_ROOT_DEFAULT,
	};
	int rc = tree_read(path, &configuration.tree);

	if (rc != 0)
		return rc;
	options_defaults(&configuration.defaults);
	syntax_report(&configuration.tree, &configuration.findings);
	for_blocks(&configuration, "NFS_CORE_PARAM", core_block);
	for_blocks(&configuration, "NFSv4", nfsv4_block);
	for_blocks(&configuration, "EXPORT_DEFAULTS", defaults_block);
	for_blocks(&configuration, OUR_NAME, module_block);
	for_blocks(&configuration, "EXPORT", export_block);
	*ret_configuration = configuration;
	return 0;
}

void configuration_free(struct configuration *configuration)
{
	findings_free(&configuration->findings);
	free(configuration->exports);
	tree_free(&configuration->tree);
}
