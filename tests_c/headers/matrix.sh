#!/bin/sh
# Compiles tl_runtime.h alone in every C and C++ version it promises, and
# the C++ headers from C++17 on, with every compiler that is here and with
# warnings as errors. Each header comes twice: it has to guard itself.
#
#   matrix.sh INCLUDE_DIRECTORY
set -u

include=$1
strict="-fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror"
compiled=0
failed=0

# Those of MPI need mpi.h, whose own warnings are not ours. $mpi is a flag for each MPI of this machine.
mpi=
for wrapper in mpicc.openmpi mpicc.mpich; do
	command -v $wrapper >/dev/null || continue
	folder=$($wrapper -show | tr ' ' '\n' | sed -n 's/^-I//p' | head -n 1)
	[ -f "$folder/mpi.h" ] && mpi="$mpi -isystem$folder"
done
[ -n "$mpi" ] || echo "skip: no mpi.h, tl_mpi.h is not compiled"

# A compiler that does not know the version yet is no failure of the header.
knows() { echo 'typedef int known;' | "$1" -std="$3" -x "$2" -fsyntax-only - 2>/dev/null; }

# compile COMPILER LANGUAGE VERSION FLAGS HEADER...: one unit of the headers.
compile() {
	compiler=$1 language=$2 version=$3 flags=$4
	shift 4
	compiled=$((compiled + 1))
	# shellcheck disable=SC2086 # flags are words
	if ! printf '#include "%s"\n' "$@" "$@" |
		"$compiler" -std="$version" -I"$include" $strict $flags -x "$language" -; then
		echo "$* fails as $version with $compiler $flags" >&2
		failed=$((failed + 1))
	fi
}

for cc in gcc clang clang-15; do
	command -v $cc >/dev/null || continue
	for version in c99 c11 c17 c2x c23; do
		knows $cc c $version || continue
		compile $cc c $version "-Wstrict-prototypes -Wc++-compat" tl_runtime.h
		compile $cc c $version "-Wstrict-prototypes -Wc++-compat -DTL_INLINE" tl_runtime.h
		compile $cc c $version "" tl_inline.h
		compile $cc c $version "-Wstrict-prototypes -Wc++-compat" tl_graph.h
		for flag in $mpi; do
			compile $cc c $version "-Wstrict-prototypes -Wc++-compat $flag" tl_mpi.h
		done
	done
done
# Each header of C++ alone in the oldest version that it promises, and all in one unit in the others and with other flags.
headers=$(cd "$include" && echo *.hpp)
for cxx in g++ clang++ clang++-15; do
	command -v $cxx >/dev/null || continue
	for version in c++11 c++14 c++17 c++20 c++2b; do
		knows $cxx c++ $version || continue
		compile $cxx c++ $version "-Wold-style-cast" tl_runtime.h
		compile $cxx c++ $version "-Wold-style-cast -DTL_INLINE" tl_runtime.h
		compile $cxx c++ $version "-fno-exceptions -fno-rtti" tl_inline.h
		compile $cxx c++ $version "-Wold-style-cast" tl_graph.h
	done
	for header in $headers; do
		compile $cxx c++ c++17 "-Wold-style-cast" "$header"
	done
	for version in c++17 c++20 c++2b; do
		knows $cxx c++ $version || continue
		for flags in -DTL_INLINE -fno-rtti '-fno-exceptions -fno-rtti'; do
			# shellcheck disable=SC2086 # names without blanks
			compile $cxx c++ $version "-Wold-style-cast $flags" $headers
		done
		for flag in $mpi; do
			compile $cxx c++ $version "-Wold-style-cast -fno-exceptions $flag" tl_mpi.h
		done
	done
done

[ $compiled -gt 0 ] || { echo "skip: no compiler"; exit 77; }
echo "$compiled combinations, $failed failed"
[ $failed -eq 0 ]
