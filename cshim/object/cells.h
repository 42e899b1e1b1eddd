/* What the files that count and end cells share. */
#ifndef TL_OBJECT_CELLS_H
#define TL_OBJECT_CELLS_H

#include "fast.h"
#include "../inline/cells.h"

/* Where the slot of an object begins that has the cell. */
static inline uintptr_t slot_of(const void* cell) { return (uintptr_t)cell - TL_CELL_OFFSET; }

/* The record of a cell that has the slot of an object; NULL: ask Go. */
static inline tl_record* find_in_slot(const tl_context* c, const void* cell)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(slot_of(cell), &r)) || TLC_UNLIKELY(!tlc_is_fast(c))) return NULL;
	const uint32_t sh = TLC_LOAD_ACQUIRE(r->sh);
	return TLC_LIKELY(sh == TL_SH_CELL) && TLC_LIKELY(TLC_LOAD(r->loc) == TL_LOC_CELL) ? r : NULL;
}

/* Finds the class of the live cell that has a slot of a class of cells; false: it is none, or Go has to look. */
static inline bool find_small(const tl_context* c, const void* cell, uint32_t* size_class)
{
	const uintptr_t offset = (uintptr_t)cell - tlc_g.heap_base;
	if (TLC_UNLIKELY(offset >= tlc_g.heap_bytes)) return false;
	const uint64_t span = offset >> TL_SPAN_SHIFT;
	*size_class = TL_SPAN_CLASS(TLC_LOAD(tlc_g.spans[span]));
	if (!tlc_is_cell_class(*size_class) || TLC_UNLIKELY(!tlc_is_fast(c))) return false;
	const tl_class_info* k = &tlc_g.classes[*size_class];
	const unsigned __int128 product = (unsigned __int128)(offset & k->mask) * k->reciprocal; /* as tlc_slot_at */
	const uint64_t slot = (uint64_t)(product >> 64);
	const tl_span_meta* m = &tlc_g.heap->metas[span];
	return TLC_LIKELY((uint64_t)product < k->reciprocal) && slot >= m->retired &&
	       slot < __atomic_load_n(&m->fresh, __ATOMIC_ACQUIRE) && TLC_LOAD_ACQUIRE(tlc_head_of(cell)->count) != 0;
}

static inline bool is_cell(const void* cell)
{
	uint32_t size_class;
	return TLC_LIKELY(find_small(tlc_tls, cell, &size_class)) || find_in_slot(tlc_tls, cell) != NULL;
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

/* A reference fewer; whether it was the last one, which stays. */
static inline bool drop_one(void* cell)
{
	bool last;
	return TLC_LIKELY(tlc_op_cell_drop(cell, &last)) ? last : drop_shared(tlc_head_of(cell));
}

/* Ends a cell of a class of cells that has one reference, unless another thread ends it at the same time; false: ask Go,
 * nothing changed. */
static inline bool free_small(tl_context* c, void* cell, uint32_t size_class)
{
	tl_magazine* m = &c->magazines[size_class];
	uint32_t count = TLC_LOAD(tlc_head_of(cell)->count);
	if (TLC_UNLIKELY(!is_last((int32_t)count))) return false;
	if (TLC_UNLIKELY(m->top >= m->limit) && !tlc_make_room(c, size_class)) return false;
	if (TLC_UNLIKELY(!atomic_compare_exchange_strong(&tlc_head_of(cell)->count, &count, 0))) return false;
	m->top->object = (uintptr_t)cell;
	tlc_set_top(m, m->top + 1);
	TLC_PROBE_FREE(cell);
	return true;
}

/* Has one of those who end a cell in the slot of an object at once do it. */
static inline bool begin_end(tl_record* r)
{
	uint32_t loc = TL_LOC_CELL;
	return atomic_compare_exchange_strong_explicit(&r->loc, &loc, 0, memory_order_acq_rel, memory_order_relaxed);
}

#pragma GCC visibility push(hidden)

/* Ends a cell with a type that has one reference, and what it leads to that has no other; false: ask Go, nothing changed. */
bool tlc_free_typed_cell(tl_record* r, void* cell);

/* Shares a cell with a type that is not shared, and what it leads to. */
void tlc_share_typed_cell(void* cell);

#pragma GCC visibility pop

#endif
