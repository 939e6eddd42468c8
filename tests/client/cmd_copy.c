/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Content: `put` and `get` copy a file, one request at a time; `readh` and
 * `writeh` are a single READ or WRITE; `commit` a single COMMIT.
 */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nfs3_proc read_proc = NFS3_PROC(READ);

int nfs3_commit(struct nfs3 *nfs, const struct handle *fh, writeverf3 ret_verf)
{
	static const struct nfs3_proc proc = NFS3_PROC(COMMIT);
	COMMIT3args args = { handle_xdr(fh), 0, 0 };
	COMMIT3res res = { 0 };
	int rc = nfs3_call(nfs, &proc, &args, &res);

	if (rc == EXIT_PASS)
		memcpy(ret_verf, res.COMMIT3res_u.resok.verf, sizeof(writeverf3));
	return rc;
}

static int local_failed(const char *path)
{
	printf("error=%s: %s\n", path, strerror(errno));
	return EXIT_MISMATCH;
}

static int put_block(struct nfs3 *nfs, struct write_request *request)
{
	const char *bytes = request->bytes;
	WRITE3resok ok;
	int rc;

	while (request->len > 0) {
		request->bytes = bytes;
		rc = nfs3_write(nfs, request, &ok);
		if (rc)
			return rc;
		if (ok.count == 0 || ok.count > request->len)
			return nfs3_fail_rpc(&nfs->conn, -EPROTO);
		bytes += ok.count;
		request->offset += ok.count;
		request->len -= ok.count;
	}
	return EXIT_PASS;
}

static int put_all(struct nfs3 *nfs, int fd, const struct handle *fh, char *buf)
{
	struct write_request request = { .fh = fh,
					 .offset = nfs->options->offset,
					 .stable = nfs->options->stable };
	uint64_t bytes = 0;
	writeverf3 verf;
	ssize_t n;
	int rc = EXIT_PASS;

	while (rc == EXIT_PASS && (n = read(fd, buf, nfs->options->block)) != 0) {
		if (n < 0)
			return local_failed("read");
		request.bytes = buf;
		request.len = n;
		bytes += n;
		rc = put_block(nfs, &request);
	}
	if (rc == EXIT_PASS && !nfs->options->no_commit)
		rc = nfs3_commit(nfs, fh, verf);
	if (rc == EXIT_PASS)
		printf("bytes=%llu\n", (unsigned long long)bytes);
	return rc;
}

int cmd_put(struct nfs3 *nfs, int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC), rc;
	char *buf = malloc(nfs->options->block);
	struct handle fh;

	(void)argc;
	if (fd < 0 || !buf) {
		rc = local_failed(argv[1]);
	} else {
		rc = nfs->options->overwrite ? nfs3_walk(nfs, argv[2], &fh)
					     : nfs3_create(nfs, argv[2], &fh);
		if (rc == EXIT_PASS)
			rc = put_all(nfs, fd, &fh, buf);
	}
	free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (; len > 0; bytes += n, len -= n) {
		n = write(fd, bytes, len);
		if (n < 0)
			return local_failed("write");
	}
	return EXIT_PASS;
}

static int get_all(struct nfs3 *nfs, int fd, const struct handle *fh)
{
	READ3args args = { handle_xdr(fh), nfs->options->offset, (u_int)nfs->options->block };
	READ3res res;
	READ3resok *ok = &res.READ3res_u.resok;
	uint64_t bytes = 0;
	int rc = EXIT_PASS;
	bool eof = false;

	while (rc == EXIT_PASS && !eof) {
		memset(&res, 0, sizeof(res));
		rc = nfs3_call(nfs, &read_proc, &args, &res);
		if (rc)
			break;
		eof = ok->eof;
		if (ok->data.data_len == 0 && !eof)
			return nfs3_fail_rpc(&nfs->conn, -EPROTO);
		rc = write_all(fd, ok->data.data_val, ok->data.data_len);
		args.offset += ok->data.data_len;
		bytes += ok->data.data_len;
	}
	if (rc == EXIT_PASS)
		printf("bytes=%llu\n", (unsigned long long)bytes);
	return rc;
}

int cmd_get(struct nfs3 *nfs, int argc, char **argv)
{
	struct handle fh;
	int fd, rc;

	(void)argc;
	rc = nfs3_walk(nfs, argv[1], &fh);
	if (rc)
		return rc;
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return local_failed(argv[2]);
	rc = get_all(nfs, fd, &fh);
	if (close(fd) < 0 && rc == EXIT_PASS)
		rc = local_failed(argv[2]);
	return rc;
}

static int deliver(const struct options *options, const READ3resok *ok)
{
	uint32_t i;
	int fd, rc;

	printf("count=%u\neof=%u\n", ok->data.data_len, ok->eof);
	if (options->out) {
		fd = open(options->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0)
			return local_failed(options->out);
		rc = write_all(fd, ok->data.data_val, ok->data.data_len);
		close(fd);
		return rc;
	}
	if (ok->data.data_len > 64)
		return EXIT_PASS;
	printf("data=");
	for (i = 0; i < ok->data.data_len; i++)
		printf("%02x", (unsigned char)ok->data.data_val[i]);
	printf("\n");
	return EXIT_PASS;
}

int cmd_readh(struct nfs3 *nfs, int argc, char **argv)
{
	const struct options *options = nfs->options;
	READ3args args = { .offset = options->offset,
			   .count = (u_int)(options->count ? options->count : options->block) };
	READ3res res = { 0 };
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.file = handle_xdr(&fh);
	rc = nfs3_call(nfs, &read_proc, &args, &res);
	return rc ? rc : deliver(options, &res.READ3res_u.resok);
}

static int write_once(struct nfs3 *nfs, const struct write_request *request)
{
	WRITE3resok ok;
	int rc = nfs3_write(nfs, request, &ok);

	if (rc)
		return rc;
	printf("count=%u\ncommitted=%s\n", ok.count, stable_name(ok.committed));
	verf_print("verf", ok.verf);
	return EXIT_PASS;
}

int cmd_writeh(struct nfs3 *nfs, int argc, char **argv)
{
	const struct options *options = nfs->options;
	struct write_request request = { .offset = options->offset, .stable = options->stable };
	struct handle fh;
	char *zeros = NULL;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	request.fh = &fh;
	request.bytes = options->data;
	request.len = options->data ? strlen(options->data) : options->count;
	if (!options->data)
		request.bytes = zeros = calloc(1, request.len + 1);
	rc = write_once(nfs, &request);
	free(zeros);
	return rc;
}

int cmd_commit(struct nfs3 *nfs, int argc, char **argv)
{
	static const struct nfs3_proc proc = NFS3_PROC(COMMIT);
	COMMIT3args args = { .offset = nfs->options->offset, .count = (u_int)nfs->options->count };
	COMMIT3res res = { 0 };
	struct handle fh;
	int rc = nfs3_walk_arg(nfs, argc, argv, &fh);

	if (rc)
		return rc;
	args.file = handle_xdr(&fh);
	rc = nfs3_call(nfs, &proc, &args, &res);
	if (rc == EXIT_PASS)
		verf_print("verf", res.COMMIT3res_u.resok.verf);
	return rc;
}
