/* The registry as the fast path uses it: registry/registry.h with what a thread of the library does where a block
 * with a record is counted or ends. */
#pragma once

#include "../base/fork.h"
#include "../registry/linked.h"
#include "../host/allocator.h"

#pragma GCC visibility push(hidden)

/* object/foreign_typed.c: tlc_note_owner with the calling thread's context. */
void tlc_note_thread(const tl_foreign_entry* e);
bool tlc_foreign_share(uintptr_t p); /* held, and no thread's alone to count any more */

/* object/deleters.c: must a block that ends now wait for the deleters of others? */
bool tlc_deleters_wait(void);

/* object/typed_blocks.c */
bool tlc_ends_at_once(uint32_t type);

/* object/foreign.c: tlc_end_here, of what was found. */
int tlc_end_linked(tl_shard* s, tl_region* bucket, tl_unit* u, tl_foreign_entry* e, uintptr_t p, tlc_ended* ended);

static const tlc_caller tlc_here = {tlc_note_thread, tlc_end_linked};
static const tlc_endings tlc_endings_here = {tlc_deleters_wait, tlc_ends_at_once, false};

/* Drops the only reference at an entry with a record. A forked child calls no deleter: nothing changes there, and the
 * slow path refuses the call. */
static inline __attribute__((always_inline)) int tlc_end_here(tlc_lookup x, uintptr_t p, tlc_ended* ended)
{
	if (TLC_LIKELY(!tlc_forked())) return tlc_end_registered(x, p, tlc_endings_here, ended);
	tlc_shard_unlock(x.shard);
	return TLC_SLOW;
}

/* ---- registering, and taking references -------------------------------------------------- */

/* Registers a new block of malloc's of at least so many bytes; p is a multiple of 16. Without an owner it
 * gets no record. false: the block is not new, or too small, or memory is needed.
 * Budget: one compare-and-swap, about 110 instructions. */
static inline __attribute__((always_inline)) bool tlc_adopt_new(uintptr_t p, uint64_t least, uint64_t as,
                                                                const tlc_owner* own, uint32_t* gen, uint64_t* size)
{
	tlc_opening place;
	if (TLC_UNLIKELY(!tlc_find_opening(p, &place))) return false;
	size_t usable = tlc_host.usable((void*)p);
	*size = usable;
	if (TLC_UNLIKELY(usable - least >= TL_FOREIGN_BYTES)) return false;
	return tlc_enter_at(&place, p, usable, as, own, gen);
}

/* Registers a new block for a scope. false: tlc_foreign_adopt knows more. */
static inline bool tlc_foreign_adopt_new(uintptr_t p, uint32_t* gen, uint64_t* size)
{
	return tlc_adopt_new(p, 1, TLC_FOREIGN_AS_ADOPTED, NULL, gen, size);
}

/* tlc_insert_new, tlc_adopt, tlc_register and tlc_acquire. */
static inline bool tlc_foreign_insert(uintptr_t p, uint64_t bytes, uint32_t kind)
{
	uint32_t gen;
	return tlc_insert_new(p, bytes, (uint64_t)kind << TL_FOREIGN_KIND_SHIFT, NULL, &gen, NULL);
}

static inline int tlc_foreign_adopt(uintptr_t p, size_t usable, uint32_t* gen)
{
	return tlc_adopt(p, usable, tlc_here, gen);
}

static inline int tlc_foreign_register(uintptr_t p, uint32_t* gen) { return tlc_register(p, tlc_here, gen); }
static inline int tlc_foreign_acquire(uintptr_t p) { return tlc_acquire(p, tlc_here); }

/* ---- dropping references ------------------------------------------------------------------ */

/* Drops a counted reference, or a floating one when no other is left. */
static inline int tlc_foreign_release(uintptr_t p, tlc_ended* ended)
{
	return tlc_drop(p, TLC_DROP_RELEASE, 0, tlc_here, ended);
}

/* The same for a scope's entry: TLC_STALE when it meant an earlier block at p. */
static inline int tlc_foreign_release_entry(uintptr_t p, uint32_t gen, tlc_ended* ended)
{
	return tlc_drop(p, TLC_DROP_ENTRY, gen, tlc_here, ended);
}

/* Unregister: the reference of a scope's entry floats, or one that a container has (gen 0). The block is handed back when
 * no other is held. */
static inline int tlc_foreign_float(uintptr_t p, uint32_t gen)
{
	tlc_ended none; /* no drop of this kind ends a block */
	return tlc_drop(p, TLC_DROP_FLOAT, gen, tlc_here, &none);
}

/* Like release, but what comes to TLC_ZERO stays, dead and uncovered, until it is freed or adopted again. */
static inline int tlc_foreign_decref(uintptr_t p)
{
	tlc_ended none;
	return tlc_drop(p, TLC_DROP_DECREF, 0, tlc_here, &none);
}

/* Erases an aligned block that is held at zero: TLC_GONE, and the caller frees it. */
static inline int tlc_foreign_free_aligned(uintptr_t p)
{
	tlc_ended ended;
	return tlc_drop(p, TLC_DROP_ALIGNED, 0, tlc_here, &ended);
}

/* Erases a block of which no counted reference is left: TLC_GONE, and the caller frees it. Blocks with a
 * record are Go's. */
static inline int tlc_foreign_forget(uintptr_t p, tlc_ended* ended)
{
	return tlc_drop(p, TLC_DROP_FORGET, 0, tlc_here, ended);
}

#pragma GCC visibility pop
