/* What the files of the heap share: helpers that their callers inline, and functions that lie in one of the files. */
#pragma once

#include "../base/lock.h"
#include "heap.h"

#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)

static inline uint32_t min(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }
static inline uint32_t max(uint64_t a, uint64_t b) { return (uint32_t)(a > b ? a : b); }

#pragma GCC visibility push(hidden)

/* ---- accounts, under their lock -------------------------------------------------------------- */

static inline void lock(const tl_heap* h) { tlc_lock(&h->all->lock); }
static inline void unlock(const tl_heap* h) { tlc_unlock(&h->all->lock); }

/* Whether bytes may be charged: up to the high watermarks, or with `anyway` up to the hard limits. */
static inline bool has_room(const tl_account* a, uint64_t bytes, bool anyway)
{
	const uint64_t limit = anyway ? LOAD(a->hard) : LOAD(a->high_watermark), used = LOAD(a->used);
	return TLC_LIKELY(limit == 0) || (used <= limit && bytes <= limit - used);
}

static inline bool may_charge(const tl_account* of, const tl_account* all, uint64_t bytes, bool anyway)
{
	return has_room(of, bytes, anyway) && has_room(all, bytes, anyway);
}

static inline void charge_one(tl_account* a, uint64_t bytes)
{
	const uint64_t used = LOAD(a->used) + bytes;
	STORE(a->used, used);
	STORE(a->obtained, LOAD(a->obtained) + bytes);
	if (LOAD(a->peak) < used) STORE(a->peak, used);
}

static inline void charge(tl_account* of, tl_account* all, uint64_t bytes)
{
	charge_one(of, bytes);
	charge_one(all, bytes);
}

static inline void raise(_Atomic uint64_t* peak, uint64_t to)
{
	uint64_t was = LOAD(*peak);
	while (was < to &&
	       !atomic_compare_exchange_weak_explicit(peak, &was, to, memory_order_relaxed, memory_order_relaxed)) {}
}

static inline void credit(tl_account* of, tl_account* all, uint64_t bytes)
{
	STORE(of->used, LOAD(of->used) - bytes);
	STORE(all->used, LOAD(all->used) - bytes);
}

/* ---- magazines ------------------------------------------------------------------------------- */

/* A slot enters or leaves a magazine: statistics look at the sums while the owner works on them (runtime/object/counters.go),
 * so what was refilled is counted before the top shows it, and what was flushed after. */
static inline void count_flow(_Atomic uint64_t* of, uint64_t n)
{
	atomic_store_explicit(of, LOAD(*of) + n, memory_order_release);
}

/* ---- records (spans.c) ----------------------------------------------------------------------- */

/* A block of dead records that are not all retired. Under the heap's lock. */
int tlc_take_block(tl_heap* h, uint32_t size_class, uint32_t* first);

static inline tl_record* metadata_of(const tl_heap* h, uint32_t first, uint32_t n)
{
	return n > 1 ? h->block_metadata + first / TL_BLOCK_RECORDS : h->records + first + n;
}

/* The bytes in front of a slot that belong to it: to those of classes of cells their head. */
static inline uint32_t head_bytes(uint32_t size_class)
{
	return size_class - TL_CLASS_CELL < TL_CLASS_LARGE - TL_CLASS_CELL ? sizeof(tl_cell_head) : 0;
}

/* How many records lie from one slot's to the next one's, as a power of two (layout.FillClasses). */
static inline uint32_t step_shift(const tl_class_info* k) { return k->size >= TL_LINE_SLOT_BYTES ? 2 : 0; }
_Static_assert(TL_LINE_RECORDS == 1 << 2, "step_shift");

static inline void give_block(tl_heap* h, uint32_t size_class, uint32_t first)
{
	STORE(metadata_of(h, first, h->classes[size_class].block_records)->type_flags, h->free_records[size_class]);
	h->free_records[size_class] = first;
}

/* The block is in use, for what stands at a span. */
static inline void use_block(tl_heap* h, uint32_t first, uint32_t n, uint32_t span)
{
	tl_record* m = metadata_of(h, first, n);
	STORE(m->loc, 0);
	STORE(m->type_flags, span);
}

/* Prepares a record whose slot is handed out for the first time since its block was taken fresh or purged: zeros are dead,
 * and only the generation is missing. The slab that had the block before may have left a link. */
static inline uint32_t prepare(tl_heap* h, uint32_t first, uint32_t i, uint32_t n, uint32_t size_class)
{
	tl_record* r = h->records + first + i;
	STORE(r->loc, 0);
	uint32_t gen = LOAD(r->gen);
	if (gen == 0) {
		gen = LOAD(metadata_of(h, first, n)->gen) | size_class;
		STORE(r->gen, gen);
	}
	return gen;
}

/* ---- runs of spans (spans.c) ----------------------------------------------------------------- */

/* Takes a free run out of its list. The second takes [start, start + n) out of it, and leaves the rest. */
void tlc_remove_run(tl_heap* h, uint32_t first);
void tlc_carve_run(tl_heap* h, uint32_t run, uint32_t start, uint32_t n);

