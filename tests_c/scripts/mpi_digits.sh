#!/bin/sh
# Trains examples/mpi with one, two, three and four processes: the weights are the same to the last bit.
#
#   mpi_digits.sh MPIEXEC PROGRAM DIGITS.csv.gz
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gzip -dc "$3" >"$work/digits.csv"
for processes in 1 2 3 4; do
	sh "$(dirname "$0")/mpiexec.sh" "$1" $processes "$2" "$work/digits.csv" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
	cat "$work/said"
	sed -n 's/^exact .*weights \([0-9a-f]*\).*/\1/p' "$work/said" >>"$work/weights"
done
[ "$(wc -l <"$work/weights")" = 4 ] && [ "$(sort -u "$work/weights" | wc -l)" = 1 ] ||
	{ echo "the weights depend on the number of processes:"; cat "$work/weights"; exit 1; }
