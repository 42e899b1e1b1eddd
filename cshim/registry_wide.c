/* Blocks that leave the unit in which they start: two neighbours under one lock, any other
 * as a span of pieces. See registry_cells.h for what they own. */
#include "registry.h"

/* The unit and entry of p in a shard that is locked and has room; NULL when new. */
static tlc_spot spot_of(uintptr_t p)
{
	tlc_spot x = {.shard = &tlc_shards[tlc_shard_of(p)], .at = tlc_start(p)};
	x.cell = tlc_cell(x.shard, x.at.region);
	x.unit = tlc_find_in(x.cell, x.at);
	if (x.unit != NULL && tlc_has(&x.unit->starts, x.at.bit)) x.entry = tlc_entry(x.unit, x.at.bit);
	return x;
}

/* What entering a block comes to where its address is known already; TLC_MISS: it may be entered. */
static int enter_known(tlc_spot x, uint64_t as, uint32_t* gen)
{
	if (x.entry == NULL) return TLC_MISS;
	if (!(as & TL_FOREIGN_ADOPTED)) return TLC_SLOW; /* only Go gives an entry another owner */
	if (!tlc_is_live(x.entry)) return tlc_is_revivable(x.entry) ? TLC_MISS : TLC_STALE;
	*gen = tlc_adopt_known(x.shard, x.entry, 0);
	return TLC_OK;
}

/* Gives the block its entry, new or revived. false, nothing changed: no memory at hand. Units may move. */
static bool enter_entry(tlc_spot x, uint64_t bytes, uint64_t as, uint32_t* gen)
{
	if (x.entry != NULL) {
		*gen = tlc_adopt_known(x.shard, x.entry, bytes);
		return true;
	}
	tl_unit* u = x.unit != NULL ? x.unit : tlc_open_unit(x.shard, x.cell, x.at);
	tl_foreign_entry* e = u != NULL ? tlc_insert(x.shard, u, x.at.bit) : NULL;
	if (e != NULL) *gen = tlc_fill(x.shard, e, bytes, as);
	return e != NULL;
}

/* ---- two neighbouring units ------------------------------------------------------------
 *
 * Both are in one cell, so that one lock and one search do, and beside each other in its list.
 */

/* Where a block that straddles ends, and what it owns in either unit. */
static tlc_place tail_of(uintptr_t p, uint64_t bytes) { return tlc_place_of(TL_UNIT_LEVEL_0, tlc_last(p, bytes)); }
static uint64_t head_bits(tlc_place start) { return ~tlc_below(start.bit); }
static uint64_t tail_bits(tlc_place tail) { return tlc_range(0, tail.bit); }

/* The unit of a place, in use or vacant, when the next one is in the list too; else NULL. */
static tl_unit* both_units(const tl_region* cell, tlc_place at)
{
	uint64_t present = tlc_get(&cell->present);
	if (tlc_get(&cell->key) == 0 || (present >> at.unit & 3) != 3) return NULL;
	return tlc_units(tlc_get(&cell->list)) + tlc_rank(present, at.unit);
}

/* Units of the list that were vacant are in use. */
static void count_opened(tl_shard* s, tl_region* cell, unsigned units)
{
	if (units == 0) return;
	tlc_put(&cell->list, tlc_get(&cell->list) - units * TL_REGION_VACANT);
	s->units += units;
	if (s->idle == tlc_get(&cell->key)) s->idle = 0;
}

/* TLC_MISS, nothing changed: a unit has to be made, as for any span. */
static int enter_straddling(uintptr_t p, uint64_t bytes, uint64_t as, bool above, uint32_t* gen)
{
	tlc_spot x = spot_of(p);
	int known = enter_known(x, as, gen);
	if (known != TLC_MISS) return known;
	tl_unit* u = both_units(x.cell, x.at);
	if (u == NULL) return TLC_MISS;
	tlc_place tail = tail_of(p, bytes);
	uint64_t covers = tlc_get(&u[0].covers), next = tlc_get(&u[1].covers);
	if (above || (covers & head_bits(x.at)) || (next & tail_bits(tail))) return TLC_REFUSED;
	unsigned vacant = (unsigned)tlc_vacant(&u[0]) + tlc_vacant(&u[1]);
	x.unit = u;
	if (!enter_entry(x, bytes, as, gen)) return TLC_SLOW; /* has entries: was not vacant */
	tlc_put(&u[0].covers, covers | head_bits(x.at));
	tlc_put(&u[1].covers, next | tail_bits(tail));
	count_opened(x.shard, x.cell, vacant);
	return TLC_OK;
}

/* The unit of the start keeps its entry. */
static void uncover_straddling(tl_shard* s, tl_region* cell, tl_unit* u, uintptr_t p, uint64_t bytes)
{
	tlc_clear(&u[0].covers, head_bits(tlc_start(p)));
	tlc_clear(&u[1].covers, tail_bits(tail_of(p, bytes)));
	if (tlc_vacant(&u[1])) tlc_close_unit(s, cell);
}

