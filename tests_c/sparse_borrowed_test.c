/* Offsets of borrowed arrays that are changed after the check: whatever stands there then, no call
 * leaves the arrays, and what a call cannot answer by the checked ones is TL_E_INVALID_ARGUMENT. */
#include <sys/mman.h>
#include <unistd.h>

#include "sparse.h"

static int64_t wide_indices[SPARSE_NONZEROS], wide_offsets[SPARSE_ROWS + 1];

/* A matrix over the sample's arrays, of which values and indices end where memory does. */
typedef struct borrowed {
	void *values, *indices;
	int32_t index_dtype;
	tl_sparse *matrix, *slice, *slice_of_slice, *transpose;
} borrowed;

/* A copy that ends with a page, behind which there is nothing. */
static void* at_the_end(const void* from, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED && munmap(pages + page, page) == 0);
	return memcpy(pages + page - bytes, from, bytes);
}

static void drop_pages(void* array)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CHECK_INT(munmap((void*)((uintptr_t)array & ~(uintptr_t)(page - 1)), page), 0);
}

static borrowed borrow(int32_t index_dtype)
{
	borrowed b = {.index_dtype = index_dtype};
	bool wide = index_dtype == TL_DTYPE_I64;
	b.values = at_the_end(sparse_values, sizeof sparse_values);
	b.indices =
		wide ? at_the_end(wide_indices, sizeof wide_indices) : at_the_end(sparse_indices, sizeof sparse_indices);
	b.matrix = tl_sparse_wrap(TL_SPARSE_CSR, SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64, index_dtype,
	                          b.values, b.indices, wide ? (void*)wide_offsets : (void*)sparse_offsets, 0, NULL, NULL);
	b.slice = tl_sparse_slice(b.matrix, 1, 4);
	b.slice_of_slice = tl_sparse_slice(b.slice, 1, 3);
	b.transpose = tl_sparse_transpose(b.matrix);
	CHECK(b.slice_of_slice != NULL && b.transpose != NULL);
	return b;
}

static void end_borrowed(borrowed* b)
{
	drop_pages(b->values);
	drop_pages(b->indices);
}

static void set_offset(const borrowed* b, int i, int64_t to)
{
	if (b->index_dtype == TL_DTYPE_I64) wide_offsets[i] = to;
	else sparse_offsets[i] = (int32_t)to;
}

static int64_t get_offset(const borrowed* b, int i)
{
	return b->index_dtype == TL_DTYPE_I64 ? wide_offsets[i] : sparse_offsets[i];
}

static void is_refused(tl_status status)
{
	CHECK_STATUS(status, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "offset") != NULL);
}

/* Reads all of an array, which ends the process where there is none. */
static void read_all(const void* array, size_t bytes)
{
	volatile const char* all = array;
	for (size_t i = 0; i < bytes; i++) (void)all[i];
}

static size_t index_bytes(const borrowed* b) { return b->index_dtype == TL_DTYPE_I64 ? 8 : 4; }

static void read_rows(const borrowed* b, const tl_sparse* m, int64_t lines)
{
	for (int64_t i = 0; i < lines; i++) {
		void *values, *indices;
		int64_t length;
		tl_status status = tl_sparse_row(m, i, &values, &indices, &length);
		if (status != TL_OK) {
			is_refused(status);
			continue;
		}
		CHECK(length >= 0 && length <= SPARSE_NONZEROS);
		read_all(values, (size_t)length * sizeof(double));
		read_all(indices, (size_t)length * index_bytes(b));
	}
}

static int64_t offset_of(const borrowed* b, const void* offsets, int64_t i)
{
	return b->index_dtype == TL_DTYPE_I64 ? ((const int64_t*)offsets)[i] : ((const int32_t*)offsets)[i];
}

/* A copy is refused, or sound: its offsets ascend from 0 to its nonzeros. */
static bool copies(const borrowed* b, const tl_sparse* m, int64_t lines)
{
	tl_tensor *values, *indices, *offsets;
	tl_status status = tl_sparse_to_contiguous(m, &values, &indices, &offsets);
	if (status != TL_OK) {
		is_refused(status);
		return false;
	}
	const void* o = tl_tensor_data(offsets);
	CHECK_INT(offset_of(b, o, 0), 0);
	CHECK_INT(offset_of(b, o, lines), tl_tensor_len(values));
	for (int64_t i = 0; i < lines; i++) CHECK(offset_of(b, o, i) <= offset_of(b, o, i + 1));
	return true;
}

