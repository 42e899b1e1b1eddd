/* What the files share that count and end cells by their records. */
#ifndef TL_OBJECT_CELLS_H
#define TL_OBJECT_CELLS_H

#include "fast.h"
#include "../inline/cells.h"

/* The record of the cell at p; NULL: ask Go. */
static inline tl_record* find_cell(const void* cell)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record((uintptr_t)tlc_head_of(cell), &r)) || TLC_UNLIKELY(!tlc_is_fast(tlc_tls)))
		return NULL;
	const uint32_t sh = TLC_LOAD_ACQUIRE(r->sh);
	return TLC_LIKELY(sh == TL_SH_CELL) && TLC_LIKELY(TLC_LOAD(r->loc) == TL_LOC_CELL) ? r : NULL;
}

/* What is left to a call of an inlined operation: shared cells, and what sticks. No operation leaves 0. */
static inline bool is_shared(int32_t count) { return count < 0 && count >= -TL_CELL_MOST; }

static inline bool is_last(int32_t count) { return count == 1 || count == -1; }

/* A reference fewer, if it is not the last one, which stays; whether it is the last. */
static inline bool drop_shared(tl_cell_head* head)
{
	uint32_t count = TLC_LOAD_ACQUIRE(head->count);
	while (is_shared((int32_t)count) && !is_last((int32_t)count) &&
	       !atomic_compare_exchange_weak_explicit(&head->count, &count, count + 1, memory_order_acq_rel,
	                                              memory_order_acquire)) {}
	return is_last((int32_t)count);
}

/* Has one of those who end a cell at once do it. */
static inline bool begin_end(tl_record* r)
{
	uint32_t loc = TL_LOC_CELL;
	return atomic_compare_exchange_strong_explicit(&r->loc, &loc, 0, memory_order_acq_rel, memory_order_relaxed);
}

#pragma GCC visibility push(hidden)

/* Ends a cell with a type that has one reference, and what it leads to that has no other; false: ask Go, nothing changed. */
bool tlc_free_typed_cell(tl_record* r, tl_cell_head* head);

/* Shares a cell with a type that is not shared, and what it leads to. */
void tlc_share_typed_cell(tl_cell_head* head);

#pragma GCC visibility pop

#endif
