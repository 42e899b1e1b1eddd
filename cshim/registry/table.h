/* The table of the registry: memory that the runtime counts and did not allocate (malloc,
 * new[], a device).
 *
 * The table stands apart from the blocks, because they belong to others, who leave no room
 * for a header, and because any address has to get an answer. It knows which bytes a block
 * has, because free() of a pointer into the middle of a block would corrupt the host's heap:
 * such a pointer has to be refused when it is registered.
 *
 * Words for places:
 *
 *   granule  16 bytes of the address space, the smallest part that a block owns
 *   unit     64 granules, 1 KiB: two words of bits, and the entries of the blocks that start here
 *   region   64 units, 64 KiB
 *   bucket   an element of a shard's hash table: empty, or one region with a list of its units
 *
 * That is level 0. Larger blocks use levels 2, 4 and 6 as well. A granule of level n+2 is a region of level n, so the
 * granules of these levels have 64 KiB, 256 MiB and 1 TiB. A block owns the granules that start inside it. A unit that
 * it fills, where it leaves that unit, it owns as a whole, which is a bit of the bucket's `whole`. A region that it fills,
 * where it leaves that region, it owns as a granule two levels above. What a block owns of one region is a *cover*, and
 * all of its covers are its *extent*: two covers in each level at most, whatever the size. tlc_level_at tells the level
 * at which a block owns an address: n for a granule of level n, n+1 for a whole unit of level n.
 *
 * Addresses that are no multiple of 16 start in units of level FINE (64 granules of one byte), where nothing is covered.
 * So of two blocks of 8 bytes in one granule the first owns it, and an address between granules is compared with the
 * size of the granule's owner (between.c).
 *
 * A bucket has a list of units, and a unit has a list of entries:
 *
 *   present  which units of the region are in the list, in order of address:
 *            unit u = list[number of bits of present below u].
 *            A unit without a bit and an entry is vacant. It stays in the list while there is
 *            room, because memory that was freed is allocated again
 *   whole    which units are owned as a whole, each by one block
 *   starts   granules at which a registered block starts; each has an entry
 *   covers   granules that a registered block owns
 *   only     the entry of a unit that has one. With the second they move to a list in order
 *            of address, entry of granule g = list[number of bits of starts below g], and stay
 *            there until the last one is gone
 *
 * Thus one search tells whether a pointer is registered and whether it is inside another
 * block, and neighbours in memory are neighbours in the table. A registered pointer costs 24
 * bytes where units are shared, 40 where it has one of its own, and its share of a bucket.
 *
 * Invariants (registry.Table.Check runs them):
 *
 *   an entry is covered     <=>  bytes > 0 && (count > 0 && !HANDED_BACK || link != 0)
 *   bit g of covers is set  <=>  exactly one covered entry or shared block owns g at that level
 *   bit u of whole is set   <=>  exactly one of them owns all of unit u
 *   shard.bytes             ==   sum of bytes over covered entries, and over shared blocks that begin here
 *   vacant units of a bucket ==  those present whose starts | covers == 0
 *   vacant < units present <= room of the list, or whole != 0; of the shard's idle bucket vacant == present, whole == 0
 *   an empty bucket is 0 in all words
 *   floats <= min(count, 15);  HANDED_BACK  =>  ADOPTED && floats > 0
 *   used == buckets of the shard that hold a region <= limit < capacity
 *   no bucket between home(key) and the bucket of key is empty   (linear probing)
 *
 * A block with several addresses, or with a deleter, has a record besides, and its entries link
 * to it (blocks.h).
 *
 * Memory of tl_aligned_alloc is an entry with count 0 until the program registers it. The
 * entry tells tl_aligned_free that the address is one of these.
 *
 * The host may free() a block that was handed back (unregistered: all references float)
 * without telling. Therefore such a block is not covered, and what malloc makes of its memory
 * can be registered. The entry stays until its address is registered again.
 *
 * Regions of level 0 are in the shard of their 64 KiB, and so are the regions of FINE inside
 * them. Any other region is in the shard that its key says. A block inside one region needs one lock. Any other block
 * takes the locks of all its regions, and makes sure that there is memory for all of them, before it changes anything.
 *
 * Lock order: shard locks by ascending index. Out of order a lock is only tried. Nothing else
 * is locked or called under a shard lock. The lock word is also the shard's version, odd while
 * it is held: readers that must not wait read without the lock and compare versions
 * (tlc_foreign_known). For them an outgrown table stays mapped, emptied, and so do all lists.
 *
 * registry.h has the operations. runtime/registry calls them from Go, and it alone grows tables.
 */
