#!/bin/sh
# run.sh [quick]: checks counts.pml, idle.pml, tails.pml and cells.pml: every configuration to the end, every mutant until it
# fails.
# Exits non-zero when a configuration has an error or was not searched to the
# end, or when a mutant survives.  RUN=pattern picks lines by name.
#
# What all of it was last right for is in the file `checked`. With `quick` it is not searched once more while models and
# configurations are those: only what takes seconds, and a mutant of each model. When they are others, all of it is.
set -u
how=${1:-whole}
here=$(cd "$(dirname "$0")" && pwd)
model=$here/counts.pml
cc=${CC:-cc}
for tool in spin "$cc"; do
	command -v "$tool" >/dev/null 2>&1 && continue
	echo "skip: $tool is not installed"
	exit 0
done
sum=$({ cat "$here"/*.pml && sed -n '/^exits=/,$p' "$here/run.sh"; } | cksum)
optimised=-O2 quickly='.'
if [ "$how" = quick ] && [ "$(cat "$here/checked" 2>/dev/null)" = "$sum" ]; then
	optimised=-O1 quickly='^(floats|dead|again|rogue|late|later|idle-.*|tails.*|cells.*|mutant (1|idle 1|tails 1|cells 1))$'
	echo 'skip: the larger configurations and most mutants, since the models are those for which all were right'
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
bad=0

# search OPTIMISATION DEFINES: leaves the verifier's report in out
search() {
	opt=$1
	shift
	spin "$@" -a "$model" >log 2>&1 &&
		$cc "$opt" -w -DSAFETY -DCOLLAPSE -DMEMLIM=8000 -o pan pan.c >>log 2>&1 || { cat log >&2; return 1; }
	./pan -m10000 -w23 >out 2>&1
	grep -q '^State-vector' out || { cat out >&2; return 1; }
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' out)
	depth=$(sed -n 's/.*depth reached \([0-9]*\), errors.*/\1/p' out)
	errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out)
	seconds=$(sed -n 's/.*elapsed time \([0-9.e+]*\) seconds/\1/p' out)
	case $(grep '^pan:1:' out) in
	'') fault= ;;
	*'invalid end state'*) fault='somebody is stuck' ;;
	*'freed[0])'*'freed['*) fault='an object is never freed' ;;
	*'(stale||'*freed* | *'(stale|| '*freed*) fault='use of a freed record' ;;
	*'refs[o]==0))&&(loc'*) fault='freed too early or twice' ;;
	*x_floats==tokens*) fault='the count is wrong, or what floats of it' ;;
	*x_floats*) fault='loc and sh do not add up' ;;
	*'==me)'*) fault='loc written without holding the context' ;;
	*reap_flag*) fault='work is left and nobody knows' ;;
	*'holder['*) fault='two holders of one context' ;;
	*'stale)||'*) fault='a dead record is changed' ;;
	*'word[w]'*) fault='queued twice' ;;
	*) fault=$(sed -n 's/^pan:1: //p' out) ;;
	esac
}

line() { printf '%-28s %9s states %4s deep %6s s  %s\n' "$1" "$states" "$depth" "$seconds" "$2"; }

wanted() { # NAME
	case $1 in *${RUN:-}*) echo "$1" | grep -qE "$quickly" ;; *) false ;; esac
}

clean() {
	wanted "$1" || return
	name=$1
	shift
	if ! search "$optimised" "$@"; then
		verdict='FAILED to run'
	elif [ "$errors" != 0 ]; then
		verdict="ERROR: $fault"
	elif grep -q -e 'Search not completed' -e 'too small' -e 'MEMLIM' -e 'out of memory' out; then
		verdict='NOT EXHAUSTIVE'
	else
		line "$name" 'no error'
		return
	fi
	bad=1
	line "$name" "$verdict"
}

mutant() {
	wanted "mutant $1" || return
	name="mutant $1"
	shift
	if ! search -O0 "$@"; then
		verdict='FAILED to run'
	elif [ "$errors" = 0 ]; then
		verdict='SURVIVED'
	else
		line "$name" "caught: $fault"
		return
	fi
	bad=1
	line "$name" "$verdict"
}

