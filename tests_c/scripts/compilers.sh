#!/bin/sh
# Compiles the shim with every C compiler that is here, with the flags that go build
# takes and with warnings as errors; with what some files are compiled with.
#
#   compilers.sh SOURCE_DIRECTORY
set -u

shim=$1/cshim
flags=$(sed -n 's/^#cgo CFLAGS: //p' "$shim/cshim.go" | sed "s|\${SRCDIR}|$shim|g")
[ -n "$flags" ] || { echo "no flags in $shim/cshim.go" >&2; exit 1; }
compiled=0
failed=0
seen=
for cc in gcc clang $(ls /usr/bin/gcc-[0-9]* /usr/bin/clang-[0-9]* 2>/dev/null); do
	path=$(command -v "$cc") || continue
	path=$(readlink -f "$path")
	case $seen in *" $path "*) continue ;; esac
	seen="$seen $path "
	compiled=$((compiled + 1))
	# shellcheck disable=SC2086 # flags are words
	"$path" $flags -DTL_FULL -DTLC_GO_1_26 -Werror -fsyntax-only "$shim"/*.c "$shim"/*/*.c || { echo "$cc fails" >&2; failed=$((failed + 1)); }
done
[ $compiled -gt 0 ] || { echo "skip: no compiler"; exit 77; }
echo "$compiled compilers, $failed failed"
[ $failed -eq 0 ]
