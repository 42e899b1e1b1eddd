/* Tensors and their pool, as both paths see them.
 *
 * A tensor is one heap object of type TL_TYPE_TENSOR: this header, then the data, both
 * aligned to TL_TENSOR_ALIGN. Its count is never biased: record.loc is 0 and record.sh has
 * MERGED, so that the last reference frees at once on any thread. The header lies in
 * memory that a program can overwrite; before the pool keeps a dead tensor, its header is checked
 * against the slot that holds it.
 *
 * The pool keeps dead tensors by (elements, dtype, device), newest first, with header
 * and data as they were. While it does:
 *
 *   record.sh == 0, record.loc == 0, type stays, gen is the one of the next life
 *
 * so a stale pointer is TL_E_NOT_LIVE and a stale scope entry has another generation.
 * Nothing links through a tensor's memory: each key has a stack of entries of its own.
 *
 *   key.count <= shard.limit, room       shard.puts - shard.hits - shard.evicted == sum of key.count
 *   shard.bytes <= shard.grant           sum of shard.share <= byte limit
 *   shard.keys <= shard.key_limit < cells
 *   shard.grant - shard.share == bytes ever taken out
 *   shard.bytes - bytes ever taken out == sum of key.count * key.bytes
 *   no cell between home(key) and the cell of a key is empty   (linear probing)
 *
 * A key whose stack is empty stays until its cell is needed; Go removes it. A pool of zeros has no
 * room: every take misses, and a thread that wants to keep a tensor asks Go, which maps the tables
 * the first time.
 *
 * Lock order: the pool's shards are innermost, and only fork holds two.
 */
#ifndef TL_TENSOR_H
#define TL_TENSOR_H

#include "object_fast.h"

enum { TL_MAX_RANK = 8, TL_TENSOR_ALIGN = 64, TL_DTYPES = 24 };

/* header.flags. The fast path pools only tensors that have no flag but CONTIGUOUS. */
#define TL_TENSOR_CONTIGUOUS 1u
#define TL_TENSOR_IN_SLOT 2u
#define TL_TENSOR_EXTERNAL 4u   /* the data is somebody else's; deleter may end it */
#define TL_TENSOR_VIEW 8u       /* the data is that of base, which it holds a reference to */
#define TL_TENSOR_READ_ONLY 16u /* whoever lent the data does not want it written */
#define TL_TENSOR_ON_DEVICE 32u /* the data is a block of the device's default pool, which only Go gives back */
#define TL_TENSOR_BLOCK 64u     /* memory of a sparse matrix' block */

/* header.mark of a tensor at p is p ^ TL_TENSOR_MARK: what tells a tensor in a slot,
 * which has no record, from other bytes of the frame. */
#define TL_TENSOR_MARK 0x7E45094C5E9A3D01ull

/* Written by whoever makes the tensor, before anybody else has it. */
typedef struct tl_tensor_header {
	uintptr_t data;
	uint64_t numel;
	uint64_t nbytes;
	uint8_t dtype;
	uint8_t device;
	uint16_t rank;
	uint32_t flags;
	uintptr_t base;
	uintptr_t deleter;
	uintptr_t deleter_context;
	uint64_t mark;
	int64_t shape[TL_MAX_RANK];
	int64_t strides[TL_MAX_RANK]; /* in elements */
} tl_tensor_header;

enum { TLC_TENSOR_HEADER = sizeof(tl_tensor_header) };

/* A key of the pool and its stack. Guarded by the lock of its shard. */
typedef struct tl_tensor_pool_key {
	uint64_t elements;
	uint64_t bytes; /* of the heap that one of its tensors occupies */
	uint32_t kind;  /* TL_TENSOR_POOL_KIND; 0 = empty cell */
	uint16_t count;
	uint16_t referenced; /* it had a hit since the last search for something to evict */
	uintptr_t stack;     /* of shard.room entries */
} tl_tensor_pool_key;

/* One shard, two cache lines. All but `lock` and `misses` is written under the lock;
 * `cells`, `mask` and the limits are written once, `cells` last. */
typedef struct tl_tensor_pool_shard {
	_Atomic uint32_t lock; /* 1 = held */
	uint32_t mask;         /* cells - 1 */
	uint32_t keys;
	uint32_t key_limit;
	uint32_t limit; /* tensors of a key */
	uint32_t room;  /* of a stack */
	uint32_t spare[2];
	_Atomic uintptr_t cells; /* also read without the lock */
	uintptr_t fresh_stack;   /* stacks from here on were never used */
	uintptr_t free_stack;    /* a stack that no key has, 0 = none; the next one in its first entry */
	uint64_t bytes;          /* ever kept */
	uint64_t grant;          /* what `bytes` may come to: the share, and what was taken out */
	uint64_t puts;           /* tensors ever kept */
	uint64_t hits;           /* of them, handed out */
	uint64_t evicted;        /* of them, freed by Go */
	_Atomic uint64_t misses; /* without the lock */
	uint64_t share;          /* bytes that it may keep at once */
	uint64_t evicted_bytes;
	uint64_t padding[1];
} tl_tensor_pool_shard;

/* The shards stand behind the globals, in the same mapping. */
enum { TL_TENSOR_POOL_OFFSET = 8192, TL_TENSOR_POOL_SHARDS = 64 };
#define TL_TENSOR_POOL_KIND(dtype, device) (0x10000u | (uint32_t)(device) << 8 | (uint32_t)(dtype))

/* Bytes of an element, 0 = no such dtype. */
extern const uint8_t tlc_dtype_bytes[TL_DTYPES] __attribute__((visibility("hidden")));

/* ---- the pool ---------------------------------------------------------------------- */

