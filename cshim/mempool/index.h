/* The free blocks of a memory pool in the order of (bytes, address). */
#pragma once

#include "mempool.h"

#include "../base/layout.h"

static inline uint64_t tlc_block_bytes(const tl_mempool_block* b) { return b->word & TL_MEMPOOL_BYTES; }
static inline bool tlc_block_is_free(const tl_mempool_block* b) { return b->word >> 63; }
static inline tl_mempool_block* tlc_blocks(const tl_mempool_state* p) { return (tl_mempool_block*)p->blocks; }
static inline tl_mempool_bins* tlc_bins(const tl_mempool_state* p) { return (tl_mempool_bins*)p->bins; }

/* The bin of a size in granules, at least 1. */
static inline uint32_t tlc_bin_of(uint64_t granules)
{
	uint32_t up = 63 - TL_MEMPOOL_SUBBIN_BITS - (uint32_t)__builtin_clzll(granules | TL_MEMPOOL_SUBBINS);
	return (up << TL_MEMPOOL_SUBBIN_BITS) + (uint32_t)(granules >> up);
}

static inline uint32_t tlc_bin_of_block(const tl_mempool_state* p, const tl_mempool_block* b)
{
	return tlc_bin_of(tlc_block_bytes(b) >> p->shift);
}

/* The first bin in use from `bin` on; UINT32_MAX when there is none. */
static inline uint32_t tlc_bin_next(const tl_mempool_bins* bins, uint32_t bin)
{
	uint32_t leaf = bin >> 6, node = bin >> 12;
	uint64_t word = bins->leaves[leaf] & ~0ull << (bin & 63);
	if (word == 0) {
		word = bins->nodes[node] & ~1ull << (leaf & 63);
		if (TLC_UNLIKELY(word == 0)) {
			word = bins->top & ~1ull << node;
			if (word == 0) return UINT32_MAX;
			node = (uint32_t)__builtin_ctzll(word);
			word = bins->nodes[node];
		}
		leaf = node << 6 | (uint32_t)__builtin_ctzll(word);
		word = bins->leaves[leaf];
	}
	return leaf << 6 | (uint32_t)__builtin_ctzll(word);
}

/* The bin of the largest blocks, of which there must be one. */
static inline uint32_t tlc_bin_last(const tl_mempool_bins* bins)
{
	uint32_t node = 63 - (uint32_t)__builtin_clzll(bins->top);
	uint32_t leaf = node << 6 | (63 - (uint32_t)__builtin_clzll(bins->nodes[node]));
	return leaf << 6 | (63 - (uint32_t)__builtin_clzll(bins->leaves[leaf]));
}

static inline void tlc_bin_set(tl_mempool_bins* bins, uint32_t bin)
{
	bins->leaves[bin >> 6] |= 1ull << (bin & 63);
	bins->nodes[bin >> 12] |= 1ull << (bin >> 6 & 63);
	bins->top |= 1ull << (bin >> 12);
}

static inline void tlc_bin_clear(tl_mempool_bins* bins, uint32_t bin)
{
	if ((bins->leaves[bin >> 6] &= ~(1ull << (bin & 63))) != 0) return;
	if ((bins->nodes[bin >> 12] &= ~(1ull << (bin >> 6 & 63))) != 0) return;
	bins->top &= ~(1ull << (bin >> 12));
}

/* A bijection, so that no two records have the same priority. */
static inline uint32_t tlc_priority(uint32_t record)
{
	uint32_t x = record * 0x9E3779B1u;
	x = (x ^ x >> 15) * 0x85EBCA77u;
	return x ^ x >> 13;
}

/* Whether a comes before b, which may be the same. The FREE bit and the tag of both are the same. */
static inline bool tlc_before(const tl_mempool_block* a, const tl_mempool_block* b)
{
	return a->word < b->word || (a->word == b->word && a->address < b->address);
}

