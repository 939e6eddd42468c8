/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* dropbehindctl: finds the subcommand, prints help. */
#include "command.h"

#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {
	&check_command,
	&connections_command,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *to)
{
	fprintf(to, "usage: dropbehindctl COMMAND [ARGUMENT...]\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to,
		"\n`dropbehindctl COMMAND --help' tells more.\n"
		"Exit status: 0 fine, 1 something is short or wrong, 64 usage,\n"
		"66 a file can't be read, 69 the daemon, D-Bus or the kernel does not answer.\n");
}

static void print_help(const struct command *command)
{
	printf("usage: dropbehindctl %s %s\n\n%s", command->name, command->arguments,
	       command->help);
}

enum exit_code usage_error(const struct command *command, const char *what, const char *word)
{
	fprintf(stderr,
		"dropbehindctl %s: %s%s%s\nusage: dropbehindctl %s %s\n"
		"`dropbehindctl %s --help' tells more.\n",
		command->name, what, word != NULL ? ": " : "", word != NULL ? word : "",
		command->name, command->arguments, command->name);
	return CTL_USAGE;
}

static int is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int asks_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (is_help(argv[i]))
			return 1;
	return 0;
}

/* Output that could not be written (a full disk, say) is not success */
static int finish(enum exit_code code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	perror("dropbehindctl: writing");
	return code == CTL_FINE ? CTL_UNAVAILABLE : code;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc >= 2 && is_help(argv[1])) {
		print_usage(stdout);
		return finish(CTL_FINE);
	}
	command = argc >= 2 ? find(argv[1]) : NULL;
	if (command == NULL) {
		if (argc >= 2)
			fprintf(stderr, "dropbehindctl: no such command: %s\n", argv[1]);
		print_usage(stderr);
		return CTL_USAGE;
	}
	if (asks_help(argc - 1, argv + 1)) {
		print_help(command);
		return finish(CTL_FINE);
	}
	return finish(command->run(argc - 1, argv + 1));
}
