/* Sparse matrices as both paths see them.
 *
 * A matrix is one heap object of type TL_TYPE_SPARSE: this header, then its table of
 * blocks. One that shows all of another has that as parent, whose table it reads. A line
 * is a row of a CSR matrix and a column of a CSC matrix.
 *
 *   block[i].first_line and .first_element ascend, from 0
 *   line n of the matrix has the elements offsets[n - first_line] to offsets[n - first_line + 1] of the block
 *   the part has the elements begin to begin + (first_element of the next part, or nonzeros) - first_element
 *
 * The second line was checked when the part was made. The first is of memory that a program may write: a line that
 * leaves the elements of its part is refused.
 */
#pragma once

#include "../object/fast.h"

/* header.mark of the matrix at p is p ^ TL_SPARSE_MARK: an object that was overwritten
 * is refused. */
#define TL_SPARSE_MARK 0x51A25E0B10C4D3E7ull

/* Written before anybody else has the matrix. */
typedef struct tl_sparse_header {
	uint64_t mark;
	uint64_t lines, minor, nonzeros, blocks; /* minor: what the indices of a line stay below */
	uint64_t bytes;                          /* of the object and of the blocks as a whole */
	uint8_t format, value_dtype, index_dtype;
	uint8_t spare;
	uint32_t flags;
	uintptr_t parent; /* held by count, and without a parent itself; 0: the table is here */
} tl_sparse_header;

/* What a matrix uses of a block. */
typedef struct tl_sparse_part {
	uint64_t first_line, first_element, begin, bytes;
	uintptr_t holder;          /* the tensor that has the memory, held by count */
	uintptr_t values, indices; /* of the block as a whole */
	uintptr_t offsets;         /* of first_line and on */
} tl_sparse_part;
