/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Probing a filesystem: see probe.h. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel_abi.h"
#include "range.h"
#include "residency.h"
#include "strategy.h"

#define PROBE_BYTES 65536
#define PROBE_TRIES 5 /* a page somebody looks at in this moment survives a drop */

/* linux/magic.h, and those that are not in it; for people only */
static const struct {
	unsigned long magic;
	const char *name;
} fs_names[] = {
	{ 0xEF53, "ext4" },	 { 0x58465342, "xfs" },	     { 0x9123683E, "btrfs" },
	{ 0x01021994, "tmpfs" }, { 0x858458F6, "ramfs" },    { 0x794C7630, "overlay" },
	{ 0x65735546, "fuse" },	 { 0x6969, "nfs" },	     { 0xF2F52010, "f2fs" },
	{ 0x2FC12FC1, "zfs" },	 { 0x4D44, "vfat" },	     { 0x2011BAB0, "exfat" },
	{ 0x7366746E, "ntfs3" }, { 0xCA451A4E, "bcachefs" }, { 0x73717368, "squashfs" },
	{ 0x9660, "iso9660" },	 { 0xE0F5E1E2, "erofs" },    { 0xFF534D42, "cifs" },
	{ 0x00C36400, "ceph" },	 { 0x3153464A, "jfs" },	     { 0x52654973, "reiserfs" },
	{ 0x01161970, "gfs2" },	 { 0x7461636F, "ocfs2" },    { 0x01021997, "9p" },
};

static int name_fs(int mount_fd, char *ret_name, size_t size)
{
	struct statfs st;
	unsigned long magic;

	if (fstatfs(mount_fd, &st) != 0)
		return -errno;
	magic = (unsigned long)st.f_type & 0xFFFFFFFFUL;
	snprintf(ret_name, size, "0x%lx", magic);
	for (size_t i = 0; i < sizeof(fs_names) / sizeof(fs_names[0]); i++) {
		if (fs_names[i].magic == magic)
			snprintf(ret_name, size, "%s", fs_names[i].name);
	}
	return 0;
}

static int scratch_open(int mount_fd)
{
	int fd = openat(mount_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : -errno;
}

static int write_scratch(int fd, int flags)
{
	static const char zeroes[PROBE_BYTES];
	struct iovec iov = { .iov_base = (void *)zeroes, .iov_len = sizeof(zeroes) };
	const struct io_request req = { .iov = &iov, .iov_count = 1 };
	ssize_t done = io_transfer_write(fd, &req, flags);

	return done < 0 ? (int)done : 0;
}

static int write_back(int fd)
{
	const unsigned int flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				   SYNC_FILE_RANGE_WAIT_AFTER;

	return sync_file_range(fd, 0, PROBE_BYTES, flags) != 0 ? -errno : 0;
}

/* 0, or an errno: EMEDIUMTYPE where the page cache is all there is */
static int try_range(int fd)
{
	struct residency left;
	int rc;

	for (int i = 0; i < PROBE_TRIES; i++) {
		rc = write_back(fd);
		if (rc == 0)
			rc = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (rc != 0)
			return -rc;
		rc = residency_of(fd, 0, PROBE_BYTES, &left);
		if (rc != 0 || left.cached == 0)
			return 0;
		usleep(1000);
	}
	return left.cached >= PROBE_BYTES ? EMEDIUMTYPE : 0;
}

static void probe_scratch(int fd, struct volume_probe *probe)
{
	int rc = write_scratch(fd, RWF_DONTCACHE);

	probe->dontcache_error = -rc;
	if (rc != 0)
		rc = write_scratch(fd, 0);
	if (rc == 0)
		probe->range_error = try_range(fd);
}

int probe_filesystem(int mount_fd, struct volume_probe *ret_probe)
{
	struct volume_probe probe = { .mode = IO_MODE_BUFFERED };
	int fd, rc = name_fs(mount_fd, probe.fs_type, sizeof(probe.fs_type));

	if (rc != 0)
		return rc;
	fd = scratch_open(mount_fd);
	if (fd >= 0) {
		probe_scratch(fd, &probe);
		close(fd);
	} else {
		probe.dontcache_error = -fd;
	}
	if (probe.dontcache_error == 0 && probe.range_error != EMEDIUMTYPE)
		probe.mode = IO_MODE_DONTCACHE;
	else if (probe.range_error == 0)
		probe.mode = IO_MODE_RANGE;
	*ret_probe = probe;
	return 0;
}
