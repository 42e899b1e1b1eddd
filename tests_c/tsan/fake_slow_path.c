/* The counting protocol behind the fast path, for plain objects: what runtime/object
 * does in Go, with C11 atomics. */
#include <pthread.h>
#include <stdio.h>

#include "fake.h"
#include "heap/heap.h"
#include "inline/counts.h"
#include "inline/refs.h"
#include "object/cells.h"

enum {
	CONTEXTS = 512,
	MARKS = 64,
	TYPES = 2,
	ENTRIES = 4096,
	MAGAZINE = TL_MAGAZINE_HOLDS / FAKE_BYTES,
	SLICE_SHIFT = 18,
	NODES = 1 << 22
};

typedef struct slice {
	_Alignas(64) tl_context context;
	_Alignas(64) tl_context stub; /* at TLC_STUB_OFFSET */
	_Alignas(64) tl_type_count types[TYPES];
	tl_mark marks[MARKS];
	tl_entry entries[ENTRIES];
	tl_entry magazine[MAGAZINE], cells[MAGAZINE];
} slice;

_Static_assert(offsetof(slice, types) == TLC_TYPES_OFFSET, "contexts count types");
_Static_assert(sizeof(slice) <= 1 << SLICE_SHIFT, "contexts are found by their numbers");

/* A type of 48 bytes that begin with two pointers, and that of its cells. */
static uint32_t pointers[] = {0, 1}, pointers_of_cells[] = {2, 3};
static tl_type_info types[TYPES] = {
	{.size = FAKE_BYTES - TL_CELL_OFFSET,
     .offsets = pointers,
     .fields = 2,
     .ends = TL_ENDS_SIMPLY,
     .context = TL_TYPE_FIRST_USER + 1},
	{.size = FAKE_BYTES, .offsets = pointers_of_cells, .fields = 2, .ends = TL_ENDS_SIMPLY},
};
tl_type fake_cell_type(void) { return TL_TYPE_FIRST_USER; }

static tl_globals globals;
static _Atomic uint32_t created, used_nodes;

static slice* slice_of(uint32_t id) { return (slice*)(globals.slices_base + ((uintptr_t)id << SLICE_SHIFT)); }

/* Nodes that drain has read are not used again: there are enough. */
static uint32_t take_node(tl_context* me)
{
	if (me->nodes.count == 0) {
		uint32_t first = atomic_fetch_add(&used_nodes, TL_NODE_CHAIN) + 1;
		if (first + TL_NODE_CHAIN > NODES) abort();
		for (uint32_t i = first; i < first + TL_NODE_CHAIN; i++) globals.nodes[i].next = i + 1;
		me->nodes.first = first;
		me->nodes.count = TL_NODE_CHAIN;
	}
	uint32_t i = me->nodes.first;
	me->nodes.first = globals.nodes[i].next;
	me->nodes.count--;
	return i;
}

static tl_record* record_of(tl_entry e) { return globals.records + e.record; }
static bool owns(const tl_context* c, uint32_t loc) { return tlc_own(c, loc) < TLC_OWNED; }

static void kill(tl_context* me, tl_record* r, tl_entry e)
{
	TLC_STORE(r->loc, 0);
	TLC_STORE(r->sh, 0);
	fake_recycle(me, r, e);
}

/* Adds delta references to the shared word and changes flags; the word after. */
static uint32_t change(tl_record* r, int32_t delta, uint32_t set, uint32_t clear)
{
	uint32_t old = TLC_LOAD(r->sh), next;
	do {
		next = ((old + (uint32_t)delta * TL_SH_ONE) | set) & ~clear;
		if (tlc_sh_count(next) <= 0) next &= ~TL_SH_FLOAT_MASK;
	} while (!atomic_compare_exchange_weak_explicit(&r->sh, &old, next, memory_order_acq_rel, memory_order_relaxed));
	return next;
}

/* Moves the local word into the shared one and ends bias. */
static void merge(tl_context* c, tl_context* me, tl_record* r, tl_entry e, int32_t delta, uint32_t clear)
{
	uint32_t loc = TLC_LOAD(r->loc);
	int32_t count = owns(c, loc) ? (int32_t)(loc & TL_LOC_COUNT) : 0;
	TLC_STORE(r->loc, 0);
	uint32_t sh = change(r, count + delta, TL_SH_MERGED, clear);
	if (tlc_sh_count(sh) <= 0 && !(sh & TL_SH_QUEUED)) kill(me, r, e);
}

