/* Slabs, the depots that they are in, and the magazines that depots fill. */
#include "parts.h"

#include <string.h>

/* ---- slabs ---------------------------------------------------------------------------------- */

static void hand_out(tl_heap* h, uint64_t n)
{
	raise(&h->peak, atomic_fetch_add_explicit(&h->handed, n, memory_order_relaxed) + n + large_of(h));
}

static void take_back(tl_heap* h, uint64_t n) { atomic_fetch_sub_explicit(&h->handed, n, memory_order_relaxed); }

/* Whether a slab has no slot to hand out. */
static bool is_full(const tl_span_meta* m, const tl_class_info* k)
{
	return m->free_count == 0 && m->fresh == k->slots;
}

/* Adds a slab to a depot. */
static int grow(tl_heap* h, tl_depot* d, uint32_t size_class, bool anyway)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t n = (uint32_t)((k->mask + 1) >> TL_SPAN_SHIFT);
	const uint16_t before = head_bytes(size_class) != 0 ? (uint16_t)tlc_before_cells(k) : 0;
	uint32_t record, first;
	bool zero;
	lock(h);
	int why = may_charge(h->cpu, h->all, bytes_of(n), anyway) ? tlc_take_block(h, size_class, &record) : TL_HEAP_LIMIT;
	if (why == TL_HEAP_OK && (why = tlc_take_run(h, n, n, &first, &zero)) != TL_HEAP_OK)
		give_block(h, size_class, record);
	if (why == TL_HEAP_OK) {
		charge(h->cpu, h->all, bytes_of(n));
		h->metas[first] = (tl_span_meta){.state = TL_SPAN_SLAB,
		                                 .size_class = (uint8_t)size_class,
		                                 .record = record,
		                                 .run = n,
		                                 .fresh = before,
		                                 .retired = before,
		                                 .dirty = !zero,
		                                 .epoch = LOAD(h->clock)};
		use_block(h, record, k->block_records, first);
		claim_words(h, first, n);
	}
	unlock(h);
	if (why != TL_HEAP_OK) return why;
	for (uint32_t i = 0; i < n; i++) set_word(h, first + i, word_of(size_class, record, 0));
	enlist(h, d, first, TL_SLAB_PARTIAL);
	d->slabs++;
	d->empty++;
	d->retired += before;
	if (before != 0) tlc_begin_cells(h, first);
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
	lock(h);
	if (m->retired < k->slots) give_block(h, size_class, m->record);
	tlc_give_run(h, first, n, true);
	credit(h->cpu, h->all, bytes_of(n));
	unlock(h);
}

void tlc_drop_slab(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first)
{
	delist(h, d, first);
	d->empty--;
	remove_slab(h, d, size_class, first);
}

void tlc_settle_slab(tl_heap* h, tl_depot* d, uint32_t size_class, uint32_t first)
{
	const tl_span_meta* m = &h->metas[first];
	if (used(m) != 0 || m->list == TL_SLAB_HELD) return;
	if (is_full(m, &h->classes[size_class])) { /* of retired records */
		remove_slab(h, d, size_class, first);
		return;
	}
	d->empty++;
	if (d->empty > 1 || m->run > 1) tlc_drop_slab(h, d, size_class, first);
}

/* The free slots of a slab, and then those that were never handed out, below `to`. A fresh slot whose record began its last
 * generation in an earlier slab stays unused: the record may be retired. */
static uint32_t take_objects(tl_heap* h, tl_depot* d, uint32_t first, tl_entry* to, uint32_t want)
{
	tl_span_meta* m = &h->metas[first];
	const tl_class_info* k = &h->classes[m->size_class];
	const uint32_t step = step_shift(k);
	const uintptr_t base = address_of(h, first);
	tl_record* const records = h->records + m->record;
	uint32_t n = 0, head = m->free_head;
	for (; n < want && head != 0; n++) {
		const uint32_t slot = head - 1;
		tl_record* r = records + (slot << step);
		head = LOAD(r->loc);
		STORE(r->loc, 0);
		*--to = (tl_entry){base + (uintptr_t)slot * k->size, m->record + (slot << step), LOAD(r->gen)};
	}
	m->free_head = (uint16_t)head;
	m->free_count = (uint16_t)(m->free_count - n);
	while (n < want && m->fresh < k->slots) {
		const uint32_t slot = m->fresh++, gen = prepare(h, m->record, slot << step, k->block_records, m->size_class);
		if (gen >= TL_GEN_LAST) {
			m->retired++;
			d->retired++;
			continue;
		}
		*--to = (tl_entry){base + (uintptr_t)slot * k->size, m->record + (slot << step), gen};
		n++;
	}
	return n;
}

