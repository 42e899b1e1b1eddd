/* Operations on entries with a record (blocks.h): blocks with a deleter, and aliases of
 * shared blocks. */
#ifndef TL_REGISTRY_LINKED_H
#define TL_REGISTRY_LINKED_H

#include "registry.h"

#pragma GCC visibility push(hidden)

/* Registers a block that a function frees: count 1. false: the slow path says what it is.
 * Budget: one compare-and-swap, about 110 instructions. */
static inline bool tlc_enter_custom(uintptr_t p, uint64_t bytes, uintptr_t deleter, uintptr_t ctx, uint32_t* gen)
{
	if (TLC_UNLIKELY((p & 15) || !tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES)) return false;
	const uint64_t as = (uint64_t)TL_FOREIGN_CUSTOM << TL_FOREIGN_KIND_SHIFT;
	const tlc_owner own = {TL_BLOCK_CUSTOM, deleter, ctx};
	if (TLC_UNLIKELY(!tlc_inside(p, bytes))) return tlc_enter_owned(p, bytes, as, &own, gen, NULL) == TLC_OK;
	if (TLC_UNLIKELY(tlc_units_up(0) != 0) && tlc_covered_above(p)) return false;
	tl_shard* s = &tlc_shards[tlc_shard_of(p)];
	tlc_granule at = tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4);
	tl_foreign_entry* e = NULL;
	tlc_shard_lock(s);
	if (TLC_LIKELY(s->free_record != 0)) {
		tl_region* cell = tlc_cell(s, at.region);
		e = tlc_enter_new(s, cell, tlc_used_unit(cell, at), p, bytes, as);
		if (TLC_LIKELY(e != NULL)) {
			*gen = e->gen;
			tlc_take_record(s, e, p, &own);
		}
	}
	tlc_shard_unlock(s);
	return e != NULL;
}

/* Counts one more alias of a live shared block; false: it has ended. */
static inline bool tlc_count_alias(tl_block_record* b, uint64_t id)
{
	uint64_t life = atomic_load_explicit(&b->life, memory_order_relaxed);
	do {
		if (TLC_UNLIKELY(!tlc_is_named(life, id) || tlc_names(life) == TL_BLOCK_MOST_NAMES)) return false;
	} while (
		!atomic_compare_exchange_weak_explicit(&b->life, &life, life + 1, memory_order_acquire, memory_order_relaxed));
	return true;
}

/* An alias at an address of a locked shard that has no entry. The alias is made first, because it
 * may lack memory, and nobody sees it before the shard is unlocked. */
static inline bool tlc_make_alias(tl_shard* s, tl_region* cell, tl_unit* u, tlc_granule at, tl_block_record* b,
                                  uint64_t id, uint64_t as)
{
	if (u == NULL) u = tlc_open_unit(s, cell, at);
	tl_foreign_entry* e = TLC_LIKELY(u != NULL) ? tlc_insert(s, u, at.bit) : NULL;
	if (TLC_UNLIKELY(e == NULL)) return false;
	tlc_fill(s, e, 0, as);
	e->link = (uint32_t)id;
	if (TLC_LIKELY(tlc_count_alias(b, id))) return true;
	tlc_erase_entry((tlc_lookup){.shard = s, .cell = cell, .unit = u, .at = at});
	return false;
}

/* One more reference at an alias that is there. As long as its shard is locked its block lives. */
static inline bool tlc_count_known_alias(tl_foreign_entry* e, const tl_block_record* b, uint64_t id)
{
	uint64_t life = atomic_load_explicit(&b->life, memory_order_relaxed);
	if (TLC_UNLIKELY(e->link != (uint32_t)id || !tlc_is_named(life, id) || e->count == 0)) return false;
	tlc_count_one(e);
	return true;
}

/* Adds a reference at an address of the block with that id; *is_new: the address is a new alias.
 * false, nothing changed: the slow path says why. What is read of the record before the shard is
 * locked holds when the generation is still the same then.
 * Budget: two compare-and-swaps, about 130 instructions. */
