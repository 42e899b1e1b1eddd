#include "heap.h"

#include <string.h>
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "../layout_lock.h"

#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(&(x), v, memory_order_relaxed)

static uint32_t min(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }
static uint32_t max(uint64_t a, uint64_t b) { return (uint32_t)(a > b ? a : b); }

/* ---- accounts ----------------------------------------------------------------------------- */

/* Counts n more bytes of an account unless that would pass a limit. */
static bool add(tl_account* a, uint64_t n, bool anyway, uint64_t* sum)
{
	uint64_t used = LOAD(a->used);
	do {
		const uint64_t limit = anyway ? LOAD(a->hard) : LOAD(a->high_watermark);
		if (limit != 0 && (used > limit || n > limit - used)) return false;
	} while (
		!atomic_compare_exchange_weak_explicit(&a->used, &used, used + n, memory_order_relaxed, memory_order_relaxed));
	*sum = used + n;
	return true;
}

static void raise(_Atomic uint64_t* peak, uint64_t to)
{
	uint64_t was = LOAD(*peak);
	while (was < to &&
	       !atomic_compare_exchange_weak_explicit(peak, &was, to, memory_order_relaxed, memory_order_relaxed)) {}
}

/* Up to the high watermarks, or with `anyway` up to the hard limits. */
static bool charge(tl_account* of, tl_account* all, uint64_t bytes, bool anyway)
{
	uint64_t one, sum;
	if (!add(of, bytes, anyway, &one)) return false;
	if (!add(all, bytes, anyway, &sum)) {
		atomic_fetch_sub_explicit(&of->used, bytes, memory_order_relaxed);
		return false;
	}
	raise(&of->peak, one);
	raise(&all->peak, sum);
	return true;
}

bool tlc_charge(tl_account* of, tl_account* all, uint64_t bytes)
{
	if (!charge(of, all, bytes, true)) return false;
	atomic_fetch_add_explicit(&of->obtained, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&all->obtained, bytes, memory_order_relaxed);
	return true;
}

void tlc_credit(tl_account* of, tl_account* all, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&of->used, bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&all->used, bytes, memory_order_relaxed);
}

/* ---- records ------------------------------------------------------------------------------ */

static tl_record* metadata_of(const tl_heap* h, uint32_t first, uint32_t n)
{
	return n > 1 ? h->block_metadata + first / TL_BLOCK_RECORDS : h->records + first + n;
}

/* How many records lie from one slot's to the next one's, as a power of two (layout.FillClasses). */
static uint32_t step_shift(const tl_class_info* k) { return k->size >= TL_LINE_SLOT_BYTES ? 2 : 0; }
_Static_assert(TL_LINE_RECORDS == 1 << 2, "step_shift");

/* A block of dead records that are not all retired. Under the heap's lock. */
static int take_block(tl_heap* h, uint32_t size_class, uint32_t* first)
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

static void give_block(tl_heap* h, uint32_t size_class, uint32_t first)
{
	STORE(metadata_of(h, first, h->classes[size_class].block_records)->type_flags, h->free_records[size_class]);
	h->free_records[size_class] = first;
}

/* The block is in use, for what stands at a span. */
static void use_block(tl_heap* h, uint32_t first, uint32_t n, uint32_t span)
{
	tl_record* m = metadata_of(h, first, n);
	STORE(m->loc, 0);
	STORE(m->type_flags, span);
}

/* Prepares a record whose slot is handed out for the first time since its block was taken fresh or purged: zeros are dead,
 * and only the generation is missing. The slab that had the block before may have left a link. */
static uint32_t prepare(tl_heap* h, uint32_t first, uint32_t i, uint32_t n, uint32_t size_class)
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

/* ---- runs of spans ------------------------------------------------------------------------- */

static void link_span(const tl_heap* h, uint32_t* head, uint32_t span)
{
	tl_span_meta* m = &h->metas[span];
	m->next = *head;
	m->prev = 0;
	if (*head != 0) h->metas[*head].prev = span;
	*head = span;
}

