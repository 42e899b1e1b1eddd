/* Memory that is idle, which goes back to the system. */
#include "parts.h"

#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

void tlc_heap_drop_empty(tl_heap* h)
{
	for (uint32_t size_class = 1; size_class < TL_CLASS_LARGE; size_class++) {
		tl_depot* d = &h->depots[size_class];
		tlc_lock(&d->lock);
		const uint32_t lists[] = {d->partial, d->cold};
		for (int i = 0; i < 2; i++)
			for (uint32_t span = lists[i], next; span != 0 && d->empty != 0; span = next) {
				next = h->metas[span].next;
				if (used(&h->metas[span]) == 0) tlc_drop_slab(h, d, size_class, span);
			}
		tlc_unlock(&d->lock);
	}
}

/* Large runs first: fewest calls of the system. */
uint32_t tlc_heap_take_idle(tl_heap* h, uint64_t keep, uint32_t epoch, uint32_t* n)
{
	uint32_t found = 0;
	lock(h);
	for (int b = TL_BINS - 1; b >= 0 && found == 0 && LOAD(h->dirty) > keep; b--)
		for (uint32_t run = h->bins[b]; run != 0 && found == 0; run = h->metas[run].next)
			if (h->metas[run].dirty && (int32_t)(h->metas[run].epoch - epoch) <= 0) found = run;
	if (found != 0) {
		*n = h->metas[found].run;
		tlc_remove_run(h, found);
		h->metas[found] = (tl_span_meta){.state = TL_SPAN_PURGING, .run = *n};
	}
	unlock(h);
	return found;
}

void tlc_heap_give_idle(tl_heap* h, uint32_t first, uint32_t n, bool purged)
{
	lock(h);
	tlc_give_run(h, first, n, !purged);
	unlock(h);
}

/* Marks the pages of a slab on which no slot lies that is out, and returns how many of them had one since the slab began: what
 * lies behind is nobody's gain, and may be resident of what was there before. */
static uint32_t free_pages(const tl_heap* h, uint32_t span, const tl_class_info* k, uint64_t pages[])
{
	const tl_span_meta* m = &h->metas[span];
	const uint32_t step = step_shift(k), count = (uint32_t)((k->mask + 1) >> h->page_shift),
				   head = head_bytes(m->size_class);
	uint64_t is_free[TL_SPAN_BYTES / TL_CELL_STEP / 64] = {0}; /* slots */
	if (head != 0) memcpy(is_free, (const void*)address_of(h, span), (k->slots + 63) / 64 * sizeof *is_free);
	else
		for (uint32_t slot = m->free_head; slot != 0; slot = LOAD(h->records[m->record + ((slot - 1) << step)].loc))
			is_free[(slot - 1) / 64] |= 1ull << (slot - 1) % 64;
	uint32_t found = 0;
	for (uint32_t page = 0; page < count; page++) {
		const uint32_t from = page << h->page_shift, to = from + (1u << h->page_shift);
		uint32_t slot = (from + head) / k->size;
		while (slot < m->fresh && slot * k->size < to + head && (is_free[slot / 64] >> slot % 64 & 1)) slot++;
		if (slot < m->fresh && slot * k->size < to + head) continue;
		pages[page / 64] |= 1ull << page % 64;
		found += from < m->fresh * k->size;
	}
	return found;
}

uint32_t tlc_heap_hold_slabs(tl_heap* h, uint32_t size_class, uint32_t epoch, tlc_held held[TLC_HELD_AT_ONCE])
{
	const tl_class_info* k = &h->classes[size_class];
	tl_depot* d = &h->depots[size_class];
	uint32_t n = 0;
	tlc_lock(&d->lock);
	for (uint32_t span = d->partial, next; span != 0 && n < TLC_HELD_AT_ONCE; span = next) {
		tl_span_meta* m = &h->metas[span];
		next = m->next;
		if ((int32_t)(m->epoch - epoch) > 0) continue;
		tlc_held* at = &held[n];
		*at = (tlc_held){.span = span};
		if (m->free_count * k->size >> h->page_shift != 0) at->count = free_pages(h, span, k, at->pages);
		delist(h, d, span);
		if (at->count <= m->purged) { /* nothing is to be had */
			enlist(h, d, span, TL_SLAB_COLD);
			continue;
		}
		if (used(m) == 0) d->empty--;
		m->list = TL_SLAB_HELD;
		n++;
	}
	tlc_unlock(&d->lock);
	return n;
}

