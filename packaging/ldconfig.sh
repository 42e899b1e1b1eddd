#!/bin/sh
# ldconfig.sh PREFIX [DESTDIR]: has the loader find what was installed to PREFIX, where it looks there and this user may
# write its cache; otherwise says what is left to do. Nothing is to do for what is staged below DESTDIR.
set -eu
prefix=$1
[ -z "${2-}" ] || exit 0
for folder in "$prefix"/lib*/ "$prefix"/lib/*/; do
	[ ! -f "$folder/libtl_runtime.so" ] || library=${folder%/}
done
: "${library:?no libtl_runtime.so below $prefix}"
PATH=$PATH:/usr/sbin:/sbin
cached() { ldconfig -p 2>/dev/null | grep -qF "=> $library/libtl_runtime.so"; }
ldconfig 2>/dev/null || true
if cached; then
	echo "install: programs find $library/libtl_runtime.so"
elif [ "$(id -u)" = 0 ]; then
	echo "install: the loader does not look into $library: link with -Wl,-rpath,$library, or run"
	echo "    echo $library >/etc/ld.so.conf.d/tl_runtime.conf && ldconfig"
else
	echo "install: programs find the library once root has run"
	echo "    ldconfig"
fi
