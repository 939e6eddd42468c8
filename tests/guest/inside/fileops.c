/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fileops: the dispatcher and what all operations share.  See fileops.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fileops.h"

void die(const char *step)
{
	fprintf(stderr, "fileops: %s: %s\n", step, strerror(errno));
	exit(1);
}

void wrong(const char *format, ...)
{
	va_list ap;

	fputs("fileops: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	switch (*end) {
	case 'G':
		value <<= 10;
		/* fall through */
	case 'M':
		value <<= 10;
		/* fall through */
	case 'K':
		value <<= 10;
		end++;
		break;
	}
	if (end == text || *end != '\0')
		wrong("not a number: %s", text);
	return value;
}

/* The 64-bit word at a word-aligned offset: block number and seed, mixed. */
static uint64_t stamp_word(uint64_t offset, uint64_t seed)
{
	uint64_t block = offset / STAMP_BLOCK;
	uint64_t x = (block << 24) ^ seed ^ (offset << 52);

	x *= 0x9e3779b97f4a7c15u;
	return x ^ (x >> 29);
}

void stamp_fill(void *buf, size_t len, uint64_t offset, uint64_t seed)
{
	unsigned char *p = buf;

	while (len > 0) {
		size_t skip = offset % sizeof(uint64_t);
		size_t part = sizeof(uint64_t) - skip;
		uint64_t word = stamp_word(offset - skip, seed);

		if (part > len)
			part = len;
		memcpy(p, (unsigned char *)&word + skip, part);
		p += part;
		offset += part;
		len -= part;
	}
}

void stamp_check(const void *buf, size_t len, uint64_t offset, uint64_t seed, const char *path)
{
	unsigned char *want = malloc(len);
	const unsigned char *have = buf;
	size_t i;

	if (want == NULL)
		die("malloc");
	stamp_fill(want, len, offset, seed);
	for (i = 0; i < len; i++)
		if (have[i] != want[i])
			wrong("%s: byte %llu is 0x%02x, not 0x%02x", path,
			      (unsigned long long)(offset + i), have[i], want[i]);
	free(want);
}

void write_all(int fd, const void *buf, size_t len, uint64_t offset)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, offset);

		if (n < 0)
			die("pwrite");
		p += n;
		offset += n;
		len -= n;
	}
}

void read_all(int fd, void *buf, size_t len, uint64_t offset)
{
	char *p = buf;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, offset);

		if (n < 0)
			die("pread");
		if (n == 0)
			wrong("end of file at %llu, %zu bytes missing", (unsigned long long)offset,
			      len);
		p += n;
		offset += n;
		len -= n;
	}
}

static const struct {
	const char *name;
	int arguments;
	operation *run;
	const char *usage;
} operations[] = {
	{ "write", 4, op_write,
	  "FILE OFFSET LENGTH SEED [excl|trunc|direct|sync|nofsync|bs=N]..." },
	{ "append", 3, op_append, "FILE PROCESSES RECORDS" },
	{ "verify", 4, op_verify, "FILE OFFSET LENGTH SEED [direct]" },
	{ "mmap", 4, op_mmap, "FILE OFFSET LENGTH SEED" },
	{ "resident", 1, op_resident, "FILE: resident bytes, size" },
	{ "mount", 4, op_mount, "TYPE SOURCE DIR DATA" },
	{ "excl", 1, op_excl, "FILE" },
	{ "gitobject", 2, op_gitobject, "DIR NAME" },
	{ "upgrade", 1, op_upgrade, "FILE" },
	{ "unlinked", 1, op_unlinked, "FILE" },
	{ "denied", 2, op_denied, "FILE r|w" },
	{ "fallocate", 3, op_fallocate, "FILE OFFSET LENGTH [punch]" },
	{ "socket", 1, op_socket, "NAME" },
	{ "locks", 2, op_locks, "FILE SAME-FILE-ELSEWHERE" },
	{ "lockwait", 2, op_lockwait, "FILE SAME-FILE-ELSEWHERE" },
	{ "flock", 2, op_flock, "FILE SAME-FILE-ELSEWHERE" },
	{ "readlock", 1, op_readlock, "FILE" },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(operations) / sizeof(*operations); i++) {
		if (strcmp(argv[1], operations[i].name) != 0)
			continue;
		if (argc - 2 < operations[i].arguments)
			wrong("usage: %s %s", operations[i].name, operations[i].usage);
		return operations[i].run(argc - 1, argv + 1);
	}
	for (i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		fprintf(stderr, "fileops %s %s\n", operations[i].name, operations[i].usage);
	return 2;
}