void tlc_heap_let_go(tl_heap* h, uint32_t size_class, uint32_t span, uint32_t purged)
{
	const tl_class_info* k = &h->classes[size_class];
	tl_depot* d = &h->depots[size_class];
	tlc_lock(&d->lock);
	tl_span_meta* m = &h->metas[span];
	const uint64_t idle = idle_of(h, m, k);
	m->purged = (uint16_t)min(purged, (uint64_t)m->free_count * k->size >> h->page_shift);
	count_idle(h, idle_of(h, m, k) - idle);
	enlist(h, d, span, TL_SLAB_COLD);
	tlc_settle_slab(h, d, size_class, span);
	tlc_unlock(&d->lock);
}

/* ---- magazines of threads that rest ------------------------------------------------------------- */

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
enum {
	PRIVATE_EXPEDITED = 1 << 3,
	REGISTER_PRIVATE_EXPEDITED = 1 << 4
}; /* of linux/membarrier.h; old ones lack them */

bool tlc_heap_begin_barriers(void) { return syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

bool tlc_heap_pass_barriers(void) { return syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0; }

/* Gives the system the whole pages of entries that mean nothing. A system that refuses leaves them as they are. */
static void drop_pages(const tl_heap* h, tl_entry* from, tl_entry* to)
{
	const uintptr_t page = (uintptr_t)1 << h->page_shift;
	const uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1), end = (uintptr_t)to & ~(page - 1);
	if (first < end) (void)madvise((void*)first, end - first, MADV_DONTNEED);
}
#else
bool tlc_heap_begin_barriers(void) { return false; }
bool tlc_heap_pass_barriers(void) { return false; }
static void drop_pages(const tl_heap* h, tl_entry* from, tl_entry* to) { (void)h, (void)from, (void)to; }
#endif

/* What a magazine was before the clock took slots out of it. */
typedef struct before {
	tl_entry *top, *base, *limit;
	uint64_t allocs;
} before;

/* An operation counts in allocs before it lowers the top: when both were seen so, one slot at most is missing below. */
static before look_at(const tl_magazine* m)
{
	const uint64_t allocs = __atomic_load_n(&m->allocs, __ATOMIC_ACQUIRE);
	return (before){__atomic_load_n(&m->top, __ATOMIC_RELAXED), m->base, m->limit, allocs};
}

static void set_bounds(tl_magazine* m, tl_entry* base, tl_entry* limit)
{
	__atomic_store_n(&m->base, base, __ATOMIC_RELAXED);
	__atomic_store_n(&m->limit, limit, __ATOMIC_RELAXED);
}

/* Gives the depot the slots below the new base. */
static void take_below(tl_heap* h, tl_context* c, uint32_t size_class, const before* was)
{
	tl_entry* base = c->magazines[size_class].base;
	const uint32_t n = (uint32_t)(base - was->base);
	c->taken[size_class] = (uint16_t)(c->taken[size_class] + n);
	tlc_heap_give(h, size_class, was->base, n);
	count_flow(&c->flows[size_class].flushed, n);
	drop_pages(h, base - c->taken[size_class], base);
}

/* A thread may be in the middle of one operation whenever a barrier reaches it. That operation has compared with the old
 * base, and takes the newest slot, which stays; or with the old limit, and puts one slot on top. The next one sees the new
 * bounds. So the slots below belong to the clock if nobody has used the magazine before the barrier. */
void tlc_heap_take_magazines(tl_heap* h, tl_context* c)
{
	before was[TL_CLASS_LARGE];
	STORE(c->taking, 1);
	bool may = tlc_heap_pass_barriers() && atomic_load_explicit(&c->moving, memory_order_acquire) == 0;
	for (uint32_t size_class = 1; may && size_class < TL_CLASS_LARGE; size_class++) {
		tl_magazine* m = &c->magazines[size_class];
		const before* b = &was[size_class];
		was[size_class] = look_at(m);
		if (b->top - b->base > 1) set_bounds(m, b->top - 1, b->limit < b->top + 1 ? b->limit : b->top + 1);
	}
	const bool passed = may && tlc_heap_pass_barriers();
	for (uint32_t size_class = 1; may && size_class < TL_CLASS_LARGE; size_class++) {
		tl_magazine* m = &c->magazines[size_class];
		const before *b = &was[size_class], now = look_at(m);
		if (now.base == b->base) continue;
		if (passed && now.top == b->top && now.allocs == b->allocs) take_below(h, c, size_class, b);
		else set_bounds(m, b->base, b->limit);
	}
	atomic_store_explicit(&c->taking, 0, memory_order_release);
}
