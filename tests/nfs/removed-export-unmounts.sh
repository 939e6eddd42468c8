#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# removed-export-unmounts.sh
#
# An export is removed at run time so that its disk can be taken away: after RemoveExport no
# descriptor of the daemon is left on it and umount(8) succeeds, without waiting for the metadata
# cache to forget the files one by one, also when streams had just been written and not committed.
# The export can be added again, and the first DROPBEHIND export can come to a running daemon that
# never heard of the FSAL.
#
# Cheap fixes that fail: closing only what is idle, keeping the mount point's own descriptor,
# `umount -l`.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

manage() {
	dbus-send --system --print-reply --dest=org.ganesha.nfsd /org/ganesha/nfsd/ExportMgr \
		"org.ganesha.nfsd.exportmgr.$1" "${@:2}"
}

# add_export ID PATH PSEUDO: by the configuration file that names it.
add_export() {
	pg_export_block "$1 $2 $3 $DB_FSAL" >"$PG_DIR/add.conf"
	quietly manage AddExport string:"$PG_DIR/add.conf" string:"EXPORT(Export_Id=$1)"
}

descriptors() { find "/proc/$(pg_pid main)/fd" -lname "$1*" -printf '%l\n'; }

no_descriptors() { [ -z "$(descriptors "$1")" ]; }

use() {
	target main "$1"
	quietly client mkdir dir --mode 755
	quietly client write committed --size 64M
	quietly client write uncommitted --size 64M --no-commit
	quietly client write many --writers 50 --size 64K --block 64K --no-commit
	quietly client read committed --size 64M --verify
	quietly client readdir --plus
	[ -n "$(descriptors "$1")" ] || fail "no descriptor on $1: this proves nothing"
}

remove() {
	quietly manage RemoveExport uint16:"$1"
	pg_wait_until 15 no_descriptors "$2" ||
		fail "descriptors on $2 after RemoveExport: $(descriptors "$2" | head -n 3)"
	pg_wait_until 15 umount "$2" || fail "$2 can't be unmounted: $(umount "$2" 2>&1)"
}

refused() {
	target main "$1"
	! client getattr >"$PG_DIR/out" || fail "$1 is still served"
}

check_content() {
	target main "$1"
	quietly client read committed --size 64M --verify
	quietly client read uncommitted --size 64M --verify
	quietly client read many.49 --size 64K --verify
}

need_fs ext4
# A loop device of its own, so that the disk can be mounted again.
truncate -s 1G "$PG_DIR/image"
mkfs.ext4 -q -F "$PG_DIR/image"
mkdir "$PG_DIR/disk"
mount -o loop "$PG_DIR/image" "$PG_DIR/disk"
scratch vfs ext4 256M
serve "9 $PG_DIR/vfs /vfs VFS"
note "the first export of $DB_FSAL comes to a running daemon"
add_export 1 "$PG_DIR/disk" /disk
use "$PG_DIR/disk"
for round in 1 2 3; do
	note "removed, unmounted, mounted, added again ($round)"
	remove 1 "$PG_DIR/disk"
	refused "$PG_DIR/disk"
	mount -o loop "$PG_DIR/image" "$PG_DIR/disk"
	add_export 1 "$PG_DIR/disk" /disk
	check_content "$PG_DIR/disk"
	quietly client write "more$round" --size 32M --no-commit
done
target main "$PG_DIR/vfs"
quietly client getattr
stop_all
