/* Marks on the scope stack, frames and slots: what is inlined of scopes and functions. See records.h. */
#ifndef TL_INLINE_SCOPES_H
#define TL_INLINE_SCOPES_H

/* ---- marks ---------------------------------------------------------------------- */

static inline bool tlc_push_mark(tl_context* c, uint32_t kind, uint32_t slots)
{
	tl_mark* m = c->mark_top;
	if (TLC_UNLIKELY(m == c->mark_end)) return false;
	m->top = c->top;
	m->kind = kind << TL_MARK_KIND_SHIFT | slots;
	c->mark_top = m + 1;
	if (kind == TL_MARK_SCOPE) return true;
	m->frame_top = c->frame.top;
	m->outer = (uint32_t)c->function;
	c->planned += kind == TL_MARK_PLANNED;
	return true;
}

static inline void tlc_enter_function(tl_context* c, uint64_t function)
{
	c->function = function;
	if (function == 0) {
		c->floor = 0;
		c->slots = 0;
		c->slot_table = NULL;
		return;
	}
	tl_mark* m = &c->marks[function - 1];
	c->floor = (uint64_t)(m->top - c->entries);
	c->slots = m->kind & TL_MARK_SLOTS;
	c->slot_table = (tl_slot*)TLC_ALIGNED64(m->frame_top);
}

/* Removes the newest mark m, of this kind. flags is m->kind, or 0 where it is known to have no flag. */
static inline void tlc_pop_mark(tl_context* c, tl_mark* m, uint32_t kind, uint32_t flags)
{
	c->mark_top = m;
	if (TLC_UNLIKELY((flags & TL_MARK_ARENA) != 0)) {
		if (c->arena.top > m->arena_top) c->arena.top = m->arena_top;
		c->arena_mark = NULL;
	}
	if (TLC_LIKELY(kind == TL_MARK_SCOPE)) return;
	bool pinned = kind == TL_MARK_PLANNED && (flags & 1) != 0;
	if (!pinned) c->frame.top = m->frame_top;
	if (kind == TL_MARK_FUNCTION) tlc_enter_function(c, m->outer);
	else c->planned--;
}

/* Not 0: objects are dying, or foreign blocks wait for their deleter. */
typedef uint64_t __attribute__((may_alias)) tlc_heads;
static inline uint64_t tlc_has_to_destroy(const tl_context* c)
{
	return *(const tlc_heads*)(const void*)&c->draining.destroy_first;
}

/* Not 0: a release waits for this thread, or the deferred-destruction queue is not empty. */
static inline uint64_t tlc_has_to_do(const tl_context* c)
{
	return (TLC_LOAD(c->word) >> 2) | c->waiting | tlc_has_to_destroy(c);
}
static inline bool tlc_is_quiet(const tl_context* c) { return tlc_has_to_do(c) == 0; }

/* Leaves the newest mark when it holds nothing; saves no register. */
static inline bool tlc_leave_empty(tl_context* c, tl_mark* mark, uint32_t kind, uint32_t flags)
{
	if (TLC_UNLIKELY(c->top != mark->top || !tlc_is_quiet(c))) return false;
	tlc_pop_mark(c, mark, kind, flags);
	return true;
}

static inline uint64_t tlc_depth(const tl_context* c) { return (uint64_t)(c->mark_top - c->marks) - c->planned; }

/* ---- scopes ---------------------------------------------------------------------- */

/* Budget: 3 loads, 3 stores, 1 branch. */
static inline bool tlc_op_mem_enter_scope(tl_context* c) { return tlc_push_mark(c, TL_MARK_SCOPE, 0); }

/* Whether the newest mark is a scope, whose kind is the least. */
static inline bool tlc_is_in_scope(const tl_context* c)
{
	return TLC_LIKELY(c->mark_top != c->marks) &&
	       TLC_LIKELY(c->mark_top[-1].kind < (TL_MARK_SCOPE + 1u) << TL_MARK_KIND_SHIFT);
}

/* Leaves a scope that holds nothing, in which nothing was tagged or taken from the arena: then its kind is 0. Budget: 8
 * loads, 1 store, 2 branches. */
static inline bool tlc_op_mem_exit_scope(tl_context* c)
{
	tl_mark* mark = c->mark_top;
	if (TLC_UNLIKELY(mark == c->marks)) return false; /* in a context of zeros NULL, which has no mark before it */
	mark--;
	if (TLC_UNLIKELY((((uintptr_t)c->top ^ (uintptr_t)mark->top) | mark->kind | tlc_has_to_do(c)) != 0)) return false;
	c->mark_top = mark;
	return true;
}

