/* How tensors and views end: tl_tensor_free, which finds the scope entry and drops its reference, and the exit of a
 * scope. */
#include "tensor.h"

/* The shared word of a tensor with one reference, which does not float. */
#define ONLY_REFERENCE (TL_SH_ALIVE | TL_SH_MERGED | TL_SH_ONE)

/* Whether both refer to one life of one object: a pointer may get another record, which has
 * generations of its own. */
static inline bool same_entry(tl_entry a, tl_entry b)
{
	return a.object == b.object && a.record == b.record && a.gen == b.gen;
}

/* Removes the newest entry of an object from this function's scopes, if there is one; false: ask
 * Go, nothing changed. */
static __attribute__((noinline)) bool forget_entry(tl_context* c, tl_entry e)
{
	int64_t at = tlc_find_entry(c, e.object, c->floor);
	if (at == TLC_NOT_FOUND) return true;
	if (TLC_UNLIKELY(at == TLC_ASK_GO || tlc_needs_compaction(c) || !same_entry(c->entries[at], e))) return false;
	tlc_take_out(c, (uint64_t)at);
	return true;
}

/* The same for the newest entry of the current scope. */
static inline bool pop_entry(tl_context* c, tl_entry e)
{
	if (TLC_UNLIKELY(c->top <= tlc_scope_bottom(c) || !tlc_is_top_free(c))) return false;
	if (TLC_UNLIKELY(!same_entry(c->top[-1], e))) return false;
	c->top--;
	return true;
}

/* The rest of tl_tensor_free after the entry was removed; the scope gets the entry back when Go
 * cannot be entered. */
static __attribute__((noinline)) tl_status free_slowly(tl_context* c, tl_entry e)
{
	tl_status status;
	tl_context* in = tlc_entry_begin(TL_FN_tl_tensor_free, &status);
	if (in == NULL) {
		if (tlc_has_room(c)) tlc_push(c, e);
		return status;
	}
	status = tlgo_tensor_release((uintptr_t)in, e.object);
	tlc_entry_end(in);
	return tlc_found(in, status);
}

/* Whether e, whose tag and record these are, names p, alive, a tensor with one reference: then it is the newest entry
 * of p, since each entry holds a reference. An entry whose generation is that of its record names a live
 * object, so p needs no search. Record 0, which is a foreign block's, is dead. */
static inline __attribute__((always_inline)) bool is_only_entry(const tl_entry* e, uint64_t tag, const tl_record* r,
                                                                uintptr_t p)
{
	if (TLC_UNLIKELY(e->object != p)) return false;
	if (TLC_UNLIKELY(atomic_load_explicit(&r->sh, memory_order_acquire) != ONLY_REFERENCE)) return false;
	return TLC_LIKELY(tlc_life(r) == tlc_life_of(tag, TL_TYPE_TENSOR));
}

static inline bool is_only_entry_at(const tl_context* c, uint64_t at, uintptr_t p)
{
	const tl_entry* e = &c->entries[at];
	return is_only_entry(e, tlc_tag(e), tlc_g.records + e->record, p);
}

/* The position of a tensor that is freed before newer ones; TLC_NOT_FOUND: it is not where it was
 * looked for. Programs that free the oldest tensors of a scope first go up the stack: the first one
 * of the scope, then the one above the last hole. */
static inline int64_t find_oldest(const tl_context* c, uintptr_t p)
{
	const uint64_t n = (uint64_t)(c->top - c->entries);
	uint64_t at = c->after_hole;
	if (TLC_LIKELY(at < n && at >= c->floor && is_only_entry_at(c, at, p))) return (int64_t)at;
	if (c->mark_top == c->marks) return TLC_NOT_FOUND;
	at = (uint64_t)(tlc_scope_bottom(c) - c->entries);
	return at < n && is_only_entry_at(c, at, p) ? (int64_t)at : TLC_NOT_FOUND;
}

static __attribute__((noinline)) tl_status free_rest(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	uintptr_t p = (uintptr_t)tensor;
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_UNLIKELY(r == NULL)) return tlc_tensor_in_slot(c, p) ? TL_OK : slow_tensor_free(tensor);
	if (TLC_UNLIKELY(!tlc_is_live_object(r))) return slow_tensor_free(tensor);
	tl_entry e = tlc_entry_of(r, p);
	if (TLC_UNLIKELY(!pop_entry(c, e) && !forget_entry(c, e))) return slow_tensor_free(tensor);
	return TLC_LIKELY(tlc_tensor_drop(c, r, e)) ? TL_OK : free_slowly(c, e);
}

/* Budget of the entry above the last hole: 28 loads, 13 stores or 10 and a compare-and-swap, about 110
 * instructions. */
