/* What the library knows of the inside of Go 1.26's runtime, all in one place: the functions of runtime/cgo that it replaces or
 * calls, the layout of what they get, the table of signals that it changes, and measured sizes. None of it is promised
 * by Go. The build ends here with another version of Go (go_1_26.go), and RATIONALE.md says of each why nothing
 * documented serves. To go on to another version: compare runtime/cgo/libcgo.h, gcc_*.c and sigtab_linux_generic.go,
 * measure the sizes anew (docs/limits.md), and rename both files; the tests host_limits, signals and first_use look at the rest.
 */
#pragma once

#ifndef TLC_GO_1_26
#error "this version of Go is not known to cshim/host/go_1_26.h: build with Go 1.26 (GOTOOLCHAIN=go1.26.0 make)"
#endif

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* ---- runtime/cgo: --wrap puts __wrap_NAME in the place of NAME (packaging/build_library.sh) ---------- */

/* The beginning of a g, and how a thread of Go's starts. */
typedef struct go_g {
	uintptr_t stack_low, stack_high;
} go_g;
typedef struct go_start {
	go_g* g;
	uintptr_t* tls;
	void (*body)(void);
} go_start;

typedef void* (*go_thread_body)(void*);
typedef void (*go_body)(void*);
typedef void go_call(go_body body, void* argument, int bytes, size_t context);

void __wrap_x_cgo_init(go_g* g, void (*set_g)(void*), void** tls_g, void** tls_base);
void __wrap_x_cgo_sys_thread_create(go_thread_body body, void* argument);
void __wrap_x_cgo_thread_start(const go_start* start);
void __wrap_x_cgo_getstackbound(uintptr_t bounds[2]);
uintptr_t __wrap_x_cgo_mmap(void* address, uintptr_t bytes, int32_t protection, int32_t flags, int32_t file,
                            uint32_t offset);
void __wrap_x_cgo_munmap(void* address, uintptr_t bytes);
go_call __wrap_crosscall2;
extern go_call __real_crosscall2 __attribute__((weak));
extern go_call* x_crosscall2_ptr __attribute__((weak)); /* what runtime/cgo calls when a thread ends */
extern void crosscall1(void (*body)(void), void (*set_g)(void*), void* g);
extern uintptr_t _cgo_wait_runtime_init_done(void);

/* ---- runtime.sigtable ----------------------------------------------------------------- */

/* A row, by signal. Go unblocks the rows that are marked so on each of its threads, whatever mask the thread has
 * inherited. */
typedef struct go_signal {
	int32_t flags;
	const char* name;
	intptr_t length;
} go_signal;

enum { GO_SIGNALS = 65, GO_NOTIFY = 1 << 0, GO_KILL = 1 << 1, GO_UNBLOCK = 1 << 7, GO_IGNORE = 1 << 8 };

/* Rows by which the table is recognised; the table's other words are not looked at. */
static const struct {
	int signal;
	int32_t flags;
	const char* name;
} go_known_signals[] = {{1, GO_NOTIFY | GO_KILL, "SIGHUP: terminal line hangup"},
                        {17, GO_NOTIFY | GO_UNBLOCK | GO_IGNORE, "SIGCHLD: child status has changed"},
                        {27, GO_NOTIFY | GO_UNBLOCK, "SIGPROF: profiling alarm clock"},
                        {64, GO_NOTIFY, "signal 64"}};

/* ---- memory --------------------------------------------------------------------------- */

#define GO_ARENA_BYTES ((size_t)64 << 20) /* Go's heap grows in steps of this size */

/* Measured on linux/amd64: the start maps 36 MiB in addition to an arena, reserves 1096 MiB, and makes 38 mappings. */
#define GO_START_WRITABLE ((size_t)48 << 20)
#define GO_START_RESERVED ((size_t)1152 << 20)
#define GO_START_MAPPINGS 64

#pragma GCC visibility pop
