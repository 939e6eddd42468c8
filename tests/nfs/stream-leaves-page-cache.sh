#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# stream-leaves-page-cache.sh [FSTYPE]
#
# A backup of hundreds of gigabytes runs through the server; without care every byte of it stays in
# the page cache, evicts what others use and counts against the container's memory.
#
# Asserted with cachestat(2) on the file itself, for Write_Mode Auto, Dontcache and Range: after
# 1 GiB and COMMIT less than 1 % of it is cached, for a new file and for one overwritten in place
# (blocks allocated, nothing truncated). While it streams, cached pages stay below Stream_Cache
# plus the 8 MiB of requests in flight plus 4 MiB for pages that are parts of 2 MiB folios.
#
# Cheap fixes that fail: RWF_DONTCACHE alone (ext4 keeps all of an overwritten file), one
# POSIX_FADV_DONTNEED at COMMIT (the peak), dropping without waiting for writeback (half is left),
# dropping everything (small and hot files have to stay).
#
# Streams of 256 MiB through FSAL_VFS, Buffered and Passthrough have to leave nearly everything: if
# they don't, the kernel reclaimed by itself and the figures above prove nothing.
#
# on: ext4 xfs btrfs
# timeout: 240

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

readonly mib=1048576
readonly gib=1073741824
readonly slack=$((12 * mib))

# Each mode is a folder of the one disk, exported by itself; the path of a file tells its mode.
export_modes() {
	local fstype=$1 disk mode id=1
	local -a exports=()
	scratch disk "$fstype" 12G
	disk=$PG_MOUNT
	for mode in Auto Dontcache Range Buffered Passthrough Small; do
		mkdir "$disk/$mode"
		exports+=("$id $disk/$mode /$mode $DB_FSAL $(mode_options "$mode")")
		id=$((id + 1))
	done
	scratch plain "$fstype" 12G
	serve "${exports[@]}" "$id $PG_MOUNT /plain VFS"
	EXPORT=$disk
}

mode_options() {
	[ "$DB_FSAL" = DROPBEHIND ] || return 0
	case $1 in
	Small) printf 'Write_Mode = Range; Read_Mode = Range; Stream_Cache = 8388608;' ;;
	*) printf 'Write_Mode = %s; Read_Mode = %s;' "$1" "$1" ;;
	esac
}

# on_mode MODE CLIENT-ARGUMENT…
on_mode() {
	target main "$EXPORT/$1"
	shift
	quietly client "$@"
}

# Some hundred samples a second, without making the daemon share its processor all the time.
watch_cache() {
	while :; do
		"$DB_RESIDENCY" "$1" 2>/dev/null || true
		sleep 0.005
	done
}

# stream MODE SIZE OPTION…: into `file`, with COMMIT; sets `peak`, the most seen cached meanwhile.
stream() {
	local mode=$1 size=$2 watcher samples=$PG_DIR/samples
	shift 2
	watch_cache "$EXPORT/$mode/file" >"$samples" &
	watcher=$!
	on_mode "$mode" write file --size "$size" "$@"
	kill "$watcher"
	wait "$watcher" 2>/dev/null || true
	[ "$(wc -l <"$samples")" -ge 5 ] || fail "only $(wc -l <"$samples") samples"
	peak=$(sed 's/cached=\([0-9]*\) .*/\1/' "$samples" | sort -n | tail -n 1)
}

expect_below() {
	[ "$2" -lt "$3" ] || fail "$1: $2 bytes are cached, allowed are $3"
}

expect_most() {
	[ "$2" -gt $((256 * mib / 10 * 9)) ] || fail "$1 left only $2 bytes: this proves nothing"
}

# drops MODE BOUND SIZE
drops() {
	local mode=$1 bound=$2 size=$3 left
	stream "$mode" "$size"
	left=$(cached "$EXPORT/$mode/file")
	note "$mode, new: peak $((peak / mib)) MiB, left $((left / 1024)) KiB"
	expect_below "$mode, new file, after COMMIT" "$left" $((size / 100))
	expect_below "$mode, new file, peak" "$peak" $((bound + slack))

	drop_cache "$EXPORT/$mode/file"
	stream "$mode" "$size" --overwrite --generation 2
	left=$(cached "$EXPORT/$mode/file")
	note "$mode, overwrite: peak $((peak / mib)) MiB, left $((left / 1024)) KiB"
	expect_below "$mode, overwrite, after COMMIT" "$left" $((size / 100))
	expect_below "$mode, overwrite, peak" "$peak" $((bound + slack))
	quietly client verify "$EXPORT/$mode/file" --size "$size" --generation 2 --direct
	rm "$EXPORT/$mode/file"
}

