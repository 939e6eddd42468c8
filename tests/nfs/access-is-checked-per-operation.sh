#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# access-is-checked-per-operation.sh
#
# The server keeps descriptors of files that root, or the owner, opened. They grant nothing: a
# user who knows a handle, from a search of /proc on his machine or by guessing, is asked for his
# rights at every single READ, WRITE, SETATTR and name operation. A server that trusts the cached
# descriptor lets everybody read what the backup user has open.
#
# And the other way round: the owner of a file may use it although its mode says no, because a
# client opened it before the mode was set. git creates its objects O_EXCL, mode 0444, and writes
# into them; a server that only looks at the mode breaks every clone.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

# as UID[:GID[:GIDS]] COMMAND ARGUMENT…
as() {
	local uid gid gids
	IFS=: read -r uid gid gids <<<"$1"
	client "$2" --uid "$uid" --gid "${gid:-$uid}" ${gids:+--gids "$gids"} "${@:3}"
}

refused() {
	local out rc=0
	out=$(as "$@") || rc=$?
	case $rc:$(value status <<<"$out") in
	2:NFS3ERR_ACCES | 2:NFS3ERR_PERM) ;;
	*) fail "as $*: status $rc, $out" ;;
	esac
}

allowed() { quietly as "$@"; }

data() { expect_equal "data as $1" "$(as "$1" readh "${@:2}" | value data)" 736563726574; }

# Opens both descriptors of the file as root.
cache_descriptors() {
	quietly client writeh "$1" --data secret
	quietly client readh "$1"
}

by_handle() {
	local fh
	note "a handle and a cached descriptor are no right"
	quietly client create file --mode 600 --owner 1000 --group 1000
	cache_descriptors file
	fh=$(client lookup file | value fh)
	data 1000 --fh "$fh"
	refused 1001 readh --fh "$fh"
	refused 1001 writeh --fh "$fh" --data XXXXXX
	refused 1001 setattr --fh "$fh" --truncate 0
	refused 1001 setattr --fh "$fh" --mode 666
	expect_equal "content" "$(cat "$EXPORT/file")" secret
	expect_equal "ACCESS" "$(as 1001 access --fh "$fh" | grep -c '=1' || true)" 0
	note "read-only for the group"
	quietly client setattr file --mode 640
	cache_descriptors file
	data 1001:1000 --fh "$fh"
	refused 1001:1000 writeh --fh "$fh" --data XXXXXX
	refused 1001:1000 setattr --fh "$fh" --truncate 0
	refused 1001 readh --fh "$fh"
	expect_equal "content" "$(cat "$EXPORT/file")" secret
}

supplementary_groups() {
	local fh
	note "supplementary groups, up to 16"
	quietly client create shared --mode 660 --owner 1000 --group 3000
	cache_descriptors shared
	fh=$(client lookup shared | value fh)
	data 1001:1001:3000 --fh "$fh"
	allowed 1001:1001:3000 writeh --fh "$fh" --data secret
	data 1001:1001:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,3000 --fh "$fh"
	refused 1001:1001:2999,3001 readh --fh "$fh"
	# A worker that had the group before must not keep it.
	allowed 1001:1001:3000 writeh --fh "$fh" --data secret
	refused 1001:1001 writeh --fh "$fh" --data XXXXXX
	refused 1001:1001 create dir3000/file --mode 600
	allowed 1001:1001:3000 create dir3000/file --mode 600
	refused 1001:1001 remove dir3000/file
}

# What git does for each object, as a client with a descriptor open sees it.
git_objects() {
	local fh
	note "created exclusively, mode 0444, then written by its owner"
	quietly client mkdir repo --mode 755 --owner 1000 --group 1000
	fh=$(as 1000 create repo/object --how exclusive --verf ab01 | value fh)
	allowed 1000 setattr --fh "$fh" --mode 444 --atime server --mtime server
	allowed 1000 writeh --fh "$fh" --data secret
	allowed 1000 commit --fh "$fh"
	data 1000 --fh "$fh"
	data 1001 --fh "$fh"
	refused 1001 writeh --fh "$fh" --data XXXXXX
	allowed 1000 setattr --fh "$fh" --truncate 6
	expect_equal "mode" "$(stat -c %a "$EXPORT/repo/object")" 444
	allowed 1000 link repo/object repo/second
	allowed 1000 remove repo/object
}

directories() {
	local fh
	note "folders"
	quietly client mkdir private --mode 700
	quietly client create private/file --mode 666
	fh=$(client lookup private | value fh)
	refused 1000 readdir --fh "$fh"
	refused 1000 lookup file --fh "$fh"
	refused 1000 create new --fh "$fh" --mode 600
	refused 1000 remove file --fh "$fh"
	refused 1000 rename file other --fh "$fh"
	refused 1000 mkdir new --fh "$fh"
	refused 1000 setattr --fh "$fh" --mode 777
	[ -e "$EXPORT/private/file" ] || fail "private/file is gone"
	note "search without read, and read without search"
	quietly client setattr private --mode 711
	allowed 1000 lookup file --fh "$fh"
	refused 1000 readdir --fh "$fh"
	quietly client setattr private --mode 744
	refused 1000 lookup file --fh "$fh"
	allowed 1000 readdir --fh "$fh"
}

# Rights taken away hold at once, for root's cached descriptor too.
revoked() {
	local fh
	note "taken away"
	quietly client create open --mode 666
	cache_descriptors open
	fh=$(client lookup open | value fh)
	allowed 1001 writeh --fh "$fh" --data secret
	quietly client setattr open --mode 600
	refused 1001 writeh --fh "$fh" --data XXXXXX
	refused 1001 readh --fh "$fh"
	expect_equal "content" "$(cat "$EXPORT/open")" secret
}

export_fs ext4 "$DB_FSAL"
quietly client mkdir dir3000 --mode 770 --group 3000
by_handle
supplementary_groups
git_objects
directories
revoked
stop_all
