/* Shared blocks: registered under several addresses, each of which is an alias that names one record. */
#include "extents.h"

/* Gives the granules of a shared block to a record, which counts one alias: the caller's, so that the block cannot end
 * before all others are there. */
int tlc_registry_own(uintptr_t p, uint64_t bytes, uint32_t kind, const tlc_owner* own, uint32_t* number)
{
	if (!tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES) return TLC_REFUSED;
	const uint64_t as = (uint64_t)kind << TL_FOREIGN_KIND_SHIFT;
	extent b;
	tlc_lookup x;
	int result = extent_open(&b, &x, p, bytes, as);
	tl_shard* s = tlc_shard_at(p);
	if (result == TLC_OK && s->free_record == 0) result = TLC_SLOW;
	if (result == TLC_OK) {
		*number = s->free_record;
		tl_block_record* r = tlc_take_free(s, own);
		const uint64_t life = atomic_load_explicit(&r->life, memory_order_relaxed);
		atomic_store_explicit(&r->real, p, memory_order_relaxed);
		atomic_store_explicit(&r->block, as | bytes, memory_order_relaxed);
		atomic_store_explicit(&r->more, 0, memory_order_relaxed);
		atomic_store_explicit(&r->life, (life & ~(uint64_t)TL_BLOCK_MOST_NAMES) + 1, memory_order_release);
		s->bytes += bytes;
		s->buffers++;
		extent_put(&b);
	}
	extent_unlock(&b, b.locks, NULL);
	return result;
}

/* Ends a shared block whose last alias the caller has taken out: its granules go, and so does its
 * record, unless it is kept for a deleter. */
void tlc_end_shared(uint32_t number, bool waits, tlc_ended* ended)
{
	tl_block_record* r = tlc_record_of(number);
	uintptr_t p = atomic_load_explicit(&r->real, memory_order_relaxed);
	uint64_t block = atomic_load_explicit(&r->block, memory_order_relaxed), bytes = block & TL_FOREIGN_BYTES;
	uint32_t kind = tlc_kind_in(block);
	bool abandoned = atomic_load_explicit(&r->state, memory_order_relaxed) == TL_BLOCK_ABANDONED;
	bool keep = kind == TL_FOREIGN_CUSTOM && !abandoned && waits;
	*ended = (tlc_ended){.pointer = abandoned ? 0 : p, .kind = kind, .record = keep ? number : 0};
	ended->deleter = r->deleter;
	ended->ctx = r->ctx;
	uint64_t generation = atomic_load_explicit(&r->life, memory_order_relaxed) >> TL_BLOCK_GENERATION_SHIFT;
	extent b;
	extent_of(&b, p, bytes);
	extent_lock(&b, NULL);
	extent_take(&b);
	tl_shard* s = tlc_shard_at(p);
	s->bytes -= bytes;
	s->buffers--;
	atomic_store_explicit(&r->life, (generation + 1) << TL_BLOCK_GENERATION_SHIFT, memory_order_relaxed);
	if (keep) atomic_store_explicit(&r->state, TL_BLOCK_PENDING, memory_order_relaxed);
	else tlc_give_used_record(s, r, number);
	extent_unlock(&b, b.locks, NULL);
}
