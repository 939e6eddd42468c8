/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The option table and its parser. See options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, SIZE, U32, OCTAL, HEX, OPT_SIZE, OPT_OCTAL, TIME, GIDS, FLAG, CHOICE };

struct spec {
	const char *name;
	enum kind kind;
	size_t where;
	const char *help;
	const char *choices; /* CHOICE: names in the order of their values */
};

#define AT(field) offsetof(struct options, field)

static const struct spec specs[] = {
	{ "target", TEXT, AT(target), "HOST:PORT:MOUNTPORT:/EXPORT (default: $DB_TARGET)", NULL },
	{ "fh", TEXT, AT(fh), "start from this handle (hex) instead of the export's root", NULL },
	{ "uid", U32, AT(cred.uid), "user id of the calls", NULL },
	{ "gid", U32, AT(cred.gid), "group id of the calls", NULL },
	{ "gids", GIDS, AT(cred), "supplementary groups, comma-separated, up to 16", NULL },
	{ "timeout", SIZE, AT(timeout_ms), "ms to wait for the server, 0: for ever (60000)", NULL },
	{ "size", SIZE, AT(size), "bytes per file to stream (256M)", NULL },
	{ "block", SIZE, AT(block), "bytes per request (1M)", NULL },
	{ "depth", SIZE, AT(depth), "requests in flight per file (8)", NULL },
	{ "offset", SIZE, AT(offset), "first byte", NULL },
	{ "writers", SIZE, AT(files), "write FILE.0 … FILE.N-1 at once, a connection each", NULL },
	{ "readers", SIZE, AT(files), "the same for read", NULL },
	{ "generation", SIZE, AT(generation), "generation stamped or expected (1)", NULL },
	{ "file-id", OPT_SIZE, AT(file_id), "id stamped or expected (hash of the name)", NULL },
	{ "seed", SIZE, AT(seed), "of --order random (1)", NULL },
	{ "stable", CHOICE, AT(stable), "stability asked for", "unstable,datasync,filesync" },
	{ "order", CHOICE, AT(order), "order of offsets", "sequential,random,reverse" },
	{ "no-commit", FLAG, AT(no_commit), "no COMMIT at the end", NULL },
	{ "overwrite", FLAG, AT(overwrite), "file exists: no CREATE, no truncation", NULL },
	{ "verify", FLAG, AT(verify), "compare every byte read", NULL },
	{ "direct", FLAG, AT(direct), "verify: read with O_DIRECT", NULL },
	{ "how", CHOICE, AT(create_mode), "create: kind of CREATE", "unchecked,guarded,exclusive" },
	{ "verf", HEX, AT(verf), "create: exclusive verifier (hex)", NULL },
	{ "mode", OPT_OCTAL, AT(mode), "permission bits to set (octal)", NULL },
	{ "owner", OPT_SIZE, AT(owner), "owner to set", NULL },
	{ "group", OPT_SIZE, AT(group), "group to set", NULL },
	{ "truncate", OPT_SIZE, AT(new_size), "size to set", NULL },
	{ "atime", TIME, AT(atime), "SECONDS[.NANOSECONDS] or 'server'", NULL },
	{ "mtime", TIME, AT(mtime), "likewise", NULL },
	{ "guard", TIME, AT(guard), "setattr: ctime that the object must have", NULL },
	{ "major", OPT_SIZE, AT(major), "mknod: major number", NULL },
	{ "minor", OPT_SIZE, AT(minor), "mknod: minor number", NULL },
	{ "count", SIZE, AT(count), "bytes (readh, writeh, commit) or page size (readdir)", NULL },
	{ "data", TEXT, AT(data), "writeh: the bytes to write", NULL },
	{ "out", TEXT, AT(out), "readh: local file for the bytes", NULL },
	{ "plus", FLAG, AT(plus), "readdir: use READDIRPLUS", NULL },
	{ "cookie", SIZE, AT(cookie), "readdir: start here", NULL },
	{ "limit", SIZE, AT(limit), "readdir: stop after so many entries", NULL },
};

#define NSPECS (sizeof(specs) / sizeof(specs[0]))

static int parse_number(const char *text, int base, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, base);
	if (errno || end == text || *text == '-')
		return -EINVAL;
	if (*end && base == 10) {
		unit = strchr(units, *end++);
		if (!unit)
			return -EINVAL;
		*ret <<= 10 * (unit - units + 1);
	}
	return *end ? -EINVAL : 0;
}

static int parse_u32(const char *text, uint32_t *ret)
{
	uint64_t value;
	int err = parse_number(text, 10, &value);

	if (err || value > UINT32_MAX)
		return -EINVAL;
	*ret = value;
	return 0;
}

