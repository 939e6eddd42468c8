#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# stream-arrives-intact.sh [FSTYPE]
#
# A client streams a file in and gets back, through NFS and on the disk itself,
# exactly the bytes it sent: at 1 MiB with eight requests in flight, in single
# requests of 8 and 64 MiB, at odd sizes out of order, and over older data.
# Every sector carries file, offset and generation, so bytes that are merely
# plausible (stale, shifted, another block's) fail. The disk is read with
# O_DIRECT after COMMIT, so an answer from the page cache does not count.
#
# A server that advertises 64 MiB but takes requests in pieces fails too: the
# number of requests must be size / block.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

sizes='MaxRead = 67108864; MaxWrite = 67108864; PrefRead = 67108864; PrefWrite = 67108864;'

# check_file FILE OPTION…: reads FILE back through NFS and from the disk.
check_file() {
	local file=$1
	shift
	quietly client read "$file" --verify "$@"
	quietly client verify "$EXPORT/$file" --direct "$@"
}

# round FILE SIZE BLOCK DEPTH: whole requests in, whole requests out.
round() {
	local out want=$(($2 / $3))
	note "$1: $2 bytes, $3 per request, $4 in flight"
	out=$(client write "$1" --size "$2" --block "$3" --depth "$4")
	grep -E '^(mb_per_s|mb_per_s_with_commit|commit_seconds)=' <<<"$out"
	expect_equal "number of WRITEs" "$(value requests <<<"$out")" "$want"
	out=$(client read "$1" --size "$2" --block "$3" --depth "$4")
	expect_equal "number of READs" "$(value requests <<<"$out")" "$want"
	expect_equal "eof flags" "$(value eof_replies <<<"$out")" 1
	check_file "$1" --size "$2" --block "$3"
}

odd_requests() {
	note "odd sizes in random order from an odd offset"
	quietly client write odd --size 20000003 --offset 13 --block 70001 --order random
	expect_equal "file size" "$(stat -c %s "$EXPORT/odd")" 20000016
	check_file odd --size 19999990 --offset 26 --block 33333
	expect_equal "bytes before the first" "$(head -c 13 "$EXPORT/odd" | tr -d '\0')" ''
}

overwriting() {
	note "generation 2 over the middle of generation 1"
	quietly client write stream --overwrite --generation 2 --offset 64M --size 32M \
		--block 64K
	check_file stream --size 64M
	check_file stream --size 32M --offset 64M --generation 2
	check_file stream --size 160M --offset 96M
}

# The comparison itself must be able to fail, on both paths.
damage_is_seen() {
	local out rc=0
	note "one wrong byte on the disk is found"
	printf '\377' | dd of="$EXPORT/stream" bs=1 seek=12345678 conv=notrunc status=none
	out=$(client read stream --size 64M --verify) || rc=$?
	expect_equal "exit status" "$rc" 1
	expect_equal "offset" "$(value mismatch_offset <<<"$out")" 12345678
	out=$(client verify "$EXPORT/stream" --size 64M) && fail "damage not seen on disk"
	expect_equal "offset" "$(value mismatch_offset <<<"$out")" 12345678
}

export_fs "${1:-ext4}" "$DB_FSAL" '' "$sizes"
round stream $((256 << 20)) $((1 << 20)) 8
round eight $((64 << 20)) $((8 << 20)) 1
round sixtyfour $((128 << 20)) $((64 << 20)) 1
odd_requests
overwriting
damage_is_seen
stop_all
