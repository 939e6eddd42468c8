#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# stability-levels-mean-what-they-say.sh
#
# What a client was told is on disk is on disk (RFC 1813 3.3.7, 3.3.21): a server that answers
# FILE_SYNC without a sync loses mail in a power cut; one that syncs an UNSTABLE WRITE is slow for
# nothing. Asserted from the daemon's system calls, in every Write_Mode:
#  - UNSTABLE: no sync of any kind, the answer says UNSTABLE;
#  - DATA_SYNC and FILE_SYNC: the answer says FILE_SYNC, so data and all metadata: fsync, or a write
#    with RWF_SYNC, ended before the answer was sent. fdatasync or RWF_DSYNC alone is not enough;
#  - COMMIT: exactly one fsync, before the answer;
#  - WRITE and COMMIT carry one verifier, and after a restart another (RFC 1813 3.3.7, verf).
#
# Cheap fixes that fail: RWF_DSYNC, fdatasync, an fsync per UNSTABLE WRITE, sync_file_range.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
# shellcheck source-path=SCRIPTDIR source=lib-trace.sh
. "$(dirname "$0")/lib-trace.sh"
test_enter "$0" "$@"

readonly sent='worker sendmsg\(.*MSG_DONTWAIT'
readonly written='pwrite[v2]*\('
readonly full_sync='fsync\(|pwritev2\(.*RWF_SYNC'
readonly any_sync='f(data)?sync\(|RWF_D?SYNC'

modes=(Auto Dontcache Range Buffered Passthrough)
[ "$DB_FSAL" = DROPBEHIND ] || modes=(Auto)

export_modes() {
	local mode id=1
	local -a exports=()
	scratch disk ext4 2G
	for mode in "${modes[@]}"; do
		mkdir "$PG_MOUNT/$mode"
		exports+=("$id $PG_MOUNT/$mode /$mode $DB_FSAL")
		[ "$DB_FSAL" != DROPBEHIND ] || exports[-1]+=" Write_Mode = $mode;"
		id=$((id + 1))
	done
	serve "${exports[@]}"
}

# traced NAME CLIENT-ARGUMENT…: the client's output in `out`, the daemon's calls in the trace.
traced() {
	trace_start "$1" "$TRACE_CALLS,sendmsg"
	out=$(client "${@:2}")
	trace_stop
	[ "$(count_calls "$sent")" -ge 1 ] || fail "the trace misses the answers"
}

# expect_synced WHAT: before the last answer that was sent comes a sync without an error.
expect_synced() {
	local order
	order=$(calls "$full_sync|$sent" | grep -E -B 1 "$sent" | tail -n 2 | head -n 1)
	grep -qE "($full_sync).* = [0-9]" <<<"$order" ||
		fail "$1: answered before a sync: $(tail -n 5 "$TRACE")"
}

unstable() {
	note "$1: UNSTABLE"
	traced unstable write f --size 48M --no-commit
	expect_equal "committed" "$(value committed <<<"$out")" unstable
	[ "$(count_calls "$written")" -ge 48 ] || fail "the trace misses writes"
	expect_equal "syncs of UNSTABLE WRITEs" "$(count_calls "$any_sync")" 0
}

commit() {
	note "$1: COMMIT"
	traced commit commit f
	expect_equal "fsyncs of a COMMIT" "$(count_calls 'fsync\(')" 1
	expect_equal "other syncs" "$(count_calls 'fdatasync\(')" 0
	expect_synced "COMMIT"
}

stable() {
	note "$1: $2"
	traced "$2" writeh f --stable "$2" --offset 4096 --count 8192
	expect_equal "committed" "$(value committed <<<"$out")" filesync
	expect_equal "writes" "$(count_calls "$written")" 1
	expect_synced "$2"
}

verifiers() {
	local write commit
	note "$1: verifiers"
	write=$(client writeh f --count 100 | value verf)
	commit=$(client commit f | value verf)
	expect_equal "verifier of COMMIT" "$commit" "$write"
	[ "${#write}" = 16 ] || fail "verifier '$write'"
	verifier=$write
}

export_modes
for mode in "${modes[@]}"; do
	target main "$PG_DIR/disk/$mode"
	unstable "$mode"
	commit "$mode"
	stable "$mode" datasync
	stable "$mode" filesync
	verifiers "$mode"
done
# Ganesha makes it of the seconds of its start.
sleep 1
restart
[ "$(client writeh f --count 1 | value verf)" != "$verifier" ] ||
	fail "the verifier is the same after a restart: clients won't send lost data again"
stop_all
