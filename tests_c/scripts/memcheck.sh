#!/bin/sh
# memcheck.sh SOURCE FOLDER PROGRAM...: valgrind's memcheck finds nothing in the library
# and its users. The library is built into FOLDER with Go's own annotations, which tell
# valgrind of goroutines' stacks (docs/tracking.md).
set -eu
source=$1 folder=$2
shift 2
command -v valgrind >/dev/null || { echo "skip: valgrind is not installed"; exit 77; }
command -v go >/dev/null || { echo "skip: go is not installed"; exit 77; }

"$source/packaging/build_library.sh" "$folder" -tags valgrind
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Signals that preempt goroutines confuse valgrind. It marks all that is reserved, so that
# less is reserved than usual. The machine's drivers are not looked at.
GODEBUG=asyncpreemptoff=1 TL_HEAP_RESERVE=4GiB TL_ARENA_BYTES=128KiB LD_LIBRARY_PATH=$folder
TL_CUDA_LIBRARY=$folder/none TL_OPENCL_LIBRARY=$folder/none
export GODEBUG TL_HEAP_RESERVE TL_ARENA_BYTES LD_LIBRARY_PATH TL_CUDA_LIBRARY TL_OPENCL_LIBRARY
for path in 1 0; do
	for program in "$@"; do
		TL_FASTPATH=$path valgrind -q --leak-check=no --error-limit=no --error-exitcode=99 --child-silent-after-fork=yes --num-callers=30 \
			"$program" >"$log" 2>&1 || { rc=$?; cat "$log"; echo "$program, TL_FASTPATH=$path: exit $rc"; exit 1; }
		echo "$(basename "$program"), TL_FASTPATH=$path: nothing found"
	done
done
