#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# timeout: 500
#
# The daemon with our module under Debian's 6.1 kernel, which has neither
# RWF_DONTCACHE nor cachestat(2): the probe settles for Range, and a stream and an
# overwrite are out of the page cache after fsync all the same (by mincore(2)).

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"

truncate -s 1G "$PG_DIR/disk"
mkfs.ext4 -q -F "$PG_DIR/disk"
GUEST_QEMU=(-drive "file=$PG_DIR/disk,format=raw,if=virtio,cache=none")
if [ "$guest_fsal" != VFS ]; then
	mkdir "$PG_DIR/files"
	cp "$DB_MODULE_DIR/libfsaldropbehind.so" "$PG_DIR/files/"
	GUEST_FILES=$PG_DIR/files
fi
PG_MOUNT=/export
PG_PORTS[guest]=2049
guest_run "$guest_dir/inside/daemon"
