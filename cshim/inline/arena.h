/* The arena of the calling thread: what is inlined of tl_arena_*. See records.h. */
#ifndef TL_INLINE_ARENA_H
#define TL_INLINE_ARENA_H

/* Before the arena changes: the newest mark keeps its top, if it is the first change since that mark. */
static inline void tlc_note_arena(tl_context* c)
{
	tl_mark* m = c->mark_top - 1;
	if (c->mark_top != c->marks && (m->kind & TL_MARK_ARENA) == 0) {
		m->arena_top = c->arena.top;
		m->kind |= TL_MARK_ARENA;
	}
	c->arena_mark = c->mark_top;
}

/* n bytes aligned to 64; false: no arena, full, nothing to do. Budget: 4 loads, 1 store, 3 branches. */
static inline bool tlc_op_arena_alloc(tl_context* c, int64_t bytes, void** result)
{
	uintptr_t at = TLC_ALIGNED64(c->arena.top), top = at + (uint64_t)bytes; /* an address and 2^63 fit into a word */
	if (TLC_UNLIKELY(bytes <= 0 || top > c->arena.end)) return false;
	if (TLC_UNLIKELY(c->arena_mark != c->mark_top)) tlc_note_arena(c);
	c->arena.top = top;
	*result = (void*)at;
	return true;
}

static inline bool tlc_op_arena_malloc(tl_context* c, int64_t bytes, void** result)
{
	return tlc_op_arena_alloc(c, bytes, result);
}

static inline bool tlc_op_arena_is_active(const tl_context* c, bool* result)
{
	*result = c->arena.base != 0;
	return TLC_LIKELY(tlc_is_fast(c));
}

static inline bool tlc_op_arena_contains(const tl_context* c, const void* pointer, bool* result)
{
	*result = (uintptr_t)pointer - c->arena.base < c->arena.top - c->arena.base;
	return TLC_LIKELY(tlc_is_fast(c));
}

static inline bool tlc_op_arena_get_offset(const tl_context* c, int64_t* result)
{
	*result = (int64_t)(c->arena.top - c->arena.base);
	return TLC_LIKELY(tlc_is_fast(c));
}

/* Before the arena goes back to top: marks that stand for a higher one keep it. An older mark without ARENA stands for
 * what the next newer one keeps, so the first that keeps no more than top ends the search. */
static inline void tlc_note_tops_above(tl_context* c, uintptr_t top)
{
	uintptr_t kept = c->arena.top;
	for (tl_mark* m = c->mark_top; kept > top && m-- != c->marks; kept = m->arena_top) {
		if ((m->kind & TL_MARK_ARENA) != 0) continue;
		m->arena_top = kept;
		m->kind |= TL_MARK_ARENA;
	}
}

/* Without an arena base and top are equal, which allows 0; Go distinguishes that from an error. */
static inline bool tlc_op_arena_set_offset(tl_context* c, int64_t offset)
{
	if (TLC_UNLIKELY(c->arena.base == 0 || (uint64_t)offset > c->arena.top - c->arena.base)) return false;
	uintptr_t top = c->arena.base + (uint64_t)offset;
	tlc_note_tops_above(c, top);
	c->arena.top = top;
	return true;
}

#endif
