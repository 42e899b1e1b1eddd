#!/bin/sh
# host.sh node|java: the library in a host that has its own stacks, collector and signal handlers.
# shellcheck source=tests_c/proof/builds/common.sh
. tests_c/proof/builds/common.sh
rounds=$(awk -v scale="${PROVE_SCALE:-0.01}" 'BEGIN { n = int(2000 * scale); print n < 20 ? 20 : n }')
# native SOURCE FILE: compiles what the host loads.
native() {
	quietly cc -O1 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -Iinclude "tests_c/proof/hosts/$1" -o "$work/$2" \
		-L"$build" -ltl_runtime -Wl,-rpath,"$build"
}
case $1 in
node)
	needs cc node
	native addon.c addon.node
	node tests_c/proof/hosts/host.js "$work/addon.node" "$rounds"
	;;
java)
	needs cc java javac
	native jni.c libhost.so
	quietly javac -d "$work" tests_c/proof/hosts/Host.java
	java -Xcheck:jni -Xmx128m -Djava.library.path="$work" -cp "$work" Host "$rounds" >"$work/said" 2>&1
	status=$?
	cat "$work/said"
	! grep -E 'FATAL ERROR|^WARNING in native' "$work/said" >&2 || exit 1
	exit $status
	;;
esac
