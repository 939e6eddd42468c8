# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Bash library: stock NFS-Ganesha daemons that nothing outside can see.
#
# A script sources this file, calls `pg_enter "$0" "$@"` and from there on runs
# as the first process of its own network, mount, IPC and process namespaces,
# with its own rpcbind, D-Bus, /run and /var/lib/nfs. The system's own server
# is never touched, and two scripts never meet.
#
# Invariants
#  - Whatever ends the script (exit, Ctrl-C, SIGTERM, kill -9 of either side)
#    ends every process it started: they die with the process namespace.
#  - Disk images are unlinked, and their loop devices set to clear themselves,
#    from the moment they are mounted. The mount namespace's end frees both.
#  - $PG_DIR is removed from outside when the inside has ended. After kill -9
#    of the outer script the folder stays until the next pg_enter sweeps it.
#  - Every wait has a bound.
#
# Not promised: isolation of CPU, memory, page cache or the users database.
#
# Variables a script may set before the calls that read them
#  PG_LOG_LEVEL   log level of the daemons                       (NIV_EVENT)
#  PG_START_LIMIT seconds a service may take to answer                  (30)
#  PG_STOP_LIMIT  seconds a daemon may take to exit after SIGTERM       (20)
#  PG_CORE_EXTRA  further statements for NFS_CORE_PARAM of pg_conf
#  PG_EXTRA       further blocks for the file that pg_conf writes
#  PG_WRAP        array: command and arguments put before the daemon's

: "${PG_LOG_LEVEL:=NIV_EVENT}"
: "${PG_START_LIMIT:=30}"
: "${PG_STOP_LIMIT:=20}"

PG_ADDR=192.0.2.1
PG_BUS_SOCKET=/run/dbus/system_bus_socket
PG_SYSTEM_PLUGINS=
declare -A PG_PIDS=() PG_PORTS=()
declare -a PG_WRAP=()
PG_MOUNT=

pg_say() { printf '%s\n' "$*" >&2; }

# pg_wait_until SECONDS COMMAND…: polls ten times a second; 1 when time is up.
pg_wait_until() {
	local limit=$(($1 * 10)) i
	shift
	for ((i = 0; i < limit; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	return 1
}

# pg_running PID: true while the process has not ended (a zombie has).
pg_running() {
	local state
	state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) || return 1
	[ -n "$state" ] && [ "$state" != Z ]
}

pg_gone() { ! pg_running "$1"; }

# ---- entering ------------------------------------------------------------

# Removes work folders whose script was killed before it could: their lock is
# free. A folder without a lock file is being made by somebody else.
pg_sweep() {
	local lock
	for lock in "${TMPDIR:-/tmp}"/private-ganesha.*/lock; do
		[ -e "$lock" ] || continue
		flock -n "$lock" rm -rf -- "${lock%/lock}" || true
	done
}

pg_children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }

# SIGTERM to the inside's first process, whose EXIT trap then runs, and to its
# children, because bash runs a trap only when its foreground command has ended.
pg_outer_end() {
	trap '' INT TERM HUP
	if [ -n "${PG_CHILD:-}" ] && pg_running "$PG_CHILD"; then
		local inner children
		inner=$(pg_children "$PG_CHILD")
		children=$(pg_children "${inner% }")
		# shellcheck disable=SC2086
		[ -z "$inner" ] || kill -TERM $inner $children 2>/dev/null || true
		pg_wait_until 3 pg_gone "$PG_CHILD" || kill -KILL "$PG_CHILD" 2>/dev/null || true
		wait "$PG_CHILD" 2>/dev/null || true
	fi
	rm -rf -- "$PG_DIR"
}

# The outer half: makes $PG_DIR, runs the script inside, passes its status on.
# `setpriv --pdeathsig` ends unshare with this shell, `--kill-child` ends the
# inside with unshare; a background job would ignore SIGINT without `env`.
pg_outer() {
	local rc=0
	pg_sweep
	PG_DIR=$(mktemp -d "${TMPDIR:-/tmp}/private-ganesha.XXXXXX")
	exec {PG_LOCK}>"$PG_DIR/lock"
	flock "$PG_LOCK"
	PG_CHILD=
	trap pg_outer_end EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	PG_INSIDE=1 PG_DIR=$PG_DIR env --default-signal=INT,QUIT \
		setpriv --pdeathsig KILL \
		unshare --net --mount --ipc --pid --fork --kill-child --mount-proc \
		bash "$@" <&0 &
	PG_CHILD=$!
	printf '%s\n' "$PG_CHILD" >"$PG_DIR/host-pid"
	wait "$PG_CHILD" || rc=$?
	exit "$rc"
}

