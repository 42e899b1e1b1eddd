/* Registers any block (tlc_enter), and takes its granules from one that leaves the unit in which it starts
 * (tlc_uncover_wide).
 *
 * A block in one unit, or in two neighbours of a region that it does not fill, is near: one lock and one search find
 * all that it owns. In one region two of each do, there and in the unit of level 1 that the region is. Any other block
 * has an extent, whose covers are found and locked one by one. RATIONALE.md has what they cost. */
#include "extents.h"

/* Brings an entry back that was handed back (its float sinks) or held at zero (count 1); the
 * caller covers it. Without a counted reference it may be another block at the same address, so
 * it gets a new generation and the size that was measured. */
ALWAYS_INLINE uint32_t revive(tl_shard* s, tl_foreign_entry* e, uint64_t bytes)
{
	if (tlc_floats(e) == e->count) e->gen = tlc_next_gen(s);
	if (e->count == 0) {
		s->zeros--;
		e->count = 1;
		e->type_floats = 0;
	} else {
		s->handed_back--;
		e->type_floats -= TL_FOREIGN_FLOAT;
	}
	s->bytes += bytes;
	e->block = bytes | TLC_FOREIGN_AS_ADOPTED;
	return e->gen;
}

/* Makes, revives or replaces the entry; *was is the dead entry that is replaced. false, nothing changed: no memory is at
 * hand, or no record for the owner. Units may move. Only a block without a deleter is revived. */
ALWAYS_INLINE bool enter_entry(tlc_lookup* x, uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                               uint32_t* gen, tl_foreign_entry* was)
{
	if (x->entry != NULL && (as & TL_FOREIGN_ADOPTED)) {
		*gen = revive(x->shard, x->entry, bytes);
		return true;
	}
	tl_foreign_entry* e = tlc_has_record_for(x->shard, own) ? tlc_clear_entry(x, was) : NULL;
	if (e == NULL) return false;
	*gen = tlc_fill(x->shard, e, bytes, as);
	tlc_set_owner(x->shard, e, p, own);
	return true;
}

/* Waits for a shard that another thread has, without the lock that is held: with it that might never end. */
static void wait_without(tl_shard* held, tl_shard* busy)
{
	tlc_shard_unlock(held);
	tlc_shard_lock(busy);
	tlc_shard_unlock(busy);
}

/* ---- near blocks ----------------------------------------------------------------------- */

/* What a near block owns in the unit where it starts, and in the next one. */
typedef struct near_extent {
	uint64_t head, tail; /* tail 0: one unit alone; both 0: the block is not near */
	unsigned next;       /* the unit of tail */
} near_extent;

/* A block that fills one of two units is not near: it owns that unit at the next level. */
ALWAYS_INLINE near_extent near_extent_of(uintptr_t p, uint64_t bytes)
{
	uint64_t first = p >> 4, last = tlc_last(p, bytes), units = (last >> 6) - (first >> 6);
	if (units == 0) return (near_extent){.head = tlc_range(first & 63, last & 63)};
	if (units != 1 || (first & 63) == 0 || (last & 63) == 63 || (first ^ last) >> 12 != 0) return (near_extent){0};
	return (near_extent){.head = ~tlc_below(first & 63), .tail = tlc_range(0, last & 63), .next = (last >> 6) & 63};
}

/* Registers a near block in a shard that is locked. TLC_MISS, nothing changed: one of two units is
 * not in the list. To add it may move units or fail for want of memory, which enter_extent does. */
ALWAYS_INLINE int enter_near(tl_shard* s, near_extent b, uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                             bool above, uint32_t* gen, tl_foreign_entry* was)
{
	tlc_lookup x = tlc_look_up(s, tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4));
	int known = enter_known(x, as);
	if (known != TLC_MISS) return known;
	bool both = tlc_get(&x.cell->key) != 0 && (tlc_get(&x.cell->present) >> x.at.unit & 3) == 3;
	if (b.tail != 0 && !both) return TLC_MISS;
	tlc_granule next = {x.at.region, b.next, 0};
	tl_unit* u = b.tail != 0 ? tlc_listed_unit(x.cell, next) : NULL;
	if (above || is_taken(x.unit, b.head) || is_taken(u, b.tail)) return TLC_REFUSED;
	if (!enter_entry(&x, p, bytes, as, own, gen, was)) return TLC_SLOW;
	tlc_set(&x.unit->covers, b.head);
	if (b.tail == 0) return TLC_OK;
	if (tlc_vacant(u)) u = tlc_open_unit(s, x.cell, u, next);
	tlc_set(&u->covers, b.tail);
	return TLC_OK;
}

