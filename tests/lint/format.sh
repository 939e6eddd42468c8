#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# C files look as .clang-format says. To format one: clang-format -i FILE.

. "$(dirname "$0")/lib.sh"

tool=$(type -P clang-format-14 clang-format | head -n 1)
[ -n "$tool" ] || { echo "clang-format is not installed"; exit 77; }

check() {
	local sources
	mapfile -t sources < <(files '*.[ch]')
	[ ${#sources[@]} -gt 0 ] || return 0
	"$tool" --style=file:"$lint_top/.clang-format" --dry-run "${sources[@]}" 2>&1 |
		sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: warning: .*/\1 is not formatted/p' | uniq
}

bad a.c <<'END'
int f(int a) { return a; }
END
good a.c <<'END'
int f(int a)
{
	return a;
}
END

lint
