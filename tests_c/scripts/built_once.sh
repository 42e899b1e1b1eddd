#!/bin/sh
# built_once.sh SOURCE: packaging/build_library.sh builds when sources, settings or tools are others than the last time, or
# its file was replaced, and not when there is nothing new. What it calls is no go: that writes a file and tells.
set -eu
command -v gcc >/dev/null || { echo "skip: gcc is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/cshim" "$work/tree/runtime" "$work/tree/compiler"
cp -r "$1/packaging" "$1/include" "$1/capi" "$1/go.mod" "$work/tree/"
cat >"$work/bin/go" <<'END'
#!/bin/sh
case $1$2 in
envCC) echo gcc ;;
envGOVERSION) echo go1.26.0 ;;
version) echo "$GO_SAYS" ;;
build*)
	echo built >>"$LOG"
	while [ "$1" != -o ]; do shift; done
	date +%N >"$2"
	;;
esac
END
chmod +x "$work/bin/go"
unset CC CGO_CFLAGS CGO_LDFLAGS
export PATH="$work/bin:$PATH" LOG="$work/log" GO_SAYS=1.26.0
tried=0
# is built|fresh WHAT COMMAND...
is() {
	wanted=$1 what=$2 found=fresh
	shift 2
	: >"$LOG"
	"$@" "$work/tree/packaging/build_library.sh" "$work/library"
	[ ! -s "$LOG" ] || found=built
	[ $found = "$wanted" ] || { echo "$what: the library is $found"; exit 1; }
	[ -s "$work/library/libtl_runtime.so" ] || { echo "$what: there is no library"; exit 1; }
	tried=$((tried + 1))
}
is built 'the first time' env
is fresh 'the second time' env
is fresh 'the compiler by its path' env CC="$(command -v gcc)"
is built 'other flags' env CGO_CFLAGS=-O3
is built 'the first flags again' env
echo '/* new */' >"$work/tree/cshim/new.c"
is built 'a new source' env
echo '/* other */' >"$work/tree/cshim/new.c"
is built 'another source' env
is built 'another Go' env GO_SAYS=1.26.1
is built 'the first Go' env
echo other >"$work/library/libtl_runtime.so.$(sed -n 1p "$1/packaging/VERSION")"
is built 'another file in its place' env
is fresh 'the last time' env
echo "built_once: $tried cases"
