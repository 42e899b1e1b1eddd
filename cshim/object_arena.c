/* The arena of the calling thread: an allocation adds to an offset. */
#include "object_fast.h"

/* n bytes aligned to 64; false: ask Go (no arena, full, nothing to do). Aligning may pass the end:
 * the bytes left are negative then. Budget: 3 loads, 1 store, 2 branches. */
static inline bool bump(tl_context* c, int64_t n, uintptr_t* at)
{
	*at = TLC_ALIGNED64(c->arena_top);
	if (TLC_UNLIKELY(n <= 0 || (int64_t)(c->arena_end - *at) < n)) return false;
	c->arena_top = *at + (uint64_t)n;
	return true;
}

void* tl_arena_alloc(int64_t bytes)
{
	uintptr_t at;
	return TLC_LIKELY(bump(tlc_tls, bytes, &at)) ? (void*)at : slow_arena_alloc(bytes);
}

void* tl_arena_malloc(int64_t bytes)
{
	uintptr_t at;
	return TLC_LIKELY(bump(tlc_tls, bytes, &at)) ? (void*)at : slow_arena_malloc(bytes);
}

bool tl_arena_is_active(void)
{
	tl_context* c = tlc_tls;
	return TLC_LIKELY(tlc_is_fast(c)) ? c->arena_base != 0 : slow_arena_is_active();
}

bool tl_arena_contains(const void* pointer)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c))) return slow_arena_contains(pointer);
	return (uintptr_t)pointer - c->arena_base < c->arena_top - c->arena_base;
}

int64_t tl_arena_get_offset(void)
{
	tl_context* c = tlc_tls;
	return TLC_LIKELY(tlc_is_fast(c)) ? (int64_t)(c->arena_top - c->arena_base) : slow_arena_get_offset();
}

tl_status tl_arena_set_offset(int64_t offset)
{
	tl_context* c = tlc_tls;
	/* Without an arena base and top are equal, which allows 0; Go distinguishes that from an error. */
	if (TLC_UNLIKELY(c->arena_base == 0 || (uint64_t)offset > c->arena_top - c->arena_base))
		return slow_arena_set_offset(offset);
	c->arena_top = c->arena_base + (uint64_t)offset;
	return TL_OK;
}