#ifndef TL_REGISTRY_TABLE_H
#define TL_REGISTRY_TABLE_H

#include <string.h>

#include "../base/lock.h"

#pragma GCC visibility push(hidden)

/* entry.block = flags 8 | kind 8 | bytes 48 */
#define TL_FOREIGN_BYTES 0xFFFFFFFFFFFFull
#define TL_FOREIGN_KIND_SHIFT 48
#define TL_FOREIGN_MALLOC 1u                /* free() */
#define TL_FOREIGN_NEW_ARRAY 2u             /* operator delete[] */
#define TL_FOREIGN_NEW_SCALAR 3u            /* operator delete */
#define TL_FOREIGN_ALIGNED 4u               /* free(), from an aligned allocation */
#define TL_FOREIGN_CUSTOM 5u                /* a function of the registrant's */
#define TL_FOREIGN_WORKSPACE 1u             /* type of a workspace */
#define TL_FOREIGN_ADOPTED (1ull << 56)     /* by tl_mem_register_*: may be handed back */
#define TL_FOREIGN_HANDED_BACK (1ull << 57) /* all references float; the host may have freed it */

#define TL_FOREIGN_STICKY 0xFFFFFFFFu /* a count that got here never changes again */
#define TL_FOREIGN_FLOAT (1u << 24)   /* entry.type_floats = floats 8 | type 24 */
#define TL_FOREIGN_ADDRESS_BITS 57    /* of user space, with five levels of pages */

/* region.key = level 7 | number of the region 57 */
#define TL_UNIT_LEVEL_SHIFT 57
enum { TL_UNIT_FINE = 1, TL_UNIT_LEVEL_0 = 2, TL_UNIT_LEVELS = 8 };

enum {
	TL_REGION_GRANULES_SHIFT = 12, /* 4096 granules of any level */
	TL_REGION_SHIFT = 16,          /* 64 KiB at level 0 */
};

/* The second factor of the hash of a key; the first is TL_HASH_FACTOR. */
#define TL_REGION_HASH_FACTOR 0xD6E8FEB86659FD93ull

/* region.list = class of its room 8 | vacant units 8 | address 48. Rooms go up by a third or a half. */
#define TL_REGION_ROOM_SHIFT 56
#define TL_REGION_VACANT_SHIFT 48
#define TL_REGION_VACANT (1ull << TL_REGION_VACANT_SHIFT) /* one of them */
#define TL_REGION_ADDRESS (TL_REGION_VACANT - 1)

enum {
	TL_ENTRY_LISTS = 6,    /* sizes of lists of entries: 2 << i */
	TL_UNIT_ROOMS = 12,    /* sizes of lists of units */
	TL_RECORD_LEVELS = 32, /* record n of a block is in level log2(n) */
};

/* The sizes of lists of units. */
static const uint8_t tl_region_rooms[TL_UNIT_ROOMS] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/* What opening a unit takes of a chunk at most, and what a longer list of entries does. */
#define TL_UNIT_RESERVE (64 * sizeof(tl_unit))
#define TL_ENTRY_RESERVE (64 * sizeof(tl_foreign_entry))

/* A registered pointer. Guarded by the lock of its shard. */
typedef struct tl_foreign_entry {
	uint32_t count;
	uint32_t gen;   /* from shard.gen, never 0 */
	uint64_t block; /* flags 8 | kind 8 | bytes 48 */
	uint32_t type_floats;
	uint32_t link; /* number of the block's record, 0 = none; with 0 bytes this is an alias */
} tl_foreign_entry;

/* A unit in use: 64 granules of the address space. Written under the lock of its shard; the bits are also read without. */
typedef struct tl_unit {
	_Atomic uint64_t starts, covers;
	tl_foreign_entry only; /* gen 0: a list at address `block` with room for `count` entries */
} tl_unit;

