/* The operations on memory pools that are not the fast path's alone, and those of threads that share a pool. */
#include <string.h>

#include "caches.h"

/* Locks a pool; false, nothing locked: the handle is not its own any more. */
static bool enter(tl_mempool_state* p, uint64_t handle)
{
	tlc_lock(&p->lock);
	if (TLC_LIKELY(p->handle == handle)) return true;
	tlc_unlock(&p->lock);
	return false;
}

tlc_mempool_taken tlc_mempool_take(tl_mempool_state* p, uint64_t handle, uint64_t request)
{
	if (!enter(p, handle)) return (tlc_mempool_taken){.why = TL_MEMPOOL_GONE};
	tlc_mempool_taken t = {.address = tlc_mempool_take_logged(p, request)};
	if (t.address == 0) {
		tlc_mempool_flush(p);
		t.address = tlc_mempool_take_fit(p, request);
	}
	if (t.address == 0) t.why = tlc_record_at_hand(p) ? TL_MEMPOOL_NO_BLOCK : TL_MEMPOOL_NO_RECORD;
	tlc_unlock(&p->lock);
	return t;
}

uint32_t tlc_mempool_give(tl_mempool_state* p, uint64_t handle, uint64_t address)
{
	if (!enter(p, handle)) return TL_MEMPOOL_GONE;
	if (tlc_mempool_open(p) != 0) tlc_mempool_recall(p);
	bool known = tlc_mempool_return_block(p, address);
	tlc_unlock(&p->lock);
	return known ? TL_MEMPOOL_SERVED : TL_MEMPOOL_NO_BLOCK;
}

/* ---- threads that share a pool --------------------------------------------------------------- */

uint64_t tlc_mempool_take_waiting(tl_mempool_state* p, uint64_t handle, uint32_t number, uint64_t n)
{
	if (!enter(p, handle)) return 0;
	tlc_cache_wish(p, number);
	uint64_t address = tlc_mempool_open(p) == 0 ? tlc_mempool_take_block(p, n) : tlc_mempool_take_shared(p, number, n);
	tlc_unlock(&p->lock);
	return address;
}

bool tlc_mempool_give_waiting(tl_mempool_state* p, uint64_t handle, uint64_t address)
{
	if (!enter(p, handle)) return false;
	bool known =
		tlc_mempool_open(p) == 0 ? tlc_mempool_return_block(p, address) : tlc_mempool_return_shared(p, address);
	tlc_unlock(&p->lock);
	return known;
}

/* ---- what Go does under the pool's lock ------------------------------------------------------ */

void tlc_mempool_flush(tl_mempool_state* p)
{
	if (tlc_mempool_open(p) != 0) tlc_mempool_recall(p);
	tlc_lifo_flush(p);
}

/* Before blocks change in a way that the log does not have. */
static void begin(tl_mempool_state* p)
{
	tlc_mempool_flush(p);
	tlc_lifo_forget(p);
}

static uint32_t add_chunk(tl_mempool_state* p, uint64_t address, uint64_t bytes)
{
	uint32_t record = tlc_record_take(p);
	tl_mempool_block* b = &tlc_blocks(p)[record];
	b->address = address;
	b->prev = b->next = 0;
	tlc_index_insert(p, record, bytes);
	return record;
}

uint32_t tlc_mempool_add_chunk(tl_mempool_state* p, uint64_t address, uint64_t bytes)
{
	if (!tlc_record_at_hand(p)) return 0;
	begin(p);
	p->reserved += bytes;
	p->device_allocations++;
	return add_chunk(p, address, bytes);
}

bool tlc_mempool_take_chunk(tl_mempool_state* p, uint32_t first)
{
	const tl_mempool_block* b = &tlc_blocks(p)[first];
	tlc_mempool_flush(p);
	if (!tlc_block_is_free(b) || b->next != 0) return false;
	p->reserved -= tlc_block_bytes(b);
	tlc_index_remove(p, first);
	tlc_record_drop(p, first);
	tlc_lifo_forget(p);
	return true;
}

static void use_tables(tl_mempool_state* p, uintptr_t blocks, uintptr_t hash, uint32_t limit)
{
	p->blocks = blocks;
	p->hash = hash;
	p->limit = limit;
	p->hash_shift = 64 - (uint32_t)__builtin_ctz(limit);
}

