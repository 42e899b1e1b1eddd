#!/bin/sh
# Writes tl_runtime.bc, the operations of include/tl_inline.h as LLVM bitcode.
#
#   packaging/build_bitcode.sh OUTPUT
#   packaging/build_bitcode.sh --compiler      names the compiler that it would take
#   packaging/build_bitcode.sh --version       the version of LLVM that it would write
#
# Older versions of LLVM cannot read what a newer one writes, so the oldest clang from 15 on is taken; CLANG names
# another. Exit status 77: there is none.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: build_bitcode.sh OUTPUT}

# The major version of a clang, 0 when it cannot be run.
version() { "$1" -dumpversion 2>/dev/null | cut -d. -f1 | grep -x '[0-9]*' || echo 0; }

clang=${CLANG-}
for n in 15 16 17 18 19 20 21 22 23 24 25; do
	[ -n "$clang" ] || ! command -v "clang-$n" >/dev/null || clang=clang-$n
done
[ -n "$clang" ] || clang=clang
[ "$(version "$clang")" -ge 15 ] || { echo "skip: tl_runtime.bc (clang 15 or newer is not installed)"; exit 77; }
case $out in
--compiler) echo "$clang"; exit 0 ;;
--version) version "$clang"; exit 0 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# -fexceptions: an operation may end in a call that throws. No vectors: they are slower for two stores.
"$clang" -O2 -fexceptions -fno-vectorize -fno-slp-vectorize -fno-ident -fno-stack-protector -fomit-frame-pointer \
	-I"$root/include" -S -emit-llvm "$root/packaging/bitcode.c" -o "$work/all.ll"

# Target, data layout and features of the processor are the program's; modules beside it may have these functions, too.
# LLVM's assembler leaves them open, clang writes its own, which some linkers warn about.
strings='target-cpu\|target-features\|tune-cpu\|stack-protector-buffer-size\|min-legal-vector-width\|frame-pointer'
sed -e 's/^define dso_local /define linkonce_odr hidden /' -e '/^target /d' -e '/^source_filename/d' \
	-e "/^attributes/s/ uwtable//" -e "/^attributes/s/ \"\($strings\)\"=\"[^\"]*\"//g" "$work/all.ll" >"$work/tl_runtime.ll"
# What the unchecked accessors load has a type of its own for aliasing, beside C's scalar types: a store to an element with
# any of those does not change a header, whatever type the element has.
awk '
	/^define .*_unchecked\(/ { accessor = 1 }
	accessor { sub(/!tbaa ![0-9]+/, "!tbaa !1000000") }
	/^}/ { accessor = 0 }
	/^![0-9]+ = !{!"omnipotent char"/ { char = $1 }
	{ print }
	END {
		print "!1000000 = !{!1000001, !1000001, i64 0}"
		print "!1000001 = !{!\"tl_tensor_header\", " char ", i64 0}"
	}' "$work/tl_runtime.ll" >"$work/tagged.ll"
mv "$work/tagged.ll" "$work/tl_runtime.ll"
mkdir -p "$(dirname "$out")"
assembler=llvm-as-$(version "$clang")
if command -v "$assembler" >/dev/null; then
	"$assembler" "$work/tl_runtime.ll" -o "$work/out.bc"
else
	"$clang" -Wno-override-module -O0 -Xclang -disable-llvm-passes -x ir -c -emit-llvm "$work/tl_runtime.ll" -o "$work/out.bc"
fi
mv -f "$work/out.bc" "$out"
echo "$out: bitcode of LLVM $(version "$clang")"
