/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Session, synchronous calls, MOUNT, path walking. See nfs3.h. */
#include "nfs3.h"

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
	struct nfs3 *nfs;
	bool done;
};

int nfs3_fail(uint32_t status)
{
	printf("status=%s\n", nfsstat3_to_str(status));
	return EXIT_NFS;
}

int nfs3_fail_rpc(const struct rpc_conn *conn, int err)
{
	printf("error=%s\n", conn->error[0] ? conn->error : strerror(-err));
	return EXIT_RPC;
}

nfs_fh3 handle_xdr(const struct handle *handle)
{
	nfs_fh3 fh = { .data = { handle->len, (char *)handle->bytes } };

	return fh;
}

int handle_from_xdr(struct handle *ret, uint32_t len, const char *bytes)
{
	if (len > sizeof(ret->bytes)) {
		printf("error=handle of %u bytes\n", len);
		return EXIT_RPC;
	}
	ret->len = len;
	memcpy(ret->bytes, bytes, len);
	return EXIT_PASS;
}

void handle_print(const char *key, const struct handle *handle)
{
	uint32_t i;

	printf("%s=", key);
	for (i = 0; i < handle->len; i++)
		printf("%02x", (unsigned char)handle->bytes[i]);
	printf("\n");
}

static int handle_parse(struct handle *ret, const char *hex)
{
	unsigned int byte;
	int used;

	ret->len = 0;
	while (*hex) {
		if (ret->len == sizeof(ret->bytes) || sscanf(hex, "%2x%n", &byte, &used) != 1 ||
		    used != 2) {
			fprintf(stderr, "nfsclient: --fh: not a handle in hexadecimal\n");
			return EXIT_USAGE;
		}
		ret->bytes[ret->len++] = (char)byte;
		hex += 2;
	}
	return EXIT_PASS;
}

static int keep_reply(struct rpc_conn *conn, struct rpc_call *call)
{
	struct waiting *waiting = call->owner;
	struct nfs3 *nfs = waiting->nfs;

	waiting->done = true;
	return rpc_pull_rest(conn, &nfs->reply, &nfs->reply_cap, &nfs->reply_len);
}

/* Sends a call on conn and leaves the encoded results in nfs->reply. */
static int exchange(struct nfs3 *nfs, struct rpc_conn *conn, struct rpc_call *call)
{
	struct waiting waiting = { .nfs = nfs };
	struct rpc_conn *failed;
	int err;

	call->receive = keep_reply;
	call->owner = &waiting;
	err = rpc_submit(conn, call);
	while (err == 0 && !waiting.done)
		err = rpc_pump(&conn, 1, &failed);
	return err ? nfs3_fail_rpc(conn, err) : EXIT_PASS;
}

static int encode(struct rpc_call *call, zdrproc_t proc, void *args)
{
	ZDR encoder;
	int rc = EXIT_PASS;

	if (!args)
		return EXIT_PASS;
	zdrmem_create(&encoder, (char *)call->head + call->head_len,
		      sizeof(call->head) - call->head_len, ZDR_ENCODE);
	if (proc(&encoder, args)) {
		call->head_len += zdr_getpos(&encoder);
	} else {
		printf("error=arguments do not fit\n");
		rc = EXIT_RPC;
	}
	zdr_destroy(&encoder);
	return rc;
}

static int decode(struct nfs3 *nfs, zdrproc_t proc, void *results)
{
	zdr_destroy(&nfs->decoder);
	zdrmem_create(&nfs->decoder, (char *)nfs->reply, nfs->reply_len, ZDR_DECODE);
	if (proc(&nfs->decoder, results))
		return EXIT_PASS;
	printf("error=undecodable results of %zu bytes\n", nfs->reply_len);
	return EXIT_RPC;
}

/* Sends an encoded call and decodes its answer, which begins with nfsstat3. */
static int finish(struct nfs3 *nfs, struct rpc_call *call, zdrproc_t proc, void *results)
{
	uint32_t status;
	int rc = exchange(nfs, &nfs->conn, call);

	if (rc == EXIT_PASS && results)
		rc = decode(nfs, proc, results);
	if (rc || !results)
		return rc;
	memcpy(&status, results, sizeof(status));
	return status == NFS3_OK ? EXIT_PASS : nfs3_fail(status);
}

int nfs3_call(struct nfs3 *nfs, const struct nfs3_proc *proc, void *args, void *results)
{
	static struct rpc_call call;
	int rc;

	rpc_begin(&nfs->conn, &call, NFS_PROGRAM, NFS_V3, proc->number);
	rc = encode(&call, proc->args, args);
	return rc ? rc : finish(nfs, &call, proc->results, results);
}

void nfs3_encode_write(struct rpc_conn *conn, struct rpc_call *call,
		       const struct write_request *request)
{
	WRITE3args args = {
		handle_xdr(request->fh), request->offset, request->len, request->stable, { 0, NULL }
	};
	uint32_t word = htonl(request->len);

	rpc_begin(conn, call, NFS_PROGRAM, NFS_V3, NFS3_WRITE);
	(void)encode(call, (zdrproc_t)zdr_WRITE3args, &args);
	/* The last word is the length of the empty opaque just encoded. */
	memcpy(call->head + call->head_len - sizeof(word), &word, sizeof(word));
	call->payload = request->bytes;
	call->payload_len = request->len;
}