static __attribute__((noinline)) tl_status free_older(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	int64_t at = find_oldest(c, (uintptr_t)tensor);
	if (at == TLC_NOT_FOUND || TLC_UNLIKELY(tlc_needs_compaction(c))) return free_rest(tensor);
	const tl_entry e = c->entries[at];
	tl_record* r = tlc_g.records + e.record;
	c->after_hole = (uint32_t)at + 1;
	if (TLC_LIKELY((uint64_t)at >= c->index.below && c->entries + at + 1 != c->top)) tlc_leave_hole(c, (uint64_t)at);
	else tlc_take_out(c, (uint64_t)at);
	if (TLC_LIKELY(tlc_tensor_end_whole(c, r, e.object, tlc_tag(&e), ONLY_REFERENCE))) return TL_OK;
	return tlc_tensor_drop(c, r, e) ? TL_OK : free_slowly(c, e);
}

/* The newest entry of the scope, where its tensor has more to end than its slot, is large, or the magazine is full. */
static __attribute__((noinline)) tl_status free_newest(tl_context* c, uintptr_t object, uint64_t tag)
{
	const tl_entry e = {object, (uint32_t)tag, (uint32_t)(tag >> 32)};
	tl_record* r = tlc_g.records + e.record;
	const tl_tensor_header* h = (const tl_tensor_header*)object;
	c->top--;
	if (tlc_tensor_is_whole(h) && tlc_tensor_give_elsewhere(c, r, object, tag, ONLY_REFERENCE)) return TL_OK;
	if ((h->flags & TL_TENSOR_VIEW) != 0 && tlc_view_drop(c, r, e, ONLY_REFERENCE)) return TL_OK;
	return TLC_LIKELY(tlc_tensor_drop(c, r, e)) ? TL_OK : free_slowly(c, e);
}

/* The common case: the newest entry of the current scope holds the only reference of a tensor whose slot goes to the
 * magazine. Budget: 24 loads and 10 stores, or 24, 7 and a compare-and-swap; about 75 instructions. */
static inline __attribute__((always_inline)) tl_status free_top(tl_context* c, tl_tensor* tensor)
{
	if (TLC_UNLIKELY(c->top <= tlc_scope_bottom(c))) return free_older(tensor);
	const uintptr_t p = (uintptr_t)tensor;
	const uint64_t tag = tlc_tag(&c->top[-1]);
	tl_record* r = tlc_g.records + (uint32_t)tag;
	if (TLC_UNLIKELY(!is_only_entry(&c->top[-1], tag, r, p))) return free_older(tensor);
	if (TLC_UNLIKELY(!tlc_tensor_end_whole(c, r, p, tag, ONLY_REFERENCE))) return free_newest(c, p, tag);
	c->top--;
	return TL_OK;
}

/* The thread has entries in the index, or holes. */
static __attribute__((noinline)) tl_status free_in_long_scope(tl_context* c, tl_tensor* tensor)
{
	return TLC_LIKELY(tlc_is_top_free(c)) ? free_top(c, tensor) : free_older(tensor);
}

tl_status tl_tensor_free(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY((c->index.below | c->holes) != 0)) return free_in_long_scope(c, tensor);
	return free_top(c, tensor);
}

/* ---- the last reference ------------------------------------------------------------------ */

__attribute__((noinline)) bool tlc_tensor_give_elsewhere(tl_context* c, tl_record* r, uintptr_t object, uint64_t tag,
                                                         uint32_t sh)
{
	const uint32_t class = (uint8_t)(tag >> 32);
	if (!tlc_is_fast(c) || tlc_forked() || tlc_is_last_life((uint32_t)(tag >> 32))) return false;
	if (class != TL_CLASS_LARGE)
		return c->magazines[class].top >= c->magazines[class].limit && tlc_make_room(c, class) &&
		       tlc_tensor_give_slot(c, r, object, tag, sh);
	const uint64_t bytes = tlc_slot_bytes(object, class);
	if (!tlc_tensor_end(c, r, sh, &tag)) return false;
	c->kinds[TL_TYPE_TENSOR].gone++;
	c->kinds[TL_TYPE_TENSOR].bytes_gone += bytes;
	return tlc_recycle_elsewhere(c, r, object, tag);
}

static inline bool drop_last(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	const tl_tensor_header* h = (const tl_tensor_header*)e.object;
	if (TLC_LIKELY(tlc_tensor_is_whole(h))) return tlc_tensor_recycle(c, r, e, sh);
	if ((h->flags & TL_TENSOR_VIEW) != 0) return tlc_view_drop(c, r, e, sh);
	return (h->flags & TL_TENSOR_EXTERNAL) != 0 && tlc_borrowed_drop(c, r, e, sh);
}

