/* The parts of the registry that are not inlined: waiting, blocks that span units,
 * reading without a lock, fork. See registry.h. */
#define _GNU_SOURCE
#include "registry.h"

#include <sched.h>

/* What tlc_shards points to before the library is attached: no table, limit 0, so
 * that lookups miss and adoption takes the slow door. */
static tl_region tlc_no_region;

static struct {
	tl_registry registry;
	tl_shard shard;
} tlc_nothing __attribute__((aligned(64))) = {.shard = {.capacity = 1, .table = (uintptr_t)&tlc_no_region}};

tl_shard* tlc_shards = &tlc_nothing.shard;
uint64_t tlc_shard_mask = 0;

_Static_assert(sizeof(tl_unit) == 40 && sizeof(tl_region) == 24, "what docs/registry.md says of memory");
_Static_assert(sizeof(tl_shard) % 64 == 0 && sizeof(tl_registry) == 64, "shards share no cache line");

void tlc_foreign_attach(uintptr_t shards, uint64_t mask)
{
	tlc_shards = (tl_shard*)shards;
	tlc_shard_mask = mask;
}

/* ---- locks ------------------------------------------------------------------- */

/* Takes a lock that somebody holds. Yields after 100 turns: the holder may wait for this processor. */
__attribute__((noinline)) void tlc_shard_wait(tl_shard* s)
{
	for (unsigned turn = 0;; turn++) {
		uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
		if (!(v & 1) && atomic_compare_exchange_weak_explicit(&s->lock, &v, v + 1, memory_order_acquire,
		                                                      memory_order_relaxed))
			return;
		if (turn < 100) tlc_spin();
		else sched_yield();
	}
}

/* For pthread_atfork: prepare takes all locks, parent and child release them. */
void tlc_foreign_lock_all(void)
{
	for (uint64_t i = 0; i <= tlc_shard_mask; i++) tlc_shard_lock(&tlc_shards[i]);
}

void tlc_foreign_unlock_all(void)
{
	for (uint64_t i = 0; i <= tlc_shard_mask; i++) tlc_shard_unlock(&tlc_shards[i]);
}

/* ---- reading without the lock -------------------------------------------------- */

enum { PEEK_TRIES = 32 };

/* The bits of a unit, without its lock: 1 found, 0 not there, -1 a writer was in the
 * way. Whatever was read is void unless the version is still the one before: table and
 * capacity are compared before either is used, and so is what a cell says of its list.
 * None of that memory is ever unmapped. */
static int peek_once(tl_shard* s, tlc_place at, uint64_t* starts, uint64_t* covers)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_acquire);
	if (v & 1) return -1;
	const tl_region* table = tlc_table(s);
	uint64_t n = tlc_capacity(s), k = 0;
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&s->lock, memory_order_relaxed) != v) return -1;
	uint64_t i = tlc_home(at.region, n);
	for (uint64_t probes = 0; probes < n; probes++) {
		k = tlc_get(&table[i].key);
		if (TLC_LIKELY(k == at.region) || k == 0) break;
		if (++i == n) i = 0;
	}
	uint64_t present = tlc_get(&table[i].present), list = tlc_get(&table[i].list);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&s->lock, memory_order_relaxed) != v) return -1;
	if (k != at.region || !(present >> at.unit & 1)) return 0;
	const tl_unit* u = tlc_units(list) + tlc_rank(present, at.unit);
	*starts = tlc_get(&u->starts);
	*covers = tlc_get(&u->covers);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&s->lock, memory_order_relaxed) == v ? 1 : -1;
}

/* peek with the lock, lest a busy shard starve it. The caller holds none. */
static __attribute__((noinline)) bool peek_locked(tl_shard* s, tlc_place at, uint64_t* starts, uint64_t* covers)
{
	tlc_shard_lock(s);
	const tl_unit* u = tlc_find(s, at);
	if (u != NULL) {
		*starts = tlc_get(&u->starts);
		*covers = tlc_get(&u->covers);
	}
	tlc_shard_unlock(s);
	return u != NULL;
}

