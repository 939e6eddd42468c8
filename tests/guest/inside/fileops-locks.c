/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fileops: byte-range locks, as the server sees them.  See fileops.h.
 *
 * A Linux client settles conflicts between its own processes before it asks the
 * server.  So the same file is opened through two mounts that share neither
 * inode nor lock owner: what one may not have, the server has refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fileops.h"

enum side { A, B };

struct step {
	enum side side;
	short type;
	off_t start;
	off_t length; /* 0: to the end of any file */
	int error;    /* what fcntl(F_SETLK) has to say */
};

#define FAR ((off_t)1 << 40)

static const struct step steps[] = {
	{ A, F_WRLCK, 0, 100, 0 },
	{ B, F_WRLCK, 0, 100, EAGAIN },
	{ B, F_RDLCK, 99, 1, EAGAIN },
	{ B, F_WRLCK, 100, 50, 0 },
	{ A, F_WRLCK, 50, 51, EAGAIN },
	/* A lock downgraded lets readers in, and only them. */
	{ A, F_RDLCK, 0, 100, 0 },
	{ B, F_RDLCK, 0, 100, 0 },
	{ B, F_WRLCK, 0, 100, EAGAIN },
	{ A, F_WRLCK, 0, 100, EAGAIN },
	{ B, F_UNLCK, 0, 100, 0 },
	{ A, F_WRLCK, 0, 100, 0 },
	/* Unlocking the middle splits a lock. */
	{ A, F_UNLCK, 40, 20, 0 },
	{ B, F_WRLCK, 40, 20, 0 },
	{ B, F_WRLCK, 39, 1, EAGAIN },
	{ B, F_WRLCK, 60, 1, EAGAIN },
	/* Beyond the end of the file, and without an end. */
	{ A, F_WRLCK, FAR, 0, 0 },
	{ B, F_WRLCK, FAR + 12345, 1, EAGAIN },
	{ B, F_WRLCK, FAR - 1, 1, 0 },
	{ A, F_UNLCK, 0, 0, 0 },
	{ B, F_WRLCK, 0, 0, 0 },
	{ A, F_RDLCK, 7, 1, EAGAIN },
	{ B, F_UNLCK, 0, 0, 0 },
	{ A, F_WRLCK, 0, 0, 0 },
};

static int set_lock(int fd, int command, short type, off_t start, off_t length)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = start,
		.l_len = length,
	};

	return fcntl(fd, command, &lock) < 0 ? errno : 0;
}

static int open_rw(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		die(path);
	return fd;
}

static void run_step(const struct step *step, int fd)
{
	int error = set_lock(fd, F_SETLK, step->type, step->start, step->length);

	if (error == EACCES)
		error = EAGAIN;
	if (error != step->error)
		wrong("step %td, owner %c, type %d at %lld+%lld: %s, want: %s", step - steps,
		      "AB"[step->side], step -> type, (long long)step -> start,
		      (long long)step -> length, strerror(error), strerror(step->error));
}

/* F_GETLK through B tells of A's lock, which covers the whole file. */
static void test_holder(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = 10,
		.l_len = 10,
	};

	if (fcntl(fd, F_GETLK, &lock) < 0)
		die("F_GETLK");
	if (lock.l_type != F_WRLCK || lock.l_start > 10)
		wrong("F_GETLK: type %d at %lld, want a write lock", lock.l_type,
		      (long long)lock.l_start);
}

int op_locks(int argc, char **argv)
{
	int fds[2] = { open_rw(argv[1]), open_rw(argv[2]) };
	size_t i;

	(void)argc;
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		run_step(&steps[i], fds[steps[i].side]);
	test_holder(fds[B]);
	/* Closing releases; nobody has to unlock. */
	close(fds[A]);
	if (set_lock(fds[B], F_SETLK, F_WRLCK, 0, 0) != 0)
		die("lock after the holder's close");
	return 0;
}

/* A waiter gets the lock after its holder died. */
int op_lockwait(int argc, char **argv)
{
	int ready[2], fd, status;
	pid_t holder;
	char byte;

	(void)argc;
	if (pipe(ready) < 0)
		die("pipe");
	holder = fork();
	if (holder < 0)
		die("fork");
	if (holder == 0) {
		if (set_lock(open_rw(argv[1]), F_SETLK, F_WRLCK, 0, 0) != 0)
			_exit(1);
		close(ready[1]);
		sleep(2);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 0)
		wrong("the holder wrote");
	fd = open_rw(argv[2]);
	if (set_lock(fd, F_SETLK, F_WRLCK, 0, 0) != EAGAIN)
		wrong("the lock was free while its holder slept");
	if (set_lock(fd, F_SETLKW, F_WRLCK, 0, 0) != 0)
		die("F_SETLKW");
	if (waitpid(holder, &status, WNOHANG) != holder || status != 0)
		wrong("the lock was granted before its holder ended");
	return 0;
}

static void must_flock(int fd, int how, int error)
{
	int got = flock(fd, how | LOCK_NB) < 0 ? errno : 0;

	if (got != error)
		wrong("flock %d: %s, want: %s", how, strerror(got), strerror(error));
}

int op_flock(int argc, char **argv)
{
	int a = open_rw(argv[1]), b = open_rw(argv[2]);

	(void)argc;
	must_flock(a, LOCK_EX, 0);
	must_flock(b, LOCK_EX, EAGAIN);
	must_flock(b, LOCK_SH, EAGAIN);
	must_flock(a, LOCK_UN, 0);
	must_flock(b, LOCK_SH, 0);
	must_flock(a, LOCK_SH, 0);
	must_flock(a, LOCK_UN, 0);
	must_flock(a, LOCK_EX, EAGAIN);
	close(b);
	must_flock(a, LOCK_EX, 0);
	return 0;
}

/* A read lock needs no more than a descriptor that reads. */
int op_readlock(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	int error;

	(void)argc;
	if (fd < 0)
		die(argv[1]);
	error = set_lock(fd, F_SETLK, F_RDLCK, 0, 0);
	if (error == 0)
		error = set_lock(fd, F_SETLK, F_UNLCK, 0, 0);
	if (error != 0)
		wrong("read lock on a read-only descriptor: %s", strerror(error));
	if (set_lock(fd, F_SETLK, F_WRLCK, 0, 0) != EBADF)
		wrong("write lock on a read-only descriptor was granted");
	return 0;
}
