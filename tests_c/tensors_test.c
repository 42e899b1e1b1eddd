/* Section Tensors: creation, properties, ownership, buffers of the caller's. */
#include "check.h"
#include "thread.h"

static const int32_t dtypes[] = {TL_DTYPE_F32, TL_DTYPE_F64,  TL_DTYPE_I32,  TL_DTYPE_I64, TL_DTYPE_U8,
                                 TL_DTYPE_F16, TL_DTYPE_BF16, TL_DTYPE_BOOL, TL_DTYPE_I8,  TL_DTYPE_I16,
                                 TL_DTYPE_U16, TL_DTYPE_U32,  TL_DTYPE_U64,  TL_DTYPE_C64, TL_DTYPE_C128};
static const size_t widths[] = {4, 8, 4, 8, 1, 2, 2, 1, 1, 2, 2, 4, 8, 8, 16};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

TEST(new_copies_its_data)
{
	float data[6] = {1, 2, 3, 4, 5, 6};
	int64_t integers[2] = {INT64_MIN, INT64_MAX}, shape[2] = {2, 3}, two = 2;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new(data, 2, shape);
	tl_tensor* other = tl_tensor_new_i64(integers, 1, &two);
	memset(data, 0, sizeof data);
	memset(integers, 0, sizeof integers);
	CHECK(((float*)tl_tensor_data(tensor))[5] == 6);
	CHECK_INT(((int64_t*)tl_tensor_data(other))[0], INT64_MIN);
	CHECK_INT(tl_tensor_dtype(tensor), TL_DTYPE_F32);
	CHECK_INT(tl_tensor_dtype(other), TL_DTYPE_I64);
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
}

TEST_IN_SCOPE(properties)
{
	int64_t shape[4] = {2, 3, 5, 7};
	for (int i = 0; i < DTYPES; i++) {
		tl_tensor* tensor = tl_tensor_empty(dtypes[i], TL_DEVICE_CPU, 4, shape);
		CHECK_INT(tl_tensor_dtype(tensor), dtypes[i]);
		CHECK_INT(tl_tensor_device(tensor), TL_DEVICE_CPU);
		CHECK_INT(tl_tensor_rank(tensor), 4);
		CHECK_INT(tl_tensor_numel(tensor), 210);
		CHECK_INT(tl_tensor_len(tensor), 210);
		CHECK_INT(tl_tensor_nbytes(tensor), 210 * widths[i]);
		CHECK_INT((uintptr_t)tl_tensor_data(tensor) % 64, 0);
		for (int axis = 0; axis < 4; axis++) {
			CHECK_INT(tl_tensor_shape(tensor)[axis], shape[axis]);
			CHECK_INT(tl_tensor_dim(tensor, axis), shape[axis]);
			CHECK_INT(tl_tensor_dim(tensor, axis - 4), shape[axis]);
		}
		CHECK_INT(tl_tensor_strides(tensor)[0], 105);
		CHECK_INT(tl_tensor_strides(tensor)[3], 1);
		CHECK(tl_tensor_is_contiguous(tensor));
		memset(tl_tensor_data(tensor), 0xEE, tl_tensor_nbytes(tensor));
	}
}

TEST(zeros_are_zero_after_reuse)
{
	int64_t shape = 300;
	for (int round = 0; round < 3; round++) {
		bool zero = true;
		CHECK_OK(tl_mem_enter_scope());
		float* data = tl_tensor_data(tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape));
		for (int i = 0; i < 300; i++) zero = zero && data[i] == 0;
		CHECK(zero);
		memset(data, 0xFF, 1200);
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST_IN_SCOPE(scalars_and_empty_tensors)
{
	int64_t shape[3] = {4, 0, 5};
	float one = 1.5f;
	tl_tensor* scalar = tl_tensor_empty(TL_DTYPE_F64, TL_DEVICE_CPU, 0, NULL);
	CHECK_INT(tl_tensor_numel(scalar), 1);
	CHECK_INT(tl_tensor_rank(scalar), 0);
	CHECK_INT(tl_tensor_nbytes(scalar), 8);
	*(double*)tl_tensor_data(scalar) = 2;
	scalar = tl_tensor_new(&one, 0, NULL);
	CHECK(*(float*)tl_tensor_data(scalar) == 1.5f);
	tl_tensor* empty = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 3, shape);
	CHECK_INT(tl_tensor_numel(empty), 0);
	CHECK_INT(tl_tensor_dim(empty, 2), 5);
	CHECK_REFUSED(tl_tensor_data(empty), 0, TL_OK);
}

