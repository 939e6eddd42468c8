#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# bad-configuration-is-refused-clearly.sh
#
# An operator with a wrong line in ganesha.conf finds one line in the log that says which export,
# which key or path, what it is, what it may be, and what to do; the daemon and the other exports
# go on. Ganesha's own converters say "(1) is out of range" without a key and turn a misspelt word
# silently into the default.
#
# At SIGHUP a bad value must keep the value in force: an error there makes Ganesha remove the export
# under its clients. A good value is in force at once, shown by what it does and not by a log line
# only.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
[ "$DB_FSAL" = DROPBEHIND ] || skip "options of DROPBEHIND only"
test_enter "$0" "$@"

good="1 $PG_DIR/good /good DROPBEHIND"
vfs="3 $PG_DIR/vfs /vfs VFS"
# What our code writes: the functions' names are in the line.
ours=' (report[a-z_]*|announce|dropbehind_init) :'

# begin EXPORT…: a new daemon with a new log.
begin() {
	[ -z "${PG_PIDS[main]:-}" ] || stop_all
	rm -f "$(pg_log main)"
	serve "$@"
}

# served PATH / not_served PATH
served() {
	target main "$1"
	quietly client getattr || fail "$1 is not served"
	target main "$PG_DIR/good"
}

not_served() {
	target main "$1"
	! client getattr >"$PG_DIR/out" || fail "$1 is served"
	target main "$PG_DIR/good"
}

# refused BAD-EXPORT WORD…: one line of ours with each WORD; the good exports are there.
refused() {
	note "${1#"2 $PG_DIR"}"
	begin "$1" "$good" "$vfs"
	expect_one_line "$ours(CONFIG|FSAL) :(CRIT|WARN)" "${@:2}"
	served "$PG_DIR/good"
	served "$PG_DIR/vfs"
	not_served "$(cut -d' ' -f2 <<<"$1")"
}

bad_values() {
	local value range='1048576..1073741824 bytes'
	for value in 0 1 1048575 1073741825 99999999999999999999 abc 1.5 0x100000; do
		refused "2 $PG_DIR/bad /bad DROPBEHIND Stream_Cache = $value;" \
			"Export 2" "Stream_Cache = $value" "$range"
	done
	# Ganesha's reader gives us the number without the sign.
	refused "2 $PG_DIR/bad /bad DROPBEHIND Stream_Cache = -1;" \
		"Export 2" "Stream_Cache = " "$range"
	refused "2 $PG_DIR/bad /bad DROPBEHIND Stream_Cache = \"8M\";" \
		"Export 2" "Stream_Cache = 8M" "$range"
	refused "2 $PG_DIR/bad /bad DROPBEHIND Write_Mode = Fast;" \
		"Export 2" "Write_Mode = Fast" "Auto, Dontcache, Range, Buffered, Passthrough"
	refused "2 $PG_DIR/bad /bad DROPBEHIND Read_Mode = \"\";" \
		"Export 2" "Read_Mode = " "Auto, Dontcache, Range, Buffered, Passthrough"
	for value in 1048576 1073741824; do
		note "Stream_Cache = $value is valid"
		begin "$good Stream_Cache = $value;"
		expect_one_line "$ours" "Export 1" "Stream_Cache $value"
	done
}

# Ganesha's reader drops these before anybody can judge them: it must at least be visible.
what_ganesha_drops() {
	note "unknown key"
	begin "2 $PG_DIR/bad /bad DROPBEHIND Strean_Cache = 5000000;" "$good"
	expect_one_line "$ours.*:WARN" "Export 2" "not known" "Stream_Cache"
	expect_one_line 'config_errs_to_log.*Unknown parameter' "(Strean_Cache)" "main.conf:"
	served "$PG_DIR/bad"
	note "a size with a suffix, which is a syntax error"
	begin "2 $PG_DIR/bad /bad DROPBEHIND Stream_Cache = 8M;" "$good"
	expect_one_line 'config_errs_to_log.*Syntax error' "main.conf:"
	expect_one_line "$ours.*Export 2" "Stream_Cache 33554432"
	served "$PG_DIR/bad"
}

