#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: xfs
# timeout: 500
#
# Create in all forms, link, rename, remove and list, by a Linux client over
# NFSv3, 4.0, 4.1 and 4.2, as root and as a user: what POSIX promises on a local
# filesystem holds on the export.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-xfs}" 1G
guest_run "$guest_dir/inside/names"