static inline bool tlc_add_alias(uint64_t id, uintptr_t p, bool* is_new)
{
	tl_block_record* b = tlc_shared_block(id);
	if (TLC_UNLIKELY(b == NULL)) return false;
	uint64_t block = atomic_load_explicit(&b->block, memory_order_relaxed);
	if (TLC_UNLIKELY(p - atomic_load_explicit(&b->real, memory_order_relaxed) >= (block & TL_FOREIGN_BYTES)))
		return false;
	tl_shard* s = &tlc_shards[tlc_shard_of(p)];
	tlc_granule at = tlc_start(p);
	tlc_shard_lock(s);
	tl_region* cell = tlc_cell(s, at.region);
	tl_unit* u = tlc_listed_unit(cell, at);
	if (u != NULL && tlc_vacant(u)) u = NULL;
	*is_new = u == NULL || !tlc_has(&u->starts, at.bit);
	uint64_t as = block & ~TL_FOREIGN_BYTES;
	bool added =
		*is_new ? tlc_make_alias(s, cell, u, at, b, id, as) : tlc_count_known_alias(tlc_entry(u, at.bit), b, id);
	tlc_shard_unlock(s);
	return added;
}

/* A block with a type waits until its references are released. Until then its entry is dead, and the
 * block owns its granules. */
static inline void tlc_end_typed(tlc_lookup x, uintptr_t p, uint32_t number, tlc_ended* ended)
{
	tl_block_record* b = tlc_record_of(number);
	*ended = (tlc_ended){.pointer = p, .kind = TL_FOREIGN_CUSTOM, .record = number};
	atomic_store_explicit(&b->state, TL_BLOCK_PENDING, memory_order_relaxed);
	x.entry->count = 0;
	x.entry->type_floats &= TL_FOREIGN_FLOAT - 1;
	x.shard->zeros++;
	tlc_shard_unlock(x.shard);
}

/* Takes a block with a deleter or a type out of the table. The record is given back, unless the block has
 * to wait. */
static inline __attribute__((always_inline)) int tlc_end_custom(tlc_lookup x, uintptr_t p, tlc_endings who,
                                                                tlc_ended* ended)
{
	uint32_t number = x.entry->link;
	tl_block_record* b = tlc_record_of(number);
	const bool typed = atomic_load_explicit(&b->state, memory_order_relaxed) == TL_BLOCK_TYPED;
	if (TLC_UNLIKELY(typed && (b->ctx & TL_TYPED_READ))) {
		tlc_shard_unlock(x.shard);
		return TLC_SLOW;
	}
	if (TLC_UNLIKELY(typed && !who.at_once((uint32_t)b->deleter))) {
		tlc_end_typed(x, p, number, ended);
		return TLC_GONE;
	}
	uint64_t block = x.entry->block, bytes = block & TL_FOREIGN_BYTES;
	if (TLC_UNLIKELY(!tlc_uncover(&x, p, bytes))) return TLC_AGAIN;
	*ended = (tlc_ended){.pointer = p, .kind = TL_FOREIGN_CUSTOM, .deleter = b->deleter, .ctx = b->ctx};
	if (typed) {
		ended->type = (uint32_t)b->deleter;
		tlc_give_record(x.shard, b, number);
	} else if (TLC_UNLIKELY(who.wait())) {
		ended->record = number;
		atomic_store_explicit(&b->real, p, memory_order_relaxed);
		atomic_store_explicit(&b->block, block, memory_order_relaxed);
		atomic_store_explicit(&b->state, TL_BLOCK_PENDING, memory_order_relaxed);
	} else {
		tlc_give_record(x.shard, b, number);
	}
	x.shard->bytes -= bytes;
	x.shard->zeros -= who.from_zero;
	tlc_erase_entry(x);
	tlc_shard_unlock(x.shard);
	return TLC_GONE;
}

/* tlc_drop_at of an entry with a record, whose only reference goes. TLC_SLOW, nothing changed: a thread reads the
 * block's references, and is done soon. */
static inline __attribute__((always_inline)) int tlc_end_registered(tlc_lookup x, uintptr_t p, tlc_endings who,
                                                                    tlc_ended* ended)
{
	if (tlc_bytes(x.entry) != 0) return tlc_end_custom(x, p, who, ended);
	uint32_t number = x.entry->link;
	tlc_erase_entry(x);
	uint64_t life = atomic_fetch_sub_explicit(&tlc_record_of(number)->life, 1, memory_order_acq_rel);
	tlc_shard_unlock(x.shard);
	ended->pointer = ended->kind = 0;
	if (tlc_names(life) == 1) tlc_end_shared(number, who.wait(), ended);
	return TLC_GONE;
}

#pragma GCC visibility pop

#endif
