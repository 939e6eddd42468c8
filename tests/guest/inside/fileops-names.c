/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fileops: mounting, creating, opening, unlinking.  See fileops.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileops.h"

#define SMALL 20000

/* mount(2) as mount.nfs would call it; no helper program is needed. */
int op_mount(int argc, char **argv)
{
	(void)argc;
	if (mount(argv[2], argv[3], argv[1], MS_NOATIME, argv[4]) < 0)
		die("mount");
	return 0;
}

static int must_open(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_CLOEXEC, mode);

	if (fd < 0)
		die(path);
	return fd;
}

static void must_fail(const char *path, int flags, int error)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0)
		wrong("%s: open with flags %#o succeeded, want: %s", path, flags, strerror(error));
	if (errno != error)
		wrong("%s: open with flags %#o: %s, want: %s", path, flags, strerror(errno),
		      strerror(error));
}

static void must_close(int fd)
{
	if (close(fd) < 0)
		die("close");
}

int op_excl(int argc, char **argv)
{
	int fd = must_open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0640);
	struct stat st;

	(void)argc;
	if (fstat(fd, &st) < 0)
		die("fstat");
	if ((st.st_mode & 07777) != 0640 || st.st_size != 0)
		wrong("mode %o size %lld after an exclusive create", st.st_mode,
		      (long long)st.st_size);
	must_close(fd);
	must_fail(argv[1], O_RDWR | O_CREAT | O_EXCL, EEXIST);
	return 0;
}

/*
 * What git does for each object, and what NFS servers have got wrong: a file
 * created read-only has to be writable through the descriptor that created it.
 */
int op_gitobject(int argc, char **argv)
{
	char temporary[4096], name[4096], data[SMALL];
	int fd;

	(void)argc;
	snprintf(temporary, sizeof(temporary), "%s/tmp_obj_%d", argv[1], getpid());
	snprintf(name, sizeof(name), "%s/%s", argv[1], argv[2]);
	stamp_fill(data, sizeof(data), 0, 7);
	fd = must_open(temporary, O_RDWR | O_CREAT | O_EXCL, 0444);
	write_all(fd, data, SMALL / 2, 0);
	write_all(fd, data + SMALL / 2, SMALL / 2, SMALL / 2);
	if (fsync(fd) < 0)
		die("fsync");
	must_close(fd);
	if (link(temporary, name) < 0)
		die("link");
	if (unlink(temporary) < 0)
		die("unlink");
	fd = must_open(name, O_RDONLY, 0);
	read_all(fd, data, sizeof(data), 0);
	stamp_check(data, sizeof(data), 0, 7, name);
	must_close(fd);
	if (geteuid() != 0)
		must_fail(name, O_WRONLY, EACCES);
	return 0;
}

/* A read-only open joined by a read-write one, which then goes away again. */
int op_upgrade(int argc, char **argv)
{
	char data[SMALL];
	int reader, writer;

	(void)argc;
	reader = must_open(argv[1], O_RDONLY | O_CREAT, 0644);
	writer = must_open(argv[1], O_RDWR, 0);
	stamp_fill(data, sizeof(data), 0, 8);
	write_all(writer, data, sizeof(data), 0);
	if (fsync(writer) < 0)
		die("fsync");
	read_all(reader, data, sizeof(data), 0);
	stamp_check(data, sizeof(data), 0, 8, argv[1]);
	must_close(writer);
	posix_fadvise(reader, 0, 0, POSIX_FADV_DONTNEED);
	read_all(reader, data, sizeof(data), 0);
	stamp_check(data, sizeof(data), 0, 8, argv[1]);
	writer = must_open(argv[1], O_WRONLY | O_TRUNC, 0);
	stamp_fill(data, sizeof(data), 0, 9);
	write_all(writer, data, sizeof(data), 0);
	must_close(writer);
	posix_fadvise(reader, 0, 0, POSIX_FADV_DONTNEED);
	read_all(reader, data, sizeof(data), 0);
	stamp_check(data, sizeof(data), 0, 9, argv[1]);
	must_close(reader);
	return 0;
}

/* A file without a name stays usable while it is open. */
int op_unlinked(int argc, char **argv)
{
	int fd = must_open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	char data[SMALL];

	(void)argc;
	stamp_fill(data, sizeof(data), 0, 10);
	write_all(fd, data, SMALL / 2, 0);
	if (fsync(fd) < 0)
		die("fsync");
	if (unlink(argv[1]) < 0)
		die("unlink");
	must_fail(argv[1], O_RDONLY, ENOENT);
	write_all(fd, data + SMALL / 2, SMALL / 2, SMALL / 2);
	if (fsync(fd) < 0)
		die("fsync");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	read_all(fd, data, sizeof(data), 0);
	stamp_check(data, sizeof(data), 0, 10, argv[1]);
	must_close(fd);
	return 0;
}

int op_denied(int argc, char **argv)
{
	(void)argc;
	must_fail(argv[1], argv[2][0] == 'w' ? O_WRONLY : O_RDONLY, EACCES);
	return 0;
}

int op_fallocate(int argc, char **argv)
{
	int punch = argc > 4 ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : 0;
	int fd = must_open(argv[1], O_RDWR | O_CREAT, 0644);

	if (fallocate(fd, punch, number(argv[2]), number(argv[3])) < 0)
		die("fallocate");
	must_close(fd);
	return 0;
}

int op_socket(int argc, char **argv)
{
	struct stat st;

	(void)argc;
	if (mknod(argv[1], S_IFSOCK | 0640, 0) < 0)
		die("mknod");
	if (lstat(argv[1], &st) < 0)
		die("lstat");
	if (!S_ISSOCK(st.st_mode))
		wrong("%s: mode %o is no socket", argv[1], st.st_mode);
	return 0;
}
