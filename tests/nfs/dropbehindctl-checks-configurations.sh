#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# dropbehindctl-checks-configurations.sh
#
# An operator checks ganesha.conf before a daemon reads it, and finds every value that will be
# refused, every statement that Ganesha drops without a word ("8M"), every key it ignores, and every
# size that the socket buffers don't carry with the command that changes it. What `check` says is
# served is what the daemon then tells its clients; after the command, nothing is short any more.
#
# A check that greps the file would miss what %include brings and take a comment for a statement;
# one that only asks for the exit status would pass with a tool that names the wrong line.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
[ "$DB_FSAL" = DROPBEHIND ] || skip "exports of DROPBEHIND only"
: "${DB_CTL:=${DB_BUILD_DIR:-}/fsal/ctl/dropbehindctl}"
[ -x "$DB_CTL" ] || fail "dropbehindctl is not built: '$DB_CTL'"
test_enter "$0" "$@"

readonly mib=1048576
readonly sizes='512..67108864 bytes'
readonly modes='Auto, Dontcache, Range, Buffered, Passthrough'
readonly at7='t.conf:2: Export 7:'
readonly ours='FSAL { Name = DROPBEHIND; }'
readonly none="warning: no EXPORT with $ours is in it"
conf=$PG_DIR/t.conf
cd "$PG_DIR"

# ctl STATUS ARGUMENT…: runs dropbehindctl, which must end with STATUS; output in $out and $err.
ctl() {
	local want=$1 rc=0
	shift
	out=$("$DB_CTL" "$@" 2>"$PG_DIR/err") || rc=$?
	err=$(<"$PG_DIR/err")
	[ "$rc" = "$want" ] || fail "dropbehindctl $*: exit status $rc instead of $want: $out $err"
}

# has LINE…: each is a whole line of $out.
has() {
	local line
	for line in "$@"; do
		grep -qxF -- "$line" <<<"$out" || fail "no line '$line' in: $out"
	done
}

# found STATUS LINE…: `check` ends with STATUS, and LINE… are all the lines that it finds but
# notes, in this order. The file's own path is left out of them.
found() {
	local want=$1 lines
	shift
	ctl "$want" check "$conf"
	lines=$(sed -nE "s|$PG_DIR/||; /^(wrong|dropped|unknown|short|warning): /p" <<<"$out")
	expect_equal "what check finds" "$lines" "$(printf '%s\n' "$@")"
}

