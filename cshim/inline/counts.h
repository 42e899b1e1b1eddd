/* References of the thread that owns the object, and the count of any: what is inlined of tl_ptr_*. See
 * records.h. */
#ifndef TL_INLINE_COUNTS_H
#define TL_INLINE_COUNTS_H

/* Counts one more reference of the owner's, whether the object floats or not; false: the object is another's, or rare. The
 * first test adds nothing to the second. It is that of tlc_release_one_of, so a compiler drops it there after an acquire. */
static inline bool tlc_acquire_own(const tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_PEEK(r->loc);
	if (TLC_UNLIKELY(!(TLC_JOINED && tlc_has_more(c, loc)) && !tlc_has_more(c, loc & ~TL_LOC_FLOATS))) return false;
	TLC_SET_OWN(r->loc, loc + 1);
	return true;
}

static inline bool tlc_op_ptr_acquire(tl_context* c, void* object, void** result)
{
	tl_record* r;
	uint32_t size_class;
	*result = object;
	return TLC_LIKELY(tlc_slot_at(c, (uintptr_t)object, &r, &size_class)) && tlc_acquire_own(c, r);
}

static inline bool tlc_op_ptr_inc_ref(tl_context* c, void* object)
{
	tl_record* r;
	uint32_t size_class;
	return TLC_LIKELY(tlc_slot_at(c, (uintptr_t)object, &r, &size_class)) && tlc_acquire_own(c, r);
}

/* What a local word has beside the owner and one reference: floats, and the other references of an object of the caller's. */
static inline uint32_t tlc_beside_one(const tl_context* c, uint32_t loc) { return loc - c->one; }

/* Whether the reference is the last one; it may float. */
static inline bool tlc_is_last(uint32_t beside) { return (beside & ~TL_LOC_FLOAT) == 0; }

/* Whether an object one of whose references floats has others, as many at least. */
static inline bool tlc_has_others_and_a_float(uint32_t beside) { return beside - 1 - TL_LOC_FLOAT < TL_LOC_COUNT - 1; }

/* Drops a reference if others are left and none floats: what is left is more than nothing, as tlc_has_more has it. */
static inline bool tlc_release_one_of(const tl_context* c, tl_record* r, uint32_t loc)
{
	if (!TLC_LIKELY(tlc_has_more(c, loc - 1))) return false;
	TLC_SET_OWN(r->loc, loc - 1);
	return true;
}

/* Drops a reference that is not the last one, of an object one of whose references floats. No other thread has claimed
 * the float. */
static inline bool tlc_release_floating(tl_record* r, uint32_t loc, uint32_t beside)
{
	if (TLC_UNLIKELY(!tlc_has_others_and_a_float(beside)) || TLC_UNLIKELY(TLC_LOAD(r->sh) != TL_SH_ALIVE)) return false;
	TLC_SET_OWN(r->loc, loc - 1);
	return true;
}

/* The frequent cases: not the last reference; and the last reference of a plain object, which may
 * float. Budget of the latter: 14 loads, 5 stores, 7 branches. */
static inline __attribute__((always_inline)) bool tlc_release_own(tl_context* c, uintptr_t p, tl_record* r,
                                                                  uint32_t size_class)
{
	uint32_t loc = TLC_PEEK(r->loc), beside;
	if (TLC_LIKELY(tlc_release_one_of(c, r, loc))) return true;
	beside = tlc_beside_one(c, loc);
	if (tlc_is_last(beside)) return tlc_end_plain(c, &c->magazines[size_class], r, p, TL_SH_ALIVE);
	return tlc_release_floating(r, loc, beside);
}

static inline bool tlc_op_ptr_release(tl_context* c, const tlc_search* found, void* object)
{
	tl_record* r;
	uint32_t size_class;
	return TLC_LIKELY(tlc_slot_of(c, found, object, &r, &size_class)) &&
	       tlc_release_own(c, (uintptr_t)object, r, size_class);
}

static inline bool tlc_op_ptr_release_bool(tl_context* c, const tlc_search* found, void* object, bool* result)
{
	*result = true;
	return tlc_op_ptr_release(c, found, object);
}

/* One of several references; false: the last one, or not the owner's. */
static inline bool tlc_dec_own(const tl_context* c, tl_record* r) { return tlc_release_one_of(c, r, TLC_PEEK(r->loc)); }

static inline bool tlc_op_ptr_dec_ref(tl_context* c, void* object, int32_t* result)
{
	tl_record* r;
	uint32_t size_class;
	*result = 0;
	return TLC_LIKELY(tlc_slot_at(c, (uintptr_t)object, &r, &size_class)) && tlc_dec_own(c, r);
}

/* Of an object of the owner's that no other thread has counted. found may be NULL. */
static inline bool tlc_op_ptr_is_unique(tl_context* c, tlc_search* found, const void* object, bool* result)
{
	tl_record* r;
	uint32_t size_class;
	if (TLC_UNLIKELY(!tlc_slot_at(c, (uintptr_t)object, &r, &size_class))) return false;
	const uint32_t beside = tlc_beside_one(c, TLC_PEEK(r->loc));
	*result = tlc_is_last(beside);
	/* Behind one test of the shared word for both, a compiler would test the local word for more than each needs. */
	if (*result) {
		if (TLC_UNLIKELY(TLC_LOAD_ACQUIRE(r->sh) != TL_SH_ALIVE)) return false;
	} else {
		if (TLC_UNLIKELY((beside & ~TL_LOC_FLOAT) >= TL_LOC_COUNT)) return false;
		if (TLC_UNLIKELY(TLC_LOAD_ACQUIRE(r->sh) != TL_SH_ALIVE)) return false;
	}
	if (found == NULL) return true;
	found->record = r;
	found->life = tlc_life(r);
	return true;
}

/* A program may ask in a loop until another thread has dropped its reference, so the words are read each time. */
static inline bool tlc_op_ptr_refcount(const tl_context* c, const void* object, int64_t* result)
{
	tl_record* r;
	uint32_t size_class;
	if (TLC_UNLIKELY(!tlc_slot_at(c, (uintptr_t)object, &r, &size_class) || !tlc_is_fast(c))) return false;
	uint32_t sh = TLC_LOAD_ACQUIRE(r->sh), loc = TLC_LOAD_ACQUIRE(r->loc);
	if (TLC_UNLIKELY((loc | (sh & TL_SH_MERGED)) == 0))
		return false; /* its owner moves its references to the other word */
	*result = tlc_sh_count(sh) + (int64_t)(loc & TL_LOC_COUNT);
	return TLC_LIKELY(sh == TLC_LOAD(r->sh)) && /* both words at one moment */
	       TLC_LIKELY((sh & (TL_SH_ALIVE | TL_SH_QUEUED | TL_SH_IMMORTAL | TL_SH_CLAIM_MASK)) == TL_SH_ALIVE) &&
	       TLC_LIKELY(*result > 0);
}

#endif
