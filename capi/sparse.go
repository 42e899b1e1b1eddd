// # Sparse matrices
//
// A sparse matrix stores its nonzeros line by line: a line is a row of a CSR
// matrix (compressed sparse rows) and a column of a CSC matrix. A line has
// values and the same number of ascending indices: the columns of a row, the
// rows of a column. Values are of any tl_dtype, indices 32 or 64 bits wide.
//
// A matrix stores its lines in blocks of several lines. A block is a counted
// tensor, and the matrix has a table of the blocks that it holds. So a slice of
// lines and a transpose copy no elements. A slice holds the blocks that it
// shows and may outlive the matrix; a transpose holds the matrix itself. A
// block is freed when the last matrix, view or array that holds it is released,
// on any thread.
//
// A matrix is an object of the runtime: a new matrix is registered in the
// current scope, and tl_ptr_acquire, tl_ptr_release, tl_mem_unregister and the
// other functions for objects accept it. It has no owning thread. What
// tl_sparse_info_get returns for a matrix never changes. A program may write
// the values, and also the indices, which only tl_sparse_validate checks again.
package main

import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/sparse"
	"tlruntime/runtime/status"
)

// tl_sparse is a sparse matrix. Functions return its properties.
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

// tl_sparse_options says how lines are put into blocks; a field of 0 selects
// its default. A block takes lines until it has target_rows of them and
// min_elements nonzeros, and goes on until the heap's slot for it is nearly
// full. It never takes a line that would make it exceed max_elements: a longer
// line has a block of its own.
//
//	C: typedef struct tl_sparse_options {
//	    size_t struct_size;   /* sizeof(tl_sparse_options) */
//	    int64_t target_rows;  /* lines of a block; default 8 */
//	    int64_t min_elements; /* fewest nonzeros of a block, while lines remain; default 4096 */
//	    int64_t max_elements; /* most nonzeros of a block; default 262144 */
//	} tl_sparse_options;
const _ = "tl_sparse_options"

// tl_sparse_info describes a matrix. New versions add fields at the end.
//
//	C: typedef struct tl_sparse_info {
//	    size_t struct_size;   /* sizeof(tl_sparse_info) */
//	    int64_t rows;
//	    int64_t columns;
//	    int64_t nonzeros;
//	    int64_t blocks;
//	    size_t bytes;         /* heap bytes of the matrix and of its whole blocks; for borrowed arrays, their size */
//	    size_t payload_bytes; /* size of the matrix as three contiguous arrays */
//	    int32_t format;       /* tl_sparse_format */
//	    int32_t value_dtype;  /* tl_dtype */
//	    int32_t index_dtype;  /* tl_dtype */
//	    uint32_t flags;       /* TL_TENSOR_FLAG_LENT, TL_TENSOR_FLAG_READ_ONLY */
//	} tl_sparse_info;
const _ = "tl_sparse_info"

// tl_sparse_block_info describes the part of a block that a matrix shows. Line
// first_line + k begins with nonzero number offsets[k] - offsets[0]. In a slice
// that begins within a block offsets[0] is not 0.
//
//	C: typedef struct tl_sparse_block_info {
//	    size_t struct_size;  /* sizeof(tl_sparse_block_info) */
//	    int64_t first_line;  /* the line of the matrix that is the block's first */
//	    int64_t lines;
//	    int64_t nonzeros;
//	    void* values;        /* as many as nonzeros */
//	    void* indices;       /* as many as nonzeros */
//	    const void* offsets; /* lines + 1 numbers of the indices' type */
//	    tl_tensor* memory;   /* holds the arrays: acquire it to keep them beyond the matrix */
//	} tl_sparse_block_info;
const _ = "tl_sparse_block_info"

