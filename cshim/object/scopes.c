/* Scopes: the stack of entries and the marks on it. */
#include "fast.h"
#include "inbox.h"
#include "typed.h"

tl_status tl_mem_enter_scope(void)
{
	return TLC_LIKELY(tlc_op_mem_enter_scope(tlc_tls)) ? TL_OK : slow_mem_enter_scope();
}

int64_t tl_get_scope_depth(void)
{
	int64_t depth;
	return TLC_LIKELY(tlc_op_get_scope_depth(tlc_tls, &depth)) ? depth : slow_get_scope_depth();
}

/* ---- leaving ------------------------------------------------------------------------ */

enum {
	TRIM_ENTRIES = 1 << 16,
	COLD_EXITS = 64, /* after a place that stayed warm in vain */
};

/* Drops a reference of this thread that is not the last one of its object. */
static inline bool drop_one_of_many(const tl_context* c, tl_record* r, uint64_t tag)
{
	uint32_t loc = TLC_LOAD(r->loc);
	if (TLC_LOAD(r->gen) != (uint32_t)(tag >> 32) || tlc_own(c, loc) - 2 >= TL_LOC_COUNT - 1) return false;
	TLC_STORE(r->loc, loc - 1);
	return true;
}

/* Releases plain objects of this thread whose only reference is the scope's, and any that have other
 * references; c->top is not up to date meanwhile. No object without an owner: between a look at its
 * counts and a store another thread might upgrade a weak reference. Budget of each: 7 loads, 4 stores, 6 branches. */
static __attribute__((noinline)) tl_entry* release_own(tl_context* c, tl_entry* top, const tl_entry* low)
{
	const uint32_t loc = c->one, sh = TL_SH_ALIVE;
	for (; top > low; top--) {
		uint64_t tag = tlc_tag(&top[-1]);
		tl_record* r = tlc_g.records + (uint32_t)tag;
		if (TLC_LIKELY(tlc_is_plain(r, tag, loc, sh))) {
			if (TLC_UNLIKELY(!tlc_free_slot(c, r, top[-1].object, tag))) break;
		} else if (!drop_one_of_many(c, r, tag)) {
			break;
		}
	}
	return top;
}

/* ---- warm places ------------------------------------------------------------------------ */

/* The top of a stack with warm places from there on. Two stores: the compiler would rather assemble a vector for one
 * store, and the next call waits for it. */
static inline void set_warm_top(tl_context* c, tl_entry* top)
{
	__atomic_store_n(&c->top, top, __ATOMIC_RELAXED);
	__atomic_store_n(&c->end, top, __ATOMIC_RELAXED);
}

void tlc_cool(tl_context* c)
{
	tlc_note_taken(c);
	while (c->warm != c->end) {
		const tl_entry* e = c->warm - 1;
		tl_magazine* m = &c->magazines[tlc_class_at(e)];
		if (TLC_UNLIKELY(!tlc_has_place(c, m, tlc_class_at(e)))) break;
		tlc_set_entry(m->top, e->object, tlc_tag(e));
		m->top++;
		c->warm--;
	}
	if (TLC_UNLIKELY(c->warm != c->end && c->in_go)) {
		tlentry_cool((uintptr_t)c);
		return;
	}
	if (TLC_UNLIKELY(c->warm != c->end)) tlc_poll(); /* on the way into Go the others are cooled */
	if (c->warm != c->end && !tlc_forked()) return;  /* a destructor ran, and left other places warm */
	c->warm = NULL;                                  /* a forked child loses the slots */
	c->end = tlc_end_of_stack(c);
}

__attribute__((noinline)) bool tlc_displace(tl_context* c)
{
	if (c->warm == NULL) return false;
	if (c->top != c->warm) c->cold_exits = COLD_EXITS; /* the scope differs from the last one */
	tlc_cool(c);
	return c->warm == NULL && c->top < c->end;
}

