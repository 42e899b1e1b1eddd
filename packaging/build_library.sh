#!/bin/sh
# Builds the shared library; the one place that knows the flags. make, CMake
# and the Python package all call it.
#
#   packaging/build_library.sh DIRECTORY [extra go build arguments...]
#
# leaves DIRECTORY/libtl_runtime.so.1.0.0 and the links .so.1 and .so.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '1p' "$root/packaging/VERSION")
major=${version%%.*}
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift

file=libtl_runtime.so.$version
staging=$out/.staging
mkdir -p "$staging"

# The version script has to be absolute: the linker runs in a directory of cgo's.
# Version script, soname and --wrap (cshim/start.c, go_threads.c, go_memory.c) cannot stand
# in a #cgo line, which refuses them. gcshrinkstackoff keeps what runtime/headroom reserves;
# asyncpreemptoff keeps Go from interrupting the program's threads by SIGURG.
wrapped=
for name in sys_thread_create thread_start init mmap munmap; do
	wrapped="$wrapped -Wl,--wrap=x_cgo_$name"
done
cd "$root"
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
