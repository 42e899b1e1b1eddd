// # Sparse matrices
//
// A sparse matrix stores its nonzeros line by line: a line is a row of a CSR
// matrix (compressed sparse rows) and a column of a CSC matrix. A line has values
// and, as many, ascending indices: the columns of a row, the rows of a column.
// Values are f32 or f64, indices 32 or 64 bits wide.
//
// Lines live in blocks, several to each. A block is a counted tensor, and a matrix
// is a table of blocks that it holds. So a slice of lines and the transpose copy
// no element: a slice holds the blocks that it shows and outlives the matrix, a
// transpose holds the matrix itself. A block's memory returns when the last matrix, view or array
// that holds it goes, on any thread.
//
// A matrix is an object of the runtime: the current scope holds it when it is
// made, and tl_ptr_acquire, tl_ptr_release, tl_mem_unregister and the rest work on
// it. It has no owning thread. What it is said to be never changes; the values may
// be written by whoever has them, and so may indices, which nothing here reads
// again but tl_sparse_validate.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/sparse"
	"tlruntime/runtime/status"
)

// tl_sparse is a sparse matrix. What is inside is asked for with functions.
//
//	C: typedef struct tl_sparse tl_sparse;
const _ = "tl_sparse"

// tl_sparse_format lists the formats.
//
//	C: enum tl_sparse_format {
//	    TL_SPARSE_CSR = 0, /* lines are rows */
//	    TL_SPARSE_CSC = 1  /* lines are columns */
//	};
const _ = "tl_sparse_format"

// tl_sparse_options says how lines are put into blocks; 0 is the default. A block
// takes lines until it has target_rows of them and min_elements nonzeros, and goes
// on until the heap's slot for it is nearly full. It never takes a line that would
// make it exceed max_elements: a longer line has a block of its own.
//
//	C: typedef struct tl_sparse_options {
//	    size_t struct_size;   /* sizeof(tl_sparse_options) */
//	    int64_t target_rows;  /* lines of a block; 8 */
//	    int64_t min_elements; /* nonzeros of a block at least, where there are as many; 4096 */
//	    int64_t max_elements; /* nonzeros of a block at most; 262144 */
//	} tl_sparse_options;
type tl_sparse_options struct {
	StructSize  uintptr
	TargetRows  int64
	MinElements int64
	MaxElements int64
}

// tl_sparse_info is all that there is to know about a matrix. It grows at the end.
//
//	C: typedef struct tl_sparse_info {
//	    size_t struct_size;   /* sizeof(tl_sparse_info) */
//	    int64_t rows;
//	    int64_t columns;
//	    int64_t nonzeros;
//	    int64_t blocks;
//	    size_t bytes;         /* of the heap: the matrix, and each block as a whole; of lent arrays, what they need */
//	    size_t payload_bytes; /* what three contiguous arrays of it need */
//	    int32_t format;       /* tl_sparse_format */
//	    int32_t value_dtype;  /* tl_dtype */
//	    int32_t index_dtype;  /* tl_dtype */
//	    uint32_t flags;       /* TL_TENSOR_FLAG_LENT, TL_TENSOR_FLAG_READ_ONLY */
//	} tl_sparse_info;
type tl_sparse_info struct {
	StructSize   uintptr
	Rows         int64
	Columns      int64
	Nonzeros     int64
	Blocks       int64
	Bytes        uintptr
	PayloadBytes uintptr
	Format       int32
	ValueDtype   int32
	IndexDtype   int32
	Flags        uint32
}

// tl_sparse_block_info is what a matrix shows of one of its blocks: nonzero number
// offsets[k] - offsets[0] is the first of line first_line + k. In a slice that
// begins within a block offsets[0] is not 0.
//
//	C: typedef struct tl_sparse_block_info {
//	    size_t struct_size;  /* sizeof(tl_sparse_block_info) */
//	    int64_t first_line;  /* the line of the matrix that is the block's first */
//	    int64_t lines;
//	    int64_t nonzeros;
//	    void* values;        /* nonzeros of them */
//	    void* indices;       /* nonzeros of them */
//	    const void* offsets; /* lines + 1 of the indices' type */
//	    tl_tensor* memory;   /* what has them: acquire it to keep them beyond the matrix */
//	} tl_sparse_block_info;
type tl_sparse_block_info struct {
	StructSize uintptr
	FirstLine  int64
	Lines      int64
	Nonzeros   int64
	Values     uintptr
	Indices    uintptr
	Offsets    uintptr
	Memory     uintptr
}

