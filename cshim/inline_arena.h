/* The arena of the calling thread: what is inlined of tl_arena_*. See inline_records.h. */
#ifndef TL_INLINE_ARENA_H
#define TL_INLINE_ARENA_H

/* n bytes aligned to 64; false: no arena, full, nothing to do. Aligning may pass the end: the bytes
 * left are negative then. Budget: 3 loads, 1 store, 2 branches. */
static inline bool tlc_op_arena_alloc(tl_context* c, int64_t bytes, void** result)
{
	uintptr_t at = TLC_ALIGNED64(c->arena_top);
	if (TLC_UNLIKELY(bytes <= 0 || (int64_t)(c->arena_end - at) < bytes)) return false;
	c->arena_top = at + (uint64_t)bytes;
	*result = (void*)at;
	return true;
}

static inline bool tlc_op_arena_malloc(tl_context* c, int64_t bytes, void** result)
{
	return tlc_op_arena_alloc(c, bytes, result);
}

static inline bool tlc_op_arena_is_active(const tl_context* c, bool* result)
{
	*result = c->arena_base != 0;
	return TLC_LIKELY(tlc_is_fast(c));
}

static inline bool tlc_op_arena_contains(const tl_context* c, const void* pointer, bool* result)
{
	*result = (uintptr_t)pointer - c->arena_base < c->arena_top - c->arena_base;
	return TLC_LIKELY(tlc_is_fast(c));
}

static inline bool tlc_op_arena_get_offset(const tl_context* c, int64_t* result)
{
	*result = (int64_t)(c->arena_top - c->arena_base);
	return TLC_LIKELY(tlc_is_fast(c));
}

/* Without an arena base and top are equal, which allows 0; Go distinguishes that from an error. */
static inline bool tlc_op_arena_set_offset(tl_context* c, int64_t offset)
{
	if (TLC_UNLIKELY(c->arena_base == 0 || (uint64_t)offset > c->arena_top - c->arena_base)) return false;
	c->arena_top = c->arena_base + (uint64_t)offset;
	return true;
}

#endif
