/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* nfsclient: the table of subcommands, usage and the session around each. */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum session { MOUNTED, CONNECTED, LOCAL };

struct command {
	const char *name;
	command_fn run;
	enum session session;
	int min_args, max_args;
	const char *arguments;
	const char *help;
};

static const struct command commands[] = {
	{ "write", cmd_write, MOUNTED, 1, 1, "FILE", "stream stamped data, then COMMIT" },
	{ "read", cmd_read, MOUNTED, 1, 1, "FILE", "stream back, --verify compares" },
	{ "verify", cmd_verify, LOCAL, 1, 1, "LOCAL", "compare a local file, no server" },
	{ "put", cmd_put, MOUNTED, 2, 2, "LOCAL FILE", "copy to the server" },
	{ "get", cmd_get, MOUNTED, 2, 2, "FILE LOCAL", "copy from the server" },
	{ "readh", cmd_readh, MOUNTED, 0, 1, "[FILE]", "one READ of --count at --offset" },
	{ "writeh", cmd_writeh, MOUNTED, 0, 1, "[FILE]", "one WRITE of --data or --count zeros" },
	{ "commit", cmd_commit, MOUNTED, 0, 1, "[FILE]", "one COMMIT" },
	{ "null", cmd_null, CONNECTED, 0, 0, "", "is anybody there" },
	{ "lookup", cmd_lookup, MOUNTED, 0, 1, "[FILE]", "print the handle" },
	{ "handle", cmd_lookup, MOUNTED, 0, 1, "[FILE]", "the same" },
	{ "getattr", cmd_getattr, MOUNTED, 0, 1, "[FILE]", "" },
	{ "setattr", cmd_setattr, MOUNTED, 0, 1, "[FILE]",
	  "--mode --owner --group --truncate --atime --mtime" },
	{ "access", cmd_access, MOUNTED, 0, 1, "[FILE]", "" },
	{ "readlink", cmd_readlink, MOUNTED, 0, 1, "[FILE]", "" },
	{ "readdir", cmd_readdir, MOUNTED, 0, 1, "[DIR]", "all pages; --plus, --cookie, --limit" },
	{ "fsinfo", cmd_fsinfo, MOUNTED, 0, 1, "[FILE]", "" },
	{ "fsstat", cmd_fsstat, MOUNTED, 0, 1, "[FILE]", "" },
	{ "pathconf", cmd_pathconf, MOUNTED, 0, 1, "[FILE]", "" },
	{ "create", cmd_create, MOUNTED, 1, 1, "FILE", "--how, --verf" },
	{ "mkdir", cmd_mkdir, MOUNTED, 1, 1, "DIR", "" },
	{ "mknod", cmd_mknod, MOUNTED, 2, 2, "fifo|sock|chr|blk FILE", "--major, --minor" },
	{ "symlink", cmd_symlink, MOUNTED, 2, 2, "TARGET FILE", "" },
	{ "link", cmd_link, MOUNTED, 2, 2, "FILE NEW", "" },
	{ "rename", cmd_rename, MOUNTED, 2, 2, "FILE NEW", "" },
	{ "remove", cmd_remove, MOUNTED, 1, 1, "FILE", "" },
	{ "rmdir", cmd_rmdir, MOUNTED, 1, 1, "DIR", "" },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(int rc)
{
	size_t i;

	printf("nfsclient COMMAND [OPTION…] [ARGUMENT…]\n\n"
	       "NFSv3 over TCP with requests of any size. Prints key=value lines. Exit status:\n"
	       "0 done, 1 data differs, 2 NFS error (status=), 3 no answer (error=), 64 usage.\n"
	       "Paths are relative to the export; with --fh HEX, to that handle.\n\n");
	for (i = 0; i < NCOMMANDS; i++)
		printf("  %-9s %-22s  %s\n", commands[i].name, commands[i].arguments,
		       commands[i].help);
	printf("\n");
	options_help();
	return rc;
}

static const struct command *find(const char *name)
{
	size_t i;

	for (i = 0; i < NCOMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int run(const struct command *command, const struct options *options, int argc, char **argv)
{
	struct nfs3 *nfs = calloc(1, sizeof(*nfs));
	int rc = EXIT_PASS;

	if (!nfs)
		return EXIT_RPC;
	if (command->session == LOCAL) {
		nfs->options = options;
		nfs->conn.fd = -1;
		zdrmem_create(&nfs->decoder, NULL, 0, ZDR_DECODE);
	} else if (command->session == CONNECTED) {
		rc = nfs3_open_bare(nfs, options);
	} else {
		rc = nfs3_open(nfs, options);
	}
	if (rc == EXIT_PASS)
		rc = command->run(nfs, argc, argv);
	nfs3_close(nfs);
	free(nfs);
	return rc;
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct options options;
	int first;

	if (argc < 2)
		return usage(EXIT_USAGE);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return usage(EXIT_PASS);
	command = find(argv[1]);
	if (!command) {
		fprintf(stderr, "nfsclient: no command '%s'; see --help\n", argv[1]);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	first = options_parse(argc - 1, argv + 1, &options);
	if (first < 0)
		return EXIT_USAGE;
	argc -= 1 + first;
	argv += 1 + first;
	if (argc < command->min_args || argc > command->max_args) {
		fprintf(stderr, "usage: nfsclient %s [OPTION…] %s\n", command->name,
			command->arguments);
		return EXIT_USAGE;
	}
	/* Commands find their arguments from argv[1]. */
	return run(command, &options, argc + 1, argv - 1);
}
