#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# Shell scripts parse, and what is started by its name is executable: a test
# script without the bit would fail, a tool would not be found.

. "$(dirname "$0")/lib.sh"

check() {
	local path
	while IFS= read -r path; do
		bash -n "$path" 2>&1 || true
	done < <(shell_files)
	files | while IFS= read -r path; do
		[ "$(head -c 2 "$path" | tr -d '\0')" != '#!' ] || [ -x "$path" ] ||
			printf '%s is not executable\n' "$path"
	done
}

bad tests/a.sh <<'END'
if true; then
END
bad tests/tool <<'END'
#!/bin/sh
END
good tests/lib.sh <<'END'
f() { :; }
END

lint
