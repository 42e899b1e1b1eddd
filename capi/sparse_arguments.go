package main

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/sparse"
	"tlruntime/runtime/status"
)

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
