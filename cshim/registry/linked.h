/* Operations on entries with a record (blocks.h): blocks with a deleter, and aliases of
 * shared blocks. */
#pragma once

#include "registry.h"

#pragma GCC visibility push(hidden)

/* Adds a reference at an address of the block with that id; *fresh: the address is a new alias, which stands where the
 * dead entry *was; NULL: nobody asks. Both are zero before. operations.c
 * Budget: two compare-and-swaps, about 140 instructions. */
int tlc_add_alias(uint64_t id, uintptr_t p, bool* fresh, tl_foreign_entry* was);

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
