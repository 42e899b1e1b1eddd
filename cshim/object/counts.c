/* Counting: tl_ptr_* and the release of single references. */
#include "fast.h"
#include "inbox.h"
#include "typed.h"
#include "../inline/counts.h"

/* Each call looks its pointer up once. All cases but the owner's continue in a tail call with the
 * record that was found, so that the owner's path saves no register. Budget of the owner's acquire
 * and release, each: 10 loads, 1 store, 3 branches, about 35 instructions. */

/* ---- acquire ------------------------------------------------------------------------- */

/* Memory to which the counting functions do nothing: NULL and the caller's live stack memory. */
static inline bool is_nothing(const tl_context* c, uintptr_t p)
{
	return tlc_is_fast(c) && (p == 0 || tlc_in_live_stack(c, p));
}

static inline bool is_elsewhere(const tl_context* c, uintptr_t p)
{
	return tlc_is_fast(c) && !tlc_in_heap(p) && !tlc_in_slices(p);
}

/* Nothing, and registered foreign pointers. Stacks are in slices. */
static int acquire_elsewhere(uintptr_t p)
{
	const tl_context* c = tlc_tls;
	if (TLC_LIKELY(is_elsewhere(c, p)) && p != 0) return tlc_foreign_acquire(p);
	return is_nothing(c, p) ? TLC_OK : TLC_SLOW;
}

bool tlc_acquire_reference(uintptr_t p)
{
	tl_record* r;
	return TLC_LIKELY(tlc_find_record(p, &r)) ? tlc_acquire_record(r) : acquire_elsewhere(p) == TLC_OK;
}

static __attribute__((noinline)) void* acquire_rest(void* object, tl_record* r)
{
	return TLC_LIKELY(tlc_acquire_record(r)) ? object : slow_ptr_acquire(object);
}

static __attribute__((noinline, cold)) void* refuse_acquire(void* object, int result)
{
	tl_status why;
	return tlc_refuse_missed(result, TL_FN_tl_ptr_acquire, object, &why) ? object : slow_ptr_acquire(object);
}

static __attribute__((noinline)) void* acquire_no_record(void* object)
{
	const int result = acquire_elsewhere((uintptr_t)object);
	return TLC_LIKELY(result == TLC_OK) ? object : refuse_acquire(object, result);
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
	tl_status why = TL_OK;
	const int result = acquire_elsewhere((uintptr_t)object);
	if (result == TLC_OK || tlc_refuse_missed(result, TL_FN_tl_ptr_inc_ref, object, &why)) return why;
	return slow_ptr_inc_ref(object);
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
	if (count == 1) return tlc_is_plain_alone(r) ? tlc_end_elsewhere(c, r, p) : tlc_kill_typed(c, r, p);
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

static int release_elsewhere(uintptr_t p)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!is_elsewhere(c, p)) || p == 0) return is_nothing(c, p) ? TLC_OK : TLC_SLOW;
	tlc_ended ended;
	const int result = tlc_foreign_release(p, &ended);
	if (result != TLC_GONE) return result;
	tlc_free_ended(c, &ended);
	return TLC_OK;
}

static __attribute__((noinline)) tl_status release_more(void* object, tl_record* r)
{
	return TLC_LIKELY(release_record((uintptr_t)object, r)) ? TL_OK : slow_ptr_release(object);
}

static __attribute__((noinline)) tl_status kill_typed(void* object, tl_record* r)
{
	return TLC_LIKELY(tlc_kill_typed(tlc_tls, r, (uintptr_t)object)) ? TL_OK : release_more(object, r);
}

/* The last reference of an object that refers to nothing takes no call. */
static __attribute__((noinline)) tl_status release_rest(void* object, tl_record* r)
{
	tl_context* c = tlc_tls;
	if (!tlc_is_last(tlc_beside_one(c, TLC_LOAD(r->loc))) ||
	    atomic_load_explicit(&r->sh, memory_order_acquire) != TL_SH_ALIVE)
		return release_more(object, r);
	return TLC_LIKELY(end_leaf(c, r, (uintptr_t)object)) ? TL_OK : kill_typed(object, r);
}

static __attribute__((noinline, cold)) tl_status refuse_release(void* object, int result)
{
	tl_status why;
	return tlc_refuse_missed(result, TL_FN_tl_ptr_release, object, &why) ? why : slow_ptr_release(object);
}

static __attribute__((noinline)) tl_status release_no_record(void* object)
{
	const int result = release_elsewhere((uintptr_t)object);
	return TLC_LIKELY(result == TLC_OK) ? TL_OK : refuse_release(object, result);
}

tl_status tl_ptr_release(void* object)
{
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot((uintptr_t)object, &r, &class))) return release_no_record(object);
	return TLC_LIKELY(tlc_release_own(tlc_tls, (uintptr_t)object, r, class)) ? TL_OK : release_rest(object, r);
}

