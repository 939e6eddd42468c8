#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# The core library knows nothing of Ganesha and never writes to a log or a
# terminal: it returns 0 or -errno, so that it runs, sanitized, without a daemon.

. "$(dirname "$0")/lib.sh"

readonly ganesha='Log(Crit|Major|Warn|Event|Info|Mid|Debug|FullDebug|Fatal)[A-Za-z]*'
readonly libc='v?[fd]?printf|f?puts|putchar|perror|v?syslog|openlog|v?(warn|err)x?'
readonly calls="($ganesha|$libc)"

# Headers in quotes are ours; of the system's, those of libc, Linux and liburcu.
check_includes() {
	local place header
	while IFS=' ' read -r place header; do
		case $header in
		\<urcu*\> | \<linux/*\> | \<sys/*\> | \<asm/*\>) ;;
		\<*/*\>) printf '%s includes %s\n' "$place" "$header" ;;
		\<syslog.h\>) printf '%s includes %s\n' "$place" "$header" ;;
		\<*\>) ;;
		*)	header=${header//\"/}
			[ -e "src/$header" ] || [ -e "config/$header" ] ||
				printf '%s includes "%s": neither in src/ nor in config/\n' \
					"$place" "$header" ;;
		esac
	done < <(sed -nE 's/^([^:]*:[0-9]+): *# *include *(["<][^">]*[">]).*/\1 \2/p' <<<"$1")
}

check() {
	local sources text
	mapfile -t sources < <(files 'src/*.[ch]')
	[ ${#sources[@]} -gt 0 ] || return 0
	text=$("$lint_here/csource" code "${sources[@]}")
	check_includes "$text"
	printf '%s\n' "$text" | grep -E "(^|[^A-Za-z0-9_])$calls *\(" |
		sed 's/^\([^:]*:[0-9]*\):[ \t]*/\1 logs or prints: /' || true
}

bad src/a.c <<'END'
#include "fsal.h"
END
bad src/a.c <<'END'
#include <ntirpc/rpc/rpc.h>
END
bad src/a.c <<'END'
#include <syslog.h>
END
bad src/a.h <<'END'
static inline void a(void)
{
	LogEvent(COMPONENT_FSAL, "x");
}
END
bad src/a.c <<'END'
void a(void) { fprintf(stderr, "x"); }
END
bad src/a.c <<'END'
void a(void) { if (x) perror("x"); }
END
good src/a.c <<'END'
/* printf("x"); LogWarn(y) */
#include <sys/uio.h>
#include <urcu/wfcqueue.h>
void a(void) { snprintf(buf, sizeof(buf), "LogWarn(%d)", 1); }
END
good fsal/a.c <<'END'
#include "fsal.h"
END

lint
