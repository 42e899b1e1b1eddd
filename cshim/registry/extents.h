/* What a block owns in the units of all levels: covers, and the extent of a block, whose covers are found and locked one
 * by one. wide.c has the blocks that need it, shared.c those with several addresses. */
#ifndef TL_REGISTRY_EXTENTS_H
#define TL_REGISTRY_EXTENTS_H

#include "operations.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The result where the address has an entry already; TLC_MISS: the block may be registered. */
ALWAYS_INLINE int enter_known(tlc_lookup x, uint64_t as)
{
	if (x.entry == NULL) return TLC_MISS;
	if (tlc_is_occupied(x.entry)) return TLC_PRESENT;
	return !(as & TL_FOREIGN_ADOPTED) || tlc_is_revivable(x.entry) ? TLC_MISS : TLC_STALE;
}

/* ---- covers ---------------------------------------------------------------------------- */

static inline bool is_taken(const tl_unit* u, uint64_t bits) { return u != NULL && (tlc_get(&u->covers) & bits) != 0; }

/* Does no block own a granule of these units of a cell? */
static inline bool units_are_free(const tl_region* r, uint64_t units)
{
	if (tlc_get(&r->key) == 0) return true;
	uint64_t present = tlc_get(&r->present);
	const tl_unit* list = tlc_units(tlc_get(&r->list));
	for (units &= present; units != 0; units &= units - 1)
		if (tlc_get(&list[tlc_rank(present, (unsigned)__builtin_ctzll(units))].covers) != 0) return false;
	return true;
}

/* Has a shard room and memory, should so many units be new, and an entry? */
static inline bool has_room(const tl_shard* s, uint32_t units)
{
	return s->used + units <= s->limit && s->chunk_end - s->chunk >= units * TL_UNIT_RESERVE + TL_ENTRY_RESERVE;
}

/* Counts a unit that came (1) or went (-1). The sum and the number of level 1 lie side by side: one step changes both. */
typedef uint64_t __attribute__((may_alias)) both_numbers;
static inline void count_unit(int up, int change)
{
	tl_registry* r = (tl_registry*)tlc_shards - 1;
	if (up == 0) return;
	if (up == 1) {
		__atomic_fetch_add((both_numbers*)(void*)r->units, (uint64_t)change * 0x100000001u, __ATOMIC_RELAXED);
		return;
	}
	atomic_fetch_add_explicit(&r->units[up], (uint32_t)change, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->units[0], (uint32_t)change, memory_order_relaxed);
}

/* Covers granules of a unit, `up` levels above 0, for which there is memory. */
ALWAYS_INLINE void cover_granules(tl_shard* s, tl_region* cell, tlc_granule at, uint64_t bits, int up)
{
	tl_unit* u = tlc_listed_unit(cell, at);
	if (u == NULL || tlc_vacant(u)) {
		u = tlc_open_unit(s, cell, u, at);
		count_unit(up, 1);
	}
	tlc_set(&u->covers, bits);
}

/* Cells may move. */
ALWAYS_INLINE void uncover_granules(tl_shard* s, tl_region* cell, tlc_granule at, uint64_t bits, int up)
{
	tl_unit* u = tlc_listed_unit(cell, at);
	tlc_clear(&u->covers, bits);
	if (!tlc_vacant(u)) return;
	tlc_close_unit(s, cell);
	count_unit(up, -1);
}

/* ---- extents ---------------------------------------------------------------------------- */

/* What a block owns in one unit. At level 1 its granules are units of the region `below`. */
typedef struct cover {
	tlc_granule at;
	uint64_t bits, below;
	uint32_t shard, shard_below;
	int up;
} cover;

/* All that a block owns, and the shards to lock, ascending. The shard of its start is one. */
typedef struct extent {
	int n, locks;
	cover covers[2 * TL_UNIT_LEVELS];
	uint32_t shards[2 * TL_UNIT_LEVELS + 3];
} extent;

static inline void extent_add_shard(extent* b, uint32_t shard)
{
	int i;
	for (i = 0; i < b->locks; i++)
		if (b->shards[i] == shard) return;
	for (b->locks++; i > 0 && b->shards[i - 1] > shard; i--) b->shards[i] = b->shards[i - 1];
	b->shards[i] = shard;
}

/* Granules first .. last of one unit. */
static inline void extent_add(extent* b, int up, uint64_t first, uint64_t last)
{
	cover* x = &b->covers[b->n++];
	*x = (cover){.at = tlc_granule_of(TL_UNIT_LEVEL_0 + up, first), .bits = tlc_range(first & 63, last & 63), .up = up};
	x->shard = (uint32_t)tlc_shard_of_granule(up, first);
	extent_add_shard(b, x->shard);
	if (up != 1) return;
	x->below = tlc_granule_of(TL_UNIT_LEVEL_0, first << 6).region;
	x->shard_below = (uint32_t)tlc_shard_of_granule(0, first << 6);
	extent_add_shard(b, x->shard_below);
}