static void merge_all(tl_context* c, tl_context* me, uint32_t i)
{
	while (i != 0) {
		tl_node n = globals.nodes[i];
		tl_record* r = globals.records + n.record;
		tl_entry e = {n.object, n.record, n.gen};
		if (TLC_LOAD(r->gen) == e.gen && (TLC_LOAD(r->sh) & TL_SH_QUEUED)) merge(c, me, r, e, -1, TL_SH_QUEUED);
		i = n.next;
	}
}

static void drain(tl_context* c, tl_context* me)
{
	merge_all(c, me, (uint32_t)c->waiting);
	c->waiting = 0;
	uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);
	while (word >> 2 != 0 && !atomic_compare_exchange_weak_explicit(&c->word, &word, word & TL_CTX_STATE,
	                                                                memory_order_acquire, memory_order_relaxed)) {}
	merge_all(c, me, (uint32_t)(word >> 2));
}

void tlentry_cool(uintptr_t context)
{
	tl_context* c = (tl_context*)context;
	if (c->warm == NULL) return;
	while (c->warm > c->end) fake_give(c, *--c->warm);
	c->warm = NULL;
	c->end = tlc_end_of_stack(c);
}

static void release(tl_context* c, tl_context* me, tl_entry e);

static void finish(tl_context* c, tl_context* me)
{
	while (c->top > c->entries) {
		tl_entry e = *--c->top;
		if (e.object != 0) release(c, me, e);
	}
	tlentry_cool((uintptr_t)c);
	c->mark_top = c->marks;
	c->floor = c->function = c->holes = 0;
}

/* The work of a borrowed context, until nothing was delivered meanwhile. */
static void give_back(tl_context* c, tl_context* me)
{
	uint64_t borrowed;
	do {
		drain(c, me);
		finish(c, me);
		borrowed = TL_CTX_BORROWED;
	} while (!atomic_compare_exchange_strong_explicit(&c->word, &borrowed, TL_CTX_PARKED, memory_order_release,
	                                                  memory_order_relaxed));
}

static void deliver(tl_context* me, tl_context* owner, uint32_t n)
{
	uint64_t word = atomic_load_explicit(&owner->word, memory_order_relaxed), state;
	do {
		globals.nodes[n].next = (uint32_t)(word >> 2);
		state = word & TL_CTX_STATE;
		if (state == TL_CTX_PARKED) state = TL_CTX_BORROWED;
	} while (!atomic_compare_exchange_weak_explicit(&owner->word, &word, (uint64_t)n << 2 | state, memory_order_acq_rel,
	                                                memory_order_relaxed));
	if ((word & TL_CTX_STATE) == TL_CTX_PARKED) give_back(owner, me);
}

/* A reference that is not the owner's to count. */
static tl_status release_shared(tl_context* me, tl_record* r, tl_entry e, uint32_t loc)
{
	uint32_t owner = loc >> TL_LOC_OWNER_SHIFT, old = TLC_LOAD(r->sh);
	for (;;) {
		bool merged = old & TL_SH_MERGED,
			 queue = !merged && !(old & TL_SH_QUEUED) && tlc_sh_count(old) == 0 && owner != 0;
		if (!(old & TL_SH_ALIVE) || (merged && tlc_sh_count(old) <= 0)) return TL_E_NOT_LIVE;
		uint32_t next = queue ? old | TL_SH_QUEUED : old - TL_SH_ONE;
		if (merged && tlc_sh_floats(next) > tlc_sh_count(next)) next -= 1u << TL_SH_FLOAT_SHIFT;
		e.gen = TLC_LOAD(r->gen);
		if (!atomic_compare_exchange_weak_explicit(&r->sh, &old, next, memory_order_acq_rel, memory_order_relaxed))
			continue;
		if (queue) {
			uint32_t n = take_node(me);
			globals.nodes[n].object = e.object;
			globals.nodes[n].record = e.record;
			globals.nodes[n].gen = e.gen;
			deliver(me, &slice_of(owner)->context, n);
		} else if (merged && tlc_sh_count(next) == 0 && !(next & TL_SH_QUEUED)) {
			kill(me, r, e);
		}
		return TL_OK;
	}
}

