/* Section Sparse matrices: what they show, how long blocks live, what is refused. */
#include "sparse.h"

#include "bad.h"
#include "thread.h"

TEST(a_matrix_shows_its_rows)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_sparse* matrix = sparse_sample();
	tl_sparse_info info = sparse_info(matrix);
	CHECK_INT(info.rows, SPARSE_ROWS);
	CHECK_INT(info.columns, SPARSE_COLUMNS);
	CHECK_INT(info.nonzeros, SPARSE_NONZEROS);
	CHECK_INT(info.format, TL_SPARSE_CSR);
	CHECK_INT(info.value_dtype, TL_DTYPE_F64);
	CHECK_INT(info.index_dtype, TL_DTYPE_I32);
	CHECK_INT(info.flags, 0);
	CHECK_INT(info.payload_bytes, 11 * 12 + 6 * 4);
	CHECK_INT(info.blocks, 3);
	sparse_check_rows(matrix, 0, SPARSE_ROWS);
	CHECK_OK(tl_sparse_validate(matrix));
	CHECK_OK(tl_sparse_row(matrix, 0, NULL, NULL, NULL));
	CHECK_COUNT(matrix, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(matrix);
}

TEST_IN_SCOPE(rows_are_filled_in_by_the_caller)
{
	static const int64_t lengths[3] = {2, 0, 1};
	float* values;
	int64_t *indices, length;
	tl_sparse* matrix = tl_sparse_create(TL_SPARSE_CSC, 9, 3, TL_DTYPE_F32, TL_DTYPE_I64, lengths, NULL);
	for (int64_t i = 0; i < 3; i++) {
		CHECK_OK(tl_sparse_row(matrix, i, (void**)&values, (void**)&indices, &length));
		CHECK_INT(length, lengths[i]);
		for (int64_t k = 0; k < length; k++) {
			values[k] = (float)(10 * i + k);
			indices[k] = 8 - k;
		}
	}
	CHECK_FAILS(tl_sparse_validate(matrix), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "column 0 has the index 7 after 8 at position 1") != NULL);
	CHECK_OK(tl_sparse_row(matrix, 0, NULL, (void**)&indices, NULL));
	indices[1] = 9;
	CHECK_FAILS(tl_sparse_validate(matrix), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "column 0 has the index 9 at position 1") != NULL);
	indices[0] = 0;
	indices[1] = 1;
	CHECK_OK(tl_sparse_validate(matrix));
}

/* Slices hold blocks, not the matrix: those that no slice shows go with it. */
TEST(slices_outlive_the_matrix)
{
	tl_sparse_block_info block = {.struct_size = sizeof block};
	CHECK_OK(tl_mem_enter_scope());
	tl_sparse* matrix = sparse_sample();
	CHECK_OK(tl_sparse_block(matrix, 0, &block));
	tl_tensor* first = block.memory;
	tl_sparse* middle = tl_sparse_slice(matrix, 1, -1);
	CHECK_INT(sparse_info(middle).rows, 3);
	CHECK_INT(sparse_info(middle).nonzeros, 4);
	sparse_check_rows(middle, 1, 3);
	tl_sparse* column = tl_sparse_slice(tl_sparse_transpose(middle), 2, INT64_MAX);
	CHECK_INT(sparse_info(column).format, TL_SPARSE_CSC);
	CHECK_INT(sparse_info(column).columns, 1);
	CHECK_INT(sparse_info(column).rows, SPARSE_COLUMNS);
	CHECK_OK(tl_mem_unregister(column));
	CHECK_COUNT(first, 2); /* of the matrix and of middle; the transpose holds middle */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(matrix);
	CHECK_DEAD(middle);
	CHECK_DEAD(first);
	sparse_check_rows(column, 3, 1);
	CHECK_OK(tl_ptr_release(column));
	CHECK_DEAD(column);
}

