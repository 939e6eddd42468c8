#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# descriptors-are-bounded.sh
#
# A thousand files are written and read by a daemon that may have 256 descriptors, as containers
# and strict units give them. The server must close what is idle and go on: a client that gets
# NFS3ERR_IO for EMFILE reports a broken disk. What is closed is synced first, so nothing that was
# written unstable is lost with its descriptor: COMMIT of all of it succeeds afterwards.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
test_enter "$0" "$@"

readonly files=1000 hard_limit=256

# As many connections as fit beside the files: each is a descriptor of the daemon too.
in_turns() {
	local i
	for ((i = 0; i < files / 50; i++)); do
		quietly client "$1" "f$i" "${@:2}"
	done
}

most_descriptors() {
	local n most=0
	while :; do
		n=$({ find "/proc/$(pg_pid main)/fd" 2>/dev/null || true; } | wc -l)
		[ "$n" -le "$most" ] || most=$n
		printf '%s\n' "$most" >"$PG_DIR/most.new"
		mv "$PG_DIR/most.new" "$PG_DIR/most"
		sleep 0.05
	done
}

scratch disk ext4 1G
PG_WRAP=(prlimit "--nofile=$hard_limit:$hard_limit")
serve "1 $PG_MOUNT /disk $DB_FSAL"
grep -q "^Max open files *$hard_limit *$hard_limit " "/proc/$(pg_pid main)/limits" ||
	fail "the limit is not in force"
most_descriptors &
note "$files files, 50 at a time, unstable"
in_turns write --writers 50 --size 256K --block 64K --no-commit
note "read back"
in_turns read --readers 50 --size 256K --block 64K --verify
note "overwritten, with COMMIT"
in_turns write --writers 50 --size 256K --block 64K --overwrite --generation 2
note "read back"
in_turns read --readers 50 --size 256K --block 64K --generation 2 --verify
for ((i = 0; i < files / 50; i += 7)); do
	quietly client verify "$EXPORT/f$i.49" --size 256K --generation 2 --direct
done
note "at most $(cat "$PG_DIR/most") descriptors were open"
[ "$(cat "$PG_DIR/most")" -ge 100 ] || fail "so few descriptors prove nothing"
note "and a stream beside it"
quietly client write stream --size 64M
quietly client read stream --size 64M --verify
stop_all
