#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# The factors of src/sizes.h on live sockets: with tcp_wmem[2] and tcp_rmem[2] at what
# sizes_needed() says for N requests, N requests fit into the daemon's buffers, and with half of it
# they don't. A factor too small promises clients what then trickles; one too large sends operators
# after memory they don't need.
#
# The buffer is filled by stopping who should empty it: the client in a stream of READs, the daemon
# in a stream of WRITEs. What it holds then is payload as the kernel counts it (sock_diag), compared
# with N x size. Autotuning gets there in steps, so the stream goes on and is stopped again until
# N requests fit, at most so many times.
#
# Links: loopback; a veth pair with a 1500-byte MTU, which passes packets of up to 64 KiB whole; and
# the same with one segment per packet, the worst that a plain Ethernet frame does to the receive
# side. There the send factor is known not to hold (sizes.h), and is not asserted.
#
# timeout: 240

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

readonly mib=1048576 requests=4 depth=64 attempts=12
readonly server=198.51.100.1 peer=198.51.100.2

sockets() { "${DB_CLIENT%/*}/sockets" "$@"; }

# field KEY: of the one line on stdin
field() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p"; }

# ---- links ---------------------------------------------------------------

# Put before a command, so that it runs in the client's network namespace: nothing for loopback.
in_peer=()

peer_has_own_net() { [ "$(readlink "/proc/$peer_ns/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

# use_veth MAX-SEGMENTS: the client moves to the far end of a veth pair.
use_veth() {
	unshare --net sleep infinity &
	peer_ns=$!
	pg_wait_until 10 peer_has_own_net || fail "no network namespace for the client"
	in_peer=(nsenter -t "$peer_ns" -n)
	ip link add link0 mtu 1500 gso_max_segs "$1" type veth peer name link1
	ip link set link1 netns "$peer_ns"
	ip addr add "$server/24" dev link0
	ip link set link0 up
	"${in_peer[@]}" ip addr add "$peer/24" dev link1
	"${in_peer[@]}" ip link set link1 gso_max_segs "$1" up
	"${in_peer[@]}" ip link set lo up
	# The client's own buffers are to hold neither side back.
	"${in_peer[@]}" sh -c 'cd /proc/sys/net/ipv4 && echo 4096 131072 33554432 >tcp_rmem &&
		echo 4096 16384 33554432 >tcp_wmem'
	DB_TARGET=$server:$(pg_port main):$(pg_mount_port main):$EXPORT
}

end_veth() {
	kill "$peer_ns"
	wait "$peer_ns" || true
	in_peer=()
	ip link del link0 2>/dev/null || true
	target main
}

# ---- streams -------------------------------------------------------------

# start_stream COMMAND FILE SIZE: sets stream.
start_stream() {
	"${in_peer[@]}" "$DB_CLIENT" "$1" "$2" --size "$3" \
		--block "$mib" --depth "$depth" >/dev/null &
	stream=$!
}

end_stream() {
	kill -KILL "$stream" 2>/dev/null || true
	wait "$stream" 2>/dev/null || true
}

# The connection that carries the stream: MOUNT's and earlier ones carry next to nothing.
busiest() {
	sockets list "$(pg_port main)" "$need_read" | awk -v key="$1" '
		{ match($0, key "=[0-9]+"); n = substr($0, RSTART + length(key) + 1,
			RLENGTH - length(key) - 1) + 0
		  if (n > most) { most = n; line = $0 } }
		END { print line }'
}

# full QUEUE: prints the busiest connection once its queue has stopped growing.
full() {
	local before='' now line same=0 i
	for ((i = 0; i < 100; i++)); do
		line=$(busiest "$1")
		now=$(field "$1" <<<"$line")
		if [ "${now:-0}" -gt 0 ] && [ "$now" = "$before" ]; then
			same=$((same + 1))
		else
			same=0
		fi
		[ "$same" -lt 3 ] || break
		before=$now
		sleep 0.05
	done
	printf '%s\n' "$line"
}

# most_queued PROCESS QUEUE CEILING: the most payload that the buffer held when PROCESS was stopped,
# until it is $requests MiB or the attempts are used up. Sets line and most.
most_queued() {
	local i now
	most=0 line=
	for ((i = 0; i < attempts && most < requests * mib; i++)); do
		sleep 0.3
		kill -STOP "$1"
		now=$(full "$2")
		kill -CONT "$1"
		if [ "$(field "$2" <<<"${now:-}")" -gt "$most" ]; then
			most=$(field "$2" <<<"$now")
			line=$now
		fi
	done
}

read_queue() {
	truncate -s 500G "$EXPORT/sparse"
	start_stream read sparse 500G
	most_queued "$stream" send_queue
	end_stream
}

write_queue() {
	start_stream write stream 6G
	most_queued "$(pg_pid main)" receive_queue
	end_stream
}

# ---- assertions ----------------------------------------------------------

# A daemon that does not read is seen to be the reason.
verdict_of_write() {
	[[ $line == *"verdict=receive buffer full"* ]] || fail "the verdict on a full buffer: $line"
}

say() {
	note "$1, $2: ceiling $3, held $most of $((requests * mib));" \
		"${line#peer=* }"
}

# holds LINK read|write CEILING / lacks LINK read|write CEILING
holds() {
	"$2_queue"
	say "$@"
	[ "$most" -ge $((requests * mib)) ] ||
		fail "$1: $requests $2 requests don't fit $3 bytes of buffer: $most bytes do"
	[ "$2" = read ] || verdict_of_write
}

lacks() {
	"$2_queue"
	say "$@"
	[ "$most" -gt 0 ] || fail "$1: nothing was queued for $2"
	[ "$most" -lt $((requests * mib)) ] ||
		fail "$1: $requests $2 requests fit $3 bytes of buffer, half of what sizes.h says"
}

need_read=$(sockets needed read "$mib" "$requests")
need_write=$(sockets needed write "$mib" "$requests")

both_hold() {
	pg_tcp_buffers "$need_write" "$need_read"
	holds "$1" read "$need_read"
	holds "$1" write "$need_write"
}

loopback() {
	both_hold loopback
	pg_tcp_buffers "$need_write" $((need_read / 2))
	lacks loopback read $((need_read / 2))
}

veth_whole() {
	use_veth 65535
	both_hold "veth"
	pg_tcp_buffers "$need_write" $((need_read / 2))
	lacks "veth" read $((need_read / 2))
	end_veth
}

veth_single() {
	use_veth 1
	pg_tcp_buffers "$need_write" "$need_read"
	holds "veth, single segments" write "$need_write"
	pg_tcp_buffers $((need_write / 2)) "$need_read"
	lacks "veth, single segments" write $((need_write / 2))
	end_veth
}

DB_DISK_SIZE=7G
export_fs tmpfs "$DB_FSAL" '' "MaxRead = $mib; MaxWrite = $mib; PrefRead = $mib; PrefWrite = $mib;"
loopback
veth_whole
veth_single
stop_all
