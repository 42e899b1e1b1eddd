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
 *   key.count + key.lent <= shard.limit, room
 *   shard.puts - shard.hits - shard.evicted == sum of key.count
 *   shard.bytes <= shard.grant           sum of shard.share <= byte limit
 *   shard.keys <= shard.key_limit < cells
 *   shard.grant - shard.share == bytes ever given up
 *   shard.bytes - bytes ever given up == sum of (key.count + key.lent) * key.bytes
 *   shard.lent_bytes == sum of key.lent * key.bytes
 *   no cell between home(key) and the cell of a key is empty   (linear probing)
 *
 * A key whose stack is empty and of which no place is lent stays until its cell is needed; Go
 * removes it. A pool of zeros has no room: every take misses, and a thread that wants to keep a
 * tensor asks Go, which maps the tables the first time.
 *
 * A place in the pool can be lent to a thread, which then keeps a tensor there without a lock
 * (tl_tensor_cell). A take that finds a tensor in the pool lends its place. So the limits hold for
 * the pool and all threads together, and a thread has as many places as it has needed at once:
 *
 *   key.lent == sum of cell.room over all contexts          cell.count <= cell.room
 *   context.kept_puts - context.kept_hits == sum of cell.count, and the same of bytes
 *
 * Only its thread writes a cell. Whoever wants the tensors of other threads raises globals.recall:
 * from then on they keep nothing there, and they give places and tensors back at their next slow
 * call. A thread that ends gives them back as well (tensor_kept.c, runtime/tensor/kept.go).
 *
 * Lock order: the pool's shards are innermost, and only fork holds two.
 */
#ifndef TL_TENSOR_H
#define TL_TENSOR_H

#include "object_fast.h"

enum { TL_MAX_RANK = 8, TL_TENSOR_ALIGN = 64, TL_DTYPES = 24 };

/* Cells of a context, in sets; the tensors that one keeps at most; the most dimensions of its shape. */
enum { TL_TENSOR_CELLS = 64, TL_TENSOR_CELL_SET = 4, TL_TENSOR_CELL_ROOM = 16, TL_TENSOR_CELL_RANK = 4 };

/* header.flags. The fast path pools only tensors that have no flag but CONTIGUOUS. */
#define TL_TENSOR_CONTIGUOUS 1u
#define TL_TENSOR_IN_SLOT 2u
#define TL_TENSOR_EXTERNAL 4u   /* the data is somebody else's; deleter may end it */
#define TL_TENSOR_VIEW 8u       /* the data is that of base, which it holds a reference to */
#define TL_TENSOR_READ_ONLY 16u /* whoever lent the data does not want it written */
#define TL_TENSOR_ON_DEVICE 32u /* the data is a block of the device or of its pool, which only Go gives back */
#define TL_TENSOR_BLOCK 64u     /* memory of a sparse matrix' block */

/* header.mark of a tensor at p in a slot is p ^ TL_TENSOR_MARK: what tells it, which has no record, from other bytes of
 * the frame. On the heap it is a hint, the number of a cell that kept the tensor. */
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
	uintptr_t deleter;         /* of borrowed memory; on TL_DEVICE_SHARED: a file descriptor + 1 (tensor_shared.c) */
	uintptr_t deleter_context; /* its context; or where data is in that file */
	uint64_t mark;
	int64_t shape[TL_MAX_RANK];
	int64_t strides[TL_MAX_RANK]; /* in elements */
} tl_tensor_header;

#include "inline_tensors.h"

enum { TLC_TENSOR_HEADER = sizeof(tl_tensor_header) };

/* A key of the pool and its stack. Guarded by the lock of its shard. */
typedef struct tl_tensor_pool_key {
	uint64_t elements;
	uint64_t bytes; /* of the heap that one of its tensors occupies */
	uint32_t kind;  /* TL_TENSOR_POOL_KIND; 0 = empty cell */
	uint16_t count;
	uint8_t referenced; /* it had a hit since the last search for something to evict */
	uint8_t lent;       /* places that threads have */
	uintptr_t stack;    /* of shard.room entries */
} tl_tensor_pool_key;

