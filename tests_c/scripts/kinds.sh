#!/bin/sh
# kinds.sh PROGRAM: no function that says `Cost: fast` takes more than three times the instructions beside 200,000
# live objects that it takes beside a thousand.
set -eu
command -v valgrind >/dev/null || { echo "skip: valgrind is not installed"; exit 77; }
program=$1
few=${TL_KINDS_FEW:-1000}
many=${TL_KINDS_MANY:-200000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Signals that preempt goroutines confuse valgrind.
GODEBUG=asyncpreemptoff=1
export GODEBUG

# count OBJECTS: writes "NAME INSTRUCTIONS" for each function, in their order.
count() {
	mkdir "$work/$1"
	valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file="$work/$1/dump" \
		"$program" instructions "$1" >"$work/$1/log" 2>&1 || { cat "$work/$1/log" >&2; exit 1; }
	grep -q 'no callgrind.h' "$work/$1/log" && { echo "skip: valgrind's headers are not installed"; exit 77; }
	for dump in "$work/$1"/dump.*; do
		sed -n 's/^desc: Trigger: Client Request: //p; s/^totals: //p; s/^summary: //p' "$dump" | paste -s -d ' ' -
	done
}

count "$few" >"$work/few"
count "$many" >"$work/many"
awk -v few="$few" -v many="$many" '
	NR == FNR { of[$1] = $2; next }
	($1 in of) {
		found++
		if ($2 <= 3 * of[$1]) next
		failed = 1
		print $1 ": " of[$1] " instructions beside " few " live objects, " $2 " beside " many
	}
	END {
		print found " functions, beside " few " and " many " live objects"
		exit failed || found < 100
	}' "$work/few" "$work/many"
