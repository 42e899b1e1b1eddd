/* Memory pools under ThreadSanitizer: tables made by hand, large enough never to need
 * Go, and four threads that allocate, hand over and release through the fast path. A
 * block's holder writes a word of its own for it, so that two holders are a race, and
 * so is a lost order between the release of a block and its next life. */
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "mempool/caches.h"
#include "thread.h"

enum { RECORDS = 1 << 14, THREADS = 4, STEPS = 30000, BOARD = 32, GRANULE = 64, GRANULES = 1 << 14 };

static tl_mempool_block records[RECORDS];
static uint32_t chains[RECORDS];
static tl_mempool_bins bins;
static char table[TL_MEMPOOL_SLOTS * TL_MEMPOOL_STRIDE] __attribute__((aligned(4096)));

/* What stands for the bytes of the chunk: one word for each granule. */
static uint64_t words[GRANULES];
#define BASE ((uint64_t)1 << 40)

static tl_memory_pool* pool;
static _Atomic(void*) board[BOARD];
static _Atomic long failures;

static uint64_t* word_of(const void* block) { return &words[((uintptr_t)block - BASE) / GRANULE]; }

static void make_pool(void)
{
	tl_mempool_state* p = (tl_mempool_state*)(table + TL_MEMPOOL_STRIDE);
	pool = (tl_memory_pool*)((uintptr_t)1 << 48 | 1); /* of slot 1 */
	p->handle = (uintptr_t)pool;
	p->shift = 6;
	p->blocks = (uintptr_t)records;
	p->hash = (uintptr_t)chains;
	p->hash_shift = 64 - 14;
	p->limit = RECORDS;
	p->bins = (uintptr_t)&bins;
	p->fresh = 1;
	uint32_t first = tlc_record_take(p);
	records[first].address = BASE;
	tlc_index_insert(p, first, (uint64_t)GRANULES * GRANULE);
	tlc_memory_pools_attach((uintptr_t)table, true);
}

static void give(void* block)
{
	(*word_of(block))++;
	if (tl_memory_pool_deallocate(pool, block) != TL_OK) atomic_fetch_add(&failures, 1);
}

static void* work(void* seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
	for (int i = 0; i < STEPS; i++) {
		random = random * 1664525u + 1013904223u;
		void* block = tl_memory_pool_allocate(pool, 1 + (random >> 8 & 2047));
		if (block == NULL) continue; /* nothing fits */
		(*word_of(block))++;
		if (random >> 30 == 0) {
			give(block);
			continue;
		}
		block = atomic_exchange_explicit(&board[random >> 20 & (BOARD - 1)], block, memory_order_acq_rel);
		if (block != NULL) give(block);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	tl_init();
	make_pool();
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(work, (void*)i);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	for (int i = 0; i < BOARD; i++)
		if (board[i] != NULL) give(board[i]);
	tl_mempool_state* p = (tl_mempool_state*)(table + TL_MEMPOOL_STRIDE);
	tlc_mempool_recall(p);
	if (failures != 0 || p->allocations < STEPS || p->allocations != p->deallocations ||
	    p->total_allocated != p->total_freed) {
		fprintf(stderr, "%ld failures, %lu of %lu blocks came back\n", (long)failures, (unsigned long)p->deallocations,
		        (unsigned long)p->allocations);
		return 1;
	}
	printf("%lu blocks\n", (unsigned long)p->allocations);
	return 0;
}
