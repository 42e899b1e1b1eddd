/* Memory in the order of streams: blocks, tensors, and PyTorch's two functions. The
 * driver's events pass on command. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"

enum { CHUNK = 1 << 20, BLOCK = 4096 };

static void *first, *second; /* streams */

static tl_memory_pool* pool_on(int32_t device)
{
	tl_memory_pool* pool = NULL;
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(device), CHUNK, &pool));
	return pool;
}

static tl_memory_pool_stats stats_of(tl_memory_pool* pool)
{
	tl_memory_pool_stats stats = {.struct_size = sizeof stats};
	CHECK_OK(tl_memory_pool_stats_get(pool, &stats));
	CHECK_INT(stats.current_usage, stats.total_allocated - stats.total_freed);
	return stats;
}

static void* take(tl_memory_pool* pool, size_t bytes, void* stream)
{
	void* block = tl_memory_pool_allocate_async(pool, bytes, stream);
	CHECK(block != NULL);
	return block;
}

static void give(tl_memory_pool* pool, void* block, void* stream)
{
	CHECK_OK(tl_memory_pool_deallocate_async(pool, block, stream));
}

/* While the work before it is not done, a block is the stream's alone. */
TEST(blocks_wait_for_their_stream)
{
	tl_memory_pool* pool = pool_on(CUDA);
	fake_hold(1);
	char* whole = take(pool, CHUNK, first); /* nothing else is left */
	give(pool, whole, first);
	CHECK_FAILS(tl_memory_pool_deallocate(pool, whole), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate_async(pool, whole, first), TL_E_UNKNOWN_POINTER);
	tl_memory_pool_stats now = stats_of(pool);
	CHECK_INT(now.current_usage, 0);
	CHECK_INT(now.num_free_blocks, 0);
	CHECK_INT(now.waiting_bytes, CHUNK);
	CHECK_INT(now.num_waiting_blocks, 1);

	char* other = take(pool, BLOCK, second); /* from a new chunk */
	CHECK(other < whole || other >= whole + CHUNK);
	char* plain = tl_memory_pool_allocate(pool, BLOCK);
	CHECK(plain < whole || plain >= whole + CHUNK);
	CHECK_INT(stats_of(pool).num_device_allocations, 2);

	CHECK_PTR(take(pool, CHUNK, first), whole); /* later work in the same stream may have it */
	give(pool, whole, first);
	fake_finish(first);
	CHECK_INT(stats_of(pool).num_waiting_blocks, 1); /* the driver says "not ready" once more */
	CHECK_INT(stats_of(pool).num_waiting_blocks, 0);
	CHECK_INT(stats_of(pool).waiting_bytes, 0);
	CHECK_PTR(tl_memory_pool_allocate(pool, CHUNK), whole);
	CHECK_OK(tl_memory_pool_deallocate(pool, whole));
	give(pool, other, second);
	CHECK_OK(tl_memory_pool_deallocate(pool, plain));
	fake_hold(0);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(fake_outstanding(), 0);
	CHECK_INT(fake_events(), 0);
}

/* The smallest that is large enough, cut; the rest goes on waiting. */
TEST(the_best_of_a_stream_is_taken)
{
	static const size_t sizes[] = {8192, 4096, 16384, 4096, 12288};
	enum { COUNT = 5 };
	char *blocks[COUNT], *between[COUNT];
	tl_memory_pool* pool = pool_on(CUDA);
	fake_hold(1);
	for (int i = 0; i < COUNT; i++) {
		blocks[i] = take(pool, sizes[i], first);
		between[i] = take(pool, 256, first);
	}
	for (int i = 0; i < COUNT; i++) give(pool, blocks[i], i == 4 ? second : first);
	CHECK_PTR(take(pool, 4000, first), blocks[1]); /* of two the lower */
	CHECK_PTR(take(pool, 4096, first), blocks[3]);
	CHECK_PTR(take(pool, 4096, first), blocks[0]); /* cut */
	CHECK_PTR(take(pool, 4096, first), blocks[0] + 4096);
	CHECK_PTR(take(pool, 15872, first), blocks[2]); /* cut */
	CHECK_INT(stats_of(pool).num_waiting_blocks, 2);
	CHECK_PTR(take(pool, 256, first), blocks[2] + 15872); /* not cut: 256 bytes are no block of their own */
	CHECK_INT(stats_of(pool).waiting_bytes, 12288);
	CHECK_PTR(take(pool, 12288, second), blocks[4]);
	CHECK_INT(stats_of(pool).waiting_bytes, 0);
	CHECK_FAILS(tl_memory_pool_destroy(pool), TL_E_BUSY);
	CHECK_OK(tl_memory_pool_reset(pool));
	(void)between;
	fake_hold(0);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(fake_events(), 0);
}