/* Releases objects as release_own does, and leaves their slots where they are. Returns where it met
 * something else, as release_own; gens has the bits of all generations. Budget of each: 5 loads, 3 stores, 4
 * branches, 22 instructions. A comparison of memory with a register is one step with its jump, with a number it is two;
 * so sh is in a register. */
static inline __attribute__((always_inline)) tl_entry* release_in_place(const tl_context* c, tl_entry* top,
                                                                        const tl_entry* low, uint32_t* gens)
{
	const uint32_t loc = c->one;
	uint32_t sh = TL_SH_ALIVE;
	__asm__("" : "+r"(sh));
	for (; top > low; top--) {
		tl_record* r = tlc_g.records + top[-1].record;
		uint64_t life = (uint64_t)top[-1].gen << 32;
		if (TLC_UNLIKELY(!tlc_is_plain(r, life, loc, sh) || !tlc_next_life(life, &life))) break;
		tlc_clear_counts(r);
		tlc_set_life(r, life);
		const uint32_t gen = (uint32_t)(life >> 32);
		__atomic_store_n(&top[-1].gen, gen, __ATOMIC_RELAXED);
		*gens |= gen;
		TLC_PROBE_FREE_STORED(top[-1].object);
	}
	return top;
}

/* Whether there are warm places, and all from low up to them are few enough and not indexed, so that they may become
 * warm, too. False where warm is NULL: the difference wraps. */
static inline bool is_near_warm(const tl_context* c, const tl_entry* low)
{
	return TLC_LIKELY((uintptr_t)c->warm - (uintptr_t)low <= TL_WARM_ENTRIES * sizeof *low) &&
	       (TLC_LIKELY(c->index.below == 0) || c->index.below <= (uint64_t)(low - c->entries));
}

/* Makes the places of a scope with entries from low on the first ones that stay warm; false: they may not. */
static bool begin_warm(tl_context* c, const tl_entry* low)
{
	if (c->cold_exits != 0) {
		c->cold_exits--;
		return false;
	}
	if (c->warm != NULL || c->top - low > TL_WARM_ENTRIES || c->index.below > (uint64_t)(low - c->entries))
		return false;
	c->warm = c->end = c->top;
	return true;
}

/* Releases blocks of malloc whose only reference is the scope's. The entry is removed first: free
 * may be the host's own function, and what that registers is the scope's as well, in warm places too. */
static __attribute__((noinline)) tl_entry* release_foreign(tl_context* c, tl_entry* top, const tl_entry* low)
{
	for (; top > low && top[-1].record == TL_FOREIGN; top = c->top) {
		uintptr_t p = top[-1].object;
		if (TLC_UNLIKELY(p == 0 || !tlc_foreign_end(p, top[-1].gen))) break;
		tlc_lower_top(c, top - 1);
		tlc_free_foreign(c, p, TL_FOREIGN_MALLOC);
	}
	return top;
}

/* Blocks of malloc, tensors, and objects that release_own may release, in turns. */
static inline tl_entry* release_simple(tl_context* c, tl_entry* top, const tl_entry* low)
{
	for (const tl_entry* before = NULL; top > low && top != before;) {
		before = top;
		const tl_record* r = tlc_g.records + top[-1].record;
		const uint32_t type = TLC_LOAD(r->type_flags);
		if (top[-1].record == TL_FOREIGN) top = release_foreign(c, top, low);
		else if (type == TL_TYPE_TENSOR) top = tlc_tensor_release_run(c, top, low);
		else if (type == TL_TYPE_PLAIN || TLC_LOAD(r->loc) != c->one) top = release_own(c, top, low);
	}
	return top;
}

/* Ends an object of this thread's whose only reference was an entry's, and that is not plain; false: it is another one. */
static inline bool end_typed(tl_context* c, tl_entry e)
{
	tl_record* r = tlc_g.records + e.record;
	return TLC_LOAD(r->loc) == c->one && TLC_LOAD(r->gen) == e.gen &&
	       atomic_load_explicit(&r->sh, memory_order_acquire) == TL_SH_ALIVE &&
	       (end_leaf(c, r, e.object) || tlc_kill_typed(c, r, e.object));
}

