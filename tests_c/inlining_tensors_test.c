/* Section Inlining: accessors of tensors that check nothing, beside those that check. */
#include "inlined.h"

/* The tensor is live, and has elements. */
static void check_properties(const tl_tensor* t)
{
	const int64_t rank = tl_tensor_rank(t);
	CHECK_PTR(tl_inl_tensor_data_unchecked(t), tl_tensor_data(t));
	CHECK_INT(tl_inl_tensor_nbytes_unchecked(t), tl_tensor_nbytes(t));
	CHECK_INT(tl_inl_tensor_numel_unchecked(t), tl_tensor_numel(t));
	CHECK_INT(tl_inl_tensor_len_unchecked(t), tl_tensor_len(t));
	CHECK_INT(tl_inl_tensor_rank_unchecked(t), rank);
	CHECK_PTR(tl_inl_tensor_shape_unchecked(t), tl_tensor_shape(t));
	CHECK_PTR(tl_inl_tensor_strides_unchecked(t), tl_tensor_strides(t));
	CHECK_INT(tl_inl_tensor_dtype_unchecked(t), tl_tensor_dtype(t));
	CHECK_INT(tl_inl_tensor_device_unchecked(t), tl_tensor_device(t));
	CHECK_INT(tl_inl_tensor_is_contiguous_unchecked(t), tl_tensor_is_contiguous(t));
	for (int64_t i = 0; i < rank; i++) {
		CHECK_INT(tl_inl_tensor_dim_unchecked(t, i), tl_tensor_dim(t, i));
		CHECK_INT(tl_inl_tensor_stride_unchecked(t, i), tl_tensor_strides(t)[i]);
	}
}

static const int64_t extents[8] = {2, 3, 4, 5, 2, 3, 1, 2};

TEST_IN_SCOPE(tensors_of_every_rank_and_type)
{
	for (int64_t rank = 0; rank <= 8; rank++) {
		for (int32_t dtype = TL_DTYPE_F32; dtype <= TL_DTYPE_BOOL; dtype++) {
			const tl_tensor* t = tl_tensor_new_zeroed(dtype, TL_DEVICE_CPU, rank, extents);
			if (t != NULL) check_properties(t);
		}
	}
}

TEST_IN_SCOPE(views)
{
	static const int64_t wide[4] = {6, 2, 3, 4}, folded[2] = {6, 4};
	tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 3, extents);
	check_properties(tl_view_transpose(t, 0, 2));
	check_properties(tl_view_slice(t, 2, 3, 0, -2));
	check_properties(tl_view_broadcast_to(t, 4, wide));
	check_properties(tl_view_expand_dims(t, 1));
	check_properties(tl_view_slice(tl_view_reshape(t, 2, folded), 0, 1, 5, 2));
}

TEST_IN_SCOPE(memory_of_others)
{
	static double data[24];
	static const int64_t strides[3] = {1, 2, 6};
	check_properties(tl_tensor_from_buffer(TL_DTYPE_F64, TL_DEVICE_CPU, 3, extents, data, strides, NULL, NULL));
}

/* The checked operations make a call for these, which have no record. */
TEST(tensors_in_slots)
{
	CHECK_OK(tl_mem_function_enter(2));
	for (int64_t rank = 0; rank < 4; rank++) check_properties(tl_tensor_in_slot(1, TL_DTYPE_F32, rank, extents));
	CHECK_OK(tl_mem_function_exit());
}

TEST_IN_SCOPE(without_elements)
{
	static const int64_t none[2] = {0, 3};
	const tl_tensor* t = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, none);
	CHECK_INT(tl_inl_tensor_numel_unchecked(t), 0);
	CHECK_INT(tl_inl_tensor_nbytes_unchecked(t), 0);
	CHECK_INT(tl_inl_tensor_dim_unchecked(t, 1), 3);
}

/* A tensor of another shape in the memory of one that ended: nothing of the first is kept. */
TEST(the_next_tensor_in_the_same_memory)
{
	int64_t sum = 0;
	for (int64_t n = 1; n <= 100; n++) {
		const int64_t shape[2] = {n, 101 - n};
		tl_tensor* t = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
		sum += tl_inl_tensor_dim_unchecked(t, 0);
		CHECK_INT(tl_inl_tensor_numel_unchecked(t), n * (101 - n));
		CHECK_OK(tl_tensor_free(t));
	}
	CHECK_INT(sum, 5050);
}

/* Loops as a compiler emits them: each property where it is needed. */
static __attribute__((noinline)) void multiply(const tl_tensor* a, const tl_tensor* b, tl_tensor* c)
{
#define AT(t, i, j)                         \
	((double*)tl_inl_tensor_data_unchecked( \
		t))[(i) * tl_inl_tensor_stride_unchecked(t, 0) + (j) * tl_inl_tensor_stride_unchecked(t, 1)]
	for (int64_t i = 0; i < tl_inl_tensor_dim_unchecked(c, 0); i++)
		for (int64_t j = 0; j < tl_inl_tensor_dim_unchecked(c, 1); j++) {
			AT(c, i, j) = 0;
			for (int64_t k = 0; k < tl_inl_tensor_dim_unchecked(a, 1); k++) AT(c, i, j) += AT(a, i, k) * AT(b, k, j);
		}
}

TEST_IN_SCOPE(a_product_of_matrices)
{
	static const int64_t shape[2] = {7, 5}, square[2] = {7, 7};
	tl_tensor* a = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, shape);
	tl_tensor* c = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, square);
	for (int i = 0; i < 35; i++) ((double*)tl_tensor_data(a))[i] = i;
	multiply(a, tl_view_transpose(a, 0, 1), c);
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 7; j++) {
			int64_t sum = 0;
			for (int k = 0; k < 5; k++) sum += (5 * i + k) * (5 * j + k);
			CHECK_INT(((double*)tl_tensor_data(c))[7 * i + j], sum);
		}
}

int main(void) { return check_tests(); }
