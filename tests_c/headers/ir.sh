#!/bin/sh
# Parses and verifies the LLVM declarations with every llvm-as that is here, and
# holds them to the header: as many functions, under the same names.
#
#   ir.sh INCLUDE_DIRECTORY
set -u

ir=$1/tl_runtime.ll
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^TL_API .*[ *]\(tl_[a-z0-9_]*\)(.*/\1/p' "$1/tl_runtime.h" | sort >"$work/header"
sed -n 's/^declare .*@\(tl_[a-z0-9_]*\)(.*/\1/p' "$ir" | sort >"$work/ir"
diff "$work/header" "$work/ir" || { echo "header and IR declare different functions" >&2; exit 1; }

parsed=0
for as in llvm-as $(ls /usr/bin/llvm-as-* 2>/dev/null); do
	command -v "$as" >/dev/null || continue
	# Until LLVM 14 opaque pointers are a flag; from 17 on there is no such flag.
	"$as" "$ir" -o "$work/out.bc" 2>"$work/plain" ||
		"$as" -opaque-pointers "$ir" -o "$work/out.bc" || { cat "$work/plain" >&2; exit 1; }
	parsed=$((parsed + 1))
done
[ $parsed -gt 0 ] || { echo "skip: no llvm-as"; exit 77; }
echo "$(wc -l <"$work/ir") declarations, parsed by $parsed assemblers"