module_block() {
	note "DROPBEHIND block: a default for every export"
	PG_EXTRA='DROPBEHIND { Stream_Cache = 2097152; Write_Mode = Range; }'
	begin "$good" "2 $PG_DIR/bad /bad DROPBEHIND Write_Mode = Buffered;"
	expect_one_line "$ours.*Export 1" "writes Range" "Stream_Cache 2097152"
	expect_one_line "$ours.*Export 2" "writes Buffered" "Stream_Cache 2097152"
	note "DROPBEHIND block: a bad value, an unknown key"
	PG_EXTRA='DROPBEHIND { Stream_Cache = 7; }'
	begin "$good" "$vfs"
	expect_one_line "$ours.*:CRIT" "DROPBEHIND block" "Stream_Cache = 7" 1048576..1073741824
	served "$PG_DIR/vfs"
	not_served "$PG_DIR/good"
	PG_EXTRA='DROPBEHIND { Cache = 7; }'
	begin "$good" "$vfs"
	expect_one_line "$ours.*:WARN" "DROPBEHIND block" "not known"
	served "$PG_DIR/good"
	PG_EXTRA=
}

paths() {
	refused "2 $PG_DIR/nothing /bad DROPBEHIND" "Export 2" "$PG_DIR/nothing" \
		"No such file or directory" "Remedy:"
	printf x >"$PG_DIR/a-file"
	refused "2 $PG_DIR/a-file /bad DROPBEHIND" "Export 2" "$PG_DIR/a-file" "Remedy:"
	note "a filesystem that another FSAL exports"
	begin "$vfs" "2 $PG_DIR/vfs/dir /bad DROPBEHIND" "$good"
	expect_one_line "$ours.*CRIT" "Export 2" "$PG_DIR/vfs/dir" "two FSALs" "Remedy:"
	served "$PG_DIR/vfs"
	served "$PG_DIR/good"
	note "overlay without handles"
	refused "2 $PG_DIR/over /bad DROPBEHIND" "Export 2" "$PG_DIR/over" overlay \
		name_to_handle_at nfs_export=on "Remedy:"
	note "tmpfs has handles and no disk: served, and it says that nothing can be dropped"
	begin "2 $PG_DIR/tmp /tmp DROPBEHIND" "$good"
	expect_one_line "$ours.*Export 2" tmpfs "writes Buffered" "page cache is all"
	target main "$PG_DIR/tmp"
	quietly client write file --size 8M
	quietly client read file --size 8M --verify
}

without_capability() {
	note "without CAP_DAC_READ_SEARCH"
	PG_WRAP=(setpriv --bounding-set -dac_read_search --inh-caps -dac_read_search)
	begin "$good"
	expect_one_line "$ours.*:CRIT" "Export 1" "$PG_DIR/good" ext4 open_by_handle_at \
		CAP_DAC_READ_SEARCH "Remedy:"
	quietly client null
	PG_WRAP=()
}

wrong_version() {
	note "a module for another daemon"
	[ -n "${DB_WRONG_VERSION_DIR:-}" ] || fail "DB_WRONG_VERSION_DIR is not set"
	DB_MODULE_DIR=$DB_WRONG_VERSION_DIR begin "$good" "$vfs"
	expect_one_line "$ours" "interface 99." "Remedy:"
	served "$PG_DIR/vfs"
	not_served "$PG_DIR/good"
}

# in_force DROPS: does a stream leave the page cache?
in_force() {
	local left
	quietly client write stream --size 32M
	left=$(cached "$PG_DIR/good/stream")
	if [ "$1" = yes ]; then
		[ "$left" -lt 1048576 ] || fail "nothing is dropped: $left bytes are cached"
	else
		[ "$left" -gt 30000000 ] || fail "it was dropped: $left bytes are cached"
	fi
}

sighup() {
	note "SIGHUP: a good value"
	begin "$good Write_Mode = Range;" "$vfs"
	in_force yes
	pg_conf main "$good Write_Mode = Buffered;" "$vfs"
	reload
	expect_one_line "$ours.*changed" "Export 1" "Write_Mode changed from Range to Buffered"
	in_force no
	note "SIGHUP: a bad value"
	pg_conf main "$good Write_Mode = Fast;" "$vfs"
	reload
	expect_one_line "$ours.*not valid" "Export 1" "Write_Mode = Fast" "Dontcache, Range" \
		"The value in force stays"
	in_force no
	served "$PG_DIR/vfs"
	pg_conf main "$good Stream_Cache = 1;" "$vfs"
	reload
	expect_one_line "$ours.*Stream_Cache = 1 is not valid" "Export 1" 1048576..1073741824
	in_force no
	note "SIGHUP: and a good one again"
	pg_conf main "$good Write_Mode = Range;" "$vfs"
	reload
	in_force yes
}

scratch good ext4 256M
scratch bad ext4 256M
scratch vfs ext4 256M
scratch tmp tmpfs 64M
scratch over overlay 64M
mkdir "$PG_DIR/vfs/dir"
bad_values
what_ganesha_drops
module_block
paths
without_capability
wrong_version
sighup
stop_all