/* ---- blocks that own granules of several units -------------------------------------- */

/* The part of a block in one unit. At level 1 its granules are units of the region `below`. */
typedef struct piece {
	tlc_place at;
	uint64_t bits, below;
	uint32_t shard, shard_below;
	int up;
} piece;

/* A block: its pieces, and the shards to lock, ascending. */
typedef struct span {
	int pieces, shards;
	piece piece[2 * TL_UNIT_LEVELS];
	uint32_t shard[2 * TL_UNIT_LEVELS + 3];
} span;

static void span_add_shard(span* b, uint32_t shard)
{
	int i;
	for (i = 0; i < b->shards; i++)
		if (b->shard[i] == shard) return;
	for (b->shards++; i > 0 && b->shard[i - 1] > shard; i--) b->shard[i] = b->shard[i - 1];
	b->shard[i] = shard;
}

/* Granules first .. last of one unit. */
static void span_add(span* b, int up, uint64_t first, uint64_t last)
{
	piece* x = &b->piece[b->pieces++];
	*x = (piece){.at = tlc_place_of(TL_UNIT_LEVEL_0 + up, first), .bits = tlc_range(first & 63, last & 63), .up = up};
	x->shard = (uint32_t)tlc_shard_of_place(up, first);
	span_add_shard(b, x->shard);
	if (up != 1) return;
	x->below = tlc_place_of(TL_UNIT_LEVEL_0, first << 6).region;
	x->shard_below = (uint32_t)tlc_shard_of_place(0, first << 6);
	span_add_shard(b, x->shard_below);
}

/* Cuts [p, p+bytes) into pieces: what does not fill a unit at either end, then the
 * units between as granules of the next level. */
static void span_of(span* b, uintptr_t p, uint64_t bytes)
{
	uint64_t first = tlc_first(p), end = tlc_last(p, bytes) + 1;
	b->pieces = b->shards = 0;
	span_add_shard(b, (uint32_t)tlc_shard_of(p));
	for (int up = 0; first < end; up++) {
		if ((first ^ (end - 1)) >> 6 == 0) {
			span_add(b, up, first, end - 1);
			return;
		}
		if (first & 63) span_add(b, up, first, first | 63);
		if (end & 63) span_add(b, up, end & ~63ull, end - 1);
		first = (first + 63) >> 6;
		end >>= 6;
	}
}

static void span_lock(const span* b)
{
	for (int i = 0; i < b->shards; i++) tlc_shard_lock(&tlc_shards[b->shard[i]]);
}

static void span_unlock(const span* b)
{
	for (int i = 0; i < b->shards; i++) tlc_shard_unlock(&tlc_shards[b->shard[i]]);
}

/* Takes the locks but that of `held`, if nobody has them. */
static bool span_try_lock(const span* b, const tl_shard* held)
{
	for (int i = 0; i < b->shards; i++) {
		tl_shard* s = &tlc_shards[b->shard[i]];
		if (s == held || tlc_shard_try_lock(s)) continue;
		while (i-- > 0)
			if (&tlc_shards[b->shard[i]] != held) tlc_shard_unlock(&tlc_shards[b->shard[i]]);
		return false;
	}
	return true;
}

static void span_unlock_others(const span* b, const tl_shard* held)
{
	for (int i = 0; i < b->shards; i++)
		if (&tlc_shards[b->shard[i]] != held) tlc_shard_unlock(&tlc_shards[b->shard[i]]);
}

/* Every shard has room and memory, should all pieces and the start be new in it. */
static bool span_fits(const span* b)
{
	uint32_t units = (uint32_t)b->pieces + 1;
	uint64_t bytes = units * TL_UNIT_RESERVE + TL_ENTRY_RESERVE;
	for (int i = 0; i < b->shards; i++) {
		const tl_shard* s = &tlc_shards[b->shard[i]];
		if (s->used + units > s->limit || s->chunk_end - s->chunk < bytes) return false;
	}
	return true;
}

/* Does no block own a granule of these units? */
static bool units_are_free(const tl_shard* s, uint64_t region, uint64_t units)
{
	const tl_region* r = tlc_cell(s, region);
	if (tlc_get(&r->key) == 0) return true;
	uint64_t present = tlc_get(&r->present);
	const tl_unit* list = tlc_units(tlc_get(&r->list));
	for (units &= present; units != 0; units &= units - 1)
		if (tlc_get(&list[tlc_rank(present, (unsigned)__builtin_ctzll(units))].covers) != 0) return false;
	return true;
}

/* Does nobody own a granule of the pieces? Of those that fill a unit of level 1 it is not
 * asked what is below: that would take as long as they are large. */
static bool span_is_free(const span* b)
{
	for (int i = 0; i < b->pieces; i++) {
		const piece* x = &b->piece[i];
		const tl_unit* u = tlc_find(&tlc_shards[x->shard], x->at);
		if (u != NULL && (tlc_get(&u->covers) & x->bits)) return false;
		if (x->up == 1 && !units_are_free(&tlc_shards[x->shard_below], x->below, x->bits)) return false;
	}
	return true;
}