/* What is ready comes back before the device is asked; when that has no more, the oldest is waited for. */
TEST(pressure_waits_for_the_oldest)
{
	tl_memory_pool* pool = pool_on(CUDA);
	int waits = fake_synchronized();
	CHECK_OK(tl_memory_pool_set_limit(pool, CHUNK));
	fake_hold(1);
	char* low = take(pool, CHUNK / 2, first);
	char* high = take(pool, CHUNK / 2, second);
	CHECK_REFUSED(tl_memory_pool_allocate(pool, BLOCK), 0, TL_E_LIMIT);
	give(pool, high, second);
	give(pool, low, first);
	CHECK_PTR(tl_memory_pool_allocate(pool, BLOCK), high);
	CHECK_INT(fake_synchronized(), waits + 1);
	CHECK_PTR(tl_memory_pool_allocate_async(pool, CHUNK / 2, second), low); /* the one that is left */
	CHECK_INT(fake_synchronized(), waits + 2);
	CHECK_REFUSED(tl_memory_pool_allocate_async(pool, CHUNK, first), 0, TL_E_LIMIT);
	CHECK_OK(tl_memory_pool_deallocate(pool, high));
	give(pool, low, first);
	fake_hold(0);
	CHECK_OK(tl_memory_pool_destroy(pool)); /* waits, too */
	CHECK_INT(fake_outstanding(), 0);
	CHECK_INT(fake_events(), 0);
}

TEST(trim_and_reset)
{
	tl_memory_pool* pool = pool_on(CUDA);
	fake_hold(1);
	give(pool, take(pool, BLOCK, first), first);
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_INT(stats_of(pool).reserved, CHUNK); /* a block of it is in use by the stream */
	fake_finish(first);
	stats_of(pool);
	CHECK_OK(tl_memory_pool_trim(pool));
	CHECK_INT(stats_of(pool).reserved, 0);
	give(pool, take(pool, BLOCK, first), first);
	int waits = fake_synchronized();
	CHECK_OK(tl_memory_pool_reset(pool)); /* gives nothing to others that work still uses */
	CHECK_INT(fake_synchronized(), waits + 1);
	CHECK_INT(stats_of(pool).num_free_blocks, 1);
	give(pool, take(pool, BLOCK, first), first);
	fake_fail("cuEventSynchronize", 1, 700);
	CHECK_FAILS(tl_memory_pool_reset(pool), TL_E_DEVICE);
	CHECK_INT(stats_of(pool).num_waiting_blocks, 1);
	fake_hold(0);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(fake_events(), 0);
}

