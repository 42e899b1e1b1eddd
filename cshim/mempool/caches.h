/* The caches of a shared memory pool: what mempool.h says of them.
 *
 * Budget of a pair that a cache serves: two compare-and-swaps of its lock, a search of one list and of
 * four addresses.
 */
#pragma once

#include "blocks.h"

#include "../base/lock.h"

static inline tl_mempool_cache* tlc_cache(const tl_mempool_state* p, uint32_t number)
{
	return (tl_mempool_cache*)((char*)p + TL_MEMPOOL_CACHES_AT) + number % TL_MEMPOOL_CACHES;
}

/* Whether a cache is a pool's. Without its lock this is a hint. */
static inline bool tlc_cache_is_of(const tl_mempool_cache* k, uint64_t handle)
{
	return atomic_load_explicit(&k->handle, memory_order_relaxed) == handle;
}

static inline uint64_t tlc_cache_kept(const tl_mempool_cache* k) { return k->freed - k->allocated; }

static inline uint64_t tlc_cache_address(tl_mempool_cache* k, uint32_t i)
{
	return atomic_load_explicit(&k->addresses[i], memory_order_relaxed);
}

static inline void tlc_cache_set_address(tl_mempool_cache* k, uint32_t i, uint64_t address)
{
	atomic_store_explicit(&k->addresses[i], address, memory_order_relaxed);
}

static inline uint32_t tlc_cache_number(const tl_mempool_state* p, const tl_mempool_cache* k)
{
	return (uint32_t)(k - tlc_cache(p, 0));
}

/* What the cache keeps is the least that it kept. */
static inline void tlc_cache_note_least(tl_mempool_state* p, tl_mempool_cache* k)
{
	k->least = tlc_cache_kept(k);
	atomic_store_explicit(&p->least[tlc_cache_number(p, k)], k->least, memory_order_relaxed);
}

/* The first of the entries where an address may be. */
static inline uint32_t tlc_cache_set(uint64_t address)
{
	return (uint32_t)TL_HASH(address, TL_MEMPOOL_SET_BITS) * TL_MEMPOOL_WAYS;
}

static inline uint64_t tlc_cache_bytes(uint64_t word) { return word & TL_MEMPOOL_BYTES; }

static inline uint64_t tlc_cache_request(uint64_t word)
{
	return tlc_cache_bytes(word) - (word >> TL_MEMPOOL_OVER_SHIFT & (2 * TL_MEMPOOL_SPLIT - 1));
}

/* The list of a request. What it begins with may be read without the lock, as a hint. */
static inline _Atomic uint8_t* tlc_cache_list(tl_mempool_cache* k, uint64_t request)
{
	return &k->lists[TL_HASH(request, TL_MEMPOOL_LIST_BITS)];
}

static inline uint32_t tlc_list_first(_Atomic uint8_t* list)
{
	return atomic_load_explicit(list, memory_order_relaxed);
}

/* Puts `next` in the place of the entry behind `before`, 0: of the first one. Entries are 1 + their number. */
static inline void tlc_list_link(tl_mempool_cache* k, _Atomic uint8_t* list, uint32_t before, uint32_t next)
{
	if (before == 0) atomic_store_explicit(list, (uint8_t)next, memory_order_relaxed);
	else k->next[before - 1] = (uint8_t)next;
}

static inline uint64_t tlc_cache_rounded(tl_mempool_cache* k, uint64_t n)
{
	return tlc_rounded(n, atomic_load_explicit(&k->shift, memory_order_relaxed));
}

/* Without the lock: whether the cache may have a block for n bytes. */
static inline bool tlc_cache_may_take(tl_mempool_cache* k, uint64_t n)
{
	return tlc_list_first(tlc_cache_list(k, tlc_cache_rounded(k, n))) != 0;
}

/* ---- requests that need the lock of the cache alone ------------------------------------------ */

/* The address of a kept block for n bytes; 0: there is none, and nothing has changed. */
static inline uint64_t tlc_cache_take(tl_mempool_state* p, tl_mempool_cache* k, uint64_t n)
{
	uint64_t request = tlc_cache_rounded(k, n);
	_Atomic uint8_t* list = tlc_cache_list(k, request);
	for (uint32_t before = 0, at = tlc_list_first(list); at != 0; before = at, at = k->next[at - 1]) {
		uint64_t word = k->words[at - 1];
		if (TLC_UNLIKELY(tlc_cache_request(word) != request)) continue;
		tlc_list_link(k, list, before, k->next[at - 1]);
		k->words[at - 1] = word & ~TL_MEMPOOL_KEPT;
		k->allocated += tlc_cache_bytes(word);
		k->allocations++;
		if (k->worth < TL_MEMPOOL_WORTH) k->worth++;
		if (TLC_UNLIKELY(tlc_cache_kept(k) < k->least)) tlc_cache_note_least(p, k);
		return tlc_cache_address(k, at - 1);
	}
	return 0;
}

