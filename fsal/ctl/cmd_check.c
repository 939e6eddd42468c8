/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* dropbehindctl check: what a ganesha.conf gets, before a daemon reads it. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "daemons.h"
#include "verdict.h"

static const char *const operation[SIZE_DIRECTIONS] = {
	[SIZE_READ] = "READ",
	[SIZE_WRITE] = "WRITE",
};

/* --- text --- */

static void print_number(bool known, uint64_t number)
{
	if (known)
		printf(" %12" PRIu64, number);
	else
		printf(" %12s", "-");
}

static void print_export(const struct export_verdict *export)
{
	const struct export_entry *entry = export->entry;
	const struct option_values *options = &entry->options;

	if (entry->id == NO_EXPORT)
		printf("Export ?");
	else
		printf("Export %d", entry->id);
	printf("  %s%s\n", entry->path != NULL ? entry->path : "(no path)",
	       export->refused ? "  REFUSED" : "");
	printf("  Socket_Check = %s, Socket_Requests = %" PRIu64 "\n",
	       socket_check_name((enum socket_check)options->value[OPTION_Socket_Check]),
	       options->value[OPTION_Socket_Requests]);
	printf("  %-6s %12s %12s %12s %12s\n", "bytes", "Max asked", "Max served", "Pref asked",
	       "Pref served");
	for (int d = 0; d < SIZE_DIRECTIONS; d++) {
		printf("  %-6s", operation[d]);
		print_number(entry->max[d].set, entry->max[d].bytes);
		print_number(!export->refused, export->offer[d].max);
		print_number(entry->pref[d].set, entry->pref[d].bytes);
		print_number(!export->refused, export->pref[d]);
		putchar('\n');
	}
	putchar('\n');
}

static void print_memory(const struct verdict *verdict)
{
	const struct configuration *configuration = verdict->configuration;
	uint64_t connection = verdict->memory.per_connection;

	if (verdict->memory.workers == 0)
		return;
	printf("Memory at worst, beside the page cache:\n"
	       "  %14" PRIu64 "  in %" PRIu64 " RPC threads (RPC_Ioq_ThrdMax)\n"
	       "  %14" PRIu64 "  in each connection\n"
	       "  %14" PRIu64 "  in %" PRIu64 " of them (RPC_Max_Connections)\n\n",
	       verdict->memory.workers, configuration->rpc_threads, connection,
	       connection * configuration->connections, configuration->connections);
}

static void print_text(const struct verdict *verdict, const char *path)
{
	const struct configuration *configuration = verdict->configuration;

	printf("%s: %zu export%s of DROPBEHIND\n", path, configuration->count,
	       configuration->count == 1 ? "" : "s");
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		printf("%s[2] = %" PRIu64 ", for %s\n", size_sysctl(d), verdict->ceilings.bytes[d],
		       operation[d]);
	putchar('\n');
	for (size_t i = 0; i < configuration->count; i++)
		print_export(&verdict->exports[i]);
	print_memory(verdict);
	findings_print(&configuration->findings, true, stdout);
	printf("result: ");
	findings_summary(&configuration->findings, stdout);
	putchar('\n');
}

/* --- sysctl.d(5) --- */

/* A comment ends with its line: what comes from the command line must not go on after it */
static void print_comment_text(const char *text)
{
	for (; *text != '\0'; text++)
		putchar((unsigned char)*text < 0x20 ? '?' : *text);
}

static void print_sysctl(const struct verdict *verdict, enum size_direction direction,
			 const char *path)
{
	const struct export_verdict *export = verdict_largest(verdict, direction);
	const struct size_ceilings *now = &verdict->ceilings;
	const struct asked_size *asked;
	uint64_t needed;

	if (export == NULL)
		return;
	asked = &export->entry->max[direction];
	needed = export->offer[direction].needed;
	printf("# ");
	print_comment_text(path);
	printf(", Export %d: %" PRIu64 " requests of %s = %" PRIu64 "%s need %" PRIu64,
	       export->entry->id, export->entry->options.value[OPTION_Socket_Requests],
	       size_key(direction, false), asked->set ? asked->bytes : export->offer[direction].max,
	       asked->set ? "" : " (not set)", needed);
	if (now->bytes[direction] > needed)
		printf("; the value now is larger and stays");
	printf("\n%s = %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", size_sysctl(direction),
	       now->min[direction], now->initial[direction],
	       now->bytes[direction] > needed ? now->bytes[direction] : needed);
}

static void print_drop_in(const struct verdict *verdict, const char *path)
{
	printf("# Socket buffers for NFS, by `dropbehindctl check --sysctl'. Put it into\n"
	       "# /etc/sysctl.d/90-nfs-dropbehind.conf and run `sysctl --system'; then send\n"
	       "# ganesha.nfsd a SIGHUP. Ceilings of each connection, not memory taken.\n");
	if (verdict->configuration->count == 0)
		printf("# No export of DROPBEHIND: nothing to set.\n");
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		print_sysctl(verdict, d, path);
	findings_print(&verdict->configuration->findings, false, stderr);
}

/* --- JSON --- */

static void json_size(struct json *json, const char *name, bool known, uint64_t number)
{
	if (known)
		json_number(json, name, number);
	else
		json_null(json, name);
}

