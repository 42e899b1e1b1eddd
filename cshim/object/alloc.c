/* Allocation from magazines. */
#include <string.h>

#include "../heap/heap.h"
#include "fast.h"
#include "inbox.h"
#include "../inline/counts.h"
#include "../inline/objects.h"

/* Whether a magazine was empty and has slots again. */
static bool refill(size_t n)
{
	tl_context* c = tlc_tls;
	return tlc_refill(c, tlc_magazine_for(c, n));
}

/* Makes a large object live, as an object with these counts. */
static void* enliven(tl_entry e, const uint32_t* counts, size_t bytes)
{
	tlc_set_counts(tlc_g.records + e.record, tlc_pair_of(counts));
	TLC_PROBE_ALLOCATE(e.object, bytes);
	return (void*)e.object;
}

/* A large object; NULL: ask Go. */
static void* alloc_large(tl_context* c, size_t bytes)
{
	bool zero;
	const tl_entry e = tlc_take_large(c, bytes, &zero);
	return e.object != 0 ? enliven(e, &c->alloc_loc, bytes) : NULL;
}

static void* new_large(tl_context* c, size_t bytes, bool* zero)
{
	const tl_entry e = tlc_has_room(c) ? tlc_take_large(c, bytes, zero) : (tl_entry){0, 0, 0};
	if (e.object == 0) return NULL;
	tlc_push(c, e);
	return enliven(e, &c->new_loc, bytes);
}

/* An object that is large or whose magazine was empty; false: ask Go. */
static bool alloc_elsewhere(size_t bytes, void** p)
{
	if (bytes > TLC_MAX_SMALL) return (*p = alloc_large(tlc_tls, bytes)) != NULL;
	return refill(bytes) && tlc_op_mem_alloc(tlc_tls, bytes, p);
}

bool tlc_alloc(size_t bytes, void** p) { return tlc_op_mem_alloc(tlc_tls, bytes, p) || alloc_elsewhere(bytes, p); }

static __attribute__((noinline)) void* alloc_rest(size_t bytes)
{
	void* p;
	return alloc_elsewhere(bytes, &p) ? p : slow_mem_alloc(bytes);
}

void* tl_mem_alloc(size_t bytes)
{
	void* p;
	return TLC_LIKELY(tlc_op_mem_alloc(tlc_tls, bytes, &p)) ? p : alloc_rest(bytes);
}

/* The size of every class that has room for a multiple of 2^k is one, too, where 2^k is 64 KiB at most, and slabs are
 * aligned to their size. NULL: ask Go. */
static void* alloc_aligned(tl_context* c, size_t bytes, size_t alignment)
{
	void* p;
	bool zero;
	if (alignment == 0 || (alignment & (alignment - 1)) != 0 || bytes == 0) return NULL;
	if (alignment <= TL_SPAN_BYTES) {
		if (bytes <= TLC_MAX_SMALL) bytes = (bytes + alignment - 1) & ~(alignment - 1);
		return tlc_op_mem_alloc(c, bytes, &p) || alloc_elsewhere(bytes, &p) ? p : NULL;
	}
	const size_t spans = alignment >> TL_SPAN_SHIFT;
	if (spans > TL_HEAP_MOST_ALIGN) return NULL;
	const tl_entry e = tlc_take_aligned(c, bytes > TLC_MAX_SMALL ? bytes : TLC_MAX_SMALL + 1, (uint32_t)spans, &zero);
	return e.object != 0 ? enliven(e, &c->alloc_loc, bytes) : NULL;
}

void* tl_mem_aligned_alloc(size_t bytes, size_t alignment)
{
	void* p = alloc_aligned(tlc_tls, bytes, alignment);
	return TLC_LIKELY(p != NULL) ? p : slow_mem_aligned_alloc(bytes, alignment);
}

void* tl_alloc_tmp(int64_t bytes)
{
	void* p;
	if (TLC_LIKELY(tlc_op_alloc_tmp(tlc_tls, bytes, &p))) return p;
	return bytes > 0 && alloc_elsewhere((size_t)bytes, &p) ? p : slow_alloc_tmp(bytes);
}

