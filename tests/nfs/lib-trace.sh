# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# System calls of the daemon `main`, by strace attached to it: every thread's calls in the order in
# which they began. Source after lib.sh.
#
#	trace_start NAME [SYSCALLS]    until trace_stop
#	trace_stop                     leaves $TRACE, lines "THREAD CALL(ARGUMENTS) = RESULT"
#
# THREAD is the thread's name: `worker` for those of Ganesha's RPC pool that serve requests, ours as
# src/ names them. Descriptors come with the path they refer to. Not promised: the order of two
# calls of different threads that began in the same microsecond.

TRACE=
TRACE_PID=
TRACE_FOLDER=
TRACE_CALLS=pwritev2,pwritev,pwrite64,fsync,fdatasync,sync_file_range,fadvise64,ftruncate,fallocate

# True when all threads are traced, or strace has ended and waiting is idle.
trace_attached_or_ended() {
	local task
	pg_gone "$TRACE_PID" && return 0
	for task in "/proc/$1"/task/*/status; do
		grep -q '^TracerPid:[[:space:]]*[1-9]' "$task" || return 1
	done
}

trace_start() {
	local pid
	command -v strace >/dev/null || skip "strace is not installed"
	pid=$(pg_pid main)
	TRACE=$PG_DIR/calls.$1
	TRACE_FOLDER=$PG_DIR/calls.$1.threads
	rm -rf "$TRACE_FOLDER"
	mkdir "$TRACE_FOLDER"
	strace -ff -ttt -s 0 -y -e signal=none -e trace="${2:-$TRACE_CALLS}" -p "$pid" \
		-o "$TRACE_FOLDER/calls" 2>"$TRACE_FOLDER/strace" &
	TRACE_PID=$!
	pg_wait_until 20 trace_attached_or_ended "$pid" && pg_running "$TRACE_PID" ||
		fail "strace could not attach: $(tail -n 1 "$TRACE_FOLDER/strace")"
}

trace_thread_name() {
	local name
	name=$(cat "/proc/$(pg_pid main)/task/$1/comm" 2>/dev/null) || name=gone
	case $name in
	ganesha.* | *svc_* | *rpc* | work-* | tirpc*) name=worker ;;
	esac
	printf '%s\n' "$name" | tr -d ' '
}

trace_stop() {
	local file names=$TRACE_FOLDER/names
	for file in "$TRACE_FOLDER"/calls.*; do
		printf '%s %s\n' "$file" "$(trace_thread_name "${file##*.}")"
	done >"$names"
	kill -INT "$TRACE_PID"
	wait "$TRACE_PID" 2>/dev/null || true
	while read -r file name; do
		sed -n "s/^\([0-9.]*\) \([a-z].*\)/\1 $name \2/p" "$file"
	done <"$names" | sort -s -n -k 1,1 | sed 's/^[0-9.]* //' >"$TRACE"
}

# calls PATTERN: the lines of the trace that match the extended regular expression.
calls() { grep -E -- "$1" "$TRACE" || true; }

# count_calls PATTERN
count_calls() { grep -c -E -- "$1" "$TRACE" || true; }