keeps() {
	local mode=$1 left
	on_mode "$mode" write file --size 256M
	left=$(cached "$EXPORT/$mode/file")
	note "$mode: left $((left / mib)) of 256 MiB"
	expect_most "$mode" "$left"
	rm "$EXPORT/$mode/file"
}

vfs_keeps() {
	local file=$PG_DIR/plain/file
	target main "$PG_DIR/plain"
	quietly client write file --size 256M
	note "FSAL_VFS: left $(($(cached "$file") / mib)) of 256 MiB written"
	expect_most FSAL_VFS "$(cached "$file")"
	drop_cache "$file"
	quietly client read file --size 256M
	note "FSAL_VFS: left $(($(cached "$file") / mib)) of 256 MiB read"
	expect_most "reading by FSAL_VFS" "$(cached "$file")"
	rm "$file"
}

small_files_stay() {
	note "files that are no streams stay"
	on_mode Auto write small --size "$mib"
	expect_equal "cached of a 1 MiB file" "$(cached "$EXPORT/Auto/small")" "$mib"
	on_mode Auto write many --writers 64 --size 64K --block 64K
	expect_equal "cached of 64 files" "$(cached "$EXPORT"/Auto/many.*)" $((64 * 65536))
}

# A file that others on this machine made and read is rewritten through NFS.
hot_file_stays() {
	local file left
	for file in Auto/hot Range/hot; do
		truncate -s 64M "$EXPORT/$file"
		shred -n 1 "$EXPORT/$file"
		sync "$EXPORT/$file"
		cat "$EXPORT/$file" >"$PG_DIR/null"
		expect_equal "cached of the hot file" "$(cached "$EXPORT/$file")" $((64 * mib))
		on_mode "${file%/*}" write hot --overwrite --size 64M
		left=$(cached "$EXPORT/$file")
		note "$file rewritten: $((left / mib)) of 64 MiB are cached"
		case $file in
		Auto/*) [ "$left" -ge $((60 * mib)) ] || fail "$file was evicted" ;;
		Range/*) expect_below "$file, asked to drop" "$left" $((2 * mib)) ;;
		esac
	done
}

# The same for a file that NFS itself has just written: what it dropped at COMMIT is gone, so what
# is resident afterwards was brought in by others.
own_file_in_use_stays() {
	local left
	on_mode Auto write used --size 48M
	expect_below "cached after COMMIT" "$(cached "$EXPORT/Auto/used")" $((1 * mib))
	cat "$EXPORT/Auto/used" >"$PG_DIR/null"
	on_mode Auto write used --overwrite --size 48M --generation 2
	left=$(cached "$EXPORT/Auto/used")
	note "Auto/used rewritten: $((left / mib)) of 48 MiB are cached"
	[ "$left" -ge $((44 * mib)) ] || fail "Auto/used was evicted"
}

cold_file() {
	on_mode "$1" write "$2" --size "$3"
	drop_cache "$EXPORT/$1/$2"
}

reads_leave() {
	local mode=$1 size=$2 left
	cold_file "$mode" cold "$size"
	on_mode "$mode" read cold --size "$size"
	left=$(cached "$EXPORT/$mode/cold")
	note "$mode, cold read: left $((left / mib)) MiB"
	expect_below "$mode, read" "$left" $((64 * mib))
	rm "$EXPORT/$mode/cold"
}

reads_keep_what_others_read() {
	local left
	cold_file Auto half 512M
	head -c 256M "$EXPORT/Auto/half" >"$PG_DIR/null"
	on_mode Auto read half --size 512M
	left=$(cached "$EXPORT/Auto/half")
	note "half was cached before: left $((left / mib)) MiB"
	[ "$left" -ge $((250 * mib)) ] || fail "pages that somebody else had read were evicted"
	expect_below "the other half" "$left" $((256 * mib + 64 * mib))
}

ln -s /dev/null "$PG_DIR/null"
export_modes "${1:-ext4}"
log_lines 'Export [0-9]+ Path=' | sed 's/.*announce :FSAL :EVENT ://; s,Path=/[^ ]*/,Path=,'
vfs_keeps
keeps Buffered
keeps Passthrough
drops Auto $((32 * mib)) "$gib"
# Where the filesystem can't do it, it is Range.
[ "${1:-ext4}" = btrfs ] || drops Dontcache $((32 * mib)) "$gib"
drops Range $((32 * mib)) "$gib"
drops Small $((8 * mib)) $((512 * mib))
small_files_stay
hot_file_stays
own_file_in_use_stays
reads_leave Auto "$gib"
reads_leave Range $((256 * mib))
reads_keep_what_others_read
stop_all
