#!/bin/sh
# subdirectory.sh CMAKE SOURCE LIBRARY_DIRECTORY: a project that has the sources below it links the library, and gets none
# of its tests. ctest lies beside CMAKE, which may be that of a virtual environment.
set -eu
cmake=$1 source=$2 built=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(parent LANGUAGES C CXX)
include(CTest)
add_subdirectory("${TL_SOURCE}" tl)
add_executable(program "${TL_SOURCE}/examples/hello.c")
target_link_libraries(program PRIVATE tl_runtime::tl_runtime)
add_test(NAME program COMMAND program)
END
"$cmake" -S "$work" -B "$work/build" -DTL_SOURCE="$source" -DTL_RUNTIME_LIBRARY_DIR="$built" >"$work/log" 2>&1 &&
	"$cmake" --build "$work/build" --target program >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
tests=$(cd "$work/build" && "${cmake%cmake}ctest" -N | sed -n 's/^Total Tests: //p')
[ "$tests" = 1 ] || { echo "the project has $tests tests, and one is its own"; exit 1; }
"$work/build/program"
