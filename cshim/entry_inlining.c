/* The contexts that inlined code works on (inline_records.h). */
#include "object_fast.h"

/* For code that was compiled for another layout: larger than any context, and it answers nothing.
 * Read-only, since an operation that writes to it has taken it for something else. */
enum { NOTHING_BYTES = 32 << 10 };
static const char nothing[NOTHING_BYTES] __attribute__((aligned(64)));
static void* const no_context = (void*)(uintptr_t)nothing;

_Static_assert(sizeof nothing >= 4 * sizeof(tl_context), "also for a context that has grown");

void* tlc_context_of(uint32_t version) { return version == TL_INLINE_VERSION ? tlc_tls : no_context; }

void* const* tl_context_address(uint32_t version)
{
	return version == TL_INLINE_VERSION ? (void* const*)(void*)&tlc_tls : &no_context;
}
