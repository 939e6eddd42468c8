/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fileops: operations on file contents.  See fileops.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fileops.h"

#define RECORD 128

struct io {
	const char *path;
	uint64_t offset;
	uint64_t length;
	uint64_t seed;
	size_t bs;
	int flags;
	int fsync;
};

static void io_parse(struct io *io, int argc, char **argv)
{
	int i;

	*io = (struct io){ .path = argv[1],
			   .offset = number(argv[2]),
			   .length = number(argv[3]),
			   .seed = number(argv[4]),
			   .bs = 1 << 20,
			   .fsync = 1 };
	for (i = 5; i < argc; i++) {
		if (strcmp(argv[i], "excl") == 0)
			io->flags |= O_EXCL;
		else if (strcmp(argv[i], "trunc") == 0)
			io->flags |= O_TRUNC;
		else if (strcmp(argv[i], "direct") == 0)
			io->flags |= O_DIRECT;
		else if (strcmp(argv[i], "sync") == 0)
			io->flags |= O_SYNC;
		else if (strcmp(argv[i], "nofsync") == 0)
			io->fsync = 0;
		else if (strncmp(argv[i], "bs=", 3) == 0)
			io->bs = number(argv[i] + 3);
		else
			wrong("unknown word: %s", argv[i]);
	}
}

static void *io_buffer(const struct io *io)
{
	void *buf;

	errno = posix_memalign(&buf, 4096, io->bs);
	if (errno != 0)
		die("posix_memalign");
	return buf;
}

/* Writes stamped data; close(2) is checked, for that is where NFS reports. */
int op_write(int argc, char **argv)
{
	struct io io;
	uint64_t done;
	void *buf;
	int fd;

	io_parse(&io, argc, argv);
	buf = io_buffer(&io);
	fd = open(io.path, O_WRONLY | O_CREAT | O_CLOEXEC | io.flags, 0644);
	if (fd < 0)
		die(io.path);
	for (done = 0; done < io.length; done += io.bs) {
		size_t part = io.length - done < io.bs ? io.length - done : io.bs;

		stamp_fill(buf, part, io.offset + done, io.seed);
		write_all(fd, buf, part, io.offset + done);
	}
	if (io.fsync && fsync(fd) < 0)
		die("fsync");
	if (close(fd) < 0)
		die("close");
	free(buf);
	return 0;
}

int op_verify(int argc, char **argv)
{
	struct io io;
	uint64_t done;
	void *buf;
	int fd;

	io_parse(&io, argc, argv);
	buf = io_buffer(&io);
	fd = open(io.path, O_RDONLY | O_CLOEXEC | io.flags);
	if (fd < 0)
		die(io.path);
	for (done = 0; done < io.length; done += io.bs) {
		size_t part = io.length - done < io.bs ? io.length - done : io.bs;

		read_all(fd, buf, part, io.offset + done);
		stamp_check(buf, part, io.offset + done, io.seed, io.path);
	}
	close(fd);
	free(buf);
	return 0;
}

int op_mmap(int argc, char **argv)
{
	struct io io;
	uint64_t shift;
	char *map;
	int fd;

	io_parse(&io, argc, argv);
	fd = open(io.path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(io.path);
	shift = io.offset % sysconf(_SC_PAGESIZE);
	map = mmap(NULL, io.length + shift, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   io.offset - shift);
	if (map == MAP_FAILED)
		die("mmap");
	stamp_fill(map + shift, io.length, io.offset, io.seed);
	if (msync(map, io.length + shift, MS_SYNC) < 0)
		die("msync");
	munmap(map, io.length + shift);
	if (close(fd) < 0)
		die("close");
	return 0;
}

static void append_records(const char *path, unsigned int process, unsigned int records)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	char record[RECORD + 1];
	unsigned int i;

	if (fd < 0)
		die(path);
	for (i = 0; i < records; i++) {
		snprintf(record, sizeof(record), "%6u %6u %114s", process % 1000000, i % 1000000,
			 "end\n");
		if (write(fd, record, RECORD) != RECORD)
			die("append");
	}
	if (close(fd) < 0)
		die("close");
}

/* All records of all processes are there, whole and each process's in order. */
static void append_check(const char *path, int processes, int records)
{
	int *next = calloc(processes, sizeof(*next));
	FILE *file = fopen(path, "re");
	char line[2 * RECORD];
	long lines = 0;
	int process, i;

	if (next == NULL || file == NULL)
		die(path);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strlen(line) != RECORD || sscanf(line, "%d %d end", &process, &i) != 2 ||
		    process < 0 || process >= processes || i != next[process])
			wrong("%s: line %ld: %s", path, lines + 1, line);
		next[process]++;
		lines++;
	}
	if (lines != (long)processes * records)
		wrong("%s: %ld records, not %ld", path, lines, (long)processes * records);
	fclose(file);
	free(next);
}

int op_append(int argc, char **argv)
{
	int processes = number(argv[2]), records = number(argv[3]), status, i;

	(void)argc;
	for (i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			append_records(argv[1], i, records);
			_exit(0);
		}
	}
	for (i = 0; i < processes; i++)
		if (wait(&status) < 0 || status != 0)
			wrong("an appending process failed");
	append_check(argv[1], processes, records);
	return 0;
}

int op_resident(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	long page = sysconf(_SC_PAGESIZE);
	unsigned char *vec;
	size_t pages, i, resident = 0;
	struct stat st;
	void *map;

	(void)argc;
	if (fd < 0 || fstat(fd, &st) < 0)
		die(argv[1]);
	pages = (st.st_size + page - 1) / page;
	vec = malloc(pages + 1);
	map = pages == 0 ? NULL : mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (vec == NULL || map == MAP_FAILED)
		die("mmap");
	if (pages > 0 && mincore(map, st.st_size, vec) < 0)
		die("mincore");
	for (i = 0; i < pages; i++)
		resident += vec[i] & 1;
	printf("%zu %lld\n", resident * page, (long long)st.st_size);
	free(vec);
	return 0;
}
