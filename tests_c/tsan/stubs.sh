#!/bin/sh
# stubs.sh SLOW_HEADER ENTRY_HEADER OUTPUT: a weak definition for every Go function
# that the shim calls, so that a fake path defines only those it needs. A call of another ends the program.
set -eu
{
	cat <<-'EOF'
		/* Generated from the prototypes of the slow path. */
		#include <stdio.h>
		#include <stdlib.h>
		#include "base/go.h"

		static _Noreturn void unexpected(const char* name)
		{
			fprintf(stderr, "the fake slow path has no %s\n", name);
			abort();
		}

	EOF
	sed -n 's/^\(extern \)\{0,1\}\(.*[ *]\)\(tlgo_[a-z0-9_]*\|tlentry_[a-z0-9_]*\|tlc_pool_[a-z_]*\)(\(.*\));$/\2\3(\4)/p' "$1" "$2" |
		while IFS= read -r prototype; do
			arguments=$(printf '%s' "$prototype" | sed 's/^[^(]*(//; s/)$//')
			name=${prototype%%(*}
			body="unexpected(\"${name##*[ \*]}\");"
			case $arguments in
			void) ;;
			*) body="$(printf '%s' "$arguments" | sed 's/[^,]*[ *]\([a-z0-9_]*\)\(,\|$\)/(void)\1; /g')$body" ;;
			esac
			echo "__attribute__((weak)) $prototype { $body }"
		done
} >"$3"