static void unlink_span(const tl_heap* h, uint32_t* head, uint32_t span)
{
	tl_span_meta* m = &h->metas[span];
	if (m->prev != 0) h->metas[m->prev].next = m->next;
	else *head = m->next;
	if (m->next != 0) h->metas[m->next].prev = m->prev;
	m->next = m->prev = 0;
}

static uint32_t bin_of(uint32_t n)
{
	if (n <= TL_EXACT_BINS) return n - 1;
	const uint32_t b = TL_EXACT_BINS + (32 - (uint32_t)__builtin_clz(n - 1)) - 7;
	return b < TL_BINS ? b : TL_BINS - 1;
}

static uint64_t bytes_of(uint32_t spans) { return (uint64_t)spans << TL_SPAN_SHIFT; }

static uintptr_t address_of(const tl_heap* h, uint32_t span) { return h->base + bytes_of(span); }

static uint32_t span_at(const tl_heap* h, uintptr_t p) { return (uint32_t)((p - h->base) >> TL_SPAN_SHIFT); }

/* The lock's holder alone writes it. */
static void count_dirty(tl_heap* h, uint64_t n) { STORE(h->dirty, LOAD(h->dirty) + n); }

static void add_run(tl_heap* h, uint32_t first, uint32_t n, bool dirty, uint32_t epoch)
{
	h->metas[first + n - 1] = (tl_span_meta){.state = TL_SPAN_FREE, .run = n};
	h->metas[first] = (tl_span_meta){.state = TL_SPAN_FREE, .run = n, .dirty = dirty, .epoch = epoch};
	link_span(h, &h->bins[bin_of(n)], first);
	if (dirty) count_dirty(h, bytes_of(n));
}

static void remove_run(tl_heap* h, uint32_t first)
{
	tl_span_meta* m = &h->metas[first];
	unlink_span(h, &h->bins[bin_of(m->run)], first);
	if (m->dirty) count_dirty(h, -bytes_of(m->run));
	h->metas[first + m->run - 1].state = TL_SPAN_NEVER;
	m->state = TL_SPAN_NEVER;
}

/* Takes [start, start + n) out of the free run. */
static void carve(tl_heap* h, uint32_t run, uint32_t start, uint32_t n)
{
	const tl_span_meta m = h->metas[run];
	const uint32_t end = run + m.run;
	remove_run(h, run);
	if (start > run) add_run(h, run, start - run, m.dirty, m.epoch);
	if (start + n < end) add_run(h, start + n, end - start - n, m.dirty, m.epoch);
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

/* The words of so many spans are going to be written. Returns how many of them, from the first on, are those of a large
 * object there already. */
static uint32_t claim_words(tl_heap* h, uint32_t first, uint32_t n)
{
	const uint32_t last = h->last_first, run = h->last_run;
	if (last >= first + n || first >= last + run) return 0;
	h->last_run = 0;
	if (first != last) return 0;
	return run < n ? run : n;
}

static int take_run(tl_heap* h, uint32_t n, uint32_t align, uint32_t* at, bool* zero)
{
	for (uint32_t b = bin_of(n); b < TL_BINS; b++)
		for (uint32_t run = h->bins[b]; run != 0; run = h->metas[run].next) {
			const uint32_t start = (run + align - 1) & ~(align - 1);
			if (start + n > run + h->metas[run].run) continue;
			*zero = !h->metas[run].dirty;
			carve(h, run, start, n);
			*at = start;
			return TL_HEAP_OK;
		}
	return extend(h, n, align, at, zero);
}

static void give_run(tl_heap* h, uint32_t first, uint32_t n, bool dirty)
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
	add_run(h, first, n, dirty, h->clock);
}

static void set_word(tl_heap* h, uint32_t span, uint64_t word) { STORE(h->spans[span], word); }

static uint64_t word_of(uint32_t size_class, uint32_t record, uint32_t back)
{
	return size_class | (uint64_t)back << 8 | (uint64_t)record << 32;
}

/* Bytes of large objects. The holder of the heap's lock alone changes them. */
static uint64_t large_of(const tl_heap* h) { return LOAD(h->large_taken) - LOAD(h->large_given); }

