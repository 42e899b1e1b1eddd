/* Memory of the fake path: spans of one class, a depot, a registry that never grows. */
#include <pthread.h>
#include <sys/mman.h>

#include "fake.h"

enum { SPANS = 2048, SLOTS = TL_SPAN_BYTES / FAKE_BYTES, BATCH = 64, SHARDS = 16, CELLS = 1 << 15, CHUNK = 1 << 22 };
enum { LEVEL = 12, RECORDS = 1 << LEVEL }; /* of blocks, all that there are */

static pthread_mutex_t depot_lock = PTHREAD_MUTEX_INITIALIZER; /* guards depot, in_depot and fresh */
static tl_entry* depot;
static uint64_t in_depot, fresh;
static uintptr_t base;

static void* map(size_t bytes)
{
	void* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) abort();
	return p;
}

int fake_heap_open(tl_globals* g)
{
	uint64_t records = (uint64_t)SPANS * SLOTS;
	uintptr_t at = (uintptr_t)map((SPANS + 1) * (size_t)TL_SPAN_BYTES);
	base = (at + TL_SPAN_BYTES - 1) & ~(uintptr_t)(TL_SPAN_BYTES - 1);
	g->heap_base = base;
	g->heap_bytes = (uint64_t)SPANS * TL_SPAN_BYTES;
	g->spans = map(SPANS * sizeof *g->spans);
	g->records = map((FAKE_FIRST + records) * sizeof *g->records);
	g->block_metadata = map((FAKE_FIRST + records) / TL_PAGE_RECORDS * sizeof *g->block_metadata);
	g->record_blocks = map((FAKE_FIRST + records) / TL_LINE_RECORDS * sizeof *g->record_blocks);
	for (uint64_t i = 0; i < SPANS; i++) {
		uint32_t first = FAKE_FIRST + (uint32_t)i * SLOTS;
		atomic_store(&g->spans[i], (uint64_t)first << 32 | FAKE_CLASS);
		atomic_store(&g->block_metadata[first / TL_PAGE_RECORDS].type_flags, (uint32_t)i);
		for (uint32_t r = first; r < first + SLOTS; r += TL_LINE_RECORDS) g->record_blocks[r / TL_LINE_RECORDS] = first;
	}
	g->classes[FAKE_CLASS] =
		(tl_class_info){~0ull / FAKE_BYTES + 1, TL_SPAN_BYTES - 1, FAKE_BYTES, SLOTS, FAKE_BYTES, SLOTS};
	depot = map(records * sizeof *depot);
	return TL_OK;
}

static tl_entry fresh_slot(void)
{
	uint64_t n = fresh++;
	if (n >= (uint64_t)SPANS * SLOTS) abort();
	const uint32_t record = FAKE_FIRST + (uint32_t)n;
	atomic_store_explicit(&tlc_g.records[record].gen, FAKE_CLASS, memory_order_relaxed);
	return (tl_entry){base + n * FAKE_BYTES, record, FAKE_CLASS};
}

void fake_refill(tl_context* c)
{
	tl_magazine* m = &c->magazines[FAKE_CLASS];
	pthread_mutex_lock(&depot_lock);
	for (int i = 0; i < BATCH && m->top < m->limit; i++) *m->top++ = in_depot > 0 ? depot[--in_depot] : fresh_slot();
	pthread_mutex_unlock(&depot_lock);
}

void fake_give(tl_context* me, tl_entry e)
{
	tl_magazine* m = &me->magazines[FAKE_CLASS];
	if (m->top == m->limit) {
		pthread_mutex_lock(&depot_lock);
		for (int i = 0; i < BATCH; i++) depot[in_depot++] = *--m->top;
		pthread_mutex_unlock(&depot_lock);
	}
	*m->top++ = e;
}

void fake_recycle(tl_context* me, tl_record* r, tl_entry e)
{
	e.gen = TLC_LOAD(r->gen);
	fake_give(me, tlc_renew(r, e));
}

void fake_registry_open(tl_globals* g)
{
	tl_registry* registry = map(sizeof(tl_registry) + SHARDS * sizeof(tl_shard));
	tl_shard* shards = (tl_shard*)(registry + 1);
	tl_block_record* records = map(RECORDS * sizeof *records);
	atomic_store(&registry->records[LEVEL], (uintptr_t)records - RECORDS * sizeof *records);
	for (int i = 0; i < SHARDS; i++) {
		tl_shard* s = &shards[i];
		s->records = RECORDS / SHARDS;
		s->free_record = RECORDS + (uint32_t)i * s->records;
		for (uint32_t k = 1; k < s->records; k++) records[s->free_record - RECORDS + k - 1].next = s->free_record + k;
		atomic_store(&s->table, (uintptr_t)map(CELLS * sizeof(tl_region)));
		atomic_store(&s->capacity, CELLS);
		s->limit = CELLS / 4 * 3;
		s->chunk = (uintptr_t)map(CHUNK);
		s->chunk_end = s->chunk + CHUNK;
		s->chunk_bytes = CHUNK;
	}
	g->shards = (uintptr_t)shards;
	g->shard_mask = SHARDS - 1;
}