# row EXPORT READ|WRITE MAX-ASKED MAX-SERVED PREF-ASKED PREF-SERVED: a row of the table.
row() {
	local got
	got=$(awk -v id="$1" -v what="$2" '/^Export /{ at = $2 }
		at == id && $1 == what { print $2, $3, $4, $5 }' <<<"$out")
	expect_equal "row $2 of export $1" "$got" "$3 $4 $5 $6"
}

# Writes the file: NFSv4 for a RecoveryRoot of our own, so that no other daemon's past counts.
file() {
	{
		printf 'NFSv4 { RecoveryRoot = "%s/recovery"; }\n' "$PG_DIR"
		cat
	} >"$conf"
}

# export_of EXPORT-STATEMENTS [FSAL-STATEMENTS]: a file with one export, on line 2.
export_of() {
	printf 'EXPORT { Export_Id = 7; Path = /x; %s FSAL { Name = DROPBEHIND; %s } }\n' \
		"$1" "${2:-}" | file
}

fine() {
	note "nothing to find"
	pg_tcp_buffers $((1 << 30)) $((1 << 30))
	export_of "MaxRead = 67108864; MaxWrite = 67108864;"
	found 0
	has "result: fine"
	row 7 READ 67108864 67108864 - 67108864
	export_of "" "# MaxRead = 8M; in a comment
	"
	found 0
	row 7 READ - $((4 * mib)) - $((4 * mib))
	row 7 WRITE - $((4 * mib)) - $((4 * mib))
	printf 'EXPORT { Export_Id = 1; Path = /x; MaxRead = 511; FSAL { Name = VFS; } }\n' | file
	found 0 "$none"
}

bad_sizes() {
	local key value
	note "sizes that are out of range or no numbers"
	for key in MaxRead MaxWrite PrefRead PrefWrite; do
		for value in 0 511 67108865 99999999999999999999999 abc -512 '"8M"' 0x3fffffff; do
			export_of "$key = $value;"
			found 1 \
				"wrong: $at7 $key = ${value//\"/} is not valid: want $sizes"
			row 7 READ - - - -
		done
		for value in 512 67108864 0x1000 01000; do
			export_of "$key = $value;"
			ctl 0 check "$conf"
		done
	done
}

bad_options() {
	local stream='1048576..1073741824 bytes, digits only'
	local sign='want no sign (Ganesha drops it)'
	local checks='Warn, Clamp, Refuse, Off'
	note "values of our options"
	export_of "" "Stream_Cache = 1; Write_Mode = Fast; \
Socket_Requests = 1; Allow_Shrink = 7;"
	found 1 \
		"wrong: $at7 Write_Mode = Fast is not valid: want one of $modes" \
		"wrong: $at7 Stream_Cache = 1 is not valid: want $stream" \
		"wrong: $at7 Socket_Requests = 1 is not valid: want 2..64" \
		"wrong: $at7 Allow_Shrink = 7 is not valid: want true or false"
	export_of "" "Socket_Check = Perhaps; Socket_Requests = -4; Read_Mode = Auto, Range;"
	found 1 \
		"wrong: $at7 Socket_Requests = -4 is not valid: $sign" \
		"wrong: $at7 Read_Mode = Auto, ... is not valid: want one value" \
		"wrong: $at7 Socket_Check = Perhaps is not valid: want one of $checks"
	printf 'DROPBEHIND { Socket_Requests = 65; }\n%s\n' \
		"EXPORT { Export_Id = 1; Path = /x; $ours }" | file
	found 1 "wrong: t.conf:2: Socket_Requests = 65 is not valid: want 2..64" \
		"wrong: t.conf:2: the module does not load with this block: it serves no export"
	row 1 READ - - - -
}

syntax() {
	local suffix='is ignored: numbers have no suffixes, write'
	local at='syntax error here, nothing of the file is used'
	note "what Ganesha drops"
	export_of "
	MaxRead = 8M;
	MaxWrite = ;"
	found 1 "dropped: t.conf:3: Export 7: \`MaxRead = 8M;' $suffix 8388608" \
		"dropped: t.conf:4: Export 7: MaxWrite has no value and is ignored"
	row 7 READ - $((4 * mib)) - $((4 * mib))
	export_of "" "Stream_Cache = 32M;"
	found 1 "dropped: $at7 \`Stream_Cache = 32M;' $suffix 33554432"
	export_of "
	MaxRead = 1048576
	Pseudo = /y;"
	found 1 "dropped: t.conf:3: Export 7: \`MaxRead = 1048576' has no semicolon: all up to \
the next one is ignored"
	printf 'EXPORT { Export_Id = 1;\nFSAL { Name = DROPBEHIND; }\n' | file
	found 1 "dropped: t.conf:4: $at (is a closing brace or a semicolon missing before?)" \
		"$none"
	: >"$conf"
	found 1 "dropped: Empty configuration file" \
		"$none"
}

unknown_keys() {
	local words='None, One64, Major64, Two64, uuid, Two32, Dev, Device'
	local keys='is ignored. Keys: Write_Mode, Read_Mode, Stream_Cache, Socket_Check, '
	local fsal='it belongs in its FSAL { }'
	local export='it belongs in EXPORT { }'
	keys+='Socket_Requests, Allow_Shrink'
	note "keys that are not known where they stand"
	export_of "Stream_Cache = 4194304;" "Wite_Mode = Range; MaxRead = 4096; fsid_type = uuid;"
	found 1 \
		"unknown: $at7 Stream_Cache is ignored in the EXPORT block: $fsal" \
		"unknown: $at7 Wite_Mode is not a key of the FSAL block and $keys" \
		"unknown: $at7 MaxRead is ignored in the FSAL block: $export"
	printf 'DROPBEHIND { Cache = 1; }\nEXPORT_DEFAULTS { MaxRead = 4096; }\n%s\n' \
		"EXPORT { Export_Id = 1; Path = /x; $ours }" | file
	found 1 \
		"unknown: t.conf:3: MaxRead is ignored in the EXPORT_DEFAULTS block: $export" \
		"unknown: t.conf:2: Cache is not a key of the DROPBEHIND block and $keys"
	export_of "" "fsid_type = Devise;"
	found 1 "wrong: $at7 fsid_type = Devise is not valid: want one of $words"
}

includes() {
	note "%include, several exports, ids"
	mkdir -p "$PG_DIR/d"
	printf 'EXPORT { Export_Id = 8; Path = /y; MaxRead = 1;\n%s }\n' \
		'FSAL { Name = "dropbehind"; }' >"$PG_DIR/d/more.conf"
	printf '%%include "%s/d/more.conf"\n%s\n' "$PG_DIR" \
		"EXPORT { Export_Id = 8; Path = /x; $ours } EXPORT { Path = /z; $ours }" | file
	found 1 \
		"wrong: d/more.conf:1: Export 8: MaxRead = 1 is not valid: want $sizes" \
		"wrong: t.conf:3: an EXPORT of DROPBEHIND has no Export_Id" \
		"wrong: t.conf:3: Export 8: another export before it has the same Export_Id"
	printf '%%include "%s/none.conf"\n' "$PG_DIR" | file
	ctl 1 check "$conf"
	has "wrong: ganesha.nfsd does not start with this file"
}

# needed FACTOR-IN-PERCENT SIZE REQUESTS
needed() { printf '%s\n' $((($3 * ($2 + 512) * $1 + 99) / 100)); }

# shortfall KEY SIZE SYSCTL NOW NEEDED REMEDY SERVED: the line about it, with $check.
shortfall() {
	printf 'short: %s %s = %s: net.ipv4.%s[2] is %s, 4 requests of it need %s; served: %s' \
		"$at7" "$1" "$2" "$3" "$4" "$5" "$7"
	printf ' (Socket_Check = %s). Remedy: sysctl -w net.ipv4.%s="%s %s"' \
		"$check" "$3" "$6" "$5"
}

short() {
	local check read write send receive
	note "sizes that the socket buffers don't carry"
	send=$(needed 113 $((8 * mib)) 4)
	receive=$(needed 200 $((16 * mib)) 4)
	for check in Warn Clamp Refuse; do
		pg_tcp_buffers $((receive - 1)) $((send - 1))
		export_of "MaxRead = $((8 * mib)); MaxWrite = $((16 * mib));" \
			"Socket_Check = $check;"
		case $check in
		Warn) read=$((8 * mib)) write=$((16 * mib)) ;;
		Clamp) read=$((4 * mib)) write=$((8 * mib)) ;;
		Refuse) read='nothing, the export is refused' write=$read ;;
		esac
		found 1 "$(shortfall MaxRead $((8 * mib)) tcp_wmem $((send - 1)) "$send" \
			"4096 16384" "$read")" \
			"$(shortfall MaxWrite $((16 * mib)) tcp_rmem $((receive - 1)) "$receive" \
				"4096 131072" "$write")"
		remedies
		found 0
	done
}

