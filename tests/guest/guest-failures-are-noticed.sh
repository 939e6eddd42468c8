#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# timeout: 180
#
# The guest tests can fail: a script's status, a failed check, a script without
# any check, a kernel panic and a guest that hangs all reach the host as failure.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
PG_MOUNT=/none
PG_PORTS[guest]=20490

# expect STATUS COMMAND: what guest_run returns for a guest script that runs COMMAND.
expect()
{
	local want=$1 have=0

	printf '%s\n' "$2" >"$PG_DIR/script"
	guest_run "$PG_DIR/script" || have=$?
	if [ "$have" -ne "$want" ]; then
		echo "FAIL: '$2' gave status $have, not $want"
		exit 1
	fi
	echo "ok: '$2' gave status $have"
}

on_seven() { return 7; }

expect 0 'check "true" true'
expect 1 'check "true" true; check "false" false'
expect 1 ':'
expect 3 'exit 3'
expect 7 'host seven; exit $?'
expect 1 'check "mount without a server" mount_nfs 4.1 /mnt/x retrans=1,timeo=10'
expect 1 'echo c >/proc/sysrq-trigger; sleep 60'
GUEST_TIMEOUT=12
expect 1 'sleep 100'
