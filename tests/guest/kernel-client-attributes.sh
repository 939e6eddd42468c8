#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: btrfs
# timeout: 500
#
# Owner, mode, times to the nanosecond, suid and sgid, access by mode and group, by
# a Linux client over NFSv3, 4.0, 4.1 and 4.2.  FSAL_VFS 4.3 ignores the times of
# symlinks and keeps suid on truncate; with DB_FSAL=VFS these are only told.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-btrfs}" 1G
guest_run "$guest_dir/inside/attributes"
