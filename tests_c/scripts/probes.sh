#!/bin/sh
# probes.sh LIBRARY PROGRAM: the library has its probes, each is one nop, and a debugger that stops at them finds the
# arguments, on both paths.
set -eu
library=$1 program=$2
command -v readelf >/dev/null || { echo "skip: readelf is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }

# A line each: probe, address, address of the base, arguments.
readelf -n "$library" | awk '$1 == "Provider:" { provider = $2 } $1 == "Name:" { name = $2 }
	$1 == "Location:" { gsub(",", ""); at = $2; base = $4 }
	$1 == "Arguments:" && provider == "tl_runtime" { print name, at, base, $2, $3 }' >"$work/probes"
for probe in allocate free cgo_call pool_miss limit; do
	grep -q "^$probe " "$work/probes" || fail "the library has no probe $probe"
done
# perf reads registers, numbers, and memory at a register and an offset.
! grep -E '\(%[a-z0-9]+,' "$work/probes" || fail 'perf cannot read these operands'
base=$(readelf -SW "$library" | awk '{ for (i = 1; i < NF; i++) if ($i == ".stapsdt.base") print "0x" $(i + 2) }')
[ -n "$base" ] || fail 'the library has no section .stapsdt.base'
if command -v objdump >/dev/null; then
	while read -r probe at noted _; do
		[ "$((noted))" = "$((base))" ] || fail "$probe notes the base $noted, and it is at $base"
		objdump -d --start-address="$at" --stop-address="$((at + 4))" "$library" | grep -qE '^ +[0-9a-f]+:.*[[:space:]]nop' ||
			fail "at $at is no nop, but the probe $probe"
	done <"$work/probes"
fi
echo "$(wc -l <"$work/probes") places of 5 probes, each a nop"

command -v gdb >/dev/null || { echo "skip: gdb is not installed, no program stops at the probes"; exit 0; }
cat >"$work/commands" <<'END'
set breakpoint pending on
set confirm off
set debuginfod enabled off
set env LD_BIND_NOW 1
break main
run
break -probe-stap tl_runtime:allocate
commands
silent
printf "got allocate %#lx %lu\n", $_probe_arg0, $_probe_arg1
continue
end
break -probe-stap tl_runtime:free
commands
silent
printf "got free %#lx\n", $_probe_arg0
continue
end
break -probe-stap tl_runtime:pool_miss
commands
silent
printf "got pool_miss %lu %lu\n", $_probe_arg0, $_probe_arg1
continue
end
break -probe-stap tl_runtime:limit
commands
silent
printf "got limit %lu\n", $_probe_arg1
continue
end
break -probe-stap tl_runtime:cgo_call
commands
silent
printf "got cgo_call %s\n", (char*)$_probe_arg0
continue
end
continue
END
for path in 1 0; do
	TL_FASTPATH=$path TL_MEM_LIMIT=256MiB gdb -batch -nx -x "$work/commands" "$program" >"$work/said" 2>&1 || true
	if grep -qE 'ptrace|Could not trace|Operation not permitted' "$work/said"; then
		echo 'skip: programs cannot be traced here'
		exit 0
	fi
	grep -q 'exited normally' "$work/said" || { cat "$work/said"; fail "TL_FASTPATH=$path: the program did not end well"; }
	wanted=0
	sed -n 's/^.*want //p' "$work/said" | sort | uniq -c >"$work/want"
	while read -r times line; do
		wanted=$((wanted + times))
		got=$(grep -cxF "got $line" "$work/said" || true)
		[ "$got" = "$times" ] || [ "${line%% *}" = limit ] && [ "$got" -ge "$times" ] ||
			{ cat "$work/said"; fail "TL_FASTPATH=$path: '$line' was told $got times, not $times"; }
	done <"$work/want"
	[ $wanted -ge 11 ] || { cat "$work/said"; fail "TL_FASTPATH=$path: only $wanted events were wanted"; }
	echo "TL_FASTPATH=$path: $wanted events as the program says"
done
