# What the scripts of this folder share; they are started in the project's root.
# PROVE_SCALE below 1: a few tests of each section instead of all.
set -u
root=$(pwd)
build=${BUILD:-$root/build}
here=$root/tests_c/proof/builds
work=$build/proof/$(basename "$0" .sh)${1:+-$1}
few='scopes references objects typed tensors memory_pool registry vec frames clone stress registry_stress'
few_tests='^(scopes|references|objects|types|tensors|memory_pool|registry|vec|frames|clone|registry_stress)\.(fast|slow)$'
mkdir -p "$work"

whole() { awk "BEGIN { exit !(${PROVE_SCALE:-1} >= 1) }"; }

skip() {
	echo "skip: $1"
	exit 77
}

needs() {
	for tool; do
		command -v "$tool" >/dev/null 2>&1 || skip "$tool is not installed"
	done
}

# tests WHAT CTEST_ARGUMENTS...: runs them, claims what ran, and returns whether all passed.
tests() {
	what=$1
	shift
	nice ctest --output-on-failure --parallel "$(nproc)" "$@" >"$work/ctest.log" 2>&1
	status=$?
	ran=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#' "$work/ctest.log")
	skipped=$(grep -c '\*\*\*Skipped' "$work/ctest.log")
	failed=$(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)|Child aborted' "$work/ctest.log")
	[ $status = 0 ] || { [ "$failed" -gt 0 ] || failed=1; cat "$work/ctest.log"; }
	echo "proof: $((ran - skipped)) tests tried, $failed failed, $skipped skipped: $what"
	[ $status = 0 ]
}