static void hand_out(tl_heap* h, uint64_t n)
{
	raise(&h->peak, atomic_fetch_add_explicit(&h->handed, n, memory_order_relaxed) + n + large_of(h));
}

/* Counts spans that are in use from now on, under the lock; those of large objects besides. */
static void count_obtained(tl_heap* h, uint64_t n)
{
	h->cpu->obtained_by_heap += n;
	h->all->obtained_by_heap += n;
}

static void count_large(tl_heap* h, uint64_t n)
{
	tl_depot* d = &h->depots[TL_CLASS_LARGE];
	d->slabs += (int64_t)(n >> TL_SPAN_SHIFT);
	STORE(h->large_taken, LOAD(h->large_taken) + n);
	count_obtained(h, n);
	raise(&h->peak, LOAD(h->handed) + large_of(h));
}

static void uncount_large(tl_heap* h, uint64_t n)
{
	h->depots[TL_CLASS_LARGE].slabs -= (int64_t)(n >> TL_SPAN_SHIFT);
	STORE(h->large_given, LOAD(h->large_given) + n);
}

static void take_back(tl_heap* h, uint64_t n) { atomic_fetch_sub_explicit(&h->handed, n, memory_order_relaxed); }

/* Starts the clock where more is idle than the heap keeps. Takes no lock. */
static void look_at_clock(tl_heap* h)
{
	if (LOAD(h->dirty) + LOAD(h->idle) <= TL_HEAP_KEEPS || LOAD(h->ticking) != 0) return;
	uint32_t stands = 0;
	if (!atomic_compare_exchange_strong(&h->ticking, &stands, 1)) return;
#if defined(__linux__)
	syscall(SYS_futex, &h->ticking, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
}

/* ---- slabs ---------------------------------------------------------------------------------- */

static uint32_t used(const tl_span_meta* m) { return (uint32_t)m->fresh - m->free_count - m->retired; }

/* Whether a slab has no slot to hand out. */
static bool is_full(const tl_span_meta* m, const tl_class_info* k) { return m->free_head == 0 && m->fresh == k->slots; }

static uint64_t idle_of(const tl_heap* h, const tl_span_meta* m, const tl_class_info* k)
{
	return (uint64_t)m->free_count * k->size - ((uint64_t)m->purged << h->page_shift);
}

static void count_idle(tl_heap* h, uint64_t n) { atomic_fetch_add_explicit(&h->idle, n, memory_order_relaxed); }

static uint32_t* list_of(const tl_heap* h, tl_depot* d, uint32_t span)
{
	return h->metas[span].list == TL_SLAB_COLD ? &d->cold : &d->partial;
}

static void enlist(tl_heap* h, tl_depot* d, uint32_t span, uint8_t list)
{
	h->metas[span].list = list;
	link_span(h, list_of(h, d, span), span);
}

static void delist(tl_heap* h, tl_depot* d, uint32_t span) { unlink_span(h, list_of(h, d, span), span); }

/* Adds a slab to a depot. */
static int grow(tl_heap* h, tl_depot* d, uint32_t size_class, bool anyway)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t n = (uint32_t)((k->mask + 1) >> TL_SPAN_SHIFT);
	uint32_t record, first;
	bool zero;
	if (!charge(h->cpu, h->all, bytes_of(n), anyway)) return TL_HEAP_LIMIT;
	tlc_lock(&h->lock);
	int why = take_block(h, size_class, &record);
	if (why == TL_HEAP_OK && (why = take_run(h, n, n, &first, &zero)) != TL_HEAP_OK) give_block(h, size_class, record);
	if (why == TL_HEAP_OK) {
		h->metas[first] = (tl_span_meta){
			.state = TL_SPAN_SLAB, .size_class = (uint8_t)size_class, .record = record, .run = n, .epoch = h->clock};
		use_block(h, record, k->block_records, first);
		claim_words(h, first, n);
		count_obtained(h, bytes_of(n));
	}
	tlc_unlock(&h->lock);
	if (why != TL_HEAP_OK) {
		tlc_credit(h->cpu, h->all, bytes_of(n));
		return why;
	}
	for (uint32_t i = 0; i < n; i++) set_word(h, first + i, word_of(size_class, record, 0));
	enlist(h, d, first, TL_SLAB_PARTIAL);
	d->slabs++;
	d->empty++;
	return TL_HEAP_OK;
}

