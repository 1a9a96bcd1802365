#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compare-decoders.sh GEN DUMP DECODE_PY EVENTS OLD - the library and the independent decoder print
# the same lines for the same traces: plain, strange with free stacks, stored columns, and OLD, a
# recording of ls in an older format whose times are runs.
set -eu
gen=$1 dump=$2 decode=$3 events=$4 old=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

compare() {
	"$dump" "$1" >"$dir/ours"
	/usr/bin/python3 "$decode" "$1" >"$dir/theirs"
	cmp "$dir/ours" "$dir/theirs"
	echo "$(wc -l <"$dir/ours") lines are the same ($2)"
}

try() {
	"$gen" -n "$events" -o "$dir/t.hlt" "$@"
	compare "$dir/t.hlt" "$*"
}

# A reader that closes the pipe early is not an error.
cut_off() {
	"$gen" -n "$events" -o "$dir/t.hlt"
	/usr/bin/python3 "$decode" "$dir/t.hlt" 2>"$dir/err" | head -n 1 >/dev/null
	if [ -s "$dir/err" ]; then
		cat "$dir/err"
		exit 1
	fi
}

cut_off
compare "$old" 'times in runs'
[ "$(wc -l <"$dir/ours")" -eq 350 ]
try --strange --free-stacks --nodes 2000 --live 20000
try --nodes 2000 --live 40000 --base $((events * 2 / 3))
if [ "$events" -lt 1000000 ]; then
	try --nodes 50 --live 100 --threads 1
	try --strange --hurry --threads 30
fi
