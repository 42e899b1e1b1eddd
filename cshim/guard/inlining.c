/* The contexts that inlined code works on (inline/records.h). */
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"

/* For code that was compiled for another layout: larger than any context, and it answers nothing. It is
 * not const: .rodata would store all its zeros in the library's file. */
enum { NOTHING_BYTES = 40 << 10, NOTHING_ALIGNMENT = 4096 };
static char nothing[NOTHING_BYTES] __attribute__((aligned(NOTHING_ALIGNMENT)));
static void* const no_context = (void*)(uintptr_t)nothing;

/* An operation that writes to it has taken it for something else. Where pages are larger, as on some arm64, other
 * variables are in them, and it stays writable. */
__attribute__((constructor)) static void protect_nothing(void)
{
	if (sysconf(_SC_PAGESIZE) == NOTHING_ALIGNMENT) mprotect(nothing, sizeof nothing, PROT_READ);
}

_Static_assert(sizeof nothing >= 4 * sizeof(tl_context), "also for a context that has grown");

void* tlc_context_of(uint32_t version) { return version == TL_INLINE_VERSION ? tlc_tls : no_context; }

void* const* tl_context_address(uint32_t version)
{
	return version == TL_INLINE_VERSION ? (void* const*)(void*)&tlc_tls : &no_context;
}