static tl_status release_object(tl_context* c, tl_context* me, tl_record* r, tl_entry e)
{
	uint32_t loc = TLC_LOAD(r->loc);
	if (!owns(c, loc)) return release_shared(me, r, e, loc);
	if ((loc & TL_LOC_COUNT) > 1) {
		TLC_STORE(r->loc, loc - 1);
	} else if (atomic_load_explicit(&r->sh, memory_order_acquire) == TL_SH_ALIVE) {
		kill(me, r, e);
	} else {
		merge(c, me, r, e, -1, 0);
	}
	return TL_OK;
}

static void release(tl_context* c, tl_context* me, tl_entry e)
{
	tlc_ended ended;
	if (e.record == TL_FOREIGN) {
		if (tlc_foreign_release_entry(e.object, e.gen, &ended) == TLC_GONE) tlc_free_ended(me, &ended);
	} else if (TLC_LOAD(record_of(e)->gen) == e.gen) {
		release_object(c, me, record_of(e), e);
	}
}

/* ---- what the shim calls ----------------------------------------------------------- */

/* Of runtime/cgo; there is no Go to start. */
void crosscall1(void (*body)(void), void (*set_g)(void*), void* g);
uintptr_t _cgo_wait_runtime_init_done(void);
void crosscall1(void (*body)(void), void (*set_g)(void*), void* g)
{
	(void)body;
	(void)set_g;
	(void)g;
}
uintptr_t _cgo_wait_runtime_init_done(void) { return 0; }

int32_t tlentry_open(uintptr_t out)
{
	int status = fake_heap_open(&globals);
	fake_registry_open(&globals);
	globals.nodes = calloc(NODES, sizeof *globals.nodes);
	globals.slice_shift = SLICE_SHIFT;
	globals.slices_bytes = (uint64_t)CONTEXTS << SLICE_SHIFT;
	globals.slices_base = (uintptr_t)aligned_alloc(1 << SLICE_SHIFT, globals.slices_bytes);
	globals.arena_capacity = sizeof((slice*)NULL)->entries; /* of scope entries, too */
	globals.fast = 1;
	globals.types = types;
	globals.counted_types = TYPES;
	*(uintptr_t*)out = (uintptr_t)&globals;
	return status;
}

static tl_context* prepare(slice* s, uint32_t id)
{
	tl_context* c = &s->context;
	c->id = id;
	c->owner = id << TL_LOC_OWNER_SHIFT;
	c->alloc_loc = c->owner | TL_LOC_FLOAT | 1;
	c->new_loc = c->owner | 1;
	c->alloc_sh = c->new_sh = TL_SH_ALIVE;
	c->top = c->entries = s->entries;
	c->end = s->entries + ENTRIES;
	c->mark_top = c->marks = s->marks;
	c->mark_end = s->marks + MARKS;
	c->magazines[FAKE_CLASS] = (tl_magazine){s->magazine, s->magazine, s->magazine, 0};
	c->magazines[FAKE_CELL_CLASS] = (tl_magazine){s->cells, s->cells, s->cells, 0};
	c->self = c;
	c->record_limit = globals.heap->record_limit;
	c->records = globals.records;
	c->tracking.left = UINT64_MAX >> 1;
	s->stub.owner = TL_OWNER_NEVER;
	c->one = c->owner | 1;
	s->stub.one = TL_OWNER_NEVER | 1;
	s->stub.self = c;
	atomic_store_explicit(&c->word, TL_CTX_ACTIVE, memory_order_release);
	return c;
}

static tl_context* adopt(void)
{
	for (uint32_t id = 1; id <= atomic_load_explicit(&created, memory_order_acquire); id++) {
		tl_context* c = &slice_of(id)->context;
		uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);
		if ((word & TL_CTX_STATE) != TL_CTX_PARKED ||
		    !atomic_compare_exchange_strong_explicit(&c->word, &word, (word & ~(uint64_t)TL_CTX_STATE) | TL_CTX_ACTIVE,
		                                             memory_order_acquire, memory_order_relaxed))
			continue;
		drain(c, c);
		finish(c, c);
		c->in_go = c->draining.active = 0;
		return c;
	}
	return NULL;
}

/* There is no Go to wait for, and nothing to purge: the call has read the inbox before. */
void tlentry_wait(void) {}
int32_t tlgo_init(uintptr_t context) { return ((tl_context*)context)->error.status; }
int32_t tlgo_mem_purge(uintptr_t context) { return ((tl_context*)context)->error.status; }