# What the tool says is a remedy is one: the commands of $out are run as they are printed.
remedies() {
	local line
	while IFS= read -r line; do
		eval "${line#*Remedy: }" >/dev/null
	done < <(grep '^short: ' <<<"$out")
}

off_and_limits() {
	note "Socket_Check = Off; needs that no sysctl can hold; preferred sizes"
	pg_tcp_buffers $((6 * mib)) $((4 * mib))
	export_of "MaxRead = 67108864; MaxWrite = 67108864;" "Socket_Check = Off;"
	found 0
	row 7 READ 67108864 67108864 - 67108864
	export_of "MaxWrite = 67108864;" "Socket_Requests = 64;"
	found 1 "short: $at7 MaxWrite = 67108864: net.ipv4.tcp_rmem[2] is $((6 * mib)), \
64 requests of it need 8590000128; served: 67108864 (Socket_Check = Warn). \
Remedy: no sysctl holds more than 2147483647: lower Socket_Requests or MaxWrite"
	pg_tcp_buffers $((1 << 30)) $((1 << 30))
	export_of "MaxRead = $((8 * mib)); PrefRead = 65536;
		MaxWrite = $mib; PrefWrite = $((2 * mib));"
	found 0 \
		"warning: $at7 PrefRead = 65536 is below the MaxRead served, 8388608: NFSv3 \
clients start from the smaller" \
		"warning: t.conf:3: Export 7: PrefWrite = 2097152 is above the MaxWrite served: \
it is lowered to $mib"
	row 7 READ $((8 * mib)) $((8 * mib)) 65536 65536
	row 7 WRITE $mib $mib $((2 * mib)) $mib
	has "note: the kernel client of Linux sends at most 1048576 bytes per request, \
whatever a server offers"
}

