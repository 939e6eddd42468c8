/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The engine of `write` and `read`: N files, each with its own connection and
 * `depth` requests of `block` bytes in flight. A short answer is continued
 * where it ended, as a real client does. What a request is and what its answer
 * means is in struct stream_ops.
 *
 * The measured loop touches no payload byte except to write stamps (1/16) and,
 * with --verify, to compare.
 */
#ifndef NFSCLIENT_STREAM_H
#define NFSCLIENT_STREAM_H

#include "latency.h"
#include "nfs3.h"
#include "stamp.h"

struct stream;

struct stream_file {
	struct stream *stream;
	struct handle fh;
	struct stamp stamp;
	struct rpc_conn *conn;
	uint64_t next; /* index, in the order of offsets, of the next block */
	char path[1024];
};

/* One request in flight: what is left of one block. */
struct stream_slot {
	struct rpc_call call;
	struct stream_file *file;
	uint64_t offset;
	uint32_t len;
	uint32_t skip; /* bytes of the block that are done */
	uint64_t started_ns;
	uint8_t *buf;
	size_t filled; /* length and phase for which buf holds the pattern */
	uint64_t filled_phase;
};

struct stream_ops {
	/* Encodes the request for slot's range into slot->call. */
	void (*prepare)(struct stream_slot *slot);
	/* Pulls the results; *ret_done is how many bytes they cover (0 at eof). */
	int (*results)(struct rpc_conn *conn, struct stream_slot *slot, uint32_t *ret_done);
};

struct stream {
	const struct options *options;
	const struct stream_ops *ops;
	struct stream_file *files;
	struct stream_slot *slots;
	struct rpc_conn **conns;
	unsigned int nfiles;
	uint32_t *order; /* permutation of block indices, NULL: sequential */
	uint64_t nblocks;
	struct latency latency;
	uint64_t bytes, requests, partial;
	double seconds, cpu;
	uint32_t nfs_status; /* first error answered */
	uint64_t error_offset;
	/* of the answers */
	uint64_t eofs;
	uint32_t committed; /* lowest level */
	bool answered, verf_changed, mismatched;
	writeverf3 verf;
	uint64_t bad_offset;
	const char *bad_path;
};

/*
 * Finds the files (FILE, or FILE.0 … with --writers), connects, allocates.
 * open_file() gives each file its handle. Returns an exit status.
 */
int stream_open(struct stream *stream, struct nfs3 *nfs, const char *path,
		int (*open_file)(struct nfs3 *nfs, struct stream_file *file));
/* Streams every block. Returns EXIT_PASS, EXIT_NFS (printed) or EXIT_RPC. */
int stream_run(struct stream *stream);
/* Prints rates, counts and latencies. */
void stream_print(struct stream *stream);
void stream_close(struct stream *stream);

#endif
