#!/bin/sh
# undefined.sh SOURCE FOLDER PROGRAM...: UndefinedBehaviorSanitizer finds nothing in the library's C. The library
# is built with it into FOLDER; it ends a program at the first finding.
set -eu
source=$1 folder=$2
shift 2
command -v go >/dev/null || { echo "skip: go is not installed"; exit 77; }
mkdir -p "$folder"
flags='-g -fsanitize=undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' # those of the proof suite, which takes this library
echo 'int main(void) { return 0; }' >"$folder/probe.c"
# shellcheck disable=SC2086 # flags are words
"${CC:-cc}" $flags "$folder/probe.c" -o "$folder/probe" 2>/dev/null && "$folder/probe" ||
	{ echo "skip: programs with -fsanitize=undefined do not run here"; exit 77; }
CC=${CC:-gcc} CGO_CFLAGS=$flags CGO_LDFLAGS=-fsanitize=undefined "$source/packaging/build_library.sh" "$folder"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
LD_LIBRARY_PATH=$folder UBSAN_OPTIONS=print_stacktrace=1
export LD_LIBRARY_PATH UBSAN_OPTIONS
for path in 1 0; do
	for program in "$@"; do
		TL_FASTPATH=$path "$program" >"$log" 2>&1 || { rc=$?; cat "$log"; echo "$program, TL_FASTPATH=$path: exit $rc"; exit 1; }
		echo "$(basename "$program"), TL_FASTPATH=$path: nothing found"
	done
done
