/* Memory of the fake path: the library's own heap (cshim/heap) over memory that is all usable from the start, and a registry
 * that never grows. */
#include <sys/mman.h>

#include "fake.h"
#include "heap/heap.h"

enum { SPANS = 8192, RECORDS_OF_HEAP = SPANS * 2048, SHARDS = 16, CELLS = 1 << 15, CHUNK = 1 << 22 };
enum { LEVEL = 12, RECORDS = 1 << LEVEL }; /* of blocks, all that there are */

static tl_account cpu, all;

static void* map(size_t bytes)
{
	void* p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) abort();
	return p;
}

/* As layout.FillClasses. */
static tl_class_info class_of(uint32_t size)
{
	const uint32_t slab = size <= 8192 ? TL_SPAN_BYTES : 8 * TL_SPAN_BYTES, step = size >= TL_LINE_SLOT_BYTES ? 4 : 1;
	return (tl_class_info){~0ull / (size / step) + 1, slab - 1, size, slab / size, size / step, slab / size * step};
}

int fake_heap_open(tl_globals* g)
{
	const uintptr_t align = 8 * TL_SPAN_BYTES, at = (uintptr_t)map((SPANS + 8) * (size_t)TL_SPAN_BYTES);
	tl_heap* h = map(sizeof *h);
	g->heap_base = h->base = (at + align - 1) & ~(align - 1);
	g->heap_bytes = (uint64_t)SPANS * TL_SPAN_BYTES;
	g->spans = h->spans = map(SPANS * sizeof *g->spans);
	g->records = h->records = map(RECORDS_OF_HEAP * sizeof *g->records);
	g->block_metadata = h->block_metadata = map(RECORDS_OF_HEAP / TL_BLOCK_RECORDS * sizeof *g->block_metadata);
	g->record_blocks = h->record_blocks = map(RECORDS_OF_HEAP / TL_LINE_RECORDS * sizeof *g->record_blocks);
	g->heap = h;
	h->metas = map(SPANS * sizeof *h->metas);
	h->classes = tlc_g.classes; /* the shim's copy */
	h->cpu = &cpu;
	h->all = &all;
	h->total = h->committed = SPANS;
	h->record_limit = h->dumped_records = RECORDS_OF_HEAP;
	h->next_record = 64;
	h->never = 8;
	h->clock = 2;
	h->page_shift = 12;
	const tl_class_info one = {1, TL_SPAN_BYTES - 1, 0, 1, 0, 1};
	g->classes[TL_CLASS_NONE] = g->classes[TL_CLASS_LARGE] = g->classes[TL_CLASS_REST] = one;
	for (uint32_t i = 1; i <= 16; i++) {
		g->classes[i] = class_of(i * 32);
		g->classes[TL_CLASS_CELL + i - 1] = class_of(i * TL_CELL_STEP); /* and none of those above 256 bytes */
	}
	return TL_OK;
}

void fake_refill(tl_context* c)
{
	if (tlc_heap_refill(tlc_g.heap, c, FAKE_CLASS, true) != TL_HEAP_OK) abort();
}

void fake_give(tl_context* me, tl_entry e)
{
	tl_magazine* m = &me->magazines[FAKE_CLASS];
	if (m->top == m->limit) tlc_heap_make_room(tlc_g.heap, me, FAKE_CLASS);
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
