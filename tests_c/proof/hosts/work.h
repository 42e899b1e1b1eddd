/* What a host's native code does with the library, and whether all of it was as documented. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tl_runtime.h"

static void* host_allocate(void* ctx, size_t bytes)
{
	(void)ctx;
	return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

static void host_deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	free(block);
}

/* Go calls the functions of the allocator. */
static inline long host_pool(void)
{
	const tl_device_allocator own = {.struct_size = sizeof own,
	                                 .name = "host",
	                                 .alignment = 64,
	                                 .allocate = host_allocate,
	                                 .deallocate = host_deallocate};
	tl_memory_pool* pool = NULL;
	if (tl_memory_pool_create(&own, 1 << 16, &pool) != TL_OK) return 1;
	void* block = tl_memory_pool_allocate(pool, 100000);
	long failed = block == NULL || tl_memory_pool_deallocate(pool, block) != TL_OK;
	return failed + (tl_memory_pool_destroy(pool) != TL_OK);
}

/* One round through scopes, objects, Vecs, tensors, memory from malloc, a pool and a failure. */
static inline long host_round(void)
{
	const int64_t shape[] = {4, 8};
	long failed = tl_mem_enter_scope() != TL_OK;
	for (int i = 0; i < 20; i++) {
		void* object = tl_mem_new(64);
		if (object == NULL) return failed + 1;
		memset(object, i, 64);
	}
	failed += tl_mem_register_struct(malloc(100)) != TL_OK;
	void* vec = tl_vec_new(2);
	for (int i = 0; i < 10; i++) failed += tl_vec_push(vec, tl_mem_new(32)) != TL_OK;
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	failed += tensor == NULL || tl_tensor_release(tensor) != TL_OK;
	failed +=
		tl_ptr_release((void*)0x1001) != TL_E_UNKNOWN_POINTER || strncmp(tl_last_error(), "tl_ptr_release", 14) != 0;
	tl_clear_error();
	failed += host_pool();
	failed += tl_ptr_release(vec) != TL_OK;
	return failed + (tl_mem_exit_scope() != TL_OK);
}

static inline long host_work(long rounds)
{
	long failed = 0;
	for (long i = 0; i < rounds; i++) failed += host_round() != 0;
	return failed;
}

/* What is live when everything was left. */
static inline long host_live(void)
{
	tl_stats stats = {.struct_size = sizeof stats};
	tl_shutdown();
	if (tl_stats_get(&stats) != TL_OK) return -1;
	return (long)(stats.live_objects + stats.foreign_live);
}