memory() {
	note "memory at worst"
	{
		printf 'NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 10; RPC_Max_Connections = 3; }\n'
		printf 'EXPORT { Export_Id = %s; Path = /x; MaxRead = %s; MaxWrite = %s; %s }\n' \
			1 1048576 4194304 "$ours" \
			2 2097152 524288 "$ours"
	} | file
	ctl 0 check "$conf"
	grep -qE "^ +$((10 * 5 * mib))  in 10 RPC threads" <<<"$out" || fail "memory: $out"
	grep -qE "^ +$((3 * (4 * mib + 512)))  in 3 of them" <<<"$out" || fail "memory: $out"
	printf 'NFS_CORE_PARAM { RPC_Ioq_ThrdMax = 1; }\n%s\n' \
		"EXPORT { Export_Id = 1; Path = /x; $ours }" | file
	found 1 "wrong: t.conf:2: RPC_Ioq_ThrdMax = 1 is not valid: want 2..131072"
}

# The largest need of both exports; loading it makes the file fine.
drop_in() {
	local send receive
	note "--sysctl"
	send=$(needed 113 $((8 * mib)) 4)
	receive=$(needed 200 $((32 * mib)) 4)
	pg_tcp_buffers $((6 * mib)) $((4 * mib))
	{
		printf 'EXPORT { Export_Id = %s; Path = /x; MaxRead = %s; MaxWrite = %s; %s }\n' \
			1 $((8 * mib)) $mib "$ours" \
			2 $mib $((32 * mib)) "$ours" \
			3 67108864 67108864 'FSAL { Name = DROPBEHIND; Socket_Check = Off; }'
	} | file
	ctl 1 check "$conf" --sysctl
	has "# $conf, Export 1: 4 requests of MaxRead = $((8 * mib)) need $send" \
		"net.ipv4.tcp_wmem = 4096 16384 $send" \
		"# $conf, Export 2: 4 requests of MaxWrite = $((32 * mib)) need $receive" \
		"net.ipv4.tcp_rmem = 4096 131072 $receive"
	expect_equal "standard error" "$err" ""
	printf '%s\n' "$out" >"$PG_DIR/drop-in.conf"
	sysctl -q -p "$PG_DIR/drop-in.conf"
	found 0
	ctl 0 check --sysctl "$conf"
	pg_tcp_buffers $((1 << 30)) $((1 << 30))
	ctl 0 check --sysctl "$conf"
	has "net.ipv4.tcp_rmem = 4096 131072 $((1 << 30))"
	export_of "MaxRead = 1;"
	ctl 1 check "$conf" --sysctl
	[[ $err == *"MaxRead = 1 is not valid"* ]] || fail "standard error has nothing of it: $err"
}