/* A unit came (1) or went (-1). */
static void count_unit(int up, int change)
{
	tl_registry* r = (tl_registry*)tlc_shards - 1;
	if (up == 0) return;
	atomic_fetch_add_explicit(&r->units[up], (uint32_t)change, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->units[0], (uint32_t)change, memory_order_relaxed);
}

/* The caller has seen to it that it fits. */
static void span_cover(const span* b)
{
	for (int i = 0; i < b->pieces; i++) {
		const piece* x = &b->piece[i];
		tl_shard* s = &tlc_shards[x->shard];
		tl_region* cell = tlc_cell(s, x->at.region);
		tl_unit* u = tlc_find_in(cell, x->at);
		if (u == NULL) {
			u = tlc_open_unit(s, cell, x->at);
			count_unit(x->up, 1);
		}
		tlc_set(&u->covers, x->bits);
	}
}

static void span_uncover(const span* b)
{
	for (int i = 0; i < b->pieces; i++) {
		const piece* x = &b->piece[i];
		tl_shard* s = &tlc_shards[x->shard];
		tl_region* cell = tlc_cell(s, x->at.region);
		tl_unit* u = tlc_find_in(cell, x->at);
		tlc_clear(&u->covers, x->bits);
		if (!tlc_vacant(u)) continue;
		tlc_close_unit(s, cell);
		count_unit(x->up, -1);
	}
}

/* ---- entering and dropping them -------------------------------------------------------- */

static int enter_span(const span* b, uintptr_t p, uint64_t bytes, uint64_t as, bool above, uint32_t* gen)
{
	if (!span_fits(b)) return TLC_SLOW;
	tlc_spot x = spot_of(p);
	int known = enter_known(x, as, gen);
	if (known != TLC_MISS) return known;
	/* All granules of the block may be at higher levels; its start must be free at level 0 too. */
	bool inside = x.unit != NULL && tlc_has(&x.unit->covers, x.at.bit);
	if (above || inside || !span_is_free(b)) return TLC_REFUSED;
	if (!enter_entry(x, bytes, as, gen)) return TLC_SLOW;
	span_cover(b);
	return TLC_OK;
}

/* tlc_foreign_adopt, and by the flags in `as` tlc_foreign_insert, for a block that is not
 * inside one unit. */
int tlc_enter_wide(uintptr_t p, uint64_t bytes, uint64_t as, uint32_t* gen)
{
	if (bytes > (1ull << TL_FOREIGN_ADDRESS_BITS) - p) return TLC_SLOW; /* no block: Go says so */
	bool above = tlc_units_up(0) != 0 && (tlc_covered_above(p) || tlc_covered_above(tlc_last(p, bytes) << 4));
	int result = TLC_MISS;
	if (tlc_straddles(p, bytes)) {
		tl_shard* s = &tlc_shards[tlc_shard_of(p)];
		tlc_shard_lock(s);
		result = enter_straddling(p, bytes, as, above, gen);
		tlc_shard_unlock(s);
	}
	if (result != TLC_MISS) return result;
	span b;
	span_of(&b, p, bytes);
	span_lock(&b);
	result = enter_span(&b, p, bytes, as, above, gen);
	span_unlock(&b);
	return result;
}

/* tlc_uncover for a block that is not inside one unit. Returns its cell, which may have
 * moved; NULL, nothing changed: somebody holds another lock that it needs. */
tl_region* tlc_uncover_wide(tl_shard* s, tl_region* cell, tl_unit* u, uintptr_t p, uint64_t bytes)
{
	if (TLC_LIKELY(tlc_straddles(p, bytes))) {
		uncover_straddling(s, cell, u, p, bytes);
		return cell;
	}
	span b;
	span_of(&b, p, bytes);
	if (!span_try_lock(&b, s)) return NULL;
	span_uncover(&b);
	span_unlock_others(&b, s);
	return tlc_cell(s, tlc_start(p).region);
}

/* tlc_drop for such a block, where somebody was in the way: all its locks in order, then a
 * second look. `bytes` is what the entry said; that is repeated until it still does. */
int tlc_drop_wide(uintptr_t p, uint64_t bytes, int drop, uint32_t gen, uint8_t* kind)
{
	for (;;) {
		span b;
		span_of(&b, p, bytes);
		span_lock(&b);
		tlc_spot x = spot_of(p);
		int result = tlc_unknown(drop);
		uint64_t now = x.entry != NULL ? tlc_bytes(x.entry) : bytes;
		if (x.entry != NULL && now == bytes) {
			tlc_effect f = tlc_effect_of(x.entry, drop, gen);
			bool ends = tlc_ends_cover(x.entry, f);
			tlc_apply(x, f, kind);
			if (tlc_vacant(x.unit)) tlc_close_unit(x.shard, x.cell);
			if (ends) span_uncover(&b);
			result = f.result;
		}
		span_unlock(&b);
		if (now == bytes) return result;
		bytes = now;
	}
}