// tl_sparse_create returns a matrix with room for as many nonzeros in each line as
// lengths says, one number for each line. Values and indices are undefined:
// fill them in through tl_sparse_row or tl_sparse_block, and check them with
// tl_sparse_validate.
//
//	C: tl_sparse* tl_sparse_create(int32_t format, int64_t rows, int64_t columns, int32_t value_dtype, int32_t index_dtype, const int64_t* lengths, const tl_sparse_options* options);
//
// Ownership: the current scope holds the matrix; the caller borrows. lengths and
// options, which may be NULL, are read during the call.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such format or types, negative extents or
// lengths, a line with more nonzeros than it has places, NULL lengths, options
// that contradict each other), TL_E_LIMIT (2^44 lines or more; with 32-bit
// indices more than 2^31 - 1 nonzeros, columns of a CSR matrix or rows of a CSC
// matrix, 2^44 with others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the
// scope stack is full).
// Cost: slow call; three passes over the lengths, and an allocation for each block.
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
// row i has the values and indices from offsets[i] to offsets[i + 1] - 1.
// offsets has rows + 1 numbers of the indices' type, from 0 to nonzeros.
// Indices have to ascend within each row; the message of the error names the
// row and what is wrong in it.
//
//	C: tl_sparse* tl_sparse_from_csr(int64_t rows, int64_t columns, int64_t nonzeros, int32_t value_dtype, int32_t index_dtype, const void* values, const void* indices, const void* offsets, const tl_sparse_options* options);
//
// Ownership: the current scope holds the matrix; the caller borrows. The arrays
// and options, which may be NULL, are read during the call.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such types, negative extents, NULL arrays,
// offsets that decrease or do not go from 0 to nonzeros, indices that do not
// ascend, occur twice or are out of range, options that contradict each other),
// TL_E_LIMIT (more than 2^31 - 1 columns or nonzeros with 32-bit indices, 2^44
// with others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: slow call; a copy, and a check of every index.
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
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such types, negative extents, NULL arrays,
// offsets that decrease or do not go from 0 to nonzeros, indices that do not
// ascend, occur twice or are out of range, options that contradict each other),
// TL_E_LIMIT (more than 2^31 - 1 rows or nonzeros with 32-bit indices, 2^44 with
// others), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: slow call; a copy, and a check of every index.
//
//export tlgo_sparse_from_csc
func tlgo_sparse_from_csc(c uintptr, rows, columns, nonzeros int64, value, index int32, values, indices, offsets,
	options uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseFrom(o, sparse.Shape{Format: 1, Rows: rows, Columns: columns, Value: value, Index: index},
			sparse.Arrays{Values: values, Indices: indices, Offsets: offsets, Nonzeros: nonzeros}, options)
	})
}

// tl_sparse_wrap returns a matrix of one block over three arrays of the
// caller's, without a copy. offsets is as in tl_sparse_from_csr, with one
// number more than there are lines. The call checks the arrays once. flags is 0
// or TL_TENSOR_FLAG_READ_ONLY. When the last matrix and array over them is
// released, deleter(values, ctx) is called once; deleter may be NULL.
//
//	C: tl_sparse* tl_sparse_wrap(int32_t format, int64_t rows, int64_t columns, int64_t nonzeros, int32_t value_dtype, int32_t index_dtype, void* values, void* indices, const void* offsets, uint32_t flags, tl_deleter deleter, void* ctx);
//
// Ownership: the current scope holds the matrix; the caller borrows. The arrays have to
// stay valid until the deleter is called; on failure it is not called.
// Threads: any thread. deleter runs on whichever thread drops the last reference.
// Returns: the matrix, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (as tl_sparse_from_csr, arrays that are not aligned
// to their elements, or unknown flags),
// TL_E_LIMIT (as tl_sparse_from_csr), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED
// (the scope stack is full).
// Cost: slow call; a check of every index.
//
//export tlgo_sparse_wrap
func tlgo_sparse_wrap(c uintptr, format int32, rows, columns, nonzeros int64, value, index int32, values, indices,
	offsets uintptr, flags uint32, deleter, ctx uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return sparseWrap(o, sparse.Shape{Format: format, Rows: rows, Columns: columns, Value: value, Index: index},
			sparse.Arrays{Values: values, Indices: indices, Offsets: offsets, Nonzeros: nonzeros}, flags, deleter, ctx)
	})
}

// tl_sparse_row returns the addresses of the values and the indices of line i,
// and their number. Line i is row i of a CSR matrix or column i of a CSC
// matrix. Each output may be NULL.
//
//	C: tl_status tl_sparse_row(const tl_sparse* matrix, int64_t i, void** out_values, void** out_indices, int64_t* out_length);
//
// Ownership: the caller borrows both arrays; valid while it holds the matrix, or
// another over the same block.
// Returns: TL_OK, also for a NULL matrix, whose outputs are zero; or the error.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (no such line, or
// offsets that were changed).
// Cost: fast; a binary search over the blocks.
//
//export tlgo_sparse_row
func tlgo_sparse_row(c, m uintptr, i int64, values, indices, length uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseRow(o, m, i, values, indices, length)
	})
}

