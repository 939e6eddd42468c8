#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# attributes-are-set.sh [FSTYPE]
#
# What SETATTR says is done is done, on files of every type, with the rights of the caller; and what
# GETATTR and FSSTAT say is what the filesystem says. Stories: an unpacked archive whose symbolic
# links all have today's date; a program that stays setuid root although somebody else wrote
# into it or truncated it; a FIFO on which a worker of the server hangs for ever.
#
# FSAL_VFS 4.3 fails three of these: times of symbolic links are ignored without an error, a
# truncation by a non-owner keeps setuid, a size of 2^64 - 1 is INVAL.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

readonly user='--uid 1000 --gid 1000'

is() { expect_equal "$1: $2" "$(stat -c "$2" "$EXPORT/$1")" "$3"; }

# attribute KEY PATH
attribute() { client getattr "$2" | value "$1"; }

# Nothing here waits for anything but the server: an answer that does not come is a worker that
# hangs.
ask() { quietly client "$@" --timeout 10000; }

make_objects() {
	quietly client create file --mode 644
	quietly client writeh file --count 10000
	quietly client mkdir dir --mode 755
	quietly client symlink nowhere link
	quietly client mknod fifo fifo --mode 644
	quietly client mknod sock sock --mode 644
	quietly client mknod chr chr --major 5 --minor 77 --mode 644
	quietly client mknod blk blk --major 240 --minor 8 --mode 644
}

every_type() {
	local object
	for object in file dir fifo sock chr blk; do
		note "$object: mode, owner, times"
		ask setattr "$object" --mode 5750
		is "$object" %a 5750
		ask setattr "$object" --owner 1234 --group 4321
		is "$object" '%u %g' '1234 4321'
		ask setattr "$object" --mode 640 --owner 0
		is "$object" '%u %a' '0 640'
		times "$object"
	done
	note "link: owner, times"
	ask setattr link --owner 1234 --group 4321
	is link '%u %g' '1234 4321'
	times link
	is link '%F' 'symbolic link'
}

# Seconds and nanoseconds as given, one without the other, and the server's own.
times() {
	local now
	ask setattr "$1" --atime 1000000001.123456789 --mtime 1000000002.987654321
	is "$1" '%.9X %.9Y' '1000000001.123456789 1000000002.987654321'
	expect_equal "$1: mtime by GETATTR" "$(attribute mtime "$1")" 1000000002.987654321
	ask setattr "$1" --mtime 1
	is "$1" '%.9X %.9Y' '1000000001.123456789 1.000000000'
	now=$(date +%s)
	ask setattr "$1" --mtime server --atime server
	[ "$(stat -c %Y "$EXPORT/$1")" -ge $((now - 1)) ] || fail "$1: not the server's time"
}

sizes() {
	note "size"
	quietly client setattr file --truncate 5
	is file %s 5
	quietly client setattr file --truncate 100000
	is file %s 100000
	expect_equal "zeros after 5 bytes" "$(tail -c +6 "$EXPORT/file" | tr -d '\0')" ''
	expect_equal "size and mode" "$(client setattr file --truncate 7 --mode 604
		stat -c '%s %a' "$EXPORT/file")" '7 604'
	expect_status NFS3ERR_FBIG setattr file --truncate 18446744073709551615
	expect_status NFS3ERR_FBIG setattr file --truncate 9223372036854775808
	is file %s 7
	note "no size for what has none: refused by Ganesha's core"
	local object
	for object in dir fifo sock chr blk link; do
		expect_status NFS3ERR_BADTYPE setattr "$object" --truncate 0 --timeout 10000
	done
}

guarded() {
	local ctime
	note "SETATTR guarded by ctime"
	ctime=$(attribute ctime file)
	quietly client setattr file --mode 600 --guard "$ctime"
	expect_status NFS3ERR_NOT_SYNC setattr file --mode 644 --guard 1.000000000
	is file %a 600
}

rights() {
	note "rights of the caller"
	quietly client create owned --mode 644 --owner 1000 --group 1000
	# shellcheck disable=SC2086
	{
		ask setattr owned --mode 600 $user
		ask setattr owned --mtime 5.000000001 $user
		ask setattr owned --mtime server --uid 1000 --gid 5
		expect_refused setattr owned --owner 0 $user
		expect_refused setattr owned --mode 666 --uid 1001 --gid 1000
		expect_refused setattr owned --mtime 7 --uid 1001 --gid 1000
		expect_refused setattr owned --truncate 0 --uid 1001 --gid 1000
		expect_refused setattr owned --group 77 $user
		ask setattr owned --group 78 $user --gids 77,78
	}
	is owned '%u %g %a' '1000 78 600'
	note "server's time by who may write, a given one only by the owner"
	quietly client create shared --mode 666
	ask setattr shared --mtime server --atime server --uid 1000 --gid 1000
	expect_refused setattr shared --mtime 7 --uid 1000 --gid 1000
}

expect_refused() {
	local out rc=0
	out=$(client "$@") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_ACCES | 2:NFS3ERR_PERM) ;;
	*) fail "$*: status $rc, $out" ;;
	esac
}

# What a local kernel does for open(2), write(2), ftruncate(2) by somebody who is not the owner.
setuid_is_cleared() {
	local how
	for how in 'writeh suid --data x' 'setattr suid --truncate 1' 'setattr suid --truncate 99' \
		'create suid --truncate 0'; do
		note "setuid and setgid after: $how"
		[ ! -e "$EXPORT/suid" ] || quietly client remove suid
		quietly client create suid --mode 666
		quietly client setattr suid --mode 6777
		is suid %a 6777
		# shellcheck disable=SC2086
		quietly client $how $user
		is suid %a 777
	done
	note "but not when root writes"
	quietly client setattr suid --mode 6777
	quietly client writeh suid --data x
	is suid %a 6777
}

what_getattr_says() {
	note "GETATTR and FSSTAT"
	expect_equal "rdev" "$(attribute rdev chr)" 5,77
	expect_equal "rdev" "$(attribute rdev blk)" 240,8
	expect_equal "size of a link" "$(attribute size link)" 7
	quietly client write big --size 3M
	quietly client create sparse --how guarded --truncate 1073741824 --mode 600
	local object
	for object in big sparse dir; do
		expect_equal "used by $object" "$(attribute used "$object")" \
			$(($(stat -c '%b * %B' "$EXPORT/$object")))
		expect_equal "fileid of $object" "$(attribute fileid "$object")" \
			"$(stat -c %i "$EXPORT/$object")"
		expect_equal "links to $object" "$(attribute nlink "$object")" \
			"$(stat -c %h "$EXPORT/$object")"
	done
	filesystem_figures
}

filesystem_figures() {
	local out
	sync -f "$EXPORT"
	out=$(client fsstat)
	expect_equal "tbytes" "$(value tbytes <<<"$out")" $(($(stat -f -c '%b * %S' "$EXPORT")))
	expect_equal "fbytes" "$(value fbytes <<<"$out")" $(($(stat -f -c '%f * %S' "$EXPORT")))
	expect_equal "abytes" "$(value abytes <<<"$out")" $(($(stat -f -c '%a * %S' "$EXPORT")))
	expect_equal "tfiles" "$(value tfiles <<<"$out")" "$(stat -f -c %c "$EXPORT")"
	expect_equal "ffiles" "$(value ffiles <<<"$out")" "$(stat -f -c %d "$EXPORT")"
}

export_fs "${1:-ext4}" "$DB_FSAL"
make_objects
every_type
sizes
guarded
rights
setuid_is_cleared
what_getattr_says
stop_all