pg_inner() {
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	mount -t tmpfs -o mode=0755 tmpfs /run
	mkdir -p /run/lock /run/dbus /run/rpcbind /run/ganesha /var/lib/nfs
	mount -t tmpfs -o mode=0755 tmpfs /var/lib/nfs
	mkdir -p /var/lib/nfs/ganesha "$PG_DIR/plugins"
	ip link set lo up
	# Name lookup with AI_ADDRCONFIG fails while only lo has an address.
	ip link add pg0 type veth peer name pg1
	ip addr add "$PG_ADDR/24" dev pg0
	ip link set pg0 up
	ip link set pg1 up
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$PG_BUS_SOCKET
	export PG_DIR
}

# pg_enter SCRIPT [ARGUMENT…]: call as `pg_enter "$0" "$@"` before anything
# else. Outside it runs SCRIPT again inside and exits with its status; inside
# it prepares the namespaces once and returns. Needs root.
pg_enter() {
	if [ -n "${PG_READY:-}" ]; then
		return 0
	fi
	if [ -z "${PG_INSIDE:-}" ]; then
		pg_outer "$@"
	fi
	pg_inner
	export PG_READY=1
}

# pg_host_pid: a process, by its id outside, whose network and mount namespaces
# are the inside's: `nsenter -t PID -n COMMAND` reaches its servers.
pg_host_pid() { cat "$PG_DIR/host-pid"; }

# ---- services ------------------------------------------------------------

pg_bus_config() {
	cat <<-END
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=$PG_BUS_SOCKET</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <allow own="*"/>
	    <allow send_destination="*"/>
	    <allow receive_sender="*"/>
	  </policy>
	</busconfig>
	END
}

pg_bus_answers() {
	dbus-send --system --print-reply --dest=org.freedesktop.DBus \
		/org/freedesktop/DBus org.freedesktop.DBus.GetId
}

# pg_start_services: rpcbind and the system bus; 1 if one does not answer.
pg_start_services() {
	pg_bus_config >"$PG_DIR/bus.conf"
	setsid dbus-daemon --config-file="$PG_DIR/bus.conf" --nofork --nopidfile \
		--nosyslog </dev/null >"$PG_DIR/bus.log" 2>&1 &
	setsid rpcbind -f </dev/null >"$PG_DIR/rpcbind.log" 2>&1 &
	if ! pg_wait_until "$PG_START_LIMIT" pg_bus_answers; then
		pg_say "the private D-Bus does not answer:"
		tail -n 5 "$PG_DIR/bus.log" >&2
		return 1
	fi
	if ! pg_wait_until "$PG_START_LIMIT" rpcinfo -p 127.0.0.1; then
		pg_say "the private rpcbind does not answer:"
		tail -n 5 "$PG_DIR/rpcbind.log" >&2
		return 1
	fi
}

# pg_tcp_buffers RECEIVE SEND: autotuning ceilings, in bytes, of this network
# namespace (tcp(7): tcp_rmem, tcp_wmem).
pg_tcp_buffers() {
	printf '4096 131072 %s\n' "$1" >/proc/sys/net/ipv4/tcp_rmem
	printf '4096 16384 %s\n' "$2" >/proc/sys/net/ipv4/tcp_wmem
}

# ---- disks ---------------------------------------------------------------

pg_mkfs() {
	case $1 in
	ext4) mkfs.ext4 -q -F "$2" ;;
	xfs) mkfs.xfs -q -f "$2" ;;
	btrfs) mkfs.btrfs -q -f "$2" ;;
	*) pg_say "pg_disk: filesystem '$1' is not one of ext4 xfs btrfs tmpfs overlay"; return 1 ;;
	esac
}