/* One shard, two cache lines. All but `lock` and `misses` is written under the lock;
 * `cells`, `mask` and the limits are written once, `cells` last. */
typedef struct tl_tensor_pool_shard {
	_Atomic uint32_t lock; /* 1 = held */
	uint32_t mask;         /* cells - 1 */
	uint32_t keys;
	uint32_t key_limit;
	uint32_t limit;    /* tensors of a key */
	uint32_t room;     /* of a stack */
	uint32_t refusals; /* new keys to be refused before Go looks again for keys without tensors */
	uint32_t spare;
	_Atomic uintptr_t cells; /* also read without the lock */
	uintptr_t fresh_stack;   /* stacks from here on were never used */
	uintptr_t free_stack;    /* a stack that no key has, 0 = none; the next one in its first entry */
	uint64_t bytes;          /* of all places that were ever taken */
	uint64_t grant;          /* what `bytes` may come to: the share, and what was given up */
	uint64_t puts;           /* tensors ever kept */
	uint64_t hits;           /* of them, handed out */
	uint64_t evicted;        /* of them, freed by Go */
	_Atomic uint64_t misses; /* without the lock */
	uint64_t share;          /* bytes that it may keep at once */
	uint64_t hit_bytes;      /* of all hits */
	uint64_t lent_bytes;     /* of the places that threads have */
} tl_tensor_pool_shard;

/* What a thread keeps of one key, and the shape that its newest tensor had. A cell of zeros keeps
 * nothing. Nothing here is read from a tensor's header: what is kept fits the slots. */
typedef struct tl_tensor_cell {
	uint64_t numel;
	uint64_t nbytes;
	uint64_t kind;  /* what a header says from dtype to flags: dtype 8 | device 8 | rank 16 | flags 32 */
	uint64_t bytes; /* of the heap that one tensor occupies */
	uint64_t asked; /* of header and data: what sampling counts */
	uint64_t count; /* kept */
	uint64_t room;  /* places */
	uint32_t class; /* of the slots */
	uint32_t used;  /* it had a hit since the last search for a cell to give up */
	int64_t shape[TL_TENSOR_CELL_RANK];
	int64_t strides[TL_TENSOR_CELL_RANK];
	tl_entry entries[TL_TENSOR_CELL_ROOM]; /* the newest last */
} tl_tensor_cell;

/* The shards stand behind the globals, in the same mapping. */
enum { TL_TENSOR_POOL_OFFSET = 8192, TL_TENSOR_POOL_SHARDS = 64 };
#define TL_TENSOR_POOL_KIND(dtype, device) (0x10000u | (uint32_t)(device) << 8 | (uint32_t)(dtype))

/* Larger shapes are Go's: what they come to may overflow. */
#define TLC_TENSOR_SPREAD (1ull << 47)

/* Bytes of an element, 0 = no such dtype. The mask keeps a dtype of a header that was overwritten inside the table. */
#define TLC_DTYPE_MASK 31
extern const uint8_t tlc_dtype_bytes[TLC_DTYPE_MASK + 1] __attribute__((visibility("hidden")));

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

static inline void tlc_tensor_pool_missed(uint64_t elements, uint32_t kind)
{
	atomic_fetch_add_explicit(&tlc_tensor_pool_shard(tlc_tensor_pool_hash(elements, kind))->misses, 1,
	                          memory_order_relaxed);
	TLC_PROBE_POOL_MISS(elements, (uint8_t)kind);
}

/* ---- what a thread keeps (tensor_kept.c) ---------------------------------------------- */

/* Of cell.kind and the same word of a header: all but the rank. */
#define TLC_KIND_KEY (~((uint64_t)0xFFFF << 16))

