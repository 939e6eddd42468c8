#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# export-confines-handles.sh
#
# An export of one filesystem is not an export of the one it is mounted on. Ganesha's core looks
# up ".." in the root of every export; an FSAL that answers by claiming the filesystem it leads to
# has made every handle of that filesystem, often the server's own /, valid in the export, open to
# any client that can name an inode. FSAL_VFS 4.3 does so.
#
# Asserted: a real handle of a file on the filesystem around the export is refused; LOOKUP of ".."
# does not lead out; the daemon holds no descriptor there, so that it can be unmounted or remounted
# read-only. A filesystem mounted below the export belongs to it, also if it was mounted later.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

outer_handle() {
	serve "1 $PG_DIR/outer /outer VFS"
	outer=$(client lookup secret | value fh)
	expect_equal "the handle" "$(client readh --fh "$outer" | value data)" 736563726574
}

refused() {
	local out rc=0
	out=$(client "$@") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_STALE | 2:NFS3ERR_BADHANDLE) ;;
	*) fail "nfsclient $*: status $rc, $out" ;;
	esac
}

# Descriptors of the daemon on the filesystem mounted at $1, but for log and lock files of the test.
descriptors_on() {
	local fd device
	device=$(stat -c %d "$1")
	for fd in /proc/"$(pg_pid main)"/fd/*; do
		[ "$(stat -L -c %d "$fd" 2>/dev/null)" != "$device" ] || readlink "$fd"
	done
}

later_mount() {
	note "a filesystem mounted below, later"
	mkdir "$PG_DIR/outer/inner/later"
	mount -t tmpfs tmpfs "$PG_DIR/outer/inner/later"
	printf here >"$PG_DIR/outer/inner/later/file"
	quietly client readdir --plus
	client readdir --plus | grep -q 'name=later$' || fail "the mount point is not listed"
	expect_equal "file on it" "$(client readh later/file | value data)" 68657265
}

scratch outer ext4 256M
printf secret >"$PG_DIR/outer/secret"
mkdir "$PG_DIR/outer/inner"
scratch outer/inner ext4 256M
quietly mkdir "$PG_MOUNT/dir"
outer_handle
note "only the inner filesystem is exported"
restart "1 $PG_DIR/outer/inner /inner $DB_FSAL || Attr_Expiration_Time = 0;"
target main "$PG_DIR/outer/inner"
quietly client getattr
quietly client readdir --plus
refused getattr --fh "$outer"
refused readh --fh "$outer"
expect_equal ".. of the root" "$(client lookup .. | value fh)" "$(client lookup | value fh)"
expect_equal "descriptors on the outer filesystem" "$(descriptors_on "$PG_DIR/outer")" ''
later_mount
refused readh --fh "$outer"
stop_all
