/* Memory pools.
 *
 * A pool gives out blocks of chunks that it got from a device. Nothing is ever read
 * from or written to those bytes: all that is known of a block stands in a record of
 * a table apart, since the memory may be one that the CPU cannot reach.
 *
 * Which block: the smallest free one that is large enough, of several the one at the
 * lowest address. It is cut when more than TL_MEMPOOL_SPLIT bytes would remain; the low
 * part is given out. A block that comes back is joined with its free neighbours.
 *
 *   bin      free blocks by size: exact below 2 * TL_MEMPOOL_SUBBINS granules, above that
 *            TL_MEMPOOL_SUBBINS bins for each power of two. Bitmaps of three levels lead
 *            to the next bin in use; the blocks of a bin are a treap in the order of
 *            (bytes, address) whose priorities are hashes of record numbers
 *   record   a block, linked to its neighbours in the chunk
 *   hash     live blocks by address, chained through their records
 *   lifo     the LIFO cache, below
 *   caches   blocks that threads keep, below
 *
 * Invariants (runtime/mempool.Check runs them):
 *
 *   blocks of a chunk tile it;  next(prev(b)) == b;  no two neighbours are both free
 *   bytes of every block, of every chunk == n * granule, n > 0
 *   bit of a bin is set           <=>  its treap is not empty;  bit of a level above  <=>  word below != 0
 *   b is in the treap of bin(b)   <=>  b is free
 *   b is in the chain of hash(b)  <=>  b is live and not lent
 *   sum of bytes of live blocks - pending bytes  ==  total_allocated - total_freed
 *   live blocks - pending blocks                 ==  allocations - deallocations
 *   free + live + waiting blocks + unused records + 1 == fresh <= limit;  unused  <=>  word == 0
 *
 * The LIFO cache is a log of the allocations that happened since the last change of
 * any other kind, [low, live) still held and [live, high) given back last first:
 *
 *   low <= live <= high <= low + TL_MEMPOOL_LIFO_SIZE
 *
 * Giving the newest one back restores the state that it was made in. A request of the
 * same size in that state has the same answer, so both are one step along the log and
 * the tables need not change. The blocks in [live, high) count as free; any operation that looks at
 * the tables first gives them back for good. So the blocks that a pool gives out are those that
 * exact best fit without a cache would give out, always.
 *
 * Caches. Threads that meet at a pool's lock share the pool from then on: each has a cache, by its
 * number. A cache knows some of the blocks that its threads have: HELD by the program, or KEPT, which
 * the program gave back and the next request for the same bytes takes. Both need the lock of
 * the cache alone. For the tables a kept block is live. A pool is shared until something looks at its
 * free blocks: a request that finds none, trim, reset, statistics, destroy, memory pressure. That
 * recalls the caches, and exact best fit holds for all blocks again. A pool that one thread
 * uses at a time is never shared.
 *
 *   bit of a cache in open        <=>  its handle is the pool's;  open != 0  =>  the log is empty
 *   entry of cache i at b         <=>  b is live and right(b) == i + 1
 *   entry is KEPT                 <=>  it is in the list of its request, once
 *   sum of bytes of KEPT entries   ==  freed - allocated  >=  least[i],  of cache i
 *   with caches, live blocks are  total_allocated - total_freed - sum of bytes of KEPT entries
 *
 * The peak of a shared pool adds up what each thread held at most since the last new peak or since an entry of its
 * cache came or went: never less than the bytes that were in use at once, nor more than the sum of the threads' own
 * peaks.
 *
 * A pool's lock guards its record except `open` and `least`, which other threads read too. The lock of a cache
 * guards the cache, and handle, addresses and lists are looked at without it, too. Entries come, and
 * leave for the tables, under both, the pool's first. Under a lock nothing is obtained, nothing is called
 * but the functions below, and nothing is locked but caches under the pool's.
 *
 * The fast path (cshim/pools/pools.c) includes the operations that are called often, from blocks.h. Go
 * (runtime/mempool) calls the functions below; it grows tables, obtains chunks and knows what blocks
 * wait for.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TL_MEMPOOL_SPLIT = 256,    /* what remains must be more to be a block of its own */
	TL_MEMPOOL_LIFO_SIZE = 64, /* a power of two */
	TL_MEMPOOL_SUBBIN_BITS = 9,
	TL_MEMPOOL_SUBBINS = 1 << TL_MEMPOOL_SUBBIN_BITS,
	TL_MEMPOOL_SIZE_BITS = 48,
	TL_MEMPOOL_LEAVES = (TL_MEMPOOL_SIZE_BITS - TL_MEMPOOL_SUBBIN_BITS + 1) * TL_MEMPOOL_SUBBINS / 64,
	TL_MEMPOOL_NODES = (TL_MEMPOOL_LEAVES + 63) / 64,
	TL_MEMPOOL_SLOT_BITS = 10,
	TL_MEMPOOL_SLOTS = 1 << TL_MEMPOOL_SLOT_BITS, /* of which number 0 stays empty */
	TL_MEMPOOL_STRIDE = 16384,
	TL_MEMPOOL_CACHES = 8, /* threads beyond them share some */
	TL_MEMPOOL_CACHES_AT = 4096,
	TL_MEMPOOL_WAYS = 4, /* entries of a cache where an address may be */
	TL_MEMPOOL_SET_BITS = 4,
	TL_MEMPOOL_ENTRIES = TL_MEMPOOL_WAYS << TL_MEMPOOL_SET_BITS,
	TL_MEMPOOL_LIST_BITS = 5,
	TL_MEMPOOL_WORTH = 64, /* the most worth, and that of a cache that opens */
	TL_MEMPOOL_PATIENCE = 4096,
};

