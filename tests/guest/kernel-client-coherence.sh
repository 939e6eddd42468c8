#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: xfs
# timeout: 500
#
# Two mounts of a Linux client that share no cache see what the other closed, also
# when size and second are the same: the change attribute and the times move with
# every change.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-xfs}" 1G
guest_run "$guest_dir/inside/coherence"
