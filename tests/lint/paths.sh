#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# No file names a folder of the machine it was written or built on.

. "$(dirname "$0")/lib.sh"

# In brackets so that this line does not match itself.
readonly folders="(^|[^A-Za-z0-9_.})/-])/([w]ork|[r]oot|[f]arm|[h]ome|[U]sers|[b]uilds|tmp/[b]-)/"

check() {
	local all
	mapfile -t all < <(files)
	{
		grep -InE "$folders" "${all[@]}" || true
		[ "$lint_top" = / ] || grep -InF "$lint_top/" "${all[@]}" || true
		[ -z "${DB_BUILD_DIR:-}" ] || grep -InF "$DB_BUILD_DIR/" "${all[@]}" || true
	} | sort -u | sed 's/^\([^:]*:[0-9]*\):/\1 names a folder of one machine: /'
}

bad README < <(printf 'see /%s/main/file\n' work)
bad src/a.c < <(printf '#include "/%s/me/a.h"\n' home)
bad config/x < <(printf 'DIR=/%s/x\n' root)
bad tests/x < <(printf 'cd %s/src\n' "$lint_top")
good config/x <<'END'
cp "$base/work/x" "$root/root/y" ../home/z
END

lint
