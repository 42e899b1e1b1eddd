/* What a block owns in the regions of all levels: covers, and the extent of a block, whose covers are found and locked
 * one by one. enter.c has the blocks that need it, shared.c those with several addresses. */
#pragma once

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

/* What a block owns of one region: granules of the unit where it begins and of that where it ends, and the units between.
 * In one unit it owns granules alone, even all of them. */
typedef struct cover {
	uint64_t region, head, tail, whole;
	unsigned first, last; /* the units of head and tail */
	uint32_t shard;
	tl_region* bucket;          /* where it was found */
	tl_unit *at_head, *at_tail; /* likewise, in use or vacant; NULL: not in the list */
} cover;

/* Granules first .. last of one region, `up` levels above 0: an even number. */
ALWAYS_INLINE cover cover_of(int up, uint64_t first, uint64_t last)
{
	cover x = {.region = tlc_granule_of(TL_UNIT_LEVEL_0 + up, first).region};
	x.first = (unsigned)(first >> 6) & 63;
	x.last = (unsigned)(last >> 6) & 63;
	if (x.first == x.last) {
		x.head = tlc_range(first & 63, last & 63);
		return x;
	}
	if ((first & 63) != 0) x.head = ~tlc_below(first & 63);
	if ((last & 63) != 63) x.tail = tlc_range(0, last & 63);
	x.whole = tlc_range(x.first, x.last);
	if (x.head != 0) x.whole ^= tlc_bit(x.first);
	if (x.tail != 0) x.whole ^= tlc_bit(x.last);
	return x;
}

/* Finds the unit of the tail; again after a unit was opened in the region. */
ALWAYS_INLINE void cover_find_tail(cover* x, tl_region* bucket)
{
	x->bucket = bucket;
	x->at_tail = x->tail != 0 ? tlc_listed_unit(bucket, (tlc_granule){x->region, x->last, 0}) : NULL;
}

static inline void cover_find(cover* x, tl_region* bucket)
{
	cover_find_tail(x, bucket);
	x->at_head = x->head != 0 ? tlc_listed_unit(bucket, (tlc_granule){x->region, x->first, 0}) : NULL;
}

static inline bool is_taken(const tl_unit* u, uint64_t bits) { return u != NULL && (tlc_get(&u->covers) & bits) != 0; }

/* Does no block own a granule of these units of a bucket? */
static inline bool units_are_free(const tl_region* r, uint64_t units)
{
	uint64_t present = tlc_get(&r->present);
	const tl_unit* list = tlc_units(tlc_get(&r->list));
	for (units &= present; units != 0; units &= units - 1)
		if (tlc_get(&list[tlc_rank(present, (unsigned)__builtin_ctzll(units))].covers) != 0) return false;
	return true;
}

/* Does no block own any of it? Granules of lower levels are not looked at: that would take as long as the block is large. */
ALWAYS_INLINE bool cover_is_free(const cover* x)
{
	const uint64_t owned = tlc_get(&x->bucket->whole), units = x->whole | tlc_bit(x->first) | tlc_bit(x->last);
	if (TLC_UNLIKELY(owned != 0) && (owned & units) != 0) return false;
	return !is_taken(x->at_head, x->head) && !is_taken(x->at_tail, x->tail) && units_are_free(x->bucket, x->whole);
}

ALWAYS_INLINE void cover_granules(tl_shard* s, const cover* x, tl_unit* u, unsigned unit, uint64_t bits)
{
	if (u == NULL || tlc_vacant(u)) u = tlc_open_unit(s, x->bucket, u, (tlc_granule){x->region, unit, 0});
	tlc_set(&u->covers, bits);
}

/* Gives it to a block; there is memory. */
ALWAYS_INLINE void cover_put(tl_shard* s, cover* x)
{
	if (x->head != 0) cover_granules(s, x, x->at_head, x->first, x->head);
	if (x->tail != 0 && TLC_UNLIKELY(x->head != 0 && x->at_head == NULL)) cover_find_tail(x, x->bucket);
	if (x->tail != 0) cover_granules(s, x, x->at_tail, x->last, x->tail);
	if (x->whole == 0) return;
	if (TLC_UNLIKELY(tlc_get(&x->bucket->key) == 0)) tlc_add_bucket(s, x->bucket, x->region);
	else if (s->idle == x->region) s->idle = 0;
	tlc_set(&x->bucket->whole, x->whole);
}

ALWAYS_INLINE void uncover_granules(tl_shard* s, const cover* x, tl_unit* u, uint64_t bits)
{
	tlc_clear(&u->covers, bits);
	tlc_close_unit(s, x->bucket, u);
}

