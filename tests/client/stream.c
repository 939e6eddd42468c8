/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Order of blocks, slots and the loop. See stream.h. */
#include "stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A request that the server refused; the run stops issuing, drains, reports. */
static bool stopped(const struct stream *stream)
{
	return stream->nfs_status != NFS3_OK || stream->mismatched;
}

static int make_order(struct stream *stream)
{
	uint64_t i, j, n = stream->nblocks, x = stream->options->seed * 2 + 1;
	uint32_t swap;

	if (stream->options->order == ORDER_SEQUENTIAL)
		return 0;
	stream->order = malloc(n * sizeof(*stream->order));
	if (!stream->order)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		stream->order[i] = (uint32_t)(n - 1 - i);
	for (i = n; stream->options->order == ORDER_RANDOM && i > 1; i--) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		j = (x >> 33) % i;
		swap = stream->order[i - 1];
		stream->order[i - 1] = stream->order[j];
		stream->order[j] = swap;
	}
	return 0;
}

/* Aims the slot at its file's next block; false when there is none. */
static bool next_block(struct stream_slot *slot)
{
	struct stream *stream = slot->file->stream;
	const struct options *options = stream->options;
	uint64_t index = slot->file->next, at;

	if (stopped(stream) || index >= stream->nblocks)
		return false;
	slot->file->next++;
	at = (stream->order ? stream->order[index] : index) * options->block;
	slot->offset = options->offset + at;
	slot->len = options->size - at < options->block ? options->size - at : options->block;
	slot->skip = 0;
	return true;
}

static int issue(struct stream_slot *slot)
{
	slot->file->stream->ops->prepare(slot);
	slot->started_ns = now_ns();
	slot->file->stream->requests++;
	return rpc_submit(slot->file->conn, &slot->call);
}

static int answered(struct rpc_conn *conn, struct rpc_call *call)
{
	struct stream_slot *slot = call->owner;
	struct stream *stream = slot->file->stream;
	uint32_t done = 0;
	int err;

	err = stream->ops->results(conn, slot, &done);
	if (err)
		return err;
	latency_add(&stream->latency, now_ns() - slot->started_ns);
	if (stopped(stream))
		return 0;
	stream->bytes += done;
	slot->skip += done;
	if (done > 0 && slot->skip < slot->len) {
		stream->partial++;
		return issue(slot);
	}
	return next_block(slot) ? issue(slot) : 0;
}

