/* Cells with a type, whose fields end with them. runtime/object/cells_typed.go is the Go twin, and makes the type of their
 * slots: that of the cells with TL_CELL_OFFSET bytes in front. The first word of a slot links cells; else it is 0. */
#include <string.h>

#include "cells.h"
#include "typed.h"

/* ---- new -------------------------------------------------------------------------------- */

/* The type of the slots of cells of a type; 0: ask Go. */
static inline uint32_t type_of_slots(const tl_type_info* info)
{
	if (info == NULL || info->ends != TL_ENDS_SIMPLY) return TL_TYPE_PLAIN;
	const uint32_t slots = (uint32_t)__atomic_load_n(&info->context, __ATOMIC_ACQUIRE);
	return TLC_LIKELY(slots - TL_TYPE_FIRST_USER < tlc_g.counted_types) ? slots : TL_TYPE_PLAIN;
}

/* A cell in a cleared slot. */
static inline __attribute__((always_inline)) void* enliven(tl_context* c, uintptr_t slot, uint64_t tag, uint32_t slots)
{
	tl_record* r = tlc_g.records + (uint32_t)tag;
	void* cell = (void*)(slot + TL_CELL_OFFSET);
	tlc_set_head(cell, 1);
	count_of(c, slots)->made++;
	tlc_set_life(r, tlc_life_of(tag, slots));
	tlc_set_counts(r, (uint64_t)TL_SH_CELL << 32 | TL_LOC_CELL);
	return cell;
}

/* A cell of more than 496 bytes, of a type that is not known, or whose magazine was empty. */
static __attribute__((noinline)) void* new_rest(tl_type type)
{
	tl_context* c = tlc_tls;
	const tl_type_info* info = info_of(type);
	const uint32_t slots = type_of_slots(info);
	const size_t bytes = slots != TL_TYPE_PLAIN ? info->size + TL_CELL_OFFSET : 0;
	if (bytes - 1 >= TLC_MAX_SMALL) return slow_cell_new_typed(type);
	const tl_entry* slot = tlc_take_slot(c, bytes);
	if (slot == NULL && tlc_refill_magazine(c, tlc_class_of(bytes))) slot = tlc_take_slot(c, bytes);
	if (slot == NULL) return slow_cell_new_typed(type);
	const uintptr_t object = slot->object;
	const uint64_t tag = tlc_tag(slot);
	TLC_PROBE_ALLOCATE(object, info->size);
	memset((void*)object, 0, bytes);
	return enliven(c, object, tag, slots);
}

/* As tl_object_new. */
void* tl_cell_new_typed(tl_type type)
{
	tl_context* c = tlc_tls;
	const tl_type_info* info = info_of(type);
	const uint32_t slots = type_of_slots(info);
	if (TLC_UNLIKELY(slots == TL_TYPE_PLAIN) || TLC_UNLIKELY(info->size > CLEARED_INLINE - TL_CELL_OFFSET))
		return new_rest(type);
	const size_t bytes = info->size + TL_CELL_OFFSET;
	const tl_entry* slot = tlc_take_slot(c, bytes);
	if (TLC_UNLIKELY(slot == NULL)) return new_rest(type);
	const uintptr_t object = slot->object;
	const uint64_t tag = tlc_tag(slot);
	TLC_PROBE_ALLOCATE(object, info->size);
	clear_small(object, bytes);
	return enliven(c, object, tag, slots);
}

/* ---- free -------------------------------------------------------------------------------- */

/* What begins the slot of a cell with a type: 0, or a link. Behind it stands the head. */
typedef struct cell_slot {
	uint64_t link;
	uint64_t head;
} cell_slot;
_Static_assert(sizeof(cell_slot) == TL_CELL_OFFSET, "the cell is behind it");

/* Dead cells that are still to be taken apart, the last one first: meanwhile a slot begins with its tag and the next one. */
typedef struct dead_cells {
	tl_context* context;
	cell_slot* first;
} dead_cells;

static inline void add(dead_cells* dead, tl_record* r, cell_slot* slot)
{
	const uint64_t life = tlc_life(r);
	if (TLC_UNLIKELY(info_of((uint32_t)life) == NULL)) { /* Go counts the type */
		tlc_enqueue(dead->context, r, (uintptr_t)slot);
		return;
	}
	slot->link = tlc_tag_of(life, r);
	slot->head = (uintptr_t)dead->first;
	dead->first = slot;
}

/* Drops a reference that a dead cell held; false: p is no cell. */
static inline __attribute__((always_inline)) bool drop_cell(dead_cells* dead, uintptr_t p)
{
	void* cell = (void*)p;
	uint32_t size_class;
	tl_record* r = find_in_slot(dead->context, cell);
	if (TLC_UNLIKELY(r == NULL)) {
		if (!find_small(dead->context, cell, &size_class)) return false;
		if (drop_one(cell)) (void)free_small(dead->context, cell, size_class); /* else another thread frees it */
		return true;
	}
	if (!drop_one(cell) || TLC_UNLIKELY(!begin_end(r))) return true;
	if (TLC_LIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN)) add(dead, r, (cell_slot*)slot_of(cell));
	else tlc_free_dead(dead->context, r, slot_of(cell));
	return true;
}