states=- depth=- seconds=-
exits='-DNA=2 -DBT=0 -DBR=0'
short='-DNA=1 -DBT=1 -DBR=0 -DF_SHARE=1'
floats='-DNA=0 -DBT=2 -DBR=2 -DF_FLOAT=1 -DF_PLAIN=1 -DF_SHARE=1 -DF_SPLIT=1'
moves='-DNA=1 -DBT=2 -DBR=2 -DF_FLOAT=1 -DF_MOVE=1 -DF_SPLIT=1'
limits='-DNA=1 -DBT=2 -DBR=2 -DF_FLOAT=1 -DF_MOVE=1 -DF_SPLIT=1 -DLIMIT=1'
adopters='-DNA=1 -DBT=1 -DBR=1 -DBA=1 -DF_FLOAT=1 -DF_SHARE=1 -DF_ACQUIRE=1'
given='-DNA=1 -DBT=0 -DBR=3 -DBA=2 -DF_FLOAT=1 -DF_PLAIN=1 -DF_MOVE=1'
dead='-DNA=1 -DBT=1 -DBR=2 -DBA=1 -DF_DEAD=1'
again='-DNA=1 -DBT=4 -DBR=0 -DF_AGAIN=1 -DF_ACQUIRE=1'
rogue='-DNA=0 -DBT=1 -DBR=2 -DF_AGAIN=1 -DF_ROGUE=1'
late='-DNA=0 -DBT=2 -DBR=2 -DF_AGAIN=1 -DF_ROGUE=2'
weak='-DNA=1 -DBT=2 -DBR=1 -DBA=1 -DF_WEAK=1 -DF_SHARE=1'
pair='-DNA=0 -DBT=1 -DBR=1 -DF_WEAK=1 -DF_SHARE=1'
later='-DNA=0 -DBT=3 -DBR=2 -DF_WEAK=1 -DF_SHARE=1 -DF_AGAIN=1'

clean everything -DNA=1 -DBT=1 -DBR=1 -DF_FLOAT=1 -DF_PLAIN=1 -DF_SHARE=1
clean exits $exits -DF_SPLIT=1
clean adopters $adopters
clean floats -DNA=0 -DBT=3 -DBR=3 -DF_FLOAT=1 -DF_PLAIN=1 -DF_SHARE=1 -DF_SPLIT=1
clean moves $moves
clean limits $limits
clean two-objects -DNO=2 -DNA=0 -DBT=1 -DBR=1 -DF_FLOAT=1 -DF_PLAIN=1
clean dead $dead
clean again $again
clean rogue $rogue
clean late $late
clean weak $weak
clean later $later

for bug in $(seq 60); do
	case $bug in
	9 | 29 | 31 | 32 | 41 | 42) mutant "$bug" -DBUG="$bug" $exits ;;
	5 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 34 | 35 | 37 | 40 | 54 | 55 | 56 | 57 | 58 | 59) mutant "$bug" -DBUG="$bug" $floats ;;
	23 | 24 | 25 | 33) mutant "$bug" -DBUG="$bug" $dead ;;
	36) mutant "$bug" -DBUG="$bug" $moves ;;
	60) mutant "$bug" -DBUG="$bug" $given ;;
	39) mutant "$bug" -DBUG="$bug" $limits ;;
	26) mutant "$bug" -DBUG="$bug" $rogue ;;
	50 | 51 | 52 | 53) mutant "$bug" -DBUG="$bug" $late ;;
	27 | 28) mutant "$bug" -DBUG="$bug" $again ;;
	43 | 47 | 48) mutant "$bug" -DBUG="$bug" $pair ;;
	44 | 45 | 46 | 49) mutant "$bug" -DBUG="$bug" $later ;;
	*) mutant "$bug" -DBUG="$bug" $short ;;
	esac
done

model=$here/idle.pml
clean idle-magazines
clean idle-inbox -DINBOX=1
for bug in $(seq 10); do mutant "idle $bug" -DBUG="$bug"; done
for bug in 11 12 13; do mutant "idle $bug" -DINBOX=1 -DBUG="$bug"; done

model=$here/tails.pml
clean tails
for bug in $(seq 4); do mutant "tails $bug" -DBUG="$bug"; done

model=$here/cells.pml
clean cells
clean cells-that-stick -DMOST=3
for bug in 1 2 3 4 6; do mutant "cells $bug" -DBUG="$bug"; done
mutant "cells 5" -DMOST=3 -DBUG=5
[ "$bad${RUN:-}$quickly" != 0. ] || echo "$sum" >"$here/checked"
exit $bad