static __attribute__((noinline)) void* new_rest(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	bool zero;
	if (bytes > TLC_MAX_SMALL) return (p = new_large(c, bytes, &zero)) != NULL ? p : slow_mem_new(bytes);
	return refill(bytes) && tlc_tls == c && tlc_has_room(c) && tlc_new_object(c, bytes, &p) ? p : slow_mem_new(bytes);
}

/* A new object where a warm place of another class is, or none. */
static __attribute__((noinline)) void* new_displacing(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	return tlc_displace(c) && tlc_new_object(c, bytes, &p) ? p : new_rest(bytes);
}

void* tl_mem_new(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	int place = tlc_place(c, bytes);
	if (TLC_LIKELY(place == TLC_PLACE_WARM)) {
		if (TLC_UNLIKELY(!tlc_new_warm(c, &p))) return slow_mem_new(bytes);
		TLC_PROBE_ALLOCATE(p, bytes);
		return p;
	}
	if (place == TLC_PLACE_FREE) return TLC_LIKELY(tlc_new_object(c, bytes, &p)) ? p : new_rest(bytes);
	return new_displacing(bytes);
}

void* tl_mem_new_zeroed(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* p;
	if (TLC_LIKELY(tlc_has_room(c)) && TLC_LIKELY(tlc_new_object(c, bytes, &p))) return memset(p, 0, bytes);
	bool zero = false;
	if (bytes > TLC_MAX_SMALL) p = new_large(c, bytes, &zero);
	else if (!refill(bytes) || tlc_tls != c || !tlc_has_room(c) || !tlc_new_object(c, bytes, &p)) p = NULL;
	if (TLC_UNLIKELY(p == NULL)) return slow_mem_new_zeroed(bytes);
	return zero ? p : tlc_heap_clear(p, bytes);
}

/* ---- realloc --------------------------------------------------------------------------- */

/* Sizes are recorded with all allocations, so Go changes them then. With TL_TRACK_SAMPLE C does: a sample that stays where
 * it is keeps the size that it had, and one that moves ends, as with a new object and a copy. */
static bool may_resize(const tl_context* c)
{
	return tlc_is_fast(c) && tlc_g.debug == 0 &&
	       (TLC_LOAD(tlc_shared->tracking) & TL_TRACKING_MODE) <= TL_TRACKING_SAMPLE;
}

/* A slot for an object that has `size` bytes and moves; object 0: ask Go. Runs nothing of the program's. */
static tl_entry take_for(tl_context* c, size_t bytes, uint64_t size)
{
	bool zero;
	if (bytes > TLC_MAX_SMALL) {
		const uint64_t grown = size + size / TL_HEAP_GROWS_BY;
		return tlc_take_large(c, size > TLC_MAX_SMALL && size < bytes && grown > bytes ? grown : bytes, &zero);
	}
	const tl_entry e = tlc_take(c, bytes);
	return e.object != 0 || !tlc_refill_magazine(c, tlc_class_of(bytes)) ? e : tlc_take(c, bytes);
}

/* Moves a plain object of this thread's, whose only reference floats or is a scope's; NULL: ask Go, nothing changed. */
static __attribute__((noinline)) void* move(tl_context* c, tl_entry e, uint32_t class, size_t bytes)
{
	tl_record* r = tlc_g.records + e.record;
	const uint32_t loc = TLC_LOAD(r->loc);
	const bool floats = loc == c->one + TL_LOC_FLOAT;
	if ((!floats && loc != c->one) || tlc_is_last_life(e.gen) || tlc_forked()) return NULL;
	const int64_t at = floats ? TLC_NOT_FOUND : tlc_find_entry(c, e.object, 0);
	if (!floats && (at < 0 || tlc_tag(&c->entries[at]) != tlc_tag(&e))) return NULL;
	const uint64_t size = tlc_slot_bytes(e.object, class);
	const tl_entry to = take_for(c, bytes, size);
	if (TLC_UNLIKELY(to.object == 0)) return NULL;
	memcpy((void*)to.object, (const void*)e.object, size < bytes ? size : bytes);
	tlc_set_counts(tlc_g.records + to.record, tlc_pair_of(floats ? &c->alloc_loc : &c->new_loc));
	if (!floats) tlc_move_entry(c, (uint64_t)at, to);
	TLC_PROBE_ALLOCATE(to.object, bytes);
	tlc_free_slot(c, r, e.object, tlc_tag(&e));
	return (void*)to.object;
}

