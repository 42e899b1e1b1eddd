/* References by record and generation: what a tl_ref is, and how one is looked up. */
#ifndef TL_REFS_H
#define TL_REFS_H

#include "object_fast.h"

/* tl_ref = generation 32 | record 32, as the tag of a scope entry; 0 is none. */
static inline uint32_t tlc_ref_record(tl_ref ref) { return (uint32_t)ref; }
static inline uint32_t tlc_ref_gen(tl_ref ref) { return (uint32_t)(ref >> 32); }

/* The record of a reference; false: its slot has another generation now, the word is no reference, or
 * the fast path is off for this thread, and its context knows no record. A record of the same generation may
 * be dead still. */
static inline __attribute__((always_inline)) bool tlc_ref_find(const tl_context* c, tl_ref ref, tl_record** r)
{
	*r = tlc_g.records + tlc_ref_record(ref);
	return TLC_LIKELY(tlc_ref_record(ref) < c->record_limit) && TLC_LIKELY(TLC_LOAD((*r)->gen) == tlc_ref_gen(ref));
}

/* Where the object of a reference is; it is live, and the caller holds it. Budget: 6 loads. */
static inline uintptr_t tlc_ref_address(tl_ref ref)
{
	const uint32_t record = tlc_ref_record(ref), first = tlc_g.record_blocks[record / TL_LINE_RECORDS];
	return tlc_slot_address(first, record - first, &tlc_g.classes[tlc_ref_gen(ref) & 0xFF]);
}

#endif