/* Gives a slab that is in no list back, and its records to the next slab, which uses those that are not retired. */
static void remove_slab(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first)
{
	tl_span_meta* m = &h->metas[first];
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t n = m->run;
	d->slabs--;
	d->retired -= m->retired;
	count_idle(h, -idle_of(h, m, k));
	for (uint32_t i = 0; i < n; i++) set_word(h, first + i, 0);
	tlc_lock(&h->lock);
	if (m->retired < k->slots) give_block(h, size_class, m->record);
	give_run(h, first, n, true);
	tlc_unlock(&h->lock);
	tlc_credit(h->cpu, h->all, bytes_of(n));
}

static void drop(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first)
{
	delist(h, d, first);
	d->empty--;
	remove_slab(h, d, size_class, first);
}

/* Looks whether a slab has lost its last used slot. One empty slab of one span stays, so that a program at the edge does not
 * thrash. */
static void settle(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first)
{
	const tl_span_meta* m = &h->metas[first];
	if (used(m) != 0 || m->list == TL_SLAB_HELD) return;
	if (is_full(m, &h->classes[size_class])) { /* of retired records */
		remove_slab(h, d, size_class, first);
		return;
	}
	d->empty++;
	if (d->empty > 1 || m->run > 1) drop(h, d, size_class, first);
}

/* Fills `to` from the depot's first slab. A fresh slot whose record began its last generation in an earlier slab stays
 * unused: the record may be retired. */
static uint32_t take_slots(tl_heap* h, tl_depot* d, uint32_t size_class, tl_entry* to, uint32_t want)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t first = d->partial != 0 ? d->partial : d->cold, step = step_shift(k);
	const uintptr_t base = address_of(h, first);
	tl_span_meta* m = &h->metas[first];
	if (used(m) == 0) d->empty--;
	const uint64_t idle = idle_of(h, m, k);
	m->purged = 0;
	if (m->list == TL_SLAB_COLD) {
		delist(h, d, first);
		enlist(h, d, first, TL_SLAB_PARTIAL);
	}
	tl_record* const records = h->records + m->record;
	uint32_t n = 0, head = m->free_head;
	for (; n < want && head != 0; n++) {
		const uint32_t slot = head - 1;
		tl_record* r = records + (slot << step);
		head = LOAD(r->loc);
		STORE(r->loc, 0);
		to[n] = (tl_entry){base + (uintptr_t)slot * k->size, m->record + (slot << step), LOAD(r->gen)};
	}
	m->free_head = (uint16_t)head;
	m->free_count = (uint16_t)(m->free_count - n);
	while (n < want && m->fresh < k->slots) {
		const uint32_t slot = m->fresh++, gen = prepare(h, m->record, slot << step, k->block_records, size_class);
		if (gen >= TL_GEN_LAST) {
			m->retired++;
			d->retired++;
			continue;
		}
		to[n++] = (tl_entry){base + (uintptr_t)slot * k->size, m->record + (slot << step), gen};
	}
	count_idle(h, idle_of(h, m, k) - idle);
	if (is_full(m, k)) delist(h, d, first);
	if (used(m) == 0) remove_slab(h, d, size_class, first); /* each of its records is retired */
	return n;
}

/* The slab of a slot. */
static uint32_t slab_of(const tl_heap* h, const tl_class_info* k, uintptr_t object)
{
	return span_at(h, object) & ~(uint32_t)(k->mask >> TL_SPAN_SHIFT);
}

/* Takes slots back, the first ones of these that are of one slab, and returns how many. */
static uint32_t put(tl_heap* h, tl_depot* d, uint32_t size_class, const tl_entry* from, uint32_t n)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t first = slab_of(h, k, from[0].object), step = step_shift(k);
	tl_span_meta* m = &h->metas[first];
	const bool full = is_full(m, k);
	uint32_t i = 0, head = m->free_head;
	for (; i < n && slab_of(h, k, from[i].object) == first; i++) {
		STORE(h->records[from[i].record].loc, head);
		head = ((from[i].record - m->record) >> step) + 1;
	}
	m->free_head = (uint16_t)head;
	m->free_count = (uint16_t)(m->free_count + i);
	m->epoch = h->clock;
	if (m->list == TL_SLAB_COLD) delist(h, d, first);
	if (m->list == TL_SLAB_COLD || (full && m->list == TL_SLAB_PARTIAL)) enlist(h, d, first, TL_SLAB_PARTIAL);
	settle(h, d, size_class, first);
	return i;
}