// tl_sparse_create returns a matrix with room for as many nonzeros in each line as
// lengths says, one number for each line. Values and indices are undefined: fill
// them in through tl_sparse_row or tl_sparse_block, and have them looked at by
// tl_sparse_validate.
//
//	C: tl_sparse* tl_sparse_create(int32_t format, int64_t rows, int64_t columns, int32_t value_dtype, int32_t index_dtype, const int64_t* lengths, const tl_sparse_options* options);
//
// Ownership: the current scope holds the matrix; the caller borrows. lengths and
// options, which may be NULL, are read during the call.
// Threads: any thread.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such format or types, negative extents or
// lengths, a line longer than it has places, NULL lengths, options that
// contradict each other), TL_E_LIMIT (2^44 lines or more; with 32-bit indices more
// than 2^31 - 1 nonzeros, columns of a CSR matrix or rows of a CSC matrix, 2^44 with
// others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: one cgo call, three looks at every length, and an allocation for each
// block.
//
//export tlgo_sparse_create
func tlgo_sparse_create(c uintptr, format int32, rows, columns int64, value, index int32, lengths,
	options uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseCreate(o, sparse.Shape{Format: format, Rows: rows, Columns: columns, Value: value, Index: index},
			lengths, options)
	})
}

// tl_sparse_from_csr returns a CSR matrix with a copy of three contiguous arrays:
// row i has the values and indices offsets[i] to offsets[i + 1]. offsets has
// rows + 1 numbers of the indices' type, from 0 to nonzeros. Indices have to
// ascend within each row; the sentence of the error names the row and what was
// found in it.
//
//	C: tl_sparse* tl_sparse_from_csr(int64_t rows, int64_t columns, int64_t nonzeros, int32_t value_dtype, int32_t index_dtype, const void* values, const void* indices, const void* offsets, const tl_sparse_options* options);
//
// Ownership: the current scope holds the matrix; the caller borrows. The arrays
// and options, which may be NULL, are read during the call.
// Threads: any thread.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such types, negative extents, NULL arrays,
// offsets that decrease or do not go from 0 to nonzeros, indices that do not
// ascend, occur twice or are out of range, options that contradict each other),
// TL_E_LIMIT (more than 2^31 - 1 columns or nonzeros with 32-bit indices, 2^44
// with others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: one cgo call, a copy, and a look at every index.
//
//export tlgo_sparse_from_csr
func tlgo_sparse_from_csr(c uintptr, rows, columns, nonzeros int64, value, index int32, values, indices, offsets,
	options uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseFrom(o, sparse.Shape{Format: 0, Rows: rows, Columns: columns, Value: value, Index: index},
			sparse.Arrays{Values: values, Indices: indices, Offsets: offsets, Nonzeros: nonzeros}, options)
	})
}

// tl_sparse_from_csc is tl_sparse_from_csr for a CSC matrix: offsets has
// columns + 1 numbers, and the indices are rows.
//
//	C: tl_sparse* tl_sparse_from_csc(int64_t rows, int64_t columns, int64_t nonzeros, int32_t value_dtype, int32_t index_dtype, const void* values, const void* indices, const void* offsets, const tl_sparse_options* options);
//
// Ownership: the current scope holds the matrix; the caller borrows. The arrays
// and options, which may be NULL, are read during the call.
// Threads: any thread.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such types, negative extents, NULL arrays,
// offsets that decrease or do not go from 0 to nonzeros, indices that do not
// ascend, occur twice or are out of range, options that contradict each other),
// TL_E_LIMIT (more than 2^31 - 1 rows or nonzeros with 32-bit indices, 2^44 with
// others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: one cgo call, a copy, and a look at every index.
//
//export tlgo_sparse_from_csc
func tlgo_sparse_from_csc(c uintptr, rows, columns, nonzeros int64, value, index int32, values, indices, offsets,
	options uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseFrom(o, sparse.Shape{Format: 1, Rows: rows, Columns: columns, Value: value, Index: index},
			sparse.Arrays{Values: values, Indices: indices, Offsets: offsets, Nonzeros: nonzeros}, options)
	})
}