static inline void give_back(tl_context* c, tl_record* r, uintptr_t slot, uint64_t tag)
{
	if (TLC_UNLIKELY(!tlc_free_slot(c, r, slot, tag))) tlc_free_dead(c, r, slot);
}

/* No callback runs below, as in tlc_drain_ring, which ends the objects that a cell held. But memory may be given back by way
 * of Go, which may take the fast path from this thread. So the context says what a cell is here, and not tlc_tls. */
static void take_apart(dead_cells* dead, cell_slot* slot, uint64_t tag)
{
	tl_context* c = dead->context;
	tl_record* r = tlc_g.records + (uint32_t)tag;
	const uint32_t slots = TLC_LOAD(r->type_flags);
	const tl_type_info* info = &tlc_g.types[slots - TL_TYPE_FIRST_USER]; /* one that is counted: it was added */
	uintptr_t* objects = (uintptr_t*)tlc_unused_stack(c);
	uint32_t count = 0;
	for (const uint32_t *at = info->offsets, *end = at + info->fields; at != end; at++) {
		const uintptr_t p = ((const uintptr_t*)slot)[*at];
		if (p != 0 && !drop_cell(dead, p)) objects[count++] = p;
	}
	count_of(c, slots)->gone++;
	give_back(c, r, (uintptr_t)slot, tag);
	if (count == 0) return;
	drop_all(c, count);
	c->draining.active = 1;
}

static __attribute__((noinline)) bool free_all(tl_record* r, void* cell)
{
	dead_cells dead = {.context = tlc_tls};
	tl_context* c = dead.context;
	if (c->draining.active || tlc_g.debug != 0 || !has_ring(c) || !begin_end(r)) return false;
	add(&dead, r, (cell_slot*)slot_of(cell));
	c->draining.active = 1;
	while (dead.first != NULL) {
		cell_slot* slot = dead.first;
		dead.first = (cell_slot*)(uintptr_t)slot->head;
		if (TLC_LIKELY(tlc_tls == c)) take_apart(&dead, slot, slot->link);
		else
			tlc_enqueue(c, tlc_g.records + (uint32_t)slot->link,
			            (uintptr_t)slot); /* a trace has begun meanwhile: Go ends the cell and tells the trace */
	}
	c->draining.active = 0;
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_finish(c); /* a destructor, or what Go counts */
	return true;
}

bool tlc_free_typed_cell(tl_record* r, void* cell)
{
	tl_context* c = tlc_tls;
	const uint64_t life = tlc_life(r);
	const tl_type_info* info = info_of((uint32_t)life);
	if (info == NULL || !is_leaf(info, slot_of(cell))) return free_all(r, cell);
	if (TLC_UNLIKELY(tlc_g.debug != 0) || TLC_UNLIKELY(!begin_end(r))) return false;
	count_of(c, (uint32_t)life)->gone++;
	give_back(c, r, slot_of(cell), tlc_tag_of(life, r));
	return true;
}

/* ---- share ------------------------------------------------------------------------------ */

/* Shares what a field leads to; a cell with a type that was not shared has its slot linked. */
static inline void share_field(void* child, cell_slot** first)
{
	uint32_t size_class;
	const tl_record* of = find_in_slot(tlc_tls, child);
	if (of == NULL && !find_small(tlc_tls, child, &size_class)) return;
	_Atomic uint32_t* word = &tlc_head_of(child)->count;
	const uint32_t count = TLC_LOAD(*word);
	if ((int32_t)count <= 0) return;
	TLC_STORE(*word, 0 - count);
	if (of == NULL || TLC_LOAD(of->type_flags) == TL_TYPE_PLAIN) return;
	cell_slot* slot = (cell_slot*)slot_of(child);
	slot->link = (uintptr_t)*first;
	*first = slot;
}

/* The walk links the slots that it still has to look at. No other thread reads the link before the cell is shared. */
void tlc_share_typed_cell(void* cell)
{
	cell_slot* slot = (cell_slot*)slot_of(cell);
	for (cell_slot* first = slot; (slot = first) != NULL;) {
		const tl_record* r = find_in_slot(tlc_tls, slot + 1);
		first = (cell_slot*)(uintptr_t)slot->link;
		slot->link = 0;
		if (TLC_UNLIKELY(r == NULL)) continue;
		const tl_type_info* info = &tlc_g.types[TLC_LOAD(r->type_flags) - TL_TYPE_FIRST_USER];
		for (const uint32_t *at = info->offsets, *end = at + info->fields; at != end; at++)
			share_field(((void**)slot)[*at], &first);
	}
}
