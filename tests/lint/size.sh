#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Nothing grows beyond what can be read at once: functions of at most 60 lines
# and 5 parameters, files of at most 500 lines of at most 100 columns.
#
# The number of parameters is not ours to choose where the type of the function
# is Ganesha's (adapter functions that return fsal_status_t) or libc's (__wrap_…).

. "$(dirname "$0")/lib.sh"

check_c_functions() {
	local sources
	mapfile -t sources < <(files '*.[ch]')
	[ ${#sources[@]} -gt 0 ] || return 0
	"$lint_here/csource" functions "${sources[@]}" | awk '
		$3 > 60 { print $1, $2 "() has", $3, "lines; at most 60" }
		$4 > 5 && !($1 ~ /^fsal\// && $5 == "fsal_status_t") && $2 !~ /^__wrap_/ {
			print $1, $2 "() has", $4, "parameters; at most 5"
		}'
}

check_shell_functions() {
	local path
	while IFS= read -r path; do
		awk -v path="$path" '
			/^(function +)?[A-Za-z_][A-Za-z0-9_]*\(\)/ { name = $1; start = NR }
			/^}/ && start && NR - start + 1 > 60 {
				print path ":" start, name, "has", NR - start + 1,
					"lines; at most 60"
			}
			/^}/ { start = 0 }' "$path"
	done < <(shell_files)
}

code_files() {
	files '*.[ch]' '*.def' '*.cmake' '*CMakeLists.txt' tests/lint/csource tests/report
	shell_files
}

check_files() {
	local path lines
	while IFS= read -r path; do
		lines=$(wc -l <"$path")
		[ "$lines" -le 500 ] || printf '%s has %s lines; at most 500\n' "$path" "$lines"
		expand "$path" | LC_ALL=C.UTF-8 grep -nE '^.{101}' |
			sed "s|^\([0-9]*\):.*|$path:\1 has more than 100 columns|" || true
	done < <(code_files)
}

check() {
	check_c_functions
	check_shell_functions
	check_files
}

body() { for ((i = 0; i < $1; i++)); do printf '%s\n' "$2"; done; }

bad src/long.c < <(printf 'int f(void)\n{\n'; body 58 '	x();'; printf '}\n')
good src/long.c < <(printf 'int f(void)\n{\n'; body 57 '	x();'; printf '}\n')
bad tests/long.sh < <(printf 'f() {\n'; body 59 '	x'; printf '}\n')
bad tests/tool < <(printf '#!/bin/bash\nf()\n{\n'; body 58 '	x'; printf '}\n')
bad src/file.h < <(body 501 'int x;')
bad config/x.cmake < <(body 501 '#')
bad src/wide.c < <(printf '/* %s */\n' "$(body 95 x | tr -d '\n')")
bad src/tab.c < <(printf '\t/* %s */\n' "$(body 87 x | tr -d '\n')")
good src/wide.c < <(printf '/* %s */\n' "$(body 94 x | tr -d '\n')")
good src/utf8.c < <(printf '/* %s */\n' "$(body 94 … | tr -d '\n')")
bad src/a.c <<'END'
static int many(int a, int (*b)(int, int), int c,
		int d, int e, int f)
{
	return 0;
}
END
good src/a.c <<'END'
static int many(int a, int (*b)(int, int, int), int c, int d, int e)
{
	return 0;
}
END
good fsal/a.c <<'END'
static fsal_status_t many(int a, int b, int c, int d, int e, int f)
{
	return status_of(0);
}
END

lint