/* ---- blocks of a region ------------------------------------------------------------------- */

/* What a block that fills units of its region owns: granules of the unit where it starts and of that where it ends, and
 * those units, as granules of level 1. */
typedef struct region_extent {
	uint64_t head, tail, whole; /* whole 0: it does not fill any, or leaves its region */
	unsigned last;              /* the unit where it ends */
} region_extent;

ALWAYS_INLINE region_extent region_extent_of(uintptr_t p, uint64_t bytes)
{
	const uint64_t first = p >> 4, last = tlc_last(p, bytes);
	region_extent b = {.last = (unsigned)(last >> 6) & 63};
	if ((first & 63) != 0) b.head = ~tlc_below(first & 63);
	if ((last & 63) != 63) b.tail = tlc_range(0, last & 63);
	const unsigned from = ((unsigned)(first >> 6) & 63) + (b.head != 0), end = b.last + (b.tail == 0);
	if ((first ^ last) >> 12 == 0 && from < end) b.whole = tlc_range(from, end - 1);
	return b;
}

/* The unit of level 1 that a region is, and its shard. */
ALWAYS_INLINE tlc_granule unit_of_region(uintptr_t p) { return tlc_granule_of(TL_UNIT_LEVEL_0 + 1, p >> 10); }
ALWAYS_INLINE tl_shard* shard_of_region(uintptr_t p) { return &tlc_shards[tlc_shard_of_granule(1, p >> 10)]; }

/* Registers such a block; s and t are locked, the shards of the region and of its unit of
 * level 1. TLC_MISS, nothing changed: units are not in the lists, and memory may be missing. The units of a region and its
 * unit of level 1 may be new both, in one shard: then the cell that was found empty for one may be the other's by now. */
ALWAYS_INLINE int enter_region(tl_shard* s, tl_shard* t, const region_extent* b, uintptr_t p, uint64_t bytes,
                               uint64_t as, const tlc_owner* own, bool above, uint32_t* gen, tl_foreign_entry* was)
{
	tlc_lookup x = tlc_look_up(s, tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4));
	int known = enter_known(x, as);
	if (known != TLC_MISS) return known;
	const tlc_granule top = unit_of_region(p), end = {x.at.region, b->last, 0};
	tl_region* cell = tlc_cell(t, top.region);
	const tl_unit *upper = tlc_listed_unit(cell, top), *last = tlc_listed_unit(x.cell, end);
	if (above || is_taken(upper, tlc_range(x.at.unit, end.unit))) return TLC_REFUSED;
	if (is_taken(x.unit, b->head) || is_taken(last, b->tail)) return TLC_REFUSED;
	if (!units_are_free(x.cell, b->whole)) return TLC_REFUSED;
	if ((upper == NULL || last == NULL || x.listed == NULL) && !(has_room(s, 4) && has_room(t, 4))) return TLC_MISS;
	if (!enter_entry(&x, p, bytes, as, own, gen, was)) return TLC_SLOW;
	tlc_set(&x.unit->covers, b->head);
	if (b->tail != 0) cover_granules(s, x.cell, end, b->tail, 0);
	if (tlc_get(&cell->key) != top.region) cell = tlc_cell(t, top.region);
	cover_granules(t, cell, top, b->whole, 1);
	return TLC_OK;
}

ALWAYS_INLINE int enter_in_region(region_extent b, uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                                  uint32_t* gen, tl_foreign_entry* was)
{
	bool above = tlc_units_up(0) != 0 && tlc_covered_from(2, p);
	tl_shard *s = tlc_shard_at(p), *t = shard_of_region(p);
	tlc_shard_lock(s < t ? s : t);
	if (s != t) tlc_shard_lock(s < t ? t : s);
	int result = enter_region(s, t, &b, p, bytes, as, own, above, gen, was);
	if (s != t) tlc_shard_unlock(t);
	tlc_shard_unlock(s);
	return result;
}