TEST(calls_are_checked)
{
	tl_memory_pool *pool = pool_on(CUDA), *without = pool_on(CPU);
	char* block = take(pool, BLOCK, first);
	CHECK_REFUSED(tl_memory_pool_allocate_async(NULL, BLOCK, first), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_memory_pool_allocate_async((tl_memory_pool*)&pool, BLOCK, first), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_memory_pool_allocate_async(pool, 0, first), 0, TL_OK);
	CHECK_REFUSED(tl_memory_pool_allocate_async(pool, SIZE_MAX, first), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_memory_pool_allocate_async(pool, (size_t)2 << 30, first), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_memory_pool_allocate_async(without, BLOCK, first), 0, TL_E_UNSUPPORTED);
	fake_fail("cuMemAlloc_v2", 1, 700);
	CHECK_REFUSED(tl_memory_pool_allocate_async(pool, CHUNK, first), 0, TL_E_DEVICE);

	CHECK_FAILS(tl_memory_pool_deallocate_async(NULL, block, first), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_memory_pool_deallocate_async(pool, NULL, first));
	CHECK_FAILS(tl_memory_pool_deallocate_async(pool, block + 256, first), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate_async(pool, &pool, first), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_memory_pool_deallocate_async(pool, block, (void*)0x77), TL_E_DEVICE); /* no stream */
	fake_fail("cuEventRecord", 1, 700);
	CHECK_FAILS(tl_memory_pool_deallocate_async(pool, block, first), TL_E_DEVICE);
	CHECK_OK(tl_memory_pool_deallocate(pool, block));
	block = take(pool, BLOCK, NULL); /* the default stream */
	give(pool, block, NULL);
	CHECK_PTR(take(pool, BLOCK, NULL), block);
	CHECK_OK(tl_memory_pool_reset(pool));
	CHECK_OK(tl_memory_pool_destroy(pool));

	tl_memory_pool* fresh = pool_on(CUDA);
	block = take(fresh, BLOCK, first);
	fake_fail("cuEventCreate", 1, 2);
	CHECK_FAILS(tl_memory_pool_deallocate_async(fresh, block, first), TL_E_OUT_OF_MEMORY);
	give(fresh, block, first);
	CHECK_OK(tl_memory_pool_destroy(fresh));
	CHECK_INT(fake_events(), 0);

	block = take(without, BLOCK, NULL); /* NULL is no stream there */
	CHECK_FAILS(tl_memory_pool_deallocate_async(without, block, second), TL_E_UNSUPPORTED);
	give(without, block, NULL);
	CHECK_OK(tl_memory_pool_destroy(without));
}

/* More blocks than the first tables hold wait, in every order of coming back. */
TEST(many_wait)
{
	enum { MANY = 300, ROUNDS = 40 };
	static char* blocks[MANY];
	tl_memory_pool* pool = pool_on(CUDA);
	uint64_t random = 99;
	fake_hold(1);
	memset(blocks, 0, sizeof blocks);
	for (int i = 0; i < MANY * ROUNDS; i++) {
		int at = (int)(check_random(&random) % MANY);
		void* stream = check_random(&random) % 2 ? first : second;
		if (blocks[at] == NULL) {
			blocks[at] = take(pool, 256 + check_random(&random) % 4096, stream);
		} else {
			if (check_random(&random) % 3 == 0) CHECK_OK(tl_memory_pool_deallocate(pool, blocks[at]));
			else give(pool, blocks[at], stream);
			blocks[at] = NULL;
		}
		if (i % 97 == 0) {
			fake_finish(stream);
			stats_of(pool);
		}
	}
	for (int i = 0; i < MANY; i++) CHECK_OK(tl_memory_pool_deallocate_async(pool, blocks[i], first));
	CHECK_INT(stats_of(pool).current_usage, 0);
	fake_hold(0);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_INT(fake_outstanding(), 0);
	CHECK_INT(fake_events(), 0);
}

static tl_memory_pool* shared;

static void* busy_thread(void* number)
{
	void* stream = (uintptr_t)number % 2 ? first : second;
	for (int i = 0; i < 400; i++) {
		size_t bytes = 256 + (size_t)(i * 37 % 5000);
		void* block = i % 4 ? take(shared, bytes, stream) : tl_memory_pool_allocate(shared, bytes);
		CHECK(block != NULL);
		if (i % 5) give(shared, block, stream);
		else CHECK_OK(tl_memory_pool_deallocate(shared, block));
		if (i % 64 == 0) stats_of(shared);
	}
	return NULL;
}

TEST(threads_share_a_pool)
{
	pthread_t threads[6];
	shared = pool_on(CUDA);
	for (uintptr_t i = 0; i < 6; i++) CHECK_OK(pthread_create(&threads[i], NULL, busy_thread, (void*)i));
	for (int i = 0; i < 6; i++) CHECK_OK(pthread_join(threads[i], NULL));
	CHECK_INT(stats_of(shared).current_usage, 0);
	CHECK_OK(tl_memory_pool_destroy(shared));
	CHECK_INT(fake_outstanding(), 0);
	CHECK_INT(fake_events(), 0);
}

