#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: ext4
# timeout: 500
#
# git, rsync, tar and sqlite on a Linux client do over NFS what they do on a local
# filesystem: git fsck is clean, a second rsync has nothing left to do.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-ext4}" 1G
guest_run "$guest_dir/inside/programs"
