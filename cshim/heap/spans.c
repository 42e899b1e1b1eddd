/* Accounts, blocks of records, and runs of spans. */
#include "parts.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---- accounts ----------------------------------------------------------------------------- */

bool tlc_charge(tl_account* of, tl_account* all, uint64_t bytes)
{
	tlc_lock(&all->lock);
	const bool may = may_charge(of, all, bytes, true);
	if (may) charge(of, all, bytes);
	tlc_unlock(&all->lock);
	return may;
}

void tlc_credit(tl_account* of, tl_account* all, uint64_t bytes)
{
	tlc_lock(&all->lock);
	credit(of, all, bytes);
	tlc_unlock(&all->lock);
}

/* ---- records ------------------------------------------------------------------------------ */

int tlc_take_block(tl_heap* h, uint32_t size_class, uint32_t* first)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t n = k->block_records, records = n > 1 ? max(n + (1u << step_shift(k)), TL_BLOCK_RECORDS) : 2;
	*first = h->free_records[size_class];
	if (*first != 0) {
		h->free_records[size_class] = LOAD(metadata_of(h, *first, n)->type_flags);
		return TL_HEAP_OK;
	}
	*first = (h->next_record + TL_LINE_RECORDS - 1) & ~(uint32_t)(TL_LINE_RECORDS - 1);
	if (*first < h->next_record || records > h->record_limit - *first) return TL_HEAP_FULL;
	if (*first + records > h->dumped_records) return TL_HEAP_NEEDS_RECORDS;
	h->next_record = *first + records;
	for (uint32_t r = *first; r < h->next_record; r += TL_LINE_RECORDS)
		__atomic_store_n(&h->record_blocks[r / TL_LINE_RECORDS], *first, __ATOMIC_RELAXED);
	return TL_HEAP_OK;
}

/* ---- runs of spans ------------------------------------------------------------------------- */

static uint32_t bin_of(uint32_t n)
{
	if (n <= TL_EXACT_BINS) return n - 1;
	const uint32_t b = TL_EXACT_BINS + (32 - (uint32_t)__builtin_clz(n - 1)) - 7;
	return b < TL_BINS ? b : TL_BINS - 1;
}

/* The lock's holder alone writes it. */
static void count_dirty(tl_heap* h, uint64_t n) { STORE(h->dirty, LOAD(h->dirty) + n); }

/* The first bin from b on that has a run; TL_BINS: none. */
static uint32_t next_bin(const tl_heap* h, uint32_t b)
{
	for (; b < TL_BINS; b = (b | 63) + 1) {
		const uint64_t bits = h->binned[b / 64] >> b % 64;
		if (TLC_LIKELY(bits != 0)) return b + (uint32_t)__builtin_ctzll(bits);
	}
	return TL_BINS;
}

static inline __attribute__((always_inline)) void add_run(tl_heap* h, uint32_t first, uint32_t n, bool dirty,
                                                          uint32_t epoch)
{
	tl_span_meta *m = &h->metas[first], *last = &h->metas[first + n - 1];
	const uint32_t b = bin_of(n);
	last->state = m->state = TL_SPAN_FREE;
	last->run = m->run = n;
	m->dirty = dirty;
	m->epoch = epoch;
	link_span(h, &h->bins[b], first);
	h->binned[b / 64] |= 1ull << b % 64;
	if (dirty) count_dirty(h, bytes_of(n));
}

static inline __attribute__((always_inline)) void remove_run(tl_heap* h, uint32_t first)
{
	tl_span_meta* m = &h->metas[first];
	const uint32_t b = bin_of(m->run);
	unlink_span(h, &h->bins[b], first);
	if (h->bins[b] == 0) h->binned[b / 64] &= ~(1ull << b % 64);
	if (m->dirty) count_dirty(h, -bytes_of(m->run));
	h->metas[first + m->run - 1].state = TL_SPAN_NEVER;
	m->state = TL_SPAN_NEVER;
}

void tlc_remove_run(tl_heap* h, uint32_t first) { remove_run(h, first); }

void tlc_carve_run(tl_heap* h, uint32_t run, uint32_t start, uint32_t n)
{
	const tl_span_meta* m = &h->metas[run];
	const uint32_t end = run + m->run, epoch = m->epoch;
	const bool dirty = m->dirty;
	remove_run(h, run);
	if (TLC_UNLIKELY(start > run)) add_run(h, run, start - run, dirty, epoch);
	if (start + n < end) add_run(h, start + n, end - start - n, dirty, epoch);
}

/* Takes spans that were never used, and the free run before them. */
static int extend(tl_heap* h, uint32_t n, uint32_t align, uint32_t* at, bool* zero)
{
	const uint32_t never = LOAD(h->never);
	uint32_t from = never;
	tl_span_meta last = {0};
	if (never > 8 && h->metas[never - 1].state == TL_SPAN_FREE) {
		from -= h->metas[never - 1].run;
		last = h->metas[from];
	}
	const uint32_t start = (from + align - 1) & ~(align - 1);
	if (n > h->total || start > h->total - n) return TL_HEAP_FULL;
	if (start + n > h->committed) {
		if (start + n > h->wanted) h->wanted = start + n;
		return TL_HEAP_NEEDS_MEMORY;
	}
	if (from < never) remove_run(h, from);
	if (start > from) add_run(h, from, start - from, last.dirty, last.epoch);
	*zero = !last.dirty || start >= never;
	STORE(h->never, start + n);
	*at = start;
	return TL_HEAP_OK;
}

int tlc_take_run(tl_heap* h, uint32_t n, uint32_t align, uint32_t* at, bool* zero)
{
	for (uint32_t b = next_bin(h, bin_of(n)); b < TL_BINS; b = next_bin(h, b + 1))
		for (uint32_t run = h->bins[b]; run != 0; run = h->metas[run].next) {
			const uint32_t start = (run + align - 1) & ~(align - 1);
			if (start + n > run + h->metas[run].run) continue;
			*zero = !h->metas[run].dirty;
			tlc_carve_run(h, run, start, n);
			*at = start;
			return TL_HEAP_OK;
		}
	return extend(h, n, align, at, zero);
}

void tlc_give_run(tl_heap* h, uint32_t first, uint32_t n, bool dirty)
{
	h->metas[first].state = TL_SPAN_NEVER;
	if (first > 8 && h->metas[first - 1].state == TL_SPAN_FREE) {
		const uint32_t before = h->metas[first - 1].run;
		first -= before;
		n += before;
		dirty |= h->metas[first].dirty;
		remove_run(h, first);
	}
	if (first + n < LOAD(h->never) && h->metas[first + n].state == TL_SPAN_FREE) {
		const uint32_t behind = h->metas[first + n].run;
		dirty |= h->metas[first + n].dirty;
		remove_run(h, first + n);
		n += behind;
	}
	add_run(h, first, n, dirty, LOAD(h->clock));
}

void tlc_heap_watch(tl_heap* h)
{
	if (LOAD(h->ticking) != 0) return;
	uint32_t stands = 0;
	if (!atomic_compare_exchange_strong(&h->ticking, &stands, 1)) return;
#if defined(__linux__)
	syscall(SYS_futex, &h->ticking, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void tlc_heap_lock_all(tl_heap* h)
{
	for (int i = 0; i < TL_CLASSES; i++) tlc_lock(&h->depots[i].lock);
	lock(h);
}

void tlc_heap_unlock_all(tl_heap* h)
{
	unlock(h);
	for (int i = TL_CLASSES - 1; i >= 0; i--) tlc_unlock(&h->depots[i].lock);
}