/* ---- tensors --------------------------------------------------------------------------- */

static tl_tensor* floating(int64_t elements)
{
	tl_tensor* t = tl_tensor_empty(TL_DTYPE_U8, CUDA, 1, &elements);
	CHECK_OK(tl_tensor_promote(t));
	return t;
}

/* The block of a tensor that a stream uses comes back after the stream's work. */
TEST(recorded_tensors_wait)
{
	CHECK_OK(tl_mem_purge());
	fake_hold(1);
	tl_tensor* t = floating(5000);
	void* data = tl_tensor_data(t);
	CHECK_OK(tl_tensor_record_stream(t, first));
	CHECK_OK(tl_tensor_record_stream(t, second));
	CHECK_OK(tl_tensor_record_stream(t, first));
	CHECK_OK(tl_tensor_release(t));
	CHECK_INT(tl_get_gpu_free_count(), 0); /* not kept: it is in use */
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	tl_tensor* next = floating(5000);
	CHECK(tl_tensor_data(next) != data);
	fake_finish(first);
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_mem_purge());
	tl_tensor* third = floating(5000);
	CHECK(tl_tensor_data(third) != data); /* the second stream is busy still */
	fake_finish(second);
	tl_get_gpu_total_allocated_bytes();
	tl_get_gpu_total_allocated_bytes();
	tl_tensor* fourth = floating(5000);
	CHECK_PTR(tl_tensor_data(fourth), data);
	CHECK_OK(tl_tensor_release(next));
	CHECK_OK(tl_tensor_release(third));
	CHECK_OK(tl_tensor_release(fourth));
	fake_hold(0);
}

/* A view's stream is that of the tensor, and the driver's failure to mark the order is waited out. */
TEST(views_are_recorded)
{
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* t = floating(5000);
	void* data = tl_tensor_data(t);
	CHECK_OK(tl_tensor_record_stream(tl_view_slice(t, 0, 10, 20, 1), first));
	CHECK_OK(tl_mem_exit_scope());
	fake_hold(1);
	fake_fail("cuEventRecord", 1, 700);
	CHECK_OK(tl_tensor_release(t));
	tl_tensor* next = floating(5000);
	CHECK_PTR(tl_tensor_data(next), data); /* the stream was waited for */
	CHECK_OK(tl_tensor_release(next));
	fake_hold(0);
}

/* covers: tl_tensor_record_stream TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE
 * covers: tl_tensor_sync_stream TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE
 * covers: tl_tensor_sync_stream TL_E_UNSUPPORTED */
TEST(tensors_are_checked)
{
	int64_t n = 8;
	int events = fake_events(); /* that the device's pool keeps for the next blocks */
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor *t = floating(100), *dead = floating(100), *here = tl_tensor_empty(TL_DTYPE_F32, CPU, 1, &n);
	CHECK_OK(tl_tensor_release(dead));
	tl_status (*const calls[])(tl_tensor*, void*) = {tl_tensor_record_stream, tl_tensor_sync_stream};
	for (int i = 0; i < 2; i++) {
		CHECK_OK(calls[i](NULL, first));
		CHECK_OK(calls[i](here, NULL));
		CHECK_FAILS(calls[i](here, first), TL_E_UNSUPPORTED);
		CHECK_FAILS(calls[i]((tl_tensor*)0x1234560, first), TL_E_UNKNOWN_POINTER);
		CHECK_FAILS(calls[i]((tl_tensor*)((char*)t + 8), first), TL_E_INTERIOR_POINTER);
		CHECK_FAILS(calls[i](dead, first), TL_E_NOT_LIVE);
		CHECK_FAILS(calls[i](tl_mem_new(64), first), TL_E_UNSUPPORTED);
	}
	fake_fail("cuEventCreate", 1, 2);
	CHECK_FAILS(tl_tensor_sync_stream(t, first), TL_E_OUT_OF_MEMORY);
	fake_fail("cuStreamWaitEvent", 1, 700);
	CHECK_FAILS(tl_tensor_sync_stream(t, first), TL_E_DEVICE);
	((unsigned char*)t)[25] = 200; /* the header's device */
	CHECK_FAILS(tl_tensor_record_stream(t, first), TL_E_DEVICE);
	((unsigned char*)t)[25] = CUDA;
	CHECK_OK(tl_tensor_release(t));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(fake_events(), events);
}

