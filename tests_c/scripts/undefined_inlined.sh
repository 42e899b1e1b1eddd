#!/bin/sh
# undefined_inlined.sh SOURCE LIBRARY: UndefinedBehaviorSanitizer finds nothing in operations that are inlined into
# programs, also where a context is of zeros: its pointers are NULL, and no operation computes an address from them.
set -eu
source=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags='-g -O1 -D_GNU_SOURCE -fsanitize=undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' >"$work/probe.c"

# clang looks at more additions to NULL than gcc does, and the newest clang at all that older ones look at.
tried=
for cc in gcc "$(ls /usr/bin/clang-[0-9]* 2>/dev/null | sort -t- -k2 -n | tail -n 1)"; do
	[ -n "$cc" ] || cc=clang
	# shellcheck disable=SC2086 # flags are words
	"$cc" $flags "$work/probe.c" -o "$work/probe" 2>/dev/null && "$work/probe" || continue
	tried="$tried ${cc##*/}"
	for test in inlining inlining_refs inlining_tensors; do
		# shellcheck disable=SC2086 # flags are words
		"$cc" $flags -I"$source/include" -I"$source/tests_c" "$source/tests_c/${test}_test.c" "$library" -pthread \
			-Wl,-rpath,"$(dirname "$library")" -o "$work/$test"
		for setting in TL_FASTPATH=1 TL_FASTPATH=0 TL_DEBUG=1; do
			env "$setting" "$work/$test" >"$work/log" 2>&1 ||
				{ rc=$?; cat "$work/log"; echo "$cc, $test, $setting: exit $rc"; exit 1; }
		done
	done
done
[ -n "$tried" ] || { echo "skip: programs with -fsanitize=undefined do not run here"; exit 77; }
echo "inlined operations: nothing found by$tried"
