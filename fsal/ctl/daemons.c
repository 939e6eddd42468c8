/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Running daemons: see daemons.h. */
#include "daemons.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is the program of process @pid ganesha.nfsd? From the command line, which everybody may read */
static bool is_daemon(const char *proc, const char *pid)
{
	char path[300], command[4096];
	const char *name;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/cmdline", proc, pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	length = fread(command, 1, sizeof(command) - 1, file);
	fclose(file);
	command[length] = '\0';
	name = strrchr(command, '/');
	return strcmp(name != NULL ? name + 1 : command, "ganesha.nfsd") == 0;
}

static bool namespace_of(const char *proc, const char *pid, char *buf, size_t size)
{
	char path[300];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s/ns/net", proc, pid);
	length = readlink(path, buf, size - 1);
	if (length < 0)
		return false;
	buf[length] = '\0';
	return true;
}

int daemons_find(const char *proc, struct daemons *ret_daemons)
{
	struct daemons daemons = { 0 };
	char ours[64], theirs[64];
	struct dirent *entry;
	DIR *dir = opendir(proc);

	if (dir == NULL)
		return -errno;
	if (!namespace_of(proc, "self", ours, sizeof(ours)))
		ours[0] = '\0';
	while ((entry = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 0 || !is_daemon(proc, entry->d_name))
			continue;
		if (!namespace_of(proc, entry->d_name, theirs, sizeof(theirs)))
			daemons.unreadable = pid;
		else if (strcmp(ours, theirs) == 0)
			daemons.here = true;
		else
			daemons.elsewhere = pid;
	}
	closedir(dir);
	*ret_daemons = daemons;
	return 0;
}
