/* Blocks with a record that leave the list of those that wait. */
#include "linked.h"

/* Takes a block with a type that waits out of the table, for the caller to free, and returns the next of
 * the list. Its entry is dead, so nobody else takes it out. */
uint32_t tlc_settle_typed(uint32_t number)
{
	tl_block_record* b = tlc_record_of(number);
	const uintptr_t p = atomic_load_explicit(&b->real, memory_order_relaxed);
	const uint32_t next = b->next;
	tlc_lookup x;
	uint64_t bytes;
	do {
		x = tlc_lock_entry(p);
		bytes = tlc_bytes(x.entry);
	} while (TLC_UNLIKELY(!tlc_uncover(&x, p, bytes)));
	x.shard->bytes -= bytes;
	x.shard->zeros--;
	tlc_give_record(x.shard, b, number);
	tlc_erase_entry(x);
	tlc_shard_unlock(x.shard);
	return next;
}

/* Takes what is to be called out of a PENDING record, gives the record back, and returns the next
 * one of the list. */
uint32_t tlc_settle_pending(uint32_t number, tlc_ended* ended)
{
	tl_block_record* b = tlc_record_of(number);
	uintptr_t p = atomic_load_explicit(&b->real, memory_order_relaxed);
	uint32_t kind = tlc_kind_in(atomic_load_explicit(&b->block, memory_order_relaxed));
	*ended = (tlc_ended){.pointer = p, .kind = kind, .deleter = b->deleter, .ctx = b->ctx};
	uint32_t next = b->next;
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	tlc_give_used_record(s, b, number);
	tlc_shard_unlock(s);
	return next;
}