/* The word of a contiguous tensor of the CPU. */
static inline uint64_t tlc_tensor_kind(uint32_t dtype, uint64_t rank)
{
	return dtype | rank << 16 | (uint64_t)TL_TENSOR_CONTIGUOUS << 32;
}

static inline tl_tensor_cell* tlc_tensor_cell(const tl_context* c, size_t i)
{
	return (tl_tensor_cell*)((char*)c + TLC_CELLS_OFFSET) + i;
}

/* The cell in which a key is looked for first; the others of its set have the same number but for
 * the lowest bits. */
static inline size_t tlc_tensor_cell_home(uint64_t elements, uint32_t dtype)
{
	return (elements + ((uint64_t)dtype << 40)) * 0x9E3779B97F4A7C15ull >> 58;
}

/* Whether a cell in use is that of a key. kind may have any rank. */
static inline bool tlc_tensor_is_cell_of(const tl_tensor_cell* k, uint64_t elements, uint64_t kind)
{
	return k->numel == elements && ((k->kind ^ kind) & TLC_KIND_KEY) == 0;
}

/* The cell of a key; NULL: there is none. kind may have any rank. The context is not a stub. */
static inline tl_tensor_cell* tlc_tensor_cell_find(const tl_context* c, uint64_t elements, uint64_t kind)
{
	size_t home = tlc_tensor_cell_home(elements, (uint8_t)kind);
	for (size_t i = 0; i < TL_TENSOR_CELL_SET; i++)
		if (TLC_LIKELY(tlc_tensor_is_cell_of(tlc_tensor_cell(c, home ^ i), elements, kind)))
			return tlc_tensor_cell(c, home ^ i);
	return NULL;
}

/* Whether this thread was asked for what it keeps, and may keep nothing until it has answered. */
static inline bool tlc_tensors_are_recalled(const tl_context* c)
{
	return TLC_LOAD(tlc_shared->recall) != c->recall_seen;
}

/* Takes the newest tensor of a cell that has one. */
static inline tl_entry tlc_tensor_cell_pop(tl_context* c, tl_tensor_cell* k)
{
	tl_entry e = k->entries[--k->count];
	k->used = 1;
	c->kept_hits++;
	c->kept_hit_bytes += k->bytes;
	return e;
}

#pragma GCC visibility push(hidden)

/* Takes a tensor of a key: one that this thread keeps, else the newest of the pool, whose place the
 * thread gets. Object 0 is a miss. *cell is the cell of the key, NULL when there is none. */
tl_entry tlc_tensor_take(tl_context* c, uint64_t elements, uint32_t dtype, tl_tensor_cell** cell);

/* Whether a slot of a large object has these bytes of the heap. */
bool tlc_tensor_is_large(const tl_tensor_header* h, uintptr_t p, uint64_t bytes);

/* Ends memory that a child of fork() has opened (tensor_shared.c). */
void tlc_shared_end(void* data, void* ctx);

/* Whether a device other than 0 is not the CPU either, or may not be. */
bool tlc_is_elsewhere(int32_t device);
static inline bool tlc_is_cpu(int32_t device) { return TLC_LIKELY(device == 0) || !tlc_is_elsewhere(device); }

/* Drops the last reference of a tensor over borrowed memory and calls its deleter; false: ask Go, nothing changed. The
 * last step of its caller (tensor_borrowed.c). */
bool tlc_borrowed_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh);

/* Gives the pool all tensors and places that a context has; what is left was asked for, and is Go's to give back. */
void tlc_tensor_hand_over(tl_context* c);

#pragma GCC visibility pop

/* Takes the last reference of a tensor whose entry has the tag; false: another thread has changed the shared word since
 * the caller saw sh there. Where it has changed and changed back, the tag becomes that of the record's life now.
 *
 * While the context is the only one that was ever made, nobody else changes that word, and a store does what otherwise
 * takes a compare-and-swap. Whoever makes the second context clears `alone`, has every thread pass a memory barrier, and
 * then waits until this thread is not busy (runtime/object/alone.go). So either this thread sees that it is not alone, or
 * the other one sees that it is busy, and waits. The fence here is the compiler's only: the other side's barrier is one
 * on this processor, too (asymmetric fences, Goldblatt, WG21 P1202, 2018). docs/model/orders_alone.hpp has the steps. */