/* Everything that reads offsets of a matrix; returns whether a copy was made. */
static bool use(const borrowed* b, const tl_sparse* m)
{
	int64_t lines = sparse_info(m).format == TL_SPARSE_CSR ? sparse_info(m).rows : sparse_info(m).columns;
	tl_sparse_block_info block = {.struct_size = sizeof block};
	read_rows(b, m, lines);
	CHECK_OK(tl_sparse_block(m, 0, &block));
	CHECK_INT(block.nonzeros, sparse_info(m).nonzeros);
	read_all(block.values, (size_t)block.nonzeros * sizeof(double));
	read_all(block.indices, (size_t)block.nonzeros * index_bytes(b));
	tl_status status = tl_sparse_validate(m);
	if (status != TL_OK) CHECK_STATUS(status, TL_E_INVALID_ARGUMENT);
	return copies(b, m, lines);
}

/* Every slice of a matrix, and all that can be asked of it. */
static void use_slices(const borrowed* b, const tl_sparse* m)
{
	for (int64_t first = 0; first < SPARSE_ROWS; first++)
		for (int64_t last = first + 1; last <= SPARSE_ROWS; last++) {
			tl_clear_error();
			tl_sparse* slice = tl_sparse_slice(m, first, last);
			if (slice == NULL) is_refused(tl_last_status());
			else if (sparse_info(slice).blocks != 0) use(b, slice);
		}
}

static void with_indices_of(int32_t index_dtype)
{
	static const int64_t bad[] = {INT32_MIN, -1, 0, 1, 5, 10, 11, 12, 1000000000, INT32_MAX, INT64_MIN, INT64_MAX};
	CHECK_OK(tl_mem_enter_scope());
	borrowed b = borrow(index_dtype);
	const tl_sparse* all[] = {b.matrix, b.slice, b.slice_of_slice, b.transpose};
	for (int i = 0; i <= SPARSE_ROWS; i++)
		for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
			int64_t right = get_offset(&b, i);
			CHECK_OK(tl_mem_enter_scope());
			set_offset(&b, i, bad[k]);
			for (size_t m = 0; m < sizeof all / sizeof all[0]; m++) {
				use(&b, all[m]);
				use_slices(&b, all[m]);
			}
			set_offset(&b, i, right);
			CHECK_OK(tl_mem_exit_scope());
		}
	for (size_t m = 0; m < sizeof all / sizeof all[0]; m++) CHECK(use(&b, all[m]));
	CHECK_OK(tl_mem_exit_scope());
	end_borrowed(&b);
}

TEST(changed_offsets_lead_nowhere)
{
	for (int i = 0; i < SPARSE_NONZEROS; i++) wide_indices[i] = sparse_indices[i];
	for (int i = 0; i <= SPARSE_ROWS; i++) wide_offsets[i] = sparse_offsets[i];
	with_indices_of(TL_DTYPE_I32);
	with_indices_of(TL_DTYPE_I64);
}

TEST(a_slice_at_a_changed_offset_is_refused)
{
	CHECK_OK(tl_mem_enter_scope());
	borrowed b = borrow(TL_DTYPE_I32);
	void *values, *indices;
	int64_t length;
	int32_t right = sparse_offsets[3];
	sparse_offsets[3] = 1000000000;
	CHECK_REFUSED(tl_sparse_slice(b.matrix, 0, 3), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_slice(b.matrix, 3, 5), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_slice(b.slice, 0, 2), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_sparse_slice(b.transpose, 2, 3), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(),
	             "the offsets from column 2 to the end of column 2 were changed: they go from 2 to 1000000000") !=
	      NULL);
	CHECK_FAILS(tl_sparse_row(b.matrix, 2, &values, &indices, &length), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_row(b.slice_of_slice, 1, &values, &indices, &length), TL_E_INVALID_ARGUMENT);
	CHECK(!copies(&b, b.matrix, SPARSE_ROWS));
	CHECK(!copies(&b, b.slice_of_slice, 2));
	sparse_offsets[3] = right;
	sparse_check_rows(b.slice_of_slice, 2, 2);
	CHECK_OK(tl_mem_exit_scope());
	end_borrowed(&b);
}

/* All of them by the same number: every line has the length that it had. */
TEST(shifted_offsets_are_refused)
{
	CHECK_OK(tl_mem_enter_scope());
	borrowed b = borrow(TL_DTYPE_I32);
	for (int i = 0; i <= SPARSE_ROWS; i++) sparse_offsets[i] += 1000000000;
	CHECK_FAILS(tl_sparse_validate(b.matrix), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_sparse_validate(b.slice), TL_E_INVALID_ARGUMENT);
	CHECK(!copies(&b, b.matrix, SPARSE_ROWS));
	read_rows(&b, b.matrix, SPARSE_ROWS);
	for (int i = 0; i <= SPARSE_ROWS; i++) sparse_offsets[i] -= 1000000000;
	CHECK_OK(tl_sparse_validate(b.matrix));
	CHECK_OK(tl_mem_exit_scope());
	end_borrowed(&b);
}

int main(void) { return check_tests(); }
