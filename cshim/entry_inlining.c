/* The contexts that inlined code works on (inline_records.h). */
#include <sys/mman.h>

#include "object_fast.h"

/* For code that was compiled for another layout: larger than any context, and it answers nothing. It is no constant, of
 * which the library's file would have all the zeros. */
enum { NOTHING_BYTES = 32 << 10 };
static char nothing[NOTHING_BYTES] __attribute__((aligned(4096)));
static void* const no_context = (void*)(uintptr_t)nothing;

/* An operation that writes to it has taken it for something else. Where pages are larger, as on some arm64, this fails and
 * it stays writable. */
__attribute__((constructor)) static void protect_nothing(void) { mprotect(nothing, sizeof nothing, PROT_READ); }

_Static_assert(sizeof nothing >= 4 * sizeof(tl_context), "also for a context that has grown");

void* tlc_context_of(uint32_t version) { return version == TL_INLINE_VERSION ? tlc_tls : no_context; }

void* const* tl_context_address(uint32_t version)
{
	return version == TL_INLINE_VERSION ? (void* const*)(void*)&tlc_tls : &no_context;
}