/* tlc_uncover_wide of such a block. */
ALWAYS_INLINE tl_region* uncover_region(tl_shard* s, tl_region* cell, tl_unit* u, region_extent b, uintptr_t p)
{
	const tlc_granule top = unit_of_region(p), at = tlc_start(p);
	tl_shard* t = shard_of_region(p);
	if (t != s && TLC_UNLIKELY(!tlc_shard_try_lock(t))) {
		wait_without(s, t);
		return NULL;
	}
	tlc_clear(&u->covers, b.head);
	if (b.tail != 0) uncover_granules(s, cell, (tlc_granule){at.region, b.last, 0}, b.tail, 0);
	uncover_granules(t, tlc_cell(t, top.region), top, b.whole, 1);
	if (t == s) return tlc_cell(s, at.region);
	tlc_shard_unlock(t);
	return cell;
}

/* ---- blocks with an extent --------------------------------------------------------------- */

static __attribute__((noinline)) int enter_extent(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                                                  uint32_t* gen, tl_foreign_entry* was)
{
	extent b;
	tlc_lookup x;
	int result = extent_open(&b, &x, p, bytes, as);
	if (result == TLC_OK && !enter_entry(&x, p, bytes, as, own, gen, was)) result = TLC_SLOW;
	if (result == TLC_OK) extent_cover(&b);
	extent_unlock(&b, b.locks, NULL);
	return result;
}

/* false: tlc_uncover says so. */
static __attribute__((noinline)) bool uncover_extent(tl_shard* held, uintptr_t p, uint64_t bytes)
{
	extent b;
	extent_of(&b, p, bytes);
	tl_shard* busy = extent_lock(&b, held);
	if (busy != NULL) {
		wait_without(held, busy);
		return false;
	}
	extent_uncover(&b);
	extent_unlock(&b, b.locks, held);
	return true;
}

/* ---- any block -------------------------------------------------------------------------- */

static __attribute__((noinline)) int enter_wide(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                                                uint32_t* gen, tl_foreign_entry* was)
{
	const region_extent b = region_extent_of(p, bytes);
	int result = b.whole != 0 ? enter_in_region(b, p, bytes, as, own, gen, was) : TLC_MISS;
	return result != TLC_MISS ? result : enter_extent(p, bytes, as, own, gen, was);
}

ALWAYS_INLINE int enter(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own, uint32_t* gen,
                        tl_foreign_entry* was)
{
	if (TLC_UNLIKELY((p & 15) != 0)) return enter_extent(p, bytes, as, own, gen, was);
	near_extent b = near_extent_of(p, bytes);
	if (b.head == 0) return enter_wide(p, bytes, as, own, gen, was);
	bool above = is_inside_above(p, bytes);
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	int result = enter_near(s, b, p, bytes, as, own, above, gen, was);
	tlc_shard_unlock(s);
	return result != TLC_MISS ? result : enter_extent(p, bytes, as, own, gen, was);
}

/* Most blocks have no owner. */
int tlc_enter(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own, uint32_t* gen, tl_foreign_entry* was)
{
	return own == NULL ? enter(p, bytes, as, NULL, gen, was) : enter(p, bytes, as, own, gen, was);
}

/* tlc_uncover of a block that is not inside one unit. Returns its cell, which may have moved, or
 * NULL for false. */
tl_region* tlc_uncover_wide(tl_shard* s, tl_region* cell, tl_unit* u, uintptr_t p, uint64_t bytes)
{
	near_extent b = (p & 15) == 0 ? near_extent_of(p, bytes) : (near_extent){0};
	if (TLC_LIKELY(b.head != 0)) {
		tlc_clear(&u[0].covers, b.head);
		tlc_clear(&u[1].covers, b.tail);
		if (tlc_vacant(&u[1])) tlc_close_unit(s, cell);
		return cell;
	}
	const region_extent r = region_extent_of(p, bytes);
	if ((p & 15) == 0 && r.whole != 0) return uncover_region(s, cell, u, r, p);
	return uncover_extent(s, p, bytes) ? tlc_cell(s, tlc_start(p).region) : NULL;
}

int64_t tlc_registry_lacks(uintptr_t p, uint64_t bytes, uint32_t* units)
{
	extent b;
	extent_of(&b, p, bytes);
	*units = (uint32_t)b.n + 1;
	for (int i = 0; i < b.locks; i++) {
		tl_shard* s = &tlc_shards[b.shards[i]];
		tlc_shard_lock(s);
		const bool fits = has_room(s, *units);
		tlc_shard_unlock(s);
		if (!fits) return b.shards[i];
	}
	return -1;
}