/* peek_once until it succeeds. */
static inline bool peek(tl_shard* s, tlc_place at, uint64_t* starts, uint64_t* covers)
{
	for (int i = 0; i < PEEK_TRIES; i++) {
		int found = peek_once(s, at, starts, covers);
		if (TLC_LIKELY(found >= 0)) return found;
		tlc_spin();
	}
	return peek_locked(s, at, starts, covers);
}

static uint32_t units_up(int up);

/* A start that is owned: what was handed back or is held at zero owns nothing. Starts
 * between granules do not tell that, and are taken to be held. */
bool tlc_foreign_known(uintptr_t p)
{
	uint64_t starts, covers;
	tlc_place at = tlc_start(p);
	if (!peek(&tlc_shards[tlc_shard_of(p)], at, &starts, &covers)) return false;
	if (TLC_LIKELY(starts & covers & tlc_bit(at.bit))) return true;
	if (!(starts & tlc_bit(at.bit))) return false;
	return (p & 15) != 0 || (units_up(0) != 0 && tlc_covered_above(p));
}

/* ---- covers of all levels ------------------------------------------------------- */

/* Of a place of level TL_UNIT_0 + up, at that granule. */
static uint64_t shard_of_place(int up, uint64_t granule)
{
	if (up == 0) return tlc_shard_of(granule << 4);
	return (tlc_mix(tlc_place_of(TL_UNIT_0 + up, granule).region) >> 20) & tlc_shard_mask;
}

static bool covered_at(int up, uintptr_t p)
{
	uint64_t granule = (p >> 4) >> (6 * up), starts, covers;
	tlc_place at = tlc_place_of(TL_UNIT_0 + up, granule);
	return peek(&tlc_shards[shard_of_place(up, granule)], at, &starts, &covers) && (covers & tlc_bit(at.bit));
}

static uint32_t units_up(int up)
{
	const tl_registry* r = (const tl_registry*)tlc_shards - 1;
	return atomic_load_explicit(&r->units[up], memory_order_relaxed);
}

/* Is p inside a block so large that it owns whole units? Takes no lock. */
bool tlc_covered_above(uintptr_t p)
{
	for (int up = 1; up < TL_UNIT_LEVELS; up++)
		if (units_up(up) != 0 && covered_at(up, p)) return true;
	return false;
}

bool tlc_foreign_covered(uintptr_t p)
{
	return tlc_possible(p) && (covered_at(0, p) || (units_up(0) != 0 && tlc_covered_above(p)));
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
	int i = b->shards;
	while (i > 0 && b->shard[i - 1] > shard) i--;
	if (i > 0 && b->shard[i - 1] == shard) return;
	for (int j = b->shards++; j > i; j--) b->shard[j] = b->shard[j - 1];
	b->shard[i] = shard;
}

