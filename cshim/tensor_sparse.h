/* Sparse matrices as both paths see them.
 *
 * A matrix is one heap object of type TL_TYPE_SPARSE: this header, then its table of
 * blocks. One that shows all of another has that as parent, whose table it reads. A line
 * is a row of a CSR matrix and a column of a CSC matrix.
 *
 *   block[i].first_line and .first_element ascend, from 0
 *   line n of the matrix is line skip + n - first_line of the block
 *   line k of a block has its elements offsets[k] to offsets[k + 1]
 */
#ifndef TL_SPARSE_H
#define TL_SPARSE_H

#include "object_fast.h"

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
	uint64_t first_line, first_element, skip, bytes;
	uintptr_t holder; /* the tensor that has the memory, held by count */
	uintptr_t values, indices, offsets;
} tl_sparse_part;

#endif
