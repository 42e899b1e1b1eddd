/* Section Tensor pool: it keeps what it was given, 32 tensors a key, and refuses duplicates. */
#include "check.h"
#include "thread.h"

enum { KEPT = 32 };

static tl_tensor* floating_tensor(int32_t dtype, int64_t elements)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(dtype, TL_DEVICE_CPU, 1, &elements);
	CHECK_OK(tl_tensor_promote(tensor));
	CHECK_OK(tl_mem_exit_scope());
	return tensor;
}

TEST(a_miss_is_no_failure)
{
	CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_pool_count(), 0);
	CHECK_REFUSED(tl_pool_acquire(999, TL_DTYPE_F32, 0), 0, TL_OK);
	CHECK_REFUSED(tl_pool_acquire_compat(999), 0, TL_OK);
}

TEST(what_was_given_is_kept_and_found)
{
	CHECK_OK(tl_mem_purge());
	tl_tensor* tensor = floating_tensor(TL_DTYPE_F32, 100);
	CHECK_OK(tl_pool_release(tensor, 100, TL_DTYPE_F32, 0));
	CHECK_INT(tl_get_pool_count(), 1);
	CHECK_DEAD(tensor);
	CHECK_PTR(tl_pool_acquire(100, TL_DTYPE_F64, 0), NULL);
	CHECK_PTR(tl_pool_acquire(101, TL_DTYPE_F32, 0), NULL);
	tl_tensor* again = tl_pool_acquire(100, TL_DTYPE_F32, 0);
	CHECK_PTR(again, tensor);
	CHECK_COUNT(again, 1);
	CHECK_INT(tl_tensor_rank(again), 1);
	CHECK_INT(tl_tensor_dim(again, 0), 100);
	CHECK_INT(tl_get_pool_count(), 0);
	CHECK_OK(tl_pool_release(again, 100, TL_DTYPE_F32, 0));
	CHECK_INT(tl_get_pool_count(), 1);
	again = tl_pool_acquire_compat(100);
	CHECK(again != NULL);
	CHECK_OK(tl_pool_release_compat(again, 100));
	CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_pool_count(), 0);
}

/* The scope still lists the tensor that was released by hand, at the same address. */
TEST(a_kept_tensors_old_entry_is_none)
{
	const int64_t elements = 300;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &elements);
	CHECK_OK(tl_pool_release(tensor, (size_t)elements, TL_DTYPE_F32, 0));
	tl_tensor* again = tl_pool_acquire((size_t)elements, TL_DTYPE_F32, 0);
	CHECK_PTR(again, tensor);
	tl_clear_error();
	CHECK_PTR(tl_tensor_prepare_return(again), again);
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_STATUS(tl_tensor_promote(again), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(again, 1);
	CHECK_OK(tl_tensor_release(again));
}

TEST(tensors_of_any_shape_share_a_key)
{
	int64_t shape[2] = {20, 5};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* square = tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape);
	CHECK_OK(tl_tensor_promote(square));
	CHECK_OK(tl_mem_exit_scope());
	*(float*)tl_tensor_data(square) = 7;
	CHECK_OK(tl_pool_release(square, 100, TL_DTYPE_F32, 0));
	CHECK_PTR(tl_pool_acquire(100, TL_DTYPE_F32, 0), square);
	CHECK(*(float*)tl_tensor_data(square) == 7 && tl_tensor_rank(square) == 1);
	CHECK_OK(tl_tensor_release(square));
}

TEST(nothing_else_comes_or_goes)
{
	tl_tensor *other, *kept = floating_tensor(TL_DTYPE_F32, 100);
	CHECK_OK(tl_mem_purge());
	CHECK_OK(tl_pool_release(kept, 100, TL_DTYPE_F32, 0));
	other = floating_tensor(TL_DTYPE_F32, 100);
	CHECK(other != kept);
	CHECK_OK(tl_tensor_release(other));
	CHECK_INT(tl_get_pool_count(), 1);
	CHECK_OK(tl_tensor_release(tl_pool_acquire(100, TL_DTYPE_F32, 0)));
	CHECK_INT(tl_get_pool_count(), 0);
}

TEST(hits_and_misses_are_counted)
{
	CHECK_OK(tl_mem_purge());
	const tl_stats before = check_stats();
	CHECK_OK(tl_pool_release(floating_tensor(TL_DTYPE_F32, 100), 100, TL_DTYPE_F32, 0));
	tl_pool_acquire(101, TL_DTYPE_F32, 0);
	CHECK_OK(tl_tensor_release(tl_pool_acquire(100, TL_DTYPE_F32, 0)));
	const tl_stats after = check_stats();
	CHECK_INT(after.pool_hits - before.pool_hits, 1);
	CHECK_INT(after.pool_misses - before.pool_misses, 1);
	CHECK_INT(after.tensors_live, before.tensors_live);
	CHECK_INT(after.tensor_allocations - before.tensor_allocations, 2);
}

