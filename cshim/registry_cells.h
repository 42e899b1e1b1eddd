/* The registry of foreign pointers: memory that somebody else allocated (malloc,
 * new[], a device) and that the runtime counts and frees.
 *
 * Why a side table: the blocks are not ours, so nothing can be stored beside them,
 * and a bad pointer must be an answer. Why it knows extents: freeing a pointer into
 * the middle of a registered block would corrupt the host's heap, so such a pointer
 * must be refused when it is registered.
 *
 * The address space is cut into units of 128 granules. A granule is 16 bytes at
 * level 0, and a whole unit of the level below above it: units are 2 KiB, 256 KiB,
 * 32 MiB, ... A unit in use is one cell, a cache line, of an open addressing table:
 *
 *   starts   granules at which a registered block starts; each has an entry
 *   covers   granules that belong to a registered block
 *   only     the first entry; with the second they move to a list in order of
 *            address, entry of granule g = list[number of starts below g], and stay
 *            in it until the last one goes
 *
 * A block owns the granules of 16 bytes that start inside it. Where they fill whole
 * units they are one granule of the next level, and so on, so that a block owns bits
 * in at most two units of a level, whatever its size. Addresses that are no multiple
 * of 16 start in units of their own (level FINE: 128 granules of one byte) and those
 * cover nothing. Thus one probe tells whether a pointer is registered and whether it
 * is inside another block, entries of neighbours are neighbours, and a registered
 * pointer costs 24 bytes and its share of a cell.
 *
 * Invariants (registry.Table.Check runs them):
 *
 *   an entry is covered     <=>  count > 0 && !HANDED_BACK && bytes > 0
 *   bit g of covers is set  <=>  exactly one covered block or buffer owns g at that level
 *   shard.bytes             ==   sum of bytes over entries that are live
 *   a cell exists           <=>  starts | covers != 0
 *   floats <= min(count, 15);  HANDED_BACK  =>  ADOPTED && floats > 0
 *   used == cells of the shard <= limit < capacity
 *   no cell between home(key) and the cell of key is empty   (linear probing)
 *
 * A block with several names, or with a deleter, is a buffer (runtime/registry/buffers.go):
 * the buffer owns the granules, and each of its names is an entry of 0 bytes that links
 * to it. References are counted at the name, under one lock; only the last one at a name
 * has to ask how many names are left, and that is Go's.
 *
 * Memory of tl_aligned_alloc is an entry held at zero until it is registered: known, so
 * that tl_aligned_free can tell it from any other address, and nobody's.
 *
 * The host may free() a handed back block (unregistered: all references float)
 * without telling. It stops covering, so that what malloc makes of its memory can
 * be registered; the entry stays until its address is registered again.
 *
 * Units of level 0 and FINE live in the shard of their 4 KiB page, the others where
 * their key says. The common block, inside one unit, needs one lock. Any other takes
 * the locks of all its units before it changes anything.
 *
 * Lock order: shard locks by ascending index; nothing else is locked or called
 * under one. A lock word is also the shard's version: odd while it is held, so
 * readers that must not wait read without it and compare (tlc_foreign_known).
 * Tables that were outgrown stay mapped, emptied, for their sake.
 *
 * registry.h has the operations. runtime/registry is the Go twin on the same memory;
 * it alone grows tables.
 */
#ifndef TL_REGISTRY_CELLS_H
#define TL_REGISTRY_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TLC_LIKELY(x) __builtin_expect(!!(x), 1)
#define TLC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* entry.block = flags 8 | kind 8 | bytes 48 */
#define TL_FOREIGN_BYTES 0xFFFFFFFFFFFFull
#define TL_FOREIGN_KIND_SHIFT 48
#define TL_FOREIGN_MALLOC 1u     /* free() */
#define TL_FOREIGN_NEW_ARRAY 2u  /* operator delete[] */
#define TL_FOREIGN_NEW_SCALAR 3u /* operator delete */
#define TL_FOREIGN_ALIGNED 4u    /* free(), from an aligned allocation */
#define TL_FOREIGN_CUSTOM 5u     /* a function of the registrant's */
#define TL_FOREIGN_WORKSPACE 1u  /* type of a workspace */
#define TL_FOREIGN_ADOPTED (1ull << 56)     /* by tl_mem_register_*: may be handed back */
#define TL_FOREIGN_HANDED_BACK (1ull << 57) /* all references float; the host may have freed it */

