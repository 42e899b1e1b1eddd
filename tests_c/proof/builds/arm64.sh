#!/bin/sh
# Builds library and tests for arm64 and runs the tests under qemu-user, which says nothing
# of memory order: docs/memory-order.md does.
# shellcheck source=tests_c/proof/builds/common.sh
. tests_c/proof/builds/common.sh
needs cmake aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64
[ "$(uname -m)" != aarch64 ] || skip 'this is an arm64 machine: the whole suite runs on it'

# Limits of the host and faults at the system's edge are qemu's own, and memory is measured with
# qemu's. trace and trace_processes start /proc/self/exe again, statistics a child with the usual
# reservations, for which qemu wants 64 GiB of tables. Which pages can be written is asked of
# the kernel by calls that qemu answers with "yes" without asking. valgrind is the host's.
emulated='inject\.|sparse_faults\.|limits\.|host_limits\.|host_refuses\.|start\.|memory_limits\.|memory\.|trace\.|trace_processes\.|statistics\.|chain\.|devices\.|device_addresses\.|heap_elsewhere\.|memcheck'

quietly cmake -S . -B "$work" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	-DCMAKE_CROSSCOMPILING_EMULATOR="$here/emulate.sh" -DTL_RUNTIME_LIBRARY_DIR="$work/library" \
	-DTL_RANDOM_POINTERS=20000 -DTL_TEST_TIMEOUT=1800
build_tests "$work"
run_tests "$(qemu-aarch64 --version | sed -n '1s/.*version \([0-9.]*\).*/arm64 under qemu \1/p'), arenas of 1 MiB" "$work" "^($emulated)"
