#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# dbus-object-tells-sizes-and-connections.sh
#
# Without a shell on the server's disk an operator asks by D-Bus what is served, what is short and
# what limits a connection. The object is there for exports of the start and for the first one added
# to a running daemon, and registered once: a second registration would end the daemon.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
[ "$DB_FSAL" = DROPBEHIND ] || skip "the object is DROPBEHIND's"
test_enter "$0" "$@"

ask() {
	dbus-send --system --print-reply --dest=org.ganesha.nfsd /org/ganesha/nfsd/dropbehind "$@"
}

manage() {
	dbus-send --system --print-reply --dest=org.ganesha.nfsd /org/ganesha/nfsd/ExportMgr \
		"org.ganesha.nfsd.exportmgr.$1" "${@:2}"
}

# has TEXT WORD…: TEXT contains every WORD.
has() {
	local word
	for word in "${@:2}"; do
		[[ $1 == *"$word"* ]] || fail "'$word' is not in the answer: $1"
	done
}

connections_told() { ask org.ganesha.nfsd.dropbehind.Connections | grep -q '127.0.0.1:'; }

pg_tcp_buffers 6291456 4194304
scratch first ext4 1G
scratch second ext4 1G
first=$PG_DIR/first second=$PG_DIR/second

note "exports of the start"
serve "1 $first /first DROPBEHIND Stream_Cache = 16777216; || MaxWrite = 8388608;"
answer=$(ask org.ganesha.nfsd.dropbehind.Exports)
has "$answer" 'boolean true' 'uint16 1' "\"$first\"" 'Stream_Cache = 16777216;' 'uint64 8388608' \
	'net.ipv4.tcp_rmem[2] = 6291456' 'sysctl -w net.ipv4.tcp_rmem='

note "one more, in a running daemon, beside the first"
pg_export_block "2 $second /second DROPBEHIND" >"$PG_DIR/add.conf"
quietly manage AddExport string:"$PG_DIR/add.conf" string:"EXPORT(Export_Id=2)"
has "$(ask org.ganesha.nfsd.dropbehind.Exports)" 'uint16 1' 'uint16 2' "\"$second\""
quietly manage RemoveExport uint16:1
answer=$(ask org.ganesha.nfsd.dropbehind.Exports)
has "$answer" 'uint16 2'
[[ $answer != *'uint16 1'$'\n'* ]] || fail "a removed export is still told"

note "connections"
target main "$second"
client write stream --size 256M --writers 2 >/dev/null &
pg_wait_until 10 connections_told || fail "no connection told while two stream"
wait $!
has "$(ask org.freedesktop.DBus.Introspectable.Introspect)" 'name="Exports"' 'name="Connections"'

note "a daemon that starts with FSAL_VFS only, and gets its first DROPBEHIND export"
stop_all
serve "3 $first /first VFS"
! ask org.ganesha.nfsd.dropbehind.Exports >/dev/null 2>&1 || fail "an object without a module"
quietly manage AddExport string:"$PG_DIR/add.conf" string:"EXPORT(Export_Id=2)"
has "$(ask org.ganesha.nfsd.dropbehind.Exports)" 'uint16 2'
quietly manage RemoveExport uint16:2
quietly manage AddExport string:"$PG_DIR/add.conf" string:"EXPORT(Export_Id=2)"
has "$(ask org.ganesha.nfsd.dropbehind.Exports)" 'uint16 2'
stop_all