TEST_IN_SCOPE(nothing_is_a_matrix_too)
{
	static const int32_t no_offsets[1] = {0};
	static const int64_t empty[4] = {0, 0, 0, 0};
	void *values = &values, *indices = &indices;
	int64_t length = 7;
	tl_tensor *v, *i, *o;
	tl_sparse* matrix = tl_sparse_from_csr(0, 5, 0, TL_DTYPE_F32, TL_DTYPE_I32, NULL, NULL, no_offsets, NULL);
	CHECK_INT(sparse_info(matrix).blocks, 0);
	CHECK_OK(tl_sparse_to_contiguous(matrix, &v, &i, &o));
	CHECK_INT(tl_tensor_len(v) + tl_tensor_len(i), 0);
	CHECK_INT(tl_tensor_len(o), 1);
	CHECK_INT(*(int32_t*)tl_tensor_data(o), 0);
	matrix = tl_sparse_create(TL_SPARSE_CSR, 4, 0, TL_DTYPE_F32, TL_DTYPE_I32, empty, NULL);
	CHECK_OK(tl_sparse_row(matrix, 3, &values, &indices, &length));
	CHECK_INT(length, 0);
	CHECK_INT(sparse_info(tl_sparse_slice(matrix, 3, 1)).rows, 0);
	CHECK_OK(tl_sparse_validate(tl_sparse_transpose(matrix)));
	matrix = tl_sparse_wrap(TL_SPARSE_CSC, 5, 0, 0, TL_DTYPE_F32, TL_DTYPE_I32, NULL, NULL, no_offsets, 0, NULL, NULL);
	CHECK_OK(tl_sparse_block_tensors(matrix, 0, &v, &i, &o));
	CHECK_INT(tl_tensor_len(v), 0);
	CHECK_INT(tl_tensor_len(o), 1);
}

/* Each element type: what comes out is what went in, byte by byte. */
TEST(values_are_of_any_element_type)
{
	static const int32_t types[] = {TL_DTYPE_F32, TL_DTYPE_F64,  TL_DTYPE_I32,  TL_DTYPE_I64, TL_DTYPE_U8,
	                                TL_DTYPE_F16, TL_DTYPE_BF16, TL_DTYPE_BOOL, TL_DTYPE_I8,  TL_DTYPE_I16,
	                                TL_DTYPE_U16, TL_DTYPE_U32,  TL_DTYPE_U64,  TL_DTYPE_C64, TL_DTYPE_C128};
	static const int32_t indices[3] = {1, 4, 0}, offsets[4] = {0, 2, 2, 3};
	_Alignas(16) unsigned char bytes[8 + 3 * 16];
	for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i % 251);
	for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
		void *values, *places;
		int64_t length;
		tl_tensor *v, *x, *o;
		CHECK_OK(tl_mem_enter_scope());
		tl_sparse* matrix = tl_sparse_from_csr(3, 5, 3, types[k], TL_DTYPE_I32, bytes, indices, offsets, NULL);
		CHECK_INT(sparse_info(matrix).value_dtype, types[k]);
		CHECK_OK(tl_sparse_to_contiguous(tl_sparse_slice(matrix, 1, 3), &v, &x, &o));
		CHECK_INT(tl_tensor_dtype(v), types[k]);
		size_t size = (size_t)tl_tensor_nbytes(v);
		CHECK(memcmp(tl_tensor_data(v), bytes + 2 * size, size) == 0);
		/* Alignment to 8 is enough for the largest. */
		matrix = tl_sparse_wrap(TL_SPARSE_CSR, 3, 5, 3, types[k], TL_DTYPE_I32, bytes + 8, (void*)indices, offsets, 0,
		                        NULL, NULL);
		CHECK_OK(tl_sparse_row(matrix, 2, &values, &places, &length));
		CHECK(values == bytes + 8 + 2 * size && length == 1 && *(int32_t*)places == 0);
		CHECK_OK(tl_sparse_block_tensors(matrix, 0, &v, &x, &o));
		CHECK_INT(tl_tensor_dtype(v), types[k]);
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(null_is_no_matrix_and_no_error)
{
	void* values = &values;
	int64_t length = 7;
	tl_tensor *v = (void*)&v, *i = v, *o = v;
	tl_sparse_block_info block = {.struct_size = sizeof block, .lines = 9};
	CHECK_REFUSED(tl_sparse_slice(NULL, 0, 1), 0, TL_OK);
	CHECK_REFUSED(tl_sparse_transpose(NULL), 0, TL_OK);
	CHECK_OK(tl_sparse_row(NULL, 5, &values, NULL, &length));
	CHECK(values == NULL && length == 0);
	CHECK_OK(tl_sparse_to_contiguous(NULL, &v, &i, &o));
	CHECK(v == NULL && i == NULL && o == NULL);
	CHECK_OK(tl_sparse_block_tensors(NULL, 5, &v, &i, &o));
	CHECK_OK(tl_sparse_block(NULL, 5, &block));
	CHECK_INT(block.lines, 0);
	CHECK_INT(sparse_info(NULL).rows, 0);
	CHECK_OK(tl_sparse_validate(NULL));
}