/* Releases the newest mark's entries until none is left, or until a destructor may have changed the
 * stacks; then the caller checks again. */
static bool release_entries(tl_context* c)
{
	const tl_mark* mark = c->mark_top - 1;
	for (;;) {
		const tl_entry* low = mark->top; /* a destructor may have caused holes below to be closed */
		tlc_lower_top(c, release_simple(c, c->top, low));
		if (TLC_UNLIKELY(c->mark_top != mark + 1)) return false;
		if (c->top <= low) return true;
		tl_entry e = c->top[-1];
		tlc_lower_top(c, c->top - 1);
		if (!end_typed(c, e)) tlc_release_entry(c, e);
		if (TLC_UNLIKELY(c->mark_top != mark + 1)) return false;
	}
}

static __attribute__((cold, noinline)) void trim(void)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return;
	tlentry_trim((uintptr_t)in);
	tlc_entry_end(in);
}

/* The entries are in the index: Go removes them from it as it releases them. */
static __attribute__((cold, noinline)) tl_status close_slowly(uint64_t target, uint32_t function)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(function, &why);
	if (in == NULL) return why;
	in->unfinished = 1;
	in->close_target = target;
	if (in->draining.active) { /* inside a destructor only this call can finish the close */
		in->unfinished = 0;
		tlentry_close((uintptr_t)in, target);
	}
	tlc_entry_end(in);
	return TL_OK;
}

_Static_assert(TL_MARK_SCOPE == 0, "tlc_op_mem_exit_scope knows a scope without flags by a kind of 0");

static inline void pop_newest(tl_context* c)
{
	tl_mark* m = c->mark_top - 1;
	tlc_pop_mark(c, m, m->kind >> TL_MARK_KIND_SHIFT, m->kind);
}

/* Closes marks down to target: the fast path's CloseTo. */
static __attribute__((noinline)) tl_status close_to(tl_context* c, uint64_t target, uint32_t function)
{
	uint64_t entries = (uint64_t)(c->top - c->entries);
	while ((uint64_t)(c->mark_top - c->marks) > target) {
		if (TLC_UNLIKELY(c->index.below > (uint64_t)(c->mark_top[-1].top - c->entries)))
			return close_slowly(target, function);
		if (TLC_LIKELY(release_entries(c))) pop_newest(c);
	}
	if (TLC_UNLIKELY(tlc_has_mail(c)) && !tlc_read_inbox(c)) tlc_poll();
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0) && !c->draining.active) tlc_finish(c);
	if (TLC_UNLIKELY(entries - (uint64_t)(c->top - c->entries) > TRIM_ENTRIES &&
	                 entries > (uint64_t)(c->top - c->entries)))
		trim();
	return TL_OK;
}

/* Leaves the newest mark; close_to handles what needs more than a magazine or free, and what a free of the host's own
 * has opened or closed. */
static __attribute__((noinline)) tl_status leave_cold(tl_context* c, tl_mark* mark, uint32_t function)
{
	const tl_entry* low = mark->top;
	if (TLC_LIKELY(c->index.below <= (uint64_t)(low - c->entries) && c->top - low <= TRIM_ENTRIES) &&
	    TLC_LIKELY(release_entries(c)) &&
	    TLC_LIKELY(tlc_leave_empty(c, mark, mark->kind >> TL_MARK_KIND_SHIFT, mark->kind)))
		return TL_OK;
	return close_to(c, (uint64_t)(mark - c->marks), function);
}

/* Leaves the newest mark, whose scope differs from the last ones. end is above the top where release_in_place has not
 * run; otherwise the places from top on are warm now. */
