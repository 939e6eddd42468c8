#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: ext4
# timeout: 500
#
# Byte-range locks and flock over NFSv4 between owners that meet only on the
# server: conflicts, splits, downgrades, waiting, read locks on read-only files.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-ext4}" 1G
guest_run "$guest_dir/inside/locks"