TEST(contiguous_tensors_are_the_receivers)
{
	tl_tensor *values, *indices, *offsets;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_sparse_to_contiguous(tl_sparse_slice(sparse_sample(), 2, 5), &values, &indices, &offsets));
	CHECK_OK(tl_tensor_promote(values));
	CHECK_OK(tl_tensor_promote(indices));
	CHECK_OK(tl_tensor_promote(offsets));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_tensor_dtype(values), TL_DTYPE_F64);
	CHECK_INT(tl_tensor_dtype(offsets), TL_DTYPE_I32);
	CHECK_INT(tl_tensor_len(offsets), 4);
	CHECK(memcmp(tl_tensor_data(values), sparse_values + 2, 9 * sizeof *sparse_values) == 0);
	CHECK(memcmp(tl_tensor_data(indices), sparse_indices + 2, 9 * sizeof *sparse_indices) == 0);
	for (int i = 0; i < 4; i++) CHECK_INT(((int32_t*)tl_tensor_data(offsets))[i], sparse_offsets[2 + i] - 2);
	CHECK_OK(tl_ptr_release(values));
	CHECK_OK(tl_tensor_release(indices));
	CHECK_OK(tl_tensor_release(offsets));
}

static int ends;

static void note_end(void* ptr, void* ctx)
{
	CHECK_PTR(ptr, sparse_values);
	CHECK_PTR(ctx, &ends);
	__atomic_add_fetch(&ends, 1, __ATOMIC_SEQ_CST);
}

/* Lent arrays end once, with the last of matrix, slice and array, wherever it goes. */
TEST(lent_arrays_end_with_the_last_view)
{
	tl_sparse* matrix;
	tl_tensor *values, *indices, *offsets;
	ends = 0;
	CHECK_OK(tl_mem_enter_scope());
	matrix = tl_sparse_wrap(TL_SPARSE_CSR, SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32,
	                        sparse_values, sparse_indices, sparse_offsets, TL_TENSOR_FLAG_READ_ONLY, note_end, &ends);
	CHECK_INT(sparse_info(matrix).flags, TL_TENSOR_FLAG_READ_ONLY | TL_TENSOR_FLAG_LENT);
	tl_sparse* slice = tl_sparse_slice(matrix, 2, 4);
	sparse_check_rows(slice, 2, 2);
	CHECK_OK(tl_sparse_block_tensors(slice, 0, &values, &indices, &offsets));
	CHECK_PTR(tl_tensor_data(indices), sparse_indices + 2);
	CHECK_INT(*(int32_t*)tl_tensor_data(offsets), 2);
	tl_ptr_acquire(indices);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(ends, 0);
	run_thread(check_release, indices);
	CHECK_INT(ends, 1);
}

/* As many blocks as rows: neither stack nor order matters. */
TEST(many_blocks_end_without_recursion)
{
	enum { ROWS = 100000 };
	static int64_t lengths[ROWS];
	const tl_sparse_options one = {sizeof one, 1, 1, 1};
	for (int i = 0; i < ROWS; i++) lengths[i] = 1;
	CHECK_OK(tl_mem_enter_scope());
	tl_sparse* matrix = tl_sparse_create(TL_SPARSE_CSR, ROWS, 1, TL_DTYPE_F32, TL_DTYPE_I32, lengths, &one);
	CHECK_INT(sparse_info(matrix).blocks, ROWS);
	CHECK_OK(tl_mem_unregister(matrix));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(check_release, matrix);
	CHECK_DEAD(matrix);
}

/* A transpose takes one count, of the matrix whose table it reads; so does that of a transpose. */
TEST(a_transpose_shares_the_table)
{
	tl_sparse_block_info block = {.struct_size = sizeof block};
	CHECK_OK(tl_mem_enter_scope());
	tl_sparse* matrix = sparse_sample();
	tl_sparse* columns = tl_sparse_transpose(matrix);
	tl_sparse* rows = tl_sparse_transpose(columns);
	CHECK_INT(sparse_info(columns).format, TL_SPARSE_CSC);
	CHECK_INT(sparse_info(columns).rows, SPARSE_COLUMNS);
	CHECK_INT(sparse_info(rows).rows, SPARSE_ROWS);
	CHECK_INT(sparse_info(rows).blocks, sparse_info(matrix).blocks);
	CHECK(sparse_info(columns).bytes > sparse_info(matrix).bytes);
	CHECK_OK(tl_sparse_block(rows, 1, &block));
	CHECK_COUNT(block.memory, 1);
	CHECK_COUNT(matrix, 3);
	CHECK_COUNT(columns, 1);
	CHECK_OK(tl_mem_unregister(rows));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(columns);
	CHECK_COUNT(matrix, 1);
	sparse_check_rows(rows, 0, SPARSE_ROWS);
	CHECK_OK(tl_sparse_validate(rows));
	run_thread(check_release, rows);
	CHECK_DEAD(rows);
	CHECK_DEAD(matrix);
	CHECK_DEAD(block.memory);
}

