/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The command line: one table of options, shared by all subcommands. Sizes take
 * the suffixes K, M, G (powers of 1024). Output is `key=value` lines.
 */
#ifndef NFSCLIENT_OPTIONS_H
#define NFSCLIENT_OPTIONS_H

#include "rpc.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Exit statuses. */
enum {
	EXIT_PASS = 0,
	EXIT_MISMATCH = 1, /* data differs, or a local file failed */
	EXIT_NFS = 2,	   /* the server answered an error: `status=NFS3ERR_…` */
	EXIT_RPC = 3,	   /* no or unusable answer: `error=…` */
	EXIT_USAGE = 64,
};

enum order { ORDER_SEQUENTIAL, ORDER_RANDOM, ORDER_REVERSE };
enum file_kind { KIND_FIFO, KIND_SOCK, KIND_CHR, KIND_BLK };

/* A value that may be absent. */
struct opt_u64 {
	bool set;
	uint64_t value;
};

struct opt_time {
	bool set;
	bool server; /* SET_TO_SERVER_TIME */
	struct timespec value;
};

struct options {
	const char *target; /* HOST:PORT:MOUNTPORT:/EXPORT */
	const char *fh;	    /* hexadecimal handle */
	const char *data;
	const char *out;
	struct rpc_cred cred;
	uint64_t timeout_ms;
	/* streams */
	uint64_t size, block, depth, offset, files, generation, seed;
	struct opt_u64 file_id;
	uint32_t stable, order;
	bool no_commit, overwrite, verify, direct;
	/* single operations */
	uint32_t create_mode;
	uint64_t verf, count, cookie, limit;
	bool plus;
	struct opt_u64 mode, owner, group, new_size, major, minor;
	struct opt_time atime, mtime, guard;
};

/*
 * Parses argv (argv[0] is the subcommand) into *ret. Returns the index of the
 * first positional argument, or -1 after printing what is wrong.
 */
int options_parse(int argc, char **argv, struct options *ret);
/* Prints one line per option. */
void options_help(void);

/* Splits options.target; strings live in the caller's buffers. Returns 0 or -EINVAL. */
struct target {
	char host[128];
	char path[1024];
	uint16_t port, mount_port;
};
int options_target(const struct options *options, struct target *ret);

#endif
