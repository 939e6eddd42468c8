/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What a filesystem can do for drop-behind, found out by trying, on an unnamed scratch file of that
 * filesystem: whether a write may carry RWF_DONTCACHE, whether sync_file_range(2) is there, and
 * whether pages that were written back and dropped are gone. No kernel version and, but for the
 * name shown to people, no filesystem type decides anything.
 */
#ifndef DROPBEHIND_PROBE_H
#define DROPBEHIND_PROBE_H

#include "volume.h"

/**
 * probe_filesystem - probe the filesystem of the directory @mount_fd. Leaves nothing behind.
 *
 * Where no scratch file can be made (read-only or full filesystem, no O_TMPFILE), the mode is
 * Range, which every filesystem with a backing store can do, and dontcache_error says why. Returns
 * 0, or -errno only where statfs(2) fails.
 */
int probe_filesystem(int mount_fd, struct volume_probe *ret_probe);

#endif
