#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# vfs-handles-resolve.sh [FSTYPE]
#
# An operator changes `Name = VFS` to `Name = DROPBEHIND` and restarts: mounted clients keep their
# handles, or every one of them gets ESTALE and has to be rebooted. And back again, if he regrets.
#
# For each fsid_type, on a disk of its own: handles that FSAL_VFS gave resolve, and are the same
# bytes when DROPBEHIND gives them; handles of what was made under DROPBEHIND resolve in FSAL_VFS.
# Resolving alone would not do: a client that sees two handles for one file has two caches for it.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

readonly types=(default One64 Major64 Two32 Device uuid)
readonly objects=(. file dir dir/deep link fifo)
declare -A handle fileid

declare -A size_of=([ext4]=64M [xfs]=400M [btrfs]=256M)

make_disks() {
	local type
	for type in "${types[@]}"; do
		scratch "$type" "$1" "${size_of[$1]}"
		mkdir "$PG_MOUNT/dir"
		mkfifo "$PG_MOUNT/fifo"
		ln -s elsewhere "$PG_MOUNT/link"
		printf content >"$PG_MOUNT/file"
		printf content >"$PG_MOUNT/dir/deep"
	done
}

# exports FSAL: one line per disk, for serve and restart.
exports() {
	local type option id=1
	for type in "${types[@]}"; do
		option="fsid_type = $type;"
		[ "$type" != default ] || option=
		printf '%s\n' "$id $PG_DIR/$type /$type $1 $option"
		id=$((id + 1))
	done
}

remember() {
	local type=$1 object
	shift
	target main "$PG_DIR/$type"
	for object in "$@"; do
		handle[$type:$object]=$(client lookup "$object" | value fh)
		fileid[$type:$object]=$(stat -c %i "$PG_DIR/$type/$object")
	done
}

check() {
	local type=$1 object fh
	shift
	target main "$PG_DIR/$type"
	for object in "$@"; do
		fh=${handle[$type:$object]}
		expect_equal "$type: object of the old handle of $object" \
			"$(client getattr --fh "$fh" | value fileid)" "${fileid[$type:$object]}"
		expect_equal "$type: new handle of $object" "$(client lookup "$object")" "fh=$fh"
	done
}

# switch FSAL: the same exports by another FSAL.
switch() {
	local -a lines
	mapfile -t lines < <(exports "$1")
	use_module
	if [ -n "${PG_PIDS[main]:-}" ]; then
		restart "${lines[@]}"
	else
		serve "${lines[@]}"
	fi
}

make_disks "${1:-ext4}"
switch VFS
for type in "${types[@]}"; do
	remember "$type" "${objects[@]}"
done
note "from FSAL_VFS to $DB_FSAL"
switch "$DB_FSAL"
for type in "${types[@]}"; do
	note "fsid_type $type: ${handle[$type:file]}"
	check "$type" "${objects[@]}"
	quietly client create new --mode 644
	quietly client writeh new --data new
	remember "$type" new
done
note "and back"
switch VFS
for type in "${types[@]}"; do
	check "$type" "${objects[@]}" new
	data=$(client readh --fh "${handle[$type:new]}" | value data)
	expect_equal "what was written" "$data" 6e6577
done
stop_all