/* Replaces the treap at *link by one of its two halves. */
static inline void tlc_treap_merge(tl_mempool_block* blocks, uint32_t* link, uint32_t left, uint32_t right)
{
	while (left != 0 && right != 0) {
		if (tlc_priority(left) > tlc_priority(right)) {
			*link = left;
			link = &blocks[left].right;
			left = *link;
		} else {
			*link = right;
			link = &blocks[right].left;
			right = *link;
		}
	}
	*link = left | right;
}

static inline void tlc_treap_split(tl_mempool_block* blocks, uint32_t i, tl_mempool_block* x)
{
	uint32_t *smaller = &x->left, *larger = &x->right;
	while (i != 0) {
		if (tlc_before(&blocks[i], x)) {
			*smaller = i;
			smaller = &blocks[i].right;
			i = *smaller;
		} else {
			*larger = i;
			larger = &blocks[i].left;
			i = *larger;
		}
	}
	*smaller = *larger = 0;
}

/* Makes a block with `bytes` and no tag a free one. */
static inline void tlc_index_insert(tl_mempool_state* p, uint32_t record, uint64_t bytes)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	tl_mempool_block* x = &blocks[record];
	x->word = bytes | TL_MEMPOOL_FREE;
	p->free_blocks++;
	uint32_t bin = tlc_bin_of(bytes >> p->shift);
	tl_mempool_bins* bins = tlc_bins(p);
	uint32_t* link = &bins->roots[bin];
	if (*link == 0) {
		x->left = x->right = 0;
		*link = record;
		tlc_bin_set(bins, bin);
		return;
	}
	uint32_t priority = tlc_priority(record);
	while (*link != 0 && tlc_priority(*link) > priority) {
		tl_mempool_block* y = &blocks[*link];
		link = tlc_before(y, x) ? &y->right : &y->left;
	}
	tlc_treap_split(blocks, *link, x);
	*link = record;
}

/* Takes the block at *link out of the treap of its bin. */
static inline void tlc_index_take(tl_mempool_state* p, uint32_t bin, uint32_t* link)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	tl_mempool_block* x = &blocks[*link];
	tl_mempool_bins* bins = tlc_bins(p);
	tlc_treap_merge(blocks, link, x->left, x->right);
	p->free_blocks--;
	if (bins->roots[bin] == 0) tlc_bin_clear(bins, bin);
}

static inline void tlc_index_remove(tl_mempool_state* p, uint32_t record)
{
	tl_mempool_block* blocks = tlc_blocks(p);
	tl_mempool_block* x = &blocks[record];
	uint32_t bin = tlc_bin_of_block(p, x);
	uint32_t* link = &tlc_bins(p)->roots[bin];
	while (*link != record) {
		tl_mempool_block* y = &blocks[*link];
		link = tlc_before(y, x) ? &y->right : &y->left;
	}
	tlc_index_take(p, bin, link);
}

/* The first block of at least `bytes` in a treap, by the link that leads to it; NULL. */
static inline uint32_t* tlc_treap_least(tl_mempool_block* blocks, uint32_t* link, uint64_t bytes)
{
	uint32_t* best = NULL;
	uint64_t word = bytes | TL_MEMPOOL_FREE;
	while (*link != 0) {
		tl_mempool_block* y = &blocks[*link];
		bool fits = y->word >= word;
		if (fits) best = link;
		link = fits ? &y->left : &y->right;
	}
	return best;
}

/* Removes the best fit from the index, the smallest block of at least `bytes`, and returns it; 0:
 * no block fits. */
static inline uint32_t tlc_index_fit(tl_mempool_state* p, uint64_t bytes)
{
	tl_mempool_bins* bins = tlc_bins(p);
	uint32_t bin = tlc_bin_of(bytes >> p->shift);
	for (;;) {
		bin = tlc_bin_next(bins, bin);
		if (bin == UINT32_MAX) return 0;
		uint32_t* link = tlc_treap_least(tlc_blocks(p), &bins->roots[bin], bytes);
		if (TLC_LIKELY(link != NULL)) {
			uint32_t record = *link;
			tlc_index_take(p, bin, link);
			return record;
		}
		bin++; /* its own bin has only smaller blocks */
	}
}