/* A bucket: 64 units of which one is in use or owned at least. Written under the lock of its shard, also read without. */
typedef struct tl_region {
	_Atomic uint64_t key;     /* 0 = empty bucket */
	_Atomic uint64_t present; /* units in the list */
	_Atomic uint64_t whole;   /* units that blocks own, each as a whole */
	_Atomic uint64_t list;    /* of units; without an address there is none yet */
} tl_region;

/* One shard. All but `lock` is written under it. */
typedef struct tl_shard {
	_Atomic uint32_t lock;     /* version; odd = held */
	_Atomic uint32_t capacity; /* buckets; also read without the lock */
	_Atomic uintptr_t table;   /* likewise */
	uint32_t used;
	uint32_t limit;
	uint32_t gen; /* the generation given last */
	uint32_t entries;
	uint64_t bytes; /* of the blocks that own granules */
	uint32_t handed_back;
	uint32_t zeros;                      /* entries held at zero */
	uintptr_t chunk, chunk_end;          /* what no list has used yet */
	uintptr_t lists[TL_ENTRY_LISTS];     /* free lists for 2 << i entries, linked through entry.block */
	uintptr_t unit_lists[TL_UNIT_ROOMS]; /* those for tl_region_rooms[i] units, linked through only.block */
	uint64_t chunk_bytes;                /* memory for lists, in all */
	uint64_t units;                      /* in use */
	uint64_t idle;                       /* key of a bucket that is kept though all its units are vacant, or 0 */
	uint32_t records;                    /* of blocks (blocks.h) that this shard has */
	uint32_t free_record;                /* first of those that no block has, linked through next; 0 = none */
	uint32_t buffers;                    /* shared blocks that begin here */
	uint32_t spare[3];
} tl_shard;

/* Stands immediately before shard 0. */
typedef struct tl_registry {
	/* Buckets of each even level above 0, changed atomically under the lock of the bucket's shard. [0] is their sum: 0 means
	 * that no block fills a region. */
	_Atomic uint32_t buckets[TL_UNIT_LEVELS];
	_Atomic uint32_t typed; /* 1: a block with a type was registered */
	uint32_t spare[7];
	/* Of level k: where record 0 would be if all records stood in one row. 0 = there is no such level. */
	_Atomic uintptr_t records[TL_RECORD_LEVELS];
} tl_registry;

/* Where the shards are; written once by tlc_foreign_attach. Before that: one shard of one bucket, without room. */
extern tl_shard* tlc_shards;
extern uint64_t tlc_shard_mask;
void tlc_foreign_attach(uintptr_t shards, uint64_t mask);

/* ---- addresses ---------------------------------------------------------------- */

static inline bool tlc_possible(uintptr_t p) { return p - 1 < (1ull << TL_FOREIGN_ADDRESS_BITS) - 1; }

/* A granule of a level, by the region that it is in. */
typedef struct tlc_granule {
	uint64_t region; /* key */
	unsigned unit, bit;
} tlc_granule;

static inline tlc_granule tlc_granule_of(int level, uint64_t number)
{
	uint64_t region = (uint64_t)level << TL_UNIT_LEVEL_SHIFT | number >> TL_REGION_GRANULES_SHIFT;
	return (tlc_granule){region, (unsigned)(number >> 6) & 63, (unsigned)number & 63};
}

/* The granule at which p starts, of FINE or of level 0. */
static inline tlc_granule tlc_start(uintptr_t p)
{
	return TLC_UNLIKELY((p & 15) != 0) ? tlc_granule_of(TL_UNIT_FINE, p) : tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4);
}

/* The granules that [p, p+bytes) owns are first .. last (none: last < first). */
static inline uint64_t tlc_first(uintptr_t p) { return (p + 15) >> 4; }
static inline uint64_t tlc_last(uintptr_t p, uint64_t bytes) { return ((p + bytes + 15) >> 4) - 1; }

/* Does [p, p+bytes) own granules of one unit alone, that in which it starts? */
static inline bool tlc_inside(uintptr_t p, uint64_t bytes)
{
	return ((p >> 4) ^ tlc_last(p, bytes)) >> 6 == 0 && (p & 15) == 0;
}

/* Neighbouring regions are in different shards, so that threads with neighbouring memory do not wait. */
static inline uint64_t tlc_shard_of(uintptr_t p)
{
	return ((p >> TL_REGION_SHIFT) * TL_HASH_FACTOR >> 32) & tlc_shard_mask;
}
static inline tl_shard* tlc_shard_at(uintptr_t p) { return &tlc_shards[tlc_shard_of(p)]; }