int tlc_heap_take(tl_heap* h, uint32_t size_class, tl_entry* to, uint32_t want, uint32_t* n, bool anyway)
{
	tl_depot* d = &h->depots[size_class];
	int why = TL_HEAP_OK;
	uint32_t got = 0;
	tlc_lock(&d->lock);
	while (got < want && ((d->partial | d->cold) != 0 || (why = grow(h, d, size_class, anyway)) == TL_HEAP_OK))
		got += take_slots(h, d, size_class, to + got, want - got);
	d->out += got;
	tlc_unlock(&d->lock);
	hand_out(h, (uint64_t)got * h->classes[size_class].size);
	*n = got;
	return got != 0 ? TL_HEAP_OK : why;
}

void tlc_heap_give(tl_heap* h, uint32_t size_class, const tl_entry* from, uint32_t n)
{
	tl_depot* d = &h->depots[size_class];
	const uint64_t size = h->classes[size_class].size;
	count_idle(h, n * size);
	tlc_lock(&d->lock);
	for (uint32_t i = 0; i < n;) i += put(h, d, size_class, from + i, n - i);
	d->out -= n;
	tlc_unlock(&d->lock);
	take_back(h, n * size);
	look_at_clock(h);
}

void tlc_heap_retire(tl_heap* h, tl_entry e)
{
	const uint32_t size_class = e.gen & 0xFF, first = slab_of(h, &h->classes[size_class], e.object);
	tl_depot* d = &h->depots[size_class];
	tlc_lock(&d->lock);
	h->metas[first].retired++;
	d->retired++;
	d->out--;
	settle(h, d, size_class, first);
	tlc_unlock(&d->lock);
	take_back(h, h->classes[size_class].size);
}

/* ---- magazines -------------------------------------------------------------------------------- */

/* A magazine has room for LEAST_ROOM objects at first, or twice as many, which doubles with use, so that a context which
 * allocates a few objects of a class keeps a few. It gets up to MOST_AT_ONCE. */
enum { LEAST_ROOM = 16, MOST_AT_ONCE = 512 };

/* The room of a magazine that gets full again and again and is never empty: its thread frees more than it allocates. Each
 * slot in it may be the only one that keeps a page of a slab in use. */
enum { FREEING_ROOM = 64 };

/* How many objects a magazine has room for after its first refill, which fills half of it. Two threads that refill one after
 * the other get neighbouring slots. A scope of eight small objects uses eight of the sixteen, so eight slots lie between the
 * two threads, and neither writes what the processor prefetches for the other. */
static uint32_t first_room(uint32_t size_class) { return size_class <= TL_WARM_CLASSES ? 2 * LEAST_ROOM : LEAST_ROOM; }

static uint32_t capacity_of(const tl_heap* h, uint32_t size_class)
{
	return max(TL_MAGAZINE_HOLDS / h->classes[size_class].size, TL_MAGAZINE_FEWEST);
}

/* A slot enters or leaves a magazine: statistics look at the sums while the owner works on them (runtime/object/counters.go),
 * so what was refilled is counted before the top shows it, and what was flushed after. */
static void count_flow(_Atomic uint64_t* of, uint64_t n)
{
	atomic_store_explicit(of, LOAD(*of) + n, memory_order_release);
}

static void set_top(tl_magazine* m, tl_entry* top) { __atomic_store_n(&m->top, top, __ATOMIC_RELEASE); }

/* Gives the depots what a context keeps of classes that it did not use since the last time, when it is about to take fresh
 * memory for another one, so that sizes that grow leave nothing behind. */
