/* Cells as calls: they look for the record before they believe what stands in front of a cell. */
#include "cells.h"
#include "../inline/counts.h"
#include "../inline/objects.h"

_Static_assert(sizeof(tl_cell_head) == 16, "a cell is aligned to 16 in a slot that is aligned to 32");

/* ---- new and free ------------------------------------------------------------------------ */

static __attribute__((noinline)) void* new_rest(size_t bytes)
{
	tl_context* c = tlc_tls;
	void* cell;
	bool zero;
	if (bytes + sizeof(tl_cell_head) <= TLC_MAX_SMALL && bytes <= TLC_MAX_SMALL) {
		const uint32_t class = tlc_class_of(bytes + sizeof(tl_cell_head));
		return tlc_refill_magazine(c, class) && tlc_op_cell_new(c, bytes, &cell) ? cell : slow_cell_new(bytes);
	}
	if (bytes > SIZE_MAX - sizeof(tl_cell_head)) return slow_cell_new(bytes);
	const tl_entry e = tlc_take_large(c, bytes + sizeof(tl_cell_head), &zero);
	if (e.object == 0) return slow_cell_new(bytes);
	TLC_PROBE_ALLOCATE(e.object, bytes);
	return tlc_make_cell(c, &e);
}

void* tl_cell_new(size_t bytes)
{
	void* cell;
	return TLC_LIKELY(tlc_op_cell_new(tlc_tls, bytes, &cell)) ? cell : new_rest(bytes);
}

/* The slot gets its next generation, as an object's does: a cell that Go made may be recorded. One of two calls that free a
 * cell at once finds it. */
tl_status tl_cell_free(void* cell)
{
	tl_context* c = tlc_tls;
	tl_record* r = find_cell(cell);
	if (TLC_UNLIKELY(r == NULL) || TLC_UNLIKELY(tlc_forked()) || TLC_UNLIKELY(tlc_is_last_life(TLC_LOAD(r->gen))) ||
	    TLC_UNLIKELY(!is_last((int32_t)TLC_LOAD(tlc_head_of(cell)->count))))
		return cell == NULL ? TL_OK : slow_cell_free(cell);
	const tl_entry e = tlc_entry_of(r, (uintptr_t)tlc_head_of(cell));
	if (TLC_UNLIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN))
		return tlc_free_typed_cell(r, tlc_head_of(cell)) ? TL_OK : slow_cell_free(cell);
	if (TLC_UNLIKELY(!begin_end(r))) return slow_cell_free(cell);
	return TLC_LIKELY(tlc_free_slot(c, r, e.object, tlc_tag(&e))) ? TL_OK : slow_mem_free((void*)e.object);
}

/* ---- counts ------------------------------------------------------------------------------ */

/* A reference more; false: ask Go. */
static bool dup_shared(void* cell)
{
	if (find_cell(cell) == NULL) return false;
	_Atomic uint32_t* word = &tlc_head_of(cell)->count;
	uint32_t count = TLC_LOAD(*word);
	while (is_shared((int32_t)count) && !atomic_compare_exchange_weak_explicit(
											word, &count, count - 1, memory_order_relaxed, memory_order_relaxed)) {}
	return true;
}

static __attribute__((noinline)) void* dup_rest(void* cell)
{
	return cell == NULL || dup_shared(cell) ? cell : slow_cell_dup(cell);
}

void* tl_cell_dup(void* cell)
{
	void* same;
	return TLC_LIKELY(find_cell(cell) != NULL) && TLC_LIKELY(tlc_op_cell_dup(cell, &same)) ? cell : dup_rest(cell);
}

bool tl_cell_is_unique(const void* cell)
{
	if (TLC_LIKELY(find_cell(cell) != NULL)) return is_last((int32_t)TLC_LOAD_ACQUIRE(tlc_head_of(cell)->count));
	return cell != NULL && slow_cell_is_unique(cell);
}

static __attribute__((noinline)) bool drop_rest(void* cell)
{
	if (TLC_LIKELY(find_cell(cell) != NULL)) return drop_shared(tlc_head_of(cell));
	return cell != NULL && slow_cell_drop(cell);
}

bool tl_cell_drop(void* cell)
{
	bool last;
	return TLC_LIKELY(find_cell(cell) != NULL) && TLC_LIKELY(tlc_op_cell_drop(cell, &last)) ? last : drop_rest(cell);
}

tl_status tl_cell_share(void* cell)
{
	tl_record* r = find_cell(cell);
	if (TLC_UNLIKELY(r == NULL)) return cell == NULL ? TL_OK : slow_cell_share(cell);
	_Atomic uint32_t* word = &tlc_head_of(cell)->count;
	const uint32_t count = TLC_LOAD(*word);
	if ((int32_t)count <= 0) return TL_OK;
	TLC_STORE(*word, 0 - count);
	if (TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN) tlc_share_typed_cell(tlc_head_of(cell));
	return TL_OK;
}
