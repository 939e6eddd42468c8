/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See file_fixture.h. */
#include "file_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"
#include "residency.h"
#include "unit.h"

struct fixture fixture = { .dir_fd = -1 };
static char dir_name[] = "file_fixture.XXXXXX";

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fixture: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void on_downgrade(struct volume *volume, enum io_mode mode, int error, void *arg)
{
	(void)volume;
	(void)mode;
	(void)arg;
	atomic_fetch_add(&fixture.downgrades, 1);
	atomic_store(&fixture.downgrade_error, error);
}

static void on_latch(struct volume *volume, const struct kernel_handle *handle, int error,
		     void *arg)
{
	(void)volume;
	(void)handle;
	(void)arg;
	atomic_fetch_add(&fixture.latches, 1);
	atomic_store(&fixture.latch_error, error);
}

static void extra_init(void *extra)
{
	need(*(uint64_t *)extra == 0, "extra is not zeroed");
	*(uint64_t *)extra = 4711;
	atomic_fetch_add(&fixture.extras, 1);
}

static void extra_fini(void *extra)
{
	need(*(uint64_t *)extra == 4711, "extra was overwritten");
	atomic_fetch_sub(&fixture.extras, 1);
}

void fixture_begin_limited(unsigned int descriptors)
{
	const struct file_table_config config = {
		.descriptor_limit = descriptors,
		.latch_seconds = 100,
		.extra_size = sizeof(uint64_t),
		.extra_init = extra_init,
		.extra_fini = extra_fini,
		.on_downgrade = on_downgrade,
		.on_latch = on_latch,
	};
	int fd;

	fixture_end();
	mock_reset();
	strcpy(dir_name + strlen(dir_name) - 6, "XXXXXX");
	need(mkdtemp(dir_name) != NULL, "mkdtemp");
	fixture.dir_fd = open(dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = fcntl(fixture.dir_fd, F_DUPFD_CLOEXEC, 0);
	need(fd >= 0, "open");
	need(volume_open(fd, &fixture.volume) == 0, "volume_open");
	need(file_table_create(&config, &fixture.table) == 0, "file_table_create");
	fixture.counters = file_table_counters(fixture.table);
	atomic_store(&fixture.downgrades, 0);
	atomic_store(&fixture.latches, 0);
	fixture_mode(IO_MODE_AUTO, 32 * MIB);
	mock_reset();
}

void fixture_begin(void)
{
	fixture_begin_limited(0);
}

static void remove_files(void)
{
	DIR *dir = fdopendir(fixture.dir_fd);
	struct dirent *entry;

	need(dir != NULL, "fdopendir");
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	need(rmdir(dir_name) == 0, "rmdir");
}

void fixture_end(void)
{
	if (fixture.dir_fd < 0)
		return;
	mock_reset();
	file_table_forget(fixture.table, fixture.volume);
	volume_close(fixture.volume);
	need(atomic_load(&fixture.counters->files) == 0, "files are left");
	need(atomic_load(&fixture.counters->descriptors) == 0, "descriptors are left");
	need(atomic_load(&fixture.extras) == 0, "extras are left");
	file_table_destroy(fixture.table);
	remove_files();
	fixture.dir_fd = -1;
}

/* Content by offset: a pattern that repeats after a prime, and is never 0 so that it is no hole */
#define PATTERN 1048573
static unsigned char pattern[PATTERN];

static void make_pattern(void)
{
	for (uint64_t i = 0; i < PATTERN; i++)
		pattern[i] = (unsigned char)(1 + (i / 509 + i) % 255);
}

static bool is_missing(void)
{
	struct kernel_handle handle;
	struct volume_probe probe;
	int fd;

	fixture_begin();
	volume_probe_result(fixture.volume, &probe);
	if (probe.mode == IO_MODE_BUFFERED) {
		printf("SKIP: the current folder is on %s, which can't drop\n", probe.fs_type);
		return true;
	}
	fd = handle_of_name(fixture.dir_fd, "", &handle);
	if (fd == 0)
		fd = handle_open(fixture.dir_fd, &handle, O_RDONLY | O_DIRECTORY);
	if (fd < 0) {
		printf("SKIP: open_by_handle_at: %s\n", strerror(-fd));
		return true;
	}
	close(fd);
	return false;
}

int fixture_main(const char *name, CU_TestInfo *tests)
{
	int rc;

	make_pattern();
	rc = is_missing() ? 77 : unit_run(name, fixture_begin, tests);

	fixture_end();
	return rc;
}

struct file *fixture_file(const char *name)
{
	int fd = openat(fixture.dir_fd, name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct kernel_handle handle;
	struct file *file;

	need(fd >= 0, name);
	need(handle_of_name(fd, "", &handle) == 0, "handle_of_name");
	file = file_get(fixture.table, fixture.volume, &handle);
	need(file != NULL, "file_get");
	close(fd);
	return file;
}

void fixture_mode(enum io_mode mode, uint64_t stream_cache)
{
	atomic_store(&fixture.policy.write_mode, mode);
	atomic_store(&fixture.policy.read_mode, mode);
	atomic_store(&fixture.policy.stream_cache, stream_cache);
}

/* Bytes at @offset that are contiguous in the pattern, at most @len */
static uint64_t pattern_at(uint64_t offset, uint64_t len, const unsigned char **ret_data)
{
	uint64_t at = offset % PATTERN;

	*ret_data = pattern + at;
	return len < PATTERN - at ? len : PATTERN - at;
}

static void fill(unsigned char *data, uint64_t offset, uint64_t len)
{
	const unsigned char *want;
	uint64_t part;

	for (; len > 0; len -= part, data += part, offset += part) {
		part = pattern_at(offset, len, &want);
		memcpy(data, want, part);
	}
}

#define CHUNK 4096

static bool is_ours_or_hole(const unsigned char *data, const unsigned char *want, uint64_t len)
{
	static const unsigned char zeroes[CHUNK];

	if (memcmp(data, want, len) == 0 || memcmp(data, zeroes, len) == 0)
		return true;
	for (uint64_t i = 0; i < len; i++) {
		if (data[i] != 0 && data[i] != want[i])
			return false;
	}
	return true;
}

static bool is_ours(const unsigned char *data, uint64_t offset, uint64_t len)
{
	const unsigned char *want;
	uint64_t part;

	for (; len > 0; len -= part, data += part, offset += part) {
		part = pattern_at(offset, len < CHUNK ? len : CHUNK, &want);
		if (!is_ours_or_hole(data, want, part))
			return false;
	}
	return true;
}

ssize_t fixture_write(struct file *file, uint64_t offset, uint64_t len, bool stable)
{
	unsigned char *data = malloc(len + 1);
	struct iovec iov[2] = {
		{ .iov_base = data, .iov_len = len / 2 },
		{ .iov_base = data + len / 2, .iov_len = len - len / 2 },
	};
	const struct io_request req = {
		.iov = iov, .iov_count = 2, .offset = offset, .stable = stable
	};
	ssize_t done;
	int fd;

	fill(data, offset, len);
	fd = file_acquire(file, true);
	done = fd < 0 ? fd : file_write(file, fd, &fixture.policy, &req);
	if (fd >= 0)
		file_release(file, true);
	free(data);
	return done;
}

int fixture_stream(struct file *file, uint64_t offset, uint64_t end, uint64_t size)
{
	ssize_t done;

	for (; offset < end; offset += size) {
		done = fixture_write(file, offset, size, false);
		if (done != (ssize_t)size)
			return done < 0 ? (int)done : -EIO;
	}
	return 0;
}

ssize_t fixture_read(struct file *file, uint64_t offset, uint64_t len)
{
	unsigned char *data = calloc(1, len + 1);
	struct iovec iov = { .iov_base = data, .iov_len = len };
	const struct io_request req = { .iov = &iov, .iov_count = 1, .offset = offset };
	int fd = file_acquire(file, false);
	ssize_t done = fd < 0 ? fd : file_read(file, fd, &fixture.policy, &req);

	if (fd >= 0)
		file_release(file, false);
	if (done > 0 && !is_ours(data, offset, (uint64_t)done))
		done = -EBADMSG;
	free(data);
	return done;
}

int fixture_commit(struct file *file)
{
	int fd = file_acquire(file, false);
	int rc = fd < 0 ? fd : file_commit(file, fd);

	if (fd >= 0)
		file_release(file, false);
	return rc;
}

uint64_t fixture_cached(struct file *file)
{
	int fd = file_acquire(file, false);
	struct residency residency = { 0 };

	need(fd >= 0 && residency_of(fd, 0, 0, &residency) == 0, "residency_of");
	file_release(file, false);
	return residency.cached;
}

bool fixture_wait(_Atomic uint64_t *counter, uint64_t value)
{
	for (int i = 0; i < 20000; i++) {
		if (atomic_load(counter) >= value)
			return true;
		usleep(1000);
	}
	return false;
}

bool fixture_wait_dropped(void)
{
	return fixture_wait(&fixture.counters->windows_dropped,
			    atomic_load(&fixture.counters->windows_queued));
}

void gate_hook(const struct mock_record *record, void *arg)
{
	struct gate *gate = arg;

	(void)record;
	atomic_fetch_add(&gate->waiting, 1);
	while (atomic_load(&gate->closed))
		usleep(500);
	atomic_fetch_sub(&gate->waiting, 1);
}
