package sparse

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// ToContiguous returns a copy of a matrix as three vectors, registered in the
// current scope.
func ToContiguous(c *object.Context, p uintptr) (t Tensors, st status.Status) {
	if p == 0 {
		return t, status.OK
	}
	h, blocks, st := at(c, p)
	if st != status.OK {
		return t, st
	}
	value, index := tensor.ElementType(h.ValueDtype), tensor.ElementType(h.IndexDtype)
	vector := func(to *uintptr, dtype tensor.ElementType, n uint64) bool {
		*to = tensor.Vector(c, dtype, n)
		return *to != 0
	}
	if !vector(&t.Values, value, h.Nonzeros) || !vector(&t.Indices, index, h.Nonzeros) ||
		!vector(&t.Offsets, index, h.Lines+1) {
		return Tensors{}, t.drop(c)
	}
	to := Arrays{Values: tensor.DataOf(t.Values), Indices: tensor.DataOf(t.Indices), Offsets: tensor.DataOf(t.Offsets)}
	for i := range blocks {
		if st := copyBlock(c, h, blocks, i, &to); st != status.OK {
			t.drop(c)
			return Tensors{}, st
		}
	}
	if len(blocks) == 0 {
		clear(layout.Bytes(to.Offsets, index.Size()))
	}
	return t, status.OK
}

// copyBlock copies what a matrix shows of block i. The offsets of lent arrays may
// have been changed since they were checked; the vectors have room for what there
// was then.
func copyBlock(c *object.Context, h *layout.SparseHeader, blocks []layout.SparsePart, i int, to *Arrays) status.Status {
	b, lines, elements := &blocks[i], lineCount(h, blocks, i), elementCount(h, blocks, i)
	low, high := offset(b.Offsets, h.IndexDtype, 0), offset(b.Offsets, h.IndexDtype, lines)
	if uint64(low) != b.Begin || uint64(high) != b.Begin+elements {
		return refuseEnds(c, h, b, low, high, elements)
	}
	copyElements(to.Values, b.Values, h.ValueDtype, b.FirstElement, b.Begin, elements)
	copyElements(to.Indices, b.Indices, h.IndexDtype, b.FirstElement, b.Begin, elements)
	shift := shiftOffsets[int64]
	if h.IndexDtype == uint8(tensor.I32) {
		shift = shiftOffsets[int32]
	}
	if !shift(to.Offsets, b, lines) {
		return tensor.Refuse(c, status.InvalidArgument, "the offsets of the block of %s %d were changed: they decrease",
			lineName(h.Format), b.FirstLine)
	}
	return status.OK
}

func copyElements(to, from uintptr, dtype uint8, toElement, fromElement, n uint64) {
	size := sizeOf(dtype)
	tensor.CopyBytes(to+uintptr(toElement*size), from+uintptr(fromElement*size), uintptr(n*size))
}

// shiftOffsets writes the offsets of a block's lines, and of the end of the last. It
// reports whether none is below the one before it.
func shiftOffsets[I index](offsets uintptr, b *layout.SparsePart, lines uint64) bool {
	size := unsafe.Sizeof(I(0))
	to, prev, ascend := offsets+uintptr(b.FirstLine)*size, I(b.Begin), true
	by := I(b.FirstElement) - prev
	for done := uint64(0); done <= lines && ascend; done += chunk {
		prev, ascend = shiftChunk(to+uintptr(done)*size, b.Offsets+uintptr(done)*size, min(lines+1-done, chunk), by,
			prev)
	}
	return ascend
}

//go:nosplit
//go:noinline
func shiftChunk[I index](to, from uintptr, n uint64, by, prev I) (last I, ascend bool) {
	ascend = true
	target := unsafe.Slice(layout.At[I](to), n)
	for i, x := range unsafe.Slice(layout.At[I](from), n) {
		target[i] = x + by
		if x < prev {
			ascend = false
		}
		prev = x
	}
	return prev, ascend
}
