# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# What every test of this folder starts with:
#
#	. "$(dirname "$0")/lib.sh"
#	test_enter "$0" "$@"
#
# From there on the script runs in namespaces of its own (see
# config/private-ganesha.sh) with a watchdog. Exit status: 0 pass, 1 fail, 77
# skip with the reason printed. A failure prints where, and the daemons' logs.
#
# Environment
#  DB_CLIENT        path of nfsclient                                   (needed)
#  DB_RESIDENCY     path of residency                 (beside nfsclient)
#  DB_MODULE_DIR    folder with libfsaldropbehind.so (needed unless DB_FSAL=VFS)
#  DB_FSAL          FSAL to test; VFS runs the same against FSAL_VFS (DROPBEHIND)
#  DB_TEST_TIMEOUT  seconds until the watchdog ends the test               (300)
#  DB_DISK_SIZE     size of the sparse scratch disks                        (8G)

set -Eeu -o pipefail
shopt -s inherit_errexit

# shellcheck source-path=SCRIPTDIR source=../../config/private-ganesha.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../config/private-ganesha.sh"

: "${DB_FSAL:=DROPBEHIND}"
: "${DB_TEST_TIMEOUT:=300}"
: "${DB_DISK_SIZE:=8G}"

EXPORT=

fail() {
	printf 'FAIL: %s:%s: %s\n' "${BASH_SOURCE[1]##*/}" "${BASH_LINENO[0]}" "$*" >&2
	exit 1
}

skip() {
	printf 'SKIP: %s\n' "$*" >&2
	exit 77
}

# note TEXT…: one line of progress; also what the watchdog shows last.
note() { printf -- '-- %s\n' "$*"; }

# ---- life of a test ------------------------------------------------------

test_requirements() {
	[ "$(id -u)" = 0 ] || skip "needs root for namespaces, mounts and loop devices"
	[ -x "${DB_CLIENT:-}" ] || fail "DB_CLIENT is not an executable: '${DB_CLIENT:-}'"
	if [ "$DB_FSAL" = DROPBEHIND ]; then
		[ -e "${DB_MODULE_DIR:-}/libfsaldropbehind.so" ] ||
			fail "DB_MODULE_DIR has no libfsaldropbehind.so: '${DB_MODULE_DIR:-}'"
	fi
	command -v ganesha.nfsd >/dev/null || skip "ganesha.nfsd is not installed"
}

test_where() {
	printf 'the last commands were:\n'
	tail -n 6 "$PG_DIR/trace" 2>/dev/null || true
}

# ERR trap: the command, and the call stack it was in.
test_failed() {
	local i
	printf 'FAIL: status %s from: %s\n' "$1" "$2" >&2
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		printf '  at %s:%s\n' "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}" >&2
	done
}

test_ended() {
	local rc=$1 log
	trap - EXIT ERR
	case $rc in 0 | 77 | 130) exit "$rc" ;; esac
	{
		test_where
		for log in "$PG_DIR"/*.log; do
			[ -s "$log" ] || continue
			printf 'end of %s, without events:\n' "${log##*/}"
			grep -v ':EVENT :' "$log" | tail -n 20 || true
		done
	} >&2
	exit 1
}

# Ends everything but the first process, whose TERM trap then ends the test.
test_watchdog() {
	sleep "$DB_TEST_TIMEOUT"
	{
		printf 'FAIL: no end after %s s; ' "$DB_TEST_TIMEOUT"
		test_where
		ps -e -o pid,ppid,stat,wchan:24,args
	} >&2
	kill -TERM 1
	kill -KILL -- -1
}

# test_enter SCRIPT [ARGUMENT…]: first call of every test.
test_enter() {
	test_requirements
	pg_enter "$@"
	trap '{ rc=$?; set +x; } 2>/dev/null; test_ended "$rc"' EXIT
	trap '{ rc=$?; set +x; } 2>/dev/null; test_failed "$rc" "$BASH_COMMAND"' ERR
	test_watchdog &
	exec {BASH_XTRACEFD}>"$PG_DIR/trace"
	PS4='+ ${BASH_SOURCE[0]##*/}:${LINENO}: '
	set -x
}

# ---- exports -------------------------------------------------------------

need_fs() {
	case $1 in
	ext4 | xfs | btrfs) command -v "mkfs.$1" >/dev/null || skip "mkfs.$1 is not installed" ;;
	esac
	grep -qw "$1" /proc/filesystems || modprobe -q "$1" || skip "the kernel has no $1"
}

use_module() {
	if [ "$DB_FSAL" = DROPBEHIND ]; then
		pg_plugins "$DB_MODULE_DIR"
	else
		pg_plugins
	fi
}

# target NAME [PATH]: makes the client talk to daemon NAME, export PATH.
target() {
	export DB_TARGET
	DB_TARGET=127.0.0.1:$(pg_port "$1"):$(pg_mount_port "$1"):${2:-$EXPORT}
}

# export_fs FSTYPE FSAL [FSAL-STATEMENTS [EXPORT-STATEMENTS]]: a scratch disk,
# the services, and daemon `main` exporting the disk as export 1. FSAL
# statements are for DROPBEHIND and left out when FSAL is another. Sets EXPORT
# (the disk's mountpoint) and the client's target.
export_fs() {
	local options=${3:-}
	need_fs "$1"
	pg_disk disk "$1" "$DB_DISK_SIZE"
	EXPORT=$PG_MOUNT
	[ "$2" = DROPBEHIND ] || options=
	use_module
	pg_start_services
	pg_conf main "1 $EXPORT /disk $2 $options || ${4:-}"
	pg_start_ganesha main
	target main
	quietly client handle || fail "daemon main does not export $EXPORT"
}

# stop_all: every daemon ends by SIGTERM, in time and with status 0.
stop_all() {
	local name
	for name in "${!PG_PIDS[@]}"; do
		pg_stop_ganesha "$name" || fail "daemon $name did not end cleanly"
	done
}

# ---- client --------------------------------------------------------------

client() { "$DB_CLIENT" "$@"; }

# quietly COMMAND…: shows the command's output only when it fails.
quietly() {
	local out rc=0
	out=$("$@") || rc=$?
	[ "$rc" = 0 ] || printf '%s: status %s\n%s\n' "$*" "$rc" "$out" >&2
	return "$rc"
}

# value KEY: the value of KEY in the client's output on stdin.
value() { sed -n "s/^$1=//p"; }

# expect_status NFS3ERR_… COMMAND…: the client command fails with that status.
expect_status() {
	local want=$1 rc=0 out
	shift
	out=$(client "$@") || rc=$?
	[ "$rc" = 2 ] || fail "nfsclient $*: exit status $rc instead of 2 with $want; $out"
	[ "$(value status <<<"$out")" = "$want" ] || fail "nfsclient $*: $out instead of $want"
}

# expect_equal WHAT GOT WANTED
expect_equal() { [ "$2" = "$3" ] || fail "$1 is '$2' instead of '$3'"; }

# cached FILE…: bytes of the local files in the page cache.
cached() {
	"${DB_RESIDENCY:-${DB_CLIENT%/*}/residency}" --sum "$@" |
		sed 's/^cached=\([0-9]*\) .*/\1/'
}
