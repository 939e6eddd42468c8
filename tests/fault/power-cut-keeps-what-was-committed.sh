#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# power-cut-keeps-what-was-committed.sh [FSTYPE]
#
# What COMMIT or a stable WRITE acknowledged is on the disk after the power went. Killing the
# daemon does not show that: the page cache survives it. Here the *disk* is killed, with
# everything in it that nobody flushed; its image is mounted again, and compared with what clients
# were told.
#
# The test has to be able to fail, so the same is done with a mutant: the packaged daemon with the
# same module, but its fsync and fdatasync return 0 and do nothing. Data that it acknowledged has to
# be missing, and so has data that was never committed.
#
# on: ext4 xfs

# shellcheck source-path=SCRIPTDIR source=../nfs/lib.sh
. "$(dirname "$0")/../nfs/lib.sh"
# shellcheck source-path=SCRIPTDIR source=../nfs/lib-exports.sh
. "$(dirname "$0")/../nfs/lib-exports.sh"
# shellcheck source-path=SCRIPTDIR source=lib-disk.sh
. "$(dirname "$0")/lib-disk.sh"
test_enter "$0" "$@"

# write_all MODE: two streams that are committed, one overwritten, small stable files, and last a
# stream that is not committed.
write_all() {
	quietly client write committed --size 32M
	quietly client write overwritten --size 32M
	quietly client write overwritten --overwrite --generation 2 --size 32M
	quietly client write stable --size 1M --block 256K --stable filesync --no-commit
	quietly client write datasync --size 1M --block 256K --stable datasync --no-commit
	quietly client write many --writers 20 --size 64K --block 64K
	quietly client write uncommitted --size 32M --no-commit
}

# check_all FOLDER: verifies what was acknowledged; returns 1 if something is missing.
check_all() {
	local i missing=0
	there "$1/committed" --size 32M || missing=1
	there "$1/overwritten" --size 32M --generation 2 || missing=1
	there "$1/stable" --size 1M || missing=1
	there "$1/datasync" --size 1M || missing=1
	for ((i = 0; i < 20; i++)); do
		there "$1/many.$i" --size 64K || missing=1
	done
	return "$missing"
}

there() {
	[ -e "$1" ] && client verify "$@" --direct >"$PG_DIR/out"
}

# The daemon under strace has another pid than the one that was started.
daemon_kill() {
	local pid
	pid=$(cat /run/ganesha/main.pid)
	kill -KILL "$pid"
	wait "${PG_PIDS[main]}" 2>/dev/null || true
	pg_gone "$pid" || fail "the daemon survives SIGKILL"
	unset "PG_PIDS[main]"
}

# story DISK MODE: writes, cuts the power, mounts the image on DISK.after.
story() {
	local disk=$1 mode=$2 options=
	[ "$DB_FSAL" != DROPBEHIND ] || options="Write_Mode = $mode;"
	forgetful_disk "$disk" "$fstype" 512M
	serve "1 $PG_DIR/$disk /disk $DB_FSAL $options"
	write_all
	disk_cut "$disk"
	daemon_kill
	umount "$PG_DIR/$disk" || umount -l "$PG_DIR/$disk"
	disk_mount "$fstype" "$PG_DIR/$disk.image" "$disk.after"
}

fstype=${1:-ext4}
modes=(Auto Range Passthrough)
[ "$DB_FSAL" = DROPBEHIND ] || modes=(Auto)
for mode in "${modes[@]}"; do
	note "$mode: power cut"
	story "$mode" "$mode"
	check_all "$PG_DIR/$mode.after" || fail "$mode: acknowledged data is not on the disk"
	! there "$PG_DIR/$mode.after/uncommitted" --size 32M ||
		fail "$mode: uncommitted data survived: the disk was not cut, nothing is proved"
	umount "$PG_DIR/$mode.after"
done

note "a mutant that never syncs is caught"
command -v strace >/dev/null || skip "strace is not installed"
PG_WRAP=(strace -f -qq -o "$PG_DIR/strace" -e trace=fsync,fdatasync
	-e inject=fsync,fdatasync:retval=0)
story mutant Auto
grep -q 'fsync(.*INJECTED' "$PG_DIR/strace" || fail "strace did not make a mutant"
! check_all "$PG_DIR/mutant.after" || fail "a daemon that never syncs passes: nothing is proved"
