#!/bin/sh
# build.sh BUILD VENV: makes the documentation site in BUILD/docs, with what VENV/bin has.
# Sphinx sees the pages of the repository, of docs/site/pages, and the generated ones of the
# reference, side by side in BUILD/docs-source. Every warning is an error: a link that leads
# nowhere, a page that no list names. One process reads all pages, since two do not see a name that
# each of them describes. The network is not used.
set -eu
build=$1 venv=$2
source=$build/docs-source

rm -rf "$source" "$build/docs"
mkdir -p "$source"
find . \( -path ./build -o -path ./docs/site -o -path ./python/build -o -name '.?*' \) -prune -o \( -name '*.md' -o -path './docs/*.svg' \) \
	-exec cp -p --parents {} "$source" \;
cp -R docs/site/pages/. "$source"
go run ./tools/gen -reference "$source/reference/c"
"$venv/bin/python" docs/site/cpp_reference.py "$source/reference/cpp"
"$venv/bin/python" -m sphinx --quiet --fail-on-warning --keep-going -b html -c docs/site \
	-d "$build/docs-trees" "$source" "$build/docs"
echo "docs: $(find "$build/docs" -name '*.html' | wc -l) pages in $build/docs"
