#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# names-are-created-and-removed.sh [FSTYPE]
#
# Everything that makes, moves or removes a name does so as the caller, answers what RFC 1813 says,
# and leaves nothing behind when it fails. Stories: an exclusive CREATE whose answer was lost is
# sent again and must find its own file, not EXIST; a create that failed after the entry was made
# left an empty file owned by root; new files in a project's setgid folder had the wrong group.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

readonly user='--uid 1000 --gid 1000'

# as_user COMMAND ARGUMENT…
as_user() {
	# shellcheck disable=SC2086
	client "$1" $user "${@:2}"
}

# is PATH FORMAT WANTED: as the host sees it.
is() { expect_equal "$1: $2" "$(stat -c "$2" "$EXPORT/$1")" "$3"; }

absent() { [ ! -e "$EXPORT/$1" ] && [ ! -L "$EXPORT/$1" ] || fail "$1 was left behind"; }

regular_files() {
	note "CREATE"
	quietly client create plain --mode 640 --owner 7 --group 8
	is plain '%a %u %g %s %F' '640 7 8 0 regular empty file'
	quietly client writeh plain --data 12345
	note "UNCHECKED over an existing file truncates only when asked to"
	quietly client create plain
	is plain %s 5
	quietly client create plain --truncate 0
	is plain '%s %a %u' '0 640 7'
	quietly client writeh plain --data 12
	note "GUARDED"
	quietly client create guarded --how guarded --mode 600
	expect_status NFS3ERR_EXIST create guarded --how guarded --mode 600
	expect_status NFS3ERR_EXIST create plain --how guarded --truncate 0
	is plain %s 2
	note "with a size"
	quietly client create sized --how guarded --truncate 1000 --mode 600
	is sized %s 1000
}

exclusive() {
	local first again
	note "EXCLUSIVE: sent again, by another, and after the first WRITE"
	first=$(client create excl --how exclusive --verf 1122334455667788 | value fh)
	again=$(client create excl --how exclusive --verf 1122334455667788 | value fh)
	expect_equal "handle of the retransmitted CREATE" "$again" "$first"
	expect_status NFS3ERR_EXIST create excl --how exclusive --verf 1122334455667789
	quietly client setattr excl --mode 444 --atime server --mtime server
	is excl %a 444
	[ "$(stat -c %Y "$EXPORT/excl")" -gt 1000000000 ] || fail "the verifier stayed as date"
	expect_status NFS3ERR_EXIST create plain --how exclusive --verf 1
	quietly client create excl2 --how exclusive --verf ffffffffffffffff
	quietly client create excl2 --how exclusive --verf ffffffffffffffff
}

directories() {
	note "MKDIR, RMDIR"
	quietly client mkdir dir --mode 755 --owner 1000 --group 1000
	is dir '%a %u %g %F' '755 1000 1000 directory'
	expect_status NFS3ERR_EXIST mkdir dir --mode 755
	expect_status NFS3ERR_EXIST create dir --how guarded --mode 600
	quietly client create dir/file --mode 600
	expect_status NFS3ERR_NOTEMPTY rmdir dir
	is dir/file %s 0
	expect_status NFS3ERR_NOTDIR rmdir plain
	expect_status NFS3ERR_NOTDIR create plain/below --mode 600
	expect_status NFS3ERR_NOENT rmdir nothing
	quietly client mkdir empty --mode 755
	quietly client rmdir empty
	absent empty
}

special_files() {
	note "MKNOD, SYMLINK, READLINK"
	quietly client mknod fifo fifo --mode 620
	is fifo '%a %F' '620 fifo'
	quietly client mknod sock sock --mode 660
	is sock '%a %F' '660 socket'
	quietly client mknod chr chr --major 1 --minor 3 --mode 600
	is chr '%a %F %t,%T' '600 character special file 1,3'
	quietly client mknod blk blk --major 259 --minor 70000 --mode 600
	is blk '%F %t,%T' 'block special file 103,11170'
	expect_status NFS3ERR_BADTYPE mknod reg nonsense
	absent nonsense
	expect_status NFS3ERR_EXIST mknod fifo plain
	quietly client symlink ../a/b link
	is link '%F %N' "symbolic link '$EXPORT/link' -> '../a/b'"
	expect_equal READLINK "$(client readlink link | value target)" ../a/b
	expect_equal "a long READLINK" "$(long=$(printf 'x%.0s' {1..1000})
		client symlink "$long" long >"$PG_DIR/out"; client readlink long | value target)" \
		"$(printf 'x%.0s' {1..1000})"
	expect_status NFS3ERR_INVAL readlink plain
	expect_status NFS3ERR_EXIST symlink x link
}

links() {
	note "LINK"
	quietly client link plain hard
	is hard '%h %i' "2 $(stat -c %i "$EXPORT/plain")"
	expect_equal "handle of the second name" "$(client lookup hard)" "$(client lookup plain)"
	expect_status NFS3ERR_EXIST link plain hard
	expect_status NFS3ERR_NOENT link nothing hard2
	quietly client remove plain
	is hard %h 1
	quietly client getattr hard
}

