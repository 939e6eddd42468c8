/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a subcommand of dropbehindctl is. The table is in main.c; a new subcommand is a line there
 * and a function here.
 */
#ifndef DROPBEHIND_CTL_COMMAND_H
#define DROPBEHIND_CTL_COMMAND_H

/** Exit status. From 64 on as sysexits.h has it. */
enum exit_code {
	CTL_FINE = 0,
	CTL_FOUND = 1,	      /* something is short, wrong or dropped */
	CTL_USAGE = 64,	      /* the command line is not understood */
	CTL_NO_INPUT = 66,    /* a file can't be read */
	CTL_UNAVAILABLE = 69, /* the daemon, D-Bus or the kernel does not answer */
};

struct command {
	const char *name;
	const char *arguments;			      /* for the usage line */
	const char *summary;			      /* one line of the list */
	const char *help;			      /* whole lines, options and exit status */
	enum exit_code (*run)(int argc, char **argv); /* argv[0] is the subcommand */
};

extern const struct command check_command;
extern const struct command connections_command;

/** usage_error - says what is wrong and where help is, on stderr. Returns CTL_USAGE. */
enum exit_code usage_error(const struct command *command, const char *what, const char *word);

#endif