/* A bijection. One multiplication alone would leave addresses of a regular stride in runs of buckets. */
static inline uint64_t tlc_mix(uint64_t key)
{
	key *= TL_HASH_FACTOR;
	key ^= key >> 32;
	return key * TL_REGION_HASH_FACTOR;
}

/* The shard of a region, given by the number of a granule, `up` levels above 0: an even number. */
static inline uint64_t tlc_shard_of_granule(int up, uint64_t number)
{
	if (up == 0) return tlc_shard_of(number << 4);
	return (tlc_mix(tlc_granule_of(TL_UNIT_LEVEL_0 + up, number).region) >> 20) & tlc_shard_mask;
}

/* How many buckets there are, `up` levels above 0. For 0: of all levels above it. */
static inline uint32_t tlc_buckets_up(int up)
{
	const tl_registry* r = (const tl_registry*)tlc_shards - 1;
	return atomic_load_explicit(&r->buckets[up], memory_order_relaxed);
}

/* The bucket where the search for key begins. Scaled and not masked, because a table grows in steps
 * smaller than doubling, and so that it is rehashed in order. */
static inline uint64_t tlc_home(uint64_t key, uint64_t capacity) { return (tlc_mix(key) >> 32) * capacity >> 32; }

/* registry.c has the first, lists.c the others. */
void tlc_shard_wait(tl_shard* s);
tl_unit* tlc_add_unit(tl_shard* s, tl_region* r, tlc_granule at);
void tlc_add_bucket(tl_shard* s, tl_region* r, uint64_t key);
void tlc_drop_idle(tl_shard* s);
bool tlc_lengthen(tl_shard* s, tl_unit* u);
void tlc_free_list(tl_shard* s, const tl_unit* u);

/* ---- lock --------------------------------------------------------------------- */

static inline void tlc_shard_lock(tl_shard* s)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
	if (TLC_UNLIKELY((v & 1) || !atomic_compare_exchange_strong_explicit(&s->lock, &v, v + 1, memory_order_acquire,
	                                                                     memory_order_relaxed)))
		tlc_shard_wait(s);
	atomic_thread_fence(memory_order_release); /* the odd version before any change */
}

/* Takes the lock if nobody has had it since version v. */
static inline bool tlc_shard_lock_at(tl_shard* s, uint32_t v)
{
	if (TLC_UNLIKELY(
			!atomic_compare_exchange_strong_explicit(&s->lock, &v, v + 1, memory_order_acquire, memory_order_relaxed)))
		return false;
	atomic_thread_fence(memory_order_release); /* the odd version before any change */
	return true;
}

/* Takes the lock if it is free. */
static inline bool tlc_shard_try_lock(tl_shard* s)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
	return !(v & 1) && tlc_shard_lock_at(s, v);
}

static inline void tlc_shard_unlock(tl_shard* s)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
	atomic_store_explicit(&s->lock, v + 1, memory_order_release);
}

/* ---- words that are read without the lock ---------------------------------------- */

static inline uint64_t tlc_get(const _Atomic uint64_t* w) { return atomic_load_explicit(w, memory_order_relaxed); }
static inline void tlc_put(_Atomic uint64_t* w, uint64_t v) { atomic_store_explicit(w, v, memory_order_relaxed); }
static inline uint32_t tlc_capacity(const tl_shard* s)
{
	return atomic_load_explicit(&s->capacity, memory_order_relaxed);
}
static inline tl_region* tlc_table(const tl_shard* s)
{
	return (tl_region*)atomic_load_explicit(&s->table, memory_order_relaxed);
}

/* ---- 64 granules, or units ------------------------------------------------------------ */

static inline uint64_t tlc_bit(unsigned n) { return 1ull << n; }
static inline uint64_t tlc_below(unsigned n) { return (1ull << n) - 1; }
static inline bool tlc_has(const _Atomic uint64_t* w, unsigned bit) { return tlc_get(w) >> bit & 1; }
static inline void tlc_set(_Atomic uint64_t* w, uint64_t bits) { tlc_put(w, tlc_get(w) | bits); }
static inline void tlc_clear(_Atomic uint64_t* w, uint64_t bits) { tlc_put(w, tlc_get(w) & ~bits); }

