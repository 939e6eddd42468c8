# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# For tests that need more than export_fs gives: several exports or disks in one daemon, restarts,
# what the log says, what is in the page cache. Source after lib.sh.

# scratch NAME FSTYPE [SIZE]: a new filesystem; sets PG_MOUNT.
scratch() {
	need_fs "$2"
	pg_disk "$1" "$2" "${3:-$DB_DISK_SIZE}"
}

# serve EXPORT…: the services, and daemon `main` with these exports (see pg_conf). EXPORT and the
# client's target are those of the first one.
serve() {
	local first path
	read -r _ path _ <<<"$1"
	use_module
	[ -S "$PG_BUS_SOCKET" ] || pg_start_services
	pg_conf main "$@"
	pg_start_ganesha main
	EXPORT=$path
	target main
}

# restart [EXPORT…]: stops daemon `main` and starts it again, with a new configuration if exports
# are given. DB_FSAL may have changed in between.
restart() {
	pg_stop_ganesha main || fail "daemon main did not end cleanly"
	if [ $# -gt 0 ]; then
		use_module
		pg_conf main "$@"
	fi
	pg_start_ganesha main
}

# reload: SIGHUP; returns when the daemon has dealt with it.
reload() {
	local before done='Reread exports complete\|Error while parsing\|Unable to read'
	before=$(grep -c "$done" "$(pg_log main)") || true
	kill -HUP "$(pg_pid main)"
	pg_wait_until 20 reload_done "$done" "$before" || fail "no answer to SIGHUP in the log"
}

reload_done() { [ "$(grep -c "$1" "$(pg_log main)")" -gt "$2" ]; }

# log_lines PATTERN: lines of the daemon's log that match the extended regular expression.
log_lines() { grep -E -- "$1" "$(pg_log main)" || true; }

# expect_one_line PATTERN WORD…: exactly one line matches, and it contains every WORD.
expect_one_line() {
	local lines word
	lines=$(log_lines "$1")
	[ "$(grep -c . <<<"$lines")" = 1 ] || fail "not one line of the log matches $1: '$lines'"
	for word in "${@:2}"; do
		[[ $lines == *"$word"* ]] || fail "'$word' is not in: $lines"
	done
}

# drop_cache FILE…: writes the files back and takes them out of the page cache.
drop_cache() {
	local file
	for file in "$@"; do
		sync "$file"
		dd if="$file" iflag=nocache count=0 status=none
		expect_equal "bytes of $file in the page cache" "$(cached "$file")" 0
	done
}

# size FILE
size() { stat -c %s "$1"; }
