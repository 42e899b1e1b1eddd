/* Large objects: runs of spans with a record each. */
#include "parts.h"

/* Charges and counts n spans. */
static inline void count_large(tl_heap* h, uint32_t n)
{
	const uint64_t taken = LOAD(h->large_taken) + bytes_of(n);
	h->depots[TL_CLASS_LARGE].slabs += n;
	STORE(h->large_taken, taken);
	raise(&h->peak, LOAD(h->handed) + taken - LOAD(h->large_given));
	charge(h->cpu, h->all, bytes_of(n));
}

static void uncount_large(tl_heap* h, uint32_t n)
{
	h->depots[TL_CLASS_LARGE].slabs -= n;
	STORE(h->large_given, LOAD(h->large_given) + bytes_of(n));
	credit(h->cpu, h->all, bytes_of(n));
}

enum { HUGE_SHIFT = 21 };

/* Whether all huge pages of a run were asked for. */
static inline bool are_asked(const tl_heap* h, uint32_t first, uint32_t n)
{
	const uint64_t page = (uint64_t)1 << HUGE_SHIFT, before = h->base >> HUGE_SHIFT;
	const uint64_t from = ((address_of(h, first) + page - 1) >> HUGE_SHIFT) - before;
	const uint64_t end = (address_of(h, first + n) >> HUGE_SHIFT) - before, last = (end - 1) / 64;
	if (from >= end) return true;
	uint64_t i = from / 64, wanted = ~0ull << from % 64;
	for (; i < last; i++, wanted = ~0ull)
		if ((~h->asked[i] & wanted) != 0) return false;
	return (~h->asked[last] & wanted & ~0ull >> (63 - (end - 1) % 64)) == 0;
}

/* The words of the spans behind the first one of a large object, two at a time. */
static void set_rest(tl_heap* h, uint32_t first, uint32_t from, uint32_t to)
{
#if !defined(__SANITIZE_THREAD__)
	typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
	pair words = {word_of(TL_CLASS_REST, 0, from), word_of(TL_CLASS_REST, 0, from + 1)};
	for (; from + 2 <= to; from += 2, words += word_of(0, 0, 2)) *(pair*)(void*)&h->spans[first + from] = words;
#endif
	for (; from < to; from++) set_word(h, first + from, word_of(TL_CLASS_REST, 0, from));
}

int tlc_heap_take_large(tl_heap* h, uint64_t bytes, uint32_t align, tl_entry* e, bool* zero, bool anyway)
{
	if (bytes > bytes_of(h->total)) return TL_HEAP_FULL;
	const uint32_t n = (uint32_t)((bytes - 1) >> TL_SPAN_SHIFT) + 1;
	uint32_t record, first;
	lock(h);
	int why =
		may_charge(h->cpu, h->all, bytes_of(n), anyway) ? tlc_take_block(h, TL_CLASS_LARGE, &record) : TL_HEAP_LIMIT;
	if (TLC_LIKELY(why == TL_HEAP_OK)) {
		why = tlc_take_run(h, n, align, &first, zero);
		if (why == TL_HEAP_OK && !anyway && bytes >= TL_HEAP_HUGE_FROM && h->huge && !are_asked(h, first, n)) {
			tlc_give_run(h, first, n, !*zero);
			why = TL_HEAP_ASK;
		}
		if (TLC_UNLIKELY(why != TL_HEAP_OK)) give_block(h, TL_CLASS_LARGE, record);
	}
	if (TLC_UNLIKELY(why != TL_HEAP_OK)) {
		unlock(h);
		return why;
	}
	tl_span_meta* m = &h->metas[first];
	m->state = TL_SPAN_LARGE;
	m->size_class = TL_CLASS_LARGE;
	m->record = record;
	m->run = n;
	use_block(h, record, 1, first);
	const uint32_t written = claim_words(h, first, n);
	h->depots[TL_CLASS_LARGE].out++;
	count_large(h, n);
	unlock(h);
	const uint32_t gen = prepare(h, record, 0, 1, TL_CLASS_LARGE);
	set_rest(h, first, written > 1 ? written : 1, n);
	set_word(h, first, word_of(TL_CLASS_LARGE, record, n));
	e->object = address_of(h, first);
	const uint64_t tag = record | (uint64_t)gen << 32; /* one store, because one load reads it soon */
	__builtin_memcpy((char*)e + offsetof(tl_entry, record), &tag, sizeof tag);
	return TL_HEAP_OK;
}

