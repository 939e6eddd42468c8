#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# The built module against the installed daemon: every symbol it needs is one
# that the daemon or a library exports (another ends a running daemon at
# AddExport); it exports nothing but its entry; it brings no copy of ntirpc or
# liburcu, which would have a registry of its own beside the daemon's; and it
# stays mapped until the process ends.

. "$(dirname "$0")/lib.sh"

[ -n "${DB_MODULE_DIR:-}" ] || { echo "built without the module"; exit 77; }
lint_top=$DB_MODULE_DIR
readonly module=libfsaldropbehind.so

check() {
	[ -e $module ] || { echo "$module was not built"; return; }
	LD_LIBRARY_PATH=$(dirname "$DB_GANESHA_LIBRARY") ldd -r ./$module 2>&1 |
		grep -E 'undefined symbol|not found' || true
	nm -D --defined-only $module | awk '$NF != "fsal_init" { print "exports " $NF }'
	nm $module | awk '$2 ~ /[TtDdBb]/ && $3 ~ /^(urcu_bp_|clnt_|svc_|xdr_ioq_)/ {
		print "has its own copy of " $3 }'
	readelf -d $module | grep -q NODELETE || echo "is not linked with -z nodelete"
}

# built FLAG… <SOURCE: a shared object on standard output.
built() {
	cc -shared -fPIC -x c -o "$lint_work/built" - "$@"
	cat "$lint_work/built"
}

readonly hide=-fvisibility=hidden stay=-Wl,-z,nodelete
bad $module < <(built $hide $stay <<<'void missing(void); void (*entry)(void) = missing;')
bad $module < <(built $stay <<<'int surplus;')
bad $module < <(built $hide $stay <<<'int urcu_bp_register; ')
bad $module < <(built $hide <<<'static int x;')
good $module < <(built $hide $stay <<<'static int x;')

lint
