#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# write-path-transcript.sh
#
# What system calls a stream costs is the product; nobody notices in a review that a second fsync, a
# residency check per WRITE or a wait in the reply path crept in. So a stream of 33 WRITEs of 1 MiB,
# one in flight, and its COMMIT are pinned for each Write_Mode as a transcript in golden/MODE.txt:
# the request path in order, equal calls in a row counted, and the set of calls that the helper
# threads make. How many calls the helpers make and how much of the tail COMMIT finds left depends
# on the disk, so that is not in the transcript but held by invariants:
#  - WRITEs arrive in order, each in one call, and nothing is written twice;
#  - a helper waits for a range before it drops it, and COMMIT drops only after its fsync;
#  - what was dropped covers the whole file;
#  - Buffered and Passthrough never drop and have no helper at work.
#
# A change of the write path on purpose: UPDATE_GOLDEN=1 write-path-transcript.sh, and review the
# difference.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lib-exports.sh
. "$(dirname "$0")/lib-exports.sh"
# shellcheck source-path=SCRIPTDIR source=lib-trace.sh
. "$(dirname "$0")/lib-trace.sh"
[ "$DB_FSAL" = DROPBEHIND ] || skip "transcripts of DROPBEHIND only"
test_enter "$0" "$@"

readonly golden=$(dirname "$(realpath "$0")")/golden
readonly stream_size=$((33 * 1048576))

export_modes() {
	local mode id=1
	local -a exports=()
	scratch disk ext4 2G
	for mode in "$@"; do
		mkdir "$PG_MOUNT/$mode"
		exports+=("$id $PG_MOUNT/$mode /$mode $DB_FSAL Write_Mode = $mode;")
		id=$((id + 1))
	done
	serve "${exports[@]}"
}

# The trace, with one word per fact: THREAD CALL OFFSET LENGTH FLAGS
simplified() {
	local head='^(\S+) ' n='([0-9]+)' flags='(\S+)' result=' *= '
	local ranges='(sync_file_range|fadvise64)'
	sed -E -n -e 's/0x80 \/\* RWF_\?\?\? \*\//RWF_DONTCACHE/' \
		-e "s/${head}sendmsg\\(.*MSG_DONTWAIT.*/\\1 answer/p" \
		-e "s/$head(f[a-z]*sync)\\(.*> *\\)$result(.*)/\\1 \\2 - - \\3/p" \
		-e "s/${head}(pwritev2)\\(.*>, .*, $n, $flags\\)$result$n.*/\\1 \\2 \\3 \\5 \\4/p" \
		-e "s/$head$ranges\\(.*>, $n, $n, $flags\\)${result}0/\\1 \\2 \\3 \\4 \\5/p" \
		"$TRACE"
}

# The request path: equal lines in a row as one; how many of them only where it is fixed.
request_path() {
	awk '$1 != "worker" { next }
		$2 == "answer" { what = "answer" }
		$2 == "pwritev2" { what = "pwritev2 of " $4 ", flags " $5 }
		$2 ~ /sync$/ { what = $2 " = " $5 }
		$2 == "sync_file_range" || $2 == "fadvise64" { what = $2 " " $5 }
		what == "answer" && last ~ /^pwritev2/ { last = last ", answer"; next }
		{ emit(); last = what }
		function emit() {
			if (last == "") return
			if (last == shown) count++
			else { show(); shown = last; count = 1 }
		}
		function show() {
			if (shown ~ /^fadvise64/) print "\tsome " shown
			else if (shown != "") print "\t" count " x " shown
		}
		END { emit(); show() }'
}

helper_calls() {
	awk '$1 != "worker" { print "\t" $1 " " $2 " " $5 }' | sort -u
}

transcript() {
	printf 'request path\n'
	request_path <"$PG_DIR/simple"
	printf 'helpers\n'
	helper_calls <"$PG_DIR/simple"
}

# Prints what is wrong with the calls; nothing when all is well.
broken_invariants() {
	awk -v size="$stream_size" '
		$2 == "pwritev2" && $1 != "worker" { print "a helper writes: " $0 }
		$2 == "pwritev2" { if ($3 != at) print "not in order: " $0; at = $3 + $4 }
		$2 == "fsync" && ($1 != "worker" || syncs++) { print "a further fsync: " $0 }
		$2 == "fsync" { waited = size }
		$2 == "fdatasync" { print "fdatasync: " $0 }
		$2 == "sync_file_range" && $5 ~ /WAIT_AFTER/ && $3 <= waited && $3 + $4 > waited {
			waited = $3 + $4
		}
		$2 == "fadvise64" {
			if ($3 + $4 > waited && $3 + $4 > 0) print "dropped before waiting: " $0
			for (i = $3; i < $3 + $4 && i < size; i += 1048576) dropped[i] = 1
		}
		END {
			if (at != size) print "written: " at " instead of " size
			if (syncs != 1) print syncs + 0 " fsyncs"
			for (i in dropped) n++
			if (n != 0 && n * 1048576 != size) print "dropped " n " MiB"
		}' "$PG_DIR/simple"
}

check_mode() {
	local mode=$1 broken
	note "$mode"
	target main "$PG_DIR/disk/$mode"
	# The verifier's CREATE and the root's handle are not what is pinned.
	quietly client create file
	trace_start "$mode" "$TRACE_CALLS,sendmsg"
	quietly client write file --overwrite --size "$stream_size" --block 1M --depth 1
	trace_stop
	simplified >"$PG_DIR/simple"
	broken=$(broken_invariants)
	[ -z "$broken" ] || fail "$mode: $broken"
	transcript >"$PG_DIR/$mode.txt"
	case $mode in
	Buffered | Passthrough)
		! grep -q -e fadvise -e sync_file_range "$PG_DIR/$mode.txt" || fail "$mode drops" ;;
	*) grep -q fadvise "$PG_DIR/$mode.txt" || fail "$mode drops nothing" ;;
	esac
	if [ -n "${UPDATE_GOLDEN:-}" ]; then
		cp "$PG_DIR/$mode.txt" "$golden/$mode.txt"
	fi
	diff -u "$golden/$mode.txt" "$PG_DIR/$mode.txt" >&2 ||
		fail "$mode: the write path is another one (UPDATE_GOLDEN: see the header)"
}

export_modes Dontcache Range Buffered Passthrough
for mode in Dontcache Range Buffered Passthrough; do
	check_mode "$mode"
done
stop_all
