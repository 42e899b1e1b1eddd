#!/bin/sh
# Builds the library and the program tl; the one place that knows the flags. make, CMake
# and the Python package all call it.
#
#   packaging/build_library.sh [--full] [--debug|--static|--tool] DIRECTORY [extra go build arguments...]
#
# leaves DIRECTORY/libtl_runtime.so.1.0.0 and the links .so.1 and .so; with --debug also
# libtl_runtime.so.1.0.0.debug, which debuggers find by the library's .gnu_debuglink, and from then on there
# is one at each build into this directory; with --static libtl_runtime.a alone; with --tool the program tl alone.
# --full makes the same files of libtl_runtime_full, which has graphs as well (capi/graphs.go) and is linked instead. CC,
# CGO_CFLAGS and CGO_LDFLAGS are go build's, OBJCOPY, LD and READELF those of the binutils; a CC that compiles for arm64
# builds for arm64.
set -eu

kind=shared library=libtl_runtime exports=capi/exports.map tags=
if [ "${1-}" = --full ]; then
	library=libtl_runtime_full exports=capi/exports_full.map tags='-tags full'
	shift
fi
case ${1-} in --debug | --static | --tool) kind=${1#--}; shift ;; esac

root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '1p' "$root/packaging/VERSION")
major=${version%%.*}

command -v go >/dev/null || {
	echo "build_library.sh: Go is not installed; install the version of go.mod or later from https://go.dev/dl" >&2
	exit 1
}

# What the header refuses, and what C compiler and Go would not agree on.
cc=${CC:-$(go env CC)}
# Go compiles C anew for another name of its compiler: cmake says /usr/bin/cc.
same() { [ "$(readlink -f "$(command -v "$1")")" = "$(readlink -f "$(command -v "$2")")" ]; }
if [ -n "${CC-}" ] && command -v gcc >/dev/null && same "$cc" gcc; then export CC=gcc cc=gcc; fi
refuse() { echo "build_library.sh: $cc: $1" >&2; exit 1; }
command -v "${cc%% *}" >/dev/null || refuse "is not installed; install a C compiler such as gcc, or name one in CC"
# shellcheck disable=SC2086 # a compiler and its flags are words
if ! said=$(echo '#include "tl_runtime.h"' | $cc ${CGO_CFLAGS-} -I"$root/include" -fsyntax-only -x c - 2>&1); then
	why=$(printf '%s\n' "$said" | sed -n 's/.*#error "\(TL .*\)"$/\1/p; s/.*error: "\(TL .*\)"$/\1/p' | sed 1q)
	refuse "${why:-$said}"
fi
# cshim/host/go_1_26.h knows the inside of one version of Go.
case $(cd "$root" && go env GOVERSION) in
go1.26 | go1.26[.r]*) ;;
*)
	echo "build_library.sh: building with Go 1.26, which go downloads where it is not here" >&2
	export GOTOOLCHAIN=go1.26.0
	;;
esac
case $($cc -dumpmachine) in
x86_64-*) target=amd64 ;;
aarch64-*) target=arm64 ;;
*) refuse "compiles for $($cc -dumpmachine); TL Runtime is for x86-64 and arm64" ;;
esac
[ "${GOARCH:-$target}" = $target ] || refuse "compiles for $target, and GOARCH is $GOARCH"
export GOOS=linux GOARCH=$target

mkdir -p "$1"
out=$(cd "$1" && pwd)
shift

# Sources may lie in a folder of another repository, or in one that git refuses to read.
GOFLAGS="${GOFLAGS-} -buildvcs=false"
export GOFLAGS

# Without C it is one file that needs no library. It stays where it is, so that go build sees that it is fresh.
if [ $kind = tool ]; then
	cd "$root"
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' "$@" -o "$out/tl" ./cmd/tl
	exit
fi

# shellcheck disable=SC2086 # none, or a flag and its word
set -- $tags "$@"
file=$library.so.$version
staging=$out/.staging-$library-$kind

# gcshrinkstackoff keeps what runtime/headroom reserves; asyncpreemptoff keeps Go from interrupting the
# program's threads by SIGURG. Go's own default for C is -g -O2, which is lost where CGO_CFLAGS asks for
# something else. Vectors of neighbouring scalars are left out: gcc joins two counters by six instructions where three
# do, and loads as a whole what was stored in parts.
settings='-X runtime.godebugDefault=gcshrinkstackoff=1,asyncpreemptoff=1'
# cshim/host/go_1_26.h
replaced='x_cgo_sys_thread_create x_cgo_thread_start x_cgo_getstackbound x_cgo_init x_cgo_mmap x_cgo_munmap crosscall2'
prefix=$($cc -dumpmachine)-
[ "$prefix" = "$(uname -m)-linux-gnu-" ] || ! command -v "${prefix}objcopy" >/dev/null 2>&1 || binutils=$prefix
objcopy=${OBJCOPY:-${binutils-}objcopy} ld=${LD:-${binutils-}ld}
cd "$root"
export CGO_CFLAGS="-O2 -fno-tree-slp-vectorize ${CGO_CFLAGS--g}" CGO_ENABLED=1