/* Who takes a reference too many away ends the matrix; a transpose that is left without says so. */
TEST_IN_SCOPE(a_transpose_without_its_matrix_is_refused)
{
	tl_sparse* matrix = sparse_sample();
	tl_sparse* columns = tl_sparse_transpose(matrix);
	CHECK_OK(tl_ptr_release(matrix));
	CHECK_OK(tl_ptr_release(matrix));
	CHECK_DEAD(matrix);
	CHECK_FAILS(tl_sparse_row(columns, 0, NULL, NULL, NULL), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_validate(columns), TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_sparse_slice(columns, 0, 1), 0, TL_E_UNSUPPORTED);
}

TEST(counting_works_as_for_any_object)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_sparse* matrix = sparse_sample();
	CHECK_PTR(tl_ptr_acquire(matrix), matrix);
	CHECK_OK(tl_mem_register_ptr(matrix));
	CHECK_COUNT(matrix, 3);
	CHECK_PTR(tl_mem_deep_clone(matrix), matrix);
	CHECK_OK(tl_ptr_share(matrix));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(matrix, 1);
	CHECK_INT(tl_ptr_dec_ref(matrix), 1);
	CHECK_OK(tl_mem_free(matrix));
	CHECK_DEAD(matrix);
	CHECK_INT(tl_mem_collect_cycles(), 0);
}

#define CSR(rows, columns, nonzeros, dtype, index, values, offsets) \
	tl_sparse_from_csr(rows, columns, nonzeros, dtype, index, values, sparse_indices, offsets, NULL)
#define WRAP(offsets, flags)                                                                                           \
	tl_sparse_wrap(TL_SPARSE_CSR, 5, 6, 11, TL_DTYPE_F64, TL_DTYPE_I32, sparse_values, sparse_indices, offsets, flags, \
	               NULL, NULL)