uintptr_t tlentry_attach(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	tl_context* c = adopt();
	if (c != NULL) return (uintptr_t)c;
	pthread_mutex_lock(&lock);
	uint32_t id = atomic_load_explicit(&created, memory_order_relaxed) + 1;
	if (id == CONTEXTS) abort();
	c = prepare(memset(slice_of(id), 0, sizeof(slice)), id);
	atomic_store_explicit(&created, id, memory_order_release);
	pthread_mutex_unlock(&lock);
	return (uintptr_t)c;
}

void tlentry_poll(uintptr_t context)
{
	tl_context* me = (tl_context*)context;
	uint32_t wanted = 1;
	drain(me, me);
	if (!atomic_compare_exchange_strong(&globals.reap, &wanted, 0)) return;
	for (uint32_t id = 1; id <= atomic_load_explicit(&created, memory_order_acquire); id++) {
		tl_context* c = &slice_of(id)->context;
		uint64_t word = atomic_load_explicit(&c->word, memory_order_relaxed);
		if ((word & TL_CTX_STATE) == TL_CTX_PARKED &&
		    atomic_compare_exchange_strong_explicit(&c->word, &word, (word & ~(uint64_t)TL_CTX_STATE) | TL_CTX_BORROWED,
		                                            memory_order_acquire, memory_order_relaxed))
			give_back(c, me);
	}
}

void tlentry_release_entry(uintptr_t context, uintptr_t object, uint32_t record, uint32_t gen)
{
	tl_context* c = (tl_context*)context;
	release(c, c, (tl_entry){object, record, gen});
}

uintptr_t tlgo_mem_alloc(uintptr_t context, uintptr_t bytes)
{
	tl_context* c = (tl_context*)context;
	tl_magazine* m = &c->magazines[FAKE_CLASS];
	(void)bytes;
	fake_refill(c);
	m->allocs++;
	tl_entry e = *--m->top;
	TLC_STORE(record_of(e)->sh, c->alloc_sh);
	TLC_STORE(record_of(e)->loc, c->alloc_loc);
	return e.object;
}

void tlentry_drop_field(uintptr_t context, uintptr_t object)
{
	tl_context* c = (tl_context*)context;
	tl_record* r = tlc_record_at(object);
	if (r != NULL) release_object(c, c, r, tlc_entry_of(r, object));
}

/* Only merged words are left to the fast path; here a remote, unmerged one. */
static tl_status retain(tl_context* c, uintptr_t p)
{
	tl_record* r = tlc_record_at(p);
	if (r == NULL) return TL_E_UNKNOWN_POINTER;
	if (owns(c, TLC_LOAD(r->loc))) TLC_STORE(r->loc, TLC_LOAD(r->loc) + 1);
	else if (!tlc_retain_shared(r)) return TL_E_NOT_LIVE;
	return TL_OK;
}

uintptr_t tlgo_ptr_acquire(uintptr_t context, uintptr_t p)
{
	if (retain((tl_context*)context, p) != TL_OK) abort();
	return p;
}

int32_t tlgo_ptr_inc_ref(uintptr_t context, uintptr_t p) { return retain((tl_context*)context, p); }

int32_t tlgo_ptr_release(uintptr_t context, uintptr_t p)
{
	tl_context* c = (tl_context*)context;
	tl_record* r = tlc_record_at(p);
	return r == NULL ? TL_E_UNKNOWN_POINTER : release_object(c, c, r, tlc_entry_of(r, p));
}

int32_t tlgo_ref_release(uintptr_t context, uint64_t ref)
{
	tl_context* c = (tl_context*)context;
	tl_record* r;
	if (!tlc_ref_find(c, ref, &r)) return TL_E_NOT_LIVE;
	return release_object(c, c, r, tlc_entry_of(r, tlc_ref_address(c, ref)));
}

int32_t tlgo_mem_register_struct(uintptr_t context, uintptr_t p)
{
	tl_context* c = (tl_context*)context;
	tl_record* r = tlc_record_at(p);
	tl_status status = r == NULL || c->top == c->end ? TL_E_ARENA_EXHAUSTED : retain(c, p);
	if (status == TL_OK) *c->top++ = tlc_entry_of(r, p);
	return status;
}

int32_t tlgo_ptr_share(uintptr_t context, uintptr_t p)
{
	tl_context* c = (tl_context*)context;
	tl_record* r = tlc_record_at(p);
	if (r == NULL || !owns(c, TLC_LOAD(r->loc))) return TL_E_BUSY;
	merge(c, c, r, tlc_entry_of(r, p), 0, 0);
	return TL_OK;
}