static __attribute__((noinline)) tl_status leave_and_cool(tl_context* c, tl_entry* top, uint32_t function)
{
	if (c->end <= c->top) set_warm_top(c, top);
	uint64_t target = (uint64_t)(c->mark_top - 1 - c->marks);
	c->cold_exits = COLD_EXITS;
	tlc_cool(c); /* by way of Go, where a destructor may change the stacks */
	return close_to(c, target, function);
}

typedef tl_status leaver(tl_context* c);

static __attribute__((noinline)) tl_status leave_first(tl_context* c, uint32_t function, leaver* again)
{
	tl_mark* mark = c->mark_top - 1;
	return begin_warm(c, mark->top) ? again(c) : leave_cold(c, mark, function);
}

/* Leaves the newest mark, which has entries, and its places warm where they hold nothing but some small plain objects.
 * It calls nothing that returns to it, so that it saves no register. */
static inline __attribute__((always_inline)) tl_status leave(tl_context* c, uint32_t kind, uint32_t function,
                                                             leaver* again)
{
	const tl_entry* low = c->mark_top[-1].top;
	if (TLC_UNLIKELY(!is_near_warm(c, low))) return leave_first(c, function, again);
	if (TLC_UNLIKELY(c->end > c->top)) return leave_and_cool(c, c->top, function);
	uint32_t gens = 0;
	tl_entry* top = release_in_place(c, c->top, low, &gens);
	const uint64_t other = (gens & 0xFF & ~(uint32_t)TL_WARM_CLASSES) | ((uintptr_t)top ^ (uintptr_t)low);
	if (TLC_UNLIKELY(other != 0) || TLC_UNLIKELY(!tlc_is_quiet(c))) return leave_and_cool(c, top, function);
	/* The mark says what top is now. The processor need not wait for every object of this scope before it begins with
	 * the next one, as it would where top stood in the place of the mark's. */
	tl_mark* mark = c->mark_top - 1;
	set_warm_top(c, mark->top);
	tlc_pop_mark(c, mark, kind, mark->kind);
	return TL_OK;
}

static __attribute__((noinline)) tl_status leave_scope(tl_context* c)
{
	return leave(c, TL_MARK_SCOPE, TL_FN_tl_mem_exit_scope, leave_scope);
}

static __attribute__((noinline)) tl_status leave_function(tl_context* c)
{
	return leave(c, TL_MARK_FUNCTION, TL_FN_tl_mem_function_exit, leave_function);
}

static __attribute__((noinline)) tl_status leave_frame(tl_context* c)
{
	return leave(c, TL_MARK_PLANNED, TL_FN_tl_mem_frame_exit, leave_frame);
}

/* Leaves the newest mark, of this kind. */
static inline __attribute__((always_inline)) tl_status leave_newest(tl_context* c, uint32_t kind, uint32_t function,
                                                                    leaver* with_entries)
{
	tl_mark* mark = c->mark_top - 1;
	if (c->top != mark->top) return with_entries(c);
	if (TLC_UNLIKELY(!tlc_is_quiet(c))) return leave_cold(c, mark, function);
	tlc_pop_mark(c, mark, kind, mark->kind);
	return TL_OK;
}

tl_status tl_mem_exit_scope(void)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_in_scope(c))) return slow_mem_exit_scope();
	return leave_newest(c, TL_MARK_SCOPE, TL_FN_tl_mem_exit_scope, leave_scope);
}

/* A caller whose frame is above that of the drain got there by a longjmp out of a destructor. A
 * caller below it is a destructor that unwinds its own scopes, and the drain continues after it. */
static inline void restart_drain(tl_context* c, uintptr_t frame)
{
	if (TLC_UNLIKELY(c->draining.active && frame >= c->draining.frame)) c->draining.active = 0;
	if (TLC_UNLIKELY(tlc_asking != 0 && frame > tlc_asking)) tlc_asking = 0;
}