static int make_slots(struct stream *stream)
{
	const struct options *options = stream->options;
	size_t n = options->depth * stream->nfiles, room = (options->block + 4095) & ~4095ull, i;
	uint8_t *buf;

	stream->slots = calloc(n, sizeof(*stream->slots));
	buf = mmap(NULL, n * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!stream->slots || buf == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(buf, n * room, MADV_HUGEPAGE);
	for (i = 0; i < n; i++) {
		stream->slots[i].file = &stream->files[i % stream->nfiles];
		stream->slots[i].buf = buf + i * room;
		stream->slots[i].call.receive = answered;
		stream->slots[i].call.owner = &stream->slots[i];
	}
	return 0;
}

static int connect_file(struct stream_file *file, const struct nfs3 *nfs)
{
	struct rpc_conn *conn = malloc(sizeof(*conn));
	int err;

	if (!conn)
		return EXIT_RPC;
	file->conn = conn;
	err = rpc_connect(conn, nfs->target.host, nfs->target.port, nfs->options->timeout_ms);
	conn->cred = &nfs->options->cred;
	return err ? nfs3_fail_rpc(conn, err) : EXIT_PASS;
}

static int make_file(struct stream *stream, const char *path, unsigned int i)
{
	const struct options *options = stream->options;
	struct stream_file *file = &stream->files[i];
	int n;

	file->stream = stream;
	if (options->files > 0)
		n = snprintf(file->path, sizeof(file->path), "%s.%u", path, i);
	else
		n = snprintf(file->path, sizeof(file->path), "%s", path);
	file->stamp.file_id = options->file_id.set ? options->file_id.value + i
						   : stamp_file_id(file->path);
	file->stamp.generation = (uint32_t)options->generation;
	return n < (int)sizeof(file->path) ? EXIT_PASS : EXIT_USAGE;
}

static int allocate(struct stream *stream)
{
	const struct options *options = stream->options;

	stream->nfiles = options->files ? options->files : 1;
	stream->nblocks = (options->size + options->block - 1) / options->block;
	stream->files = calloc(stream->nfiles, sizeof(*stream->files));
	stream->conns = calloc(stream->nfiles, sizeof(*stream->conns));
	if (!stream->files || !stream->conns || stream->nblocks > UINT32_MAX)
		return -ENOMEM;
	if (make_order(stream) < 0 || make_slots(stream) < 0)
		return -ENOMEM;
	return latency_reserve(&stream->latency, 2 * stream->nblocks * stream->nfiles);
}

int stream_open(struct stream *stream, struct nfs3 *nfs, const char *path,
		int (*open_file)(struct nfs3 *nfs, struct stream_file *file))
{
	unsigned int i;
	int rc;

	stream->options = nfs->options;
	if (allocate(stream) < 0) {
		printf("error=no memory for depth, block and size\n");
		return EXIT_MISMATCH;
	}
	for (i = 0; i < stream->nfiles; i++) {
		rc = make_file(stream, path, i);
		if (rc == EXIT_PASS)
			rc = open_file(nfs, &stream->files[i]);
		if (rc == EXIT_PASS)
			rc = connect_file(&stream->files[i], nfs);
		if (rc)
			return rc;
		stream->conns[i] = stream->files[i].conn;
	}
	return EXIT_PASS;
}

static bool in_flight(const struct stream *stream)
{
	unsigned int i;

	for (i = 0; i < stream->nfiles; i++)
		if (stream->conns[i]->in_flight)
			return true;
	return false;
}

static int loop(struct stream *stream, struct rpc_conn **ret_failed)
{
	size_t i, n = stream->options->depth * stream->nfiles;
	int err = 0;

	*ret_failed = stream->conns[0];
	for (i = 0; i < n && err == 0; i++)
		if (next_block(&stream->slots[i]))
			err = issue(&stream->slots[i]);
	while (err == 0 && in_flight(stream))
		err = rpc_pump(stream->conns, stream->nfiles, ret_failed);
	return err;
}

int stream_run(struct stream *stream)
{
	uint64_t start = now_ns();
	double cpu = cpu_seconds();
	struct rpc_conn *failed;
	int err;

	err = loop(stream, &failed);
	stream->seconds = (now_ns() - start) / 1e9;
	stream->cpu = cpu_seconds() - cpu;
	if (err)
		return nfs3_fail_rpc(failed, err);
	if (stream->nfs_status == NFS3_OK)
		return EXIT_PASS;
	printf("error_offset=%llu\n", (unsigned long long)stream->error_offset);
	return nfs3_fail(stream->nfs_status);
}

void stream_print(struct stream *stream)
{
	printf("bytes=%llu\nrequests=%llu\npartial=%llu\nmb_per_s=%.1f\nclient_cpu_seconds=%.3f\n",
	       (unsigned long long)stream->bytes, (unsigned long long)stream->requests,
	       (unsigned long long)stream->partial,
	       stream->seconds > 0 ? stream->bytes / 1e6 / stream->seconds : 0, stream->cpu);
	latency_print(&stream->latency);
}

void stream_close(struct stream *stream)
{
	size_t room = (stream->options->block + 4095) & ~4095ull;
	unsigned int i;

	for (i = 0; stream->files && i < stream->nfiles; i++) {
		if (stream->files[i].conn)
			rpc_close(stream->files[i].conn);
		free(stream->files[i].conn);
	}
	if (stream->slots)
		munmap(stream->slots[0].buf, room * stream->options->depth * stream->nfiles);
	free(stream->latency.us);
	free(stream->slots);
	free(stream->order);
	free(stream->conns);
	free(stream->files);
}
