#!/bin/sh
# Builds the shared library; the one place that knows the flags. make, CMake
# and the Python package all call it.
#
#   packaging/build_library.sh DIRECTORY [extra go build arguments...]
#
# leaves DIRECTORY/libtl_runtime.so.1.0.0 and the links .so.1 and .so. CC, CGO_CFLAGS and
# CGO_LDFLAGS are go build's; a CC that compiles for arm64 builds for arm64.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '1p' "$root/packaging/VERSION")
major=${version%%.*}

# What the header refuses, and what C compiler and Go would not agree on.
cc=${CC:-$(go env CC)}
refuse() { echo "build_library.sh: $cc: $1" >&2; exit 1; }
# shellcheck disable=SC2086 # a compiler and its flags are words
if ! said=$(echo '#include "tl_runtime.h"' | $cc ${CGO_CFLAGS-} -I"$root/include" -fsyntax-only -x c - 2>&1); then
	why=$(printf '%s\n' "$said" | sed -n 's/.*#error "\(TL .*\)"$/\1/p; s/.*error: "\(TL .*\)"$/\1/p' | sed 1q)
	refuse "${why:-$said}"
fi
case $($cc -dumpmachine) in
x86_64-*) target=amd64 ;;
aarch64-*) target=arm64 ;;
*) refuse "compiles for $($cc -dumpmachine); TL Runtime is for x86-64 and arm64" ;;
esac
[ "${GOARCH:-$target}" = $target ] || refuse "compiles for $target, and GOARCH is $GOARCH"
export GOOS=linux GOARCH=$target

mkdir -p "$1"
out=$(cd "$1" && pwd)
shift

file=libtl_runtime.so.$version
staging=$out/.staging
mkdir -p "$staging"

# The version script has to be absolute: the linker runs in a directory of cgo's.
# Version script, soname and --wrap (cshim/entry_start.c, go_threads.c, go_memory.c) cannot stand
# in a #cgo line, which refuses them. gcshrinkstackoff keeps what runtime/headroom reserves;
# asyncpreemptoff keeps Go from interrupting the program's threads by SIGURG.
# Go's own default for C is -g -O2, which is lost where CGO_CFLAGS asks for something else.
wrapped=
for name in sys_thread_create thread_start init mmap munmap; do
	wrapped="$wrapped -Wl,--wrap=x_cgo_$name"
done
cd "$root"
export CGO_CFLAGS="-O2 ${CGO_CFLAGS--g}"
CGO_ENABLED=1 go build -buildmode=c-shared -trimpath \
	-ldflags "-s -w -X runtime.godebugDefault=gcshrinkstackoff=1,asyncpreemptoff=1 -extldflags '-Wl,--version-script=$root/capi/exports.map -Wl,-soname,libtl_runtime.so.$major$wrapped'" \
	"$@" -o "$staging/libtl_runtime.so" ./capi

# cgo writes a header of its own next to the library; ours is include/tl_runtime.h.
rm -f "$staging/libtl_runtime.h"

# A rename: processes that have the old file mapped keep it.
mv -f "$staging/libtl_runtime.so" "$out/$file"
rmdir "$staging"
ln -sf "$file" "$out/libtl_runtime.so.$major"
ln -sf "libtl_runtime.so.$major" "$out/libtl_runtime.so"
