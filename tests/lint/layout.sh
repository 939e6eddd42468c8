#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# The top of the repository holds what people and scripts rely on and nothing
# else, and every folder says in a README what it is for.

. "$(dirname "$0")/lib.sh"

check() {
	local entry folder
	while IFS= read -r entry; do
		case $entry in
		fsal | config | src | tests | CMakeLists.txt | README | .*) ;;
		*) printf '%s: no such entry is foreseen at the top level\n' "$entry" ;;
		esac
	done < <(files | cut -d/ -f1 | sort -u)
	while IFS= read -r folder; do
		[ -s "$folder/README" ] || printf '%s/ has no README\n' "$folder"
	done < <(files | sed 's,/*[^/]*$,,; s/^$/./' | sort -u)
}

bad docs/README <<<x
bad src/a.c <<<x
bad Makefile <<<x
good README <<<x

lint
