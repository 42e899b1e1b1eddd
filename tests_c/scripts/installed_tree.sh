#!/bin/sh
# installed_tree.sh PREFIX CC: what `make install` left is complete, and a program
# builds and runs against it without any build system.
set -eu
prefix=$1 cc=$2
libdir=$(dirname "$(find "$prefix" -name libtl_runtime.so)")
for file in include/tl_runtime.h include/tl_runtime.hpp include/tl_result.hpp include/tl_scope.hpp include/tl_tensor.hpp \
	include/tl_sparse.hpp include/tl_registry.hpp include/tl_memory_resource.hpp include/tl_tracking.hpp include/tl_inline.h \
	include/tl_weak.hpp include/tl_cell.hpp include/tl_graph.h include/tl_mpi.h include/tl_mpi_types.h include/tl_mpi_layout.h include/tl_mpi_memory.h \
	bin/tl share/doc/tl_runtime/LICENSE share/doc/tl_runtime/LICENSES-THIRD-PARTY.txt \
	share/tl_runtime/installed.txt \
	share/tl_runtime/tl_runtime.ll share/tl_runtime/tl_tensor.syms share/tl_runtime/tl_runtime.py; do
	[ -f "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
for file in pkgconfig/tl_runtime.pc cmake/tl_runtime/tl_runtimeConfig.cmake \
	cmake/tl_runtime/tl_runtimeConfigVersion.cmake libtl_runtime.so.1; do
	[ -e "$libdir/$file" ] || { echo "not installed: $file"; exit 1; }
done
"$cc" tests_c/consumer/main.c -I"$prefix/include" -L"$libdir" -ltl_runtime -Wl,-rpath,"$libdir" -o "$prefix/consumer"
"$prefix/consumer"
"$cc" -O2 -DTL_INLINE tests_c/consumer/main.c -I"$prefix/include" -L"$libdir" -ltl_runtime -Wl,-rpath,"$libdir" \
	-o "$prefix/consumer"
"$prefix/consumer"
# The full library, where it was built: as a program links it, and into a program.
if [ -e "$libdir/libtl_runtime_full.so" ]; then
	[ -f "$libdir/pkgconfig/tl_runtime_full.pc" ] || { echo "not installed: pkgconfig/tl_runtime_full.pc"; exit 1; }
	"$cc" tests_c/consumer/graph.c -I"$prefix/include" -L"$libdir" -ltl_runtime_full -Wl,-rpath,"$libdir" -o "$prefix/consumer"
	"$prefix/consumer"
else
	echo "skip: no libtl_runtime_full.so was installed (make full)"
fi
if [ -e "$libdir/libtl_runtime_full.a" ]; then
	"$cc" tests_c/consumer/graph.c -I"$prefix/include" "$libdir/libtl_runtime_full.a" -lpthread -ldl -o "$prefix/consumer"
	"$prefix/consumer"
else
	echo "skip: no libtl_runtime_full.a was installed (make full-static)"
fi
for name in tl_runtime.ll tl_inline.ll; do
	[ -f "$prefix/share/tl_runtime/$name" ] || { echo "not installed: share/tl_runtime/$name"; exit 1; }
done
"$prefix/bin/tl" --help >/dev/null
echo "installed: $(find "$prefix" -type f -o -type l | wc -l) files"
