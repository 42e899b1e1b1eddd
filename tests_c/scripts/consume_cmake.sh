#!/bin/sh
# consume_cmake.sh CMAKE BUILD SOURCE: installs to an empty prefix and builds the
# separate project tests_c/consumer with find_package. The prefix is renamed in
# between: the installed files must not hold it.
set -eu
cmake=$1 build=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix"
"$cmake" -S "$source/tests_c/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 ||
	{ cat "$work/log"; exit 1; }
"$cmake" --build "$work/consumer" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/consumer/consumer"
"$work/consumer/consumer_cpp"
if [ -e "$(find "$work/prefix" -name libtl_runtime.so | sed 's/so$/a/')" ]; then
	"$work/consumer/consumer_static"
	! readelf -d "$work/consumer/consumer_static" | grep -q libtl_runtime || { echo "it wants the shared library"; exit 1; }
else
	echo "skip: no static library was installed (make static)"
fi
for file in libtl_runtime_full.so libtl_runtime_full.a; do
	if [ -n "$(find "$work/prefix" -name $file)" ]; then
		target=tl_runtime_full
		[ $file = libtl_runtime_full.so ] || target=tl_runtime_full_static
		"$work/consumer/consumer_$target"
	else
		echo "skip: no $file was installed (make full full-static)"
	fi
done

# The next major version must be refused.
if "$cmake" -S "$source/tests_c/consumer" -B "$work/refused" -DCMAKE_PREFIX_PATH="$work/prefix" \
	-DTL_WANTED=999 >"$work/log" 2>&1; then
	echo "find_package accepted version 999"
	exit 1
fi
grep -q 'compatible' "$work/log" || { cat "$work/log"; exit 1; }