static inline __attribute__((always_inline)) bool tlc_tensor_end(tl_context* c, tl_record* r, uint32_t sh,
                                                                 uint64_t* tag)
{
	if (TLC_LIKELY(TLC_LOAD(c->alone) != 0)) {
		TLC_STORE(c->busy, 1);
		atomic_signal_fence(memory_order_seq_cst);
		const bool alone = TLC_LOAD(c->alone) != 0;
		if (TLC_LIKELY(alone)) atomic_store_explicit(&r->sh, 0, memory_order_release);
		atomic_store_explicit(&c->busy, 0, memory_order_release);
		if (TLC_LIKELY(alone)) return true;
	}
	if (TLC_UNLIKELY(
			!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed)))
		return false;
	const uint32_t gen = TLC_LOAD(r->gen);
	if (TLC_UNLIKELY(gen != (uint32_t)(*tag >> 32))) {
		*tag = (uint32_t)*tag | (uint64_t)gen << 32;
		__asm__ volatile(""
		                 : "+r"(*tag)); /* keeps the compiler from a conditional move, which would wait for the load */
	}
	return true;
}

/* Keeps a tensor of the key of cell k in a place that the thread has there, and takes its last
 * reference; false: there is no place, nothing changed. The tag is that of its entry. Only what a cell
 * says of its key is believed, and a slot has to be as large as those of the cell; whoever has a large
 * object has compared its spans. The entry's next tag comes from the old one and not from the record: a program that
 * makes and frees one tensor after the other waits for each load of what it has just stored. Budget: 12 loads and 9
 * stores, or 6 and a compare-and-swap. */
static inline __attribute__((always_inline)) bool tlc_tensor_keep_in(tl_context* c, tl_tensor_cell* k, tl_record* r,
                                                                     uintptr_t object, uint64_t tag, uint32_t sh)
{
	const uint64_t count = k->count;
	if (TLC_UNLIKELY(count >= k->room || tlc_tensors_are_recalled(c))) return false;
	if (TLC_UNLIKELY(k->class != (uint8_t)(tag >> 32) || tlc_is_last_life((uint32_t)(tag >> 32)))) return false;
	if (TLC_UNLIKELY(!tlc_tensor_end(c, r, sh, &tag))) return false;
	const uint64_t next = (uint64_t)TL_GEN_ONE << 32;
	tlc_set_life(r, tlc_life(r) + next); /* whoever frees the next one loads both words as one */
	tlc_set_entry(&k->entries[count], object, tag + next);
	k->count = count + 1;
	c->kept_puts++;
	c->kept_put_bytes += k->bytes;
	TLC_PROBE_FREE(object);
	return true;
}

/* What a header says from dtype to flags. */
static inline uint64_t tlc_tensor_said_kind(const tl_tensor_header* h)
{
	uint64_t kind;
	__builtin_memcpy(&kind, &h->dtype, sizeof kind);
	return kind;
}

/* The same for an object that is not large, where its header names the cell. drop_last writes the number of the cell
 * there; it may be stale, and then the caller goes the long way. The number is not computed from the key: the next tensor
 * of the cell would wait for the load of the key, the hash, and the store that depends on it. */
static inline __attribute__((always_inline)) bool tlc_tensor_keep(tl_context* c, tl_record* r, uintptr_t object,
                                                                  uint64_t tag, uint32_t sh)
{
	const tl_tensor_header* h = (const tl_tensor_header*)object;
	tl_tensor_cell* k = tlc_tensor_cell(c, h->mark % TL_TENSOR_CELLS);
	return TLC_LIKELY(tlc_tensor_is_cell_of(k, h->numel, tlc_tensor_said_kind(h))) &&
	       TLC_LIKELY(k->class != TL_CLASS_LARGE) && tlc_tensor_keep_in(c, k, r, object, tag, sh);
}