TEST(null_is_a_value)
{
	CHECK_PTR(tl_tensor_data(NULL), NULL);
	CHECK_INT(tl_tensor_nbytes(NULL), 0);
	CHECK_INT(tl_tensor_numel(NULL), 0);
	CHECK_INT(tl_tensor_len(NULL), 0);
	CHECK_INT(tl_tensor_rank(NULL), 0);
	CHECK_PTR(tl_tensor_shape(NULL), NULL);
	CHECK_PTR(tl_tensor_strides(NULL), NULL);
	CHECK_INT(tl_tensor_dtype(NULL), 0);
	CHECK_INT(tl_tensor_device(NULL), 0);
	CHECK(tl_tensor_is_contiguous(NULL));
	CHECK_INT(tl_tensor_dim(NULL, 3), 0);
	CHECK_PTR(tl_tensor_clone(NULL), NULL);
	CHECK_PTR(tl_tensor_acquire(NULL), NULL);
	CHECK_OK(tl_tensor_release(NULL));
	CHECK_OK(tl_tensor_release_safe(NULL));
	CHECK_OK(tl_tensor_register(NULL));
	CHECK_OK(tl_tensor_promote(NULL));
	CHECK_OK(tl_tensor_finalize(NULL));
	CHECK_PTR(tl_tensor_prepare_return(NULL), NULL);
	CHECK_OK(tl_tensor_free(NULL));
}

TEST(shapes_are_checked)
{
	int64_t negative[2] = {3, -1}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40}, large = INT64_C(1) << 45, one = 1;
	float data = 1;
	int64_t integer = 1;
	CHECK_REFUSED(tl_tensor_new(NULL, 1, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new(&data, 1, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new(&data, 2, negative), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new(&data, 2, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new(&data, 1, &large), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_new_i64(&integer, 2, negative), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new_i64(NULL, 1, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new_i64(&integer, 1, &large), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_empty(7, 0, 1, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(-1, 0, 1, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, -1, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, INT64_MAX, &one), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 0, 1, &large), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, 77, 1, &one), 0, TL_E_DEVICE);
	CHECK_REFUSED(tl_tensor_empty(TL_DTYPE_F32, -2, 1, &one), 0, TL_E_DEVICE);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, huge), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &large), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_tensor_new_zeroed(TL_DTYPE_F32, 77, 1, &one), 0, TL_E_DEVICE);
}

TEST_IN_SCOPE(axes_are_checked)
{
	int64_t shape[2] = {3, 4};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, 0, 2, shape);
	CHECK_REFUSED(tl_tensor_dim(tensor, 2), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_dim(tensor, -3), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_dim(tensor, INT64_MIN), -1, TL_E_INVALID_ARGUMENT);
}

TEST(clone_copies)
{
	float data[4] = {1, 2, 3, 4};
	int64_t shape = 4;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new(data, 1, &shape);
	tl_tensor* copy = tl_tensor_clone(tensor);
	((float*)tl_tensor_data(tensor))[0] = 9;
	CHECK(((float*)tl_tensor_data(copy))[0] == 1);
	CHECK_COUNT(copy, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(copy);
}

static tl_tensor* returns_a_tensor(int through_prepare)
{
	int64_t shape = 3;
	CHECK_OK(tl_mem_function_enter(0));
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape);
	if (through_prepare) CHECK_PTR(tl_tensor_prepare_return(tensor), tensor);
	else CHECK_OK(tl_tensor_promote(tensor));
	CHECK_OK(tl_mem_function_exit());
	CHECK_COUNT(tensor, 1);
	return tensor;
}

TEST(tensors_are_returned)
{
	for (int through_prepare = 0; through_prepare < 2; through_prepare++) {
		CHECK_OK(tl_mem_enter_scope());
		tl_tensor* tensor = returns_a_tensor(through_prepare);
		CHECK_OK(tl_tensor_register(tensor));
		CHECK_COUNT(tensor, 1);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(tensor);
	}
}

TEST(promote_and_prepare_of_a_parameter)
{
	int64_t shape = 3;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape);
	CHECK_OK(tl_mem_function_enter(0));
	CHECK_FAILS(tl_tensor_promote(tensor), TL_E_NOT_REGISTERED);
	CHECK_PTR(tl_tensor_prepare_return(tensor), tensor);
	CHECK_OK(tl_mem_function_exit());
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
}

TEST(fifteen_floats)
{
	int64_t shape = 3;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_tensor_register(tensor));
	for (int i = 0; i < 15; i++) CHECK_OK(tl_tensor_promote(tensor));
	CHECK_FAILS(tl_tensor_promote(tensor), TL_E_OVERFLOW);
	/* covers: tl_tensor_prepare_return TL_E_OVERFLOW */
	tl_clear_error();
	tl_tensor_prepare_return(tensor);
	CHECK_STATUS(tl_last_status(), TL_E_OVERFLOW);
	CHECK_COUNT(tensor, 16);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_tensor_release(tensor));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(tensor);
}