/* Granules first .. last of one unit. */
static void span_add(span* b, int up, uint64_t first, uint64_t last)
{
	piece* x = &b->piece[b->pieces++];
	*x = (piece){.at = tlc_place_of(TL_UNIT_0 + up, first), .bits = tlc_range(first & 63, last & 63), .up = up};
	x->shard = (uint32_t)shard_of_place(up, first);
	span_add_shard(b, x->shard);
	if (up != 1) return;
	x->below = tlc_place_of(TL_UNIT_0, first << 6).region;
	x->shard_below = (uint32_t)shard_of_place(0, first << 6);
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

/* Every shard has room and memory, should all pieces and the start be new in it. */
static bool span_fits(const span* b)
{
	uint32_t units = (uint32_t)b->pieces + 1;
	uint64_t bytes = units * TL_FOREIGN_UNIT_RESERVE + TL_FOREIGN_LIST_RESERVE;
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

/* ---- operations, cold edges ------------------------------------------------------- */

/* One more reference for an entry that is live: somebody else adopted it since the
 * caller looked. */
static uint32_t adopt_live(tl_foreign_entry* e)
{
	if (tlc_floats(e) != 0) e->type_floats -= TL_FOREIGN_FLOAT;
	else if (e->count != TL_FOREIGN_STICKY) e->count++;
	return e->gen;
}

/* Brings an entry back that was handed back (its float sinks) or held at zero (count
 * 1); the caller covers it. Without a counted reference it may be another block at
 * the same address, so it gets a new generation; the size is the one measured now. */
static uint32_t revive(tl_shard* s, tl_foreign_entry* e, uint64_t bytes)
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
	e->block = bytes | TL_FOREIGN_AS_ADOPTED;
	return e->gen;
}

/* Adopts what has an entry already, under the lock of s. */
uint32_t tlc_adopt_known(tl_shard* s, tl_foreign_entry* e, uint64_t bytes)
{
	return tlc_is_live(e) ? adopt_live(e) : revive(s, e, bytes);
}

/* The unit and entry of p in a shard that is locked and has room; NULL when new. */
static tlc_spot spot_of(uintptr_t p)
{
	tlc_spot x = {.shard = &tlc_shards[tlc_shard_of(p)], .at = tlc_start(p)};
	x.cell = tlc_cell(x.shard, x.at.region);
	x.unit = tlc_find_in(x.cell, x.at);
	if (x.unit != NULL && tlc_has(&x.unit->starts, x.at.bit)) x.entry = tlc_entry(x.unit, x.at.bit);
	return x;
}

/* A new entry for x.at; NULL, nothing changed: no memory at hand. */
static tl_foreign_entry* spot_insert(tlc_spot x)
{
	tl_unit* u = x.unit != NULL ? x.unit : tlc_open_unit(x.shard, x.cell, x.at);
	return u != NULL ? tlc_insert(x.shard, u, x.at.bit) : NULL;
}

static int enter_locked(const span* b, uintptr_t p, uint64_t bytes, uint64_t as, bool above, uint32_t* gen)
{
	if (!span_fits(b)) return TLC_SLOW;
	tlc_spot x = spot_of(p);
	if (x.entry != NULL && !(as & TL_FOREIGN_ADOPTED)) return TLC_SLOW; /* only Go gives an entry another owner */
	if (x.entry != NULL && tlc_is_live(x.entry)) {
		*gen = adopt_live(x.entry);
		return TLC_OK;
	}
	if (x.entry != NULL && !tlc_is_revivable(x.entry)) return TLC_STALE;
	/* All granules of the block may be at higher levels; its start must be free at level 0 too. */
	bool inside = x.unit != NULL && tlc_has(&x.unit->covers, x.at.bit);
	if (above || inside || !span_is_free(b)) return TLC_REFUSED;
	if (x.entry != NULL) {
		*gen = revive(x.shard, x.entry, bytes);
	} else {
		tl_foreign_entry* e = spot_insert(x);
		if (e == NULL) return TLC_SLOW;
		*gen = tlc_fill(x.shard, e, bytes, as);
	}
	span_cover(b);
	return TLC_OK;
}

/* tlc_foreign_adopt, and by the flags in `as` tlc_foreign_insert, for a block that is not
 * inside one unit. */
int tlc_enter_wide(uintptr_t p, uint64_t bytes, uint64_t as, uint32_t* gen)
{
	if (bytes > (1ull << TL_FOREIGN_ADDRESS_BITS) - p) return TLC_SLOW; /* no block: Go says so */
	bool above = units_up(0) != 0 && (tlc_covered_above(p) || tlc_covered_above(tlc_last(p, bytes) << 4));
	span b;
	span_of(&b, p, bytes);
	span_lock(&b);
	int result = enter_locked(&b, p, bytes, as, above, gen);
	span_unlock(&b);
	return result;
}

/* tlc_drop for a block that is not inside one unit: all its locks, then a second
 * look. `bytes` is what the entry said; that is repeated until it still does. */
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

int tlc_foreign_make_immortal(uintptr_t p)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	int result = tlc_is_live(x.entry) ? TLC_OK : TLC_STALE;
	if (result == TLC_OK) x.entry->count = TL_FOREIGN_STICKY;
	tlc_shard_unlock(x.shard);
	return result;
}

uint32_t tlc_foreign_type(uintptr_t p)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return 0;
	uint32_t type = tlc_is_live(x.entry) ? x.entry->type_floats & (TL_FOREIGN_FLOAT - 1) : 0;
	tlc_shard_unlock(x.shard);
	return type;
}

int64_t tlc_foreign_count(uintptr_t p)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return -1;
	int64_t count = x.entry->count;
	tlc_shard_unlock(x.shard);
	return count;
}