/* ---- live tensors (inline_tensors.h) --------------------------------------------------- */

/* Whether p is a tensor whose header and data lie in live frame memory of the calling thread. */
static inline bool tlc_tensor_in_slot(const tl_context* c, uintptr_t p)
{
	if (!tlc_is_fast(c) || p % TL_TENSOR_ALIGN != 0 || p - c->frame_base >= c->frame_top - c->frame_base) return false;
	const tl_tensor_header* h = (const tl_tensor_header*)p;
	uint64_t left = c->frame_top - p;
	return left >= TLC_TENSOR_HEADER && h->mark == (p ^ TL_TENSOR_MARK) && h->nbytes <= left - TLC_TENSOR_HEADER;
}

static inline int64_t tlc_at_least_1(int64_t n) { return n > 1 ? n : 1; }

/* Writes a shape, and the strides of elements without gaps. */
static inline void tlc_tensor_lay_out(int64_t* to, int64_t* strides, unsigned rank, const int64_t* shape)
{
	int64_t stride = 1;
	for (unsigned i = rank; i-- > 0;) {
		to[i] = shape[i];
		strides[i] = stride;
		stride *= tlc_at_least_1(shape[i]);
	}
}

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
	tlc_tensor_lay_out(h->shape, h->strides, rank, shape);
}

/* Gives a slot of a magazine to a tensor and counts it; its record stays dead. */
static inline tl_record* tlc_tensor_slot(tl_context* c, tl_entry e)
{
	tl_record* r = tlc_g.records + e.record;
	TLC_STORE(r->type_flags, TL_TYPE_TENSOR);
	TLC_STORE(r->loc, 0);
	((tl_tensor_header*)e.object)->mark = 0; /* read as a hint, and the slot may hold what memcheck calls undefined */
	tl_kind_counters* tensors = &c->kinds[TL_TYPE_TENSOR];
	tensors->made++;
	tensors->bytes_made += tlc_g.classes[e.gen & 0xFF].size;
	return r;
}

/* Makes a dead tensor live with one reference; floats is 0 or one float. One out of a cell is counted there. */
static inline void tlc_tensor_wake(tl_record* r, uint32_t floats)
{
	atomic_store_explicit(&r->sh, TL_SH_ALIVE | TL_SH_MERGED | TL_SH_ONE | floats, memory_order_release);
}
static inline void tlc_tensor_revive(tl_context* c, tl_record* r, uint32_t floats)
{
	tlc_tensor_wake(r, floats);
	c->tensors_made++;
}

/* Gives the slot of a tensor that is dead to the magazine, which has room. */
static inline void tlc_tensor_give_slot(tl_context* c, tl_magazine* m, tl_record* r, tl_entry e)
{
	TLC_STORE(r->type_flags, TL_TYPE_PLAIN);
	e.gen = TLC_LOAD(r->gen);
	*m->top++ = tlc_renew(r, e);
	c->tensors_gone++;
	tl_kind_counters* tensors = &c->kinds[TL_TYPE_TENSOR];
	tensors->gone++;
	tensors->bytes_gone += tlc_g.classes[e.gen & 0xFF].size;
	TLC_PROBE_FREE(e.object);
}

/* Drops the last reference of a tensor: its slot goes to the magazine. sh is the count word that the caller has seen.
 * False: ask Go, nothing changed. */
static inline bool tlc_tensor_recycle(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	tl_magazine* m = &c->magazines[e.gen & 0xFF];
	if (TLC_UNLIKELY(m->top == m->limit)) return false;
	if (!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	tlc_tensor_give_slot(c, m, r, e);
	return true;
}

/* Drops the only reference of a view: its slot goes to the magazine, and its reference to the
 * storage is dropped (tensor_free.c). False: ask Go, nothing changed. */
bool tlc_view_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh) __attribute__((visibility("hidden")));

#endif
