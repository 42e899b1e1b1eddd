#!/bin/sh
# static.sh CC SOURCE ARCHIVE: the static library shows tl_* and nothing else, programs of the conformance suite run
# with it on both paths, in every way to link, and its names can be replaced.
set -eu
cc=$1 source=$2 archive=$3
[ -f "$archive" ] || { echo "skip: there is no $archive (make static)"; exit 77; }
[ -z "$(find "$source/cshim" "$source/capi" "$source/runtime" -newer "$archive" -name '*.[cghs]*' ! -name '*_test.go' | head -n 1)" ] ||
	{ echo "skip: $archive is older than its sources (make static)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }

nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort >"$work/shown"
sed -n 's/^\t\(tl_[a-z0-9_]*\);$/\1/p' "$source/capi/exports.map" | sort | diff - "$work/shown" ||
	fail 'the archive shows other symbols than the shared library'

# build OUTPUT PROGRAM ARCHIVE FLAGS...
build() {
	to=$1 program=$2 from=$3
	shift 3
	"$cc" -O1 -D_GNU_SOURCE "$@" -I"$work" -I"$source/include" -I"$source/tests_c" "$program" "$from" -lpthread -ldl -o "$to" \
		2>"$work/said" || { cat "$work/said"; fail "$program $* does not link"; }
}
# runs PROGRAM WHAT
runs() {
	for path in 1 0; do
		TL_FASTPATH=$path "$1" >"$work/said" 2>&1 || { rc=$?; cat "$work/said"; fail "$2, TL_FASTPATH=$path: exit $rc"; }
	done
}

for test in small_blocks scopes references types tensors tensor_pool registry leak_report start signals limits fork process_end; do
	build "$work/$test" "$source/tests_c/${test}_test.c" "$archive"
	runs "$work/$test" $test
done
! readelf -d "$work/scopes" | grep -q libtl_runtime || fail 'a program wants the shared library'
for flags in -no-pie -Wl,--gc-sections -static -static-pie; do
	for test in signals adopt small_blocks; do # the last replaces malloc
		build "$work/linked" "$source/tests_c/${test}_test.c" "$archive" $flags
		runs "$work/linked" "$test $flags"
	done
done
readelf -n "$work/scopes" | grep -q 'Provider: tl_runtime' || fail 'the probes are lost'

# Inside a host's library.
"$cc" -shared -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -o "$work/libhost.so"
"$cc" -I"$source/include" "$source/tests_c/consumer/main.c" -L"$work" -lhost -Wl,-rpath,"$work" -o "$work/hosted"
runs "$work/hosted" 'a program over a library with the archive'

# A host with names of ours.
objcopy --redefine-syms="$source/packaging/tl_tensor.syms" "$archive" "$work/renamed.a"
! nm -g --defined-only "$work/renamed.a" | grep ' tl_tensor_' || fail 'names were left'
sed -n 's/^tl_/#define &/p' "$source/packaging/tl_tensor.syms" >"$work/renamed.h"
build "$work/collide" "$source/tests_c/collide.c" "$work/renamed.a"
runs "$work/collide" 'a program with a tl_tensor_new of its own'
sed -n 's/^\(tl_[a-z0-9_]*\) \(.*\)$/s,@\1\\b,@\2,g/p' "$source/packaging/tl_tensor.syms" >"$work/names.sed"
sed -f "$work/names.sed" "$source/include/tl_runtime.ll" >"$work/renamed.ll"
! grep '@tl_tensor_' "$work/renamed.ll" || fail 'declarations of IR keep our names'
grep -q '@tlrt_tensor_new(' "$work/renamed.ll" || fail 'declarations of IR were not renamed'
cat "$work/said"
echo "14 programs on both paths, 3 of them in 4 more ways to link; the archive has $(stat -c %s "$archive") bytes"