/* n spans that begin at a multiple of `align`; *zero: they read as zero. */
int tlc_take_run(tl_heap* h, uint32_t n, uint32_t align, uint32_t* at, bool* zero);
void tlc_give_run(tl_heap* h, uint32_t first, uint32_t n, bool dirty);

/* Whether the clock has to run. Go clears `ticking` and then looks what is idle: one of both sees the other, by a fence
 * here, or because both have the heap's lock. Two that give back runs and slots may each miss the other's part of the sum:
 * the next one asks. */
static inline bool needs_clock(const tl_heap* h) { return LOAD(h->dirty) + LOAD(h->idle) > TL_HEAP_KEEPS; }

/* Starts the clock where threads have so much in magazines and in use that it has to look which of them rest. */
static inline void tlc_watch(tl_heap* h)
{
	if (LOAD(h->handed) > TL_HEAP_KEEPS) tlc_heap_watch(h);
}

/* Lists are changed under a lock. Who asks whether a depot has a slab reads the heads without it. */
static inline void link_span(const tl_heap* h, uint32_t* head, uint32_t span)
{
	tl_span_meta* m = &h->metas[span];
	m->next = *head;
	m->prev = 0;
	if (*head != 0) h->metas[*head].prev = span;
	__atomic_store_n(head, span, __ATOMIC_RELAXED);
}

static inline void unlink_span(const tl_heap* h, uint32_t* head, uint32_t span)
{
	tl_span_meta* m = &h->metas[span];
	if (m->prev != 0) h->metas[m->prev].next = m->next;
	else __atomic_store_n(head, m->next, __ATOMIC_RELAXED);
	if (m->next != 0) h->metas[m->next].prev = m->prev;
	m->next = m->prev = 0;
}

static inline uint64_t bytes_of(uint32_t spans) { return (uint64_t)spans << TL_SPAN_SHIFT; }

static inline uintptr_t address_of(const tl_heap* h, uint32_t span) { return h->base + bytes_of(span); }

static inline uint32_t span_at(const tl_heap* h, uintptr_t p) { return (uint32_t)((p - h->base) >> TL_SPAN_SHIFT); }

/* The words of so many spans are going to be written. Returns how many of them, from the first on, are those of a large
 * object there already. */
static inline uint32_t claim_words(tl_heap* h, uint32_t first, uint32_t n)
{
	const uint32_t last = h->last_first, run = h->last_run;
	if (last >= first + n || first >= last + run) return 0;
	h->last_run = 0;
	if (first != last) return 0;
	return run < n ? run : n;
}

static inline void set_word(tl_heap* h, uint32_t span, uint64_t word) { STORE(h->spans[span], word); }

static inline uint64_t word_of(uint32_t size_class, uint32_t record, uint32_t back)
{
	return size_class | (uint64_t)back << 8 | (uint64_t)record << 32;
}

/* Bytes of large objects. The holder of the heap's lock alone changes them. */
static inline uint64_t large_of(const tl_heap* h) { return LOAD(h->large_taken) - LOAD(h->large_given); }

/* ---- slabs of cells (cells.c) ------------------------------------------------------------------ */

/* How many slots a slab has in front of the first that is handed out. */
uint32_t tlc_before_cells(const tl_class_info* k);

/* Clears the bitmap of a new slab: no slot is free. */
void tlc_begin_cells(tl_heap* h, uint32_t first);

/* Takes free slots, then those that were never handed out, in which no cell lives, below `to`; how many. */
uint32_t tlc_take_cells(tl_heap* h, uint32_t first, tl_entry* to, uint32_t want);

/* Takes slots back. */
void tlc_put_cells(tl_heap* h, uint32_t size_class, const tl_entry* from, uint32_t n);

/* ---- slabs (slabs.c) ------------------------------------------------------------------------- */

/* Gives an empty slab of a list back. */
void tlc_drop_slab(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first);

/* Looks whether a slab has lost its last used slot. One empty slab of one span stays, so that a program at the edge does not
 * thrash. */
void tlc_settle_slab(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first);

static inline uint32_t used(const tl_span_meta* m) { return (uint32_t)m->fresh - m->free_count - m->retired; }

static inline uint64_t idle_of(const tl_heap* h, const tl_span_meta* m, const tl_class_info* k)
{
	return (uint64_t)m->free_count * k->size - ((uint64_t)m->purged << h->page_shift);
}

static inline void count_idle(tl_heap* h, uint64_t n) { atomic_fetch_add_explicit(&h->idle, n, memory_order_relaxed); }

static inline uint32_t* list_of(const tl_heap* h, tl_depot* d, uint32_t span)
{
	return h->metas[span].list == TL_SLAB_COLD ? &d->cold : &d->partial;
}

static inline void enlist(tl_heap* h, tl_depot* d, uint32_t span, uint8_t list)
{
	h->metas[span].list = list;
	link_span(h, list_of(h, d, span), span);
}

static inline void delist(tl_heap* h, tl_depot* d, uint32_t span) { unlink_span(h, list_of(h, d, span), span); }

#pragma GCC visibility pop
