#!/bin/sh
# debugger.sh CC CXX SOURCE LIBRARY: the debug file beside the library names functions of C and of Go, with lines, and
# gdb shows objects and scopes of a program by tools/gdb/tl_runtime.py.
set -eu
cc=$1 cxx=$2 source=$3 library=$4
[ -f "$library.debug" ] || { echo "skip: there is no $library.debug (make debug)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { [ ! -f "$work/said" ] || cat "$work/said"; echo "$*" >&2; exit 1; }

readelf -p .gnu_debuglink "$library" | grep -qF "$(basename "$library").debug" || fail 'the library does not name its debug file'
! readelf -SW "$library" | grep -qE '\.symtab|\.debug_' || fail 'the library has symbols itself'
[ "$(readelf -n "$library" | sed -n 's/.*Build ID: //p')" = "$(readelf -n "$library.debug" | sed -n 's/.*Build ID: //p')" ] ||
	fail 'library and debug file are not of one build'
go_function='tlruntime/runtime/object.(*Context).ExitTarget'
for name in tl_mem_exit_scope "$go_function"; do
	nm "$library.debug" | awk -v name="$name" '$3 == name { found = 1 } END { exit !found }' || fail "the debug file has no $name"
done
echo 'the debug file has functions of C and Go'

command -v gdb >/dev/null || { echo "skip: gdb is not installed, lines and printers are not tried"; exit 0; }
# named FUNCTION FILE: gdb finds function and line at its address in the library.
named() {
	at=0x$(nm "$library.debug" | awk -v name="$1" '$3 == name { print $1 }')
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex "info symbol $at" -ex "info line *$at" "$library" >"$work/said" 2>&1
	grep -qF "$1 in section .text" "$work/said" && grep -qE "^Line [0-9]+ of \".*$2\" starts at address" "$work/said" ||
		fail "$at is not $1 of $2"
}
named tl_mem_exit_scope scopes.c
named "$go_function" runtime/object/scopes.go
echo 'gdb finds them by the link of the library'

directory=$(dirname "$library")
"$cc" -g -O1 -I"$source/include" "$source/tests_c/inspect.c" -L"$directory" -ltl_runtime -Wl,-rpath,"$directory" -o "$work/inspect"
cat >"$work/inspect.cpp" <<'END'
#include "tl_tensor.hpp"
__attribute__((noinline)) void look_here(const tl::tensor& tensor) { __asm__ volatile("" ::"r"(&tensor) : "memory"); }
int main()
{
	const auto tensor = tl::tensor::zeros<std::int64_t>({3});
	look_here(tensor);
}
END
"$cxx" -g -O1 -std=c++17 -I"$source/include" "$work/inspect.cpp" -L"$directory" -ltl_runtime -Wl,-rpath,"$directory" -o "$work/inspect_cpp"

# at PROGRAM COMMAND...: what gdb says at look_here.
at() {
	program=$1
	shift
	printf 'set debuginfod enabled off\nsource %s\nbreak look_here\nrun\n' "$source/tools/gdb/tl_runtime.py" >"$work/commands"
	printf '%s\n' "$@" >>"$work/commands"
	gdb -nx -batch -x "$work/commands" "$program" >"$work/said" 2>&1 || true
	! grep -qE 'Could not trace|Operation not permitted' "$work/said" || { echo 'skip: programs cannot be traced here'; exit 0; }
}
shows() { grep -qE "$1" "$work/said" || fail "gdb does not show: $1"; }

for path in 1 0; do
	export TL_FASTPATH=$path
	at "$work/inspect" 'print tensor' 'tl vec vec' 'tl object freed' 'tl object (char*)copy + 70' 'tl object &main' \
		'tl object 0' 'tl object large' 'tl object (char*)large + 299999' 'tl object cell' 'tl scopes'
	shows '^\$1 = 0x[0-9a-f]+: tensor f32 \[2, 3\] = \{0, 1, 2, 3, 4.5, -5\}, 2 references$'
	shows '^0x[0-9a-f]+: Vec of 2, room for [0-9]+, 1 reference$'
	shows '^  \[0\] 0x[0-9a-f]+: object in 128 bytes, 2 references$'
	shows '^  \[1\] 0x[0-9a-f]+: tensor f32 \[2, 3\]'
	shows '^0x[0-9a-f]+: free memory$'
	shows '^0x[0-9a-f]+: byte 8 of 0x[0-9a-f]+, cell in 48 bytes, 2 references$'
	shows '^0x[0-9a-f]+: byte 70 of 0x[0-9a-f]+, tensor f32 \[2, 3\] = .*, 1 reference$'
	shows '^0x[0-9a-f]+: object in 327680 bytes, 1 reference$'
	shows '^0x[0-9a-f]+: byte 299999 of 0x[0-9a-f]+, object in 327680 bytes, 1 reference$'
	shows 'not in the heap of TL Runtime$'
	shows '^NULL$'
	sed -n '/^3 open/,$p' "$work/said" | sed 's/0x[0-9a-f]*/ADDRESS/; s/room for [0-9]*/room/' >"$work/scopes"
	diff "$work/scopes" - <<'END' || fail 'the scopes are others'
3 open
3: scope, 1 entry
    ADDRESS: tensor f32 [2, 3] = {0, 1, 2, 3, 4.5, -5}, 1 reference
2: function, 3 entries
    ADDRESS: registered memory
    ADDRESS: object in 128 bytes, 2 references
    ADDRESS: Vec of 2, room, 1 reference
1: scope, 1 entry
    ADDRESS: tensor f32 [2, 3] = {0, 1, 2, 3, 4.5, -5}, 2 references
END
	at "$work/inspect" 'tl vec tensor'
	shows '^this is no Vec$'
	at "$work/inspect" 'tl object no_such_variable'
	shows 'No symbol "no_such_variable" in current context'
done

# Without the debug file each command says what is missing.
for command in 'tl object 1' 'tl vec 1' 'tl scopes'; do
	gdb -nx -batch -ex "source $source/tools/gdb/tl_runtime.py" -ex "$command" >"$work/said" 2>&1 || true
	shows '^TL Runtime has no debug file here: put libtl_runtime'
	! grep -q 'Python Exception' "$work/said" || fail "$command: not an error of ours"
done
at "$work/inspect_cpp" 'print tensor'
shows 'tensor i64 \[3\] = \{0, 0, 0\}, 1 reference'
echo 'gdb shows tensors, Vecs and scopes on both paths'