# json STATUS EXPRESSION ARGUMENT…: strict JSON in which the expression about d is true.
json() {
	local status=$1 expression=$2
	shift 2
	ctl "$status" "$@" --json
	python3 -m json.tool <<<"$out" >/dev/null || fail "no JSON: $out"
	python3 -c 'import json, sys
d = json.load(sys.stdin)
sys.exit(0 if eval("(" + sys.argv[1] + ")") else 1)' "$expression" <<<"$out" ||
		fail "not true: $expression: $out"
}

json_output() {
	note "--json"
	pg_tcp_buffers $((6 * mib)) $((4 * mib))
	export_of "MaxRead = $((8 * mib)); MaxWrite = 511;"
	json 1 'd["exports"][0]["read"]["max_asked"] == 8388608' check "$conf"
	json 1 'd["exports"][0]["refused"] and d["exports"][0]["write"]["max_asked"] is None' \
		check "$conf"
	json 1 '[[f[k] for k in ("kind", "export", "key", "value", "line")]
		for f in d["findings"]][:2] == [["wrong", 7, "MaxWrite", "511", 2],
		["short", 7, "MaxRead", "8388608", 2]]' check "$conf"
	printf 'EXPORT { Export_Id = 1; Path = "/a\\\\b\\"\xff\x01\xc3\xa9"; %s }\n' "$ours" | file
	json 0 'd["exports"][0]["path"] == "/a\\b\"\ufffd\x01\u00e9" and d["result"]["fine"]' \
		check "$conf"
}

usage() {
	note "usage"
	ctl 64
	ctl 64 frobnicate
	ctl 64 check
	ctl 64 check "$conf" "$conf"
	ctl 64 check "$conf" --json --sysctl
	ctl 64 check "$conf" --what
	ctl 64 connections --port 0
	ctl 64 connections --port 2049x
	ctl 64 connections 2049
	ctl 66 check "$PG_DIR/none.conf"
	ctl 66 check "$PG_DIR"
	ctl 0 --help
	ctl 0 check --help
	ctl 0 connections --help
	expect_equal "standard error of --help" "$err" ""
}

# Nothing of ours leaks or is read outside its bounds. Nodes that Ganesha's parser loses in a file
# with errors are its own: a leak counts if the tool's functions allocated it.
no_memory_errors() {
	local file
	local own='by 0x[0-9A-F]+: (copy|needed|message_add|place_take|finding_add|export_block)'
	if ! command -v valgrind >/dev/null; then
		note "valgrind is not installed: memory errors are not looked for"
		return 0
	fi
	note "memory"
	head -c 4096 /dev/urandom >"$PG_DIR/random.conf"
	export_of "MaxRead = 8M; MaxWrite = 511; Foo;" "Wite_Mode = 1; Socket_Check = x;"
	for file in "$conf" "$PG_DIR/random.conf"; do
		valgrind -q --leak-check=full --error-exitcode=99 --errors-for-leak-kinds=none \
			--log-file="$PG_DIR/valgrind" "$DB_CTL" check "$file" >/dev/null ||
			[ $? = 1 ] || fail "valgrind: $(<"$PG_DIR/valgrind")"
		! grep -qE "$own" "$PG_DIR/valgrind" || fail "leak: $(<"$PG_DIR/valgrind")"
	done
}

# told: rtmax rtpref wtmax wtpref of the target.
told() {
	local info key
	info=$(client fsinfo)
	for key in rtmax rtpref wtmax wtpref; do
		printf '%s ' "$(value $key <<<"$info")"
	done
}

