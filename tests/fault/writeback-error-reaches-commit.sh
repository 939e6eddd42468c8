#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# writeback-error-reaches-commit.sh [FSTYPE]
#
# A disk fails after UNSTABLE WRITEs were acknowledged. The kernel tells the failed writeback once
# per open descriptor and marks the pages clean: whoever asks first gets the error, the next fsync
# succeeds, and the data is gone. A server that waits for writeback in the background, as this one
# does, is whoever asks first. So the error is kept on the file: COMMIT says NFS3ERR_IO, and again
# every COMMIT and every stable WRITE, until the file is truncated to 0.
#
# Cheap fixes that fail: ignoring what sync_file_range says; asking fsync a second time; reporting
# to the first COMMIT only (a second client loses its data silently: FSAL_VFS does this); failing
# for ever; failing other files.
#
# on: ext4 xfs

# shellcheck source-path=SCRIPTDIR source=../nfs/lib.sh
. "$(dirname "$0")/../nfs/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../nfs/lib-exports.sh
. "$(dirname "$0")/../nfs/lib-exports.sh"
# shellcheck source-path=SCRIPTDIR source=lib-disk.sh
. "$(dirname "$0")/lib-disk.sh"
test_enter "$0" "$@"

modes=(Auto Range Buffered Passthrough)
[ "$DB_FSAL" = DROPBEHIND ] || modes=(Auto)

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

# Blocks are allocated before, so that nothing but data is written while the disk fails.
prepare_file() {
	quietly client write "$1" --size 32M
	quietly client write other --size 1M
}

not_dirty() { "$DB_RESIDENCY" "$1" | grep -q ' dirty=0 '; }

# The whole story, the error coming while nobody waits for it, or in COMMIT itself.
error_reaches_commit() {
	local mode=$1 when=$2 file=$PG_DIR/disk/$1/$2
	note "$mode: the disk fails, seen $when"
	prepare_file "$when"
	disk_fails disk
	quietly client write "$when" --overwrite --generation 2 --size 32M --no-commit
	if [ "$when" = before-commit ]; then
		# The host makes the kernel write what the server did not.
		sync "$file" 2>"$PG_DIR/out" || true
		pg_wait_until 20 not_dirty "$file" || fail "dirty pages stay"
		disk_heals disk
		expect_status NFS3ERR_IO commit "$when"
	else
		expect_status NFS3ERR_IO commit "$when"
		disk_heals disk
	fi
	! client verify "$file" --size 32M --generation 2 --direct >"$PG_DIR/out" ||
		fail "all data reached the disk: this proves nothing"
	kept_until_truncated "$mode" "$when"
}

kept_until_truncated() {
	local mode=$1 file=$2
	note "$mode: told again and again"
	expect_status NFS3ERR_IO commit "$file"
	expect_status NFS3ERR_IO writeh "$file" --stable filesync --data x
	quietly client writeh "$file" --data x
	expect_status NFS3ERR_IO commit "$file" --uid 0 --gid 0
	quietly client setattr "$file" --truncate 1000
	expect_status NFS3ERR_IO commit "$file"
	note "$mode: other files are well"
	quietly client write other --overwrite --generation 3 --size 1M
	quietly client verify "$PG_DIR/disk/$mode/other" --size 1M --generation 3 --direct
	note "$mode: truncated to 0 it is a new file"
	quietly client setattr "$file" --truncate 0
	quietly client commit "$file"
	quietly client write "$file" --overwrite --generation 4 --size 32M
	quietly client writeh "$file" --stable filesync --offset 33554432 --data x
	quietly client verify "$PG_DIR/disk/$mode/$file" --size 32M --generation 4 --direct
	quietly client commit "$file"
}

failing_disk disk "${1:-ext4}" 512M
export_modes
for mode in "${modes[@]}"; do
	target main "$PG_DIR/disk/$mode"
	error_reaches_commit "$mode" in-commit
	error_reaches_commit "$mode" before-commit
done
if [ "$DB_FSAL" = DROPBEHIND ]; then
	lines=$(log_lines 'Writeback failed.*Input/output error.*truncated to 0' | wc -l)
	note "$lines lines in the log for $((2 * ${#modes[@]})) errors"
	[ "$lines" -ge 1 ] && [ "$lines" -lt $((2 * ${#modes[@]})) ] ||
		fail "$lines lines about failed writeback: none, or not rate-limited"
fi
stop_all
umount "$PG_DIR/disk"