// tl_sparse_slice returns a matrix of the lines start to stop over the same
// blocks, by the rules of Python's slices: negative numbers count from the end,
// and positions beyond either end are cut off, so that INT64_MIN and INT64_MAX
// stand for the ends. The lines are rows of a CSR matrix or columns of a CSC
// matrix.
//
//	C: tl_sparse* tl_sparse_slice(const tl_sparse* matrix, int64_t start, int64_t stop);
//
// Ownership: the current scope holds the slice; the slice holds the blocks that
// it shows, not the matrix. The caller borrows.
// Returns: the slice, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (offsets at its ends
// that were changed), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: slow call; one count for each block that it shows.
//
//export tlgo_sparse_slice
func tlgo_sparse_slice(c, m uintptr, start, stop int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return sparse.Slice(o, m, start, stop) })
}

// tl_sparse_transpose returns the transpose over the same blocks. The transpose
// of a CSR matrix is a CSC matrix whose column i is row i of the matrix, and
// the other way round. Lines stay the same, so tl_sparse_row of that CSC matrix
// returns a column.
//
//	C: tl_sparse* tl_sparse_transpose(const tl_sparse* matrix);
//
// Ownership: the current scope holds the transpose; the transpose holds the
// matrix whose table of blocks it shows. The caller borrows.
// Returns: the transpose, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED
// (the scope stack is full).
// Cost: slow call; one count, however many blocks there are.
//
//export tlgo_sparse_transpose
func tlgo_sparse_transpose(c, m uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return sparse.Transpose(o, m) })
}

// tl_sparse_to_contiguous copies a matrix into three tensors of one dimension:
// values, indices, and the offsets of lines, which begin with 0 and have the type
// of the indices. The tensors share no memory with the matrix.
//
//	C: tl_status tl_sparse_to_contiguous(const tl_sparse* matrix, tl_tensor** out_values, tl_tensor** out_indices, tl_tensor** out_offsets);
//
// Ownership: the current scope holds the tensors; the caller borrows.
// Returns: TL_OK, also for a NULL matrix, whose outputs are NULL; or the error.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (a NULL output, or
// offsets that were changed), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the
// scope stack is full).
// Cost: slow call; a copy.
//
//export tlgo_sparse_to_contiguous
func tlgo_sparse_to_contiguous(c, m, values, indices, offsets uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseTensors(o, values, indices, offsets, func() (sparse.Tensors, status.Status) {
			return sparse.ToContiguous(o, m)
		})
	})
}

// tl_sparse_block describes the part of block i that a matrix shows, without a
// copy.
//
//	C: tl_status tl_sparse_block(const tl_sparse* matrix, int64_t i, tl_sparse_block_info* out_info);
//
// Ownership: the caller borrows all of it; valid while it holds the matrix or
// memory.
// Returns: TL_OK, also for a NULL matrix, whose outputs are zero; or the error.
// struct_size is set to the bytes filled in.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (no such block, a
// NULL out_info or a wrong struct_size).
//
//export tlgo_sparse_block
func tlgo_sparse_block(c, m uintptr, i int64, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparseBlock(o, m, i, out) })
}

// tl_sparse_block_tensors returns the part of block i that a matrix shows as
// three views of one dimension, without a copy: the values, the indices, and
// one offset more than there are lines.
//
//	C: tl_status tl_sparse_block_tensors(const tl_sparse* matrix, int64_t i, tl_tensor** out_values, tl_tensor** out_indices, tl_tensor** out_offsets);
//
// Ownership: the current scope holds the tensors, and they hold the block, not
// the matrix. The caller borrows.
// Returns: TL_OK, also for a NULL matrix, whose outputs are NULL; or the error.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (no such block, or
// a NULL output), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
//
//export tlgo_sparse_block_tensors
func tlgo_sparse_block_tensors(c, m uintptr, i int64, values, indices, offsets uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return sparseTensors(o, values, indices, offsets, func() (sparse.Tensors, status.Status) {
			return sparse.BlockTensors(o, m, i)
		})
	})
}

// tl_sparse_validate checks every index of a matrix: within a line, indices
// have to ascend and be in range. The message of the error names the line and
// what is wrong there.
//
//	C: tl_status tl_sparse_validate(const tl_sparse* matrix);
//
// Ownership: nothing changes.
// Returns: TL_OK, also for NULL, or what is wrong.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (indices that do
// not ascend, occur twice or are out of range, or offsets that were changed).
// Cost: slow call; a check of every index.
//
//export tlgo_sparse_validate
func tlgo_sparse_validate(c, m uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparse.Validate(o, m) })
}

