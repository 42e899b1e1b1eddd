#!/bin/sh
# consume_pkgconfig.sh CMAKE BUILD SOURCE CC: installs to an empty prefix, moves
# it, and builds tests_c/consumer with what pkg-config says.
set -eu
cmake=$1 build=$2 source=$3 cc=$4
command -v pkg-config >/dev/null || { echo "skip: pkg-config is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix"
pc=$(find "$work/prefix" -name tl_runtime.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

[ "$(pkg-config --modversion tl_runtime)" = "$(cat "$source/packaging/VERSION")" ]
[ -f "$(pkg-config --variable=llvmdir tl_runtime)/tl_runtime.ll" ]
libdir=$(pkg-config --variable=libdir tl_runtime)
# The flags are a list of words.
# shellcheck disable=SC2046
"$cc" "$source/tests_c/consumer/main.c" $(pkg-config --cflags --libs tl_runtime) -Wl,-rpath,"$libdir" -o "$work/consumer"
if [ -e "$(pkg-config --variable=archive tl_runtime)" ]; then
	# shellcheck disable=SC2046
	"$cc" -static "$source/tests_c/consumer/main.c" $(pkg-config --static --cflags --libs tl_runtime) -o "$work/static" 2>"$work/said" ||
		{ cat "$work/said"; exit 1; }
	"$work/static"
else
	echo "skip: no static library was installed (make static)"
fi
if pkg-config --exists tl_runtime_full; then
	[ "$(pkg-config --modversion tl_runtime_full)" = "$(cat "$source/packaging/VERSION")" ]
	# shellcheck disable=SC2046
	"$cc" "$source/tests_c/consumer/graph.c" $(pkg-config --cflags --libs tl_runtime_full) -Wl,-rpath,"$libdir" -o "$work/full"
	"$work/full"
else
	[ -z "$(find "$work/prefix" -name 'libtl_runtime_full.*')" ] || { echo "no tl_runtime_full.pc is beside the library"; exit 1; }
	echo "skip: no full library was installed (make full)"
fi
"$work/consumer"
# shellcheck disable=SC2046
"$cc" -O2 -DTL_INLINE "$source/tests_c/consumer/main.c" $(pkg-config --cflags --libs tl_runtime) -Wl,-rpath,"$libdir" \
	-o "$work/inlined"
"$work/inlined"
