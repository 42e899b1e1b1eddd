#!/bin/sh
# Compiles the test of the C++ headers by results as LLVM compiles, with every C++ compiler that is here and in
# every version of C++, and runs it on both paths. What throws does not compile there, and parts of a program
# that were compiled with and without exceptions do not link where they share a type.
#
#   no_exceptions.sh SOURCE_DIRECTORY LIBRARY_DIRECTORY
set -u

source=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ran=0
failed=0
fail() { echo "$*" >&2; failed=$((failed + 1)); }

strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror'
cat >"$work/user.cpp" <<'END'
#include "tl_tensor.hpp"
tl::ref<tl_tensor> passed(tl::ref<tl_tensor> tensor);
int main() { return passed(tl::ref<tl_tensor>()).get() != nullptr; }
END
echo '#include "tl_tensor.hpp"
tl::ref<tl_tensor> passed(tl::ref<tl_tensor> tensor) { return tensor; }' >"$work/maker.cpp"
echo '#include "tl_tensor.hpp"
tl::tensor made() { return tl::tensor::zeros<float>({2}); }' >"$work/thrower.cpp"

# one COMPILER VERSION FLAGS...
one() {
	cxx=$1 version=$2
	shift 2
	echo 'int known;' | "$cxx" -std="$version" -x c++ -fsyntax-only - 2>/dev/null || return 0
	ran=$((ran + 1))
	name="$cxx -std=$version $*"
	# shellcheck disable=SC2086 # flags are words
	"$cxx" -std="$version" "$@" $strict -I"$source/include" -I"$source/tests_c" "$source/tests_c/cpp/no_exceptions_test.cpp" \
		-L"$library" -ltl_runtime -Wl,-rpath,"$library" -lpthread -o "$work/test" || { fail "$name does not compile"; return; }
	for path in 1 0; do
		TL_FASTPATH=$path "$work/test" >/dev/null || fail "$name, TL_FASTPATH=$path: exit $?"
	done
}

tried=
for cxx in g++ clang++ $(ls /usr/bin/clang++-[0-9]* 2>/dev/null); do
	command -v "$cxx" >/dev/null || continue
	program=$(readlink -f "$(command -v "$cxx")")
	case " $tried " in *" $program "*) continue ;; esac # clang++ is one of the others
	tried="$tried $program"
	for version in c++17 c++2b; do # matrix.sh has what lies between
		one "$cxx" $version -fno-exceptions -fno-rtti
	done
	one "$cxx" c++17 -DTL_NO_EXCEPTIONS
	! "$cxx" -std=c++17 -fno-exceptions -fno-rtti -I"$source/include" -fsyntax-only "$work/thrower.cpp" 2>"$work/said" ||
		fail "$cxx -fno-exceptions compiles a call that would throw"
	"$cxx" -std=c++17 -I"$source/include" -fsyntax-only "$work/thrower.cpp" || fail "$cxx refuses a call that throws"
	for flags in -fno-exceptions -fexceptions; do
		"$cxx" -std=c++17 "$flags" -I"$source/include" "$work/user.cpp" -c -o "$work/user.o"
		"$cxx" -std=c++17 -fexceptions -I"$source/include" "$work/maker.cpp" "$work/user.o" -L"$library" -ltl_runtime \
			-o "$work/mixed" 2>"$work/said"
		linked=$?
		[ "$linked$flags" = 0-fexceptions ] || [ "$linked$flags" = 1-fno-exceptions ] ||
			{ cat "$work/said"; fail "$cxx: exit $linked of linking a user built with $flags"; }
	done
done

[ $ran -gt 0 ] || { echo "skip: no compiler"; exit 77; }
echo "$ran combinations, $failed failed"
[ $failed -eq 0 ]
