# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# What the scripts of inside/ share.  Runs in the guest only.
#
#   each_version FUNCTION     FUNCTION VERSION, in a fresh mount, for 3 4.0 4.1 4.2
#   mount_nfs VERSION DIR [OPTIONS]
#   check WHAT COMMAND...     one line: ok or FAIL with the command's output
#   check_as_user WHAT COMMAND...   the same as uid and gid 1000
#   vfs_fails WHAT COMMAND... as check; FSAL_VFS 4.3 is known to fail it
#   host NAME [ARG...]        has the test on the host run on_NAME
#   test_end                  ends the script: 0 if no check failed
#
# File descriptor 9 is the line to the host, opened by init.
# Variables from the host: EXPORT (pseudo path), EXPORT_V3 (path), NFS_PORT,
# MNT_PORT, FSAL, and NFS_ADDR (10.0.2.2, the host).

set -u
failures=0
checks=0
version=

say()
{
	printf '[%s] %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"
}

host()
{
	local verb status

	printf 'host %s\n' "$*" >&9
	read -r verb status <&9
	[ "$verb" = "done" ] && return "$status"
}

mount_nfs()
{
	local data type=nfs source=$EXPORT server=${NFS_ADDR:-10.0.2.2}

	data="addr=$server,port=$NFS_PORT,proto=tcp,timeo=600${3:+,$3}"
	case $1 in
	3)
		source=${EXPORT_V3:-$EXPORT}
		data="vers=3,$data,mountaddr=$server,mountport=$MNT_PORT,mountproto=tcp,nolock"
		;;
	*) data="vers=$1,$data,clientaddr=10.0.2.15" type=nfs4 ;;
	esac
	mkdir -p "$2"
	fileops mount $type "$server:$source" "$2" "$data"
}

# check_result WHAT STATUS OUTPUT
check_result()
{
	checks=$((checks + 1))
	if [ "$2" -eq 0 ]; then
		say "ok   ${version:+v$version }$1"
		return 0
	fi
	failures=$((failures + 1))
	say "FAIL ${version:+v$version }$1: status $2${3:+, }$3"
	return 1
}

check()
{
	local what=$1 output status=0

	shift
	output=$("$@" 2>&1) || status=$?
	check_result "$what" $status "$output"
}

as_user()
{
	setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
}

check_as_user()
{
	local what=$1

	shift
	check "$what" as_user "$@"
}

vfs_fails()
{
	local what=$1 output status=0

	shift
	output=$("$@" 2>&1) || status=$?
	if [ "$FSAL" = VFS ] && [ $status -ne 0 ]; then
		say "note v$version $what: FSAL_VFS fails it: $output"
		return 0
	fi
	check_result "$what" $status "$output"
}

# equal WANTED GOT
equal()
{
	[ "$1" = "$2" ] || { echo "want $1, got $2"; return 1; }
}

# fails COMMAND...: the command has to fail.
fails()
{
	! "$@" >/dev/null 2>&1 || { echo "succeeded: $*"; return 1; }
}

each_version()
{
	for version in ${VERSIONS:-3 4.0 4.1 4.2}; do
		if ! mount_nfs $version /mnt/$version; then
			check_result mount 1 "mount of version $version failed"
			continue
		fi
		mkdir -m 1777 "/mnt/$version/v$version"
		cd "/mnt/$version/v$version" || exit 1
		"$1" $version
		cd /
		check "unmount" umount /mnt/$version
	done
	version=
}

test_end()
{
	say "$checks checks, $failures failed"
	[ $failures -eq 0 ] && [ $checks -gt 0 ]
	exit
}
