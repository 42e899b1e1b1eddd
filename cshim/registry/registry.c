/* The registry's locks, and what it answers without changing anything. */
#include "operations.h"

/* What tlc_shards points to before the library is attached. The table has one empty cell and no
 * room, so that searches find nothing and registering takes the slow path. */
static tl_region tlc_no_region;

static struct {
	tl_registry registry;
	tl_shard shard;
} tlc_nothing __attribute__((aligned(64))) = {.shard = {.capacity = 1, .table = (uintptr_t)&tlc_no_region}};

tl_shard* tlc_shards = &tlc_nothing.shard;
uint64_t tlc_shard_mask = 0;

_Static_assert(sizeof(tl_unit) == 40 && sizeof(tl_region) == 24, "what docs/registry.md says of memory");
_Static_assert(sizeof(tl_shard) % 64 == 0 && sizeof(tl_registry) % 64 == 0, "shards share no cache line");

void tlc_foreign_attach(uintptr_t shards, uint64_t mask)
{
	tlc_shards = (tl_shard*)shards;
	tlc_shard_mask = mask;
}

void tlc_registry_detach(uintptr_t shards)
{
	if ((uintptr_t)tlc_shards == shards) tlc_foreign_attach((uintptr_t)&tlc_nothing.shard, 0);
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

/* fork() with a lock held by another thread would leave it held for ever in the child. */
void tlc_foreign_lock_all(void)
{
	for (uint64_t i = 0; i <= tlc_shard_mask; i++) tlc_shard_lock(&tlc_shards[i]);
}

void tlc_foreign_unlock_all(void)
{
	for (uint64_t i = 0; i <= tlc_shard_mask; i++) tlc_shard_unlock(&tlc_shards[i]);
}

/* ---- reading without the lock -------------------------------------------------- */

enum { PEEK_TRIES = 32, PEEK_PROBES = 1 << 20 };

/* The bits of a unit: 1 found, 0 not in the list, -1 a writer was in the way. */
static inline __attribute__((always_inline)) int peek_once(tl_shard* s, tlc_granule at, uint64_t* starts,
                                                           uint64_t* covers)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_acquire);
	tlc_glimpse seen = tlc_peek(s, v, at, PEEK_PROBES);
	if (TLC_UNLIKELY(seen.cell == NULL)) return -1;
	if (seen.unit == NULL) return 0;
	*starts = tlc_get(&seen.unit->starts);
	*covers = tlc_get(&seen.unit->covers);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&s->lock, memory_order_relaxed) == v ? 1 : -1;
}

/* peek with the lock, where writers were in the way all the time. The caller holds no lock. */
static __attribute__((noinline)) bool peek_locked(tl_shard* s, tlc_granule at, uint64_t* starts, uint64_t* covers)
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

static __attribute__((noinline)) bool peek_again(tl_shard* s, tlc_granule at, uint64_t* starts, uint64_t* covers)
{
	for (unsigned i = 1; i < PEEK_TRIES; i++) {
		tlc_pause(); /* a look takes nothing from the writer, who is done soon */
		int found = peek_once(s, at, starts, covers);
		if (found >= 0) return found;
	}
	return peek_locked(s, at, starts, covers);
}

static inline __attribute__((always_inline)) bool peek(tl_shard* s, tlc_granule at, uint64_t* starts, uint64_t* covers)
{
	uint64_t in[2] = {0, 0}; /* has an address, so that starts and covers stay in registers */
	int found = peek_once(s, at, starts, covers);
	if (TLC_LIKELY(found >= 0)) return found;
	bool later = peek_again(s, at, &in[0], &in[1]);
	*starts = in[0];
	*covers = in[1];
	return later;
}

static __attribute__((noinline)) bool known_between(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return false;
	bool known = tlc_is_occupied(x.entry);
	tlc_shard_unlock(x.shard);
	return known;
}

/* A block that was handed back or is held at zero has a start and owns nothing. A block that starts
 * between granules need not own one either way: its entry tells, under the lock. */
bool tlc_foreign_known(uintptr_t p)
{
	uint64_t starts = 0, covers = 0;
	tlc_granule at = tlc_start(p);
	if (TLC_UNLIKELY((p & 15) != 0)) return known_between(p);
	if (!peek(tlc_shard_at(p), at, &starts, &covers)) return false;
	if (TLC_LIKELY(starts & covers & tlc_bit(at.bit))) return true;
	if (!(starts & tlc_bit(at.bit))) return false;
	return tlc_units_up(0) != 0 && tlc_covered_above(p);
}

/* ---- covers of all levels ------------------------------------------------------- */

static inline __attribute__((always_inline)) bool covered_at(int up, uintptr_t p)
{
	uint64_t number = (p >> 4) >> (6 * up), starts = 0, covers = 0;
	tlc_granule at = tlc_granule_of(TL_UNIT_LEVEL_0 + up, number);
	return peek(&tlc_shards[tlc_shard_of_granule(up, number)], at, &starts, &covers) && (covers & tlc_bit(at.bit));
}

bool tlc_covered_from(int up, uintptr_t p)
{
	for (; up < TL_UNIT_LEVELS; up++)
		if (tlc_units_up(up) != 0 && covered_at(up, p)) return true;
	return false;
}

int tlc_level_at(uintptr_t p)
{
	int up = TL_UNIT_LEVELS - 1;
	while (up >= 0 && !((up == 0 || tlc_units_up(up) != 0) && covered_at(up, p))) up--;
	return up;
}

bool tlc_foreign_starts(uintptr_t p)
{
	uint64_t starts = 0, covers = 0;
	tlc_granule at = tlc_start(p);
	return peek(tlc_shard_at(p), at, &starts, &covers) && (starts & tlc_bit(at.bit)) != 0;
}

bool tlc_foreign_seen(uintptr_t p) { return tlc_foreign_starts(p) || tlc_foreign_covered(p); }

bool tlc_foreign_covered(uintptr_t p)
{
	return tlc_possible(p) && (covered_at(0, p) || (tlc_units_up(0) != 0 && tlc_covered_above(p)));
}

/* ---- what is known of an entry -------------------------------------------------------- */

uint32_t tlc_foreign_type(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return 0;
	uint32_t type = tlc_is_live(x.entry) ? x.entry->type_floats & (TL_FOREIGN_FLOAT - 1) : 0;
	tlc_shard_unlock(x.shard);
	return type;
}

int64_t tlc_foreign_count(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return -1;
	int64_t count = x.entry->count;
	tlc_shard_unlock(x.shard);
	return count;
}
