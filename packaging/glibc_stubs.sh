#!/bin/sh
# Prints what to link with, so that a library built on a newer glibc runs with glibc 2.17 too.
#
#   packaging/glibc_stubs.sh DIRECTORY      leaves the files there and prints their paths
#
# glibc 2.32 and 2.34 moved the functions of libpthread and libdl into libc and gave each a second, newer version. Both
# versions name one function, and a linker takes the newer, which older systems lack. So shared libraries of empty
# functions with the older versions are made here. In front of libc they answer first: the library then asks
# libpthread.so.0 and libdl.so.2 for them, which every glibc has. CC and READELF are the tools; the functions and
# versions are those of the compiler's own libc.so.6, so this holds for each architecture. Nothing is printed for a
# glibc before 2.32.
set -eu

directory=${1:?usage: glibc_stubs.sh DIRECTORY}
cc=${CC:-cc}
libc=$($cc -print-file-name=libc.so.6)
[ -f "$libc" ] || exit 0
mkdir -p "$directory"

"${READELF:-readelf}" -W --dyn-syms "$libc" | awk -v directory="$directory" '
$8 ~ /^(pthread_|sem_|dl)[a-z0-9_]*@+GLIBC_2[.]/ {
	split($8, part, /@+/)
	split(part[2], number, /[_.]/)
	order = number[3] * 100 + number[4]
	if (order > 1799) newer[part[1]] = index($8, "@@") > 0 || newer[part[1]]
	else if (order >= best[part[1]]) { best[part[1]] = order; version[part[1]] = part[2] }
}
END {
	for (name in newer)
		if (newer[name] && name in version) {
			stub = directory "/" (name ~ /^dl/ ? "libdl.so.2" : "libpthread.so.0")
			print "void " name "(void) {}" >(stub ".c")
			print version[name] " { " name "; };" >(stub ".map")
		}
}'
for stub in libpthread.so.0 libdl.so.2; do
	[ -f "$directory/$stub.c" ] || continue
	# One node for each version, with all its functions.
	sort "$directory/$stub.map" | awk '
		{ names[$1] = names[$1] " " $3 }
		END { for (node in names) print node " {" names[node] " };" }' >"$directory/$stub.nodes"
	# shellcheck disable=SC2086 # a compiler and its flags are words
	$cc -shared -nostdlib -fPIC -fno-builtin -w -Wl,-soname,$stub -Wl,--version-script="$directory/$stub.nodes" \
		"$directory/$stub.c" -o "$directory/$stub"
	echo "$directory/$stub"
done