static __attribute__((noinline)) bool release_bool_no_record(void* object)
{
	tl_status why;
	if (object == NULL) return false;
	const int result = release_elsewhere((uintptr_t)object);
	if (result == TLC_OK) return true;
	return !tlc_refuse_missed(result, TL_FN_tl_ptr_release_bool, object, &why) && slow_ptr_release_bool(object);
}

bool tl_ptr_release_bool(void* object)
{
	uintptr_t p = (uintptr_t)object;
	tl_record* r;
	uint32_t class;
	if (TLC_UNLIKELY(!tlc_find_slot(p, &r, &class))) return release_bool_no_record(object);
	return TLC_LIKELY(tlc_release_own(tlc_tls, p, r, class)) || release_record(p, r) || slow_ptr_release_bool(object);
}

void tlc_drop_reference(uintptr_t p)
{
	tl_record* r;
	uint32_t class;
	bool done = tlc_find_slot(p, &r, &class) ? tlc_release_found(p, r, class) : release_elsewhere(p) == TLC_OK;
	if (TLC_UNLIKELY(!done)) tlc_drop_slowly(p);
}

/* ---- the rest ------------------------------------------------------------------------- */

/* Drops the only reference and leaves the object at zero, which tl_mem_free frees; false: ask Go, nothing changed. The
 * owner stores both words as one: nobody else counts the object. */
static bool dec_to_zero(const tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_LOAD(r->loc), sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	if (tlc_g.debug != 0) return false;
	if (tlc_is_last(tlc_beside_one(c, loc))) {
		if (sh == TL_SH_ALIVE) tlc_set_counts(r, (uint64_t)TLC_AT_ZERO << 32);
		return sh == TL_SH_ALIVE;
	}
	const uint32_t last = TLC_AT_ZERO | TL_SH_ONE;
	return tlc_is_fast(c) && (sh == last || sh == (last | TL_SH_FLOAT)) &&
	       atomic_compare_exchange_strong_explicit(&r->sh, &sh, TLC_AT_ZERO, memory_order_acq_rel,
	                                               memory_order_relaxed);
}

/* The last reference of what another thread owns is its owner's to drop; false: ask Go, nothing changed. */
static bool hand_over_owned(tl_context* c, tl_record* r, uintptr_t p)
{
	return tlc_g.debug == 0 && tlc_is_fast(c) && tlc_own(c, TLC_LOAD(r->loc)) >= TLC_OWNED &&
	       tlc_hand_over(c, r, tlc_entry_of(r, p));
}

static __attribute__((noinline)) int32_t dec_ref_rest(void* object, tl_record* r)
{
	tl_context* c = tlc_tls;
	const uint32_t loc = TLC_LOAD(r->loc);
	if (tlc_release_floating(r, loc, tlc_beside_one(c, loc))) return 0;
	if (tlc_own(c, loc) >= TLC_OWNED && tlc_is_fast(c) && tlc_drop_shared(r)) return 0;
	if (dec_to_zero(c, r)) return 1;
	return hand_over_owned(c, r, (uintptr_t)object) ? 0 : slow_ptr_dec_ref(object);
}

static __attribute__((noinline)) int32_t dec_ref_elsewhere(void* object)
{
	const tl_context* c = tlc_tls;
	const uintptr_t p = (uintptr_t)object;
	if (is_nothing(c, p)) return 0;
	tl_status why;
	const int result = is_elsewhere(c, p) ? tlc_foreign_decref(p) : TLC_SLOW;
	if (result == TLC_OK || result == TLC_ZERO) return result == TLC_ZERO;
	return tlc_refuse_missed(result, TL_FN_tl_ptr_dec_ref, object, &why) ? 0 : slow_ptr_dec_ref(object);
}

int32_t tl_ptr_dec_ref(void* object)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)object, &r))) return dec_ref_elsewhere(object);
	return TLC_LIKELY(tlc_dec_own(tlc_tls, r)) ? 0 : dec_ref_rest(object, r);
}

static __attribute__((noinline)) int64_t refcount_rest(const void* object)
{
	const tl_context* c = tlc_tls;
	const uintptr_t p = (uintptr_t)object;
	if (is_nothing(c, p)) return p != 0; /* its scope holds stack memory */
	tl_status why;
	const int64_t count = is_elsewhere(c, p) ? tlc_foreign_count(p) : 0;
	if (count > 0) return count;
	const int result = count < 0 ? TLC_MISS : TLC_SLOW;
	return tlc_refuse_missed(result, TL_FN_tl_ptr_refcount, object, &why) ? -1 : slow_ptr_refcount(object);
}

/* Whether the caller, who found one reference, sees what others wrote: it owns the object, or the reference is counted in the
 * shared word. The owner counts with plain stores, so another thread does not see what it wrote before. */
static bool sees_all(const tl_context* c, uintptr_t p)
{
	const uint32_t loc = TLC_LOAD_ACQUIRE(tlc_record_at(p)->loc);
	return (loc & TL_LOC_COUNT) == 0 || (loc ^ c->one) >> TL_LOC_OWNER_SHIFT == 0;
}

