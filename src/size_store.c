/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Offered sizes on disk: see size_store.h. */
#include "size_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_FORMAT "%" SCNu16 " %" SCNu64 " %" SCNu64

struct entry {
	uint16_t export_id;
	uint64_t sizes[SIZE_DIRECTIONS];
};

/* The next line that parses; false at the end */
static bool entry_read(FILE *file, struct entry *ret_entry)
{
	char line[128];

	while (fgets(line, sizeof(line), file) != NULL) {
		struct entry e;

		if (sscanf(line, LINE_FORMAT, &e.export_id, &e.sizes[SIZE_READ],
			   &e.sizes[SIZE_WRITE]) != 3)
			continue;
		*ret_entry = e;
		return true;
	}
	return false;
}

static int entry_write(int fd, uint16_t export_id, const uint64_t sizes[SIZE_DIRECTIONS])
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%" PRIu16 " %" PRIu64 " %" PRIu64 "\n", export_id,
			   sizes[SIZE_READ], sizes[SIZE_WRITE]);
	ssize_t done = write(fd, line, (size_t)len);

	if (done < 0)
		return -errno;
	return done == len ? 0 : -ENOSPC;
}

int size_store_get(const char *path, uint16_t export_id, uint64_t ret_sizes[SIZE_DIRECTIONS])
{
	FILE *file = fopen(path, "re");
	struct entry e;

	ret_sizes[SIZE_READ] = ret_sizes[SIZE_WRITE] = 0;
	if (file == NULL)
		return errno == ENOENT ? 0 : -errno;
	while (entry_read(file, &e)) {
		if (e.export_id != export_id)
			continue;
		ret_sizes[SIZE_READ] = e.sizes[SIZE_READ];
		ret_sizes[SIZE_WRITE] = e.sizes[SIZE_WRITE];
	}
	fclose(file);
	return 0;
}

static int copy_others(const char *path, int to, uint16_t export_id)
{
	FILE *from = fopen(path, "re");
	struct entry e;
	int rc = 0;

	if (from == NULL)
		return errno == ENOENT ? 0 : -errno;
	while (rc == 0 && entry_read(from, &e)) {
		if (e.export_id != export_id)
			rc = entry_write(to, e.export_id, e.sizes);
	}
	fclose(from);
	return rc;
}

int size_store_put(const char *path, uint16_t export_id, const uint64_t sizes[SIZE_DIRECTIONS])
{
	char fresh[PATH_MAX];
	int fd, rc;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", path) >= sizeof(fresh))
		return -ENAMETOOLONG;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	rc = copy_others(path, fd, export_id);
	if (rc == 0)
		rc = entry_write(fd, export_id, sizes);
	if (rc == 0 && fsync(fd) != 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && rename(fresh, path) != 0)
		rc = -errno;
	if (rc != 0)
		(void)unlink(fresh);
	return rc;
}
