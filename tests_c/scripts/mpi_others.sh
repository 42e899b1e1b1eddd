#!/bin/sh
# Compiles the tests of tl_mpi.h with every MPI of this machine but one, and runs them.
#
#   mpi_others.sh CC SOURCE_DIRECTORY LIBRARY_DIRECTORY MPIEXEC_OF_THE_ONE
set -u

cc=$1 source=$2 library=$3 known=$(readlink -f "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ran=0 failed=0

for mpi in openmpi mpich; do
	wrapper=$(command -v mpicc.$mpi) && mpiexec=$(command -v mpiexec.$mpi) || continue
	[ "$(readlink -f "$mpiexec")" != "$known" ] || continue
	for test in mpi_test mpi_memory_test; do
		OMPI_CC=$cc MPICH_CC=$cc "$wrapper" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -I"$source/include" \
			-I"$source/tests_c" "$source/tests_c/$test.c" -L"$library" -ltl_runtime -Wl,-rpath,"$library" -lm -lpthread \
			-o "$work/$test" || { failed=$((failed + 1)); continue; }
		for processes in 1 2 4; do
			ran=$((ran + 1))
			TL_LEAK_CHECK=fail sh "$source/tests_c/scripts/mpiexec.sh" "$mpiexec" $processes "$work/$test" >"$work/said" 2>&1 ||
				{ cat "$work/said"; echo "$test fails with $processes processes of $mpi"; failed=$((failed + 1)); }
		done
	done
done
[ $ran -gt 0 ] || [ $failed -gt 0 ] || { echo "skip: no other MPI is installed"; exit 77; }
echo "$ran runs, $failed failed"
[ $failed -eq 0 ]