# A sparse image on a loop device. mount(8) sets the loop up with autoclear, so
# there is no moment in which a kill leaves it attached; direct I/O is switched
# on afterwards because mount(8) has no option for it.
pg_loop_disk() {
	local fstype=$1 size=$2 folder=$3 target=$4 image loop options=loop
	# ext4 would go on initialising inode tables for minutes, beside the test.
	[ "$fstype" != ext4 ] || options=loop,noinit_itable
	image=$(mktemp "$folder/disk.XXXXXX")
	if ! { truncate -s "$size" "$image" &&
		pg_mkfs "$fstype" "$image" >"$PG_DIR/mkfs.log" 2>&1 &&
		mount -t "$fstype" -o "$options" "$image" "$target"; }; then
		cat "$PG_DIR/mkfs.log" >&2
		rm -f -- "$image"
		return 1
	fi
	rm -f -- "$image"
	loop=$(findmnt -n -o SOURCE --mountpoint "$target")
	losetup --direct-io=on "$loop"
	[ "$(cat "/sys/block/${loop##*/}/loop/dio")" = 1 ]
}

pg_overlay_disk() {
	local size=$1 target=$2 base=$2.layers
	mkdir -p "$base"
	mount -t tmpfs -o size="$size" tmpfs "$base"
	mkdir "$base/lower" "$base/upper" "$base/work"
	mount -t overlay overlay "$target" \
		-o "lowerdir=$base/lower,upperdir=$base/upper,workdir=$base/work"
}

# pg_disk NAME FSTYPE SIZE [FOLDER]: a new filesystem mounted on $PG_DIR/NAME.
# FSTYPE: ext4 xfs btrfs tmpfs overlay; SIZE as for truncate(1); FOLDER: where
# the image goes (default $PG_DIR). Sets PG_MOUNT.
pg_disk() {
	PG_MOUNT=$PG_DIR/$1
	mkdir -p "$PG_MOUNT"
	case $2 in
	tmpfs) mount -t tmpfs -o size="$3" tmpfs "$PG_MOUNT" ;;
	overlay) pg_overlay_disk "$3" "$PG_MOUNT" ;;
	*) pg_loop_disk "$2" "$3" "${4:-$PG_DIR}" "$PG_MOUNT" ;;
	esac
}

# ---- configuration -------------------------------------------------------

