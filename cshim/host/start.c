/* When Go starts: at load, so that a limit which is set later finds nothing to refuse; or at the first call that needs it,
 * so that a child that is forked before can make that call. TL_START says which; Python's programs fork.
 *
 * Go ends the process when the system refuses it a thread or address space, during its start and later. So it is started
 * only after threads and memory for it were obtained (go_threads.c, go_memory.c). What cannot be started at
 * load is tried again by the first call.
 *
 * The linker is told (packaging/build_library.sh, --wrap) to put this function between
 * the start-up code of Go and the one of runtime/cgo that creates its first thread.
 * Without that option Go starts at load, whatever the limits are. */
#define _GNU_SOURCE
#include "start.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../base/go.h"
#include "descriptors.h"
#include "environment.h"
#include "go_1_26.h"
#include "../base/fork.h"
#include "signals.h"

uint64_t tlc_descriptors_before(void); /* for capi/entry.go */

/* A start that has not been made. Written at load, and then under the entry guard's lock, as all that follows. */
static struct {
	go_thread_body body; /* NULL: Go has been started */
	void* argument;
} postponed;

static rlim_t descriptors = RLIM_INFINITY; /* the soft limit before Go was started */

uint64_t tlc_descriptors_before(void) { return descriptors; }

static tlc_lack obtain(void)
{
	tlc_lack settings = tlc_look_at_go_settings();
	if (settings != TLC_LACKS_NOTHING) return settings;
	tlc_lack memory = tlc_hold_memory();
	if (memory != TLC_LACKS_NOTHING) return memory;
	tlc_lack threads = tlc_keep_threads();
	if (threads != TLC_LACKS_NOTHING) {
		tlc_drop_memory();
		return threads;
	}
	return TLC_LACKS_NOTHING;
}

static tlc_lack try_to_start(void)
{
	struct rlimit limit;
	if (postponed.body == NULL) return TLC_LACKS_NOTHING;
	descriptors = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
	tlc_lack missing = obtain();
	if (missing != TLC_LACKS_NOTHING) return missing;
	tlc_mark_forks(); /* from here on a child lacks threads */
	tlc_keep_blocked();
	tlc_run_thread(postponed.body, postponed.argument);
	_cgo_wait_runtime_init_done(); /* Go is complete before the host can set a limit */
	tlc_let_go_handle();
	tlc_keep_memory();
	postponed.body = NULL;
	return TLC_LACKS_NOTHING;
}

/* The interpreter's, where everybody can see one. The loader finds it: a search that fails would leave a message for
 * the program's next dlerror(). */
extern int Py_IsInitialized(void) __attribute__((weak));

/* Whether an interpreter runs in this process. One that is merely linked has not been initialised. */
static bool host_is_python(void) { return Py_IsInitialized != NULL && Py_IsInitialized() != 0; }

static bool starts_at_load(void)
{
	const char* when = tlc_setting("TL_START");
	if (when != NULL && strcmp(when, "load") == 0) return true;
	return (when == NULL || strcmp(when, "first-use") != 0) && !host_is_python();
}

void __wrap_x_cgo_sys_thread_create(go_thread_body body, void* argument)
{
	tlc_take_handlers_back();
	postponed.body = body;
	postponed.argument = argument;
	if (!starts_at_load()) return;
	tlc_quiet before;
	tlc_filled_descriptors filled;
	tlc_begin_quiet(&before);
	tlc_fill_standard_descriptors(&filled);
	try_to_start();
	tlc_close_filled_descriptors(&filled);
	tlc_end_quiet(&before);
}

/* Go's timers need two descriptors, and end the process when there are none. The first call makes
 * Go create them (tlentry_open). */
static bool has_descriptors(void)
{
	int first = epoll_create1(EPOLL_CLOEXEC), second = eventfd(0, EFD_CLOEXEC);
	if (first >= 0) close(first);
	if (second >= 0) close(second);
	return first >= 0 && second >= 0;
}

static tlc_lack start_with_key(pthread_key_t* key, void (*thread_ended)(void*))
{
	static bool has_key;
	if (!has_key) has_key = pthread_key_create(key, thread_ended) == 0;
	if (!has_key) return TLC_LACKS_KEYS;
	tlc_lack missing = try_to_start();
	if (missing != TLC_LACKS_NOTHING) return missing;
	tlentry_wait(); /* Go changes the limit of descriptors while it initialises */
	return has_descriptors() ? tlc_look_for_memory(TLC_CALL_WRITABLE) : TLC_LACKS_DESCRIPTORS;
}

static _Atomic tlc_lack lack;

tlc_lack tlc_first_use_lacks(void) { return lack; }

tl_status tlc_start_go(pthread_key_t* key, void (*thread_ended)(void*))
{
	lack = start_with_key(key, thread_ended);
	if (lack == TLC_LACKS_NOTHING) return TL_OK;
	return lack >= TLC_REFUSES_GOMEMLIMIT ? TL_E_INVALID_ARGUMENT : TL_E_OUT_OF_MEMORY;
}

void tlc_tables_were_refused(void)
{
	enum { TABLES = 224 << 20 }; /* 16 MiB of contexts are an eighth of what heap, records and types leave of 212 MiB */
	lack = tlc_look_for_memory(TABLES);
}

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

#pragma weak _DYNAMIC /* a program that is linked with -static has none */

static uintptr_t dynamic(intptr_t tag)
{
	if (_DYNAMIC == NULL) return 0;
	for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag) return d->d_un.d_val;
	return 0;
}

/* Gives the pages of the library's relocations back. Only the dynamic linker reads them,
 * once, and they are half a megabyte. They are never written, so a page that is read again comes
 * from the file. */
void tlc_forget_relocations(void)
{
	uintptr_t base = (uintptr_t)&__ehdr_start, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = dynamic(DT_RELA), bytes = dynamic(DT_RELASZ);
	if (from == 0 || bytes == 0) return;
	if (from < base) from += base; /* some dynamic linkers leave an offset here, others store the address */
	uintptr_t first = (from + page - 1) & ~(page - 1), end = (from + bytes) & ~(page - 1);
	if (first < end) madvise((void*)first, end - first, MADV_DONTNEED);
}
