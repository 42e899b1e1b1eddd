#!/bin/sh
# Compiles python/src to _fast.abi3.so, the extension module of the Python package.
#
#   packaging/build_python_fast.sh OUTPUT_DIR [PYTHON]
#
# The module is for the limited API of CPython 3.11, so one file serves 3.11 and every later version. It is not linked
# with libtl_runtime: the package hands it the functions of the library that it has loaded. PYTHON, python3 unless it
# is given, names the interpreter whose headers are taken. CC and CFLAGS are the compiler's. Exit status 77: there is no
# compiler, or PYTHON is not CPython 3.11 or newer with its headers.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: build_python_fast.sh OUTPUT_DIR [PYTHON]}
python=${2:-python3}
cc=${CC:-cc}

skip() { echo "skip: _fast.abi3.so ($1)"; exit 77; }

# shellcheck disable=SC2086 # a compiler and its flags are words
set -- $cc
command -v "$1" >/dev/null || skip "there is no C compiler $1"
headers=$("$python" -c '
import sys, sysconfig
usable = sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and "t" not in sys.abiflags
print(sysconfig.get_path("include") if usable else "")') || skip "$python does not run"
[ -n "$headers" ] || skip "$python is not CPython 3.11 or newer, or has no global interpreter lock"
[ -f "$headers/Python.h" ] || skip "$headers has no Python.h; Debian calls the package python3-dev"

mkdir -p "$out"
# shellcheck disable=SC2086
$cc -std=gnu11 -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing ${CFLAGS-} -I"$root/include" -I"$headers" \
	-shared "$root"/python/src/fast_*.c ${LDFLAGS-} -o "$out/_fast.abi3.so.$$"
mv -f "$out/_fast.abi3.so.$$" "$out/_fast.abi3.so"
echo "$out/_fast.abi3.so: for CPython 3.11 and newer"
