/* TL_DEBUG: threads that allocate and deallocate blocks of a memory pool beside others that reset and trim it, or look at
 * all red zones. */
#include "check.h"
#include "thread.h"

enum { THREADS = 4, TURNS = 4000 };

static tl_memory_pool* pool;
static _Atomic int busy;
static _Atomic int tellings;

static void listen(tl_status status, const char* message, void* ctx)
{
	(void)ctx;
	if (status != TL_E_CORRUPTED) return; /* a block that a reset took away is unknown */
	tellings++;
	fprintf(stderr, "%s\n", message);
}

/* A reset takes blocks away from the thread that has them, which then writes nothing. */
static void* come_and_go(void* seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	int i = 0;
	for (; i < TURNS; i++) {
		state = state * 1664525u + 1013904223u;
		void* block = state >> 31 ? tl_memory_pool_allocate(pool, 1 + (state >> 8) % 3000)
		                          : tl_memory_pool_allocate_async(pool, 1 + (state >> 8) % 3000, NULL);
		if (block == NULL) break;
		tl_status ended = state >> 30 & 1 ? tl_memory_pool_deallocate(pool, block)
		                                  : tl_memory_pool_deallocate_async(pool, block, NULL);
		if (ended != TL_OK && ended != TL_E_UNKNOWN_POINTER) break;
		tl_clear_error();
	}
	busy--;
	return i < TURNS ? &pool : NULL;
}

static void reset_and_trim(void)
{
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_OK(tl_memory_pool_trim(pool));
}

static void trim(void) { CHECK_OK(tl_memory_pool_trim(pool)); }

static void look(void) { CHECK_INT(tl_mem_check_all(), 0); }

THREAD(repeat, step)
{
	while (busy > 0) (*(void (**)(void))step)();
}

/* The threads, and beside them one that makes this step again and again, while this thread makes that. */
static void beside(void (*step)(void), void (*other)(void))
{
	pthread_t threads[THREADS + 1];
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 4096, &pool));
	tellings = 0;
	busy = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, come_and_go, (void*)(i + 1)) == 0);
	CHECK(pthread_create(&threads[THREADS], NULL, repeat, &step) == 0);
	while (busy > 0) other();
	for (int i = 0; i <= THREADS; i++) {
		void* failed;
		CHECK(pthread_join(threads[i], &failed) == 0);
		CHECK(failed == NULL);
	}
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(tl_mem_check_all(), 0);
	CHECK_INT(tellings, 0); /* nobody is told of damage that the library itself has done */
}

TEST(a_pool_is_reset_and_trimmed) { beside(reset_and_trim, reset_and_trim); }
TEST(a_pool_is_trimmed_while_all_is_looked_at) { beside(trim, look); }
TEST(a_pool_is_reset_while_all_is_looked_at) { beside(reset_and_trim, look); }

/* A block that the pool has not taken back is guarded on. */
TEST(a_call_that_fails_leaves_the_guard)
{
	tl_memory_pool* own;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 4096, &own));
	unsigned char* block = tl_memory_pool_allocate(own, 100);
	tl_alloc_info before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
	CHECK_OK(tl_mem_allocation_info(block, &before));
	CHECK_FAILS(tl_memory_pool_deallocate_async(own, block, &before), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_allocation_info(block, &after));
	CHECK(before.number != 0);
	CHECK_INT(after.number, before.number);
	((volatile unsigned char*)block)[100] = 1;
	CHECK_INT(tl_mem_check_all(), 1);
	CHECK_OK(tl_memory_pool_deallocate(own, block));
	CHECK_OK(tl_memory_pool_destroy(own));
}

int main(void)
{
	setenv("TL_DEBUG", "1", 1);
	CHECK_OK(tl_set_error_callback(listen, NULL));
	return check_tests();
}