# The folder in which the packaged daemon looks for its FSALs.
pg_system_plugins() {
	local file
	if [ -z "$PG_SYSTEM_PLUGINS" ]; then
		for file in /usr/lib/*/ganesha/libfsalvfs.so /usr/lib64/ganesha/libfsalvfs.so; do
			[ -e "$file" ] && PG_SYSTEM_PLUGINS=${file%/*} && break
		done
	fi
	[ -n "$PG_SYSTEM_PLUGINS" ] || { pg_say "libfsalvfs.so not found"; return 1; }
}

# pg_plugins [FOLDER…]: makes the daemons load the packaged FSALs and, before
# them, those in the folders given (a build folder).
# shellcheck disable=SC2120
pg_plugins() {
	local folder
	pg_system_plugins
	rm -f -- "$PG_DIR"/plugins/*.so
	for folder in "$PG_SYSTEM_PLUGINS" "$@"; do
		find "$(realpath "$folder")" -maxdepth 1 -name 'libfsal*.so' \
			-exec ln -sf -t "$PG_DIR/plugins" {} +
	done
}

# pg_port NAME / pg_mount_port NAME: the ports of a daemon's NFS and MOUNT.
pg_port() { printf '%s\n' "${PG_PORTS[$1]}"; }
pg_mount_port() { printf '%s\n' $((PG_PORTS[$1] + 1)); }

# One EXPORT block from "ID PATH PSEUDO FSAL [FSAL statements] [|| EXPORT statements]".
pg_export_block() {
	local head=${1%%||*} more='' id path pseudo fsal options
	[ "$head" = "$1" ] || more=${1#*||}
	read -r id path pseudo fsal options <<<"$head"
	cat <<-END
	EXPORT {
		Export_Id = $id;
		Path = "$path";
		Pseudo = "$pseudo";
		Access_Type = RW;
		Squash = No_Root_Squash;
		SecType = sys;
		$more
		FSAL { Name = $fsal; $options }
	}
	END
}

pg_core_blocks() {
	local name=$1 port=$2 prefix=$3
	cat <<-END
	NFS_CORE_PARAM {
		NFS_Port = $port;
		MNT_Port = $((port + 1));
		NLM_Port = $((port + 2));
		Rquota_Port = $((port + 3));
		Enable_RQUOTA = false;
		Enable_UDP = false;
		Protocols = 3, 4;
		Plugins_Dir = "$PG_DIR/plugins";
		$prefix
		${PG_CORE_EXTRA:-}
	}
	NFSV4 {
		Graceless = true;
		Lease_Lifetime = ${PG_LEASE:-12};
		Grace_Period = ${PG_LEASE:-12};
		Minor_Versions = 0, 1, 2;
		RecoveryRoot = "$PG_DIR/$name.recovery";
	}
	NFS_KRB5 { Active_krb5 = false; }
	${PG_EXTRA:-}
	END
}

# pg_conf NAME EXPORT…: writes $PG_DIR/NAME.conf for the daemon NAME. Each
# EXPORT is one string "ID PATH PSEUDO FSAL [FSAL statements] [|| EXPORT statements]".
# The first NAME gets ports 20490 (NFS), +1 (MOUNT), +2 (NLM), +3; each further
# one ten more, and a D-Bus name prefixed with NAME.
pg_conf() {
	local name=$1 prefix='' spec
	shift
	if [ -z "${PG_PORTS[$name]:-}" ]; then
		PG_PORTS[$name]=$((20490 + 10 * ${#PG_PORTS[@]}))
	fi
	[ "${PG_PORTS[$name]}" = 20490 ] || prefix="Dbus_Name_Prefix = $name;"
	# shellcheck disable=SC2119
	[ -n "$(ls "$PG_DIR/plugins")" ] || pg_plugins
	mkdir -p "$PG_DIR/$name.recovery"
	{
		pg_core_blocks "$name" "${PG_PORTS[$name]}" "$prefix"
		for spec in "$@"; do
			pg_export_block "$spec"
		done
	} >"$PG_DIR/$name.conf"
}

# ---- daemons -------------------------------------------------------------

pg_log() { printf '%s\n' "$PG_DIR/$1.log"; }
pg_pid() { printf '%s\n' "${PG_PIDS[$1]}"; }

# pg_null PORT: true when NFSv3 answers NULL there. By hand, because rpcinfo asks
# rpcbind first, which knows only the daemon that registered last: RFC 5531, one
# fragment of 40 bytes; an accepted reply has 28 with its record mark.
pg_null() {
	local null='\200\0\0\050' xid='\0\0\0\001' got
	null+=$xid'\0\0\0\0\0\0\0\002\0\001\206\243\0\0\0\003\0\0\0\0'
	null+='\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
	got=$({
		exec {socket}<>"/dev/tcp/127.0.0.1/$1" || exit
		printf "$null" >&"$socket"
		timeout 2 head -c 28 <&"$socket" | wc -c
	} 2>/dev/null) || return 1
	[ "$got" = 28 ]
}

# True when NFS answers NULL, or when the daemon has ended and waiting is idle.
pg_answers_or_ended() {
	pg_gone "${PG_PIDS[$1]}" || pg_null "${PG_PORTS[$1]}"
}

# pg_start_ganesha NAME [CONFFILE]: starts the packaged daemon, waits for NULL.
# Returns 1, with the end of the log on stderr, when it does not come up.
pg_start_ganesha() {
	local name=$1 conf=${2:-$PG_DIR/$1.conf} log
	log=$(pg_log "$name")
	# shellcheck disable=SC2094
	setsid "${PG_WRAP[@]}" /usr/bin/ganesha.nfsd -F -f "$conf" -L "$log" \
		-p "/run/ganesha/$name.pid" -N "$PG_LOG_LEVEL" \
		</dev/null >>"$log" 2>&1 &
	PG_PIDS[$name]=$!
	pg_wait_until "$PG_START_LIMIT" pg_answers_or_ended "$name" || true
	if pg_gone "${PG_PIDS[$name]}" || ! pg_null "${PG_PORTS[$name]}"; then
		pg_say "ganesha.nfsd '$name' does not answer on port ${PG_PORTS[$name]}:"
		tail -n 15 "$log" >&2
		return 1
	fi
}

# pg_stop_ganesha NAME: SIGTERM and a bounded wait. Returns the daemon's exit
# status; 1 when it hung and had to be killed.
pg_stop_ganesha() {
	local pid=${PG_PIDS[$1]:-} rc=0
	[ -n "$pid" ] || return 0
	unset "PG_PIDS[$1]"
	kill -TERM "$pid" 2>/dev/null || true
	if ! pg_wait_until "$PG_STOP_LIMIT" pg_gone "$pid"; then
		pg_say "ganesha.nfsd '$1' did not exit in $PG_STOP_LIMIT s after SIGTERM; killed"
		kill -KILL "$pid"
		wait "$pid" || true
		return 1
	fi
	wait "$pid" || rc=$?
	[ "$rc" = 0 ] || pg_say "ganesha.nfsd '$1' exited with status $rc"
	return "$rc"
}
