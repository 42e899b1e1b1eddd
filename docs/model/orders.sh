#!/bin/sh
# Checks orders.cpp with Relacy: every protocol in every execution, every mutant until it
# fails. Exits non-zero when a protocol does not hold or a mutant survives, with 77 where
# Relacy is not installed.
set -u
model=$(cd "$(dirname "$0")" && pwd)/orders.cpp
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null 2>&1 || { echo "skip: $cxx is not installed"; exit 77; }
echo '#include <relacy/relacy.hpp>' | "$cxx" -std=c++11 -w -fsyntax-only -x c++ - 2>/dev/null ||
	{ echo "skip: Relacy (relacy-dev) is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
"$cxx" -std=c++11 -O1 -w "$model" -o "$work/orders" || exit 1
bad=0
"$work/orders" >"$work/out" || bad=1
cat "$work/out"
executions=$(awk '{ for (i = 2; i <= NF; i++) if ($i == "executions") n += $(i - 1) } END { print n + 0 }' "$work/out")
mutants=$("$work/orders" mutants)
survived=0
for bug in $(seq "$mutants"); do
	"$work/orders" "$bug" || survived=$((survived + 1))
done
echo "proof: $executions executions of $(wc -l <"$work/out") protocols tried, $bad failed: weak memory by Relacy"
echo "proof: $mutants weakened orders tried, $survived failed: each has to be found"
[ $((bad + survived)) = 0 ]
