#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# sizes-follow-the-socket-buffers.sh
#
# An operator who writes MaxWrite = 8388608 learns at once whether clients get it and which sysctl
# to turn; after the sysctl, a SIGHUP or UpdateExport raises the size without a restart. Each
# Socket_Check value does what it says, FSINFO tells what is served, and requests of that size are
# true on the wire.
#
# Cheap fixes that fail: a message without the value needed; Clamp that only logs; a check at load
# that updates forget; a preferred size left above the maximum, as the core's copy at SIGHUP does.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
[ "$DB_FSAL" = DROPBEHIND ] || skip "options of DROPBEHIND only"
test_enter "$0" "$@"

mib=1048576
all8='MaxRead = 8388608; MaxWrite = 8388608;'
# What sizes.h says for 4 requests of 8 MiB
need_rmem=$((4 * (8 * mib + 512) * 2))

# export_line CHECK [FSAL statements [EXPORT statements]]
export_line() {
	printf '1 %s /disk DROPBEHIND Socket_Check = %s; %s || %s' "$PG_DIR/disk" "$1" "${2:-}" \
		"${3-$all8}"
}

# begin EXPORT: a new daemon that never offered anything, with a new log.
begin() {
	[ -z "${PG_PIDS[main]:-}" ] || stop_all
	rm -f "$(pg_log main)" "$PG_DIR"/main.recovery/dropbehind.sizes
	serve "$1"
}

# reconfigure EXPORT: the same by SIGHUP.
reconfigure() {
	pg_conf main "$1"
	reload
}

# expect_sizes rtmax rtpref wtmax wtpref: in bytes, as FSINFO tells. The keeper has a moment.
fsinfo_sizes() {
	client fsinfo | sed -n 's/^\(rtmax\|rtpref\|wtmax\|wtpref\)=//p' | paste -sd' '
}

fsinfo_is() { [ "$(fsinfo_sizes)" = "$*" ]; }

expect_sizes() {
	pg_wait_until 5 fsinfo_is "$@" || fail "FSINFO says $(fsinfo_sizes), not $*"
}

# one_request MIB: a single WRITE and READ of that size go through whole.
one_request() {
	local out
	out=$(client write "one-$1" --size "${1}M" --block "${1}M" --depth 1)
	expect_equal "WRITEs of $1 MiB" "$(value requests <<<"$out")" 1
	expect_equal "partial WRITEs of $1 MiB" "$(value partial <<<"$out")" 0
	quietly client read "one-$1" --size "${1}M" --block "${1}M" --depth 1 --verify
}

small_buffers() { pg_tcp_buffers 6291456 4194304; }
large_buffers() { pg_tcp_buffers $((2 * need_rmem)) $((2 * need_rmem)); }

warned() {
	expect_one_line ' report :.* MaxWrite = 8388608: ' "Export 1" \
		"net.ipv4.tcp_rmem[2] = 6291456" "need $need_rmem" "served $1" \
		"sysctl -w net.ipv4.tcp_rmem="
	expect_one_line ' report :.* MaxRead = 8388608: ' "Export 1" \
		"net.ipv4.tcp_wmem[2] = 4194304"
}

warn_serves_what_was_asked() {
	note "Warn"
	small_buffers
	begin "$(export_line Warn)"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	warned 8388608
	one_request 8
}

clamp_serves_what_fits() {
	note "Clamp, and raised live"
	small_buffers
	begin "$(export_line Clamp)"
	expect_sizes $mib $mib $mib $mib
	warned 1048576
	client write running --size 512M >"$PG_DIR/running" &
	large_buffers
	reconfigure "$(export_line Clamp)"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	one_request 8
	wait $! || fail "a stream that was running failed: $(cat "$PG_DIR/running")"
	quietly client read running --size 512M --verify
	note "and not lowered again by smaller buffers, nor by a restart"
	small_buffers
	reconfigure "$(export_line Clamp)"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	restart
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
}

