#!/bin/sh
# soname.sh LIBRARY MAJOR: programs link against libtl_runtime.so.MAJOR, and the
# links beside the library lead to it.
set -eu
command -v readelf >/dev/null || { echo "skip: readelf is not installed"; exit 77; }

soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = "libtl_runtime.so.$2" ] || { echo "soname is '$soname'"; exit 1; }

directory=$(dirname "$1")
for link in "libtl_runtime.so.$2" libtl_runtime.so; do
	[ "$(readlink -f "$directory/$link")" = "$(readlink -f "$1")" ] || { echo "$link does not lead to $1"; exit 1; }
done
echo "soname $soname"
