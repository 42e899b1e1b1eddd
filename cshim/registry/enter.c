/* Registers any block (tlc_enter), and takes its granules from one that leaves the unit in which it starts
 * (tlc_uncover_wide).
 *
 * A block in one region is near: one lock and one search find all that it owns. Any other block has an extent, whose
 * covers are found and locked one by one. RATIONALE.md has what they cost. */
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

ALWAYS_INLINE bool is_near(uintptr_t p, uint64_t bytes)
{
	return (p & 15) == 0 && ((p >> 4) ^ tlc_last(p, bytes)) >> TL_REGION_GRANULES_SHIFT == 0;
}

/* In two neighbouring units that it does not fill? So are most near blocks, and both units are beside each other in the
 * list. */
ALWAYS_INLINE bool is_in_two(uintptr_t p, uint64_t bytes)
{
	const uint64_t first = p >> 4, last = tlc_last(p, bytes);
	return (last >> 6) - (first >> 6) == 1 && (first & 63) != 0 && (last & 63) != 63;
}

ALWAYS_INLINE cover near_cover_of(bool in_two, uintptr_t p, uint64_t bytes)
{
	const uint64_t first = p >> 4, last = tlc_last(p, bytes);
	if (!in_two) return cover_of(0, first, last);
	return (cover){.region = tlc_granule_of(TL_UNIT_LEVEL_0, first).region,
	               .head = ~tlc_below(first & 63),
	               .tail = tlc_range(0, last & 63),
	               .first = (unsigned)(first >> 6) & 63,
	               .last = (unsigned)(last >> 6) & 63};
}

/* The unit of its tail; u is that of its head. Of two, NULL also where u is not in the list. */
ALWAYS_INLINE void find_tail(bool in_two, cover* b, tl_region* bucket, tl_unit* u)
{
	b->bucket = bucket;
	b->at_tail = NULL;
	if (!in_two) cover_find_tail(b, bucket);
	else if (TLC_LIKELY((tlc_get(&bucket->present) >> b->first & 3) == 3)) {
		if (u == NULL) __builtin_unreachable();
		b->at_tail = u + 1;
	}
}

/* Registers a near block in a shard that is locked. TLC_MISS, nothing changed: units are not in the list, and memory may
 * be missing. */
ALWAYS_INLINE int enter_near(bool in_two, tl_shard* s, uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                             bool above, uint32_t* gen, tl_foreign_entry* was)
{
	cover b = near_cover_of(in_two, p, bytes);
	tlc_lookup x = tlc_look_up(s, tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4));
	const int known = enter_known(x, as);
	if (known != TLC_MISS) return known;
	b.at_head = x.listed;
	find_tail(in_two, &b, x.bucket, x.listed);
	if (TLC_UNLIKELY(in_two && b.at_tail == NULL)) return TLC_MISS;
	if (above || !cover_is_free(&b)) return TLC_REFUSED;
	const bool listed = x.listed != NULL && (b.tail == 0 || b.at_tail != NULL);
	if (TLC_UNLIKELY(!listed) && !has_room(s, 3)) return TLC_MISS;
	if (!enter_entry(&x, p, bytes, as, own, gen, was)) return TLC_SLOW;
	if (TLC_UNLIKELY(!listed)) cover_find_tail(&b, x.bucket);
	tlc_set(&x.unit->covers, b.head); /* its entry keeps unit and bucket in use */
	if (b.tail != 0) cover_granules(s, &b, b.at_tail, b.last, b.tail);
	if (b.whole != 0) tlc_set(&x.bucket->whole, b.whole);
	return TLC_OK;
}

ALWAYS_INLINE void uncover_near(bool in_two, tl_shard* s, tl_region* bucket, tl_unit* u, uintptr_t p, uint64_t bytes)
{
	cover b = near_cover_of(in_two, p, bytes);
	find_tail(in_two, &b, bucket, u);
	tlc_clear(&u->covers, b.head);
	if (b.tail != 0) uncover_granules(s, &b, b.at_tail, b.tail);
	if (b.whole != 0) tlc_clear(&bucket->whole, b.whole);
}

/* ---- blocks with an extent --------------------------------------------------------------- */

static __attribute__((noinline)) int enter_extent(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own,
                                                  uint32_t* gen, tl_foreign_entry* was)
{
	extent b;
	tlc_lookup x;
	int result = extent_open(&b, &x, p, bytes, as);
	if (result == TLC_OK && !enter_entry(&x, p, bytes, as, own, gen, was)) result = TLC_SLOW;
	if (result == TLC_OK) extent_put(&b);
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
	extent_take(&b);
	extent_unlock(&b, b.locks, held);
	return true;
}

/* ---- any block -------------------------------------------------------------------------- */

ALWAYS_INLINE int enter(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own, uint32_t* gen,
                        tl_foreign_entry* was)
{
	if (TLC_UNLIKELY(!is_near(p, bytes))) return enter_extent(p, bytes, as, own, gen, was);
	const bool above = tlc_covered_above(p);
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	const int result = TLC_LIKELY(is_in_two(p, bytes)) ? enter_near(true, s, p, bytes, as, own, above, gen, was)
	                                                   : enter_near(false, s, p, bytes, as, own, above, gen, was);
	tlc_shard_unlock(s);
	return result != TLC_MISS ? result : enter_extent(p, bytes, as, own, gen, was);
}

/* Two copies of enter: most blocks have no owner, and where that is a constant the compiler leaves the record out. */
int tlc_enter(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own, uint32_t* gen, tl_foreign_entry* was)
{
	return own == NULL ? enter(p, bytes, as, NULL, gen, was) : enter(p, bytes, as, own, gen, was);
}

/* tlc_uncover of a block that is not inside one unit. Returns its bucket, which may have moved, or NULL for false. The unit
 * of its entry is in use, so the bucket of a near block stays. */
tl_region* tlc_uncover_wide(tl_shard* s, tl_region* bucket, tl_unit* u, uintptr_t p, uint64_t bytes)
{
	if (TLC_UNLIKELY(!is_near(p, bytes)))
		return uncover_extent(s, p, bytes) ? tlc_bucket(s, tlc_start(p).region) : NULL;
	if (TLC_LIKELY(is_in_two(p, bytes))) uncover_near(true, s, bucket, u, p, bytes);
	else uncover_near(false, s, bucket, u, p, bytes);
	return bucket;
}

int64_t tlc_registry_lacks(uintptr_t p, uint64_t bytes, uint32_t* units)
{
	extent b;
	extent_of(&b, p, bytes);
	*units = extent_units(&b);
	for (int i = 0; i < b.locks; i++) {
		tl_shard* s = &tlc_shards[b.shards[i]];
		tlc_shard_lock(s);
		const bool fits = has_room(s, *units);
		tlc_shard_unlock(s);
		if (!fits) return b.shards[i];
	}
	return -1;
}
