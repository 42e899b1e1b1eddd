/* Cells as calls: they look for the slot before they believe what stands in front of a cell. */
#include "cells.h"
#include "../inline/counts.h"
#include "../inline/objects.h"

_Static_assert(sizeof(tl_cell_head) == 8 && TL_CELL_MOST_BYTES % TL_CELL_STEP == TL_CELL_STEP - sizeof(tl_cell_head),
               "a cell of a class of cells is aligned to 16, and its head ends the slot before");
_Static_assert(TL_CLASS_LARGE - TL_CLASS_CELL == 256 / TL_CELL_STEP + 3 * 4, "to 2 KiB");

/* ---- new and free ------------------------------------------------------------------------ */

/* Makes a cell of the slot of an object. */
static void* make_in_slot(const tl_entry* slot, size_t bytes)
{
	void* cell = (void*)(slot->object + TL_CELL_OFFSET);
	tlc_set_counts(tlc_g.records + slot->record, (uint64_t)TL_SH_CELL << 32 | TL_LOC_CELL);
	tlc_set_head(cell, 1);
	TLC_PROBE_ALLOCATE(slot->object, bytes);
	return cell;
}

static __attribute__((noinline)) void* new_rest(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* cell;
	bool zero;
	if (bytes <= TL_CELL_MOST_BYTES) {
		const uint32_t size_class = tlc_cell_class_of(bytes);
		return tlc_refill_magazine(c, size_class) && tlc_op_cell_new(c, bytes, &cell) ? cell : slow_cell_new(bytes);
	}
	if (bytes > SIZE_MAX - TL_CELL_OFFSET) return slow_cell_new(bytes);
	const size_t all = bytes + TL_CELL_OFFSET;
	if (all > TLC_MAX_SMALL) {
		const tl_entry e = tlc_take_large(c, all, &zero);
		return e.object != 0 ? make_in_slot(&e, bytes) : slow_cell_new(bytes);
	}
	const tl_entry* slot = tlc_take_slot(c, all);
	if (slot == NULL && tlc_refill_magazine(c, tlc_class_of(all))) slot = tlc_take_slot(c, all);
	return slot != NULL ? make_in_slot(slot, bytes) : slow_cell_new(bytes);
}

void* tl_cell_new(size_t bytes)
{
	void* cell;
	return TLC_LIKELY(tlc_op_cell_new(tlc_tls, bytes, &cell)) ? cell : new_rest(bytes);
}

/* The slot of an object gets its next generation, because a cell that Go made may be recorded. Where two threads free a cell
 * at the same time, one of them ends it. */
static tl_status free_in_slot(void* cell)
{
	tl_context* c = tlc_tls;
	tl_record* r = find_in_slot(tlc_tls, cell);
	if (TLC_UNLIKELY(r == NULL) || TLC_UNLIKELY(tlc_is_last_life(TLC_LOAD(r->gen))) ||
	    TLC_UNLIKELY(!is_last((int32_t)TLC_LOAD(tlc_head_of(cell)->count))))
		return slow_cell_free(cell);
	const tl_entry e = tlc_entry_of(r, slot_of(cell));
	if (TLC_UNLIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN))
		return tlc_free_typed_cell(r, cell) ? TL_OK : slow_cell_free(cell);
	if (TLC_UNLIKELY(!begin_end(r))) return slow_cell_free(cell);
	return TLC_LIKELY(tlc_free_slot(c, r, e.object, tlc_tag(&e))) ? TL_OK : slow_mem_free((void*)e.object);
}

tl_status tl_cell_free(void* cell)
{
	uint32_t size_class;
	if (TLC_UNLIKELY(cell == NULL)) return TL_OK;
	if (TLC_UNLIKELY(tlc_forked())) return slow_cell_free(cell);
	if (TLC_UNLIKELY(!find_small(tlc_tls, cell, &size_class))) return free_in_slot(cell);
	return TLC_LIKELY(free_small(tlc_tls, cell, size_class)) ? TL_OK : slow_cell_free(cell);
}

/* ---- counts ------------------------------------------------------------------------------ */

static void* dup_shared(void* cell)
{
	_Atomic uint32_t* word = &tlc_head_of(cell)->count;
	uint32_t count = TLC_LOAD(*word);
	while (is_shared((int32_t)count) && !atomic_compare_exchange_weak_explicit(
											word, &count, count - 1, memory_order_relaxed, memory_order_relaxed)) {}
	return cell;
}

void* tl_cell_dup(void* cell)
{
	void* same;
	if (TLC_UNLIKELY(!is_cell(cell))) return cell == NULL ? NULL : slow_cell_dup(cell);
	return TLC_LIKELY(tlc_op_cell_dup(cell, &same)) ? cell : dup_shared(cell);
}

bool tl_cell_is_unique(const void* cell)
{
	if (TLC_LIKELY(is_cell(cell))) return is_last((int32_t)TLC_LOAD_ACQUIRE(tlc_head_of(cell)->count));
	return cell != NULL && slow_cell_is_unique(cell);
}

bool tl_cell_drop(void* cell)
{
	if (TLC_UNLIKELY(!is_cell(cell))) return cell != NULL && slow_cell_drop(cell);
	return drop_one(cell);
}

tl_status tl_cell_share(void* cell)
{
	uint32_t size_class;
	const tl_record* r = NULL;
	if (TLC_UNLIKELY(!find_small(tlc_tls, cell, &size_class)) && (r = find_in_slot(tlc_tls, cell)) == NULL)
		return cell == NULL ? TL_OK : slow_cell_share(cell);
	_Atomic uint32_t* word = &tlc_head_of(cell)->count;
	const uint32_t count = TLC_LOAD(*word);
	if ((int32_t)count <= 0) return TL_OK;
	TLC_STORE(*word, 0 - count);
	if (r != NULL && TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN) tlc_share_typed_cell(cell);
	return TL_OK;
}