static void age(tl_heap* h, tl_context* c, uint32_t but)
{
	enum { SMALL_GROWTHS = 16 }; /* of slabs of one span each */
	if (h->classes[but].mask < TL_SPAN_BYTES && ++c->growths % SMALL_GROWTHS != 0) return;
	for (uint32_t size_class = 1; size_class <= TL_CLASS_SMALL; size_class++) {
		const tl_magazine* m = &c->magazines[size_class];
		if (size_class == but || m->top == m->base) continue;
		if (c->seen_allocs[size_class] == m->allocs) tlc_heap_empty_magazine(h, c, size_class);
		else c->seen_allocs[size_class] = m->allocs;
	}
}

int tlc_heap_refill(tl_heap* h, tl_context* c, uint32_t size_class, bool anyway)
{
	tl_magazine* m = &c->magazines[size_class];
	const tl_depot* d = &h->depots[size_class];
	if ((__atomic_load_n(&d->partial, __ATOMIC_RELAXED) | __atomic_load_n(&d->cold, __ATOMIC_RELAXED)) == 0)
		age(h, c, size_class);
	const uint32_t capacity = capacity_of(h, size_class);
	const uint32_t grown_to = min(max(2 * (uint64_t)(m->limit - m->base), first_room(size_class)), capacity);
	uint32_t n;
	const int why = tlc_heap_take(h, size_class, m->base, max(min(grown_to / 2, MOST_AT_ONCE), 1), &n, anyway);
	if (n == 0) return why;
	c->flushed_last[size_class] = 0;
	m->limit = m->base + grown_to;
	count_flow(&c->flows[size_class].refilled, n);
	set_top(m, m->base + n);
	return TL_HEAP_OK;
}

void tlc_heap_make_room(tl_heap* h, tl_context* c, uint32_t size_class)
{
	tl_magazine* m = &c->magazines[size_class];
	tl_entry* full = m->base + capacity_of(h, size_class);
	const bool again = c->flushed_last[size_class] != 0 && m->top != m->base;
	if (m->limit < full && !again) {
		m->limit += max((uint64_t)(m->limit - m->base), LEAST_ROOM);
		if (m->limit > full) m->limit = full;
		return;
	}
	const uint32_t n = (uint32_t)(m->top - m->base), kept = again ? min(n / 2, FREEING_ROOM / 2) : n / 2,
				   old = n - kept;
	if (again && m->limit - m->base > FREEING_ROOM) m->limit = m->base + FREEING_ROOM;
	c->flushed_last[size_class] = 1;
	tlc_heap_give(h, size_class, m->base, old);
	memmove(m->base, m->base + old, (n - old) * sizeof *m->base);
	set_top(m, m->top - old);
	count_flow(&c->flows[size_class].flushed, old);
}

uint32_t tlc_heap_empty_magazine(tl_heap* h, tl_context* c, uint32_t size_class)
{
	tl_magazine* m = &c->magazines[size_class];
	const uint32_t n = (uint32_t)(m->top - m->base);
	if (n != 0) tlc_heap_give(h, size_class, m->base, n);
	set_top(m, m->base);
	m->limit = m->base;
	c->flushed_last[size_class] = 0;
	count_flow(&c->flows[size_class].flushed, n);
	return n;
}

/* ---- large objects ------------------------------------------------------------------------------ */

/* With 64 KiB of alignment half of such an object at least are whole huge pages. */
#define HUGE_FROM ((uint64_t)4 << 20)
enum { HUGE_SHIFT = 21 };

