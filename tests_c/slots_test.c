/* Section Tensors, slots: tensors in the frame, and copies that outlive it. */
#include "check.h"

static uint64_t allocations(void)
{
	const tl_stats stats = check_stats();
	return stats.allocations;
}

TEST(twenty_short_lived_tensors_need_no_heap)
{
	int64_t shape[2] = {16, 16};
	uint64_t before = allocations();
	for (int call = 0; call < 100; call++) {
		CHECK_OK(tl_mem_function_enter(20));
		for (int slot = 0; slot < 20; slot++) {
			tl_tensor* tensor = tl_tensor_in_slot(slot, TL_DTYPE_F32, 2, shape);
			float* data = tl_tensor_data(tensor);
			CHECK(data != NULL);
			data[255] = (float)slot;
			CHECK_INT(tl_tensor_numel(tensor), 256);
		}
		CHECK_OK(tl_mem_function_exit());
	}
	CHECK_INT(allocations(), before);
}

TEST(a_slot_tensor_is_a_tensor)
{
	int64_t shape[3] = {2, 3, 4};
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_F64, 3, shape);
	CHECK_INT((uintptr_t)tl_tensor_data(tensor) % 64, 0);
	CHECK_INT(tl_tensor_nbytes(tensor), 192);
	CHECK_INT(tl_tensor_rank(tensor), 3);
	CHECK_INT(tl_tensor_dim(tensor, 1), 3);
	CHECK_INT(tl_tensor_shape(tensor)[2], 4);
	CHECK_INT(tl_tensor_strides(tensor)[0], 12);
	CHECK_INT(tl_tensor_dtype(tensor), TL_DTYPE_F64);
	CHECK(tl_tensor_is_contiguous(tensor));
	CHECK_PTR(tl_tensor_acquire(tensor), tensor);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_tensor_register(tensor));
	CHECK_OK(tl_tensor_finalize(tensor));
	CHECK_OK(tl_mem_function_exit());
}

TEST(the_next_iteration_finds_the_slot)
{
	int64_t shape = 64;
	void* data = NULL;
	CHECK_OK(tl_mem_function_enter(1));
	for (int i = 0; i < 100; i++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &shape);
		if (i > 0) CHECK_PTR(tl_tensor_data(tensor), data);
		data = tl_tensor_data(tensor);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_mem_function_exit());
}

static tl_tensor* returns_a_slot_tensor(void)
{
	int64_t shape = 10;
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_I32, 1, &shape);
	for (int i = 0; i < 10; i++) ((int32_t*)tl_tensor_data(tensor))[i] = i * i;
	CHECK_FAILS(tl_tensor_promote(tensor), TL_E_UNSUPPORTED);
	tl_tensor* result = tl_tensor_prepare_return(tensor);
	CHECK(result != NULL && result != tensor);
	CHECK_OK(tl_mem_function_exit());
	return result;
}

TEST(returning_copies_it_out)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* result = returns_a_slot_tensor();
	CHECK_COUNT(result, 1);
	CHECK_OK(tl_tensor_register(result));
	CHECK_COUNT(result, 1);
	/* Another call reuses the frame; the copy is not in it. */
	CHECK_OK(tl_tensor_release(returns_a_slot_tensor()));
	CHECK_INT(((int32_t*)tl_tensor_data(result))[9], 81);
	CHECK_INT(tl_tensor_dtype(result), TL_DTYPE_I32);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(result);
}

TEST(clone_takes_it_to_the_heap)
{
	int64_t shape = 4;
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &shape);
	((float*)tl_tensor_data(tensor))[3] = 2.5f;
	tl_tensor* copy = tl_tensor_clone(tensor);
	CHECK_OK(tl_tensor_promote(copy));
	CHECK_OK(tl_mem_function_exit());
	CHECK(((float*)tl_tensor_data(copy))[3] == 2.5f);
	CHECK_OK(tl_tensor_release(copy));
}

TEST(a_slot_tensor_dies_with_its_function)
{
	int64_t shape = 4;
	CHECK_OK(tl_mem_function_enter(1));
	tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &shape);
	CHECK_OK(tl_mem_function_exit());
	CHECK_REFUSED(tl_tensor_data(tensor), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_tensor_release(tensor), TL_E_NOT_LIVE);
}

/* A tensor with an extent more in each step takes a few times the memory of the last. */
TEST(a_growing_tensor_takes_linear_memory)
{
	enum { STEPS = 400, ROW = 256 };
	CHECK_OK(tl_mem_function_enter(2));
	for (int64_t rows = 1; rows <= STEPS; rows++) {
		int64_t shape[2] = {rows, ROW};
		for (int slot = 0; slot < 2; slot++) {
			tl_tensor* tensor = tl_tensor_in_slot(slot, TL_DTYPE_F32, 2, shape);
			float* data = tl_tensor_data(tensor);
			CHECK(data != NULL);
			if (data == NULL) break;
			CHECK_INT(tl_tensor_dim(tensor, 0), rows);
			data[rows * ROW - 1] = 1;
		}
	}
	const tl_stats stats = check_stats();
	CHECK(stats.frame_bytes <= UINT64_C(9) * STEPS * ROW * sizeof(float) + 4096);
	CHECK_OK(tl_mem_function_exit());
}

TEST(refused)
{
	int64_t shape[2] = {4, -1}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, large = INT64_C(1) << 38, four = 4;
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four), 0, TL_E_NO_FRAME);
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_REFUSED(tl_tensor_in_slot(1, TL_DTYPE_F32, 1, &four), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_REFUSED(tl_tensor_in_slot(-1, TL_DTYPE_F32, 1, &four), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_REFUSED(tl_tensor_in_slot(0, 99, 1, &four), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, -1, &four), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, 1, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, 2, shape), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, 2, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &large), 0, TL_E_ARENA_EXHAUSTED);
	CHECK(tl_tensor_in_slot(0, TL_DTYPE_F32, 1, &four) != NULL);
	CHECK_OK(tl_mem_function_exit());
}

int main(void) { return check_tests(); }