/* The entry of a block; TL_MEMPOOL_ENTRIES: there is none. Without the lock this is a hint. */
static inline uint32_t tlc_cache_find(tl_mempool_cache* k, uint64_t address)
{
	uint32_t first = tlc_cache_set(address);
	for (uint32_t i = first; i < first + TL_MEMPOOL_WAYS; i++)
		if (tlc_cache_address(k, i) == address) return i;
	return TL_MEMPOOL_ENTRIES;
}

/* Keeps a block that is given back; false: it is not held, as far as the cache knows. */
static inline bool tlc_cache_keep(tl_mempool_cache* k, uint64_t address)
{
	uint32_t i = tlc_cache_find(k, address);
	if (i == TL_MEMPOOL_ENTRIES) return false;
	uint64_t word = k->words[i];
	if (word - 1 >= TL_MEMPOOL_KEPT - 1) return false; /* kept already, or none: address 0 */
	_Atomic uint8_t* list = tlc_cache_list(k, tlc_cache_request(word));
	k->words[i] = word | TL_MEMPOOL_KEPT;
	k->next[i] = (uint8_t)tlc_list_first(list);
	tlc_list_link(k, list, 0, i + 1);
	k->freed += tlc_cache_bytes(word);
	k->deallocations++;
	return true;
}

/* ---- entries that come and go, under the locks of pool and cache ----------------------------- */

static inline uint32_t tlc_mempool_open(const tl_mempool_state* p)
{
	return atomic_load_explicit(&p->open, memory_order_relaxed);
}

static inline bool tlc_cache_is_open(const tl_mempool_state* p, uint32_t number)
{
	return tlc_mempool_open(p) >> number % TL_MEMPOOL_CACHES & 1;
}

/* Locks or unlocks the caches in use among those of which there are bits. */
static inline void tlc_caches_lock(tl_mempool_state* p, uint32_t which)
{
	for (uint32_t i = 0; i < TL_MEMPOOL_CACHES; i++)
		if (tlc_mempool_open(p) & which & 1u << i) tlc_lock(&tlc_cache(p, i)->lock);
}

static inline void tlc_caches_unlock(tl_mempool_state* p, uint32_t which)
{
	for (uint32_t i = 0; i < TL_MEMPOOL_CACHES; i++)
		if (tlc_mempool_open(p) & which & 1u << i) tlc_unlock(&tlc_cache(p, i)->lock);
}

/* The most bytes that may have been in use at once since entries came or went. */
static inline uint64_t tlc_mempool_most(const tl_mempool_state* p)
{
	uint64_t used = p->total_allocated - p->total_freed;
	for (uint32_t i = 0; i < TL_MEMPOOL_CACHES; i++) used -= atomic_load_explicit(&p->least[i], memory_order_relaxed);
	return used;
}

/* Before the bytes of live blocks change in the tables. `locked` has bits of caches whose locks are held. */
static inline void tlc_mempool_note_peak(tl_mempool_state* p, uint32_t locked)
{
	if (p->total_allocated - p->total_freed <= p->peak || tlc_mempool_most(p) <= p->peak) return;
	tlc_caches_lock(p, ~locked);
	p->peak = tlc_mempool_most(p);
	for (uint32_t i = 0; i < TL_MEMPOOL_CACHES; i++)
		if (tlc_cache_is_open(p, i)) tlc_cache_note_least(p, tlc_cache(p, i));
	tlc_caches_unlock(p, ~locked);
}

/* Ends an entry; the link to its block. */
static inline uint32_t* tlc_cache_drop(tl_mempool_state* p, tl_mempool_cache* k, uint32_t i)
{
	uint32_t* link = tlc_chain_find(p, tlc_cache_address(k, i));
	tlc_blocks(p)[*link].right = 0;
	k->words[i] = 0;
	tlc_cache_set_address(k, i, 0);
	return link;
}