/* Takes slots from the depot's first slab, and writes them below `to`. */
static uint32_t take_slots(tl_heap* h, tl_depot* d, uint32_t size_class, tl_entry* to, uint32_t want)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t first = d->partial != 0 ? d->partial : d->cold;
	tl_span_meta* m = &h->metas[first];
	if (used(m) == 0) d->empty--;
	const uint64_t idle = idle_of(h, m, k);
	m->purged = 0;
	if (m->list == TL_SLAB_COLD) {
		delist(h, d, first);
		enlist(h, d, first, TL_SLAB_PARTIAL);
	}
	const uint32_t n =
		head_bytes(size_class) != 0 ? tlc_take_cells(h, first, to, want) : take_objects(h, d, first, to, want);
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

static void put_objects(tl_heap* h, tl_span_meta* m, const tl_entry* from, uint32_t n)
{
	const uint32_t step = step_shift(&h->classes[m->size_class]);
	uint32_t head = m->free_head;
	for (const tl_entry* e = from; e != from + n; e++) {
		STORE(h->records[e->record].loc, head);
		head = ((e->record - m->record) >> step) + 1;
	}
	m->free_head = (uint16_t)head;
}

/* Takes slots back, the first ones of these that are of one slab, and returns how many. */
static uint32_t put(tl_heap* h, tl_depot* d, uint32_t size_class, const tl_entry* from, uint32_t n)
{
	const tl_class_info* k = &h->classes[size_class];
	const uint32_t first = slab_of(h, k, from[0].object);
	tl_span_meta* m = &h->metas[first];
	const bool full = is_full(m, k);
	uint32_t i = 1;
	while (i < n && slab_of(h, k, from[i].object) == first) i++;
	put_objects(h, m, from, i);
	m->free_count = (uint16_t)(m->free_count + i);
	m->epoch = LOAD(h->clock);
	if (m->list == TL_SLAB_COLD) delist(h, d, first);
	if (m->list == TL_SLAB_COLD || (full && m->list == TL_SLAB_PARTIAL)) enlist(h, d, first, TL_SLAB_PARTIAL);
	tlc_settle_slab(h, d, size_class, first);
	return i;
}

int tlc_heap_take(tl_heap* h, uint32_t size_class, tl_entry* to, uint32_t want, uint32_t* n, bool anyway)
{
	tl_depot* d = &h->depots[size_class];
	int why = TL_HEAP_OK;
	uint32_t got = 0;
	tlc_lock(&d->lock);
	while (got < want && ((d->partial | d->cold) != 0 || (why = grow(h, d, size_class, anyway)) == TL_HEAP_OK))
		got += take_slots(h, d, size_class, to + want - got, want - got);
	if (got < want) memmove(to, to + want - got, got * sizeof *to);
	d->out += got;
	hand_out(h, (uint64_t)got * h->classes[size_class].size);
	tlc_unlock(&d->lock);
	*n = got;
	return got != 0 ? TL_HEAP_OK : why;
}

void tlc_heap_give(tl_heap* h, uint32_t size_class, const tl_entry* from, uint32_t n)
{
	tl_depot* d = &h->depots[size_class];
	const uint64_t size = h->classes[size_class].size;
	tlc_lock(&d->lock); /* whoever has it finds the sums right, too */
	count_idle(h, n * size);
	if (head_bytes(size_class) != 0) tlc_put_cells(h, size_class, from, n);
	else
		for (uint32_t i = 0; i < n;) i += put(h, d, size_class, from + i, n - i);
	d->out -= n;
	take_back(h, n * size);
	tlc_unlock(&d->lock);
	if (!needs_clock(h)) return;
	atomic_thread_fence(memory_order_seq_cst);
	tlc_heap_watch(h);
}

