/* Cells with a type, whose fields end with them. runtime/object/cells_typed.go is the Go twin, and makes the type of their
 * slots: that of the cells with a head in front. Their heads name no record, so that a call frees them. */
#include <string.h>

#include "cells.h"
#include "typed.h"

/* ---- new -------------------------------------------------------------------------------- */

/* The type of the slots of cells of a type; 0: ask Go. */
static inline uint32_t type_of_slots(const tl_type_info* info)
{
	if (info == NULL || info->ends != TL_ENDS_SIMPLY) return TL_TYPE_PLAIN;
	const uint32_t slots = (uint32_t)__atomic_load_n(&info->context, __ATOMIC_ACQUIRE);
	return info_of(slots) != NULL ? slots : TL_TYPE_PLAIN;
}

/* A cell in a cleared slot. */
static inline __attribute__((always_inline)) void* enliven(tl_context* c, uintptr_t slot, uint64_t tag, uint32_t slots)
{
	tl_cell_head* head = (tl_cell_head*)slot;
	tl_record* r = tlc_g.records + (uint32_t)tag;
	TLC_STORE(head->count, 1);
	count_of(c, slots)->made++;
	tlc_set_life(r, tlc_life_of(tag, slots));
	tlc_set_counts(r, TLC_CELL_COUNTS);
	return head + 1;
}

/* A cell of more than 496 bytes, of a type that is not known, or whose magazine was empty. */
static __attribute__((noinline)) void* new_rest(tl_type type)
{
	tl_context* c = tlc_tls;
	const tl_type_info* info = info_of(type);
	const uint32_t slots = type_of_slots(info);
	const size_t bytes = slots != TL_TYPE_PLAIN ? info->size + sizeof(tl_cell_head) : 0;
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
	if (TLC_UNLIKELY(slots == TL_TYPE_PLAIN) || TLC_UNLIKELY(info->size > CLEARED_INLINE - sizeof(tl_cell_head)))
		return new_rest(type);
	const size_t bytes = info->size + sizeof(tl_cell_head);
	const tl_entry* slot = tlc_take_slot(c, bytes);
	if (TLC_UNLIKELY(slot == NULL)) return new_rest(type);
	const uintptr_t object = slot->object;
	const uint64_t tag = tlc_tag(slot);
	TLC_PROBE_ALLOCATE(object, info->size);
	clear_small(object, bytes);
	return enliven(c, object, tag, slots);
}

/* ---- free -------------------------------------------------------------------------------- */

/* Dead cells that are still to be taken apart, the last one first: meanwhile a head holds its slot's tag and the next head. */
typedef struct dead_cells {
	tl_context* context;
	tl_cell_head* first;
} dead_cells;

static inline void add(dead_cells* dead, tl_record* r, tl_cell_head* head)
{
	const uint64_t life = tlc_life(r);
	if (TLC_UNLIKELY(info_of((uint32_t)life) == NULL)) { /* Go counts the type */
		tlc_enqueue(dead->context, r, (uintptr_t)head);
		return;
	}
	*(tlc_pair*)(void*)&head->record = tlc_tag_of(life, r);
	*(tlc_pair*)(void*)&head->count = (uintptr_t)dead->first;
	dead->first = head;
}

/* Drops a reference that a dead cell held; false: p is no cell. */
static inline __attribute__((always_inline)) bool drop_cell(dead_cells* dead, uintptr_t p)
{
	tl_record* r = find_cell((const void*)p);
	if (TLC_UNLIKELY(r == NULL)) return false;
	tl_cell_head* head = tlc_head_of((const void*)p);
	bool last;
	if (TLC_UNLIKELY(!tlc_op_cell_drop((void*)p, &last))) last = drop_shared(head);
	if (!last || TLC_UNLIKELY(!begin_end(r))) return true;
	if (TLC_LIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN)) add(dead, r, head);
	else tlc_free_dead(dead->context, r, (uintptr_t)head);
	return true;
}

/* No callback runs below, as in tlc_drain_ring, which ends the objects that a cell held. */
static void take_apart(dead_cells* dead, tl_cell_head* head, uint64_t tag)
{
	tl_context* c = dead->context;
	tl_record* r = tlc_g.records + (uint32_t)tag;
	const uint32_t slots = TLC_LOAD(r->type_flags);
	const tl_type_info* info = info_of(slots);
	uintptr_t* objects = (uintptr_t*)tlc_unused_stack(c);
	uint32_t count = 0;
	for (const uint32_t *at = info->offsets, *end = at + info->fields; at != end; at++) {
		const uintptr_t p = ((const uintptr_t*)head)[*at];
		if (p != 0 && !drop_cell(dead, p)) objects[count++] = p;
	}
	count_of(c, slots)->gone++;
	tlc_free_dead(c, r, (uintptr_t)head);
	if (count == 0) return;
	drop_all(c, count);
	c->draining = 1;
}

bool tlc_free_typed_cell(tl_record* r, tl_cell_head* head)
{
	dead_cells dead = {.context = tlc_tls};
	tl_context* c = dead.context;
	if (c->draining || tlc_g.debug != 0 || !has_ring(c) || !begin_end(r)) return false;
	add(&dead, r, head);
	c->draining = 1;
	while (dead.first != NULL) {
		head = dead.first;
		dead.first = (tl_cell_head*)(uintptr_t)*(const tlc_pair*)(const void*)&head->count;
		take_apart(&dead, head, *(const tlc_pair*)(const void*)&head->record);
	}
	c->draining = 0;
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_finish(c); /* a destructor, or what Go counts */
	return true;
}

/* ---- share ------------------------------------------------------------------------------ */

/* The walk links the cells that it still has to look at by the record's place in their heads, which is 0 in cells with a
 * type. No other thread reads it before the cell is shared. */
void tlc_share_typed_cell(tl_cell_head* head)
{
	for (tl_cell_head* first = head; (head = first) != NULL;) {
		tlc_pair* link = (tlc_pair*)(void*)&head->record;
		const tl_record* r = find_cell(head + 1);
		first = (tl_cell_head*)(uintptr_t)*link;
		*link = 0;
		if (TLC_UNLIKELY(r == NULL)) continue;
		const tl_type_info* info = &tlc_g.types[TLC_LOAD(r->type_flags) - TL_TYPE_FIRST_USER];
		for (const uint32_t *at = info->offsets, *end = at + info->fields; at != end; at++) {
			tl_cell_head* child = tlc_head_of(((void**)head)[*at]);
			const tl_record* of = find_cell(child + 1);
			if (of == NULL || (int32_t)TLC_LOAD(child->count) <= 0) continue;
			TLC_STORE(child->count, 0 - TLC_LOAD(child->count));
			if (TLC_LOAD(of->type_flags) == TL_TYPE_PLAIN) continue;
			*(tlc_pair*)(void*)&child->record = (uintptr_t)first;
			first = child;
		}
	}
}
