#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: ext4
# timeout: 500
#
# The daemon is restarted under a Linux client that has a file open and handles
# cached, and killed in the middle of a stream: I/O goes on, no handle is stale, no
# byte is lost, over NFSv3, 4.0, 4.1 and 4.2.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-ext4}" 1G
guest_run "$guest_dir/inside/restart"