// tl_sparse_wrap returns a matrix of one block over three arrays of the caller's,
// which stay his: offsets as in tl_sparse_from_csr, one more than there are lines.
// They are checked once. flags is 0 or TL_TENSOR_FLAG_READ_ONLY. When the last
// matrix and array over them has gone, deleter(values, ctx) is called once; NULL:
// nothing is.
//
//	C: tl_sparse* tl_sparse_wrap(int32_t format, int64_t rows, int64_t columns, int64_t nonzeros, int32_t value_dtype, int32_t index_dtype, void* values, void* indices, const void* offsets, uint32_t flags, tl_deleter deleter, void* ctx);
//
// Ownership: the current scope holds the matrix; the caller borrows. The arrays
// have to last until deleter is called; on failure it is not.
// Threads: any thread. deleter runs on whichever thread drops the last reference.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (as tl_sparse_from_csr, arrays that are not aligned
// to their elements, or unknown flags),
// TL_E_LIMIT (as tl_sparse_from_csr), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED
// (the scope stack is full).
// Cost: one cgo call, and a look at every index.
//
//export tlgo_sparse_wrap
func tlgo_sparse_wrap(c uintptr, format int32, rows, columns, nonzeros int64, value, index int32, values, indices,
	offsets uintptr, flags uint32, deleter, ctx uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseWrap(o, sparse.Shape{Format: format, Rows: rows, Columns: columns, Value: value, Index: index},
			sparse.Arrays{Values: values, Indices: indices, Offsets: offsets, Nonzeros: nonzeros}, flags, deleter, ctx)
	})
}

// tl_sparse_row tells where the values and the indices of line i stand, and how
// many there are: of row i of a CSR matrix, of column i of a CSC matrix. An output
// that is NULL is not wanted.
//
//	C: tl_status tl_sparse_row(const tl_sparse* matrix, int64_t i, void** out_values, void** out_indices, int64_t* out_length);
//
// Ownership: the caller borrows both arrays; valid while it holds the matrix, or
// another over the same block.
// Threads: any thread.
// Returns: TL_OK; for a NULL matrix too, with zeros.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (no such line, or
// offsets that were changed).
// Cost: a binary search over the blocks; no cgo call.
// Path: fast.
//
//export tlgo_sparse_row
func tlgo_sparse_row(c, m uintptr, i int64, values, indices, length uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseRow(o, m, i, values, indices, length)
	})
}

// tl_sparse_slice returns a matrix of the lines start to stop over the same
// blocks, by the rules of Python's slices: negative numbers count from the end,
// and what lies beyond either end is cut off, so that INT64_MIN and INT64_MAX are
// the ends. Of a CSR matrix these are rows, of a CSC matrix columns.
//
//	C: tl_sparse* tl_sparse_slice(const tl_sparse* matrix, int64_t start, int64_t stop);
//
// Ownership: the current scope holds the slice; the slice holds the blocks that
// it shows, not the matrix. The caller borrows.
// Threads: any thread.
// Returns: the slice, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (offsets at its ends
// that were changed), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: one cgo call, and one count for each block that it shows.
//
//export tlgo_sparse_slice
func tlgo_sparse_slice(c, m uintptr, start, stop int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return sparse.Slice(o, m, start, stop) })
}

// tl_sparse_transpose returns the transpose over the same blocks: of a CSR matrix
// a CSC matrix whose column i is row i of the matrix, and the other way. Lines
// stay what they were; tl_sparse_row of it is a column then.
//
//	C: tl_sparse* tl_sparse_transpose(const tl_sparse* matrix);
//
// Ownership: the current scope holds the transpose; the transpose holds the
// matrix whose table of blocks it shows. The caller borrows.
// Threads: any thread.
// Returns: the transpose, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED
// (the scope stack is full).
// Cost: one cgo call and one count, however many blocks there are.
//
//export tlgo_sparse_transpose
func tlgo_sparse_transpose(c, m uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return sparse.Transpose(o, m) })
}

