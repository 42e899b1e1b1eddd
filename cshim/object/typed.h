/* What the files share that take objects and blocks with a type apart. */
#pragma once

#include <string.h>

#include "fast.h"

/* Clears the whole slot of so many bytes without a call: up to 512 bytes slots are multiples of 32 bytes. */
enum { CLEARED_INLINE = 512, CLEARING_UNIT = 32 };
static inline void clear_small(uintptr_t object, size_t bytes)
{
	for (char *at = (char*)object, *end = at + bytes; at < end; at += CLEARING_UNIT) memset(at, 0, CLEARING_UNIT);
}

/* The description of a type; NULL for types that are not the user's, and for those that contexts do
 * not count. */
static inline const tl_type_info* info_of(uint32_t type)
{
	uint32_t n = type - TL_TYPE_FIRST_USER;
	return TLC_LIKELY(n < tlc_g.counted_types) ? &tlc_g.types[n] : NULL;
}

/* Types whose objects need no more than their fields released. */
static inline bool is_simple(const tl_type_info* info) { return info != NULL && info->ends == TL_ENDS_SIMPLY; }

/* References of dead objects that are still to be dropped, first in first out: a ring in the unused part
 * of the scope stack, onto which nothing is pushed meanwhile. An object that dies is taken apart when
 * its last reference leaves the ring, unless it has to wait in the context's queue: because the slow
 * path must handle it, because the ring is full, or because the queue is not empty. So objects are
 * taken apart in the order in which they died, as in Go.
 *
 *	0 <= end - first <= RING
 */
enum { RING = TL_MOST_FIELDS };
typedef struct ring {
	tl_context* context;
	uintptr_t* references; /* RING of them */
	uint32_t first, end;   /* [first, end), modulo RING */
} ring;

static inline bool has_ring(const tl_context* c)
{
	return (size_t)((char*)tlc_end_of_stack(c) - (char*)tlc_unused_stack(c)) >= RING * sizeof(uintptr_t);
}

static inline ring ring_of(tl_context* c, uint32_t count)
{
	return (ring){.context = c, .references = (uintptr_t*)tlc_unused_stack(c), .end = count};
}

/* What c has counted of a type that info_of knows. */
static inline tl_type_count* count_of(tl_context* c, uint32_t type)
{
	return (tl_type_count*)((char*)c + TLC_TYPES_OFFSET) + (type - TL_TYPE_FIRST_USER);
}

#pragma GCC visibility push(hidden)

/* Drops the references in the ring and takes the objects of the queue apart, as far as no destructor has to be called. No
 * callback runs below: nothing can unwind past this. */
void tlc_drain_ring(tl_context* c, ring q);

/* Calls the destructor of a type. No lock is held, and no frame of Go is on the stack: the function may do anything, throw
 * and longjmp included. What it destroys is marked before, so that whoever works on the queue next continues with that. */
void tlc_call_destructor(tl_context* c, const tl_type_info* info, uintptr_t object);

/* Gives the slot of a dead object back. It is counted as gone already. */
void tlc_free_dead(tl_context* c, tl_record* r, uintptr_t object);

#pragma GCC visibility pop

/* Whether an object refers to nothing, which is found without a branch for each field. */
static inline bool is_leaf(const tl_type_info* info, uintptr_t object)
{
	uintptr_t any = 0;
	for (const uint32_t *at = info->offsets, *last = at + info->fields; at != last; at++)
		any |= ((const uintptr_t*)object)[*at];
	return any == 0;
}

/* Ends an object whose only reference is being dropped by its owner; false, nothing changed: more has to be done than to put
 * its slot into the magazine (tlc_kill_typed). */
static inline __attribute__((always_inline)) bool end_leaf(tl_context* c, tl_record* r, uintptr_t object)
{
	const uint64_t life = tlc_life(r), tag = tlc_tag_of(life, r);
	const tl_type_info* info = info_of((uint32_t)life);
	if (TLC_UNLIKELY((c->draining.active | tlc_has_to_destroy(c)) != 0)) return false;
	if (!is_simple(info) || !is_leaf(info, object)) return false;
	if (TLC_UNLIKELY(!tlc_recycle(tlc_magazine_of(c, tag), r, object, tag))) return false;
	count_of(c, (uint32_t)life)->gone++;
	return true;
}

/* Drops so many references, which stand at the beginning of the ring. */
static inline void drop_all(tl_context* c, uint32_t count) { tlc_drain_ring(c, ring_of(c, count)); }