int nfs3_write(struct nfs3 *nfs, const struct write_request *request, WRITE3resok *ret)
{
	static struct rpc_call call;
	WRITE3res res = { 0 };
	int rc;

	nfs3_encode_write(&nfs->conn, &call, request);
	rc = finish(nfs, &call, (zdrproc_t)zdr_WRITE3res, &res);
	if (rc == EXIT_PASS)
		*ret = res.WRITE3res_u.resok;
	return rc;
}

static int mount_root(struct nfs3 *nfs, struct rpc_conn *conn)
{
	static struct rpc_call call;
	struct mountres3 results = { 0 };
	char *path = nfs->target.path;
	fhandle3 *fh = &results.mountres3_u.mountinfo.fhandle;
	int rc;

	rpc_begin(conn, &call, MOUNT_PROGRAM, MOUNT_V3, MOUNT3_MNT);
	rc = encode(&call, (zdrproc_t)zdr_dirpath, &path);
	if (rc == EXIT_PASS)
		rc = exchange(nfs, conn, &call);
	if (rc == EXIT_PASS)
		rc = decode(nfs, (zdrproc_t)zdr_mountres3, &results);
	if (rc)
		return rc;
	if (results.fhs_status != MNT3_OK) {
		printf("status=%s\n", mountstat3_to_str(results.fhs_status));
		return EXIT_NFS;
	}
	return handle_from_xdr(&nfs->root, fh->fhandle3_len, fh->fhandle3_val);
}

int nfs3_open_bare(struct nfs3 *nfs, const struct options *options)
{
	int err;

	memset(nfs, 0, sizeof(*nfs));
	nfs->options = options;
	nfs->conn.fd = -1;
	zdrmem_create(&nfs->decoder, NULL, 0, ZDR_DECODE);
	if (options_target(options, &nfs->target) < 0)
		return EXIT_USAGE;
	err = rpc_connect(&nfs->conn, nfs->target.host, nfs->target.port, options->timeout_ms);
	if (err)
		return nfs3_fail_rpc(&nfs->conn, err);
	nfs->conn.cred = &options->cred;
	return EXIT_PASS;
}

int nfs3_open(struct nfs3 *nfs, const struct options *options)
{
	struct rpc_conn *conn;
	int rc, err;

	rc = nfs3_open_bare(nfs, options);
	if (rc)
		return rc;
	if (options->fh)
		return handle_parse(&nfs->root, options->fh);
	conn = malloc(sizeof(*conn));
	if (!conn)
		return EXIT_RPC;
	err = rpc_connect(conn, nfs->target.host, nfs->target.mount_port, options->timeout_ms);
	conn->cred = &options->cred;
	rc = err ? nfs3_fail_rpc(conn, err) : mount_root(nfs, conn);
	rpc_close(conn);
	free(conn);
	return rc;
}

void nfs3_close(struct nfs3 *nfs)
{
	rpc_close(&nfs->conn);
	zdr_destroy(&nfs->decoder);
	free(nfs->reply);
}

static int lookup(struct nfs3 *nfs, const struct handle *dir, char *name, struct handle *ret)
{
	static const struct nfs3_proc proc = NFS3_PROC(LOOKUP);
	LOOKUP3args args = { .what = { handle_xdr(dir), name } };
	LOOKUP3res res = { 0 };
	nfs_fh3 *fh = &res.LOOKUP3res_u.resok.object;
	int rc = nfs3_call(nfs, &proc, &args, &res);

	return rc ? rc : handle_from_xdr(ret, fh->data.data_len, fh->data.data_val);
}

/* Walks len bytes of path. */
static int walk(struct nfs3 *nfs, const char *path, size_t len, struct handle *ret)
{
	struct handle at = nfs->root;
	char *copy = strndup(path, len), *save = NULL, *name;
	int rc = copy ? EXIT_PASS : EXIT_RPC;

	for (name = copy ? strtok_r(copy, "/", &save) : NULL; name && rc == EXIT_PASS;
	     name = strtok_r(NULL, "/", &save))
		rc = lookup(nfs, &at, name, &at);
	free(copy);
	if (rc == EXIT_PASS)
		*ret = at;
	return rc;
}

int nfs3_walk(struct nfs3 *nfs, const char *path, struct handle *ret)
{
	return walk(nfs, path, strlen(path), ret);
}

int nfs3_place(struct nfs3 *nfs, const char *path, struct handle *parent, diropargs3 *ret)
{
	const char *slash = strrchr(path, '/');
	int rc = walk(nfs, path, slash ? (size_t)(slash - path) : 0, parent);

	ret->dir = handle_xdr(parent);
	ret->name = (char *)(slash ? slash + 1 : path);
	return rc;
}

int nfs3_walk_arg(struct nfs3 *nfs, int argc, char **argv, struct handle *ret)
{
	return nfs3_walk(nfs, argc > 1 ? argv[1] : "", ret);
}