static __attribute__((noinline)) bool is_unique_rest(const void* object)
{
	const tl_context* c = tlc_tls;
	const uintptr_t p = (uintptr_t)object;
	int64_t count;
	if (tlc_op_ptr_refcount(c, object, &count)) return count == 1 && sees_all(c, p);
	if (is_nothing(c, p)) return false;
	tl_status why;
	count = is_elsewhere(c, p) ? tlc_foreign_count(p) : 0;
	if (count > 0) return count == 1;
	return !tlc_refuse_missed(count < 0 ? TLC_MISS : TLC_SLOW, TL_FN_tl_ptr_is_unique, object, &why) &&
	       slow_ptr_is_unique(object);
}

bool tl_ptr_is_unique(const void* object)
{
	bool unique;
	return TLC_LIKELY(tlc_op_ptr_is_unique(tlc_tls, NULL, object, &unique)) ? unique : is_unique_rest(object);
}

int64_t tl_ptr_refcount(const void* object)
{
	int64_t count;
	return TLC_LIKELY(tlc_op_ptr_refcount(tlc_tls, object, &count)) ? count : refcount_rest(object);
}

static __attribute__((noinline)) tl_status check_rest(const void* object)
{
	const tl_context* c = tlc_tls;
	const uintptr_t p = (uintptr_t)object;
	tl_status why;
	if (is_nothing(c, p)) return TL_OK;
	const int64_t count = is_elsewhere(c, p) ? tlc_foreign_count(p) : 0;
	if (count > 0) return TL_OK;
	const int result = count < 0 ? TLC_MISS : TLC_SLOW;
	return tlc_refuse_missed(result, TL_FN_tl_ptr_check, object, &why) ? why : slow_ptr_check(object);
}

tl_status tl_ptr_check(const void* object)
{
	tl_record* r = tlc_record_at((uintptr_t)object);
	if (TLC_LIKELY(r != NULL && tlc_is_fast(tlc_tls) && tlc_is_live_object(r))) return TL_OK;
	return check_rest(object);
}

/* The shared word that takes the local one in. Floats that others have claimed go with their counts (mergeWord in
 * runtime/object/counts.go). */
static uint32_t merged_with(uint32_t sh, uint32_t loc)
{
	const int32_t claims = (int32_t)((sh & TL_SH_CLAIM_MASK) >> TL_SH_CLAIM_SHIFT), own = (int32_t)tlc_loc_floats(loc);
	const int32_t gone = claims < own ? claims : own, more = (int32_t)(loc & TL_LOC_COUNT) - gone;
	const bool sticks = tlc_sh_count(sh) > TL_SH_COUNT_MAX - more;
	const int32_t count = tlc_sh_count(sh) + (sticks ? 0 : more), held = count - ((sh & TL_SH_QUEUED) != 0);
	const int32_t most = held < TL_MAX_FLOATS ? held : TL_MAX_FLOATS;
	const int32_t all = tlc_sh_floats(sh) + own - gone, floats = all < most ? all : most;
	return (uint32_t)count << TL_SH_COUNT_SHIFT | (uint32_t)(floats > 0 ? floats : 0) << TL_SH_FLOAT_SHIFT |
	       (sh & TL_SH_FLAGS) | TL_SH_MERGED | (sticks ? TL_SH_IMMORTAL : 0);
}

/* The local word is cleared before MERGED is published, as in every merge (docs/model, share). The owner has a reference,
 * so nothing ends here. */
bool tlc_share(const tl_context* c, tl_record* r)
{
	const uint32_t loc = TLC_LOAD(r->loc);
	uint32_t sh = TLC_LOAD(r->sh);
	if (!tlc_is_fast(c)) return false;
	if (tlc_own(c, loc) >= TLC_OWNED) return (sh & TL_SH_MERGED) != 0 && tlc_is_live_word(sh);
	if (TLC_UNLIKELY(sh != TL_SH_ALIVE || (loc & TL_LOC_COUNT) == 0)) return false;
	TLC_STORE(r->loc, 0);
	while (TLC_UNLIKELY(!atomic_compare_exchange_weak_explicit(&r->sh, &sh, merged_with(sh, loc), memory_order_acq_rel,
	                                                           memory_order_relaxed))) {}
	return true;
}

static __attribute__((noinline)) bool share_elsewhere(uintptr_t p)
{
	return is_elsewhere(tlc_tls, p) && tlc_foreign_share(p);
}

tl_status tl_ptr_share(void* object)
{
	const uintptr_t p = (uintptr_t)object;
	tl_record* r;
	const bool done = TLC_LIKELY(tlc_find_record(p, &r)) ? tlc_share(tlc_tls, r) : share_elsewhere(p);
	return TLC_LIKELY(done) ? TL_OK : slow_ptr_share(object);
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
		if (same && tlc_own(c, loc) == 1 && tlc_is_plain_alone(r) && tlc_end_elsewhere(c, r, e.object)) return;
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