/* The word after a release: counted references go before floats. */
static inline uint32_t released(uint32_t sh)
{
	int32_t count = tlc_sh_count(sh) - 1, floats = tlc_sh_floats(sh);
	if (floats > count) sh -= (uint32_t)(floats - count) << TL_SH_FLOAT_SHIFT;
	return sh - TL_SH_ONE;
}

/* Drops a reference, the last one or not; false: ask Go, nothing changed.
 * Budget of the last one: a compare-and-swap, where the thread is not alone, and about 40 instructions. */
bool tlc_tensor_drop(tl_context* c, tl_record* r, tl_entry e)
{
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire); /* the last one reads the header */
	for (;;) {
		int32_t count = tlc_sh_count(sh);
		if (TLC_UNLIKELY((sh & TL_SH_FLAGS) != (TL_SH_ALIVE | TL_SH_MERGED) || count <= 0)) return false;
		if (TLC_LIKELY(count == 1)) return drop_last(c, r, e, sh);
		if (atomic_compare_exchange_weak_explicit(&r->sh, &sh, released(sh), memory_order_acq_rel,
		                                          memory_order_acquire))
			return true;
	}
}

/* ---- the end of a view ------------------------------------------------------------------- */

/* The tensor whose memory a view shares, live; NULL: ask Go. */
static inline tl_record* base_record(uintptr_t base)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(base, &r) || TLC_LOAD(r->type_flags) != TL_TYPE_TENSOR)) return NULL;
	if (TLC_UNLIKELY(!tlc_is_live_object(r))) return NULL;
	return (((const tl_tensor_header*)base)->flags & TL_TENSOR_VIEW) == 0 ? r : NULL;
}

/* Whether C may end this view; then *base is the tensor whose memory it shares. */
static inline bool may_end(tl_entry e, tl_record** base)
{
	const tl_tensor_header* h = (const tl_tensor_header*)e.object;
	if (TLC_UNLIKELY((h->flags & ~(TL_TENSOR_READ_ONLY | TL_TENSOR_CONTIGUOUS)) != TL_TENSOR_VIEW)) return false;
	if (TLC_UNLIKELY(tlc_is_last_life(e.gen) || (e.gen & 0xFF) > TL_CLASS_SMALL)) return false;
	*base = base_record(h->base);
	return *base != NULL;
}

static inline bool drop_view(tl_context* c, tl_record* r, tl_entry e, uint32_t sh, tl_record* b)
{
	const uintptr_t base = ((const tl_tensor_header*)e.object)->base; /* before the slot can be used again */
	if (TLC_UNLIKELY(!tlc_tensor_recycle(c, r, e, sh))) return false;
	if (TLC_LIKELY(tlc_drop_shared(b))) return true;
	if (!tlc_tensor_drop(c, b, tlc_entry_of(b, base))) tlc_drop_slowly(base);
	return true;
}

/* A stub fails, its magazines being full. */
bool tlc_view_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	tl_record* b;
	return TLC_LIKELY(may_end(e, &b)) && drop_view(c, r, e, sh, b);
}

/* ---- the end of a scope ------------------------------------------------------------------ */

/* Whether a tensor without floats has more than one reference; another thread may drop one right after. */
static inline bool has_others(const tl_record* r)
{
	uint32_t sh = TLC_LOAD(r->sh);
	return tlc_sh_count(sh) > 1 && (sh & (TL_SH_FLOAT_MASK | TL_SH_CLAIM_MASK)) == 0;
}

/* A view whose storage another thread drops meanwhile may enter Go, so the entry is removed first.
 * Budget of each tensor that ends with its slot: 16 loads, 10 stores or 7 and a compare-and-swap; of each view: 31 loads,
 * 13 stores, two compare-and-swaps. */
tl_entry* tlc_tensor_release_run(tl_context* c, tl_entry* top, const tl_entry* low)
{
	while (top > low) {
		const uintptr_t p = top[-1].object;
		const uint64_t tag = tlc_tag(&top[-1]);
		tl_record *r = tlc_g.records + (uint32_t)tag, *b;
		if (!is_only_entry(&top[-1], tag, r, p)) break;
		if (tlc_tensor_end_whole(c, r, p, tag, ONLY_REFERENCE)) {
			top--;
			continue;
		}
		const tl_entry e = {p, (uint32_t)tag, (uint32_t)(tag >> 32)};
		if (!may_end(e, &b) || !has_others(b)) break;
		tlc_lower_top(c, top - 1);
		if (!drop_view(c, r, e, ONLY_REFERENCE, b)) break; /* the caller sets the top */
		top = c->top;
	}
	return top;
}