static inline bool tlc_op_get_scope_depth(const tl_context* c, int64_t* result)
{
	*result = (int64_t)tlc_depth(c);
	return TLC_LIKELY(tlc_is_fast(c));
}

/* ---- functions and planned frames ----------------------------------------------------- */

/* Bytes of the frame stack above at; negative if aligning has put at beyond the end. */
static inline int64_t tlc_frame_left(const tl_context* c, uintptr_t at) { return (int64_t)(c->frame.end - at); }

static inline bool tlc_op_mem_function_enter(tl_context* c, int64_t slots)
{
	uintptr_t top = c->frame.top, at = TLC_ALIGNED64(top);
	if (TLC_UNLIKELY((uint64_t)slots > 4096 || c->mark_top == c->mark_end ||
	                 tlc_frame_left(c, at) < slots * (int64_t)sizeof(tl_slot)))
		return false;
	tlc_push_mark(c, TL_MARK_FUNCTION, (uint32_t)slots);
	c->frame.top = at + (uint64_t)slots * sizeof(tl_slot);
	tl_slot* table = (tl_slot*)at;
	for (int64_t i = 0; i < slots; i++) table[i].buffer = table[i].bytes = 0;
	c->function = (uint64_t)(c->mark_top - c->marks);
	c->floor = (uint64_t)(c->top - c->entries);
	c->slots = (uint64_t)slots;
	c->slot_table = table;
	return true;
}

/* Whether the newest mark is that of the newest function. */
static inline bool tlc_is_in_function(const tl_context* c) { return c->mark_top == c->marks + c->function; }

static inline bool tlc_op_mem_function_exit(tl_context* c)
{
	return TLC_LIKELY(c->function != 0) && TLC_LIKELY(tlc_is_in_function(c)) &&
	       tlc_leave_empty(c, c->mark_top - 1, TL_MARK_FUNCTION, c->mark_top[-1].kind);
}

/* A slot's buffer of the newest function. A buffer that ends at the top of the frame stack grows where it stands. */
static inline bool tlc_op_mem_get_buffer(tl_context* c, int64_t slot, int64_t min_bytes, void** result)
{
	if (TLC_UNLIKELY((uint64_t)slot >= c->slots || min_bytes <= 0)) return false;
	tl_slot* s = &c->slot_table[slot];
	*result = (void*)s->buffer;
	if (TLC_LIKELY(s->bytes >= (uint64_t)min_bytes)) return true;
	/* Above an inner mark a planned frame may have to be pinned: Go does that. */
	if (TLC_UNLIKELY((uint64_t)(c->mark_top - c->marks) != c->function)) return false;
	uintptr_t at = s->buffer, top = c->frame.top;
	if (TLC_LIKELY(at == 0)) at = TLC_ALIGNED64(top);
	else if (at + s->bytes != top) return false;
	if (TLC_UNLIKELY(tlc_frame_left(c, at) < min_bytes)) return false;
	c->frame.top = at + (uint64_t)min_bytes;
	s->buffer = at;
	s->bytes = (uint64_t)min_bytes;
	*result = (void*)at;
	return true;
}

static inline bool tlc_op_mem_frame_enter(tl_context* c, size_t bytes, void** result)
{
	uintptr_t at = TLC_ALIGNED64(c->frame.top);
	if (TLC_UNLIKELY(c->mark_top == c->mark_end || at > c->frame.end || bytes > c->frame.end - at)) return false;
	tlc_push_mark(c, TL_MARK_PLANNED, 0);
	c->frame.top = at + bytes;
	*result = (void*)at;
	return true;
}

/* Whether the newest mark is a planned frame of the newest function. */
static inline bool tlc_is_in_frame(const tl_context* c)
{
	return TLC_LIKELY((uint64_t)(c->mark_top - c->marks) > c->function &&
	                  c->mark_top[-1].kind >> TL_MARK_KIND_SHIFT == TL_MARK_PLANNED);
}

static inline bool tlc_op_mem_frame_exit(tl_context* c)
{
	return tlc_is_in_frame(c) && tlc_leave_empty(c, c->mark_top - 1, TL_MARK_PLANNED, c->mark_top[-1].kind);
}

#endif
