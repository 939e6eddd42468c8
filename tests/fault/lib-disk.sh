# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Disks that fail on demand, mounted on $PG_DIR/NAME. Source after ../nfs/lib.sh.
#
#	nbdkit (file and filter) <- nbdfuse (a file again) <- loop, direct I/O <- filesystem
#
# The loop devices clear themselves; nbdkit and nbdfuse are processes of the test's namespace and
# end with it. The journal is not written behind our back: commit=300.

# disk_fails NAME: from now on every write to the disk fails with EIO; disk_heals NAME: no longer.
disk_fails() { touch "$PG_DIR/$1.fails"; }
disk_heals() { rm "$PG_DIR/$1.fails"; }

# Ready when nbdfuse shows a file of the image's size.
nbd_disk_there() { [ "$(stat -c %s "$1" 2>/dev/null)" = "$2" ]; }

declare -A NBDKIT_PIDS=() NBDFUSE_PIDS=()

# nbd_start NAME SIZE NBDKIT-ARGUMENT…: a new image behind nbdkit; sets NBD_FILE.
nbd_start() {
	local name=$1 image=$PG_DIR/$1.image
	command -v nbdkit >/dev/null || skip "nbdkit is not installed"
	command -v nbdfuse >/dev/null || skip "nbdfuse is not installed"
	[ -e /dev/fuse ] || modprobe -q fuse || skip "the kernel has no fuse"
	truncate -s "$2" "$image"
	mkdir -p "$PG_DIR/$name.nbd"
	setsid nbdkit -f -U "$PG_DIR/$name.socket" "${@:3}" </dev/null >"$PG_DIR/$name.log" 2>&1 &
	NBDKIT_PIDS[$name]=$!
	pg_wait_until 10 test -S "$PG_DIR/$name.socket" || fail "nbdkit: $(cat "$PG_DIR/$name.log")"
	setsid nbdfuse "$PG_DIR/$name.nbd/disk" --unix "$PG_DIR/$name.socket" \
		</dev/null >>"$PG_DIR/$name.log" 2>&1 &
	NBDFUSE_PIDS[$name]=$!
	NBD_FILE=$PG_DIR/$name.nbd/disk
	pg_wait_until 10 nbd_disk_there "$NBD_FILE" "$(stat -c %s "$image")" ||
		fail "nbdfuse: $(cat "$PG_DIR/$name.log")"
}

# disk_mount FSTYPE FILE NAME [OPTIONS]: FILE, which has a filesystem, on $PG_DIR/NAME.
disk_mount() {
	local options=loop${4:+,$4} device
	[ "$1" != ext4 ] || options=$options,noinit_itable,commit=300
	[ "$1" != btrfs ] || options=$options,commit=300
	mkdir -p "$PG_DIR/$3"
	mount -t "$1" -o "$options" "$2" "$PG_DIR/$3"
	device=$(findmnt -n -o SOURCE --mountpoint "$PG_DIR/$3")
	losetup --direct-io=on "$device"
}

# A device that never fails, for the journal: a filesystem whose journal fails is read-only at once,
# and nothing that comes after can be tested. It clears itself when the disk is unmounted.
journal_attach() {
	truncate -s 128M "$PG_DIR/$1.journal"
	JOURNAL=$(losetup --find --show "$PG_DIR/$1.journal")
}

# failing_disk NAME FSTYPE SIZE: ext4 or xfs, with its journal elsewhere.
failing_disk() {
	need_fs "$2"
	nbd_start "$1" "$3" --filter=error file "$PG_DIR/$1.image" \
		error-pwrite=EIO error-pwrite-rate=100% "error-pwrite-file=$PG_DIR/$1.fails"
	journal_attach "$1"
	if [ "$2" = ext4 ]; then
		mke2fs -q -F -b 4096 -O journal_dev "$JOURNAL"
		mkfs.ext4 -q -F -b 4096 -J "device=$JOURNAL" "$NBD_FILE"
		disk_mount ext4 "$NBD_FILE" "$1" "journal_path=$JOURNAL"
	else
		mkfs.xfs -q -f -l "logdev=$JOURNAL" "$NBD_FILE"
		disk_mount xfs "$NBD_FILE" "$1" "logdev=$JOURNAL"
	fi
	losetup --detach "$JOURNAL"
}

# forgetful_disk NAME FSTYPE SIZE: what was not flushed is lost when disk_cut NAME takes the power
# away. The image is then $PG_DIR/NAME.image.
forgetful_disk() {
	need_fs "$2"
	nbd_start "$1" "$3" --filter=cache file "$PG_DIR/$1.image" cache=writeback
	pg_mkfs "$2" "$NBD_FILE" >"$PG_DIR/mkfs.log" 2>&1 || fail "$(cat "$PG_DIR/mkfs.log")"
	disk_mount "$2" "$NBD_FILE" "$1"
	sync -f "$PG_DIR/$1"
}

# nbdkit first: what nbdfuse still has goes nowhere.
disk_cut() {
	kill -KILL "${NBDKIT_PIDS[$1]}"
	wait "${NBDKIT_PIDS[$1]}" 2>/dev/null || true
	kill -KILL "${NBDFUSE_PIDS[$1]}" 2>/dev/null || true
	wait "${NBDFUSE_PIDS[$1]}" 2>/dev/null || true
}
