/* References of the thread that owns the object: what is inlined of tl_ptr_*. See inline_records.h. */
#ifndef TL_INLINE_COUNTS_H
#define TL_INLINE_COUNTS_H

/* Counts one more reference of the owner's, whether the object floats or not; false: the object is another's, or rare. */
static inline bool tlc_acquire_own(const tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_PEEK(r->loc);
	if (TLC_UNLIKELY(!tlc_has_more(c, loc & ~TL_LOC_FLOATS))) return false;
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

/* Whether these local counts, of an object of the caller's, are right after a release: floats do not outnumber the
 * references, and other threads have claimed none. */
static inline bool tlc_may_float(const tl_record* r, uint32_t left)
{
	return tlc_loc_floats(left) <= (left & TL_LOC_COUNT) && TLC_LOAD(r->sh) == TL_SH_ALIVE;
}

/* The frequent cases: not the last reference; and the last reference of a plain object, which may
 * float. Budget of the latter: 14 loads, 5 stores, 7 branches. */
static inline __attribute__((always_inline)) bool tlc_release_own(tl_context* c, uintptr_t p, tl_record* r,
                                                                  uint32_t size_class)
{
	uint32_t loc = TLC_PEEK(r->loc);
	if (TLC_LIKELY(tlc_has_more(c, loc - 1))) {
		TLC_SET_OWN(r->loc, loc - 1);
		return true;
	}
	if ((loc & ~TL_LOC_FLOAT) == c->one) return tlc_end_plain(c, &c->magazines[size_class], r, p, TL_SH_ALIVE);
	if (!tlc_has_more(c, (loc - 1) & ~TL_LOC_FLOATS) || !tlc_may_float(r, loc - 1)) return false;
	TLC_SET_OWN(r->loc, loc - 1);
	return true;
}

static inline bool tlc_op_ptr_release(tl_context* c, void* object)
{
	tl_record* r;
	uint32_t size_class;
	return TLC_LIKELY(tlc_slot_at(c, (uintptr_t)object, &r, &size_class)) &&
	       tlc_release_own(c, (uintptr_t)object, r, size_class);
}

static inline bool tlc_op_ptr_release_bool(tl_context* c, void* object, bool* result)
{
	*result = true;
	return tlc_op_ptr_release(c, object);
}

/* One of several references; false: the last one, or not the owner's. */
static inline bool tlc_dec_own(const tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_PEEK(r->loc);
	if (TLC_UNLIKELY(tlc_own(c, loc) - 2 >= TL_LOC_COUNT - 1)) return false;
	TLC_SET_OWN(r->loc, loc - 1);
	return true;
}

static inline bool tlc_op_ptr_dec_ref(tl_context* c, void* object, int32_t* result)
{
	tl_record* r;
	uint32_t size_class;
	*result = 0;
	return TLC_LIKELY(tlc_slot_at(c, (uintptr_t)object, &r, &size_class)) && tlc_dec_own(c, r);
}

#endif
