/* Sparse matrices for the tests. */
#pragma once

#include "check.h"

/* Five by six: columns 1 and 4, none, 0 2 5, 3, 0 1 2 3 4. */
enum { SPARSE_ROWS = 5, SPARSE_COLUMNS = 6, SPARSE_NONZEROS = 11 };
static double sparse_values[SPARSE_NONZEROS] = {1, 4, 20, 22, 25, 33, 40, 41, 42, 43, 44};
static int32_t sparse_indices[SPARSE_NONZEROS] = {1, 4, 0, 2, 5, 3, 0, 1, 2, 3, 4};
static int32_t sparse_offsets[SPARSE_ROWS + 1] = {0, 2, 2, 5, 6, 11};

/* Blocks of two rows. */
static const tl_sparse_options sparse_small = {sizeof sparse_small, 2, 1, 5};

static inline tl_sparse* sparse_sample(void)
{
	return tl_sparse_from_csr(SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_NONZEROS, TL_DTYPE_F64, TL_DTYPE_I32, sparse_values,
	                          sparse_indices, sparse_offsets, &sparse_small);
}

static inline tl_sparse_info sparse_info(const tl_sparse* matrix)
{
	tl_sparse_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_sparse_info_get(matrix, &info));
	CHECK_INT(info.struct_size, sizeof info);
	return info;
}

/* Whether lines 0 to lines of a matrix are the rows of the sample from first on. */
static inline void sparse_check_rows(const tl_sparse* matrix, int64_t first, int64_t lines)
{
	for (int64_t i = 0; i < lines; i++) {
		void *values, *indices;
		int64_t length, from = sparse_offsets[first + i], want = sparse_offsets[first + i + 1] - from;
		CHECK_OK(tl_sparse_row(matrix, i, &values, &indices, &length));
		CHECK_INT(length, want);
		CHECK(length != want || memcmp(values, sparse_values + from, (size_t)want * sizeof *sparse_values) == 0);
		CHECK(length != want || memcmp(indices, sparse_indices + from, (size_t)want * sizeof *sparse_indices) == 0);
	}
}