/* Gives a kept block to the tables. */
static inline void tlc_cache_evict(tl_mempool_state* p, tl_mempool_cache* k, uint32_t i)
{
	uint64_t bytes = tlc_cache_bytes(k->words[i]);
	_Atomic uint8_t* list = tlc_cache_list(k, tlc_cache_request(k->words[i]));
	uint32_t before = 0;
	for (uint32_t at = tlc_list_first(list); at != i + 1; at = k->next[at - 1]) before = at;
	tlc_list_link(k, list, before, k->next[i]);
	k->freed -= bytes;
	k->deallocations--;
	tlc_mempool_count_deallocation(p, bytes);
	tlc_block_vacate(p, tlc_cache_drop(p, k, i));
}

/* Enters a live block, if there is an entry where its address may be that is not held. */
static inline void tlc_cache_enter(tl_mempool_state* p, tl_mempool_cache* k, uint32_t record, uint64_t request)
{
	tl_mempool_block* b = &tlc_blocks(p)[record];
	uint32_t first = tlc_cache_set(b->address), at = TL_MEMPOOL_ENTRIES;
	for (uint32_t i = first; i < first + TL_MEMPOOL_WAYS && (at == TL_MEMPOOL_ENTRIES || k->words[at] != 0); i++)
		if (k->words[i] == 0 || k->words[i] & TL_MEMPOOL_KEPT) at = i;
	if (at == TL_MEMPOOL_ENTRIES) return;
	if (k->words[at] != 0) tlc_cache_evict(p, k, at);
	uint64_t bytes = tlc_block_bytes(b);
	tlc_cache_set_address(k, at, b->address);
	k->words[at] = bytes | (bytes - request) << TL_MEMPOOL_OVER_SHIFT;
	b->right = 1 + tlc_cache_number(p, k);
}

/* Opens a cache for a thread that met another one in the pool. One that was of no use takes longer. */
static inline void tlc_cache_wish(tl_mempool_state* p, uint32_t number)
{
	tl_mempool_cache* k = tlc_cache(p, number);
	if (tlc_cache_is_open(p, number) || k->waits++ < k->patience) return;
	tlc_lifo_flush(p);
	tlc_lifo_forget(p);
	tlc_lock(&k->lock);
	atomic_store_explicit(&k->shift, p->shift, memory_order_relaxed);
	k->worth = TL_MEMPOOL_WORTH;
	k->waits = 0;
	atomic_store_explicit(&k->handle, p->handle, memory_order_relaxed);
	tlc_unlock(&k->lock);
	atomic_store_explicit(&p->open, tlc_mempool_open(p) | 1u << number % TL_MEMPOOL_CACHES, memory_order_relaxed);
}

/* Gives what a cache keeps to the tables. Its lock is held, and the peak is noted. */
static inline void tlc_cache_close(tl_mempool_state* p, tl_mempool_cache* k)
{
	for (uint32_t i = 0; i < TL_MEMPOOL_ENTRIES; i++) {
		if (k->words[i] == 0) continue;
		bool kept = k->words[i] & TL_MEMPOOL_KEPT;
		uint32_t* link = tlc_cache_drop(p, k, i);
		if (kept) tlc_block_vacate(p, link);
	}
	p->total_allocated += k->allocated;
	p->total_freed += k->freed;
	p->allocations += k->allocations;
	p->deallocations += k->deallocations;
	k->allocated = k->freed = k->allocations = k->deallocations = 0;
	for (uint32_t i = 0; i < 1u << TL_MEMPOOL_LIST_BITS; i++)
		atomic_store_explicit(&k->lists[i], 0, memory_order_relaxed);
	tlc_cache_note_least(p, k);
	atomic_store_explicit(&k->handle, 0, memory_order_relaxed);
	uint32_t bit = 1u << tlc_cache_number(p, k);
	atomic_store_explicit(&p->open, tlc_mempool_open(p) & ~bit, memory_order_relaxed);
}

/* Gives all that threads keep to the tables: the pool is not shared any more. */
static inline void tlc_mempool_recall(tl_mempool_state* p)
{
	tlc_caches_lock(p, ~0u);
	tlc_mempool_note_peak(p, ~0u);
	for (uint32_t i = 0; i < TL_MEMPOOL_CACHES; i++) {
		if (!tlc_cache_is_open(p, i)) continue;
		tlc_cache_close(p, tlc_cache(p, i));
		tlc_unlock(&tlc_cache(p, i)->lock);
	}
}