/* Whether all huge pages of a run were asked for. */
static bool are_asked(const tl_heap* h, uint32_t first, uint32_t n)
{
	const uint64_t page = (uint64_t)1 << HUGE_SHIFT, before = h->base >> HUGE_SHIFT;
	const uint64_t end = (address_of(h, first + n) >> HUGE_SHIFT) - before;
	for (uint64_t i = ((address_of(h, first) + page - 1) >> HUGE_SHIFT) - before; i < end; i++)
		if ((h->asked[i / 64] >> i % 64 & 1) == 0) return false;
	return true;
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
	if (!charge(h->cpu, h->all, bytes_of(n), anyway)) return TL_HEAP_LIMIT;
	tlc_lock(&h->lock);
	int why = take_block(h, TL_CLASS_LARGE, &record);
	if (why == TL_HEAP_OK) {
		why = take_run(h, n, align, &first, zero);
		if (why == TL_HEAP_OK && !anyway && bytes >= HUGE_FROM && LOAD(h->huge) && !are_asked(h, first, n)) {
			give_run(h, first, n, !*zero);
			why = TL_HEAP_ASK;
		}
		if (why != TL_HEAP_OK) give_block(h, TL_CLASS_LARGE, record);
	}
	if (why != TL_HEAP_OK) {
		tlc_unlock(&h->lock);
		tlc_credit(h->cpu, h->all, bytes_of(n));
		return why;
	}
	h->metas[first] = (tl_span_meta){.state = TL_SPAN_LARGE, .size_class = TL_CLASS_LARGE, .record = record, .run = n};
	use_block(h, record, 1, first);
	const uint32_t written = claim_words(h, first, n);
	h->depots[TL_CLASS_LARGE].out++;
	count_large(h, bytes_of(n));
	tlc_unlock(&h->lock);
	const uint32_t gen = prepare(h, record, 0, 1, TL_CLASS_LARGE);
	set_rest(h, first, written > 1 ? written : 1, n);
	set_word(h, first, word_of(TL_CLASS_LARGE, record, n));
	*e = (tl_entry){address_of(h, first), record, gen};
	return TL_HEAP_OK;
}

/* The words behind the first one stay: they lead to it, and it says that it has no spans. */
void tlc_heap_give_large(tl_heap* h, tl_entry e, bool left)
{
	const uint32_t first = span_at(h, e.object);
	set_word(h, first, 0);
	tlc_lock(&h->lock);
	const uint32_t n = h->metas[first].run;
	h->depots[TL_CLASS_LARGE].out--;
	h->large_gone++;
	h->last_first = first;
	h->last_run = n;
	uncount_large(h, bytes_of(n));
	if (left) give_block(h, TL_CLASS_LARGE, e.record);
	give_run(h, first, n, true);
	tlc_unlock(&h->lock);
	tlc_credit(h->cpu, h->all, bytes_of(n));
	look_at_clock(h);
}

/* Takes the n spans from `at` on, which are free or were never used. */
static int take_at(tl_heap* h, uint32_t at, uint32_t n)
{
	const uint32_t never = LOAD(h->never);
	const bool is_free = at < never && h->metas[at].state == TL_SPAN_FREE;
	const uint32_t end = at + (is_free ? h->metas[at].run : 0);
	if (end - at >= n) {
		carve(h, at, at, n);
		return TL_HEAP_OK;
	}
	if (end != never || n > h->total - at) return TL_HEAP_FULL;
	if (at + n > h->committed) {
		if (at + n > h->wanted) h->wanted = at + n;
		return TL_HEAP_NEEDS_MEMORY;
	}
	if (is_free) remove_run(h, at);
	STORE(h->never, at + n);
	return TL_HEAP_OK;
}

int tlc_heap_grow_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway)
{
	if (bytes > bytes_of(h->total)) return TL_HEAP_FULL;
	const uint32_t first = span_at(h, object), n = (uint32_t)((bytes - 1) >> TL_SPAN_SHIFT) + 1;
	const uint32_t now = h->metas[first].run, more = n - now;
	if (!charge(h->cpu, h->all, bytes_of(more), anyway)) return TL_HEAP_LIMIT;
	tlc_lock(&h->lock);
	const bool asks = !anyway && bytes >= HUGE_FROM && LOAD(h->huge) && !are_asked(h, first, n);
	const int why = asks ? TL_HEAP_ASK : take_at(h, first + now, more);
	if (why == TL_HEAP_OK) {
		claim_words(h, first + now, more);
		h->metas[first].run = n;
		count_large(h, bytes_of(more));
	}
	tlc_unlock(&h->lock);
	if (why != TL_HEAP_OK) {
		tlc_credit(h->cpu, h->all, bytes_of(more));
		return why;
	}
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
	tlc_lock(&h->lock);
	h->metas[first].run = n;
	uncount_large(h, bytes_of(less));
	give_run(h, first + n, less, true);
	tlc_unlock(&h->lock);
	tlc_credit(h->cpu, h->all, bytes_of(less));
	look_at_clock(h);
}