# shared LDFLAGS [go build arguments...]: the version script has to be absolute, because the linker runs in a
# directory of cgo's. Version script, soname and --wrap cannot stand in a #cgo line, which refuses them.
shared() {
	flags=$1
	shift
	wrapped=
	for name in $replaced; do
		wrapped="$wrapped -Wl,--wrap=$name"
	done
	older_libc=$(CC=$cc packaging/glibc_stubs.sh "$staging/stubs" | tr '\n' ' ')
	go build -buildmode=c-shared -trimpath \
		-ldflags "$flags $settings -extldflags '-Wl,--version-script=$root/$exports -Wl,-soname,$library.so.$major$wrapped $older_libc'" \
		"$@" -o "$staging/$library.so" ./capi
}

# An archive has neither --wrap nor a version script, so both are applied here: its objects are linked into one, in
# which the names are replaced, and all symbols but the public ones become local. A section name that is a C
# identifier gets symbols for its start and end from the linker: so the code finds out which frames are its own
# (cshim/stacks/symbols.c).
static() {
	go build -buildmode=c-archive -trimpath -ldflags "-s -w $settings" "$@" -o "$staging/all.a" ./capi
	wrapped=
	for name in $replaced; do
		wrapped="$wrapped --wrap=$name"
	done
	# shellcheck disable=SC2086 # flags are words
	$ld -r -d --force-group-allocation $wrapped --whole-archive "$staging/all.a" -o "$staging/linked.o"
	sed -n 's/^\t\(tl_[a-z0-9_]*\);$/\1/p' "$exports" >"$staging/public"
	renamed=
	for section in $(readelf -SW "$staging/linked.o" |
		sed -n 's/.* \(\.text[^ ]*\) *PROGBITS.*/\1/p' | sort -u); do
		renamed="$renamed --rename-section $section=tl_text"
	done
	# shellcheck disable=SC2086 # flags are words
	$objcopy --strip-debug --keep-global-symbols="$staging/public" $renamed "$staging/linked.o" "$staging/tl_runtime.o"
	(cd "$staging" && rm -f $library.a && ${AR:-${binutils-}ar} rcsD $library.a tl_runtime.o)
	mv -f "$staging/$library.a" "$out/$library.a"
	rm -rf "$staging"
}

# go build compiles all C anew for a library. Where the last build into this directory was of the same sources, settings and
# tools, and nobody has replaced what it made, that is as if new. cmake and make, which share a directory, both come here.
[ ! -f "$out/$file.debug" ] || [ $kind = static ] || kind=debug # it has to be of the same build
made=$file
case $kind in static) made=$library.a ;; debug) made="$file $file.debug" ;; esac
stamp=$out/.built-$library-$kind
key=$(
	printf '%s\n' "$*" "$cc" "$(command -v "$objcopy" "$ld")" "$CGO_CFLAGS ${CGO_LDFLAGS-} $GOFLAGS $GOARCH ${GOAMD64-} ${GOEXPERIMENT-}" "$root"
	go version && $cc --version
	find go.mod packaging include capi cshim runtime compiler -type f ! -name '*_test.go' ! -path '*/testdata/*' ! -path '*/__pycache__/*' |
		LC_ALL=C sort | xargs cksum
)
# shellcheck disable=SC2086 # file names without blanks
sums() { (printf '%s\n' "$key" && cd "$out" && cksum $made 2>/dev/null) | cksum; }
if [ "$(cat "$stamp" 2>/dev/null)" = "$(sums)" ]; then
	(cd "$out" && touch $made)
	exit
fi
rm -rf "$staging"
mkdir -p "$staging"

if [ $kind = static ]; then
	static "$@"
	sums >"$stamp"
	exit
fi
if [ $kind = debug ]; then
	shared '' "$@"
	(
		cd "$staging"
		# A section of Go's names a script that gdb would warn of.
		$objcopy --only-keep-debug --compress-debug-sections --remove-section=.debug_gdb_scripts $library.so "$file.debug"
		$objcopy --strip-all --add-gnu-debuglink="$file.debug" $library.so
	)
	chmod -x "$staging/$file.debug"
	mv -f "$staging/$file.debug" "$out/$file.debug"
else
	shared '-s -w' "$@"
fi

# cgo writes a header of its own next to the library; ours is include/tl_runtime.h.
rm -f "$staging/$library.h"

# A rename: processes that have the old file mapped keep it.
mv -f "$staging/$library.so" "$out/$file"
rm -rf "$staging"
ln -sf "$file" "$out/$library.so.$major"
ln -sf "$library.so.$major" "$out/$library.so"
sums >"$stamp"
