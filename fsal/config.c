/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Configuration blocks: Ganesha's parser on one side, src/options on the other.
 *
 * Every option of ours is declared to Ganesha as a string with no default, so that its parser
 * stores any term as text and NULL means "not given"; options_parse() judges it and the message
 * names key, value and range.
 */
#include "internal.h"

#include "config_parsing.h"

struct module_texts {
	struct option_texts options;
};

struct export_texts {
	enum fsid_type fsid_type;
	bool async_hsm_restore;
	struct option_texts options;
};

#define OPTION_TEXT_MAX 64
#define OPTION_ITEM(key, holder)                                                                   \
	CONF_ITEM_STR(#key, 0, OPTION_TEXT_MAX, NULL, holder, options.text[OPTION_##key]),

#define OPTION(key, kind, def, min, max, live, doc) OPTION_ITEM(key, module_texts)
static struct config_item module_items[] = {
#include "options.def"
	CONFIG_EOL
};
#undef OPTION

static struct config_block module_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.dropbehind",
	.blk_desc.name = DB_MODULE_NAME,
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = module_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

/* FSAL_VFS's names, so that a block can be switched by its Name alone */
static struct config_item_list fsid_types[] = {
	CONFIG_LIST_TOK("None", FSID_NO_TYPE),
	CONFIG_LIST_TOK("One64", FSID_ONE_UINT64),
	CONFIG_LIST_TOK("Major64", FSID_MAJOR_64),
	CONFIG_LIST_TOK("Two64", FSID_TWO_UINT64),
	CONFIG_LIST_TOK("uuid", FSID_TWO_UINT64),
	CONFIG_LIST_TOK("Two32", FSID_TWO_UINT32),
	CONFIG_LIST_TOK("Dev", FSID_DEVICE),
	CONFIG_LIST_TOK("Device", FSID_DEVICE),
	CONFIG_LIST_EOL,
};

#define OPTION(key, kind, def, min, max, live, doc) OPTION_ITEM(key, export_texts)
static struct config_item export_items[] = {
	CONF_ITEM_NOOP("name"),
	CONF_ITEM_TOKEN("fsid_type", FSID_NO_TYPE, fsid_types, export_texts, fsid_type),
	CONF_ITEM_BOOL("async_hsm_restore", true, export_texts, async_hsm_restore),
#include "options.def"
	CONFIG_EOL
};
#undef OPTION

static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.dropbehind-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_items,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static void texts_free(struct option_texts *texts)
{
	for (unsigned int i = 0; i < OPTION_COUNT; i++)
		gsh_free(texts->text[i]);
}

/* One line, in the log and in the answer to whoever sent the block by D-Bus */
static void report(struct config_error_type *errors, const char *where,
		   const struct option_error *error, bool kept)
{
	LogCrit(COMPONENT_CONFIG, "%s: %s = %s is not valid: want %s.%s", where, error->key,
		error->value, error->want, kept ? " The value in force stays." : "");
	if (errors->fp != NULL)
		fprintf(errors->fp, "%s: %s = %s is not valid: want %s.%s\f", where, error->key,
			error->value, error->want, kept ? " The value in force stays." : "");
}

/* Ganesha names an unknown key in its own line, but not where it is nor what there is */
static void report_unknown(struct config_error_type *errors, bool bogus_before, const char *where)
{
	struct option_values defaults;
	char known[512];

	if (!errors->bogus || bogus_before)
		return;
	options_defaults(&defaults);
	options_to_text(&defaults, known, sizeof(known));
	LogWarn(COMPONENT_CONFIG,
		"%s: a key or word in the FSAL or DROPBEHIND block is not known (the line of the "
		"configuration reader says which) and is ignored. Keys and defaults: %s and "
		"FSAL_VFS's fsid_type.",
		where, known);
}

int config_load_module(config_file_t file, struct config_error_type *errors,
		       struct option_values *ret_values)
{
	struct module_texts texts = { 0 };
	struct option_values defaults;
	struct option_error error;
	bool bogus = errors->bogus;
	int rc;

	options_defaults(&defaults);
	(void)load_config_from_parse(file, &module_block, &texts, true, errors);
	report_unknown(errors, bogus, DB_MODULE_NAME " block");
	rc = options_parse(&texts.options, &defaults, ret_values, &error);
	if (rc != 0)
		report(errors, DB_MODULE_NAME " block", &error, false);
	texts_free(&texts.options);
	return rc;
}

int config_load_export(void *node, struct config_error_type *errors, bool update,
		       struct export_config *ret_config)
{
	struct export_texts texts = { 0 };
	struct export_config config;
	struct option_error error;
	char where[64];
	bool bogus = errors->bogus;
	int rc;

	snprintf(where, sizeof(where), "Export %" PRIu16, op_ctx->ctx_export->export_id);
	if (load_config_from_node(node, &export_block, &texts, true, errors) != 0) {
		texts_free(&texts.options);
		return -EINVAL;
	}
	report_unknown(errors, bogus, where);
	config.fsid_type = texts.fsid_type;
	rc = options_parse(&texts.options, &DROPBEHIND.defaults, &config.options, &error);
	if (rc != 0)
		report(errors, where, &error, update);
	else
		*ret_config = config;
	texts_free(&texts.options);
	return rc;
}