TEST(consumers_wait)
{
	tl_tensor* t = floating(100);
	int before = fake_waited(second, NULL);
	CHECK_OK(tl_tensor_sync_stream(t, second));
	CHECK_INT(fake_waited(second, NULL), before + 1); /* for the default stream */
	CHECK_OK(tl_tensor_record_stream(t, first));
	CHECK_OK(tl_tensor_sync_stream(t, second));
	CHECK_INT(fake_waited(second, first), 1);
	CHECK_INT(fake_waited(second, NULL), before + 1);
	CHECK_OK(tl_tensor_sync_stream(t, first)); /* a stream has its own order */
	CHECK_INT(fake_waited(first, first), 0);
	CHECK_OK(tl_tensor_release(t));
	CHECK_OK(tl_mem_purge());
}

/* ---- PyTorch ----------------------------------------------------------------------------- */

/* covers: tl_torch_malloc TL_E_INVALID_ARGUMENT, TL_E_DEVICE, TL_E_OVERFLOW, TL_E_OUT_OF_MEMORY
 * covers: tl_torch_free TL_E_UNKNOWN_POINTER, TL_E_DEVICE */
TEST(torch_is_served)
{
	void* (*const torch_malloc)(ssize_t, int, void*) = tl_torch_malloc;
	void (*const torch_free)(void*, ssize_t, int, void*) = tl_torch_free;
	fake_hold(1);
	char* block = torch_malloc(BLOCK, 1, first);
	CHECK_OK(tl_device_fill(OTHER_CUDA, block, 3, BLOCK));
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), BLOCK);
	tl_clear_error();
	torch_free(block, BLOCK, 1, first);
	CHECK_STATUS(tl_last_status(), TL_OK);
	char* other = torch_malloc(BLOCK, 1, second);
	CHECK(other != block);
	torch_free(other, BLOCK, 1, second);
	CHECK_PTR(torch_malloc(BLOCK, 1, first), block);
	torch_free(block, BLOCK, 1, first);
	fake_hold(0);

	CHECK_REFUSED(torch_malloc(0, 0, first), 0, TL_OK);
	CHECK_REFUSED(torch_malloc(-1, 0, first), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(torch_malloc(BLOCK, 9, first), 0, TL_E_DEVICE);
	CHECK_REFUSED(torch_malloc(BLOCK, -1, first), 0, TL_E_DEVICE);
	CHECK_REFUSED(torch_malloc(INT64_MAX, 0, first), 0, TL_E_OVERFLOW);
	CHECK_REFUSED(torch_malloc((ssize_t)4 << 30, 0, first), 0, TL_E_OUT_OF_MEMORY);
	int ours;
	const struct {
		void* block;
		int device;
		tl_status want;
	} wrong[] = {{NULL, 1, TL_OK},
	             {&ours, 1, TL_E_UNKNOWN_POINTER},
	             {(void*)8, 0, TL_E_UNKNOWN_POINTER},
	             {&ours, 9, TL_E_DEVICE},
	             {&ours, -5, TL_E_DEVICE}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		tl_clear_error();
		torch_free(wrong[i].block, BLOCK, wrong[i].device, first);
		CHECK_STATUS(tl_last_status(), wrong[i].want);
	}
	tl_clear_error();
	torch_free(block, BLOCK, 1, first); /* a second time */
	CHECK_STATUS(tl_last_status(), TL_E_UNKNOWN_POINTER);
	fake_finish(first);
	fake_finish(second);
}

TEST(forked_children_are_told)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		bool told = tl_torch_malloc(64, 0, NULL) == NULL && tl_last_status() == TL_E_FORKED;
		tl_clear_error();
		tl_torch_free(&status, 64, 0, NULL);
		_exit(told && tl_last_status() == TL_E_FORKED ? 0 : 1);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

int main(void)
{
	prepare_devices();
	first = fake_stream();
	second = fake_stream();
	check_run();
	return finish_devices();
}