tl_status tl_mem_exit_scopes_to(int64_t target)
{
	tl_context* c = tlc_tls;
	if (c->self != NULL) restart_drain(c->self, (uintptr_t)__builtin_frame_address(0));
	if (TLC_UNLIKELY(!tlc_is_fast(c) || target < 0 || (uint64_t)target > tlc_depth(c)))
		return slow_mem_exit_scopes_to(target);
	uint64_t n = (uint64_t)(c->mark_top - c->marks);
	for (uint64_t open = tlc_depth(c); open > (uint64_t)target; n--)
		open -= c->marks[n - 1].kind >> TL_MARK_KIND_SHIFT != TL_MARK_PLANNED;
	return close_to(c, n, TL_FN_tl_mem_exit_scopes_to);
}

/* ---- functions and planned frames ----------------------------------------------------- */

tl_status tl_mem_function_enter(int64_t slots)
{
	return TLC_LIKELY(tlc_op_mem_function_enter(tlc_tls, slots)) ? TL_OK : slow_mem_function_enter(slots);
}

tl_status tl_mem_function_exit(void)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(c->function == 0)) return slow_mem_function_exit();
	if (TLC_UNLIKELY(!tlc_is_in_function(c))) return close_to(c, c->function - 1, TL_FN_tl_mem_function_exit);
	return leave_newest(c, TL_MARK_FUNCTION, TL_FN_tl_mem_function_exit, leave_function);
}

/* A buffer that other memory follows: a larger one replaces it, by half at least, as in Go. NULL: ask Go, nothing changed. */
static __attribute__((noinline)) void* move_buffer(tl_context* c, int64_t slot, int64_t min_bytes)
{
	if ((uint64_t)slot >= c->slots || min_bytes <= 0 || (uint64_t)(c->mark_top - c->marks) != c->function) return NULL;
	tl_slot* s = &c->slot_table[slot];
	const uintptr_t at = TLC_ALIGNED64(c->frame.top);
	const int64_t left = tlc_frame_left(c, at), more = (int64_t)(s->bytes + s->bytes / 2);
	if (left < min_bytes) return NULL;
	const uint64_t bytes = (uint64_t)(more > min_bytes && more <= left ? more : min_bytes);
	c->frame.top = at + bytes;
	*s = (tl_slot){at, bytes};
	return (void*)at;
}

void* tlc_get_buffer(tl_context* c, int64_t slot, int64_t min_bytes)
{
	void* buffer;
	return TLC_LIKELY(tlc_op_mem_get_buffer(c, slot, min_bytes, &buffer)) ? buffer : move_buffer(c, slot, min_bytes);
}

/* Out of line, so that tl_mem_get_buffer saves no register. */
static __attribute__((noinline)) void* get_moved_buffer(int64_t slot, int64_t min_bytes)
{
	void* buffer = move_buffer(tlc_tls, slot, min_bytes);
	return buffer != NULL ? buffer : slow_mem_get_buffer(slot, min_bytes);
}

void* tl_mem_get_buffer(int64_t slot, int64_t min_bytes)
{
	void* buffer;
	return TLC_LIKELY(tlc_op_mem_get_buffer(tlc_tls, slot, min_bytes, &buffer)) ? buffer
	                                                                            : get_moved_buffer(slot, min_bytes);
}

void* tl_mem_frame_enter(size_t bytes)
{
	void* frame;
	return TLC_LIKELY(tlc_op_mem_frame_enter(tlc_tls, bytes, &frame)) ? frame : slow_mem_frame_enter(bytes);
}

tl_status tl_mem_frame_exit(void)
{
	tl_context* c = tlc_tls;
	if (TLC_LIKELY(tlc_is_in_frame(c))) return leave_newest(c, TL_MARK_PLANNED, TL_FN_tl_mem_frame_exit, leave_frame);
	uint64_t n = (uint64_t)(c->mark_top - c->marks);
	while (n > c->function && c->marks[n - 1].kind >> TL_MARK_KIND_SHIFT != TL_MARK_PLANNED) n--;
	if (TLC_UNLIKELY(n <= c->function)) return slow_mem_frame_exit();
	return close_to(c, n - 1, TL_FN_tl_mem_frame_exit);
}