/* Takes it from its block; tlc_keep_idle follows, unless something in the region is in use still. */
ALWAYS_INLINE void cover_take(tl_shard* s, const cover* x)
{
	if (x->head != 0) uncover_granules(s, x, x->at_head, x->head);
	if (x->tail != 0) uncover_granules(s, x, x->at_tail, x->tail);
	if (x->whole != 0) tlc_clear(&x->bucket->whole, x->whole);
}

/* ---- extents ---------------------------------------------------------------------------- */

/* Has a shard room and memory, should so many units be new, and an entry? */
static inline bool has_room(const tl_shard* s, uint32_t units)
{
	return s->used + units <= s->limit && s->chunk_end - s->chunk >= units * TL_UNIT_RESERVE + TL_ENTRY_RESERVE;
}

/* All that a block owns, and the shards to lock, ascending. The shard of its start is one. */
typedef struct extent {
	int n, locks;
	cover covers[TL_UNIT_LEVELS];
	uint32_t shards[TL_UNIT_LEVELS + 1];
} extent;

static inline void extent_add_shard(extent* b, uint32_t shard)
{
	int i;
	for (i = 0; i < b->locks; i++)
		if (b->shards[i] == shard) return;
	for (b->locks++; i > 0 && b->shards[i - 1] > shard; i--) b->shards[i] = b->shards[i - 1];
	b->shards[i] = shard;
}

static inline void extent_add(extent* b, int up, uint64_t first, uint64_t last)
{
	cover* x = &b->covers[b->n++];
	*x = cover_of(up, first, last);
	x->shard = (uint32_t)tlc_shard_of_granule(up, first);
	extent_add_shard(b, x->shard);
}

/* Cuts [p, p+bytes) into covers: what does not fill a region at either end, then the regions between as granules of the
 * level two above. */
static inline void extent_of(extent* b, uintptr_t p, uint64_t bytes)
{
	enum { REGION = 1 << TL_REGION_GRANULES_SHIFT };
	uint64_t first = tlc_first(p), end = tlc_last(p, bytes) + 1;
	b->n = b->locks = 0;
	extent_add_shard(b, (uint32_t)tlc_shard_of(p));
	for (int up = 0; first < end; up += 2) {
		if ((first ^ (end - 1)) / REGION == 0) {
			extent_add(b, up, first, end - 1);
			return;
		}
		if (first % REGION != 0) extent_add(b, up, first, first | (REGION - 1));
		if (end % REGION != 0) extent_add(b, up, end & ~(uint64_t)(REGION - 1), end - 1);
		first = (first + REGION - 1) / REGION;
		end /= REGION;
	}
}

/* How many units and buckets may be new, at most, with those of the start. */
static inline uint32_t extent_units(const extent* b)
{
	uint32_t units = (uint32_t)b->n + 1;
	for (int i = 0; i < b->n; i++) units += b->covers[i].head != 0 && b->covers[i].tail != 0;
	return units;
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

/* Has every shard room and memory, should all units be new? */
static inline bool extent_fits(const extent* b)
{
	const uint32_t units = extent_units(b);
	for (int i = 0; i < b->locks; i++)
		if (!has_room(&tlc_shards[b->shards[i]], units)) return false;
	return true;
}

/* Does no block own any of it? */
static inline bool extent_is_free(extent* b)
{
	for (int i = 0; i < b->n; i++) {
		cover* x = &b->covers[i];
		cover_find(x, tlc_bucket(&tlc_shards[x->shard], x->region));
		if (!cover_is_free(x)) return false;
	}
	return true;
}

/* Needs extent_fits. */
static inline void extent_put(extent* b)
{
	for (int i = 0; i < b->n; i++) {
		cover* x = &b->covers[i];
		tl_shard* s = &tlc_shards[x->shard];
		cover_find(x, tlc_bucket(s, x->region));
		cover_put(s, x);
	}
}

static inline void extent_take(extent* b)
{
	for (int i = 0; i < b->n; i++) {
		cover* x = &b->covers[i];
		tl_shard* s = &tlc_shards[x->shard];
		cover_find(x, tlc_bucket(s, x->region));
		cover_take(s, x);
		tlc_keep_idle(s, x->bucket);
	}
}

/* Does [p, p+bytes) begin inside a block that the search under the locks of its own granules does not find, or end
 * inside one that owns whole regions there? No lock may be held. */
static inline bool is_inside(uintptr_t p, uint64_t bytes)
{
	if ((p & 15) != 0 && tlc_inside_between(p)) return true;
	const uint64_t first = tlc_first(p), last = tlc_last(p, bytes);
	return first <= last && (tlc_covered_above(first << 4) || tlc_covered_above(last << 4));
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
	if (above || tlc_is_owned(*x) || !extent_is_free(b)) return TLC_REFUSED;
	return extent_fits(b) ? TLC_OK : TLC_SLOW;
}