/* NULL: ask Go, nothing changed. Budget of a size of the same class: that of tl_mem_free, without a store. */
static void* resize(tl_context* c, uintptr_t p, size_t bytes)
{
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, &class)) || TLC_UNLIKELY(bytes == 0 || !may_resize(c))) return NULL;
	if (TLC_UNLIKELY(tlc_own(c, TLC_LOAD(r->loc)) >= TLC_OWNED) || TLC_UNLIKELY(!tlc_is_plain_alone(r))) return NULL;
	if (class != TL_CLASS_LARGE) {
		if (bytes <= TLC_MAX_SMALL && tlc_class_of(bytes) == class) return (void*)p;
	} else if (bytes > TLC_MAX_SMALL) {
		const int why = tlc_resize_large(c, p, bytes);
		if (why != TL_HEAP_FULL) return why == TL_HEAP_OK ? (void*)p : NULL;
	}
	return move(c, tlc_entry_of(r, p), class, bytes);
}

void* tl_mem_realloc(void* object, size_t bytes)
{
	void* p;
	if (TLC_UNLIKELY(object == NULL)) return tlc_alloc(bytes, &p) ? p : slow_mem_realloc(object, bytes);
	p = resize(tlc_tls, (uintptr_t)object, bytes);
	return TLC_LIKELY(p != NULL) ? p : slow_mem_realloc(object, bytes);
}

/* ---- reuse ----------------------------------------------------------------------------- */

/* Another slot, or none yet: the new object comes first, so that nothing has changed where there is no memory. */
static __attribute__((noinline)) void* reuse_rest(void* object, size_t bytes)
{
	const uintptr_t p = (uintptr_t)object;
	tl_record* r;
	uint32_t class;
	void* fresh;
	if (object == NULL) return tlc_alloc(bytes, &fresh) ? fresh : slow_ptr_reuse(object, bytes);
	if (bytes == 0 || !tlc_find_slot(p, &r, &class) || !tlc_is_fast(tlc_tls) || tlc_g.debug != 0 ||
	    TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN || !tlc_is_live_object(r) || !tlc_alloc(bytes, &fresh))
		return slow_ptr_reuse(object, bytes);
	/* The allocation may have ended an object that waited in this thread's inbox, and have its slot. */
	if (TLC_LIKELY(fresh != object) && TLC_LIKELY(tlc_release_found(p, r, class))) return fresh;
	tl_mem_free(fresh);
	return slow_ptr_reuse(object, bytes);
}

void* tl_ptr_reuse(void* object, size_t bytes)
{
	void* p;
	return TLC_LIKELY(tlc_op_ptr_reuse(tlc_tls, NULL, object, bytes, &p)) ? p : reuse_rest(object, bytes);
}

/* ---- sizes ----------------------------------------------------------------------------- */

/* TL_DEBUG ends an object where its red zone begins, and Go knows where. */
size_t tl_mem_usable_size(const void* object)
{
	tl_record* r;
	uint32_t class;
	if (TLC_LIKELY(tlc_find_slot((uintptr_t)object, &r, &class)) && TLC_LIKELY(tlc_g.debug == 0) &&
	    TLC_LIKELY(tlc_is_live_object(r)) && TLC_LIKELY(TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN))
		return tlc_slot_bytes((uintptr_t)object, class);
	return slow_mem_usable_size(object);
}

/* ---- free ------------------------------------------------------------------------------ */

/* Frees what tl_ptr_dec_ref has brought to zero, and what is plain bytes, has no owner, and one reference, which floats:
 * so a context makes them that owns nothing. */