refuse_rejects() {
	note "Refuse: at load the export, later only the change"
	small_buffers
	begin "$(export_line Refuse)"
	! client getattr >"$PG_DIR/out" || fail "the export is served"
	expect_one_line ' report :.* MaxWrite = 8388608: ' "Export 1" "refused" \
		"sysctl -w net.ipv4.tcp_rmem="
	begin "$(export_line Refuse '' 'MaxRead = 524288; MaxWrite = 524288;')"
	expect_sizes 524288 524288 524288 524288
	reconfigure "$(export_line Refuse)"
	sleep 0.2
	expect_sizes 524288 524288 524288 524288
	large_buffers
	reconfigure "$(export_line Refuse)"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
}

off_says_nothing() {
	note "Off"
	small_buffers
	begin "$(export_line Off)"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	expect_equal "lines about sizes" "$(log_lines ' Max(Read|Write) = ')" ''
}

auto_takes_what_fits() {
	note "nothing set"
	small_buffers
	begin "$(export_line Warn '' '')"
	expect_sizes $mib $mib $mib $mib
	pg_tcp_buffers 20000000 20000000
	reconfigure "$(export_line Warn '' '')"
	expect_sizes $((4 * mib)) $((4 * mib)) $((2 * mib)) $((2 * mib))
	large_buffers
	reconfigure "$(export_line Warn '' '')"
	expect_sizes $((4 * mib)) $((4 * mib)) $((4 * mib)) $((4 * mib))
	one_request 4
}

requests_scale_the_need() {
	note "Socket_Requests"
	pg_tcp_buffers 40000000 40000000
	begin "$(export_line Clamp 'Socket_Requests = 2;')"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	begin "$(export_line Clamp 'Socket_Requests = 8;')"
	expect_sizes $((4 * mib)) $((4 * mib)) $((2 * mib)) $((2 * mib))
}

lowering_is_held() {
	local lower='MaxRead = 1048576; MaxWrite = 1048576;'
	note "lowering needs Allow_Shrink"
	large_buffers
	begin "$(export_line Warn)"
	reconfigure "$(export_line Warn '' "$lower")"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
	expect_one_line ' report :.* MaxWrite lowered from 8388608 to 1048576' "Export 1" \
		"served 8388608" "Allow_Shrink"
	one_request 8
	reconfigure "$(export_line Warn 'Allow_Shrink = true;' "$lower")"
	expect_sizes $mib $mib $mib $mib
	note "a larger request of an old client is served in part, and right"
	quietly client write old --size 32M --block 8M --depth 2
	quietly client read old --size 32M --block 8M --depth 2 --verify
	quietly client verify "$EXPORT/old" --size 32M
}

preferred_below_maximum_is_said() {
	note "Pref below Max"
	large_buffers
	begin "$(export_line Warn '' "$all8 PrefRead = 1048576; PrefWrite = 1048576;")"
	expect_sizes $((8 * mib)) $mib $((8 * mib)) $mib
	expect_one_line 'PrefWrite = 1048576 is below MaxWrite = 8388608' "Export 1" "NFSv3"
	begin "$(export_line Warn '' "$all8 PrefRead = 67108864; PrefWrite = 67108864;")"
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
}

many_reloads() {
	local i
	note "50 reloads under I/O lose nothing"
	large_buffers
	begin "$(export_line Warn)"
	client write reloads --size 1G --block 4M >"$PG_DIR/running" &
	for ((i = 0; i < 25; i++)); do
		reconfigure "$(export_line Clamp 'Allow_Shrink = true;' 'MaxWrite = 1048576;')"
		reconfigure "$(export_line Warn)"
	done
	wait $! || fail "the stream failed: $(cat "$PG_DIR/running")"
	quietly client read reloads --size 1G --block 4M --verify
	expect_sizes $((8 * mib)) $((8 * mib)) $((8 * mib)) $((8 * mib))
}

scratch disk ext4
warn_serves_what_was_asked
clamp_serves_what_fits
refuse_rejects
off_says_nothing
auto_takes_what_fits
requests_scale_the_need
lowering_is_held
preferred_below_maximum_is_said
many_reloads
stop_all
