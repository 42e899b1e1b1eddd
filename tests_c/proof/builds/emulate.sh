#!/bin/sh
# Runs an arm64 program under qemu-user. The program is told the name of a script that
# starts it again in the same way, for tests that do so.
#
#   emulate.sh PROGRAM [arguments...]
#
# Less address space is reserved: qemu keeps a table of every page that is.
program=$1
shift
again=$program.again
[ -x "$again" ] || {
	printf '#!/bin/sh\nexec qemu-aarch64 -L /usr/aarch64-linux-gnu -0 "%s" "%s" "$@"\n' "$again" "$program" >"$again.$$" &&
		chmod +x "$again.$$" && mv "$again.$$" "$again"
} || exit 1
export TL_HEAP_RESERVE="${TL_HEAP_RESERVE:-4GiB}" TL_ARENA_BYTES="${TL_ARENA_BYTES:-1MiB}"
exec "$again" "$@"