// tl_sparse_info_get describes a matrix.
//
//	C: tl_status tl_sparse_info_get(const tl_sparse* matrix, tl_sparse_info* out_info);
//
// Ownership: nothing changes.
// Returns: TL_OK, also for a NULL matrix, whose outputs are zero; or the error.
// struct_size is set to the bytes filled in.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a sparse matrix), TL_E_INVALID_ARGUMENT (a NULL out_info or
// a wrong struct_size).
// Cost: fast; about as tl_tensor_info_get.
//
//export tlgo_sparse_info_get
func tlgo_sparse_info_get(c, m, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return sparseInfo(o, m, out) })
}

// sparseOptions reads a tl_sparse_options, which may be NULL.
func sparseOptions(o *object.Context, at uintptr) (options sparse.Options, st status.Status) {
	if at == 0 {
		return options, status.OK
	}
	if !usable(at) || load[uintptr](at) < unsafe.Sizeof(tl_sparse_options{}) {
		return options, fail(o, status.InvalidArgument, "options need a struct_size of sizeof(tl_sparse_options)")
	}
	given := load[tl_sparse_options](at)
	return sparse.Options{TargetRows: given.TargetRows, MinElements: given.MinElements, MaxElements: given.MaxElements},
		status.OK
}

func sparseCreate(o *object.Context, s sparse.Shape, lengths, at uintptr) uintptr {
	options, st := sparseOptions(o, at)
	if st != status.OK {
		return 0
	}
	return sparse.Create(o, s, lengths, options)
}

func sparseFrom(o *object.Context, s sparse.Shape, from sparse.Arrays, at uintptr) uintptr {
	options, st := sparseOptions(o, at)
	if st != status.OK {
		return 0
	}
	return sparse.FromArrays(o, s, from, options)
}

func sparseWrap(o *object.Context, s sparse.Shape, from sparse.Arrays, flags uint32, deleter, ctx uintptr) uintptr {
	if flags&^layout.TensorReadOnly != 0 {
		fail(o, status.InvalidArgument, "flags %#x are unknown; pass 0 or TL_TENSOR_FLAG_READ_ONLY", flags)
		return 0
	}
	return sparse.Wrap(o, s, from, sparse.Borrowed{ReadOnly: flags != 0, Deleter: deleter, Context: ctx})
}

func sparseRow(o *object.Context, m uintptr, i int64, values, indices, length uintptr) status.Status {
	if !optional(values) || !optional(indices) || !optional(length) {
		return fail(o, status.InvalidArgument, "an output is neither NULL nor an address")
	}
	row, st := sparse.RowOf(o, m, i)
	if st != status.OK {
		return st
	}
	storeWanted(values, row.Values)
	storeWanted(indices, row.Indices)
	storeWanted(length, row.Length)
	return status.OK
}

// sparseTensors hands out the three tensors that make returns.
func sparseTensors(o *object.Context, values, indices, offsets uintptr,
	make func() (sparse.Tensors, status.Status)) status.Status {
	if !usable(values) || !usable(indices) || !usable(offsets) {
		return fail(o, status.InvalidArgument, "out_values, out_indices and out_offsets are all needed")
	}
	made, st := make()
	if st != status.OK {
		return st
	}
	store(values, made.Values)
	store(indices, made.Indices)
	store(offsets, made.Offsets)
	return status.OK
}

func sparseInfo(o *object.Context, m, out uintptr) status.Status {
	return fillWhole(o, out, "tl_sparse_info", func() (tl_sparse_info, status.Status) {
		info, st := sparse.Describe(o, m)
		return tl_sparse_info{
			Rows: info.Rows, Columns: info.Columns, Nonzeros: int64(info.Nonzeros), Blocks: int64(info.Blocks),
			Bytes: uintptr(info.Bytes), PayloadBytes: uintptr(info.Payload), Format: info.Format,
			ValueDtype: info.Value, IndexDtype: info.Index, Flags: info.Flags,
		}, st
	})
}

func sparseBlock(o *object.Context, m uintptr, i int64, out uintptr) status.Status {
	return fillWhole(o, out, "tl_sparse_block_info", func() (tl_sparse_block_info, status.Status) {
		b, st := sparse.BlockOf(o, m, i)
		return tl_sparse_block_info{
			FirstLine: b.First, Lines: b.Lines, Nonzeros: b.Nonzeros,
			Values: b.Values, Indices: b.Indices, Offsets: b.Offsets, Memory: b.Holder,
		}, st
	})
}