TEST(bad_arrays_are_refused)
{
	static const int32_t falling[6] = {0, 5, 2, 5, 6, 11}, late[6] = {1, 2, 2, 5, 6, 11};
	static const int64_t lengths[2] = {3, 4};
	const tl_sparse_options contradiction = {sizeof contradiction, 0, 9, 8}, small = {8, 0, 0, 0};
	CHECK_REFUSED(tl_sparse_create(2, 2, 9, 0, 2, lengths, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_create(0, 2, 3, 0, 2, lengths, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "tl_sparse_create: TL_E_INVALID_ARGUMENT: row 1 has the length 4") != NULL);
	CHECK_REFUSED(tl_sparse_create(0, 2, 9, 0, 2, lengths, &contradiction), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_create(0, 2, 9, 0, 2, lengths, &small), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_create(0, 2, 9, 0, 2, lengths, (void*)8), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_create(0, 2, 9, 0, 2, NULL, NULL), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_create(0, 2, INT64_C(1) << 40, 0, 2, lengths, NULL), 0, TL_E_LIMIT);
	/* covers: tl_sparse_from_csr TL_E_INVALID_ARGUMENT */
	CHECK_REFUSED(CSR(5, 6, 11, 0, 2, sparse_values, falling), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "the offsets of row 1 decrease by 3") != NULL);
	CHECK_REFUSED(CSR(5, 6, 11, 0, 2, sparse_values, late), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 6, 10, 0, 2, sparse_values, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 5, 11, 0, 2, sparse_values, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "row 2 has the index 5 at position 2; indices are from 0 to below 5") != NULL);
	CHECK_REFUSED(CSR(-5, 6, 11, 0, 2, sparse_values, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 6, 11, 7, 2, sparse_values, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 6, 11, 0, 0, sparse_values, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 6, 11, 0, 2, NULL, sparse_offsets), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(CSR(5, 6, 11, 0, 2, sparse_values, NULL), 0, TL_E_INVALID_ARGUMENT);
	/* covers: tl_sparse_from_csr TL_E_LIMIT */
	CHECK_REFUSED(CSR(5, INT64_C(1) << 31, 11, 0, 2, sparse_values, sparse_offsets), 0, TL_E_LIMIT);
	CHECK_REFUSED(tl_sparse_from_csc(5, 5, 11, 0, 2, sparse_values, sparse_indices, sparse_offsets, NULL), 0,
	              TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_from_csc(INT64_MAX, 5, 11, 0, 2, sparse_values, sparse_indices, sparse_offsets, NULL), 0,
	              TL_E_LIMIT);
	CHECK_REFUSED(WRAP(falling, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(WRAP(sparse_offsets, 1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_wrap(0, 5, INT64_MAX, 11, 0, 2, NULL, NULL, sparse_offsets, 0, note_end, NULL), 0,
	              TL_E_LIMIT);
}

TEST_IN_SCOPE(bad_arguments_are_refused)
{
	tl_tensor* t;
	tl_sparse_info info = {.struct_size = 8};
	tl_sparse_block_info block = {.struct_size = sizeof block};
	tl_sparse* matrix = sparse_sample();
	CHECK_FAILS(tl_sparse_row(matrix, 5, NULL, NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "there is no row 5 in a matrix of 5") != NULL);
	CHECK_FAILS(tl_sparse_row(matrix, -1, NULL, NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_row(matrix, 0, (void**)8, NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_block(matrix, 3, &block), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_block(matrix, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_block_tensors(matrix, -1, &t, &t, &t), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_block_tensors(matrix, 0, &t, NULL, &t), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_to_contiguous(matrix, NULL, &t, &t), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_info_get(matrix, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_info_get(matrix, &info), TL_E_INVALID_ARGUMENT);
}

/* Arrays are read in place, by emitted code too; a copy takes them as they are. */
TEST(lent_arrays_are_aligned)
{
	static char bytes[3][SPARSE_NONZEROS * 8 + 8];
	void* odd[3];
	for (int i = 0; i < 3; i++)
		odd[i] = memcpy(bytes[i] + 4 - i,
		                i == 0   ? (void*)sparse_values
		                : i == 1 ? (void*)sparse_indices
		                         : (void*)sparse_offsets,
		                i == 0   ? sizeof sparse_values
		                : i == 1 ? sizeof sparse_indices
		                         : sizeof sparse_offsets);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 3; i++) {
		void *v = i == 0 ? odd[0] : sparse_values, *x = i == 1 ? odd[1] : sparse_indices,
			 *o = i == 2 ? odd[2] : sparse_offsets;
		CHECK_REFUSED(tl_sparse_wrap(TL_SPARSE_CSR, 5, 6, 11, TL_DTYPE_F64, TL_DTYPE_I32, v, x, o, 0, NULL, NULL), 0,
		              TL_E_INVALID_ARGUMENT);
		sparse_check_rows(tl_sparse_from_csr(5, 6, 11, TL_DTYPE_F64, TL_DTYPE_I32, v, x, o, NULL), 0, SPARSE_ROWS);
	}
	CHECK_OK(tl_mem_exit_scope());
}

static tl_sparse_info bad_info = {.struct_size = sizeof bad_info};
static tl_sparse_block_info bad_block = {.struct_size = sizeof bad_block};
static tl_tensor* bad_tensor;

TEST(what_is_no_matrix_is_refused)
{
	CHECK_REFUSES_STATUS(tl_sparse_row(bad, 0, NULL, NULL, NULL));
	CHECK_REFUSES_NULL(tl_sparse_slice(bad, 0, 1));
	CHECK_REFUSES_NULL(tl_sparse_transpose(bad));
	CHECK_REFUSES_STATUS(tl_sparse_to_contiguous(bad, &bad_tensor, &bad_tensor, &bad_tensor));
	CHECK_REFUSES_STATUS(tl_sparse_block(bad, 0, &bad_block));
	CHECK_REFUSES_STATUS(tl_sparse_block_tensors(bad, 0, &bad_tensor, &bad_tensor, &bad_tensor));
	CHECK_REFUSES_STATUS(tl_sparse_validate(bad));
	CHECK_REFUSES_STATUS(tl_sparse_info_get(bad, &bad_info));
}

static void refuse_kind(const tl_sparse* other)
{
	CHECK_FAILS(tl_sparse_row(other, 0, NULL, NULL, NULL), TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_sparse_slice(other, 0, 1), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_sparse_transpose(other), 0, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_to_contiguous(other, &bad_tensor, &bad_tensor, &bad_tensor), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_block(other, 0, &bad_block), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_block_tensors(other, 0, &bad_tensor, &bad_tensor, &bad_tensor), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_validate(other), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_sparse_info_get(other, &bad_info), TL_E_UNSUPPORTED);
}

TEST(other_objects_are_refused)
{
	const int64_t four = 4;
	void* foreign = malloc(64);
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_OK(tl_mem_register_struct(foreign));
	refuse_kind(tl_mem_new(640));
	refuse_kind((tl_sparse*)tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &four));
	refuse_kind(tl_vec_new(1));
	refuse_kind(tl_mem_get_buffer(0, 640));
	refuse_kind(foreign);
	CHECK_FAILS(tl_tensor_register((tl_tensor*)sparse_sample()), TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_function_exit());
}

int main(void) { return check_tests(); }