/* A handle is generation << TL_MEMPOOL_SLOT_BITS | slot; runtime/handle makes them. */

/* block.word = FREE 1 | tag 15 | bytes 48. Blocks with a tag are in no chain and no treap,
 * and so nobody's but Go's, which knows what they wait for (runtime/mempool/ordered.go):
 * WAITS was given back, but work of a stream may still use it; LENT was given out to that
 * stream meanwhile, and counts as live. */
#define TL_MEMPOOL_BYTES 0xFFFFFFFFFFFFull
#define TL_MEMPOOL_TAG_SHIFT 48
#define TL_MEMPOOL_WAITS (1ull << TL_MEMPOOL_TAG_SHIFT)
#define TL_MEMPOOL_LENT (2ull << TL_MEMPOOL_TAG_SHIFT)
#define TL_MEMPOOL_FREE (1ull << 63)

/* The record of a block. */
typedef struct tl_mempool_block {
	uint64_t address;
	uint64_t word;
	uint32_t prev, next; /* neighbours; 0 = the chunk ends here */
	uint32_t left;       /* free: smaller ones; live: the chain; unused: the next unused one */
	uint32_t right;      /* free: larger ones; live: 1 + number of the cache that has it, 0 = none */
} tl_mempool_block;

/* A chunk. */
typedef struct tl_mempool_chunk {
	uint64_t address, bytes; /* no bytes: it is about to leave Go's table of chunks */
	uint64_t first;          /* record of its first block, which keeps it */
} tl_mempool_chunk;

/* An allocation in the log. */
typedef struct tl_mempool_lifo {
	uint64_t request; /* bytes, rounded to the granule */
	uint64_t address;
	uint64_t bytes; /* of the block */
	uint64_t spare;
} tl_mempool_lifo;

/* cache.words[i] = KEPT 1 | 0 6 | bytes beyond the request 9 | bytes 48 */
#define TL_MEMPOOL_OVER_SHIFT 48
#define TL_MEMPOOL_KEPT (1ull << 63)

/* A cache of a shared pool. One that is not in use is zeros but for what tells how useful it was (patience, waits, worth, shift,
 * next), which the pool's lock guards. */
typedef struct tl_mempool_cache {
	_Atomic uint32_t lock;
	_Atomic uint32_t shift;              /* the pool's; as a hint it is read without the lock, too */
	_Atomic uint64_t handle;             /* the pool's, in use */
	uint64_t allocated, freed;           /* bytes that requests took here, and gave back */
	uint64_t allocations, deallocations; /* blocks */
	uint64_t least;                      /* what the pool has as its least of this cache */
	uint32_t worth;                      /* requests that were served, less those that were not; 0: it closes */
	uint16_t patience, waits;            /* it opens when a thread has wished it so often; it did so often */
	_Atomic uint64_t addresses[TL_MEMPOOL_ENTRIES]; /* 0 = no entry */
	uint64_t words[TL_MEMPOOL_ENTRIES];
	uint8_t next[TL_MEMPOOL_ENTRIES];                 /* KEPT: 1 + next entry of the list, 0 = none */
	_Atomic uint8_t lists[1 << TL_MEMPOOL_LIST_BITS]; /* KEPT entries by hash of the request, last first */
	uint64_t spare[12];
} tl_mempool_cache;

/* Free blocks by size. Bit i of leaves[l] is bin 64 * l + i, and so on upwards. */
typedef struct tl_mempool_bins {
	uint64_t top;
	uint64_t nodes[TL_MEMPOOL_NODES];
	uint64_t leaves[TL_MEMPOOL_LEAVES];
	uint32_t roots[TL_MEMPOOL_LEAVES * 64];
} tl_mempool_bins;

/* A pool. An empty slot is zeros, and its handle that of another slot, so that no handle
 * leads there. Slot 0 is never a pool's: `fresh` of it is how many slots were ever used,
 * and its lock guards that. */