// tl_sparse_to_contiguous copies a matrix into three tensors of one dimension:
// values, indices, and the offsets of lines, which begin with 0 and have the type
// of the indices. They share nothing with the matrix.
//
//	C: tl_status tl_sparse_to_contiguous(const tl_sparse* matrix, tl_tensor** out_values, tl_tensor** out_indices, tl_tensor** out_offsets);
//
// Ownership: the current scope holds the tensors; the caller borrows.
// Threads: any thread.
// Returns: TL_OK; for a NULL matrix too, with NULLs.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (a NULL output, or
// offsets that were changed), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the
// scope stack is full).
// Cost: one cgo call and a copy.
//
//export tlgo_sparse_to_contiguous
func tlgo_sparse_to_contiguous(c, m, values, indices, offsets uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseTensors(o, values, indices, offsets, func() (sparse.Tensors, status.Status) {
			return sparse.ToContiguous(o, m)
		})
	})
}

// tl_sparse_block tells what a matrix shows of block i: where its lines stand,
// without a copy.
//
//	C: tl_status tl_sparse_block(const tl_sparse* matrix, int64_t i, tl_sparse_block_info* out_info);
//
// Ownership: the caller borrows all of it; valid while it holds the matrix or
// memory.
// Threads: any thread.
// Returns: TL_OK; for a NULL matrix too, with zeros. struct_size becomes what was
// filled in.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (no such block, a
// NULL out_info or a wrong struct_size).
// Cost: one cgo call.
//
//export tlgo_sparse_block
func tlgo_sparse_block(c, m uintptr, i int64, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparseBlock(o, m, i, out) })
}

// tl_sparse_block_tensors returns what a matrix shows of block i as three tensors
// of one dimension, views without a copy: its values, its indices, and one offset
// more than it has lines.
//
//	C: tl_status tl_sparse_block_tensors(const tl_sparse* matrix, int64_t i, tl_tensor** out_values, tl_tensor** out_indices, tl_tensor** out_offsets);
//
// Ownership: the current scope holds the tensors, and they hold the block, not
// the matrix. The caller borrows.
// Threads: any thread.
// Returns: TL_OK; for a NULL matrix too, with NULLs.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (no such block, or
// a NULL output), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: one cgo call.
//
//export tlgo_sparse_block_tensors
func tlgo_sparse_block_tensors(c, m uintptr, i int64, values, indices, offsets uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseTensors(o, values, indices, offsets, func() (sparse.Tensors, status.Status) {
			return sparse.BlockTensors(o, m, i)
		})
	})
}

// tl_sparse_validate looks at every index of a matrix: within a line they have to
// ascend and stay in range. The sentence of the error names the line and what was
// found there.
//
//	C: tl_status tl_sparse_validate(const tl_sparse* matrix);
//
// Ownership: nothing changes.
// Threads: any thread.
// Returns: TL_OK; for NULL too.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (indices that do
// not ascend, occur twice or are out of range, or offsets that were changed).
// Cost: one cgo call, and a look at every index.
//
//export tlgo_sparse_validate
func tlgo_sparse_validate(c, m uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparse.Validate(o, m) })
}

// tl_sparse_info_get tells what a matrix is.
//
//	C: tl_status tl_sparse_info_get(const tl_sparse* matrix, tl_sparse_info* out_info);
//
// Ownership: nothing changes.
// Threads: any thread.
// Returns: TL_OK; for a NULL matrix too, with zeros. struct_size becomes what was
// filled in.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (no sparse matrix), TL_E_INVALID_ARGUMENT (a NULL out_info or
// a wrong struct_size).
// Cost: about as tl_tensor_info_get; no cgo call.
// Path: fast.
//
//export tlgo_sparse_info_get
func tlgo_sparse_info_get(c, m, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparseInfo(o, m, out) })
}