static inline uint64_t tlc_tensor_pool_hash(uint64_t elements, uint32_t kind)
{
	uint64_t h = (elements ^ (uint64_t)kind << 40) * 0x9E3779B97F4A7C15ull;
	return h ^ h >> 32;
}

static inline tl_tensor_pool_shard* tlc_tensor_pool_shard(uint64_t hash)
{
	return (tl_tensor_pool_shard*)((char*)tlc_shared + TL_TENSOR_POOL_OFFSET) + hash % TL_TENSOR_POOL_SHARDS;
}

/* Where the search for a key begins; NULL while there are no cells. It is computed before the lock
 * is taken, so that neither waits for the other. */
static inline tl_tensor_pool_key* tlc_tensor_pool_home(const tl_tensor_pool_shard* s, uint64_t hash)
{
	tl_tensor_pool_key* cells = (tl_tensor_pool_key*)atomic_load_explicit(&s->cells, memory_order_acquire);
	return TLC_LIKELY(cells != NULL) ? cells + (hash / TL_TENSOR_POOL_SHARDS & s->mask) : NULL;
}

/* The cell of a key, or the empty one where it belongs. Under the lock. */
static inline tl_tensor_pool_key* tlc_tensor_pool_find(const tl_tensor_pool_shard* s, tl_tensor_pool_key* home,
                                                       uint64_t elements, uint32_t kind)
{
	tl_tensor_pool_key* cells = (tl_tensor_pool_key*)TLC_LOAD(s->cells);
	for (tl_tensor_pool_key* k = home;; k = cells + ((uint64_t)(k - cells + 1) & s->mask))
		if (TLC_LIKELY(k->elements == elements && k->kind == kind) || k->kind == 0) return k;
}

/* Takes the newest tensor of a key; object 0 is a miss.
 * Budget: one lock, one probe, 9 loads, 3 stores. */
static inline tl_entry tlc_tensor_pool_take(uint64_t elements, uint32_t kind)
{
	uint64_t hash = tlc_tensor_pool_hash(elements, kind);
	tl_tensor_pool_shard* s = tlc_tensor_pool_shard(hash);
	tl_tensor_pool_key* home = tlc_tensor_pool_home(s, hash);
	tl_entry e = {0, 0, 0};
	if (TLC_UNLIKELY(home == NULL)) return e;
	tlc_lock(&s->lock);
	tl_tensor_pool_key* k = tlc_tensor_pool_find(s, home, elements, kind);
	if (TLC_LIKELY(k->count != 0)) {
		e = ((const tl_entry*)k->stack)[--k->count];
		if (TLC_UNLIKELY(k->referenced == 0)) k->referenced = 1;
		s->grant += k->bytes;
		s->hits++;
	}
	tlc_unlock(&s->lock);
	return e;
}

static inline void tlc_tensor_pool_missed(uint64_t elements, uint32_t kind)
{
	atomic_fetch_add_explicit(&tlc_tensor_pool_shard(tlc_tensor_pool_hash(elements, kind))->misses, 1,
	                          memory_order_relaxed);
}

/* ---- live tensors -------------------------------------------------------------------- */

/* The record of the tensor in the slot that starts at p, live or not; NULL: ask Go. */
static inline tl_record* tlc_tensor_record(const tl_context* c, uintptr_t p)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(p, &r) || !tlc_is_fast(c))) return NULL;
	return TLC_LIKELY(TLC_LOAD(r->type_flags) == TL_TYPE_TENSOR) ? r : NULL;
}

/* Whether p is a tensor whose header and data lie in live frame memory of the calling thread. */
static inline bool tlc_tensor_in_slot(const tl_context* c, uintptr_t p)
{
	if (!tlc_is_fast(c) || p % TL_TENSOR_ALIGN != 0 || p - c->frame_base >= c->frame_top - c->frame_base) return false;
	const tl_tensor_header* h = (const tl_tensor_header*)p;
	uint64_t left = c->frame_top - p;
	return left >= TLC_TENSOR_HEADER && h->mark == (p ^ TL_TENSOR_MARK) && h->nbytes <= left - TLC_TENSOR_HEADER;
}

static inline int64_t tlc_at_least_1(int64_t n) { return n > 1 ? n : 1; }

/* Fills the header of a contiguous tensor on the heap whose data follows it. The shape
 * was checked. Fields that have a meaning only with other flags stay as they were. Budget: 4 stores
 * and 2 for each dimension. */
static inline void tlc_tensor_describe(tl_tensor_header* h, uint8_t dtype, uint64_t numel, uint16_t rank,
                                       const int64_t* shape)
{
	const union {
		struct {
			uint8_t dtype, device;
			uint16_t rank;
			uint32_t flags;
		} of;
		uint64_t word;
	} kind = {.of = {dtype, 0, rank, TL_TENSOR_CONTIGUOUS}};
	h->data = (uintptr_t)h + TLC_TENSOR_HEADER;
	h->numel = numel;
	h->nbytes = numel * tlc_dtype_bytes[dtype];
	__builtin_memcpy(&h->dtype, &kind.word, sizeof kind.word);
	int64_t stride = 1;
	for (unsigned i = rank; i-- > 0;) {
		h->shape[i] = shape[i];
		h->strides[i] = stride;
		stride *= tlc_at_least_1(shape[i]);
	}
}

/* Makes a dead tensor live with one reference; floats is 0 or one float. */
static inline void tlc_tensor_revive(tl_context* c, tl_record* r, uint32_t floats)
{
	atomic_store_explicit(&r->sh, TL_SH_ALIVE | TL_SH_MERGED | TL_SH_ONE | floats, memory_order_release);
	c->tensors_made++;
}

#endif