renames() {
	note "RENAME"
	quietly client create a --mode 600
	quietly client writeh a --data AA
	quietly client create b --mode 600
	quietly client rename a b
	absent a
	is b %s 2
	expect_status NFS3ERR_NOENT getattr a
	expect_equal "READ of the new name" "$(client readh b | value data)" 4141
	quietly client mkdir from --mode 755
	quietly client mkdir to --mode 755
	quietly client create from/file --mode 600
	quietly client rename from to/moved
	is to/moved/file %s 0
	expect_equal "LOOKUP .." "$(client lookup to/moved/..)" "$(client lookup to)"
	expect_status NFS3ERR_INVAL rename to to/moved/inside
	quietly client mkdir full --mode 755
	quietly client create full/file --mode 600
	rename_over_full
	expect_status NFS3ERR_NOENT rename nothing c
	quietly client rename b b
	is b %s 2
}

# RFC 1813 3.3.14: EXIST or NOTEMPTY
rename_over_full() {
	local out
	out=$(client rename to full) && fail "a directory replaced one that is not empty"
	case $(value status <<<"$out") in
	NFS3ERR_EXIST | NFS3ERR_NOTEMPTY) ;;
	*) fail "RENAME over a full directory: $out" ;;
	esac
	is full/file %s 0
}

removals() {
	note "REMOVE"
	quietly client create gone --mode 600
	quietly client remove gone
	absent gone
	expect_status NFS3ERR_NOENT remove gone
	local out
	out=$(client remove dir) && fail "REMOVE took a directory"
	case $(value status <<<"$out") in
	NFS3ERR_ISDIR | NFS3ERR_PERM) ;;
	*) fail "REMOVE of a directory: $out" ;;
	esac
	for out in fifo sock chr blk link; do
		quietly client remove "$out"
		absent "$out"
	done
	expect_status NFS3ERR_NAMETOOLONG create "$(printf 'n%.0s' {1..256})" --mode 600
	quietly client create "$(printf 'n%.0s' {1..255})" --mode 600
}

rights() {
	local command
	note "another user may not write in a folder of root"
	quietly client mkdir closed --mode 755
	quietly client create closed/file --mode 644
	for command in 'create closed/new' 'create closed/new --how guarded' 'mkdir closed/new' \
		'create closed/new --how exclusive --verf 5' 'symlink x closed/new' \
		'mknod fifo closed/new' 'link closed/file closed/new' 'remove closed/file' \
		'rename closed/file closed/new'; do
		# shellcheck disable=SC2086
		refused_to_user $command
		absent closed/new
	done
	is closed/file '%u %h' '0 1'
	note "but in his own, as owner, with his groups"
	as_user create dir/mine --mode 640 >"$PG_DIR/out"
	is dir/mine '%u %g %a' '1000 1000 640'
	as_user mkdir dir/folder --mode 700 >"$PG_DIR/out"
	as_user symlink x dir/link >"$PG_DIR/out"
	is dir/link '%u %g' '1000 1000'
	note "a device needs root, and nothing is left of it"
	out=$(as_user mknod chr dir/device --major 1 --minor 3) && fail "a user made a device"
	absent dir/device
	note "attributes that can't be set: nothing is left of the new entry"
	expect_status NFS3ERR_FBIG create dir/huge --how guarded --mode 600 \
		--truncate 18446744073709551615
	absent dir/huge
	for command in 'create dir/gift --how guarded' 'mkdir dir/gift' 'symlink x dir/gift' \
		'mknod fifo dir/gift'; do
		# shellcheck disable=SC2086
		refused_to_user $command --owner 2000
		absent dir/gift
		# shellcheck disable=SC2086
		refused_to_user $command --group 77
		absent dir/gift
	done
	note "sticky"
	quietly client mkdir sticky --mode 1777
	quietly client create sticky/root --mode 666
	refused_to_user remove sticky/root
	refused_to_user rename sticky/root sticky/other
	is sticky/root %s 0
}

refused_to_user() {
	local out rc=0
	out=$(as_user "$@") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_ACCES | 2:NFS3ERR_PERM) ;;
	*) fail "$* as another user: status $rc, $out" ;;
	esac
}

setgid_folders() {
	note "setgid folder"
	quietly client mkdir project --mode 775 --group 3000
	quietly client setattr project --mode 2775
	is project '%a %g' '2775 3000'
	client create project/file --uid 1000 --gid 1000 --gids 3000 --mode 664 >"$PG_DIR/out"
	is project/file '%u %g %a' '1000 3000 664'
	client mkdir project/sub --uid 1000 --gid 1000 --gids 3000 --mode 775 >"$PG_DIR/out"
	is project/sub '%u %g %a' '1000 3000 2775'
	client create project/excl --uid 1000 --gid 1000 --gids 3000 --how exclusive \
		--verf 9 >"$PG_DIR/out"
	is project/excl '%u %g' '1000 3000'
	client symlink x project/link --uid 1000 --gid 1000 --gids 3000 >"$PG_DIR/out"
	is project/link '%u %g' '1000 3000'
}

export_fs "${1:-ext4}" "$DB_FSAL"
regular_files
exclusive
directories
special_files
links
renames
removals
rights
setgid_folders
stop_all
