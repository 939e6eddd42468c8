#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# on: ext4
# timeout: 500
#
# A Linux client's streams, overwrites, synchronous, direct, appending and mapped
# writes over NFSv3, 4.0, 4.1 and 4.2 are on the exported filesystem byte for
# byte, and after fsync a stream is not in the server's page cache.  Data stamped
# with its offset: a server that answers WRITE without writing, or writes in the
# wrong place, does not pass.

. "$(dirname "$0")/lib.sh"

guest_enter "$0" "$@"
guest_server "${1:-ext4}" 3G
guest_run "$guest_dir/inside/data"
