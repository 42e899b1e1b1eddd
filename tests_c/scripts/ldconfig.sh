#!/bin/sh
# ldconfig.sh SOURCE: what packaging/ldconfig.sh says when the loader knows the library, when it does not, and to whom.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/prefix/lib"
touch "$work/prefix/lib/libtl_runtime.so"
printf '#!/bin/sh\ncat "%s/$*" 2>/dev/null\n' "$work" >"$work/bin/ldconfig"
printf '#!/bin/sh\necho "$USER_ID"\n' >"$work/bin/id"
chmod +x "$work/bin/ldconfig" "$work/bin/id"
says() { # USER TEXT PREFIX [DESTDIR]
	user=$1 text=$2
	shift 2
	said=$(PATH=$work/bin:$PATH USER_ID=$user "$source/packaging/ldconfig.sh" "$@")
	case $said in *"$text"*) ;; *) echo "user $user, $*: it says '$said', not '$text'"; exit 1 ;; esac
}
source=$1
says 0 "ld.so.conf.d/tl_runtime.conf && ldconfig" "$work/prefix"
says 1000 "once root has run" "$work/prefix"
[ -z "$("$source/packaging/ldconfig.sh" /opt/tl "$work/stage")" ] || { echo "a staged tree is no concern of ldconfig"; exit 1; }
echo "	libtl_runtime.so.1 (libc6,x86-64) => $work/prefix/lib/libtl_runtime.so.1" >"$work/-p"
says 1000 "programs find $work/prefix/lib/libtl_runtime.so" "$work/prefix"
echo "ldconfig: four cases"