#define TL_FOREIGN_STICKY 0xFFFFFFFFu /* a count that got here never changes again */
#define TL_FOREIGN_FLOAT (1u << 24)   /* entry.type_floats = floats 8 | type 24 */
#define TL_FOREIGN_FLOATS_MAX 15u
#define TL_FOREIGN_ADDRESS_BITS 57    /* of user space, with five levels of pages */

/* unit.key = level 7 | unit number 57 */
#define TL_UNIT_LEVEL_SHIFT 57
enum { TL_UNIT_FINE = 1, TL_UNIT_0 = 2, TL_UNIT_LEVELS = 7, TL_LISTS = 7 };

/* A registered pointer. Guarded by the lock of its shard. */
typedef struct tl_foreign_entry {
	uint32_t count;
	uint32_t gen; /* from shard.gen, never 0 */
	uint64_t block;
	uint32_t type_floats;
	uint32_t link; /* the buffer of which this is a name; not 0: the last release is Go's */
} tl_foreign_entry;

/* A unit in use. Written under the lock of its shard; key and bits are also read without. */
typedef struct tl_unit {
	_Atomic uint64_t key; /* 0 = empty cell */
	_Atomic uint64_t starts[2];
	_Atomic uint64_t covers[2];
	tl_foreign_entry only; /* gen 0: a list at address `block` with room for `count` entries */
} tl_unit;

/* One shard. All but `lock` is written under it. */
typedef struct tl_shard {
	_Atomic uint32_t lock;     /* version; odd = held */
	_Atomic uint32_t capacity; /* cells; also read without the lock */
	_Atomic uintptr_t table;   /* likewise */
	uint32_t used;
	uint32_t limit;
	uint32_t gen; /* the generation given last */
	uint32_t entries;
	uint64_t bytes; /* of the entries that are live */
	uint32_t handed_back;
	uint32_t zeros;           /* entries held at zero */
	uint64_t chunk_bytes;     /* memory for lists, in all */
	uintptr_t chunk, chunk_end; /* what no list has used yet */
	uintptr_t lists[TL_LISTS]; /* free lists for 2 << i entries, linked through entry.block */
} tl_shard;

/* Stands immediately before shard 0. */
typedef struct tl_registry {
	/* Units per level above 0, changed atomically under the lock of the unit's shard.
	 * [0] is their sum: 0 means that no large block exists. */
	_Atomic uint32_t units[8];
	uint64_t spare[4];
} tl_registry;

/* Where the shards are; written once by tlc_foreign_attach. Before that: one shard without a table. */
extern tl_shard* tlc_shards;
extern uint64_t tlc_shard_mask;
void tlc_foreign_attach(uintptr_t shards, uint64_t mask);

/* Out of line, registry.c. */
void tlc_shard_wait(tl_shard* s);
tl_foreign_entry* tlc_insert_more(tl_shard* s, tl_unit* u, unsigned bit);
void tlc_erase_more(tl_shard* s, tl_unit* u, unsigned bit);

/* ---- addresses ---------------------------------------------------------------- */

static inline bool tlc_possible(uintptr_t p) { return p - 1 < (1ull << TL_FOREIGN_ADDRESS_BITS) - 1; }

static inline uint64_t tlc_unit_key(int level, uint64_t granule)
{
	return (uint64_t)level << TL_UNIT_LEVEL_SHIFT | granule >> 7;
}

/* The granule at which p starts, of FINE or of level 0. */
static inline uint64_t tlc_start(uintptr_t p) { return p & 15 ? p : p >> 4; }
static inline uint64_t tlc_start_key(uintptr_t p) { return tlc_unit_key(p & 15 ? TL_UNIT_FINE : TL_UNIT_0, tlc_start(p)); }

/* The granules that [p, p+bytes) owns are first .. last (none: last < first). */
static inline uint64_t tlc_first(uintptr_t p) { return (p + 15) >> 4; }
static inline uint64_t tlc_last(uintptr_t p, uint64_t bytes) { return ((p + bytes + 15) >> 4) - 1; }

/* Does it own anything outside the unit in which it starts? */
static inline bool tlc_wide(uintptr_t p, uint64_t bytes)
{
	return ((p >> 4) ^ tlc_last(p, bytes)) >> 7 != 0 || (p & 15) != 0;
}

/* Sequential pages land in different shards. */
static inline uint64_t tlc_shard_of(uintptr_t p) { return ((p >> 12) * 0x9E3779B97F4A7C15ull >> 32) & tlc_shard_mask; }

