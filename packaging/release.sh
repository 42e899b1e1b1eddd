#!/bin/sh
# Makes what belongs to the tag of a version: wheels, sdist, a tarball of the installed tree with the file for
# debuggers, the changes, bills of materials (SBOM), and checksums of them all.
#
#   packaging/release.sh ENVIRONMENT BUILD [MAKE]      into BUILD/release
#
# ENVIRONMENT has the packages of packaging/requirements.txt.
set -eu

environment=$1 build=$2 make=${3:-make}
cd "$(dirname "$0")/.."
version=$(sed -n '1p' packaging/VERSION)
release=$build/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

grep -q "^version = \"$version\"" python/pyproject.toml || {
	echo "release: packaging/VERSION says $version, python/pyproject.toml another version" >&2
	exit 1
}
awk -v version="$version" '/^## / { wanted = index($2, "[" version "]") } wanted' CHANGELOG.md >"$work/changes"
[ -s "$work/changes" ] || { echo "release: CHANGELOG.md has no section [$version]" >&2; exit 1; }
if sed -n 1p "$work/changes" | grep -q unreleased; then
	echo "release: a rehearsal: CHANGELOG.md calls $version unreleased"
fi
# Archives of one commit and folder are equal, whenever they are made.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

rm -rf "$release"
mkdir -p "$release"
"$make" --no-print-directory debug static full full-static tool
# The library of the wheels is the one of the tarball, so the file for debuggers serves both.
TL_RUNTIME_LIBRARY=$build/libtl_runtime.so packaging/build_wheels.sh "$environment" "$release"
"$environment/bin/python" -m build --no-isolation --sdist --outdir "$release" python

name=tl_runtime-$version-linux-$(uname -m)
# Below DESTDIR, or the loader's cache would be written.
"$make" --no-print-directory install PREFIX="/$name" DESTDIR="$work"
cp README.md CHANGELOG.md LICENSE "$work/$name/"
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
	gzip -n >"$release/$name.tar.gz"
cp "$work/changes" "$release/CHANGES-$version.md"
# What the library and the program tl hold of others, as their own files tell it (CycloneDX).
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
for file in libtl_runtime.so tl; do
	go run "$sbom" bin -json -noserial -notimestamp -version "v$version" \
		-output "$release/$(basename "$file" .so)-$version.cdx.json" "$build/$file"
done
(cd "$release" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS && ls -l)