void tlc_heap_retire(tl_heap* h, tl_entry e)
{
	const uint32_t size_class = e.gen & 0xFF, first = slab_of(h, &h->classes[size_class], e.object);
	tl_depot* d = &h->depots[size_class];
	tlc_lock(&d->lock);
	h->metas[first].retired++;
	d->retired++;
	d->out--;
	tlc_settle_slab(h, d, size_class, first);
	take_back(h, h->classes[size_class].size);
	tlc_unlock(&d->lock);
}

/* ---- magazines -------------------------------------------------------------------------------- */

/* A magazine has room for LEAST_ROOM objects at first, or twice as many, which doubles with use, so that a context which
 * allocates a few objects of a class keeps a few. It gets up to MOST_AT_ONCE. */
enum { LEAST_ROOM = 16, MOST_AT_ONCE = 512 };

/* The room of a magazine that gets full again and again and is never empty: its thread frees more than it allocates. All of
 * its slots go to the depot each time: each may be the only one that keeps a page of a slab and a page of records in use,
 * and the thread may never call again. */
enum { FREEING_ROOM = 32, FREEING_BYTES = 0x10000 };

/* How many objects a magazine has room for after its first refill, which fills half of it. Two threads that refill one after
 * the other get neighbouring slots. A scope of eight small objects uses eight of the sixteen, so eight slots lie between the
 * two threads, and neither writes what the processor prefetches for the other. */
static uint32_t first_room(uint32_t size_class) { return size_class <= TL_WARM_CLASSES ? 2 * LEAST_ROOM : LEAST_ROOM; }

static uint32_t capacity_of(const tl_heap* h, uint32_t size_class)
{
	return max(TL_MAGAZINE_HOLDS / h->classes[size_class].size, TL_MAGAZINE_FEWEST);
}

static void set_top(tl_magazine* m, tl_entry* top) { __atomic_store_n(&m->top, top, __ATOMIC_RELEASE); }

/* Between the two the clock takes no slots of the context (idle.c). The fence is the compiler's: the clock has every thread
 * pass a barrier after it has set `taking`. */
static void begin_moving(tl_context* c)
{
	for (unsigned turn = 0;; turn++) {
		STORE(c->moving, 1);
		atomic_signal_fence(memory_order_seq_cst);
		if (TLC_LIKELY(atomic_load_explicit(&c->taking, memory_order_acquire) == 0)) return;
		STORE(c->moving, 0);
		tlc_wait(turn);
	}
}

static void end_moving(tl_context* c) { atomic_store_explicit(&c->moving, 0, memory_order_release); }

/* Where a magazine begins. */
static tl_entry* start_of(const tl_context* c, uint32_t size_class)
{
	return c->magazines[size_class].base - c->taken[size_class];
}

/* The top goes down first: who looks at both without a lock sees none rather than too many. */
static void begin_at_start(tl_context* c, uint32_t size_class, uint32_t n)
{
	tl_magazine* m = &c->magazines[size_class];
	tl_entry* start = start_of(c, size_class);
	set_top(m, start + n);
	__atomic_store_n(&m->base, start, __ATOMIC_RELEASE);
	c->taken[size_class] = 0;
}

static uint32_t empty_magazine(tl_heap* h, tl_context* c, uint32_t size_class)
{
	tl_magazine* m = &c->magazines[size_class];
	const uint32_t n = (uint32_t)(m->top - m->base);
	if (n != 0) tlc_heap_give(h, size_class, m->base, n);
	begin_at_start(c, size_class, 0);
	m->limit = m->base;
	c->flushed_last[size_class] = 0;
	count_flow(&c->flows[size_class].flushed, n);
	return n;
}

/* Gives the depots what a context keeps of classes that it did not use since the last time, when it is about to take fresh
 * memory for another one, so that sizes that grow leave nothing behind. It looks each time after a number of spans of
 * fresh slabs. A class that is used again after it was idle doubles the number, up to what a slab of each class has: a program
 * that uses its classes in turn keeps its magazines. */
