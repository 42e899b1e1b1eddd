#!/bin/sh
# bitcode.sh SOURCE LIBRARY CC: every LLVM that is installed, from 14 on, reads tl_inline.ll, links it with a module, inlines
# all operations, and compiles a program that runs as one with calls does. It compiles it for arm64, too.
set -eu
source=$1 library=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tried=0
for link in /usr/bin/llvm-link-*; do
	[ -x "$link" ] || continue
	n=${link##*-}
	[ "$n" -ge 14 ] && command -v "opt-$n" >/dev/null && command -v "llc-$n" >/dev/null || continue
	opaque=
	[ "$n" -gt 14 ] || opaque=-opaque-pointers
	# No module has a target: nothing is said of a difference.
	"$link" $opaque --only-needed "$source/tests_c/scripts/bitcode.ll" "$source/include/tl_inline.ll" -o "$work/linked.bc" \
		2>"$work/said"
	[ ! -s "$work/said" ] || { cat "$work/said"; exit 1; }
	"opt-$n" $opaque -O2 "$work/linked.bc" -o "$work/inlined.bc"
	"llvm-dis-$n" $opaque "$work/inlined.bc" -o "$work/inlined.ll"
	if grep 'call .*@tl_inl_\|define .*@tl_inl_\|alloca' "$work/inlined.ll"; then
		echo "LLVM $n has not inlined everything"
		exit 1
	fi
	arm64=$("llc-$n" --version | sed -n 's/^ *aarch64 .*/aarch64-linux-gnu/p')
	[ -z "$arm64" ] || "llc-$n" $opaque -O2 -mtriple="$arm64" -filetype=obj "$work/inlined.bc" -o "$work/arm64.o"
	"llc-$n" $opaque -O2 -filetype=obj -relocation-model=pic "$work/inlined.bc" -o "$work/inlined.o"
	"$cc" "$work/inlined.o" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$work/program"
	for path in 1 0; do
		TL_FASTPATH=$path TL_LEAK_CHECK=fail "$work/program" || { echo "LLVM $n, TL_FASTPATH=$path: status $?"; exit 1; }
	done
	TL_DEBUG=1 TL_LEAK_CHECK=fail "$work/program" || { echo "LLVM $n, TL_DEBUG=1: status $?"; exit 1; }
	tried="$tried $n"
done
[ "$tried" != 0 ] || { echo "skip: no llvm-link with opt and llc of LLVM 14 or newer"; exit 77; }
echo "tl_inline.ll: linked, inlined and run by LLVM${tried#0}"
