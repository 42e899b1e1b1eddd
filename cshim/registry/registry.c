/* The registry's locks, and what it answers without changing anything. */
#include "operations.h"

/* What tlc_shards points to before the library is attached. The table has one empty bucket and no
 * room, so that searches find nothing and registering takes the slow path. */
static tl_region tlc_no_region;

static struct {
	tl_registry registry;
	tl_shard shard;
} tlc_nothing __attribute__((aligned(64))) = {.shard = {.capacity = 1, .table = (uintptr_t)&tlc_no_region}};

tl_shard* tlc_shards = &tlc_nothing.shard;
uint64_t tlc_shard_mask = 0;

_Static_assert(sizeof(tl_unit) == 40 && sizeof(tl_region) == 32, "what docs/registry.md says of memory");
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

/* What was seen of a unit without the lock: its bits, and whether a block owns it as a whole. A unit that is not in the
 * list has no bits. */
typedef struct seen_unit {
	uint64_t starts, covers;
	bool whole;
} seen_unit;

/* Reads `whole` for a caller that has asked alone. false: a writer was in the way. */
static inline __attribute__((always_inline)) bool peek_once(tl_shard* s, tlc_granule at, bool asked, seen_unit* out)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_acquire);
	tlc_glimpse seen = tlc_peek(s, v, at, PEEK_PROBES);
	*out = (seen_unit){0};
	if (TLC_UNLIKELY(seen.bucket == NULL)) return false;
	out->whole = asked && tlc_is_whole(seen.bucket, at);
	if (seen.unit != NULL) {
		out->starts = tlc_get(&seen.unit->starts);
		out->covers = tlc_get(&seen.unit->covers);
	}
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&s->lock, memory_order_relaxed) == v;
}

/* With the lock, where writers were in the way all the time. The caller holds no lock. */
static __attribute__((noinline)) void peek_again(tl_shard* s, tlc_granule at, seen_unit* out)
{
	for (unsigned i = 1; i < PEEK_TRIES; i++) {
		tlc_pause(); /* a look takes nothing from the writer, who is done soon */
		if (peek_once(s, at, true, out)) return;
	}
	tlc_shard_lock(s);
	const tl_region* r = tlc_bucket(s, at.region);
	const tl_unit* u = tlc_listed_unit(r, at);
	*out = (seen_unit){.whole = tlc_is_whole(r, at)};
	if (u != NULL) {
		out->starts = tlc_get(&u->starts);
		out->covers = tlc_get(&u->covers);
	}
	tlc_shard_unlock(s);
}

static inline __attribute__((always_inline)) seen_unit peek(tl_shard* s, tlc_granule at, bool asked)
{
	seen_unit once, later; /* the second has an address, so that the first stays in registers */
	if (TLC_LIKELY(peek_once(s, at, asked, &once))) return once;
	peek_again(s, at, &later);
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
	tlc_granule at = tlc_start(p);
	if (TLC_UNLIKELY((p & 15) != 0)) return known_between(p);
	const seen_unit u = peek(tlc_shard_at(p), at, false);
	if (TLC_LIKELY(u.starts & u.covers & tlc_bit(at.bit))) return true;
	return (u.starts & tlc_bit(at.bit)) && tlc_foreign_covered(p);
}

/* ---- covers of all levels ------------------------------------------------------- */

/* The highest of two levels at which a block owns p, the even one and the one above it; -1: none does. */
static inline __attribute__((always_inline)) int covered_at(int up, uintptr_t p)
{
	const uint64_t number = (p >> 4) >> (6 * up);
	const tlc_granule at = tlc_granule_of(TL_UNIT_LEVEL_0 + up, number);
	const seen_unit u = peek(&tlc_shards[tlc_shard_of_granule(up, number)], at, true);
	return u.whole ? up + 1 : u.covers & tlc_bit(at.bit) ? up : -1;
}

int tlc_level_at(uintptr_t p)
{
	for (int up = TL_UNIT_LEVELS - 2; up >= 0; up -= 2) {
		const int found = up == 0 || tlc_buckets_up(up) != 0 ? covered_at(up, p) : -1;
		if (found >= 0) return found;
	}
	return -1;
}

bool tlc_covered_at_regions(uintptr_t p)
{
	for (int up = 2; up < TL_UNIT_LEVELS; up += 2)
		if (tlc_buckets_up(up) != 0 && covered_at(up, p) >= 0) return true;
	return false;
}

bool tlc_foreign_starts(uintptr_t p)
{
	const tlc_granule at = tlc_start(p);
	return (peek(tlc_shard_at(p), at, false).starts & tlc_bit(at.bit)) != 0;
}

bool tlc_foreign_seen(uintptr_t p) { return tlc_foreign_starts(p) || tlc_foreign_covered(p); }

bool tlc_foreign_covered(uintptr_t p) { return tlc_possible(p) && (covered_at(0, p) >= 0 || tlc_covered_above(p)); }

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
