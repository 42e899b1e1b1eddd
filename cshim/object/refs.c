/* tl_ref_* and tl_weak_*. runtime/object/refs.go is the Go twin; docs/model has the upgrade.
 *
 * Nothing is searched: a reference names its record. A stale one is told by its generation, which no
 * later object in the same slot has. */
#include "fast.h"

#include "../inline/counts.h"
#include "../inline/refs.h"

/* ---- making ------------------------------------------------------------------------------ */

tl_ref tl_ref_of(void* object)
{
	tl_ref ref;
	return TLC_LIKELY(tlc_op_ref_of(tlc_tls, object, &ref)) ? ref : slow_ref_of(object); /* of NULL, too */
}

tl_ref tl_weak_of(void* object)
{
	tl_ref ref;
	return TLC_LIKELY(tlc_op_ref_of(tlc_tls, object, &ref)) ? ref : slow_weak_of(object);
}

tl_ref tl_weak_share(void* object)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)object, &r))) return slow_weak_share(object);
	return TLC_LIKELY(tlc_share(c, r)) ? tlc_ref_to(c, r) : slow_weak_share(object);
}

/* ---- refusing ---------------------------------------------------------------------------- */

/* Whether the slot has had later lives than that of the reference. */
static inline bool is_past(const tl_context* c, tl_ref ref)
{
	if (tlc_ref_record(ref) >= c->record_limit) return false;
	uint32_t now = TLC_LOAD(tlc_g.records[tlc_ref_record(ref)].gen), gen = tlc_ref_gen(ref);
	return now > gen && ((now ^ gen) & 0xFF) == 0;
}

/* What has become of the object of a reference; false: it lives, or Go has to look. */
static bool look(const tl_context* c, tl_ref ref, tlc_finding* f)
{
	tl_record* r;
	if ((tlc_ref_gen(ref) & 0xFF) == TL_CLASS_NONE) return false;
	*f = (tlc_finding){TL_E_NOT_LIVE, TL_TEXT_REF_DEAD, {ref}};
	if (tlc_ref_find(c, ref, &r)) {
		const uint32_t sh = TLC_LOAD_ACQUIRE(r->sh);
		if (TLC_LOAD(r->gen) != tlc_ref_gen(ref) || tlc_is_live_word(sh)) return false;
		if ((sh & TL_SH_ALIVE) != 0) f->kind = TL_TEXT_REF_ZERO;
		return true;
	}
	if (!is_past(c, ref)) return false;
	if ((TLC_LOAD(tlc_g.records[tlc_ref_record(ref)].sh) & TL_SH_ALIVE) != 0) f->kind = TL_TEXT_REF_REUSED;
	return true;
}

/* tlc_refuse for a reference. */
static __attribute__((cold)) bool refuse(tl_ref ref, uint32_t function, tl_status* why)
{
	tlc_finding f;
	const tl_context* c = tlc_tls;
	if (!tlc_is_fast(c) || tlc_g.debug != 0 || !look(c, ref, &f)) return false;
	*why = tlc_fail_with(&f, function, NULL);
	return true;
}

/* ---- counting ---------------------------------------------------------------------------- */

__attribute__((cold, noinline)) void tlc_give_back(tl_record* r)
{
	tl_ref now = tlc_ref_to(tlc_tls, r);
	uintptr_t p = tlc_ref_address(tlc_tls, now);
	if (!tlc_release_found(p, r, tlc_ref_gen(now) & 0xFF)) tlc_drop_slowly(p);
}

/* Whether a call is about no object, and this thread's calls are not Go's to answer. */
static inline bool is_none(tl_ref ref) { return ref == 0 && tlc_is_fast(tlc_tls); }

/* The slot was used again since it was looked up. The owner of the object that was meant may have stored over the count:
 * where an object with an owner shows none, there is nothing to take back. A word with MERGED is never changed but by
 * compare-and-swap, once there are two contexts. */
__attribute__((cold, noinline)) void tlc_take_back(tl_record* r)
{
	uint32_t sh = TLC_LOAD(r->sh);
	while (!(sh & TL_SH_MERGED)) {
		if (tlc_sh_count(sh) <= (int32_t)((sh & TL_SH_CLAIM_MASK) >> TL_SH_CLAIM_SHIFT)) return;
		if (atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh - TL_SH_ONE, memory_order_acq_rel,
		                                          memory_order_relaxed))
			return;
	}
	tlc_give_back(r);
}

/* Counts a reference to an object that is not the caller's to count; false: ask Go, nothing changed. */
static bool acquire_counted(tl_record* r, tl_ref ref)
{
	if (!tlc_acquire_record(r)) return false;
	if (TLC_LIKELY(TLC_LOAD(r->gen) == tlc_ref_gen(ref))) return true;
	tlc_take_back(r);
	return false;
}

static __attribute__((noinline)) tl_ref acquire_rest(tl_ref ref)
{
	tl_record* r;
	tl_status why;
	if (is_none(ref)) return ref;
	if (tlc_ref_find(tlc_tls, ref, &r) && acquire_counted(r, ref)) return ref;
	return refuse(ref, TL_FN_tl_ref_acquire, &why) ? 0 : slow_ref_acquire(ref);
}

