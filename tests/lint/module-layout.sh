#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# What the headers that the module was built with make of the daemon's global
# objects has the size that the daemon's symbol table tells: nfs_param above all,
# which changes with most of Ganesha's build options.

. "$(dirname "$0")/lib.sh"

[ -n "${DB_LAYOUT:-}" ] || { echo "built without the module"; exit 77; }

check() {
	local name size theirs
	while read -r name size; do
		theirs=$(nm -D -S --defined-only "$DB_GANESHA_LIBRARY" |
			awk -v name="$name" '$4 == name { print $2 }')
		[ $((16#${theirs:-0})) = "$size" ] ||
			echo "$name has $size bytes here, $((16#${theirs:-0})) in the daemon"
	done <sizes
}

bad sizes <<<'nfs_param 440'
bad sizes <<<'no_such_object 8'

lint_top=$lint_work/tree
mkdir "$lint_top"
"$DB_LAYOUT" >"$lint_top/sizes"
grep -q '^nfs_param ' "$lint_top/sizes"
lint
