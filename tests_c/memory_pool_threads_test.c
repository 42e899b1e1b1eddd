/* Memory pools and threads: four that allocate, release, hand over and look; a pool that
 * ends under them; a fork while they work. */
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "device.h"
#include "thread.h"

enum { THREADS = 4, SLOTS = 64, ROUNDS = 20000, KEEPING = 3000, PATIENCE = 30 };

static tl_memory_pool* pool;
static _Atomic(uint64_t*) exchange[SLOTS]; /* blocks that anybody may release */
static atomic_bool stop;

/* Marks both ends, so that a block that two threads have shows. */
static void sign(uint64_t* block, size_t bytes, uint64_t name)
{
	block[0] = name;
	block[1] = bytes;
	block[bytes / 8 - 1] = name ^ bytes;
}

static void check_and_put(uint64_t* block)
{
	uint64_t name = block[0], bytes = block[1];
	CHECK_INT(block[bytes / 8 - 1], name ^ bytes);
	block[0] = 0;
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
}

static void* work(void* number)
{
	uint64_t random = (uintptr_t)number * 7919 + 1;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t r = check_random(&random);
		size_t bytes = 64 + r % 256 * 64 * (r % 16 == 0 ? 16 : 1);
		uint64_t* block = tl_memory_pool_allocate(pool, bytes);
		CHECK(block != NULL);
		sign(block, bytes, r);
		if (r % 3 == 0) {
			check_and_put(block);
			continue;
		}
		block = atomic_exchange(&exchange[check_random(&random) % SLOTS], block);
		if (block != NULL) check_and_put(block);
	}
	return NULL;
}

static void empty_the_exchange(void)
{
	for (int i = 0; i < SLOTS; i++) {
		uint64_t* block = atomic_exchange(&exchange[i], NULL);
		if (block != NULL) check_and_put(block);
	}
}

static void start_all(pthread_t* threads, void* (*body)(void*))
{
	for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(body, (void*)i);
}

static void join_all(pthread_t* threads)
{
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

TEST(four_threads)
{
	device d = {.access = PROT_READ | PROT_WRITE};
	pthread_t threads[THREADS];
	pool = device_pool(&d, 1 << 20);
	start_all(threads, work);
	for (int i = 0; i < 200; i++) {
		tl_memory_pool_stats stats = pool_stats(pool);
		CHECK(stats.current_usage <= stats.peak_usage);
		CHECK(stats.current_usage + stats.largest_free_block <= stats.reserved);
		CHECK_OK(tl_memory_pool_trim(pool));
		sched_yield();
	}
	join_all(threads);
	empty_the_exchange();
	tl_memory_pool_stats stats = pool_stats(pool);
	CHECK_INT(stats.num_allocations, THREADS * ROUNDS);
	CHECK_INT(stats.num_deallocations, THREADS * ROUNDS);
	CHECK_INT(stats.current_usage, 0);
	CHECK_INT(stats.num_free_blocks, d.chunks);
	device_end(&d, pool);
}

/* Until the pool is gone: then every call says so. */
static void* use_until_it_ends(void* unused)
{
	(void)unused;
	for (;;) {
		void* block = tl_memory_pool_allocate(pool, 4096);
		if (block == NULL) {
			CHECK_STATUS(tl_last_status(), TL_E_INVALID_ARGUMENT);
			return NULL;
		}
		CHECK_OK(tl_memory_pool_deallocate(pool, block));
	}
}

TEST(a_pool_ends_under_its_threads)
{
	for (int i = 0; i < 10; i++) {
		device d = {0};
		pthread_t threads[THREADS];
		tl_status status;
		pool = device_pool(&d, 1 << 20);
		start_all(threads, use_until_it_ends);
		while ((status = tl_memory_pool_destroy(pool)) != TL_OK) {
			CHECK_STATUS(status, TL_E_BUSY);
			sched_yield();
		}
		join_all(threads);
		CHECK_INT(d.chunks, 0);
	}
}

static void* use_until_stopped(void* number)
{
	uint64_t random = (uintptr_t)number + 1;
	while (!atomic_load(&stop)) {
		void* block = tl_memory_pool_allocate(pool, 64 + check_random(&random) % 8192);
		CHECK(block != NULL);
		CHECK_OK(tl_memory_pool_deallocate(pool, block));
	}
	return NULL;
}

/* In the child: what fits is served, what does not is TL_E_FORKED, and nothing hangs. */
static int in_the_child(bool fast)
{
	alarm(PATIENCE);
	check_failures = 0;
	void* block = tl_memory_pool_allocate(pool, 4096);
	if (fast) {
		CHECK(block != NULL);
		CHECK_OK(tl_memory_pool_deallocate(pool, block));
	} else {
		CHECK_PTR(block, NULL);
	}
	CHECK_REFUSED(tl_memory_pool_allocate(pool, 64 << 20), 0, TL_E_FORKED);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, &stop), TL_E_FORKED);
	CHECK_FAILS(tl_memory_pool_reset(pool), TL_E_FORKED);
	return check_failures != 0;
}

