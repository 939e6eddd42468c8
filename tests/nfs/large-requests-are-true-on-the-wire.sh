#!/bin/bash
# SPDX-License-Identifier: LGPL-3.0-or-later
#
# large-requests-are-true-on-the-wire.sh [FSTYPE]
#
# MaxRead and MaxWrite of 64 MiB are what FSINFO says and what one request carries: not a promise
# that the server breaks by taking a part, or keeps only at aligned offsets. And the ends of a file
# are exact: a READ that reaches the end says so (RFC 1813 3.3.6), a client that is told eof too
# early cuts the file, one that is told too late asks again for ever.
#
# on: ext4 xfs btrfs

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
test_enter "$0" "$@"

readonly mib=1048576

fsinfo() {
	local out key
	out=$(client fsinfo)
	for key in rtmax wtmax rtpref wtpref; do
		expect_equal "$key" "$(value $key <<<"$out")" $((64 * mib))
	done
}

# one_request BYTES OFFSET: there in one WRITE, back in one READ, and on the disk.
one_request() {
	local out stable
	for stable in unstable filesync; do
		note "$1 bytes at $2, $stable"
		out=$(client write file --size "$1" --offset "$2" --block "$1" --depth 1 \
			--stable "$stable")
		expect_equal "WRITEs" "$(value requests <<<"$out")" 1
		expect_equal "partial answers" "$(value partial <<<"$out")" 0
		out=$(client read file --size "$1" --offset "$2" --block "$1" --depth 1 --verify)
		expect_equal "READs" "$(value requests <<<"$out")" 1
		expect_equal "eof flags" "$(value eof_replies <<<"$out")" 1
		quietly client verify "$EXPORT/file" --size "$1" --offset "$2" --direct
		expect_equal "size" "$(stat -c %s "$EXPORT/file")" $(($1 + $2))
		expect_equal "zeros before it" "$(head -c "$2" "$EXPORT/file" | tr -d '\0')" ''
	done
}

# read_at OFFSET COUNT WANTED EOF
read_at() {
	local out
	out=$(client readh file --offset "$1" --count "$2")
	expect_equal "count of READ $2 at $1" "$(value count <<<"$out")" "$3"
	expect_equal "eof of READ $2 at $1" "$(value eof <<<"$out")" "$4"
}

ends() {
	local size=$((10 * mib + 123)) big=$((64 * mib))
	note "at the end of a file"
	quietly client write file --size "$size"
	read_at 0 "$big" "$size" 1
	read_at 0 "$size" "$size" 1
	read_at 0 $((size - 1)) $((size - 1)) 0
	read_at $((size - 1)) 1 1 1
	read_at $((size - 1)) "$big" 1 1
	read_at 1000001 "$big" $((size - 1000001)) 1
	read_at "$size" 1 0 1
	read_at "$size" "$big" 0 1
	read_at $((size + 1)) 1000 0 1
	read_at 9223372036854773807 1000 0 1
	read_at 0 1 1 0
	note "an empty file, and a hole"
	quietly client create file --truncate 0
	read_at 0 1000 0 1
	quietly client setattr file --truncate 100000000
	read_at 99999999 1000 1 1
	read_at 50000000 100 100 0
}

beyond() {
	note "no file reaches beyond 2^63"
	expect_status NFS3ERR_FBIG writeh file --offset 9223372036854775807 --data xx
	expect_status NFS3ERR_FBIG writeh file --offset 18446744073709551614 --data xx
	expect_equal "size" "$(stat -c %s "$EXPORT/file")" 100000000
}

# Larger than the limit: served in part, as RFC 1813 3.3.6 and 3.3.7 allow, never refused.
too_large() {
	local out
	note "requests above MaxRead"
	out=$(client readh file --offset 0 --count $((65 * mib)))
	expect_equal "count" "$(value count <<<"$out")" $((64 * mib))
}

export_fs "${1:-ext4}" "$DB_FSAL" '' "MaxRead = $((64 * mib)); MaxWrite = $((64 * mib));
	PrefRead = $((64 * mib)); PrefWrite = $((64 * mib));"
fsinfo
one_request $((8 * mib)) 0
one_request $((64 * mib)) 0
one_request $((8 * mib)) 12345
one_request $((64 * mib)) 777
one_request $((64 * mib - 1)) 1
one_request 4097 3
ends
beyond
too_large
stop_all
