# shellcheck shell=sh
# What the scripts of this folder share; they are started in the project's root. With
# PROVE_SCALE below 1 they try a few programs instead of all.
set -u
root=$(pwd)
build=${BUILD:-$root/build}
here=$root/tests_c/proof/builds
work=$build/proof/$(basename "$0" .sh)${1:+-$1}
mkdir -p "$work"

# The sample: programs, and the tests that they are registered as.
few='scopes references objects types tensors memory_pool registry vec frames clone registry_stress'
few_tests="^($(echo "$few" | tr ' ' '|'))\.(fast|slow)\$"

# Tests that are about another library than the one that was built, or measure the machine.
never='^(consume_|headers\.|compilers|linear|instructions|symbols|soname|tsan\.)'

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

# quietly COMMAND...: what it says is shown when it fails, and ends the script.
quietly() {
	"$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; exit 1; }
}

# build_tests DIRECTORY: the test programs that are wanted.
build_tests() {
	if whole; then
		quietly nice cmake --build "$1" --parallel "$(nproc)" --target all rest_programs
	else
		# shellcheck disable=SC2046 # one target a word
		quietly nice cmake --build "$1" --parallel "$(nproc)" --target $(for name in $few; do echo "${name}_test"; done)
	fi
}

# run_tests WHAT DIRECTORY [NEVER]: claims how many tests ran and how many of them failed.
run_tests() {
	if whole; then set -- "$1" "$2" -E "$never${3:+|$3}"; else set -- "$1" "$2" -R "$few_tests"; fi
	what=$1 directory=$2
	shift 2
	nice ctest --test-dir "$directory" --output-on-failure --parallel "$(nproc)" "$@" >"$work/tests.log" 2>&1
	status=$?
	ran=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#' "$work/tests.log")
	skipped=$(grep -c '\*\*\*Skipped' "$work/tests.log")
	failed=$(grep -cE '\*\*\*(Failed|Timeout|Exception|Not Run)|Subprocess aborted' "$work/tests.log")
	[ $status = 0 ] || { [ "$failed" -gt 0 ] || failed=1; cat "$work/tests.log"; }
	echo "proof: $((ran - skipped)) tests tried, $failed failed, $skipped skipped: $what"
	[ $status = 0 ]
}

# over LIBRARY COMMAND...: with this library instead of the one that the programs were linked with.
over() {
	directory=$1
	shift
	LD_LIBRARY_PATH=$directory ldd "$build/cmake/tests_c/scopes_test" | grep -qF "$directory/libtl_runtime.so" ||
		{ echo "the tests do not load the library of $directory"; return 1; }
	LD_LIBRARY_PATH=$directory "$@"
}