/* A bijection; one multiplication alone leaves strides that resonate with it in runs. */
static inline uint64_t tlc_mix(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15ull;
	key ^= key >> 32;
	return key * 0xD6E8FEB86659FD93ull;
}

/* Scaled, not masked: a table grows in steps smaller than doubling, and is rehashed in order. */
static inline uint64_t tlc_home(uint64_t key, uint64_t capacity) { return (tlc_mix(key) >> 32) * capacity >> 32; }

/* One turn of waiting for a lock. */
static inline void tlc_spin(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* ---- lock --------------------------------------------------------------------- */

static inline void tlc_shard_lock(tl_shard* s)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
	if (TLC_UNLIKELY((v & 1) || !atomic_compare_exchange_strong_explicit(&s->lock, &v, v + 1, memory_order_acquire,
	                                                                      memory_order_relaxed)))
		tlc_shard_wait(s);
	atomic_thread_fence(memory_order_release); /* the odd version before any change */
}

/* Takes it if nothing has happened since it was open at version v. */
static inline bool tlc_shard_lock_at(tl_shard* s, uint32_t v)
{
	if (TLC_UNLIKELY(!atomic_compare_exchange_strong_explicit(&s->lock, &v, v + 1, memory_order_acquire,
	                                                          memory_order_relaxed)))
		return false;
	atomic_thread_fence(memory_order_release); /* the odd version before any change */
	return true;
}

static inline void tlc_shard_unlock(tl_shard* s)
{
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_relaxed);
	atomic_store_explicit(&s->lock, v + 1, memory_order_release);
}

/* ---- words that are read without the lock ---------------------------------------- */

static inline uint64_t tlc_get(const _Atomic uint64_t* w) { return atomic_load_explicit(w, memory_order_relaxed); }
static inline void tlc_put(_Atomic uint64_t* w, uint64_t v) { atomic_store_explicit(w, v, memory_order_relaxed); }
static inline uint32_t tlc_capacity(const tl_shard* s) { return atomic_load_explicit(&s->capacity, memory_order_relaxed); }
static inline tl_unit* tlc_table(const tl_shard* s)
{
	return (tl_unit*)atomic_load_explicit(&s->table, memory_order_relaxed);
}

/* 128 bits. */
typedef struct tlc_bits {
	uint64_t low, high;
} tlc_bits;

static inline tlc_bits tlc_bits_of(const _Atomic uint64_t w[2]) { return (tlc_bits){tlc_get(&w[0]), tlc_get(&w[1])}; }
static inline void tlc_set(_Atomic uint64_t w[2], tlc_bits b)
{
	tlc_put(&w[0], tlc_get(&w[0]) | b.low);
	tlc_put(&w[1], tlc_get(&w[1]) | b.high);
}
static inline void tlc_clear(_Atomic uint64_t w[2], tlc_bits b)
{
	tlc_put(&w[0], tlc_get(&w[0]) & ~b.low);
	tlc_put(&w[1], tlc_get(&w[1]) & ~b.high);
}
static inline bool tlc_meet(tlc_bits a, tlc_bits b) { return ((a.low & b.low) | (a.high & b.high)) != 0; }
static inline bool tlc_has(const _Atomic uint64_t w[2], unsigned bit) { return tlc_get(&w[bit >> 6]) >> (bit & 63) & 1; }

/* The bits below n, 0..127. */
static inline tlc_bits tlc_below(unsigned n)
{
	uint64_t part = (1ull << (n & 63)) - 1;
	return n < 64 ? (tlc_bits){part, 0} : (tlc_bits){~0ull, part};
}

static inline tlc_bits tlc_bit(unsigned n)
{
	uint64_t one = 1ull << (n & 63);
	return n < 64 ? (tlc_bits){one, 0} : (tlc_bits){0, one};
}

/* Bits first .. last of a unit. */
static inline tlc_bits tlc_range(unsigned first, unsigned last)
{
	tlc_bits a = tlc_below(first), b = tlc_below(last), c = tlc_bit(last);
	return (tlc_bits){(b.low | c.low) & ~a.low, (b.high | c.high) & ~a.high};
}

/* The same of one word, where first and last are in it. */
static inline bool tlc_in_one_word(unsigned first, unsigned last) { return (first ^ last) < 64; }
static inline uint64_t tlc_word_range(unsigned first, unsigned last)
{
	return ~0ull >> (63 - (last - first)) << (first & 63);
}

