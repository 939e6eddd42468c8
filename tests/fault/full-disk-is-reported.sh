#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# full-disk-is-reported.sh [FSTYPE]
#
# A stream meets the end of the disk. The client gets NFS3ERR_NOSPC, from WRITE or at the latest
# from COMMIT; what was acknowledged before is there after a COMMIT that succeeded; after files
# are removed the filesystem goes on, and so does the file. A server that loses the error writes a
# backup that nobody can restore; one that remembers it for ever has to be restarted.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=../nfs/lib.sh
. "$(dirname "$0")/../nfs/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../nfs/lib-exports.sh
. "$(dirname "$0")/../nfs/lib-exports.sh"
test_enter "$0" "$@"

modes=(Auto Range Buffered)
[ "$DB_FSAL" = DROPBEHIND ] || modes=(Auto)
declare -A size_of=([ext4]=128M [xfs]=384M [btrfs]=256M)

export_modes() {
	local mode id=1
	local -a exports=()
	for mode in "${modes[@]}"; do
		mkdir "$PG_DIR/disk/$mode"
		exports+=("$id $PG_DIR/disk/$mode /$mode $DB_FSAL")
		[ "$DB_FSAL" != DROPBEHIND ] || exports[-1]+=" Write_Mode = $mode;"
		id=$((id + 1))
	done
	serve "${exports[@]}"
}

# fill OPTION…: writes until there is an error; sets out.
fill() {
	local rc=0
	out=$(client write full --size 1G --no-commit "$@") || rc=$?
	expect_equal "exit status of a stream into a full disk; $out" "$rc" 2
	expect_equal "status" "$(value status <<<"$out")" NFS3ERR_NOSPC
}

acknowledged_is_there() {
	local at rc=0
	fill --depth 1
	at=$(value error_offset <<<"$out")
	[ "$at" -gt 20000000 ] || fail "full at $at"
	note "$1: full after $((at / 1048576)) MiB"
	out=$(client commit full) || rc=$?
	if [ "$rc" = 0 ]; then
		quietly client verify "$EXPORT/full" --size "$at" --direct
	else
		expect_equal "status of COMMIT" "$(value status <<<"$out")" NFS3ERR_NOSPC
		note "$1: told by COMMIT too"
	fi
}

small_things_in_a_full_disk() {
	note "$1: stable WRITEs and many in flight"
	fill --overwrite --offset 2G --stable filesync --block 256K
	fill --overwrite --offset 4G --depth 16
	quietly client getattr full
	quietly client readdir --plus
}

usable_again() {
	note "$1: usable again"
	quietly client setattr full --truncate 0
	quietly client commit full
	quietly client write full --overwrite --generation 2 --size 16M
	quietly client verify "$EXPORT/full" --size 16M --generation 2 --direct
	quietly client remove full
	quietly client write again --size 32M
	quietly client verify "$EXPORT/again" --size 32M --direct
	quietly client remove again
	sync -f "$EXPORT"
}

fstype=${1:-ext4}
scratch disk "$fstype" "${size_of[$fstype]}"
export_modes
for mode in "${modes[@]}"; do
	EXPORT=$PG_DIR/disk/$mode
	target main "$EXPORT"
	acknowledged_is_there "$mode"
	small_things_in_a_full_disk "$mode"
	usable_again "$mode"
done
stop_all
