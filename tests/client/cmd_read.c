/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `read`: streams with READ. With --verify every byte is compared with its
 * stamp; without, payload is discarded in the kernel so that the client costs
 * little. `verify` compares a local file, without a server.
 *
 * Reading past the end is no error: the answers' counts and eof flags are
 * reported, and a READ with 0 bytes and no eof is refused.
 */
#include "commands.h"
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FATTR3_WIRE 84
#define LOCAL_BLOCK (1u << 20)

static void prepare(struct stream_slot *slot)
{
	struct rpc_call *call = &slot->call;
	READ3args args = { handle_xdr(&slot->file->fh), slot->offset + slot->skip,
			   slot->len - slot->skip };
	ZDR zdr;

	rpc_begin(slot->file->conn, call, NFS_PROGRAM, NFS_V3, NFS3_READ);
	zdrmem_create(&zdr, (char *)call->head + call->head_len,
		      sizeof(call->head) - call->head_len, ZDR_ENCODE);
	zdr_READ3args(&zdr, &args);
	call->head_len += zdr_getpos(&zdr);
	zdr_destroy(&zdr);
}

/* Pulls READ3res up to the opaque bytes (RFC 1813, 3.3.6). */
static int pull_head(struct rpc_conn *conn, uint32_t *ret_status, uint32_t *ret_count,
		     uint32_t *ret_eof)
{
	uint32_t attributes, len = 0;
	int err;

	err = rpc_pull_u32(conn, ret_status);
	if (err == 0)
		err = rpc_pull_u32(conn, &attributes);
	if (err == 0 && attributes)
		err = rpc_pull(conn, NULL, FATTR3_WIRE);
	if (err || *ret_status != NFS3_OK)
		return err;
	err = rpc_pull_u32(conn, ret_count);
	if (err == 0)
		err = rpc_pull_u32(conn, ret_eof);
	if (err == 0)
		err = rpc_pull_u32(conn, &len);
	return err == 0 && len != *ret_count ? -EPROTO : err;
}

static void verify_slot(struct stream_slot *slot, uint32_t count)
{
	struct stream *stream = slot->file->stream;
	uint64_t at = slot->offset + slot->skip;
	size_t good = stamp_verify(&slot->file->stamp, slot->buf + slot->skip, count, at);

	if (good == count || stream->mismatched)
		return;
	stream->mismatched = true;
	stream->bad_offset = at + good;
	stream->bad_path = slot->file->path;
}

static int results(struct rpc_conn *conn, struct stream_slot *slot, uint32_t *ret_done)
{
	struct stream *stream = slot->file->stream;
	bool verify = stream->options->verify;
	uint32_t status, count = 0, eof = 0;
	int err;

	err = pull_head(conn, &status, &count, &eof);
	if (err)
		return err;
	if (status != NFS3_OK) {
		if (stream->nfs_status == NFS3_OK)
			stream->error_offset = slot->offset + slot->skip;
		stream->nfs_status = status;
		return 0;
	}
	if (count > slot->len - slot->skip || (count == 0 && !eof))
		return -EPROTO;
	err = rpc_pull(conn, verify ? slot->buf + slot->skip : NULL, count);
	if (err == 0 && verify)
		verify_slot(slot, count);
	if (eof) {
		stream->eofs++;
		slot->len = slot->skip + count; /* nothing left to ask for */
	}
	*ret_done = count;
	return err;
}

static int open_for_read(struct nfs3 *nfs, struct stream_file *file)
{
	return nfs3_walk(nfs, file->path, &file->fh);
}

static int stream_in(struct stream *stream)
{
	uint64_t expected = stream->options->size * stream->nfiles;
	int rc = stream_run(stream);

	if (rc)
		return rc;
	stream_print(stream);
	printf("read_seconds=%.6f\neof_replies=%llu\n", stream->seconds,
	       (unsigned long long)stream->eofs);
	if (stream->mismatched) {
		printf("verify=mismatch\nmismatch_file=%s\nmismatch_offset=%llu\n",
		       stream->bad_path, (unsigned long long)stream->bad_offset);
		return EXIT_MISMATCH;
	}
	if (!stream->options->verify)
		return EXIT_PASS;
	printf("verify=%s\n", stream->bytes == expected ? "ok" : "short");
	return stream->bytes == expected ? EXIT_PASS : EXIT_MISMATCH;
}

int cmd_read(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct stream_ops ops = { .prepare = prepare, .results = results };
	static struct stream stream = { .ops = &ops };
	int rc;

	(void)argc;
	rc = stream_open(&stream, nfs, argv[1], open_for_read);
	if (rc == EXIT_PASS)
		rc = stream_in(&stream);
	stream_close(&stream);
	return rc;
}

static int mismatch(const char *what, uint64_t at)
{
	printf("verify=%s\nmismatch_offset=%llu\n", what, (unsigned long long)at);
	return EXIT_MISMATCH;
}

/*
 * Compares [offset, offset + size) of fd; returns an exit status. Reads whole
 * aligned blocks, as O_DIRECT demands.
 */
static int verify_range(int fd, const struct options *options, const struct stamp *stamp, char *buf)
{
	uint64_t at = options->offset, end = at + options->size;
	size_t skip, want, good;
	ssize_t n;

	for (; at < end; at += want) {
		skip = at % LOCAL_BLOCK;
		n = pread(fd, buf, LOCAL_BLOCK, at - skip);
		if (n < 0)
			return mismatch(strerror(errno), at);
		if ((size_t)n <= skip)
			return mismatch("short", at);
		want = n - skip < end - at ? n - skip : end - at;
		good = stamp_verify(stamp, buf + skip, want, at);
		if (good < want)
			return mismatch("mismatch", at + good);
	}
	printf("bytes=%llu\nverify=ok\n", (unsigned long long)options->size);
	return EXIT_PASS;
}

int cmd_verify(struct nfs3 *nfs, int argc, char **argv)
{
	const struct options *options = nfs->options;
	struct stamp stamp = { stamp_file_id(argv[1]), (uint32_t)options->generation };
	void *buf = NULL;
	int fd, rc;

	(void)argc;
	if (options->file_id.set)
		stamp.file_id = options->file_id.value;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC | (options->direct ? O_DIRECT : 0));
	if (fd < 0 || posix_memalign(&buf, 4096, LOCAL_BLOCK) != 0) {
		printf("error=%s: %s\n", argv[1], strerror(errno));
		rc = EXIT_MISMATCH;
	} else {
		rc = verify_range(fd, options, &stamp, buf);
	}
	free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}
