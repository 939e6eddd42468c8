#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# large-directories-list-completely.sh [FSTYPE]
#
# A folder of 20000 files lists each of them exactly once: in pages of any size, with and without
# attributes, from the middle, from a cookie given out before the server restarted, and while other
# files of the folder come and go. A listing that skips is an incomplete backup; one that repeats
# or never ends is an `rm -r` that runs for ever. NFS reserves the cookies 0, 1 and 2 (RFC 8881
# 18.23.3).
#
# Cheap fixes that fail: positions counted instead of the filesystem's own (entries shift when one
# before them is removed), a list kept in memory (gone after the restart).
#
# on: ext4 xfs btrfs
# timeout: 120

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

readonly count=20000

make_files() {
	mkdir "$1"
	(cd "$1" && seq -f "${2}.%.0f" "$3" | xargs touch)
}

# list FILE OPTION…: a listing; only its entries. "." and "..", with cookies 1 and 2, are the
# core's.
list() {
	local file=$1
	shift
	client readdir "$@" >"$PG_DIR/listing" || fail "readdir $*: $(tail -n 1 "$PG_DIR/listing")"
	grep ' name=' "$PG_DIR/listing" | { grep -v ' name=[.][.]*$' || true; } >"$file"
}

names() { sed 's/.* name=//' "$@"; }

# expect_names FILE: each keep.N once; others only if they were there at some time.
expect_names() {
	local twice
	names "$1" | sort >"$PG_DIR/names"
	twice=$(uniq -d "$PG_DIR/names" | head -n 3)
	[ -z "$twice" ] || fail "$2: listed twice: $twice"
	grep '^keep' "$PG_DIR/names" | diff - "$PG_DIR/wanted" >"$PG_DIR/difference" ||
		fail "$2: other names: $(head -n 4 "$PG_DIR/difference")"
	! grep -qE ' cookie=[012] ' "$1" || fail "$2: a reserved cookie"
	[ -z "$(sed 's/.* cookie=\([0-9]*\) .*/\1/' "$1" | sort | uniq -d)" ] ||
		fail "$2: a cookie was given twice"
}

quiet_folder() {
	local options
	for options in '' '--count 512' '--plus' '--plus --count 4096' '--count 1048576'; do
		note "READDIR ${options:-as it is}"
		# shellcheck disable=SC2086
		list "$PG_DIR/all" quiet $options
		expect_names "$PG_DIR/all" "$options"
	done
	grep -q 'type=REG size=0 fh=' <(client readdir quiet --plus --limit 3) ||
		fail "READDIRPLUS without attributes or handle"
}

from_a_cookie() {
	local cookie
	note "in two parts, with a restart between"
	list "$PG_DIR/first" quiet --limit 7777
	cookie=$(tail -n 1 "$PG_DIR/first" | sed 's/.* cookie=\([0-9]*\) .*/\1/')
	restart
	list "$PG_DIR/second" quiet --cookie "$cookie"
	cat "$PG_DIR/first" "$PG_DIR/second" >"$PG_DIR/all"
	expect_names "$PG_DIR/all" "two parts"
}

# Removes and creates through the server until it is ended.
churn() {
	local i
	for ((i = 1; i <= 2000; i++)); do
		quietly client remove "busy/gone.$i"
		quietly client create "busy/new.$i" --mode 600
		printf '%s\n' "$i" >>"$PG_DIR/churned"
	done
}

busy_folder() {
	local churner options
	churn &
	churner=$!
	for options in '--count 1024' '--plus --count 8192' ''; do
		note "while others come and go: ${options:-as it is}"
		# shellcheck disable=SC2086
		list "$PG_DIR/all" busy $options
		expect_names "$PG_DIR/all" "busy $options"
	done
	kill "$churner" 2>/dev/null || true
	wait "$churner" 2>/dev/null || true
	[ "$(wc -l <"$PG_DIR/churned")" -ge 20 ] || fail "the folder was quiet: nothing is proved"
}

# All of it goes, page by page, as rm -r does.
emptied() {
	note "removed as it is listed"
	make_files "$EXPORT/empty" gone 1000
	list "$PG_DIR/all" empty
	names "$PG_DIR/all" | while read -r name; do
		quietly client remove "empty/$name"
	done
	list "$PG_DIR/all" empty
	expect_equal "entries left" "$(wc -l <"$PG_DIR/all")" 0
	quietly client rmdir empty
}

scratch disk "${1:-ext4}"
make_files "$PG_MOUNT/quiet" keep "$count"
make_files "$PG_MOUNT/busy" keep "$count"
(cd "$PG_MOUNT/busy" && seq -f gone.%.0f 2000 | xargs touch)
seq -f keep.%.0f "$count" | sort >"$PG_DIR/wanted"
serve "1 $PG_MOUNT /disk $DB_FSAL"
quiet_folder
from_a_cookie
busy_folder
emptied
stop_all