TEST(free_takes_the_scopes_entry_with_it)
{
	int64_t shape = 5;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, 0, 1, &shape);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_DEAD(tensor);
	tl_tensor* again = tl_tensor_empty(TL_DTYPE_F32, 0, 1, &shape);
	CHECK_OK(tl_tensor_promote(again));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(again, 1);
	CHECK_OK(tl_tensor_free(again));
	CHECK_DEAD(again);
}

struct ended {
	int calls;
	void *ptr, *ctx;
};

static void note_end(void* ptr, void* ctx)
{
	struct ended* ended = ctx;
	ended->calls++;
	ended->ptr = ptr;
}

TEST(from_buffer_ends_its_memory_once)
{
	double data[12] = {0};
	int64_t shape[2] = {3, 4}, transposed[2] = {1, 3};
	struct ended ended = {0, NULL, NULL};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_F64, 0, 2, shape, data, transposed, note_end, &ended);
	CHECK_PTR(tl_tensor_data(tensor), data);
	CHECK(!tl_tensor_is_contiguous(tensor));
	CHECK_INT(tl_tensor_strides(tensor)[1], 3);
	CHECK_PTR(tl_tensor_acquire(tensor), tensor);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ended.calls, 0);
	CHECK_OK(tl_tensor_release(tensor));
	CHECK_INT(ended.calls, 1);
	CHECK_PTR(ended.ptr, data);
}

TEST(from_buffer_refuses)
{
	float data[4];
	int64_t four = 4, negative = -4, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
	struct ended ended = {0, NULL, NULL};
	CHECK_REFUSED(tl_tensor_from_buffer(99, 0, 1, &four, data, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, 1, &four, NULL, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, 1, NULL, data, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, -1, &four, data, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, 1, &negative, data, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 0, 2, huge, data, NULL, note_end, &ended), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_tensor_from_buffer(0, 55, 1, &four, data, NULL, note_end, &ended), 0, TL_E_DEVICE);
	CHECK_INT(ended.calls, 0);
}

/* The test undefined runs this over a library that UndefinedBehaviorSanitizer watches: nothing is copied from NULL. */
TEST_IN_SCOPE(a_clone_of_a_borrowed_tensor_without_elements)
{
	int64_t shape[2] = {3, 0};
	const tl_tensor *tensor, *clone;
	for (int i = 0; i < 3; i++) { /* from Go, then from what the thread keeps */
		CHECK_OK(tl_mem_enter_scope());
		tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 2, shape, NULL, NULL, NULL, NULL);
		CHECK(tensor != NULL);
		clone = tl_tensor_clone(tensor);
		CHECK(clone != NULL && clone != tensor);
		CHECK_INT(tl_tensor_numel(clone), 0);
		CHECK_INT(tl_tensor_dim(clone, 0), 3);
		CHECK_OK(tl_mem_exit_scope());
	}
}

THREAD(release_there, tensor) { CHECK_OK(tl_tensor_release_safe(tensor)); }

TEST(the_last_release_ends_it_on_any_thread)
{
	float data[4];
	int64_t four = 4;
	struct ended ended = {0, NULL, NULL};
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 1, &four, data, NULL, note_end, &ended);
	CHECK_OK(tl_tensor_promote(tensor));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(release_there, tensor);
	CHECK_INT(ended.calls, 1);
	CHECK_DEAD(tensor);
}

/* An entry of the scope means a tensor that was released by hand; the next one in its
 * memory is not the scope's. */
TEST_IN_SCOPE(returning_what_only_an_old_entry_names)
{
	int64_t shape = 100;
	tl_tensor* old = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape);
	CHECK_OK(tl_ptr_release(old));
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_acquire(tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape));
	CHECK_OK(tl_mem_exit_scope());
	tl_clear_error();
	CHECK_PTR(tl_tensor_prepare_return(tensor), tensor);
	CHECK_OK(tl_last_status());
	CHECK_COUNT(tensor, 1);
	CHECK_OK(tl_tensor_release(tensor));
}

/* The bytes of a slot say nothing of the tensor that gets it; memcheck would see it if they were read. */
TEST(a_tensor_in_a_slot_of_undefined_bytes)
{
	enum { COUNT = 40, BYTES = 256 };
	void *objects[COUNT], *volatile undefined = malloc(BYTES);
	const int64_t shape[1] = {8};
	tl_tensor* tensors[COUNT];
	for (int i = 0; i < COUNT; i++) memcpy(objects[i] = tl_mem_alloc(BYTES), undefined, BYTES);
	for (int i = 0; i < COUNT; i++) CHECK_OK(tl_mem_free(objects[i]));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT; i++) tensors[i] = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, i % 2, shape);
		for (int i = COUNT; i-- > 0;) CHECK_OK(tl_tensor_free(tensors[i]));
	}
	free(undefined);
}

int main(void) { return check_tests(); }