/* Gives the spans back and ends what the lock is held for. */
static void give_run(tl_heap* h, uint32_t first, uint32_t n)
{
	tlc_give_run(h, first, n, true);
	const bool watch = needs_clock(h) && LOAD(h->ticking) == 0;
	unlock(h);
	if (TLC_UNLIKELY(watch)) tlc_heap_watch(h);
}

/* The words behind the first one stay: they lead to it, and it says that it has no spans. */
void tlc_heap_give_large(tl_heap* h, tl_entry e, bool left)
{
	const uint32_t first = span_at(h, e.object);
	set_word(h, first, 0);
	lock(h);
	const uint32_t n = h->metas[first].run;
	h->depots[TL_CLASS_LARGE].out--;
	h->large_gone++;
	h->last_first = first;
	h->last_run = n;
	uncount_large(h, n);
	if (left) give_block(h, TL_CLASS_LARGE, e.record);
	give_run(h, first, n);
}

/* Takes the n spans from `at` on, which are free or were never used. */
static int take_at(tl_heap* h, uint32_t at, uint32_t n)
{
	const uint32_t never = LOAD(h->never);
	const bool is_free = at < never && h->metas[at].state == TL_SPAN_FREE;
	const uint32_t end = at + (is_free ? h->metas[at].run : 0);
	if (end - at >= n) {
		tlc_carve_run(h, at, at, n);
		return TL_HEAP_OK;
	}
	if (end != never || n > h->total - at) return TL_HEAP_FULL;
	if (at + n > h->committed) {
		if (at + n > h->wanted) h->wanted = at + n;
		return TL_HEAP_NEEDS_MEMORY;
	}
	if (is_free) tlc_remove_run(h, at);
	STORE(h->never, at + n);
	return TL_HEAP_OK;
}

int tlc_heap_grow_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway)
{
	if (bytes > bytes_of(h->total)) return TL_HEAP_FULL;
	const uint32_t first = span_at(h, object), n = (uint32_t)((bytes - 1) >> TL_SPAN_SHIFT) + 1;
	const uint32_t now = h->metas[first].run, more = n - now;
	lock(h);
	int why = may_charge(h->cpu, h->all, bytes_of(more), anyway) ? TL_HEAP_OK : TL_HEAP_LIMIT;
	if (why == TL_HEAP_OK) {
		const bool asks = !anyway && bytes >= TL_HEAP_HUGE_FROM && h->huge && !are_asked(h, first, n);
		why = asks ? TL_HEAP_ASK : take_at(h, first + now, more);
	}
	if (why == TL_HEAP_OK) {
		claim_words(h, first + now, more);
		h->metas[first].run = n;
		count_large(h, more);
	}
	unlock(h);
	if (why != TL_HEAP_OK) return why;
	set_rest(h, first, now, n);
	set_word(h, first, word_of(TL_CLASS_LARGE, h->metas[first].record, n));
	return TL_HEAP_OK;
}

void tlc_heap_shrink_large(tl_heap* h, uintptr_t object, uint64_t bytes)
{
	const uint32_t first = span_at(h, object), n = (uint32_t)((bytes - 1) >> TL_SPAN_SHIFT) + 1;
	const uint32_t less = h->metas[first].run - n;
	if (less == 0) return;
	set_word(h, first, word_of(TL_CLASS_LARGE, h->metas[first].record, n));
	lock(h);
	h->metas[first].run = n;
	uncount_large(h, less);
	give_run(h, first + n, less);
}

int tlc_heap_resize_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway)
{
	const uint64_t now = bytes_of(h->metas[span_at(h, object)].run);
	if (bytes > now) return tlc_heap_grow_large(h, object, bytes, anyway);
	if (now - bytes >= now / TL_HEAP_GROWS_BY) tlc_heap_shrink_large(h, object, bytes);
	return TL_HEAP_OK;
}
