# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Frame of a lint: a check, and proof that the check can fail.  Sourced.
#
# A lint defines check(), which looks at the files of the current folder and
# prints one line per finding, declares fixtures and ends with `lint`:
#
#   bad FILE <<'END'                 a tree of one file: check must find something
#   good FILE <<'END'                the same: check must find nothing
#   lint                             the fixtures, then the source tree
#
# Exit status: 0 clean; 1 with the findings, or with the fixture that was judged
# wrongly.

set -euo pipefail

lint_top=${DB_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
lint_here=$(cd "$(dirname "$0")" && pwd)
lint_work=$(mktemp -d)
trap 'rm -rf "$lint_work"' EXIT

lint_say() { printf '%s\n' "$*" >&2; }

# files [GLOB…]: paths of the tree in the current folder, relative to it: what
# git knows or would add; in a tree without git, everything.
files() {
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f -printf '%P\n' | grep -v '^build/'
	fi | sort -u | while IFS= read -r path; do
		if [ -f "$path" ] && lint_matches "$path" "$@"; then
			printf '%s\n' "$path"
		fi
	done
}

lint_matches() {
	local path=$1 glob
	shift
	[ $# -gt 0 ] || return 0
	for glob in "$@"; do
		# shellcheck disable=SC2053
		[[ $path == $glob ]] && return 0
	done
	return 1
}

# shell_files: every bash or sh script, also those without an extension.
shell_files() {
	local path
	while IFS= read -r path; do
		case $path in
		*.sh) printf '%s\n' "$path" ;;
		*) head -c 64 "$path" | head -n 1 | tr -d '\0' |
			grep -qE '^#!.*/(env )?(ba)?sh\b' && printf '%s\n' "$path" ;;
		esac || true
	done < <(files)
}

lint_fixture() {
	local kind=$1 file=$2 folder
	folder=$(mktemp -d "$lint_work/$kind.XXXX")
	mkdir -p "$folder/$(dirname "$file")"
	cat >"$folder/$file"
}

bad() { lint_fixture bad "$@"; }
good() { lint_fixture good "$@"; }

lint_check() { (cd "$1" && check); }

lint_judge_fixtures() {
	local folder found
	for folder in "$lint_work"/bad.* "$lint_work"/good.*; do
		[ -d "$folder" ] || continue
		found=$(lint_check "$folder")
		case $folder in
		*/bad.*) [ -z "$found" ] || continue
			lint_say "this lint finds nothing wrong with:" ;;
		*) [ -n "$found" ] || continue
			lint_say "this lint finds '$found' wrong with:" ;;
		esac
		(cd "$folder" && find . -type f -exec head -c 2000 {} + | cat -v) >&2
		return 1
	done
}

lint() {
	local found
	ls -d "$lint_work"/bad.* >/dev/null 2>&1 || { lint_say "no bad fixture"; return 1; }
	lint_judge_fixtures || return 1
	found=$(lint_check "$lint_top")
	[ -z "$found" ] && return 0
	lint_say "$found"
	return 1
}