void tlc_mempool_rebuild(tl_mempool_state* p, tl_mempool_chunk* chunks, uint64_t n, uintptr_t blocks, uintptr_t hash,
                         uint32_t limit)
{
	tlc_mempool_flush(p);
	tl_mempool_bins* bins = tlc_bins(p);
	for (uint32_t bin = tlc_bin_next(bins, 0); bin != UINT32_MAX; bin = tlc_bin_next(bins, bin)) {
		bins->roots[bin] = 0;
		tlc_bin_clear(bins, bin);
	}
	if (limit != 0) use_tables(p, blocks, hash, limit);
	else memset((void*)p->hash, 0, p->limit * sizeof(uint32_t));
	p->unused = p->free_blocks = 0;
	p->fresh = 1;
	p->low = p->live = p->high = 0;
	for (uint64_t i = 0; i < n; i++) chunks[i].first = add_chunk(p, chunks[i].address, chunks[i].bytes);
	p->total_freed = p->total_allocated;
	p->deallocations = p->allocations;
}

void tlc_mempool_grow(tl_mempool_state* p, uintptr_t blocks, uintptr_t hash, uint32_t limit)
{
	const uint64_t others = TL_MEMPOOL_FREE | TL_MEMPOOL_WAITS | TL_MEMPOOL_LENT; /* which are in no chain */
	memcpy((void*)blocks, tlc_blocks(p), p->fresh * sizeof(tl_mempool_block));
	use_tables(p, blocks, hash, limit);
	for (uint32_t i = 1; i < p->fresh; i++) {
		const uint64_t word = tlc_blocks(p)[i].word;
		if (word != 0 && (word & others) == 0) tlc_chain_add(p, i);
	}
}

uint64_t tlc_mempool_lends(tl_mempool_state* p, uint64_t address)
{
	tlc_mempool_flush(p);
	uint32_t record = *tlc_chain_find(p, address);
	return record != 0 ? tlc_block_bytes(&tlc_blocks(p)[record]) : 0;
}

uint64_t tlc_mempool_largest(tl_mempool_state* p)
{
	tlc_mempool_flush(p);
	if (p->free_blocks == 0) return 0;
	const tl_mempool_block* b = &tlc_blocks(p)[tlc_bins(p)->roots[tlc_bin_last(tlc_bins(p))]];
	while (b->right != 0) b = &tlc_blocks(p)[b->right];
	return tlc_block_bytes(b);
}

/* ---- blocks that wait for streams ------------------------------------------------------------ */

uint32_t tlc_mempool_set_aside(tl_mempool_state* p, uint64_t address, uint32_t lent)
{
	tlc_mempool_flush(p);
	uint32_t* link = tlc_chain_find(p, address);
	if (lent == 0 && *link == 0) return 0;
	uint32_t record = lent != 0 ? lent : tlc_chain_take(p, link);
	tl_mempool_block* b = &tlc_blocks(p)[record];
	uint64_t bytes = tlc_block_bytes(b);
	b->word = bytes | TL_MEMPOOL_WAITS;
	tlc_lifo_forget(p);
	tlc_mempool_count_deallocation(p, bytes);
	return record;
}

bool tlc_mempool_lend(tl_mempool_state* p, uint32_t record, uint64_t request, uint32_t* rest)
{
	if (!tlc_record_at_hand(p)) return false;
	begin(p);
	uint64_t bytes = tlc_block_bytes(&tlc_blocks(p)[record]), beyond = bytes - request;
	*rest = 0;
	if (beyond > TL_MEMPOOL_SPLIT) {
		*rest = tlc_block_cut(p, record, request);
		tlc_blocks(p)[*rest].word = beyond | TL_MEMPOOL_WAITS;
		bytes = request;
	}
	tlc_blocks(p)[record].word = bytes | TL_MEMPOOL_LENT;
	tlc_mempool_count_allocation(p, bytes);
	return true;
}

void tlc_mempool_settle(tl_mempool_state* p, uint32_t record)
{
	begin(p);
	tlc_block_enliven(p, record, tlc_block_bytes(&tlc_blocks(p)[record]));
}

void tlc_mempool_end_wait(tl_mempool_state* p, uint32_t record)
{
	begin(p);
	tlc_block_release(p, record);
}