/* Enters a block that the tables gave in the place of the cache, or closes the cache if that happens too often. */
static inline void tlc_cache_missed(tl_mempool_state* p, tl_mempool_cache* k, uint32_t record, uint64_t request)
{
	tlc_lock(&k->lock);
	if (k->worth == 0) {
		k->patience = k->patience < TL_MEMPOOL_PATIENCE ? 2 * k->patience + TL_MEMPOOL_WORTH : k->patience;
		tlc_mempool_note_peak(p, 1u << tlc_cache_number(p, k));
		tlc_cache_close(p, k);
	} else {
		k->worth--;
		tlc_cache_enter(p, k, record, request);
		tlc_cache_note_least(p, k);
	}
	tlc_unlock(&k->lock);
}

/* The address of a block of at least n bytes in a shared pool, which the thread's cache knows; 0: ask Go, and the
 * pool is not shared any more. */
static inline uint64_t tlc_mempool_take_shared(tl_mempool_state* p, uint32_t number, uint64_t n)
{
	uint64_t request = tlc_mempool_request(p, n);
	bool able = n - 1 < TL_MEMPOOL_BYTES >> 1 && tlc_record_at_hand(p);
	uint32_t record = able ? tlc_index_fit(p, request) : 0;
	if (TLC_UNLIKELY(record == 0)) {
		tlc_mempool_recall(p);
		return tlc_mempool_take_other(p, n);
	}
	tlc_mempool_note_peak(p, 0);
	tlc_block_occupy(p, record, request);
	tl_mempool_block* b = &tlc_blocks(p)[record];
	p->allocations++;
	p->total_allocated += tlc_block_bytes(b);
	if (tlc_cache_is_open(p, number)) tlc_cache_missed(p, tlc_cache(p, number), record, request);
	return b->address;
}

/* Takes a block of a shared pool back into the tables; false: no live block starts there, and nothing
 * has changed. */
static inline bool tlc_mempool_return_shared(tl_mempool_state* p, uint64_t address)
{
	uint32_t* link = tlc_chain_find(p, address);
	if (TLC_UNLIKELY(*link == 0)) return false;
	const tl_mempool_block* b = &tlc_blocks(p)[*link];
	uint64_t bytes = tlc_block_bytes(b);
	if (b->right == 0) {
		tlc_mempool_note_peak(p, 0);
	} else {
		tl_mempool_cache* k = tlc_cache(p, b->right - 1);
		tlc_lock(&k->lock);
		uint32_t i = tlc_cache_find(k, address);
		bool held = !(k->words[i] & TL_MEMPOOL_KEPT);
		if (held) {
			tlc_mempool_note_peak(p, 1u << tlc_cache_number(p, k));
			tlc_cache_drop(p, k, i);
			tlc_cache_note_least(p, k);
		}
		tlc_unlock(&k->lock);
		if (!held) return false;
	}
	tlc_block_vacate(p, link);
	tlc_mempool_count_deallocation(p, bytes);
	return true;
}

/* ---- the requests of a thread that meets others in the pool ---------------------------------- */

/* Locks a cache; false, nothing locked: the pool is not shared any more, or another thread has the lock. */
static inline bool tlc_cache_try_lock(tl_mempool_cache* k, uint64_t handle)
{
	if (!tlc_try_lock(&k->lock)) return false;
	if (TLC_LIKELY(tlc_cache_is_of(k, handle))) return true;
	tlc_unlock(&k->lock);
	return false;
}

/* Allocates by the cache of a thread of that number; 0: the cache cannot, see tlc_mempool_take_waiting. */
static inline uint64_t tlc_mempool_take_kept(tl_mempool_state* p, uint64_t handle, uint32_t number, uint64_t n)
{
	tl_mempool_cache* k = tlc_cache(p, number);
	if (!tlc_cache_may_take(k, n) || !tlc_cache_try_lock(k, handle)) return 0;
	uint64_t address = tlc_cache_take(p, k, n);
	tlc_unlock(&k->lock);
	return address;
}

/* Takes a block back, as above; false: see tlc_mempool_give_waiting. */
static inline bool tlc_mempool_give_kept(tl_mempool_state* p, uint64_t handle, uint32_t number, uint64_t address)
{
	tl_mempool_cache* k = tlc_cache(p, number);
	if (tlc_cache_find(k, address) == TL_MEMPOOL_ENTRIES || !tlc_cache_try_lock(k, handle)) return false;
	bool known = tlc_cache_keep(k, address);
	tlc_unlock(&k->lock);
	return known;
}
