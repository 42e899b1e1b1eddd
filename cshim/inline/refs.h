/* References by record and generation: what is inlined of tl_ref_*. See records.h. */
#ifndef TL_INLINE_REFS_H
#define TL_INLINE_REFS_H

/* tl_ref = generation 32 | record 32, as the tag of a scope entry; 0 is none. */
static inline uint32_t tlc_ref_record(tl_ref ref) { return (uint32_t)ref; }
static inline uint32_t tlc_ref_gen(tl_ref ref) { return (uint32_t)(ref >> 32); }

static inline tl_ref tlc_ref_to(const tl_context* c, const tl_record* r)
{
	return (uint64_t)(r - TLC_FIXED(c, records)) | (uint64_t)TLC_PEEK(r->gen) << 32;
}

/* The record of a reference; false: its slot has another generation now, the word is no reference, or
 * the fast path is off for this thread, and its context knows no record. A record of the same generation may
 * be dead still. */
static inline __attribute__((always_inline)) bool tlc_ref_find(const tl_context* c, tl_ref ref, tl_record** r)
{
	if (TLC_UNLIKELY(tlc_ref_record(ref) >= c->record_limit)) return false; /* in a context of zeros records is NULL */
	*r = TLC_FIXED(c, records) + tlc_ref_record(ref);
	return TLC_LIKELY(TLC_PEEK((*r)->gen) == tlc_ref_gen(ref));
}

/* Where the object of a reference is; it is live, and the caller holds it. Budget: 6 loads. */
static inline uintptr_t tlc_ref_address(const tl_context* c, tl_ref ref)
{
	const uint32_t record = tlc_ref_record(ref), first = TLC_FIXED(c, record_blocks)[record / TL_LINE_RECORDS];
	return tlc_slot_address(c, first, record - first, tlc_ref_gen(ref) & 0xFF);
}

/* Whether the object of a reference lives. A program may ask in a loop until another thread has dropped the
 * object, so the words are read each time. The counts are read before the generation, so that those of a later
 * object in the slot are not taken for its own. */
static inline bool tlc_ref_is_live(const tl_context* c, tl_ref ref)
{
	if (TLC_UNLIKELY(tlc_ref_record(ref) >= c->record_limit)) return false;
	const tl_record* r = TLC_FIXED(c, records) + tlc_ref_record(ref);
	const uint32_t sh = TLC_LOAD_ACQUIRE(r->sh);
	return TLC_LIKELY(TLC_LOAD(r->gen) == tlc_ref_gen(ref)) && TLC_LIKELY(tlc_is_live_word(sh));
}

static inline bool tlc_op_ref_of(const tl_context* c, void* object, tl_ref* result)
{
	tl_record* r;
	uint32_t size_class;
	if (TLC_UNLIKELY(!tlc_slot_at(c, (uintptr_t)object, &r, &size_class) || !tlc_is_fast(c))) return false;
	*result = tlc_ref_to(c, r);
	return TLC_LIKELY(tlc_is_live_object(r));
}

/* Budget: 6 loads, 1 store, 3 branches. */
static inline bool tlc_op_ref_acquire(tl_context* c, tl_ref ref, tl_ref* result)
{
	tl_record* r;
	*result = ref;
	return TLC_LIKELY(tlc_ref_find(c, ref, &r)) && tlc_acquire_own(c, r);
}

/* Budget, when other references are left: 6 loads, 1 store, 3 branches. */
static inline bool tlc_op_ref_release(tl_context* c, tl_ref ref)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_ref_find(c, ref, &r))) return false;
	uint32_t loc = TLC_PEEK(r->loc), beside;
	if (TLC_LIKELY(tlc_release_one_of(c, r, loc))) return true;
	beside = tlc_beside_one(c, loc);
	if (!tlc_is_last(beside)) return tlc_release_floating(r, loc, beside);
	return tlc_end_plain(c, &c->magazines[tlc_ref_gen(ref) & 0xFF], r, tlc_ref_address(c, ref), TL_SH_ALIVE);
}

/* Budget: 13 loads, 5 branches. */
static inline bool tlc_op_ref_get(const tl_context* c, tl_ref ref, void** result)
{
	if (TLC_UNLIKELY(!tlc_ref_is_live(c, ref))) return false;
	*result = (void*)tlc_ref_address(c, ref);
	return true;
}

static inline bool tlc_op_ref_check(const tl_context* c, tl_ref ref) { return tlc_ref_is_live(c, ref); }

#endif