/* Cuts [p, p+bytes) into covers: what does not fill a unit at either end, then the units between
 * as granules of the next level. */
static inline void extent_of(extent* b, uintptr_t p, uint64_t bytes)
{
	uint64_t first = tlc_first(p), end = tlc_last(p, bytes) + 1;
	b->n = b->locks = 0;
	extent_add_shard(b, (uint32_t)tlc_shard_of(p));
	for (int up = 0; first < end; up++) {
		if ((first ^ (end - 1)) >> 6 == 0) {
			extent_add(b, up, first, end - 1);
			return;
		}
		if (first & 63) extent_add(b, up, first, first | 63);
		if (end & 63) extent_add(b, up, end & ~63ull, end - 1);
		first = (first + 63) >> 6;
		end >>= 6;
	}
}

static inline void extent_unlock(const extent* b, int n, const tl_shard* held)
{
	for (int i = 0; i < n; i++)
		if (&tlc_shards[b->shards[i]] != held) tlc_shard_unlock(&tlc_shards[b->shards[i]]);
}

/* Takes the locks in order. With one of them held the others are only tried: then the shard that
 * another thread has is returned, and none was taken. */
static inline tl_shard* extent_lock(const extent* b, const tl_shard* held)
{
	for (int i = 0; i < b->locks; i++) {
		tl_shard* s = &tlc_shards[b->shards[i]];
		if (held == NULL) tlc_shard_lock(s);
		else if (s != held && !tlc_shard_try_lock(s)) {
			extent_unlock(b, i, held);
			return s;
		}
	}
	return NULL;
}

/* Has every shard room and memory, should the units of all covers and of the start be new? */
static inline bool extent_fits(const extent* b)
{
	for (int i = 0; i < b->locks; i++)
		if (!has_room(&tlc_shards[b->shards[i]], (uint32_t)b->n + 1)) return false;
	return true;
}

/* Does no block own a granule of the covers? Below a granule of level 1 the units are looked at,
 * below those of higher levels nothing is: that would take as long as the block is large. */
static inline bool extent_is_free(const extent* b)
{
	for (int i = 0; i < b->n; i++) {
		const cover* x = &b->covers[i];
		if (is_taken(tlc_find(&tlc_shards[x->shard], x->at), x->bits)) return false;
		if (x->up == 1 && !units_are_free(tlc_cell(&tlc_shards[x->shard_below], x->below), x->bits)) return false;
	}
	return true;
}

/* Needs extent_fits. */
static inline void extent_cover(const extent* b)
{
	for (int i = 0; i < b->n; i++) {
		const cover* x = &b->covers[i];
		tl_shard* s = &tlc_shards[x->shard];
		cover_granules(s, tlc_cell(s, x->at.region), x->at, x->bits, x->up);
	}
}

static inline void extent_uncover(const extent* b)
{
	for (int i = 0; i < b->n; i++) {
		const cover* x = &b->covers[i];
		tl_shard* s = &tlc_shards[x->shard];
		uncover_granules(s, tlc_cell(s, x->at.region), x->at, x->bits, x->up);
	}
}

/* Does [p, p+bytes) begin or end inside a block that owns whole units there? No lock may be held. */
ALWAYS_INLINE bool is_inside_above(uintptr_t p, uint64_t bytes)
{
	uintptr_t last = tlc_last(p, bytes) << 4;
	return tlc_units_up(0) != 0 && (tlc_covered_above(p) || ((p ^ last) >> 10 != 0 && tlc_covered_above(last)));
}

/* Does [p, p+bytes) begin inside a block that the search under the locks of its own granules does not find, or end
 * inside one that owns whole units there? No lock may be held. */
static inline bool is_inside(uintptr_t p, uint64_t bytes)
{
	if ((p & 15) == 0) return is_inside_above(p, bytes);
	if (tlc_inside_between(p)) return true;
	const uint64_t first = tlc_first(p), last = tlc_last(p, bytes);
	return first <= last && tlc_units_up(0) != 0 && (tlc_covered_above(first << 4) || tlc_covered_above(last << 4));
}

/* Locks all that a new block owns, and looks at where it starts. TLC_OK: the block may be registered there. */
static inline int extent_open(extent* b, tlc_lookup* x, uintptr_t p, uint64_t bytes, uint64_t as)
{
	b->locks = 0;
	if (bytes > (1ull << TL_FOREIGN_ADDRESS_BITS) - p) return TLC_REFUSED;
	const bool above = is_inside(p, bytes);
	extent_of(b, p, bytes);
	extent_lock(b, NULL);
	*x = tlc_look_up(tlc_shard_at(p), tlc_start(p));
	const int known = enter_known(*x, as);
	if (known != TLC_MISS) return known;
	/* All covers may be at higher levels; the start must be free at level 0 too. */
	const bool inside = x->unit != NULL && tlc_has(&x->unit->covers, x->at.bit);
	if (above || inside || !extent_is_free(b)) return TLC_REFUSED;
	return extent_fits(b) ? TLC_OK : TLC_SLOW;
}

#endif
