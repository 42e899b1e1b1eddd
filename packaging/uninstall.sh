#!/bin/sh
# Removes what `make install` or `cmake --install` has put below a prefix, by the list that the installation left there.
#
#   packaging/uninstall.sh PREFIX      with DESTDIR in front of it, where that is set
set -eu

prefix=${DESTDIR-}${1:?usage: uninstall.sh PREFIX}
list=$prefix/share/tl_runtime/installed.txt
[ -f "$list" ] || {
	echo "uninstall: $list does not exist; give the PREFIX and DESTDIR that make install had" >&2
	exit 1
}
cd "$prefix"
folders=$(while read -r file; do
	dirname "$file"
done <share/tl_runtime/installed.txt | sort -ur)
while read -r file; do
	rm -f "./$file"
done <share/tl_runtime/installed.txt
rm -f share/tl_runtime/installed.txt
# Folders in which nothing else lies, but for those that every prefix has: bin, include, lib, share.
for folder in $folders; do
	while [ "$(dirname "$folder")" != . ]; do
		rmdir "$folder" 2>/dev/null || break
		folder=$(dirname "$folder")
	done
	case $folder in
	*tl_runtime*) [ ! -d "$folder" ] || echo "uninstall: $prefix/$folder holds other files and stays" ;;
	esac
done
echo "uninstall: removed TL Runtime from $prefix"
