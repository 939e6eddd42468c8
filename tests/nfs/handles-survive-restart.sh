#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# handles-survive-restart.sh [FSTYPE]
#
# A client that mounted before the server restarted goes on with the handles it has: of files of
# every type, also those whose name changed meanwhile, read and written without a LOOKUP. A handle
# of a file that is gone is STALE, even when its inode number is used again: a server that kept
# only the number would give one user's data to another.
#
# Handles are also input from the network: every bit flip and truncation answers BADHANDLE or STALE
# (or the same object, where the bit does not matter) and never ends the daemon, and with the id of
# another export in its head a handle does not reach that export's files.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

declare -A handle fileid

objects=(file dir dir/deep/leaf link fifo .)

make_objects() {
	quietly client write file --size 4M
	quietly client mkdir dir --mode 755
	quietly client mkdir dir/deep --mode 755
	quietly client create dir/deep/leaf --mode 644
	quietly client writeh dir/deep/leaf --data leaf
	quietly client symlink over/there link
	quietly client mknod fifo fifo
}

# ask KEY CLIENT-ARGUMENT…
ask() { client "${@:2}" | value "$1"; }

take_handles() {
	local object
	for object in "${objects[@]}"; do
		handle[$object]=$(ask fh lookup "$object")
		fileid[$object]=$(ask fileid getattr "$object")
		[ "${#handle[$object]}" -le 128 ] || fail "handle of $object exceeds 64 bytes"
	done
}

# The same objects by the old handles; and what LOOKUP gives now is the same handle.
check_handles() {
	local object
	for object in "${objects[@]}"; do
		expect_equal "fileid of $object by handle" \
			"$(ask fileid getattr --fh "${handle[$object]}")" "${fileid[$object]}"
		expect_equal "handle of $object" "$(ask fh lookup "$object")" "${handle[$object]}"
	done
	expect_equal "READ by handle" "$(ask data readh --fh "${handle[dir/deep/leaf]}")" 6c656166
	expect_equal "READLINK by handle" "$(ask target readlink --fh "${handle[link]}")" over/there
	expect_equal "LOOKUP below a handle" "$(ask fh lookup deep/leaf --fh "${handle[dir]}")" \
		"${handle[dir/deep/leaf]}"
	quietly client writeh --fh "${handle[file]}" --offset 100 --data x
	quietly client commit --fh "${handle[file]}"
}

over_restart() {
	note "the same handles after a restart"
	restart
	check_handles
	note "after a rename while the server was down"
	pg_stop_ganesha main
	mv "$EXPORT/dir" "$EXPORT/moved"
	pg_start_ganesha main
	expect_equal "READ by handle" "$(ask data readh --fh "${handle[dir/deep/leaf]}")" 6c656166
	mv "$EXPORT/moved" "$EXPORT/dir"
}

# Removed through NFS, on the host, and while the server was down.
gone_is_stale() {
	local old i
	note "a removed file is stale"
	quietly client create gone --mode 644
	old=$(ask fh lookup gone)
	quietly client writeh gone --data secret
	quietly client remove gone
	expect_status NFS3ERR_STALE getattr --fh "$old"
	expect_status NFS3ERR_STALE readh --fh "$old"
	expect_status NFS3ERR_STALE writeh --fh "$old" --data x
	restart
	expect_status NFS3ERR_STALE getattr --fh "$old"
	note "also when its inode is used again"
	for ((i = 0; i < 20; i++)); do
		quietly client create "again$i" --mode 644
		expect_status NFS3ERR_STALE readh --fh "$old"
	done
}

# forged FH FILEID: an answer, and not of another object than the one it was made from. An unknown
# export is refused by Ganesha with an RPC error.
forged() {
	local out rc=0
	out=$(client getattr --fh "$1") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_STALE | 2:NFS3ERR_BADHANDLE) ;;
	3:) [[ $out == *"RPC denied"* && ${1:4:4} != "${handle[file]:4:4}" ]] ||
		fail "forged handle $1: $out" ;;
	0:) expect_equal "object behind the forged handle $1" "$(value fileid <<<"$out")" "$2" ;;
	*) fail "forged handle $1: status $rc, $out" ;;
	esac
}

forgeries() {
	local real=${handle[file]} i byte
	note "$((${#real} / 2 * 8)) bit flips and ${#real} wrong lengths"
	for ((i = 0; i < ${#real} / 2; i++)); do
		for byte in 1 2 4 8 16 32 64 128; do
			byte=$((0x${real:2*i:2} ^ byte))
			forged "${real:0:2*i}$(printf %02x $byte)${real:2*i+2}" "${fileid[file]}"
		done
		forged "${real:0:2*i}" "${fileid[file]}"
		forged "${real:0:2*i}$(printf '%*s' $((128 - 2 * i)) '' | tr ' ' f)" none
	done
	forged "${real}00000000" none
	quietly client null
}

# Ganesha's head of a handle holds the export's id in its bytes 2 and 3.
other_export_stays_closed() {
	local real=${handle[file]} other swapped
	note "the id of another export does not open this one's files"
	target main "$PG_DIR/other"
	quietly client create file --mode 644
	other=$(ask fh lookup file)
	swapped=${real:0:4}${other:4:4}${real:8}
	[ "$swapped" != "$real" ] || fail "the export id is not where this test takes it to be"
	expect_refused "$swapped"
	expect_refused "${other:0:4}${real:4:4}${other:8}"
	target main "$EXPORT"
}

expect_refused() {
	local out rc=0
	out=$(client readh --fh "$1") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_STALE | 2:NFS3ERR_BADHANDLE) ;;
	*) fail "handle $1: status $rc, $out" ;;
	esac
}

scratch disk "${1:-ext4}"
scratch other "${1:-ext4}"
serve "1 $PG_DIR/disk /disk $DB_FSAL" "2 $PG_DIR/other /other $DB_FSAL"
make_objects
take_handles
check_handles
over_restart
gone_is_stale
forgeries
other_export_stays_closed
check_handles
stop_all
