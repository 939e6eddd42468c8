/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `write`: streams stamped data with WRITE and ends with COMMIT. Fails when the
 * write verifier changed on the way, because the server may have lost data
 * (RFC 1813, 3.3.7).
 */
#include "commands.h"
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Stamps the slot's buffer for its range; the pattern is written only once. */
static void stamp_slot(struct stream_slot *slot)
{
	const struct stamp *stamp = &slot->file->stamp;

	if (slot->filled == slot->len && slot->filled_phase == slot->offset % 512) {
		stamp_refill(stamp, slot->buf, slot->len, slot->offset);
		return;
	}
	stamp_fill(stamp, slot->buf, slot->len, slot->offset);
	slot->filled = slot->len;
	slot->filled_phase = slot->offset % 512;
}

static void prepare(struct stream_slot *slot)
{
	struct write_request request = { &slot->file->fh, slot->offset + slot->skip,
					 slot->file->stream->options->stable,
					 slot->len - slot->skip, slot->buf + slot->skip };

	if (slot->skip == 0)
		stamp_slot(slot);
	nfs3_encode_write(slot->file->conn, &slot->call, &request);
}

static void note_answer(struct stream *stream, const WRITE3resok *ok)
{
	if (!stream->answered) {
		stream->committed = ok->committed;
		memcpy(stream->verf, ok->verf, sizeof(stream->verf));
		stream->answered = true;
	}
	if ((uint32_t)ok->committed < stream->committed)
		stream->committed = ok->committed;
	if (memcmp(stream->verf, ok->verf, sizeof(stream->verf)) != 0)
		stream->verf_changed = true;
}

static int results(struct rpc_conn *conn, struct stream_slot *slot, uint32_t *ret_done)
{
	struct stream *stream = slot->file->stream;
	uint8_t bytes[512], *buf = bytes;
	size_t cap = sizeof(bytes), len;
	WRITE3res res;
	ZDR zdr;
	int err;

	err = conn->fragment_left <= cap ? rpc_pull_rest(conn, &buf, &cap, &len) : -EPROTO;
	if (err)
		return err;
	memset(&res, 0, sizeof(res));
	zdrmem_create(&zdr, (char *)buf, len, ZDR_DECODE);
	err = zdr_WRITE3res(&zdr, &res) ? 0 : -EPROTO;
	zdr_destroy(&zdr);
	if (err || res.status != NFS3_OK) {
		if (!err && stream->nfs_status == NFS3_OK) {
			stream->nfs_status = res.status;
			stream->error_offset = slot->offset + slot->skip;
		}
		return err;
	}
	note_answer(stream, &res.WRITE3res_u.resok);
	*ret_done = res.WRITE3res_u.resok.count;
	return *ret_done > 0 && *ret_done <= slot->len - slot->skip ? 0 : -EPROTO;
}

static int open_for_write(struct nfs3 *nfs, struct stream_file *file)
{
	if (nfs->options->overwrite)
		return nfs3_walk(nfs, file->path, &file->fh);
	return nfs3_create(nfs, file->path, &file->fh);
}

static int commit_all(struct stream *stream, struct nfs3 *nfs, double *ret_seconds)
{
	uint64_t start = now_ns();
	writeverf3 verf;
	unsigned int i;
	int rc = EXIT_PASS;

	for (i = 0; i < stream->nfiles && rc == EXIT_PASS; i++) {
		rc = nfs3_commit(nfs, &stream->files[i].fh, verf);
		if (rc == EXIT_PASS && memcmp(verf, stream->verf, sizeof(verf)) != 0)
			stream->verf_changed = true;
	}
	*ret_seconds = (now_ns() - start) / 1e9;
	return rc;
}

static void print_results(struct stream *stream, double commit_seconds)
{
	double all = stream->seconds + commit_seconds;

	stream_print(stream);
	printf("write_seconds=%.6f\ncommit_seconds=%.6f\nmb_per_s_with_commit=%.1f\n",
	       stream->seconds, commit_seconds, all > 0 ? stream->bytes / 1e6 / all : 0);
	printf("committed=%s\n", stable_name(stream->committed));
	verf_print("verf", stream->verf);
	printf("verf_changed=%d\n", stream->verf_changed);
}

/* Touches and fills every buffer, so that the measured loop need not. */
static void warm_up(struct stream *stream)
{
	const struct options *options = stream->options;
	size_t i, n = options->depth * stream->nfiles;

	for (i = 0; i < n; i++) {
		stream->slots[i].offset = options->offset;
		stream->slots[i].len = options->block < options->size ? options->block
								      : options->size;
		stamp_slot(&stream->slots[i]);
	}
}

static int stream_out(struct stream *stream, struct nfs3 *nfs)
{
	double commit_seconds = 0;
	int rc;

	warm_up(stream);
	rc = stream_run(stream);
	if (rc == EXIT_PASS && !nfs->options->no_commit)
		rc = commit_all(stream, nfs, &commit_seconds);
	if (rc)
		return rc;
	print_results(stream, commit_seconds);
	return stream->verf_changed ? EXIT_MISMATCH : EXIT_PASS;
}

int cmd_write(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct stream_ops ops = { .prepare = prepare, .results = results };
	static struct stream stream = { .ops = &ops };
	int rc;

	(void)argc;
	rc = stream_open(&stream, nfs, argv[1], open_for_write);
	if (rc == EXIT_PASS)
		rc = stream_out(&stream, nfs);
	stream_close(&stream);
	return rc;
}
