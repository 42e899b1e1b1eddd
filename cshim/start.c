/* When Go starts. Its own start aborts the process when address space runs out in the
 * middle of it, so under RLIMIT_AS it begins only where there is enough: at load, or at
 * the first call that needs Go, or never.
 *
 * The linker is told (packaging/build_library.sh, --wrap) to put this function between
 * the start-up code of Go and the one of runtime/cgo that creates its first thread.
 * Without that option Go starts at load, whatever is left. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host_signals.h"
#include "start.h"

typedef void* (*thread_body)(void*);

extern void __real_x_cgo_sys_thread_create(thread_body body, void* argument) __attribute__((weak));
void __wrap_x_cgo_sys_thread_create(thread_body body, void* argument);

/* Measured on linux/amd64 (Go 1.26, glibc 2.36) as growth of the address space from load
 * to the end of Go's start: 1573 MiB and 6 stacks of threads, whatever their size. Go
 * takes 1.1 GiB of it in reservations, glibc 64 MiB for each thread that calls malloc.
 * The first call then took less than 2 MiB, and more fails without harm. */
static const size_t start_bytes = (size_t)1792 << 20, start_stacks = 8, call_bytes = (size_t)32 << 20;

/* A start that waits for address space. Written at load, and then under the gate's lock. */
static struct {
	thread_body body; /* NULL: Go has been started */
	void* argument;
} postponed;

/* Bytes of address space that this process has mapped. */
static size_t mapped(void)
{
	char text[64] = "";
	int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (file < 0) return 0;
	ssize_t n = read(file, text, sizeof text - 1);
	close(file);
	return n > 0 ? strtoul(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static size_t address_space_left(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return (size_t)-1;
	size_t used = mapped();
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static bool enough_to_start(void)
{
	struct rlimit stack;
	size_t left = address_space_left(), each = 0;
	if (left == (size_t)-1) return true;
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY) each = stack.rlim_cur;
	return left >= start_bytes && (left - start_bytes) / start_stacks >= each;
}

static void create_first_thread(thread_body body, void* argument)
{
	tlc_quiet before;
	tlc_keep_blocked();
	tlc_begin_quiet(&before); /* Go's other threads take their mask from this one */
	__real_x_cgo_sys_thread_create(body, argument);
	tlc_end_quiet(&before);
}

void __wrap_x_cgo_sys_thread_create(thread_body body, void* argument)
{
	tlc_restore_handlers();
	if (enough_to_start()) {
		create_first_thread(body, argument);
		return;
	}
	postponed.body = body;
	postponed.argument = argument;
}

bool tlc_start_go(void)
{
	thread_body body = postponed.body;
	if (body == NULL) return address_space_left() >= call_bytes;
	if (!enough_to_start()) return false;
	postponed.body = NULL;
	create_first_thread(body, postponed.argument);
	return true;
}

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static uintptr_t dynamic(intptr_t tag)
{
	for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag) return d->d_un.d_val;
	return 0;
}

/* Gives the pages of the library's relocations back. Only the dynamic linker reads them,
 * once, and they are half a megabyte. Nobody writes to them: what is read again after all
 * comes from the file. */
void tlc_forget_relocations(void)
{
	uintptr_t base = (uintptr_t)&__ehdr_start, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = dynamic(DT_RELA), bytes = dynamic(DT_RELASZ);
	if (from == 0 || bytes == 0) return;
	if (from < base) from += base; /* not every dynamic linker has replaced it by the address */
	uintptr_t first = (from + page - 1) & ~(page - 1), end = (from + bytes) & ~(page - 1);
	if (first < end) madvise((void*)first, end - first, MADV_DONTNEED);
}