typedef struct tl_mempool_state {
	_Atomic uint32_t lock; /* 1 = held */
	uint32_t shift;        /* of the granule, to which sizes are rounded */
	uint64_t handle;
	uint32_t low, live, high; /* of the log, modulo 2^32 */
	uint32_t fresh;           /* records from here on were never used */
	uint64_t total_allocated, total_freed;
	uint64_t allocations, deallocations;
	uint64_t peak;
	uintptr_t blocks; /* table of records; number 0 is nobody's */
	uintptr_t hash;   /* chains by hash of the address */
	uint32_t limit;   /* records in the table, and chains: a power of two, or 0 */
	uint32_t hash_shift;
	uint32_t unused; /* list of records that are in no use, linked through left */
	uint32_t free_blocks;
	uintptr_t bins;
	uint64_t reserved; /* bytes of chunks */
	uint64_t device_allocations;
	_Atomic uint64_t least[TL_MEMPOOL_CACHES]; /* bytes that a cache kept at all times since an entry came or went */
	tl_mempool_lifo lifo[TL_MEMPOOL_LIFO_SIZE];
	uint64_t apart[8];     /* every call reads what follows, which seldom changes */
	_Atomic uint32_t open; /* bits of caches in use */
} tl_mempool_state;

/* What became of a request. If it was not served, nothing but the log and the caches has changed. */
enum {
	TL_MEMPOOL_SERVED = 0,
	TL_MEMPOOL_GONE = 1,      /* the handle is not the pool's any more */
	TL_MEMPOOL_NO_RECORD = 2, /* the table of records has to grow */
	TL_MEMPOOL_NO_BLOCK = 3,  /* no free block is large enough, or no live one starts at the address */
};

typedef struct tlc_mempool_taken {
	uint64_t address;
	uint32_t why; /* TL_MEMPOOL_SERVED and so on */
} tlc_mempool_taken;

#pragma GCC visibility push(hidden)

/* ---- operations that take the pool's lock ---------------------------------------------------- */

/* Allocates a block for a request, a multiple of the granule, and takes one back. What caches keep is in the tables
 * before. */
tlc_mempool_taken tlc_mempool_take(tl_mempool_state* p, uint64_t handle, uint64_t request);
uint32_t tlc_mempool_give(tl_mempool_state* p, uint64_t handle, uint64_t address);

/* The same for a thread of that number which meets others in the pool, and whose cache cannot serve it; 0 and false:
 * ask Go. */
uint64_t tlc_mempool_take_waiting(tl_mempool_state* p, uint64_t handle, uint32_t number, uint64_t n);
bool tlc_mempool_give_waiting(tl_mempool_state* p, uint64_t handle, uint64_t address);

/* ---- operations under the pool's lock -------------------------------------------------------- */

/* Moves all that was given back into the tables: what the log has, and what caches keep. Those of the
 * others that change blocks do that first. */
void tlc_mempool_flush(tl_mempool_state* p);

/* Makes a chunk a free block; its record. 0: none is at hand, and nothing has changed. */
uint32_t tlc_mempool_add_chunk(tl_mempool_state* p, uint64_t address, uint64_t bytes);

/* Takes the chunk whose first block has that record out of the tables; false: a block of it is in use. */
bool tlc_mempool_take_chunk(tl_mempool_state* p, uint32_t first);

/* Forgets all blocks and makes every chunk a free one. With `limit` the pool has other tables from here
 * on, of zeros and of so many records. */
void tlc_mempool_rebuild(tl_mempool_state* p, tl_mempool_chunk* chunks, uint64_t n, uintptr_t blocks, uintptr_t hash,
                         uint32_t limit);

/* Copies the records into a larger table, which is the pool's from here on, with empty chains. */
void tlc_mempool_grow(tl_mempool_state* p, uintptr_t blocks, uintptr_t hash, uint32_t limit);

/* The bytes of the live block at an address, and of the largest free block; 0: there is none. */
uint64_t tlc_mempool_lends(tl_mempool_state* p, uint64_t address);
uint64_t tlc_mempool_largest(tl_mempool_state* p);

/* Makes a live block one that waits: the block at an address, or one with the tag LENT, by its record. It
 * returns the record; 0: no live block starts there. */
uint32_t tlc_mempool_set_aside(tl_mempool_state* p, uint64_t address, uint32_t lent);

/* Lends a block that waits. What is beyond the request goes on waiting, and *rest is its record, or 0 if the
 * block is not cut. false: no record is at hand, and nothing has changed. */
bool tlc_mempool_lend(tl_mempool_state* p, uint32_t record, uint64_t request, uint32_t* rest);

/* What a block waited for has passed: a lent one is like any other, and a waiting one is free. */
void tlc_mempool_settle(tl_mempool_state* p, uint32_t record);
void tlc_mempool_end_wait(tl_mempool_state* p, uint32_t record);

#pragma GCC visibility pop