static void json_direction(struct json *json, const struct verdict *verdict,
			   const struct export_verdict *export, enum size_direction direction)
{
	const struct export_entry *entry = export->entry;
	const struct size_offer *offer = &export->offer[direction];
	char command[SIZE_COMMAND_TEXT];

	sizes_command(direction, &verdict->ceilings, offer->needed, command);
	json_object(json, direction == SIZE_READ ? "read" : "write");
	json_size(json, "max_asked", entry->max[direction].set, entry->max[direction].bytes);
	json_size(json, "max_served", !export->refused, offer->max);
	json_size(json, "pref_asked", entry->pref[direction].set, entry->pref[direction].bytes);
	json_size(json, "pref_served", !export->refused, export->pref[direction]);
	json_string(json, "sysctl", size_sysctl(direction));
	json_number(json, "ceiling", offer->ceiling);
	json_number(json, "needed", offer->needed);
	json_bool(json, "short", offer->is_short);
	json_string(json, "command", offer->is_short && command[0] != '\0' ? command : NULL);
	json_close_object(json);
}

static void json_export(struct json *json, const struct verdict *verdict,
			const struct export_verdict *export)
{
	const struct export_entry *entry = export->entry;
	const uint64_t *options = entry->options.value;

	json_object(json, NULL);
	json_size(json, "id", entry->id != NO_EXPORT, (uint64_t)entry->id);
	json_string(json, "path", entry->path);
	json_string(json, "file", entry->place.file);
	json_number(json, "line", (uint64_t)entry->place.line);
	json_bool(json, "refused", export->refused);
	json_string(json, "socket_check",
		    socket_check_name((enum socket_check)options[OPTION_Socket_Check]));
	json_number(json, "socket_requests", options[OPTION_Socket_Requests]);
	for (int d = 0; d < SIZE_DIRECTIONS; d++)
		json_direction(json, verdict, export, d);
	json_close_object(json);
}

static void print_json(const struct verdict *verdict, const char *path)
{
	const struct configuration *configuration = verdict->configuration;
	struct json json;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "file", path);
	json_array(&json, "exports");
	for (size_t i = 0; i < configuration->count; i++)
		json_export(&json, verdict, &verdict->exports[i]);
	json_close_array(&json);
	json_object(&json, "memory");
	json_number(&json, "rpc_threads", configuration->rpc_threads);
	json_number(&json, "rpc_threads_bytes", verdict->memory.workers);
	json_number(&json, "connections", configuration->connections);
	json_number(&json, "connection_bytes", verdict->memory.per_connection);
	json_close_object(&json);
	findings_json(&configuration->findings, &json);
	json_close_object(&json);
	json_end(&json);
}

/* --- the command --- */

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_SYSCTL };

/* The sysctls that count are those of the daemon's network namespace */
static void say_namespace(struct findings *findings)
{
	static const struct about about = { .export_id = NO_EXPORT };
	struct daemons daemons;

	if (daemons_find("/proc", &daemons) != 0 || daemons.here || daemons.elsewhere == 0)
		return;
	finding_add(findings, FINDING_NOTE, &about,
		    "judged by the sysctls of this network namespace; ganesha.nfsd runs in "
		    "another: nsenter -t %d -n dropbehindctl check FILE",
		    (int)daemons.elsewhere);
}

static enum exit_code check_file(const char *path, enum output output)
{
	struct configuration configuration;
	struct verdict verdict;
	enum exit_code code;
	int rc = configuration_read(path, &configuration);

	if (rc != 0) {
		fprintf(stderr, "dropbehindctl check: %s: %s\n", path, strerror(-rc));
		return CTL_NO_INPUT;
	}
	rc = verdict_make(&configuration, &verdict);
	if (rc != 0) {
		fprintf(stderr, "dropbehindctl check: /proc/sys/net/ipv4/tcp_[rw]mem: %s\n",
			strerror(-rc));
		configuration_free(&configuration);
		return CTL_UNAVAILABLE;
	}
	say_namespace(&configuration.findings);
	if (output == OUTPUT_JSON)
		print_json(&verdict, path);
	else if (output == OUTPUT_SYSCTL)
		print_drop_in(&verdict, path);
	else
		print_text(&verdict, path);
	code = findings_bad(&configuration.findings) ? CTL_FOUND : CTL_FINE;
	verdict_free(&verdict);
	configuration_free(&configuration);
	return code;
}

static enum exit_code run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OUTPUT_JSON },
		{ "sysctl", no_argument, NULL, OUTPUT_SYSCTL },
		{ NULL, 0, NULL, 0 },
	};
	enum output output = OUTPUT_TEXT;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			return usage_error(&check_command, "no such option", argv[optind - 1]);
		if (output != OUTPUT_TEXT && output != (enum output)option)
			return usage_error(&check_command, "--json or --sysctl, not both", NULL);
		output = (enum output)option;
	}
	if (argc - optind != 1)
		return usage_error(&check_command, "one file is needed", NULL);
	return check_file(argv[optind], output);
}

const struct command check_command = {
	.name = "check",
	.arguments = "FILE [--sysctl | --json]",
	.summary = "what a ganesha.conf gets, and what is wrong in it",
	.help = "Reads FILE (and what it includes) with Ganesha's own parser, without a daemon,\n"
		"and compares the sizes of every export of DROPBEHIND with the socket buffers\n"
		"that the network namespace it runs in allows now.\n\n"
		"Lines begin with\n"
		"  wrong    a value that Ganesha or the module refuses\n"
		"  dropped  a statement that Ganesha ignores because of its syntax\n"
		"  unknown  a key that is ignored where it stands\n"
		"  short    MaxRead or MaxWrite that the socket buffers don't carry\n"
		"  warning  served as written, but not what was meant, perhaps\n"
		"  note     good to know\n\n"
		"  --sysctl  print a file for /etc/sysctl.d with the largest need instead;\n"
		"            what is wrong, dropped or unknown goes to standard error\n"
		"  --json    print everything as JSON instead\n\n"
		"Exit status: 0 fine, 1 something is wrong, dropped, unknown or short,\n"
		"64 usage, 66 FILE can't be read.\n",
	.run = run,
};
