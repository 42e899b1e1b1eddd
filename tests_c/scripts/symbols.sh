#!/bin/sh
# symbols.sh LIBRARY HEADER: the library shows tl_* and nothing else, and every
# function that the header declares.
set -eu
command -v nm >/dev/null || { echo "skip: nm is not installed"; exit 77; }

exported=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | sort -u)
# The version node of the map is listed too, as an absolute symbol.
foreign=$(printf '%s\n' "$exported" | grep -v -e '^tl_' -e '^TL_[0-9.]*$' || true)
if [ -n "$foreign" ]; then
	echo "symbols that are not ours:"
	echo "$foreign"
	exit 1
fi

# A declaration is a line that starts with a type and names tl_x( outside comments.
declared=$(sed -n 's/^TL_API .*[ *]\(tl_[a-z0-9_]*\)(.*/\1/p' "$2" | sort -u)
[ -n "$declared" ] || { echo "no declarations found in $2"; exit 1; }
missing=0
for name in $declared; do
	printf '%s\n' "$exported" | grep -qx "$name" || { echo "declared, not exported: $name"; missing=1; }
done
[ $missing = 0 ]
echo "$(printf '%s\n' "$exported" | wc -l) symbols exported, all tl_*"
