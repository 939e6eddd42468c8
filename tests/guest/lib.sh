# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# Runs a script inside a Linux guest whose kernel has an NFS client, against the
# packaged daemon in private namespaces.  Sourced.
#
#   guest_enter "$0" "$@"          first of all; see pg_enter
#   guest_server FSTYPE SIZE       daemon "guest" exporting a new filesystem
#   guest_run SCRIPT [NAME=VALUE...]
#
# The guest is QEMU without KVM, so it is the same everywhere, at a tenth of the
# speed.  It sees this network namespace's loopback as 10.0.2.2.  SCRIPT is
# sourced in the guest after inside/lib.sh, with the given variables; its exit
# status becomes that of guest_run.  Its output goes to standard output, prefixed.
#
# A script asks the host for something with `host NAME [ARG...]`, which calls the
# function on_NAME here (lib-host.sh) and gives its exit status back.
#
# The guest is ended when the script ends, when the kernel panics, when no status
# came within GUEST_TIMEOUT seconds (default 400), and with the namespaces.  The
# array GUEST_QEMU has further arguments for QEMU; GUEST_FILES names a folder whose
# contents appear in the guest as /test/files.
#
# Reads DB_SOURCE_DIR, DB_BUILD_DIR, DB_FSAL (DROPBEHIND) and DB_MODULE_DIR, the
# folder of the module.  The image is kept in DB_BUILD_DIR/guest (else in
# DB_MODULE_DIR/guest).

set -euo pipefail
PATH=$PATH:/sbin:/usr/sbin

guest_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest_image=${DB_BUILD_DIR:-${DB_MODULE_DIR:?}}/guest
guest_fsal=${DB_FSAL:-DROPBEHIND}
guest_pid=
guest_work=
GUEST_QEMU=()

# shellcheck source=../../config/private-ganesha.sh
. "${DB_SOURCE_DIR:=$(cd "$guest_dir/../.." && pwd)}/config/private-ganesha.sh"
# shellcheck source=lib-host.sh
. "$guest_dir/lib-host.sh"

guest_skip()
{
	echo "SKIP: $*"
	exit 77
}

# Makes the image, or ends the test with 77 and the reason.
guest_require()
{
	local program status=0

	for program in qemu-system-x86_64 cpio busybox depmod git rsync sqlite3; do
		[ -n "$(type -P $program)" ] ||
			guest_skip "$program is not installed"
	done
	"$guest_dir/make-image" "$guest_image" || status=$?
	[ $status -ne 77 ] || guest_skip "the guest's kernel package cannot be fetched"
	return $status
}

# The image is made outside of the namespaces: it may need the network.
guest_enter()
{
	[ -n "${PG_INSIDE:-}" ] || guest_require
	pg_enter "$@"
}

# guest_server FSTYPE SIZE: exports $PG_MOUNT as /guest, owners as numbers (the
# guest has no users to map names to).
guest_server()
{
	pg_start_services
	pg_disk exported "$1" "$2"
	pg_plugins ${DB_MODULE_DIR:+"$DB_MODULE_DIR"}
	pg_conf guest "7 $PG_MOUNT /guest $guest_fsal"
	sed -i 's/Graceless = true;/& Only_Numeric_Owners = true;/' "$PG_DIR/guest.conf"
	pg_start_ganesha guest
}

guest_kill()
{
	if [ -n "$guest_pid" ]; then
		kill -KILL "$guest_pid" 2>/dev/null || true
		wait "$guest_pid" 2>/dev/null || true
		guest_pid=
	fi
	[ -z "$guest_work" ] || rm -rf "$guest_work"
	guest_work=
}

# guest_initrd SCRIPT [NAME=VALUE...]: the image's initramfs with a second
# archive after it, which the kernel unpacks over the first.
guest_initrd()
{
	local script=$1 root=$guest_work/root word

	shift
	mkdir -p "$root/test"
	cp "$guest_dir/inside/lib.sh" "$root/test/lib.sh"
	cp "$script" "$root/test/script"
	[ -z "${GUEST_FILES:-}" ] || cp -rL "$GUEST_FILES" "$root/test/files"
	{
		for word in EXPORT=/guest "EXPORT_V3=$PG_MOUNT" "NFS_PORT=$(pg_port guest)" \
			"MNT_PORT=$(pg_mount_port guest)" "FSAL=$guest_fsal" "$@"; do
			printf 'export %s=%q\n' "${word%%=*}" "${word#*=}"
		done
		printf '. /test/lib.sh\n. /test/script\ntest_end\n'
	} >"$root/test/run"
	cp "$guest_image/initrd" "$guest_work/initrd"
	(cd "$root" && find test | cpio --create --format=newc --quiet --owner=0:0) \
		>>"$guest_work/initrd"
}

guest_boot()
{
	mkfifo "$guest_work/control.in" "$guest_work/control.out"
	: >"$guest_work/console"
	qemu-system-x86_64 -accel tcg,thread=multi -machine pc -cpu max -smp 2 -m 768 \
		-nodefaults -no-user-config -no-reboot -display none \
		-kernel "$guest_image/vmlinuz" -initrd "$guest_work/initrd" \
		-append "console=ttyS0 quiet loglevel=4 panic=-1 oops=panic mitigations=off \
			nokaslr hung_task_panic=1" \
		-netdev user,id=net,ipv6=off -device virtio-net-pci,netdev=net,romfile= \
		-chardev "file,id=console,path=$guest_work/console" -serial chardev:console \
		-chardev "pipe,id=control,path=$guest_work/control" -serial chardev:control \
		"${GUEST_QEMU[@]}" </dev/null >"$guest_work/qemu" 2>&1 &
	guest_pid=$!
}

# Prints what the console got since the last call.
guest_console()
{
	local size

	size=$(stat -c %s "$guest_work/console")
	[ "$size" -gt "$guest_shown" ] || return 0
	tail -c "+$((guest_shown + 1))" "$guest_work/console" |
		head -c $((size - guest_shown)) | tr -d '\r'
	guest_shown=$size
}

guest_answer()
{
	local name=$1 status=0

	shift
	"on_$name" "$@" || status=$?
	# Opened for both ways: that does not wait for a QEMU that has gone.
	printf 'done %s\n' "$status" 1<>"$guest_work/control.in"
}

# Serves the guest until it tells its exit status.
guest_serve()
{
	local deadline=$((SECONDS + ${GUEST_TIMEOUT:-400})) line='' part words

	while :; do
		# A line may come in parts: read(1) keeps what it got when time is up.
		if IFS= read -r -t 1 -u "$1" part; then
			read -ra words <<<"$line$part"
			line=
			guest_console
			case ${words[0]:-} in
			exit) return "${words[1]}" ;;
			host) guest_answer "${words[@]:1}" ;;
			esac
			continue
		fi
		line+=$part
		guest_console
		if ! kill -0 "$guest_pid" 2>/dev/null; then
			echo "guest: ended without an exit status (kernel panic?)"
			cat "$guest_work/qemu"
			return 1
		fi
		if [ $SECONDS -ge $deadline ]; then
			echo "guest: no exit status after ${GUEST_TIMEOUT:-400} s"
			return 1
		fi
	done
}

guest_run()
{
	local status=0 control

	guest_work=$(mktemp -d "$PG_DIR/guest.XXXXXX")
	guest_shown=0
	guest_initrd "$@"
	guest_boot
	exec {control}<>"$guest_work/control.out"
	guest_serve "$control" || status=$?
	exec {control}>&-
	guest_console
	guest_kill
	return $status
}