TEST(thirty_two_for_each_key)
{
	tl_tensor* tensors[KEPT + 8];
	CHECK_OK(tl_mem_purge());
	for (int i = 0; i < KEPT + 8; i++) tensors[i] = floating_tensor(TL_DTYPE_I32, 50);
	for (int i = 0; i < KEPT + 8; i++) CHECK_OK(tl_pool_release(tensors[i], 50, TL_DTYPE_I32, 0));
	CHECK_INT(tl_get_pool_count(), KEPT);
	for (int i = 0; i < KEPT; i++) tensors[i] = tl_pool_acquire(50, TL_DTYPE_I32, 0);
	CHECK_PTR(tl_pool_acquire(50, TL_DTYPE_I32, 0), NULL);
	for (int i = 0; i < KEPT; i++) {
		for (int j = 0; j < i; j++) CHECK(tensors[i] != tensors[j]);
		CHECK_OK(tl_pool_release(tensors[i], 50, TL_DTYPE_I32, 0));
	}
	for (int key = 1; key <= 40; key++)
		CHECK_OK(tl_pool_release(floating_tensor(TL_DTYPE_U8, key), (size_t)key, TL_DTYPE_U8, 0));
	CHECK_INT(tl_get_pool_count(), KEPT + 40);
	CHECK_OK(tl_mem_purge());
}

TEST(release_is_checked)
{
	tl_tensor* tensor = floating_tensor(TL_DTYPE_F32, 10);
	void* plain = tl_mem_alloc(64);
	CHECK_FAILS(tl_pool_release(tensor, 11, TL_DTYPE_F32, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_release(tensor, 10, TL_DTYPE_I32, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_release(tensor, 10, TL_DTYPE_F32, 3), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_release((tl_tensor*)plain, 16, TL_DTYPE_F32, 0), TL_E_UNSUPPORTED);
	CHECK_PTR(tl_tensor_acquire(tensor), tensor);
	CHECK_FAILS(tl_pool_release(tensor, 10, TL_DTYPE_F32, 0), TL_E_BUSY);
	CHECK_FAILS(tl_pool_release_compat(tensor, 11), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_pool_release_compat(tensor, 10), TL_E_BUSY);
	CHECK_FAILS(tl_pool_release_compat((tl_tensor*)plain, 16), TL_E_UNSUPPORTED);
	CHECK_COUNT(tensor, 2);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_pool_release(tensor, 10, TL_DTYPE_F32, 0));
	CHECK_FAILS(tl_pool_release(tensor, 10, TL_DTYPE_F32, 0), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_pool_release_compat(tensor, 10), TL_E_NOT_LIVE);
	CHECK_OK(tl_pool_release(NULL, 10, TL_DTYPE_F32, 0));
	CHECK_OK(tl_pool_release_compat(NULL, 10));
	CHECK_OK(tl_mem_free(plain));
	CHECK_OK(tl_mem_purge());
}

TEST(keys_are_checked)
{
	CHECK_REFUSED(tl_pool_acquire(10, 200, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_pool_acquire(10, TL_DTYPE_F32, 200), 0, TL_E_DEVICE);
}

TEST(a_steady_state_asks_the_system_for_nothing)
{
	tl_stats before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
	int64_t shape[2] = {64, 64};
	for (int step = 0; step < 200; step++) {
		if (step == 100) CHECK_OK(tl_stats_get(&before));
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 20; i++) CHECK(tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_stats_get(&after));
	CHECK_INT(after.system_calls, before.system_calls);
	CHECK(tl_get_gpu_pool_hit_rate() == 0); /* of other devices */
	CHECK_OK(tl_mem_purge());
}

THREAD(churn, seed)
{
	uint64_t random = (uint64_t)(uintptr_t)seed;
	for (int i = 0; i < 20000; i++) {
		int64_t elements = 1 + (int64_t)(check_random(&random) % 8) * 16;
		tl_tensor* tensor = tl_pool_acquire((size_t)elements, TL_DTYPE_F32, 0);
		if (tensor == NULL) tensor = floating_tensor(TL_DTYPE_F32, elements);
		*(float*)tl_tensor_data(tensor) = 1;
		CHECK_OK(i % 2 ? tl_tensor_release(tensor) : tl_pool_release(tensor, (size_t)elements, TL_DTYPE_F32, 0));
	}
}

TEST(threads_share_the_pool)
{
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++) threads[i] = start_thread(churn, (void*)(i + 1));
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	CHECK(tl_get_pool_count() <= 8 * KEPT);
	CHECK_OK(tl_mem_purge());
	CHECK_INT(tl_get_pool_count(), 0);
}

TEST(figures_of_devices_that_are_absent)
{
	CHECK_INT(tl_get_gpu_total_allocated_bytes(), 0);
	CHECK_INT(tl_get_gpu_free_count(), 0);
	CHECK_INT(tl_get_gpu_free_bytes(), 0);
	CHECK_INT(tl_get_metal_pool_bytes(), 0);
	CHECK_INT(tl_get_metal_pool_mb(), 0);
	CHECK_INT(tl_get_metal_pool_count(), 0);
	CHECK_OK(tl_dump_gpu_pool_stats());
}

TEST(counted_objects)
{
	int64_t before = tl_get_refcount_count();
	void* object = tl_mem_alloc(64);
	tl_tensor* tensor = floating_tensor(TL_DTYPE_F32, 16);
	CHECK(tl_get_refcount_count() >= before + 2);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_mem_free(object));
	CHECK_INT(tl_get_refcount_count(), before);
	CHECK_OK(tl_mem_purge());
}

int main(void) { return check_tests(); }
