/* Slabs of cells. A bitmap tells which of their slots are free, so nobody touches the records. It lies in the first slots,
 * which are retired. No word of it before free_head has a bit.
 *
 * A program may overwrite the bitmap, as no list of objects. Then one of its cells may lie in another, and in no other memory:
 * bits in front of the first cell and behind the last one are passed over, and slots whose bits are gone are lost. */
#include "parts.h"

#include <string.h>

/* The bit of slot s is bit s % 64 of word s / 64. */
static _Atomic uint64_t* bits_of(const tl_heap* h, uint32_t first) { return (_Atomic uint64_t*)address_of(h, first); }

static uint32_t words_of(const tl_class_info* k) { return (k->slots + 63) / 64; }

uint32_t tlc_before_cells(const tl_class_info* k)
{
	const uint32_t bytes = words_of(k) * (uint32_t)sizeof(uint64_t) + (uint32_t)sizeof(tl_cell_head);
	return (bytes + k->size - 1) / k->size;
}

void tlc_begin_cells(tl_heap* h, uint32_t first)
{
	memset((void*)address_of(h, first), 0, words_of(&h->classes[h->metas[first].size_class]) * sizeof(uint64_t));
}

/* The bits of a word that slots have which are handed out. The first word has all of the retired ones, which are 33 at most. */
static uint64_t slots_of(const tl_span_meta* m, const tl_class_info* k, uint32_t word)
{
	const uint64_t bits = k->slots - word * 64 < 64 ? (1ull << k->slots % 64) - 1 : ~0ull;
	return word == 0 ? bits & ~0ull << m->retired : bits;
}

uint32_t tlc_take_cells(tl_heap* h, uint32_t first, tl_entry* to, uint32_t want)
{
	tl_span_meta* m = &h->metas[first];
	const tl_class_info* k = &h->classes[m->size_class];
	const uintptr_t base = address_of(h, first);
	const uint32_t words = words_of(k);
	_Atomic uint64_t* bits = bits_of(h, first);
	const uint32_t size = k->size, size_class = m->size_class, most = min(want, m->free_count);
	uint32_t n = 0, word = m->free_head;
	for (; n < most && word < words; word++) {
		uint64_t left = LOAD(bits[word]) & slots_of(m, k, word);
		for (; n < most && left != 0; left &= left - 1, n++)
			*--to = (tl_entry){base + (word * 64 + (uint32_t)__builtin_ctzll(left)) * size, 0, size_class};
		STORE(bits[word], left);
		if (left != 0) break;
	}
	m->free_head = (uint16_t)word;
	m->free_count = word < words ? (uint16_t)(m->free_count - n) : 0;
	const uint32_t fresh = m->fresh, end = fresh + min(want - n, k->slots - fresh);
	const bool is_zero = m->dirty == 0;
	for (uint32_t slot = fresh; slot < end; slot++, n++) {
		const uintptr_t cell = base + slot * size;
		*--to = (tl_entry){cell, 0, size_class};
		if (!is_zero) STORE(((tl_cell_head*)cell - 1)->count, 0);
	}
	__atomic_store_n(&m->fresh, (uint16_t)end, __ATOMIC_RELEASE); /* who looks for a cell reads no head behind it */
	return n;
}

/* As put of slabs.c. */
static inline uint32_t put(tl_heap* h, tl_depot* d, const tl_class_info* k, const tl_entry* from, uint32_t n)
{
	const uint32_t first = span_at(h, from->object);
	const uintptr_t base = address_of(h, first);
	const uint64_t reciprocal = k->reciprocal;
	tl_span_meta* m = &h->metas[first];
	_Atomic uint64_t* bits = bits_of(h, first);
	const bool none = m->free_count == 0;
	uint32_t i = 0, lowest = none ? UINT32_MAX : m->free_head;
	if (TLC_UNLIKELY(m->list == TL_SLAB_COLD)) delist(h, d, first);
	if (TLC_UNLIKELY(m->list == TL_SLAB_COLD || (none && m->fresh == k->slots && m->list == TL_SLAB_PARTIAL)))
		enlist(h, d, first, TL_SLAB_PARTIAL);
	uintptr_t at = from->object - base;
	do {
		const uint32_t slot = (uint32_t)((unsigned __int128)at * reciprocal >> 64), word = slot / 64;
		STORE(bits[word], LOAD(bits[word]) | 1ull << slot % 64);
		lowest = word < lowest ? word : lowest;
	} while (++i < n && (at = from[i].object - base) < TL_SPAN_BYTES);
	m->free_head = (uint16_t)lowest;
	m->free_count = (uint16_t)(m->free_count + i);
	m->epoch = LOAD(h->clock);
	if (TLC_UNLIKELY(used(m) == 0)) tlc_settle_slab(h, d, m->size_class, first);
	return i;
}

void tlc_put_cells(tl_heap* h, uint32_t size_class, const tl_entry* from, uint32_t n)
{
	for (uint32_t i = 0; i < n;) i += put(h, &h->depots[size_class], &h->classes[size_class], from + i, n - i);
}
