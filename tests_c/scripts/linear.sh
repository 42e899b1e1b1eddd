#!/bin/sh
# linear.sh PROGRAM: releasing a chain and collecting cycles cost instructions in
# proportion to the number of objects. Ten times the objects, at most eleven times
# the instructions; what start and setup cost is measured and taken off.
set -eu
command -v valgrind >/dev/null || { echo "skip: valgrind is not installed"; exit 77; }
small=${TL_LINEAR_NODES:-100000}
large=$((small * 10))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Signals that preempt goroutines confuse valgrind.
GODEBUG=asyncpreemptoff=1
export GODEBUG

# instructions MODE NODES
instructions() {
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" "$1" "$2" >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; exit 1; }
	sed -n 's/.*I *refs: *//p' "$work/log" | tr -d ','
}

program=$1
failed=0
for mode in chain cycles; do
	base_small=$(instructions "build-$mode" "$small")
	base_large=$(instructions "build-$mode" "$large")
	few=$(($(instructions "$mode" "$small") - base_small))
	many=$(($(instructions "$mode" "$large") - base_large))
	echo "$mode: $small objects $few instructions, $large objects $many, ratio $((many * 100 / few)) / 100"
	[ "$many" -le $((few * 11)) ] || failed=1
done
exit $failed
