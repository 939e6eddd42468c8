#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Every source file names its licence in one of its first two lines.

. "$(dirname "$0")/lib.sh"

readonly tag='SPDX-License''-Identifier: LGPL-3.0-or-later'

check() {
	local path
	{
		files '*.[ch]' '*.def' '*.map' '*.cmake' '*CMakeLists.txt' '*.py' .clang-format
		shell_files
		files | while IFS= read -r path; do
			[ ! -x "$path" ] || printf '%s\n' "$path"
		done
	} | sort -u | while IFS= read -r path; do
		head -n 2 "$path" | grep -qF -- "$tag" ||
			printf '%s has no line "%s"\n' "$path" "$tag"
	done
}

bad src/a.c <<<'int a;'
bad tests/tool <<<'#!/bin/sh'
bad x/CMakeLists.txt <<<'# SPDX-License''-Identifier: MIT'
good src/a.c <<<"/* $tag */"
good README <<<x

lint