int tlc_heap_resize_large(tl_heap* h, uintptr_t object, uint64_t bytes, bool anyway)
{
	const uint64_t now = bytes_of(h->metas[span_at(h, object)].run);
	if (bytes > now) return tlc_heap_grow_large(h, object, bytes, anyway);
	if (now - bytes >= now / TL_HEAP_GROWS_BY) tlc_heap_shrink_large(h, object, bytes);
	return TL_HEAP_OK;
}

/* ---- idle memory ---------------------------------------------------------------------------------- */

void tlc_heap_drop_empty(tl_heap* h)
{
	for (uint32_t size_class = 1; size_class <= TL_CLASS_SMALL; size_class++) {
		tl_depot* d = &h->depots[size_class];
		tlc_lock(&d->lock);
		const uint32_t lists[] = {d->partial, d->cold};
		for (int i = 0; i < 2; i++)
			for (uint32_t span = lists[i], next; span != 0 && d->empty != 0; span = next) {
				next = h->metas[span].next;
				if (used(&h->metas[span]) == 0) drop(h, d, size_class, span);
			}
		tlc_unlock(&d->lock);
	}
}

/* Large runs first: fewest calls of the system. */
uint32_t tlc_heap_take_idle(tl_heap* h, uint64_t keep, uint32_t epoch, uint32_t* n)
{
	uint32_t found = 0;
	tlc_lock(&h->lock);
	for (int b = TL_BINS - 1; b >= 0 && found == 0 && LOAD(h->dirty) > keep; b--)
		for (uint32_t run = h->bins[b]; run != 0 && found == 0; run = h->metas[run].next)
			if (h->metas[run].dirty && (int32_t)(h->metas[run].epoch - epoch) <= 0) found = run;
	if (found != 0) {
		*n = h->metas[found].run;
		remove_run(h, found);
		h->metas[found] = (tl_span_meta){.state = TL_SPAN_PURGING, .run = *n};
	}
	tlc_unlock(&h->lock);
	return found;
}

void tlc_heap_give_idle(tl_heap* h, uint32_t first, uint32_t n, bool purged)
{
	tlc_lock(&h->lock);
	give_run(h, first, n, !purged);
	tlc_unlock(&h->lock);
}

/* Marks the pages of a slab on which no slot lies that is out, and returns how many there are. */
static uint32_t free_pages(const tl_heap* h, uint32_t span, const tl_class_info* k, uint64_t pages[])
{
	const tl_span_meta* m = &h->metas[span];
	const uint32_t step = step_shift(k), count = (uint32_t)((k->mask + 1) >> h->page_shift);
	uint64_t is_free[2048 / 64] = {0}; /* slots */
	for (uint32_t slot = m->free_head; slot != 0; slot = LOAD(h->records[m->record + ((slot - 1) << step)].loc))
		is_free[(slot - 1) / 64] |= 1ull << (slot - 1) % 64;
	uint32_t found = 0;
	for (uint32_t page = 0; page < count; page++) {
		const uint32_t from = page << h->page_shift, to = from + (1u << h->page_shift);
		uint32_t slot = from / k->size;
		while (slot < m->fresh && slot * k->size < to && (is_free[slot / 64] >> slot % 64 & 1)) slot++;
		if (slot < m->fresh && slot * k->size < to) continue;
		pages[page / 64] |= 1ull << page % 64;
		found++;
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
	settle(h, d, size_class, span);
	tlc_unlock(&d->lock);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void tlc_heap_lock_all(tl_heap* h)
{
	for (int i = 0; i < TL_CLASSES; i++) tlc_lock(&h->depots[i].lock);
	tlc_lock(&h->lock);
}

void tlc_heap_unlock_all(tl_heap* h)
{
	tlc_unlock(&h->lock);
	for (int i = TL_CLASSES - 1; i >= 0; i--) tlc_unlock(&h->depots[i].lock);
}