tl_ref tl_ref_acquire(tl_ref ref)
{
	return TLC_LIKELY(tlc_op_ref_acquire(tlc_tls, ref, &ref)) ? ref : acquire_rest(ref);
}

static __attribute__((noinline)) tl_status release_rest(tl_ref ref)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	const uint32_t gen = tlc_ref_gen(ref);
	const bool found = tlc_ref_find(c, ref, &r);
	if (found && tlc_own(c, TLC_LOAD(r->loc)) >= TLC_OWNED && tlc_drop_life(r, &gen)) return TL_OK;
	if (TLC_LIKELY(found && tlc_is_live_object(r)) &&
	    TLC_LIKELY(tlc_release_found(tlc_ref_address(c, ref), r, gen & 0xFF)))
		return TL_OK;
	tl_status why;
	if (is_none(ref)) return TL_OK;
	return refuse(ref, TL_FN_tl_ref_release, &why) ? why : slow_ref_release(ref);
}

tl_status tl_ref_release(tl_ref ref)
{
	return TLC_LIKELY(tlc_op_ref_release(tlc_tls, ref)) ? TL_OK : release_rest(ref);
}

/* ---- looking ----------------------------------------------------------------------------- */

static __attribute__((noinline)) void* get_rest(tl_ref ref)
{
	tl_status why;
	if (is_none(ref)) return tlc_null(tlc_tls);
	return refuse(ref, TL_FN_tl_ref_get, &why) ? NULL : slow_ref_get(ref);
}

void* tl_ref_get(tl_ref ref)
{
	void* object;
	return TLC_LIKELY(tlc_op_ref_get(tlc_tls, ref, &object)) ? object : get_rest(ref);
}

static __attribute__((noinline)) tl_status check_rest(tl_ref ref)
{
	tl_status why;
	if (is_none(ref)) return TL_OK;
	return refuse(ref, TL_FN_tl_ref_check, &why) ? why : slow_ref_check(ref);
}

tl_status tl_ref_check(tl_ref ref) { return TLC_LIKELY(tlc_op_ref_check(tlc_tls, ref)) ? TL_OK : check_rest(ref); }

/* ---- weak references --------------------------------------------------------------------- */

enum upgrade { UPGRADED, GONE, ASK_GO };

/* Counts a reference to an object without an owner, which another thread may be about to end. A word
 * that shows MERGED and a count is never changed but by compare-and-swap, once there are two contexts, so this one cannot
 * be lost.
 * It may hit the word of a later object that looks alike: then the generation has changed. */
static inline enum upgrade upgrade(tl_record* r, tl_ref ref)
{
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	do {
		if (TLC_LOAD(r->gen) != tlc_ref_gen(ref) || !(sh & TL_SH_ALIVE)) return GONE;
		if (TLC_UNLIKELY((sh & TL_SH_FLAGS) != (TL_SH_ALIVE | TL_SH_MERGED))) return ASK_GO;
		if (TLC_UNLIKELY(tlc_sh_count(sh) <= 0)) return GONE;
		if (TLC_UNLIKELY(tlc_sh_count(sh) >= TL_SH_COUNT_MAX)) return ASK_GO;
	} while (!atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_ONE, memory_order_acquire,
	                                                memory_order_acquire));
	if (TLC_LIKELY(TLC_LOAD(r->gen) == tlc_ref_gen(ref))) return UPGRADED;
	tlc_give_back(r);
	return GONE;
}

static __attribute__((noinline)) void* weak_get_rest(tl_ref ref)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	if (TLC_UNLIKELY((tlc_ref_gen(ref) & 0xFF) == TL_CLASS_NONE))
		return is_none(ref) ? tlc_null(tlc_tls) : slow_weak_get(ref);
	enum upgrade result;
	if (TLC_LIKELY(tlc_ref_find(c, ref, &r))) result = upgrade(r, ref);
	else result = is_past(c, ref) ? GONE : ASK_GO;
	if (result == UPGRADED) return (void*)tlc_ref_address(c, ref);
	if (result == ASK_GO) return slow_weak_get(ref);
	return tlc_null(tlc_tls);
}

/* The owner's upgrade: nobody but the owner ends an object of its own. One that waits in its inbox has
 * no reference left, though its local word counts one; Go knows. */
void* tl_weak_get(tl_ref ref)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_ref_find(c, ref, &r))) return weak_get_rest(ref);
	uint32_t loc = TLC_LOAD(r->loc);
	if (TLC_UNLIKELY(!tlc_has_more(c, loc & ~TL_LOC_FLOATS))) return weak_get_rest(ref);
	if (TLC_UNLIKELY((TLC_LOAD(r->sh) & TL_SH_QUEUED) != 0)) return slow_weak_get(ref);
	TLC_STORE(r->loc, loc + 1);
	return (void*)tlc_ref_address(c, ref);
}