static inline void tlc_cover(_Atomic uint64_t covers[2], unsigned first, unsigned last)
{
	_Atomic uint64_t* w = &covers[first >> 6];
	if (TLC_LIKELY(tlc_in_one_word(first, last))) tlc_put(w, tlc_get(w) | tlc_word_range(first, last));
	else tlc_set(covers, tlc_range(first, last));
}
static inline void tlc_uncover(_Atomic uint64_t covers[2], unsigned first, unsigned last)
{
	_Atomic uint64_t* w = &covers[first >> 6];
	if (TLC_LIKELY(tlc_in_one_word(first, last))) tlc_put(w, tlc_get(w) & ~tlc_word_range(first, last));
	else tlc_clear(covers, tlc_range(first, last));
}
static inline bool tlc_covers_any(const _Atomic uint64_t covers[2], unsigned first, unsigned last)
{
	if (TLC_LIKELY(tlc_in_one_word(first, last))) return (tlc_get(&covers[first >> 6]) & tlc_word_range(first, last)) != 0;
	return tlc_meet(tlc_bits_of(covers), tlc_range(first, last));
}

static inline unsigned tlc_ones(tlc_bits b)
{
#if defined(__x86_64__) && !defined(__POPCNT__)
	uint64_t low, high; /* every x86-64 processor since 2008; the compiler's own way costs a call */
	__asm__("popcnt %1, %0" : "=r"(low) : "r"(b.low) : "cc");
	__asm__("popcnt %1, %0" : "=r"(high) : "r"(b.high) : "cc");
	return (unsigned)(low + high);
#else
	return (unsigned)(__builtin_popcountll(b.low) + __builtin_popcountll(b.high));
#endif
}

/* ---- cells, under the lock -------------------------------------------------------- */

/* The cell of key, or the empty cell where it belongs. The table must exist (used < capacity). */
static inline tl_unit* tlc_find(const tl_shard* s, uint64_t key)
{
	tl_unit* table = tlc_table(s);
	tl_unit* end = table + tlc_capacity(s);
	tl_unit* u = table + tlc_home(key, tlc_capacity(s));
	for (;;) {
		uint64_t k = tlc_get(&u->key);
		if (TLC_LIKELY(k == key) || k == 0) return u;
		if (++u == end) u = table;
	}
}

/* Makes the empty cell u that of key. There must be room. */
static inline void tlc_open(tl_shard* s, tl_unit* u, uint64_t key)
{
	for (int i = 0; i < 2; i++) {
		tlc_put(&u->starts[i], 0);
		tlc_put(&u->covers[i], 0);
	}
	tlc_put(&u->key, key);
	s->used++;
}

static inline void tlc_move(tl_unit* to, const tl_unit* from)
{
	for (int i = 0; i < 2; i++) {
		tlc_put(&to->starts[i], tlc_get(&from->starts[i]));
		tlc_put(&to->covers[i], tlc_get(&from->covers[i]));
	}
	to->only = from->only;
	tlc_put(&to->key, tlc_get(&from->key));
}

/* Empties a cell and shifts back what probed past it, so that nothing is left behind. */
static inline void tlc_remove(tl_shard* s, tl_unit* hole)
{
	tl_unit* table = tlc_table(s);
	uint64_t n = tlc_capacity(s), h = (uint64_t)(hole - table), i = h;
	for (;;) {
		if (++i == n) i = 0;
		uint64_t k = tlc_get(&table[i].key);
		if (k == 0) break;
		uint64_t home = tlc_home(k, n);
		uint64_t probed = i >= home ? i - home : i + n - home;
		uint64_t gap = i >= h ? i - h : i + n - h;
		if (probed < gap) continue; /* its home is behind the hole */
		tlc_move(&table[h], &table[i]);
		h = i;
	}
	tlc_put(&table[h].key, 0);
	s->used--;
}

/* Is u in use by nothing? */
static inline bool tlc_vacant(const tl_unit* u)
{
	return (tlc_get(&u->starts[0]) | tlc_get(&u->starts[1]) | tlc_get(&u->covers[0]) | tlc_get(&u->covers[1])) == 0;
}

/* ---- entries, under the lock ------------------------------------------------------- */

static inline tl_foreign_entry* tlc_list(const tl_unit* u) { return (tl_foreign_entry*)(uintptr_t)u->only.block; }

static inline unsigned tlc_rank(tlc_bits starts, unsigned bit)
{
	tlc_bits below = tlc_below(bit);
	return tlc_ones((tlc_bits){starts.low & below.low, starts.high & below.high});
}

/* Are the entries in a list? */
static inline bool tlc_listed(const tl_unit* u) { return u->only.gen == 0; }