# predicted EXPORT: the same from the table in $out.
predicted() {
	awk -v id="$1" '/^Export /{ at = $2 }
		at == id && ($1 == "READ" || $1 == "WRITE") { printf "%s %s ", $3, $5 }' <<<"$out"
}

# What check says is served is what NFSv3 clients are told. One daemon, three exports.
as_served() {
	local id
	note "the daemon serves what check says"
	pg_tcp_buffers $((6 * mib)) $((18 * mib))
	for id in 1 2 3; do mkdir -p "$PG_DIR/x$id"; done
	serve "1 $PG_DIR/x1 /x1 DROPBEHIND" \
		"2 $PG_DIR/x2 /x2 DROPBEHIND Socket_Check = Clamp; || \
			MaxRead = 67108864; MaxWrite = 3000000;" \
		"3 $PG_DIR/x3 /x3 DROPBEHIND || MaxRead = 8388608; PrefRead = 65536; \
			MaxWrite = 65536; PrefWrite = 131072;"
	ctl 1 check "$PG_DIR/main.conf"
	for id in 1 2 3; do
		target main "$PG_DIR/x$id"
		expect_equal "what export $id serves" "$(told)" "$(predicted "$id")"
	done
}

a_buffer_is_full() {
	local rc=0
	"$DB_CTL" connections --port "$1" >"$PG_DIR/table" || rc=$?
	[ "$rc" = 1 ]
}

# A client that sends while the daemon does not read: stopped, its receive buffer fills.
full_buffer() {
	local writer
	pg_tcp_buffers $((256 * 1024)) $((4 * mib))
	kill -STOP "$(pg_pid main)"
	exec {held}<>"/dev/tcp/127.0.0.1/$1"
	# The record mark is one that no server takes, so that it hangs up when it goes on.
	(printf '\377\377\377\377' && exec head -c 64M /dev/zero) 1>&"$held" &
	writer=$!
	pg_wait_until 20 a_buffer_is_full "$1" || fail "no buffer is full: $(<"$PG_DIR/table")"
	grep -qxF '  receive buffer full: raise net.ipv4.tcp_rmem[2] to 9 MiB' "$PG_DIR/table" ||
		fail "no advice: $(<"$PG_DIR/table")"
	kill "$writer"
	exec {held}>&-
	wait "$writer" || true
	kill -CONT "$(pg_pid main)"
}

connections() {
	local port=20490 rc hint held
	note "connections"
	ctl 0 connections --port $port
	has "port $port: 0 connections"
	[[ $err == "no client is connected"* ]] || fail "$err"
	exec {held}<>"/dev/tcp/127.0.0.1/$port"
	ctl 0 connections --port $port --port 20491
	has "port $port: 1 connection" "port 20491: 0 connections"
	expect_equal "columns" "$(awk '{ if (length > n) n = length } END { print (n <= 80) }' \
		<<<"$(grep -v '^  ' <<<"$out")")" 1
	json 0 'd["ports"] == [20490] and d["connections"][0]["local"] == "127.0.0.1:20490" and
		d["connections"][0]["limit"] == "none"' connections --port $port
	exec {held}>&-
	full_buffer $port
	rc=0
	err=$(unshare -n "$DB_CTL" connections --port $port 2>&1 >/dev/null) || rc=$?
	expect_equal "exit status in another namespace" "$rc" 69
	hint="nsenter -t $(pg_pid main) -n dropbehindctl connections --port $port"
	[[ $err == *"$hint"* ]] || fail "no hint at the namespace: $err"
	stop_all
	ctl 69 connections --port $port
	[[ $err == "no ganesha.nfsd runs"* ]] || fail "$err"
}

fine
bad_sizes
bad_options
syntax
unknown_keys
includes
short
off_and_limits
memory
drop_in
json_output
usage
no_memory_errors
as_served
connections
