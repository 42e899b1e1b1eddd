/* Blocks of the registry between threads: counts that several have taken apart come to
 * zero once, what frees is called with no lock held and calls back, and whoever frees has
 * seen what the others wrote. No slow path: what does not fit the fast one is a failure. */
#include <stdio.h>

#include "fake.h"
#include "thread.h"

enum { THREADS = 4, ROUNDS = 400, BLOCKS = 8, WORDS = 8 };

static pthread_barrier_t start, stop;
static uint64_t* blocks[BLOCKS];
static _Atomic long ends, failures;

static void expect(bool good, const char* what)
{
	if (good) return;
	fprintf(stderr, "%s\n", what);
	atomic_fetch_add(&failures, 1);
}

#define EXPECT(condition) expect((condition), #condition)

/* operator delete[], as the registry finds it. Reads what every thread wrote. */
void _ZdaPv(void* block);
void _ZdaPv(void* block)
{
	uint64_t sum = 0;
	for (int i = 0; i < WORDS; i++) sum += ((uint64_t*)block)[i];
	EXPECT(sum == THREADS);
	EXPECT(!tl_registry_is_registered(block));
	void* other = malloc(64);
	EXPECT(tl_registry_register(other, 64, TL_ALLOC_MALLOC) == TL_OK);
	EXPECT(tl_registry_unregister(other) == TL_OK);
	atomic_fetch_add(&ends, 1);
	free(block);
}

/* A deleter, which is called on the fast path. */
static void free_block(void* block, void* ctx)
{
	EXPECT(ctx == (void*)&ends);
	_ZdaPv(block);
}

static void* split(void* argument)
{
	uintptr_t me = (uintptr_t)argument;
	EXPECT(tl_init() == TL_OK);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&start);
		for (int i = 0; i < BLOCKS; i++) {
			uint64_t* block = blocks[(i + 3 * (int)me) % BLOCKS];
			block[me]++;
			EXPECT(tl_registry_is_registered(block));
			EXPECT(tl_ptr_acquire(block) == block);
			EXPECT(tl_ptr_release(block) == TL_OK);
			EXPECT(tl_registry_unregister(block) == TL_OK);
		}
		pthread_barrier_wait(&stop);
	}
	return NULL;
}

static void make_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = calloc(WORDS, sizeof **blocks);
		size_t bytes = WORDS * sizeof **blocks;
		if (i % 2) EXPECT(tl_registry_register(blocks[i], bytes, TL_ALLOC_NEW_ARRAY) == TL_OK);
		else EXPECT(tl_registry_register_custom(blocks[i], bytes, free_block, (void*)&ends) == TL_OK);
		for (int k = 1; k < THREADS; k++) EXPECT(tl_ptr_acquire(blocks[i]) == blocks[i]);
	}
}

/* Blocks over edges of a KiB or of 64, every thread's between the others' in memory: one
 * list of units for all, and for the large ones locks that somebody else has just taken. */
static void* come_and_go(void* argument)
{
	uintptr_t me = (uintptr_t)argument, base = (uintptr_t)1 << 44;
	uint64_t random = 1 + me;
	EXPECT(tl_init() == TL_OK);
	for (int round = 0; round < 40 * ROUNDS; round++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		bool large = (random >> 60 & 3) == 0;
		uintptr_t step = large ? 65536 : 1024, from = large ? base + ((uintptr_t)1 << 32) : base;
		uintptr_t edge = from + step * (1 + me + THREADS * (random >> 32 & 15));
		uintptr_t p = edge - step / 4 - 16, bytes = step / 2;
		EXPECT(tlc_foreign_insert(p, bytes, TL_FOREIGN_NEW_ARRAY));
		tlc_ended e;
		EXPECT(tlc_foreign_known(p) && tlc_foreign_covered(edge));
		if (random >> 59 & 1) EXPECT(tlc_foreign_acquire(p) == TLC_OK && tlc_foreign_release(p, &e) == TLC_OK);
		/* A lock that the block needs besides may be somebody's. */
		uint32_t ended = tlc_end(p, 0, 0);
		if (ended == TLC_NO_KIND && tlc_foreign_release(p, &e) == TLC_GONE) ended = e.kind;
		EXPECT(ended == TL_FOREIGN_NEW_ARRAY && !tlc_foreign_covered(edge));
	}
	return NULL;
}

static void run_neighbours(void)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(come_and_go, (void*)i);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void)
{
	pthread_t threads[THREADS];
	EXPECT(tl_init() == TL_OK);
	EXPECT(tlc_is_fast(tlc_tls));
	/* Found here, once: the fake slow path cannot look it up. */
	extern uintptr_t tlc_deleter_of(uint32_t kind);
	EXPECT(tlc_deleter_of(TL_FOREIGN_NEW_ARRAY) == (uintptr_t)_ZdaPv);
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&stop, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(split, (void*)i);
	for (int round = 0; round < ROUNDS; round++) {
		make_blocks();
		pthread_barrier_wait(&start);
		pthread_barrier_wait(&stop);
	}
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	run_neighbours();
	printf("%ld blocks ended, %ld failures\n", atomic_load(&ends), atomic_load(&failures));
	return ends != (long)ROUNDS * BLOCKS || failures != 0;
}