static int parse_opt(const char *text, int base, struct opt_u64 *ret)
{
	ret->set = true;
	return parse_number(text, base, &ret->value);
}

static int parse_time(const char *text, struct opt_time *ret)
{
	unsigned long long sec, nsec = 0;
	int end = 0;

	ret->set = true;
	ret->server = strcmp(text, "server") == 0;
	if (ret->server)
		return 0;
	if (sscanf(text, "%llu%n", &sec, &end) != 1)
		return -EINVAL;
	if (text[end] == '.' && sscanf(text + end, ".%9llu%n", &nsec, &end) != 1)
		return -EINVAL;
	ret->value.tv_sec = sec;
	ret->value.tv_nsec = nsec;
	return 0;
}

static int parse_gids(const char *text, struct rpc_cred *cred)
{
	char *copy = strdup(text), *save = NULL, *word;
	int err = copy ? 0 : -ENOMEM;

	cred->ngids = 0;
	for (word = copy ? strtok_r(copy, ",", &save) : NULL; word && err == 0;
	     word = strtok_r(NULL, ",", &save)) {
		if (cred->ngids == RPC_GIDS_MAX)
			err = -E2BIG;
		else
			err = parse_u32(word, &cred->gids[cred->ngids++]);
	}
	free(copy);
	return err;
}

static int parse_choice(const char *text, const char *choices, uint32_t *ret)
{
	size_t len = strlen(text);
	uint32_t i;

	for (i = 0; choices; i++) {
		if (strncmp(choices, text, len) == 0 &&
		    (choices[len] == ',' || choices[len] == '\0')) {
			*ret = i;
			return 0;
		}
		choices = strchr(choices, ',');
		if (choices)
			choices++;
	}
	return -EINVAL;
}

static int store(struct options *options, const struct spec *spec, const char *text)
{
	void *where = (char *)options + spec->where;

	switch (spec->kind) {
	case TEXT:
		*(const char **)where = text;
		return 0;
	case FLAG:
		*(bool *)where = true;
		return 0;
	case SIZE:
		return parse_number(text, 10, where);
	case HEX:
		return parse_number(text, 16, where);
	case U32:
		return parse_u32(text, where);
	case OPT_SIZE:
		return parse_opt(text, 10, where);
	case OPT_OCTAL:
		return parse_opt(text, 8, where);
	case TIME:
		return parse_time(text, where);
	case GIDS:
		return parse_gids(text, where);
	case CHOICE:
		return parse_choice(text, spec->choices, where);
	default:
		return -EINVAL;
	}
}

static int check(const struct options *options)
{
	if (options->block == 0 || options->block > INT32_MAX || options->depth == 0 ||
	    options->depth > RPC_SLOTS || options->files > 1024) {
		fprintf(stderr, "nfsclient: --block 1..2G-1, --depth 1..%d, --writers 0..1024\n",
			RPC_SLOTS);
		return -1;
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret)
{
	struct option table[NSPECS + 1] = { 0 };
	size_t i;
	int index;

	for (i = 0; i < NSPECS; i++) {
		table[i].name = specs[i].name;
		table[i].has_arg = specs[i].kind == FLAG ? no_argument : required_argument;
		table[i].val = (int)i;
	}
	memset(ret, 0, sizeof(*ret));
	ret->target = getenv("DB_TARGET");
	ret->timeout_ms = 60000;
	ret->size = 256 << 20;
	ret->block = 1 << 20;
	ret->depth = 8;
	ret->generation = 1;
	ret->seed = 1;
	while ((index = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (index == '?')
			return -1;
		if (store(ret, &specs[index], optarg) == 0)
			continue;
		fprintf(stderr, "nfsclient: --%s: bad value '%s'%s%s\n", specs[index].name, optarg,
			specs[index].choices ? ", one of " : "",
			specs[index].choices ? specs[index].choices : "");
		return -1;
	}
	return check(ret) < 0 ? -1 : optind;
}

void options_help(void)
{
	size_t i;

	for (i = 0; i < NSPECS; i++)
		printf("  --%-12s %s%s%s\n", specs[i].name, specs[i].help,
		       specs[i].choices ? ": " : "", specs[i].choices ? specs[i].choices : "");
}

int options_target(const struct options *options, struct target *ret)
{
	if (options->target && sscanf(options->target, "%127[^:]:%hu:%hu:%1023s", ret->host,
				      &ret->port, &ret->mount_port, ret->path) == 4)
		return 0;
	fprintf(stderr, "nfsclient: --target HOST:PORT:MOUNTPORT:/EXPORT is needed, not '%s'\n",
		options->target ? options->target : "");
	return -EINVAL;
}