/* Bits first .. last. */
static inline uint64_t tlc_range(unsigned first, unsigned last) { return ~0ull >> (63 - (last - first)) << first; }

static inline unsigned tlc_ones(uint64_t bits)
{
#if defined(__x86_64__) && !defined(__POPCNT__)
	uint64_t n; /* every x86-64 processor since 2008; the compiler's own way costs a call */
	__asm__("popcnt %1, %0" : "=r"(n) : "r"(bits) : "cc");
	return (unsigned)n;
#else
	return (unsigned)__builtin_popcountll(bits);
#endif
}

static inline unsigned tlc_rank(uint64_t bits, unsigned bit) { return tlc_ones(bits & tlc_below(bit)); }

/* ---- buckets and units, under the lock ------------------------------------------------- */

/* The bucket of key, or the empty bucket where it belongs (used < capacity). */
static inline tl_region* tlc_bucket(const tl_shard* s, uint64_t key)
{
	tl_region* table = tlc_table(s);
	uint64_t n = tlc_capacity(s);
	tl_region* r = table + tlc_home(key, n);
	if (TLC_LIKELY(tlc_get(&r->key) == key)) return r;
	for (;;) {
		uint64_t k = tlc_get(&r->key);
		if (k == key || k == 0) return r;
		if (++r == table + n) r = table;
	}
}

static inline tl_unit* tlc_units(uint64_t list) { return (tl_unit*)(uintptr_t)(list & TL_REGION_ADDRESS); }

static inline unsigned tlc_vacant_units(uint64_t list) { return list >> TL_REGION_VACANT_SHIFT & 255; }

static inline bool tlc_vacant(const tl_unit* u) { return (tlc_get(&u->starts) | tlc_get(&u->covers)) == 0; }

/* A unit of a list, or NULL: NULL also when it is vacant. */
static inline tl_unit* tlc_in_use(tl_unit* u) { return TLC_LIKELY(u != NULL && !tlc_vacant(u)) ? u : NULL; }

/* The unit of a granule in the list of its bucket, in use or vacant; NULL when it is not in the list. */
static inline tl_unit* tlc_listed_unit(const tl_region* r, tlc_granule at)
{
	uint64_t present = tlc_get(&r->present);
	if (TLC_UNLIKELY(!(present >> at.unit & 1))) return NULL;
	tl_unit* u = tlc_units(tlc_get(&r->list)) + tlc_rank(present, at.unit);
	if (u == NULL) __builtin_unreachable();
	return u;
}

/* Does a block own the unit of a granule as a whole? */
static inline bool tlc_is_whole(const tl_region* r, tlc_granule at) { return tlc_has(&r->whole, at.unit); }

/* Opens a unit that is not in use; r is its bucket, or the empty one for it, and u the vacant unit in its list. NULL: no memory
 * is at hand, or the table has no room for a bucket. Where it is not in the list, units of the same region move. */
static inline tl_unit* tlc_open_unit(tl_shard* s, tl_region* r, tl_unit* u, tlc_granule at)
{
	if (TLC_UNLIKELY(u == NULL)) return tlc_add_unit(s, r, at);
	tlc_put(&r->list, tlc_get(&r->list) - TL_REGION_VACANT);
	if (s->idle == at.region) s->idle = 0;
	s->units++;
	return u;
}

/* Counts a unit of r that may have become vacant. true: it has, and tlc_keep_idle is to follow. */
static inline bool tlc_close_unit(tl_shard* s, tl_region* r, const tl_unit* u)
{
	if (TLC_LIKELY(!tlc_vacant(u))) return false;
	tlc_put(&r->list, tlc_get(&r->list) + TL_REGION_VACANT);
	s->units--;
	return true;
}

/* A bucket of which nothing is in use is kept until another one is like that: a block that comes and goes alone finds its
 * bucket again. */
static inline void tlc_keep_idle(tl_shard* s, tl_region* r)
{
	const uint64_t key = tlc_get(&r->key);
	if (tlc_get(&r->whole) != 0 || tlc_vacant_units(tlc_get(&r->list)) < tlc_ones(tlc_get(&r->present))) return;
	if (TLC_UNLIKELY(s->idle != 0)) tlc_drop_idle(s);
	s->idle = key;
}

