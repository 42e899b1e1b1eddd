#!/bin/sh
# full.sh SOURCE FULL SMALL: the full library has its own name, shows what its list says and nothing else, and has all
# that the other one has.
set -eu
source=$1 full=$2 small=$3
fail() { echo "$*" >&2; exit 1; }
shown() { nm -D --defined-only "$1" | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

readelf -d "$full" | grep -q 'soname: \[libtl_runtime_full\.so\.1\]' || fail 'the full library has another soname'
newest=$(objdump -T "$full" | grep -o 'GLIBC_2\.[0-9]*' | sort -u -t. -k2 -n | tail -n 1)
[ "${newest#GLIBC_2.}" -le 17 ] || fail "the full library needs $newest"
shown "$full" >"$work/full"
shown "$small" >"$work/small"
sed -n 's/^\t\(tl_[a-z0-9_]*\);$/\1/p' "$source/capi/exports_full.map" | sort | diff - "$work/full" ||
	fail 'the full library shows other symbols than exports_full.map lists'
[ -z "$(comm -13 "$work/full" "$work/small")" ] || fail 'the full library lacks what the other one has'
grep -q '^tl_graph_plan$' "$work/full" || fail 'the full library has no graphs'
! grep -q 'tl_graph\|tl_execution' "$work/small" || fail 'the small library has graphs'
