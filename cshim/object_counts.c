/* Counting: tl_ptr_* and the release of single references. */
#include "object_fast.h"
#include "object_inbox.h"
#include "inline_counts.h"

/* Each call looks its pointer up once. All cases but the owner's continue in a tail call with the
 * record that was found, so that the owner's path saves no register. Budget of the owner's acquire
 * and release, each: 10 loads, 1 store, 3 branches, about 35 instructions. */

/* ---- acquire ------------------------------------------------------------------------- */

/* NULL, live stack memory and registered foreign pointers. */
static bool acquire_elsewhere(uintptr_t p)
{
	tl_context* c = tlc_tls;
	if (!tlc_is_fast(c)) return false;
	if (p == 0 || tlc_in_live_stack(c, p)) return true;
	return !tlc_in_heap(p) && tlc_foreign_acquire(p) == TLC_OK;
}

static __attribute__((noinline)) void* acquire_rest(void* object, tl_record* r)
{
	return TLC_LIKELY(tlc_acquire_record(r)) ? object : slow_ptr_acquire(object);
}

static __attribute__((noinline)) void* acquire_no_record(void* object)
{
	return acquire_elsewhere((uintptr_t)object) ? object : slow_ptr_acquire(object);
}

void* tl_ptr_acquire(void* object)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)object, &r))) return acquire_no_record(object);
	return TLC_LIKELY(tlc_acquire_own(tlc_tls, r)) ? object : acquire_rest(object, r);
}

static __attribute__((noinline)) tl_status inc_ref_rest(void* object, tl_record* r)
{
	return TLC_LIKELY(tlc_acquire_record(r)) ? TL_OK : slow_ptr_inc_ref(object);
}

static __attribute__((noinline)) tl_status inc_ref_no_record(void* object)
{
	return acquire_elsewhere((uintptr_t)object) ? TL_OK : slow_ptr_inc_ref(object);
}

tl_status tl_ptr_inc_ref(void* object)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)object, &r))) return inc_ref_no_record(object);
	return TLC_LIKELY(tlc_acquire_own(tlc_tls, r)) ? TL_OK : inc_ref_rest(object, r);
}

/* ---- release ------------------------------------------------------------------------- */

/* Releases an object that the caller owns and that floats or has fields: not the last reference, or
 * the last one of a typed object. Floats never outnumber the references that are left. */
static bool release_own(tl_context* c, tl_record* r, uintptr_t p, uint32_t loc)
{
	uint32_t count = loc & TL_LOC_COUNT;
	if (atomic_load_explicit(&r->sh, memory_order_acquire) != TL_SH_ALIVE) return false;
	if (count == 1) return TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN && tlc_kill_typed(c, r, p);
	if (count == 0) return false;
	loc--;
	TLC_STORE(r->loc, tlc_loc_floats(loc) == count ? loc - TL_LOC_FLOAT : loc);
	return true;
}

static __attribute__((noinline)) bool release_cold(uintptr_t p, tl_record* r)
{
	tl_context* c = tlc_tls;
	if (!tlc_is_fast(c)) return false;
	uint32_t loc = TLC_LOAD(r->loc);
	if (tlc_own(c, loc) < TLC_OWNED) return release_own(c, r, p, loc);
	return tlc_drop_last(c, r, tlc_entry_of(r, p));
}

/* Releases an object of another owner, or one that tlc_release_own and release_own do not handle. */
static inline bool release_record(uintptr_t p, tl_record* r)
{
	tl_context* c = tlc_tls;
	if (tlc_own(c, TLC_LOAD(r->loc)) >= TLC_OWNED && tlc_is_fast(c) && tlc_drop_shared(r)) return true;
	return release_cold(p, r);
}

bool tlc_release_found(uintptr_t p, tl_record* r, uint32_t class)
{
	return TLC_LIKELY(tlc_release_own(tlc_tls, p, r, class)) || release_record(p, r);
}

static bool release_elsewhere(uintptr_t p)
{
	tl_context* c = tlc_tls;
	if (!tlc_is_fast(c)) return false;
	if (p == 0 || tlc_in_live_stack(c, p)) return true;
	if (tlc_in_heap(p)) return false;
	tlc_ended ended;
	switch (tlc_foreign_release(p, &ended)) {
	case TLC_OK: return true;
	case TLC_GONE: tlc_free_ended(c, &ended); return true;
	}
	return false;
}