/* The entry of a start bit that is set. */
static inline tl_foreign_entry* tlc_entry(tl_unit* u, unsigned bit)
{
	return tlc_listed(u) ? tlc_list(u) + tlc_rank(tlc_bits_of(u->starts), bit) : &u->only;
}

/* Sets a start bit and makes room for its entry. NULL, nothing changed: no memory at hand. */
static inline tl_foreign_entry* tlc_insert(tl_shard* s, tl_unit* u, unsigned bit)
{
	tlc_bits starts = tlc_bits_of(u->starts);
	tl_foreign_entry* e = &u->only;
	if ((starts.low | starts.high) != 0) {
		unsigned n = tlc_ones(starts);
		bool append = tlc_listed(u) && n < u->only.count && n == tlc_rank(starts, bit);
		e = append ? tlc_list(u) + n : tlc_insert_more(s, u, bit);
		if (TLC_UNLIKELY(e == NULL)) return NULL;
	}
	tlc_set(u->starts, tlc_bit(bit));
	return e;
}

static inline void tlc_erase(tl_shard* s, tl_unit* u, unsigned bit)
{
	if (tlc_listed(u)) {
		tlc_bits starts = tlc_bits_of(u->starts);
		unsigned n = tlc_ones(starts);
		if (n == 1 || n != tlc_rank(starts, bit) + 1) tlc_erase_more(s, u, bit);
	}
	tlc_clear(u->starts, tlc_bit(bit));
}

static inline uint32_t tlc_next_gen(tl_shard* s)
{
	if (TLC_UNLIKELY(++s->gen == 0)) s->gen = 1;
	return s->gen;
}

static inline uint32_t tlc_floats(const tl_foreign_entry* e) { return e->type_floats >> 24; }
static inline uint64_t tlc_bytes(const tl_foreign_entry* e) { return e->block & TL_FOREIGN_BYTES; }

/* Held by somebody who did not give the block back to the host. */
static inline bool tlc_is_live(const tl_foreign_entry* e)
{
	return e->count != 0 && !(e->block & TL_FOREIGN_HANDED_BACK);
}

static inline bool tlc_is_covered(const tl_foreign_entry* e) { return tlc_is_live(e) && tlc_bytes(e) != 0; }

static inline uint32_t tlc_kind(const tl_foreign_entry* e) { return e->block >> TL_FOREIGN_KIND_SHIFT & 0xFF; }

/* A dead entry under which free() takes the memory: it may stand for another block of malloc's. */
static inline bool tlc_is_revivable(const tl_foreign_entry* e)
{
	return e->link == 0 && (tlc_kind(e) == TL_FOREIGN_MALLOC || tlc_kind(e) == TL_FOREIGN_ALIGNED);
}

/* Kind and flags of blocks that tl_mem_register_* adopts. */
#define TL_FOREIGN_AS_ADOPTED ((uint64_t)TL_FOREIGN_MALLOC << TL_FOREIGN_KIND_SHIFT | TL_FOREIGN_ADOPTED)

/* Fills the new entry of a block: count 1, not floating. `as` is kind and flags. */
static inline uint32_t tlc_fill(tl_shard* s, tl_foreign_entry* e, uint64_t bytes, uint64_t as)
{
	uint32_t gen = tlc_next_gen(s);
	*e = (tl_foreign_entry){.count = 1, .gen = gen, .block = bytes | as};
	s->entries++;
	s->bytes += bytes;
	return gen;
}

/* A locked shard and an entry in it. */
typedef struct tlc_spot {
	tl_shard* shard;
	tl_unit* unit;
	tl_foreign_entry* entry; /* NULL: p is unknown, and nothing is locked */
	unsigned bit;
} tlc_spot;

static inline tlc_spot tlc_lock_entry(uintptr_t p)
{
	tlc_spot x = {.bit = tlc_start(p) & 127};
	if (TLC_UNLIKELY(!tlc_possible(p))) return x;
	uint64_t key = tlc_start_key(p);
	x.shard = &tlc_shards[tlc_shard_of(p)];
	tlc_shard_lock(x.shard);
	if (TLC_LIKELY(tlc_capacity(x.shard) != 0)) {
		x.unit = tlc_find(x.shard, key);
		if (tlc_get(&x.unit->key) == key && tlc_has(x.unit->starts, x.bit)) {
			x.entry = tlc_entry(x.unit, x.bit);
			return x;
		}
	}
	tlc_shard_unlock(x.shard);
	return x;
}

#endif
