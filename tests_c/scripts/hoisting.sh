#!/bin/sh
# hoisting.sh SOURCE: what LLVM makes of loops with accessors. Those that check nothing leave the loop; those that check
# stay. Every LLVM that is installed reads tl_inline.ll, every clang the header.
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

loops="sum: 1 loads, 0 calls
fill: 0 loads, 0 calls
checked: 1 loads, 2 calls"
failed=0

# is WHO FILE EXPECTED: the loops of the text in FILE are those.
is() {
	awk -f "$source/tests_c/scripts/hoisting.awk" "$2" | sort >"$work/found"
	echo "$3" | sort >"$work/expected"
	diff "$work/expected" "$work/found" >"$work/difference" || { echo "$1:"; cat "$work/difference"; failed=1; }
	tried="$tried $1"
}

# The attributes say what is true of the accessors, for code in which they are not inlined.
attributes() {
	awk -v all="$(sed -n 's/^\(attributes #.*\)/\1/p' "$2" | tr '\n' ';')" '
		/^define .*_unchecked\(/ {
			group = $0
			sub(/.* #/, "#", group)
			sub(/ .*/, "", group)
			line = substr(all, index(all, "attributes " group " "))
			sub(/;.*/, "", line)
			if (line !~ /nounwind/ || line !~ /willreturn/ || line !~ /readonly|memory\((argmem: )?read\)|readnone|memory\(none\)/)
				print $0 " has" line
		}' "$2" >"$work/lacking"
	[ ! -s "$work/lacking" ] || { echo "$1:"; cat "$work/lacking"; failed=1; }
}

tried=
for link in /usr/bin/llvm-link-*; do
	[ -x "$link" ] || continue
	n=${link##*-}
	[ "$n" -ge 14 ] && command -v "opt-$n" >/dev/null || continue
	opaque=
	[ "$n" -gt 14 ] || opaque=-opaque-pointers
	cat "$source/include/tl_runtime.ll" "$source/tests_c/scripts/hoisting.ll" >"$work/loops.ll"
	"opt-$n" $opaque -S "$source/include/tl_inline.ll" -o "$work/accessors.ll"
	attributes "LLVM $n" "$work/accessors.ll"
	"$link" $opaque --only-needed "$work/loops.ll" "$source/include/tl_inline.ll" -o "$work/linked.bc"
	"opt-$n" $opaque -O2 -S "$work/linked.bc" -o "$work/optimised.ll"
	is "LLVM $n," "$work/optimised.ll" "$loops
status: 0 loads, 0 calls"
done
for clang in /usr/bin/clang-[0-9]*; do
	[ -x "$clang" ] || continue
	"$clang" -O2 -fno-vectorize -fno-unroll-loops -fno-stack-protector -I"$source/include" -S -emit-llvm \
		"$source/tests_c/scripts/hoisting.c" -o "$work/compiled.ll"
	is "clang ${clang##*-}," "$work/compiled.ll" "$loops"
done
[ -n "$tried" ] || { echo "skip: neither clang nor llvm-link with opt"; exit 77; }
echo "accessors leave loops in ${tried%,}"
[ $failed = 0 ]
