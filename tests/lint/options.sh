#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# The README's table of options says what config/options.def says: the same keys, for numbers the
# same range and default, and whether an option changes live. Options of FSAL_VFS that we take over
# (fsid_type) are in the table and not in the list.

. "$(dirname "$0")/lib.sh"

# One line "key kind default min max live" per OPTION() of the list.
list() {
	tr -d '\n' <config/options.def | grep -oE 'OPTION\([A-Z][^"]*' |
		sed 's/OPTION(//; s/,/ /g; s/[[:space:]]\{1,\}/ /g' |
		grep -E '^[A-Z][a-z]+_' || true
}

# The table: lines of the README that begin with four spaces and a key.
table() { grep -E '^    [A-Z][a-z]+_[A-Z][A-Za-z]* ' README || true; }

check_row() {
	local key=$1 kind=$2 default=$3 min=$4 max=$5 live=$6 row range answer=yes
	row=$(table | grep -E "^    $key " | head -n 1)
	[ -n "$row" ] || { printf 'README has no row for the option %s\n' "$key"; return; }
	[ "$live" = true ] || answer=no
	[[ $row =~ [[:space:]]$answer ]] || printf 'README: %s: live is not "%s"\n' "$key" "$answer"
	case $kind in
	BYTES) range="$min..$max bytes ($default)" ;;
	COUNT) range="$min..$max ($default)" ;;
	BOOL) range="true false ($default)" ;;
	*) return 0 ;;
	esac
	[[ $row == *"$range"* ]] || printf 'README: %s: not "%s"\n' "$key" "$range"
}

check() {
	local key rest
	[ -e config/options.def ] && [ -e README ] || return 0
	while read -r key rest; do
		# shellcheck disable=SC2086
		check_row "$key" $rest
	done < <(list)
	table | awk '{ print $1 }' | sort -u | while read -r key; do
		list | grep -q "^$key " || printf 'README: %s is not in config/options.def\n' "$key"
	done
}

# fixture KIND README-ROW: a tree with a list of one option and a README of one row.
fixture() {
	local folder
	folder=$(mktemp -d "$lint_work/$1.XXXX")
	mkdir "$folder/config"
	printf 'OPTION(Some_Key, BYTES, 20, 10, 30, true,\n       "doc")\n' \
		>"$folder/config/options.def"
	printf '    %s\n' "$2" >"$folder/README"
}

fixture good 'Some_Key   10..30 bytes (20)   yes'
fixture bad 'Some_Key   10..30 bytes (21)   yes'
fixture bad 'Some_Key   10..40 bytes (20)   yes'
fixture bad 'Some_Key   10..30 bytes (20)   no: restart'
fixture bad 'Other_Key   10..30 bytes (20)   yes'
fixture bad 'no table'

lint