static void age(tl_heap* h, tl_context* c, uint32_t but)
{
	enum { AT_FIRST = 8, AT_MOST = 2 * TL_HEAP_KEEPS / TL_SPAN_BYTES }; /* spans */
	const tl_magazine* of = &c->magazines[but];
	if (of->allocs != 0 && of->allocs == c->seen_allocs[but]) c->patience++;
	c->growths += (uint32_t)(h->classes[but].mask + 1) >> TL_SPAN_SHIFT;
	if (c->growths < min((uint64_t)AT_FIRST << min(c->patience, 8), AT_MOST)) return;
	c->growths = 0;
	for (uint32_t size_class = 1; size_class < TL_CLASS_LARGE; size_class++) {
		const tl_magazine* m = &c->magazines[size_class];
		if (size_class == but || m->top == m->base) continue;
		if (c->seen_allocs[size_class] == m->allocs) empty_magazine(h, c, size_class);
		else c->seen_allocs[size_class] = m->allocs;
	}
}

static int refill(tl_heap* h, tl_context* c, uint32_t size_class, bool anyway)
{
	tl_magazine* m = &c->magazines[size_class];
	const tl_depot* d = &h->depots[size_class];
	if ((__atomic_load_n(&d->partial, __ATOMIC_RELAXED) | __atomic_load_n(&d->cold, __ATOMIC_RELAXED)) == 0)
		age(h, c, size_class);
	if (c->taken[size_class] != 0) begin_at_start(c, size_class, 0);
	const uint32_t capacity = capacity_of(h, size_class);
	const uint32_t grown_to = min(max(2 * (uint64_t)(m->limit - m->base), first_room(size_class)), capacity);
	uint32_t n;
	const uint32_t want =
		min(min(grown_to / 2, MOST_AT_ONCE), max(TL_MAGAZINE_HOLDS / 2 / h->classes[size_class].size, 2));
	const int why = tlc_heap_take(h, size_class, m->base, want, &n, anyway);
	if (n == 0) return why;
	c->flushed_last[size_class] = 0;
	m->limit = m->base + grown_to;
	count_flow(&c->flows[size_class].refilled, n);
	set_top(m, m->base + n);
	return TL_HEAP_OK;
}

int tlc_heap_refill(tl_heap* h, tl_context* c, uint32_t size_class, bool anyway)
{
	begin_moving(c);
	/* The clock may have given back what it was about to take when the owner saw an empty magazine. */
	const tl_magazine* m = &c->magazines[size_class];
	const int why = m->top > m->base ? TL_HEAP_OK : refill(h, c, size_class, anyway);
	end_moving(c);
	tlc_watch(h);
	return why;
}

static void make_room(tl_heap* h, tl_context* c, uint32_t size_class)
{
	tl_magazine* m = &c->magazines[size_class];
	tl_entry* start = start_of(c, size_class);
	tl_entry* full = start + capacity_of(h, size_class);
	const bool again = c->flushed_last[size_class] != 0 && m->top != m->base;
	if (m->limit < full && m->top < full && !again) {
		tl_entry* held = m->top > m->limit ? m->top : m->limit; /* the clock has lowered the limit */
		m->limit = start + min((uint64_t)(held - start) + max((uint64_t)(held - start), LEAST_ROOM), full - start);
		return;
	}
	const uint32_t room = min(FREEING_ROOM, max(FREEING_BYTES / h->classes[size_class].size, 2));
	const uint32_t n = (uint32_t)(m->top - m->base), kept = again ? 0 : n / 2, old = n - kept;
	if (again && m->limit - start > room) m->limit = start + room;
	c->flushed_last[size_class] = 1;
	tlc_heap_give(h, size_class, m->base, old);
	memmove(start, m->base + old, kept * sizeof *start);
	begin_at_start(c, size_class, kept);
	count_flow(&c->flows[size_class].flushed, old);
}

void tlc_heap_make_room(tl_heap* h, tl_context* c, uint32_t size_class)
{
	begin_moving(c);
	make_room(h, c, size_class);
	end_moving(c);
	tlc_watch(h);
}

uint32_t tlc_heap_empty_magazine(tl_heap* h, tl_context* c, uint32_t size_class)
{
	begin_moving(c);
	const uint32_t n = empty_magazine(h, c, size_class);
	end_moving(c);
	return n;
}