/* ---- entries, under the lock ------------------------------------------------------- */

static inline tl_foreign_entry* tlc_list(const tl_unit* u) { return (tl_foreign_entry*)(uintptr_t)u->only.block; }

/* Are the entries in a list? */
static inline bool tlc_listed(const tl_unit* u) { return u->only.gen == 0; }

/* The entry of a start bit that is set. */
static inline tl_foreign_entry* tlc_entry(tl_unit* u, unsigned bit)
{
	return tlc_listed(u) ? tlc_list(u) + tlc_rank(tlc_get(&u->starts), bit) : &u->only;
}

/* Sets a start bit and makes room for its entry. NULL, nothing changed: no memory is at hand. A
 * unit without entries needs none. */
static inline tl_foreign_entry* tlc_insert(tl_shard* s, tl_unit* u, unsigned bit)
{
	uint64_t starts = tlc_get(&u->starts);
	tl_foreign_entry* e = &u->only;
	if (starts != 0) {
		if (TLC_UNLIKELY(!tlc_listed(u) || tlc_ones(starts) == u->only.count) && !tlc_lengthen(s, u)) return NULL;
		e = tlc_list(u) + tlc_rank(starts, bit);
		for (tl_foreign_entry* last = tlc_list(u) + tlc_ones(starts); last > e; last--) last[0] = last[-1];
	}
	tlc_put(&u->starts, starts | tlc_bit(bit));
	return e;
}

static inline void tlc_erase(tl_shard* s, tl_unit* u, unsigned bit)
{
	uint64_t rest = tlc_get(&u->starts) & ~tlc_bit(bit);
	if (tlc_listed(u)) {
		tl_foreign_entry* end = tlc_list(u) + tlc_ones(rest);
		for (tl_foreign_entry* e = tlc_list(u) + tlc_rank(rest, bit); e < end; e++) e[0] = e[1];
		if (TLC_UNLIKELY(rest == 0)) tlc_free_list(s, u);
	}
	tlc_put(&u->starts, rest);
}

static inline uint32_t tlc_next_gen(tl_shard* s)
{
	if (TLC_UNLIKELY(++s->gen == 0)) s->gen = 1;
	return s->gen;
}

static inline uint32_t tlc_floats(const tl_foreign_entry* e) { return e->type_floats >> 24; }
static inline uint64_t tlc_bytes(const tl_foreign_entry* e) { return e->block & TL_FOREIGN_BYTES; }

/* The kind in the word `block` of an entry or a record. */
static inline uint32_t tlc_kind_in(uint64_t block) { return block >> TL_FOREIGN_KIND_SHIFT & 0xFF; }
static inline uint32_t tlc_kind(const tl_foreign_entry* e) { return tlc_kind_in(e->block); }

/* Is the block held, and not handed back to the host? */
static inline bool tlc_is_live(const tl_foreign_entry* e)
{
	return e->count != 0 && !(e->block & TL_FOREIGN_HANDED_BACK);
}

/* Does an entry stand for a block that is held, or has a record, so that no other block can take its place? */
static inline bool tlc_is_occupied(const tl_foreign_entry* e) { return tlc_is_live(e) || e->link != 0; }

/* May a dead entry stand for another block of malloc's? It may where free() takes the memory. */
static inline bool tlc_is_revivable(const tl_foreign_entry* e)
{
	return e->link == 0 && (tlc_kind(e) == TL_FOREIGN_MALLOC || tlc_kind(e) == TL_FOREIGN_ALIGNED);
}

/* Kind and flags of a block that a scope registers. */
#define TLC_FOREIGN_AS_ADOPTED ((uint64_t)TL_FOREIGN_MALLOC << TL_FOREIGN_KIND_SHIFT | TL_FOREIGN_ADOPTED)

/* Fills a new entry: count 1, not floating, `as` for kind and flags. */
static inline uint32_t tlc_fill(tl_shard* s, tl_foreign_entry* e, uint64_t bytes, uint64_t as)
{
	uint32_t gen = tlc_next_gen(s);
	*e = (tl_foreign_entry){.count = 1, .gen = gen, .block = bytes | as};
	s->entries++;
	s->bytes += bytes;
	return gen;
}

#pragma GCC visibility pop

#endif