static __attribute__((noinline)) tl_status release_rest(void* object, tl_record* r)
{
	return TLC_LIKELY(release_record((uintptr_t)object, r)) ? TL_OK : slow_ptr_release(object);
}

static __attribute__((noinline)) tl_status release_no_record(void* object)
{
	return release_elsewhere((uintptr_t)object) ? TL_OK : slow_ptr_release(object);
}

tl_status tl_ptr_release(void* object)
{
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot((uintptr_t)object, &r, &class))) return release_no_record(object);
	return TLC_LIKELY(tlc_release_own(tlc_tls, (uintptr_t)object, r, class)) ? TL_OK : release_rest(object, r);
}

bool tl_ptr_release_bool(void* object)
{
	uintptr_t p = (uintptr_t)object;
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, &class)))
		return p != 0 && (release_elsewhere(p) || slow_ptr_release_bool(object));
	return TLC_LIKELY(tlc_release_own(tlc_tls, p, r, class)) || release_record(p, r) || slow_ptr_release_bool(object);
}

void tlc_drop_reference(uintptr_t p)
{
	tl_record* r;
	uint32_t class;
	bool done = tlc_find_slot(p, &r, &class) ? tlc_release_found(p, r, class) : release_elsewhere(p);
	if (TLC_UNLIKELY(!done)) tlc_drop_slowly(p);
}

/* ---- the rest ------------------------------------------------------------------------- */

int32_t tl_ptr_dec_ref(void* object)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_record_at((uintptr_t)object);
	if (TLC_LIKELY(r != NULL)) {
		if (TLC_LIKELY(tlc_dec_own(c, r))) return 0;
		if (tlc_own(c, TLC_LOAD(r->loc)) >= TLC_OWNED && tlc_is_fast(c) && tlc_drop_shared(r)) return 0;
	}
	return slow_ptr_dec_ref(object);
}

int64_t tl_ptr_refcount(const void* object)
{
	tl_context* c = tlc_tls;
	int64_t count;
	if (TLC_LIKELY(tlc_op_ptr_refcount(c, object, &count))) return count;
	if (object != NULL && tlc_is_fast(c) && !tlc_in_heap((uintptr_t)object) && !tlc_in_slices((uintptr_t)object)) {
		count = tlc_foreign_count((uintptr_t)object);
		if (count > 0) return count;
	}
	return slow_ptr_refcount(object);
}

tl_status tl_ptr_check(const void* object)
{
	tl_record* r = tlc_record_at((uintptr_t)object);
	if (TLC_LIKELY(r != NULL && tlc_is_fast(tlc_tls) && tlc_is_live_object(r))) return TL_OK;
	uintptr_t p = (uintptr_t)object;
	if (r == NULL && tlc_is_fast(tlc_tls) && !tlc_in_heap(p) && !tlc_in_slices(p) && tlc_foreign_count(p) > 0)
		return TL_OK;
	return slow_ptr_check(object);
}

void tlc_release_entry(tl_context* c, tl_entry e)
{
	if (e.object == 0) {
		c->holes--;
		return;
	}
	if (e.record == TL_FOREIGN) {
		tlc_ended ended;
		int result = tlc_foreign_release_entry(e.object, e.gen, &ended);
		if (result == TLC_OK) return;
		if (result == TLC_GONE) return tlc_free_ended(c, &ended);
	} else {
		tl_record* r = tlc_g.records + e.record;
		uint32_t loc = TLC_LOAD(r->loc);
		bool same = TLC_LOAD(r->gen) == e.gen;
		if (TLC_LIKELY(same && tlc_own(c, loc) - 2 < TL_LOC_COUNT - 1)) {
			TLC_STORE(r->loc, loc - 1);
			return;
		}
		if (same && tlc_own(c, loc) == 1 && TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN &&
		    atomic_load_explicit(&r->sh, memory_order_acquire) == TL_SH_ALIVE && tlc_kill_typed(c, r, e.object))
			return;
		if (same && tlc_own(c, loc) >= TLC_OWNED) {
			if (tlc_drop_life(r, &e.gen)) return;
			if (tlc_drop_last(c, r, e)) return;
		}
	}
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return; /* a forked child: the object stays in its copy of the memory */
	tlentry_release_entry((uintptr_t)in, e.object, e.record, e.gen);
	tlc_entry_end(in);
}
