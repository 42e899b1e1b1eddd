#!/bin/sh
# Runs the model of the library in hosts that are built with a sanitizer, over the library as
# it is and over one whose C is built with the same sanitizer.
#
#   sanitizer.sh address|undefined|thread
#
# ThreadSanitizer sees no synchronisation inside of the library, so it reports objects that go from
# thread to thread; what it does to a host is tried with its reports off. The shim's own races are
# looked for by the tests tsan.*, over a slow path in C.
# shellcheck source=tests_c/proof/builds/common.sh
. tests_c/proof/builds/common.sh
needs cmake gcc
flags="-g -fsanitize=$1 -fno-sanitize-recover=all -fno-omit-frame-pointer"
echo 'int main(void) { return 0; }' >"$work/probe.c"
# shellcheck disable=SC2086 # flags are words
gcc $flags "$work/probe.c" -o "$work/probe" 2>/dev/null && "$work/probe" || skip "programs with -fsanitize=$1 do not run here"

export TSAN_OPTIONS=report_bugs=0 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
quietly cmake -S . -B "$work/host" -DTL_RUNTIME_LIBRARY_DIR="$build" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ \
	-DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags"
quietly nice cmake --build "$work/host" --parallel "$(nproc)" --target model

# model LIBRARY TEXT MODE: runs it, and tells in each claim with what.
model() {
	LD_LIBRARY_PATH=$1 nice "$work/host/tests_c/proof/model" plain "$3" >"$work/model.log" 2>&1
	status=$?
	sed "s/^proof: .*/&; $2/" "$work/model.log"
	return $status
}

bad=0
for mode in turns free wild; do model "$build" "host with -fsanitize=$1" $mode || bad=1; done
if [ "$1" != thread ]; then
	library=$work/library
	[ "$1" != undefined ] || library=$build/cmake/undefined # which the test of that name has made
	quietly env CC=gcc CGO_CFLAGS="$flags" CGO_LDFLAGS="-fsanitize=$1" packaging/build_library.sh "$library"
	for mode in turns free wild; do model "$library" "host and C of the library with -fsanitize=$1" $mode || bad=1; done
fi
exit $bad
