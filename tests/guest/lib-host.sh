# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# What the host does for a guest script that says `host NAME ARG...`: function
# on_NAME, called in the order asked, on the exported filesystem itself.  Sourced
# by lib.sh, which sets guest_image and guest_fsal.  Paths are relative to the export.

host_fileops()
{
	"$guest_image/fileops" "$@"
}

# on_checksum FILE SHA256
on_checksum()
{
	local have

	have=$(sha256sum <"$PG_MOUNT/$1" | cut -d' ' -f1)
	[ "$have" = "$2" ] || { echo "host: $1: $have, guest: $2"; return 1; }
}

# on_verify FILE OFFSET LENGTH SEED
on_verify()
{
	host_fileops verify "$PG_MOUNT/$1" "$2" "$3" "$4"
}

# on_residency FILE: after fsync less than 1 % of a streamed file is in the page
# cache.  FSAL_VFS leaves all of it, which is only told.
on_residency()
{
	local resident size

	read -r resident size < <(host_fileops resident "$PG_MOUNT/$1")
	echo "host: $1: $resident of $size bytes resident"
	[ "$guest_fsal" = VFS ] || [ $((resident * 100)) -lt "$size" ]
}

# on_stat FILE FORMAT WANTED
on_stat()
{
	local have

	have=$(stat -c "$2" "$PG_MOUNT/$1")
	[ "$have" = "$3" ] || { echo "host: $1: $have, want: $3"; return 1; }
}

# on_statfs BYTES: the filesystem's size, which a client rounds to its block size
# of up to 1 MiB.
on_statfs()
{
	local have

	have=$(($(stat -f -c '%S*%b' "$PG_MOUNT")))
	if [ "$1" -lt $((have - (1 << 20))) ] || [ "$1" -gt $((have + (1 << 20))) ]; then
		echo "host: statfs: $have, guest: $1"
		return 1
	fi
}

# on_files COUNT: inodes of the filesystem (0 on btrfs; xfs's moves with free space).
on_files()
{
	local have

	have=$(stat -f -c %c "$PG_MOUNT")
	if [ $((have * 9)) -gt $(($1 * 10)) ] || [ $((have * 11)) -lt $(($1 * 10)) ]; then
		echo "host: statfs: $have files, guest: $1"
		return 1
	fi
}

# on_fill DIR COUNT: new directory with files f1 to fCOUNT.
on_fill()
{
	mkdir "$PG_MOUNT/$1"
	(cd "$PG_MOUNT/$1" && seq -f f%g "$2" | xargs touch)
}

# on_count DIR COUNT
on_count()
{
	local have

	have=$(find "$PG_MOUNT/$1" -mindepth 1 | wc -l)
	[ "$have" = "$2" ] || { echo "host: $1: $have names, want: $2"; return 1; }
}

on_restart()
{
	pg_stop_ganesha guest && pg_start_ganesha guest
}

# The daemon dies with what it had in memory, and is started again.
on_crash()
{
	local pid

	pid=$(pg_pid guest)
	kill -KILL "$pid"
	{ wait "$pid" || true; } 2>/dev/null
	unset "PG_PIDS[guest]"
	pg_start_ganesha guest
}
