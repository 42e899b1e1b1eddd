/* The operations on the blocks of a memory pool. Every function needs the pool's lock. None allocates
 * memory, grows a table or calls back: Go does that, on the same tables. mempool.h has the structure.
 *
 * Budget of a pair that repeats: two compare-and-swaps and two steps along the log. Of
 * any other allocation: a search by bitmap, a treap out, a treap in, a chain. Of any
 * other release: a chain, at most two treaps out, one in.
 */
#pragma once

#include "index.h"

/* ---- records and chains ------------------------------------------------------------ */

static inline bool tlc_record_at_hand(const tl_mempool_state* p) { return p->unused != 0 || p->fresh < p->limit; }

/* An unused record; there must be one. */
static inline uint32_t tlc_record_take(tl_mempool_state* p)
{
	uint32_t record = p->unused;
	if (record == 0) return p->fresh++;
	p->unused = tlc_blocks(p)[record].left;
	return record;
}

static inline void tlc_record_drop(tl_mempool_state* p, uint32_t record)
{
	tl_mempool_block* b = &tlc_blocks(p)[record];
	b->word = 0;
	b->left = p->unused;
	p->unused = record;
}

static inline uint32_t* tlc_chain(const tl_mempool_state* p, uint64_t address)
{
	return (uint32_t*)p->hash + (address * TL_HASH_FACTOR >> p->hash_shift);
}

/* Enters a block into the chain of its address. */
static inline void tlc_chain_add(tl_mempool_state* p, uint32_t record)
{
	tl_mempool_block* b = &tlc_blocks(p)[record];
	uint32_t* chain = tlc_chain(p, b->address);
	b->left = *chain;
	*chain = record;
}

/* The link to the live block at an address; it holds 0 when no live block is there. */
static inline uint32_t* tlc_chain_find(const tl_mempool_state* p, uint64_t address)
{
	uint32_t* link = tlc_chain(p, address);
	tl_mempool_block* blocks = tlc_blocks(p);
	while (*link != 0 && blocks[*link].address != address) link = &blocks[*link].left;
	return link;
}

/* Takes a live block out of its chain, by the link that leads to it, and returns its record. */
static inline uint32_t tlc_chain_take(tl_mempool_state* p, uint32_t* link)
{
	uint32_t record = *link;
	*link = tlc_blocks(p)[record].left;
	return record;
}

/* ---- the tables -------------------------------------------------------------------- */

/* Cuts a block: what lies behind its low `bytes` is a block of its own, which is nothing yet. Its record,
 * of which there must be one at hand. */
static inline uint32_t tlc_block_cut(tl_mempool_state* p, uint32_t record, uint64_t bytes)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	tl_mempool_block* b = &blocks[record];
	uint32_t r = tlc_record_take(p);
	tl_mempool_block* x = &blocks[r];
	x->address = b->address + bytes;
	x->prev = record;
	x->next = b->next;
	if (b->next != 0) blocks[b->next].prev = r;
	b->next = r;
	return r;
}

/* Makes a block live. */
static inline void tlc_block_enliven(tl_mempool_state* p, uint32_t record, uint64_t bytes)
{
	tl_mempool_block* b = &tlc_blocks(p)[record];
	b->word = bytes;
	b->right = 0;
	tlc_chain_add(p, record);
}

/* Makes the low `bytes` of a block that left the index live; the rest stays free. There
 * must be a record at hand. The block keeps its record, so that a chunk's first block
 * always has the same one. */
static inline void tlc_block_occupy(tl_mempool_state* p, uint32_t record, uint64_t bytes)
{
	uint64_t rest = tlc_block_bytes(&tlc_blocks(p)[record]) - bytes;
	if (rest > TL_MEMPOOL_SPLIT) {
		tlc_index_insert(p, tlc_block_cut(p, record, bytes), rest);
		rest = 0;
	}
	tlc_block_enliven(p, record, bytes + rest);
}

/* Merges a block with the one behind it, whose record becomes unused. */
static inline void tlc_block_join(tl_mempool_state* p, uint32_t record, uint32_t behind)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	uint32_t next = blocks[behind].next;
	blocks[record].next = next;
	if (next != 0) blocks[next].prev = record;
	tlc_record_drop(p, behind);
}

/* Makes a block that is in no chain free, and joins it with its neighbours. */
static inline void tlc_block_release(tl_mempool_state* p, uint32_t record)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	const tl_mempool_block* b = &blocks[record];
	uint64_t bytes = tlc_block_bytes(b);
	uint32_t prev = b->prev, next = b->next;
	if (next != 0 && tlc_block_is_free(&blocks[next])) {
		tlc_index_remove(p, next);
		bytes += tlc_block_bytes(&blocks[next]);
		tlc_block_join(p, record, next);
	}
	if (prev != 0 && tlc_block_is_free(&blocks[prev])) {
		tlc_index_remove(p, prev);
		bytes += tlc_block_bytes(&blocks[prev]);
		tlc_block_join(p, prev, record);
		record = prev;
	}
	tlc_index_insert(p, record, bytes);
}

/* Makes a live block free, by the link that leads to it. */
static inline void tlc_block_vacate(tl_mempool_state* p, uint32_t* link)
{
	tlc_block_release(p, tlc_chain_take(p, link));
}

/* ---- the LIFO cache --------------------------------------------------------------- */

