#!/bin/sh
# Builds the library with another compiler, or with other flags, and runs the tests over it.
#
#   compiler.sh clang    the oldest and the newest clang that is installed, tests included
#   compiler.sh lto      gcc -O3 -flto
# shellcheck source=tests_c/proof/builds/common.sh
. tests_c/proof/builds/common.sh

# clangs lists them by version, oldest first.
clangs() { ls /usr/bin/clang-[0-9]* 2>/dev/null | sort -t- -k2 -n | sed -n '1p;$p' | uniq; }

# with_clang CLANG
with_clang() {
	version=$("$1" --version | sed -n 's/.*clang version \([0-9.]*\).*/\1/p')
	library=$work/$(basename "$1")
	quietly env CC="$1" packaging/build_library.sh "$library"
	if whole; then
		quietly cmake -S . -B "$library/tests" -DCMAKE_C_COMPILER="$1" -DCMAKE_CXX_COMPILER="$(echo "$1" | sed 's/clang/clang++/')" \
			-DTL_RUNTIME_LIBRARY_DIR="$library" -DTL_RANDOM_POINTERS=100000
		build_tests "$library/tests"
		run_tests "library and tests built with clang $version" "$library/tests"
	else
		build_tests "$build/cmake"
		over "$library" run_tests "library built with clang $version" "$build/cmake"
	fi
}

case $1 in
clang)
	needs cmake
	all=$(clangs)
	[ -n "$all" ] || skip 'no clang is installed'
	whole || all=$(echo "$all" | sed -n '$p')
	bad=0
	for clang in $all; do with_clang "$clang" || bad=1; done
	exit $bad
	;;
lto)
	needs cmake gcc
	quietly env CC=gcc CGO_CFLAGS='-O3 -flto=auto' CGO_LDFLAGS='-O3 -flto=auto' packaging/build_library.sh "$work"
	build_tests "$build/cmake"
	over "$work" run_tests "library built with gcc $(gcc -dumpversion) -O3 -flto" "$build/cmake"
	;;
esac