TEST(forks_while_others_allocate)
{
	enum { CHILDREN = 100 };
	device d = {0};
	pthread_t threads[THREADS];
	const char* path = getenv("TL_FASTPATH");
	int finished = 0;
	pool = device_pool(&d, 1 << 20);
	atomic_store(&stop, false);
	start_all(threads, use_until_stopped);
	for (int i = 0; i < CHILDREN; i++) {
		int status = -1;
		pid_t child = fork();
		if (child == 0) _exit(in_the_child(path == NULL || strcmp(path, "0") != 0));
		finished += child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	atomic_store(&stop, true);
	join_all(threads);
	CHECK_INT(finished, CHILDREN);
	device_end(&d, pool);
}

/* Two threads take and give back the same blocks, each its own, so that each keeps some. The calls that
 * look at free blocks find them all. */
THREAD(keep_some, number)
{
	void* blocks[8];
	for (int round = 0; round < KEEPING; round++) {
		for (int i = 0; i < 8; i++) {
			size_t bytes = ((uintptr_t)number + 1) * 4096 << i % 3;
			CHECK((blocks[i] = tl_memory_pool_allocate(pool, bytes)) != NULL);
			memset(blocks[i], (int)round, 64);
		}
		for (int i = 0; i < 8; i++) {
			int which = round % 2 == 0 ? i : 7 - i;
			CHECK_INT(*(unsigned char*)blocks[which], round % 256);
			CHECK_OK(tl_memory_pool_deallocate(pool, blocks[which]));
		}
		if (round % 1000 == 0)
			CHECK_STATUS(tl_memory_pool_deallocate(pool, (char*)blocks[0] + 1), TL_E_UNKNOWN_POINTER);
	}
}

static void keep_in_two_threads(void)
{
	pthread_t threads[2];
	for (uintptr_t i = 0; i < 2; i++) threads[i] = start_thread(keep_some, (void*)i);
	for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* Of one chunk of 1 MiB. */
static void check_all_is_free(const device* d)
{
	tl_memory_pool_stats stats = pool_stats(pool);
	CHECK_INT(stats.current_usage, 0);
	CHECK_INT(stats.num_allocations, stats.num_deallocations);
	CHECK_INT(stats.num_free_blocks, 1);
	CHECK_INT(stats.largest_free_block, 1 << 20);
	CHECK_INT(d->chunks, 1);
}

TEST(what_threads_keep_is_found)
{
	for (int way = 0; way < 6; way++) {
		device d = {.access = PROT_READ | PROT_WRITE};
		pool = device_pool(&d, 1 << 20);
		keep_in_two_threads();
		if (way == 0) {
			check_all_is_free(&d);
			CHECK_INT(pool_stats(pool).num_allocations, 2 * 8 * KEEPING);
		} else if (way == 1) {
			CHECK_OK(tl_memory_pool_trim(pool));
			CHECK_INT(d.chunks, 0);
		} else if (way == 2) {
			void* all = tl_memory_pool_allocate(pool, 1 << 20);
			CHECK(all != NULL);
			CHECK_INT(d.chunks, 1);
			CHECK_OK(tl_memory_pool_deallocate(pool, all));
			CHECK_STATUS(tl_memory_pool_deallocate(pool, all), TL_E_UNKNOWN_POINTER);
		} else if (way == 3) {
			CHECK_OK(tl_memory_pool_reset(pool));
			check_all_is_free(&d);
		} else if (way == 4) {
			CHECK_OK(tl_memory_pool_set_limit(pool, 4096));
			CHECK_INT(d.chunks, 0);
		} else {
			void* small = tl_memory_pool_allocate(pool, 64);
			CHECK_STATUS(tl_memory_pool_destroy(pool), TL_E_BUSY);
			CHECK_OK(tl_memory_pool_deallocate(pool, small));
		}
		device_end(&d, pool);
		CHECK_INT(d.chunks, 0);
	}
}

int main(void) { return check_tests(); }