static inline tl_mempool_lifo* tlc_lifo(tl_mempool_state* p, uint32_t at)
{
	return &p->lifo[at % TL_MEMPOOL_LIFO_SIZE];
}

/* Moves the blocks that were given back to the log into the tables. */
static inline void tlc_lifo_flush(tl_mempool_state* p)
{
	while (p->high != p->live) tlc_block_vacate(p, tlc_chain_find(p, tlc_lifo(p, --p->high)->address));
}

/* Empties the log: what was logged happened in another state. Nothing is pending. */
static inline void tlc_lifo_forget(tl_mempool_state* p) { p->low = p->high = p->live; }

/* Logs an allocation; the oldest one makes room. Nothing is pending. */
static inline void tlc_lifo_push(tl_mempool_state* p, uint64_t request, const tl_mempool_block* b)
{
	tl_mempool_lifo* x = tlc_lifo(p, p->live);
	x->request = request;
	x->address = b->address;
	x->bytes = tlc_block_bytes(b);
	p->high = ++p->live;
	if (p->live - p->low > TL_MEMPOOL_LIFO_SIZE) p->low++;
}

/* ---- operations -------------------------------------------------------------------- */

/* n bytes in granules of 1 << shift. */
static inline uint64_t tlc_rounded(uint64_t n, uint32_t shift) { return (n + (1ull << shift) - 1) & -(1ull << shift); }

static inline void tlc_mempool_count_allocation(tl_mempool_state* p, uint64_t bytes)
{
	p->allocations++;
	uint64_t total = p->total_allocated += bytes;
	if (total - p->total_freed > p->peak) p->peak = total - p->total_freed;
}

static inline uint64_t tlc_mempool_request(const tl_mempool_state* p, uint64_t n) { return tlc_rounded(n, p->shift); }

/* The address of a block of at least n bytes if the log has it; 0: nothing has changed. */
static inline uint64_t tlc_mempool_take_logged(tl_mempool_state* p, uint64_t n)
{
	const tl_mempool_lifo* x = tlc_lifo(p, p->live);
	if (TLC_UNLIKELY(p->live == p->high || x->request != tlc_mempool_request(p, n))) return 0;
	p->live++;
	tlc_mempool_count_allocation(p, x->bytes);
	return x->address;
}

/* The address of the best fit for a request, a multiple of the granule; 0: there is no record at hand or no
 * such block, and nothing has changed. Nothing is pending. */
static inline uint64_t tlc_mempool_take_fit(tl_mempool_state* p, uint64_t request)
{
	if (TLC_UNLIKELY(!tlc_record_at_hand(p))) return 0;
	uint32_t record = tlc_index_fit(p, request);
	if (TLC_UNLIKELY(record == 0)) return 0;
	tlc_block_occupy(p, record, request);
	const tl_mempool_block* b = &tlc_blocks(p)[record];
	tlc_lifo_push(p, request, b);
	tlc_mempool_count_allocation(p, tlc_block_bytes(b));
	return b->address;
}

/* The address of a block of at least n bytes that is not in the log; 0: ask Go, and nothing but the log has
 * changed. */
static inline uint64_t tlc_mempool_take_other(tl_mempool_state* p, uint64_t n)
{
	uint64_t request = tlc_mempool_request(p, n);
	if (TLC_UNLIKELY(n - 1 >= TL_MEMPOOL_BYTES >> 1)) return 0;
	tlc_lifo_flush(p);
	return tlc_mempool_take_fit(p, request);
}

static inline void tlc_mempool_count_deallocation(tl_mempool_state* p, uint64_t bytes)
{
	p->total_freed += bytes;
	p->deallocations++;
}

/* The address of a block of at least n bytes; 0: ask Go, and nothing but the log has changed. */
static inline uint64_t tlc_mempool_take_block(tl_mempool_state* p, uint64_t n)
{
	uint64_t logged = tlc_mempool_take_logged(p, n);
	return logged != 0 ? logged : tlc_mempool_take_other(p, n);
}

/* Takes back the block that was logged last; false: another block is there, and nothing has
 * changed. */
static inline bool tlc_mempool_return_logged(tl_mempool_state* p, uint64_t address)
{
	const tl_mempool_lifo* x = tlc_lifo(p, p->live - 1);
	if (TLC_UNLIKELY(p->live == p->low || x->address != address)) return false;
	p->live--;
	tlc_mempool_count_deallocation(p, x->bytes);
	return true;
}

/* Takes back any other block; false: no live block starts there, and nothing but the log has
 * changed. */
static inline bool tlc_mempool_return_other(tl_mempool_state* p, uint64_t address)
{
	tlc_lifo_flush(p);
	uint32_t* link = tlc_chain_find(p, address);
	if (TLC_UNLIKELY(*link == 0)) return false;
	uint64_t bytes = tlc_block_bytes(&tlc_blocks(p)[*link]);
	tlc_block_vacate(p, link);
	tlc_lifo_forget(p);
	tlc_mempool_count_deallocation(p, bytes);
	return true;
}

/* Takes a block back; false: no live block starts there, and nothing but the log has changed. */
static inline bool tlc_mempool_return_block(tl_mempool_state* p, uint64_t address)
{
	return tlc_mempool_return_logged(p, address) || tlc_mempool_return_other(p, address);
}
