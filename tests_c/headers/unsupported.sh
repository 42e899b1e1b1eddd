#!/bin/sh
# What the library is not for is refused with a sentence: by the header, and by the
# script that builds, which leaves nothing behind.
#
#   unsupported.sh SOURCE_DIRECTORY
set -u

root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
failed=0

# refuses WHAT SENTENCE COMMAND...: the command fails and says the sentence.
refuses() {
	what=$1
	sentence=$2
	shift 2
	tried=$((tried + 1))
	if "$@" >"$work/said" 2>&1 || ! grep -qF "$sentence" "$work/said"; then
		echo "$what is not refused:" >&2
		cat "$work/said" >&2
		failed=$((failed + 1))
	fi
}

# compiler SENTENCE COMPILER [FLAG]: header and script refuse to compile for this.
compiler() {
	echo | "$2" ${3-} -E -x c - >/dev/null 2>&1 || { echo "without $2 ${3-}"; return 0; }
	refuses "the header with $2 ${3-}" "$1" "$2" ${3-} -I"$root/include" -fsyntax-only -x c "$work/program.c"
	refuses "the library with $2 ${3-}" "build_library.sh: $2${3:+ $3}: $1" \
		env "CC=$2${3:+ $3}" "$root/packaging/build_library.sh" "$work/library"
}

echo '#include "tl_runtime.h"' >"$work/program.c"
system='TL Runtime is for 64-bit Linux'
libc='TL Runtime needs glibc'
compiler "$system" gcc -m32
compiler "$system" gcc -mx32
compiler "$system" gcc -U__linux__
compiler "$libc" musl-gcc
for clang in clang $(ls /usr/bin/clang-[0-9]* 2>/dev/null); do
	for target in i686-linux-gnu x86_64-pc-windows-msvc arm64-apple-macos11; do
		compiler "$system" "$clang" --target=$target
	done
done
refuses 'a processor that GOARCH does not mean' 'GOARCH is s390x' \
	env GOARCH=s390x "$root/packaging/build_library.sh" "$work/library"
[ ! -e "$work/library" ] || { echo "the script left $work/library" >&2; failed=$((failed + 1)); }
echo "$tried refusals, $failed failed"
[ $failed -eq 0 ]
