/* The parts of the registry that are not inlined: waiting, reading without a lock, fork.
 * See registry.h; blocks that leave their unit: registry_wide.c. */
#include "registry.h"

/* What tlc_shards points to before the library is attached: no table, limit 0, so
 * that lookups miss and adoption takes the slow path. */
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

/* Takes a lock that somebody holds. */
__attribute__((noinline)) void tlc_shard_wait(tl_shard* s)
{
	for (unsigned turn = 0;; turn++) {
		uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
		if (!(v & 1) &&
		    atomic_compare_exchange_weak_explicit(&s->lock, &v, v + 1, memory_order_acquire, memory_order_relaxed))
			return;
		tlc_wait(turn);
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
static inline __attribute__((always_inline)) int peek_once(tl_shard* s, tlc_place at, uint64_t* starts,
                                                           uint64_t* covers)
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

/* peek_once again, until it succeeds. */
static __attribute__((noinline)) bool peek_again(tl_shard* s, tlc_place at, uint64_t* starts, uint64_t* covers)
{
	for (unsigned i = 1; i < PEEK_TRIES; i++) {
		tlc_wait(i);
		int found = peek_once(s, at, starts, covers);
		if (found >= 0) return found;
	}
	return peek_locked(s, at, starts, covers);
}

static inline __attribute__((always_inline)) bool peek(tl_shard* s, tlc_place at, uint64_t* starts, uint64_t* covers)
{
	uint64_t in[2] = {0, 0}; /* lest the others lose their registers to an address */
	int found = peek_once(s, at, starts, covers);
	if (TLC_LIKELY(found >= 0)) return found;
	bool later = peek_again(s, at, &in[0], &in[1]);
	*starts = in[0];
	*covers = in[1];
	return later;
}

/* A start that is owned: what was handed back or is held at zero owns nothing. Starts
 * between granules do not tell that, and are taken to be held. */
bool tlc_foreign_known(uintptr_t p)
{
	uint64_t starts = 0, covers = 0;
	tlc_place at = tlc_start(p);
	if (!peek(&tlc_shards[tlc_shard_of(p)], at, &starts, &covers)) return false;
	if (TLC_LIKELY(starts & covers & tlc_bit(at.bit))) return true;
	if (!(starts & tlc_bit(at.bit))) return false;
	return (p & 15) != 0 || (tlc_units_up(0) != 0 && tlc_covered_above(p));
}

/* ---- covers of all levels ------------------------------------------------------- */

static bool covered_at(int up, uintptr_t p)
{
	uint64_t granule = (p >> 4) >> (6 * up), starts = 0, covers = 0;
	tlc_place at = tlc_place_of(TL_UNIT_LEVEL_0 + up, granule);
	return peek(&tlc_shards[tlc_shard_of_place(up, granule)], at, &starts, &covers) && (covers & tlc_bit(at.bit));
}

/* Is p inside a block so large that it owns whole units? Takes no lock. */
bool tlc_covered_above(uintptr_t p)
{
	for (int up = 1; up < TL_UNIT_LEVELS; up++)
		if (tlc_units_up(up) != 0 && covered_at(up, p)) return true;
	return false;
}

bool tlc_foreign_covered(uintptr_t p)
{
	return tlc_possible(p) && (covered_at(0, p) || (tlc_units_up(0) != 0 && tlc_covered_above(p)));
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
	e->block = bytes | TLC_FOREIGN_AS_ADOPTED;
	return e->gen;
}

/* Adopts what has an entry already, under the lock of s. */
uint32_t tlc_adopt_known(tl_shard* s, tl_foreign_entry* e, uint64_t bytes)
{
	return tlc_is_live(e) ? adopt_live(e) : revive(s, e, bytes);
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
