/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * NFSv3 (RFC 1813) on top of rpc.h: a session with one server and one export,
 * calls that wait for their answer, path walking, handles as text.
 *
 * XDR is libnfs's generated code. Results decoded by nfs3_call() live until the
 * session's next call.
 */
#ifndef NFSCLIENT_NFS3_H
#define NFSCLIENT_NFS3_H

#include "options.h"
#include "rpc.h"

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw-nfs.h>

struct handle {
	uint32_t len;
	char bytes[NFS3_FHSIZE];
};

struct nfs3 {
	const struct options *options;
	struct target target;
	struct rpc_conn conn;
	struct handle root; /* of the export, or options->fh */
	ZDR decoder;
	uint8_t *reply;
	size_t reply_cap;
	size_t reply_len;
};

/* Ties a procedure to the XDR routines of its arguments and results. */
struct nfs3_proc {
	uint32_t number;
	zdrproc_t args;
	zdrproc_t results;
};

#define NFS3_PROC(name)                                                                            \
	{                                                                                          \
		NFS3_##name, (zdrproc_t)zdr_##name##3args, (zdrproc_t)zdr_##name##3res             \
	}

/*
 * Functions below return an exit status of options.h: EXIT_PASS, EXIT_NFS after
 * printing `status=`, or EXIT_RPC after printing `error=`.
 */

/* Connects and gets the root handle by MOUNT; with options->fh no MOUNT. */
int nfs3_open(struct nfs3 *nfs, const struct options *options);
/* Connects only. */
int nfs3_open_bare(struct nfs3 *nfs, const struct options *options);
void nfs3_close(struct nfs3 *nfs);

/*
 * Sends one call and decodes its results. Every NFSv3 result begins with its
 * status; when that is an error it is printed and EXIT_NFS returned. args NULL
 * calls NULL.
 */
int nfs3_call(struct nfs3 *nfs, const struct nfs3_proc *proc, void *args, void *results);

/* One WRITE: up to 2^31 bytes, sent from the caller's buffer. */
struct write_request {
	const struct handle *fh;
	uint64_t offset;
	uint32_t stable;
	uint32_t len;
	const void *bytes;
};
/* Encodes the request into call; its bytes follow as the call's payload. */
void nfs3_encode_write(struct rpc_conn *conn, struct rpc_call *call,
		       const struct write_request *request);
int nfs3_write(struct nfs3 *nfs, const struct write_request *request, WRITE3resok *ret);

/* Walks path, component by component, from the root handle. */
int nfs3_walk(struct nfs3 *nfs, const char *path, struct handle *ret);
/* Fills ret with path's parent directory and last name. ret points into both. */
int nfs3_place(struct nfs3 *nfs, const char *path, struct handle *parent, diropargs3 *ret);
/* The handle of argv[1], or the root handle when there is no argv[1]. */
int nfs3_walk_arg(struct nfs3 *nfs, int argc, char **argv, struct handle *ret);

int nfs3_fail(uint32_t status);
/* Prints why rpc_pump() gave up. */
int nfs3_fail_rpc(const struct rpc_conn *conn, int err);

nfs_fh3 handle_xdr(const struct handle *handle);
int handle_from_xdr(struct handle *ret, uint32_t len, const char *bytes);
void handle_print(const char *key, const struct handle *handle);

#endif