static bool free_unowned(tl_context* c, tl_record* r, uintptr_t p)
{
	const uint32_t floating = TLC_HELD | TL_SH_FLOAT, sh = TLC_LOAD(r->sh);
	if ((sh != TLC_AT_ZERO && sh != floating) || TLC_LOAD(r->loc) != 0) return false; /* or a cell */
	if (tlc_end_held(c, r, tlc_entry_of(r, p), sh)) return true;
	return sh == TLC_AT_ZERO && tlc_free_typed(c, r, p);
}

/* A block of the registry that no counted reference holds; or nothing. */
static int free_elsewhere(tl_context* c, uintptr_t p)
{
	tlc_ended ended;
	if (!tlc_is_fast(c) || tlc_in_heap(p)) return TLC_SLOW;
	if (p == 0 || tlc_in_live_stack(c, p)) return TLC_OK;
	const int result = tlc_in_slices(p) ? TLC_SLOW : tlc_foreign_forget(p, &ended);
	if (result != TLC_GONE) return result;
	tlc_free_ended(c, &ended);
	return TLC_OK;
}

/* Frees an object of another thread's whose only reference floats: its owner does, as after a release. Both words are read
 * as they were at one moment. */
static bool free_owned(tl_context* c, tl_record* r, uintptr_t p)
{
	const uint32_t sh = TLC_LOAD_ACQUIRE(r->sh), loc = TLC_LOAD_ACQUIRE(r->loc);
	if (sh != TL_SH_ALIVE || loc >> TL_LOC_OWNER_SHIFT == 0 || TLC_LOAD(r->sh) != sh) return false;
	return (loc & (TL_LOC_FLOATS | TL_LOC_COUNT)) == TL_LOC_FLOAT + 1 && tlc_is_fast(c) &&
	       tlc_hand_over(c, r, tlc_entry_of(r, p));
}

/* What tlc_op_mem_free leaves. An object that floats with its only reference ends as with that. */
static __attribute__((noinline)) bool free_rest(void* object, uint32_t function, tl_status* why)
{
	tl_context* c = tlc_tls;
	const uintptr_t p = (uintptr_t)object;
	tl_record* r;
	uint32_t class;
	*why = TL_OK;
	if (!tlc_find_slot(p, &r, &class)) {
		const int result = free_elsewhere(c, p);
		return result == TLC_OK || tlc_refuse_missed(result, function, object, why);
	}
	if (tlc_g.debug != 0 || free_unowned(c, r, p)) return tlc_g.debug == 0;
	const uint32_t loc = TLC_LOAD(r->loc), own = tlc_own(c, loc);
	if (own >= TLC_OWNED) return free_owned(c, r, p);
	if (TLC_LOAD_ACQUIRE(r->sh) != TL_SH_ALIVE) return false;
	if (own == TL_LOC_FLOAT + 1) return tlc_release_found(p, r, class);
	if (tlc_loc_floats(loc) >= (loc & TL_LOC_COUNT)) return false;
	const tlc_finding held = {TL_E_BUSY, TL_TEXT_REFERENCED, {loc & TL_LOC_COUNT}};
	*why = tlc_fail_with(&held, function, object);
	return true;
}

tl_status tl_mem_free(void* object)
{
	tl_status why;
	if (TLC_LIKELY(tlc_op_mem_free(tlc_tls, object))) return TL_OK;
	return free_rest(object, TL_FN_tl_mem_free, &why) ? why : slow_mem_free(object);
}

tl_status tl_mem_dealloc(void* object)
{
	tl_status why;
	if (TLC_LIKELY(tlc_op_mem_free(tlc_tls, object))) return TL_OK;
	return free_rest(object, TL_FN_tl_mem_dealloc, &why) ? why : slow_mem_dealloc(object);
}

tl_status tl_free_tmp(void* object)
{
	tl_status why;
	if (TLC_LIKELY(tlc_op_mem_free(tlc_tls, object))) return TL_OK;
	return free_rest(object, TL_FN_tl_free_tmp, &why) ? why : slow_free_tmp(object);
}
