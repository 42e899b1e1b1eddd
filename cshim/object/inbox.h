/* A thread's inbox: objects of its own that wait for it to free them. */
#pragma once

#include "held.h"

#pragma GCC visibility push(hidden)

/* Hands a reference of the caller's, the last shared one of an object of another thread, to
 * the owner; false: ask Go, nothing changed. May run callbacks where the owner has ended. */
bool tlc_hand_over(tl_context* c, tl_record* r, tl_entry e);

/* Drops a reference of the caller's, the last one or the last shared one, of an object that the caller
 * does not own; false: ask Go, nothing changed. */
static inline bool tlc_drop_last(tl_context* c, tl_record* r, tl_entry e)
{
	if (TLC_LOAD(r->type_flags) == TL_TYPE_TENSOR) return tlc_tensor_drop(c, r, e);
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	if (!(sh & TL_SH_MERGED)) return tlc_hand_over(c, r, e);
	if ((sh & ~TL_SH_FLOAT_MASK) != TLC_HELD || TLC_LOAD(r->gen) != e.gen) return false;
	return TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN ? tlc_end_held(c, r, e, sh) : tlc_end_held_typed(c, r, e, sh);
}

/* Fills an empty magazine with what other threads have released of this thread's objects, before the
 * heap gives it new slots: a producer holds no more than its consumers have not released. May run destructors and
 * deleters; then the thread may see its stub. */
bool tlc_refill(tl_context* c, const tl_magazine* m);

#pragma GCC visibility pop
