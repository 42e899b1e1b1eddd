#!/bin/sh
# Compares the library with the interface that was released: functions, types and layouts, by libabigail.
#
#   packaging/abi.sh write BUILD                describes the library in packaging/abi; done when a version is tagged
#   packaging/abi.sh check BUILD                compares the library with that description
#   packaging/abi.sh describe LIBRARY HEADERS   prints the description of any library
#   packaging/abi.sh compare DESCRIPTION LIBRARY HEADERS
#
# BUILD has the library with its file for debuggers (make debug). Added functions are no difference: a program that
# was built with the released header keeps working. Exit status 77: abidw and abidiff (Debian: abigail-tools) are not
# installed, or nothing was released yet.
set -eu

cd "$(dirname "$0")/.."
version=$(sed -n '1p' packaging/VERSION)
description=packaging/abi/libtl_runtime.so.${version%%.*}.xml
skip() { echo "skip: the library's interface is not compared: $1"; exit 77; }
command -v abidw >/dev/null && command -v abidiff >/dev/null || skip "libabigail (abigail-tools) is not installed"

# Only types of the public headers count. A function that another file declares is taken for that declaration, unless
# exported interfaces alone are read. The description names no path of this machine.
describe() {
	abidw --exported-interfaces-only --headers-dir "$2" --drop-private-types --debug-info-dir "$(dirname "$1")" \
		--no-corpus-path --no-comp-dir-path --short-locs "$1"
}
compare() {
	abidiff --exported-interfaces-only --no-added-syms --headers-dir2 "$3" --drop-private-types \
		--debug-info-dir2 "$(dirname "$2")" "$1" "$2"
}

case ${1-} in
describe) describe "$2" "$3" ;;
compare) compare "$2" "$3" "$4" ;;
write)
	mkdir -p packaging/abi
	describe "$2/libtl_runtime.so.$version" include >"$description"
	echo "$description: the interface of $version"
	;;
check)
	[ -f "$description" ] || skip "$description is written by \`make abi\` when version ${version%%.*}.0.0 is tagged"
	compare "$description" "$2/libtl_runtime.so.$version" include || {
		echo "abi: the library differs from $description; programs that were built with that version may break" >&2
		exit 1
	}
	echo "abi: the library has the interface of $description"
	;;
*) echo "usage: abi.sh write|check BUILD" >&2; exit 2 ;;
esac
