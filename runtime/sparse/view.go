package sparse

import (
	"tlruntime/cshim/shapes"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// Slice returns a matrix of the lines start to stop, by the rules of Python's
// slices, over the same blocks.
func Slice(c *object.Context, p uintptr, start, stop int64) uintptr {
	if p == 0 {
		return c.Null()
	}
	h, blocks, st := at(c, p)
	if st != status.OK {
		return 0
	}
	first, n := shapes.Part(int64(h.Lines), start, stop, 1)
	return show(c, h, blocks, uint64(first), uint64(first+n))
}

// Transpose returns the transpose over the same blocks: of a CSR matrix a CSC
// matrix whose columns are its rows, and the other way.
func Transpose(c *object.Context, p uintptr) uintptr {
	if p == 0 {
		return c.Null()
	}
	h, _, st := at(c, p)
	if st != status.OK {
		return 0
	}
	if h.Parent != 0 {
		p = h.Parent
	}
	e := room(c, 0)
	if e.Object == 0 {
		return 0
	}
	if c.Acquire(p) != status.OK { // one count for all blocks, of which it shows every line
		c.Recycle(e)
		return 0
	}
	made := layout.At[layout.SparseHeader](e.Object)
	*made = *h
	made.Mark, made.Parent = uint64(e.Object)^layout.SparseMark, p
	made.Format = layout.SparseCSR + layout.SparseCSC - h.Format
	made.Bytes = layout.At[layout.SparseHeader](p).Bytes + c.SlotBytes(e.Object)
	c.PushSparse(e)
	return e.Object
}

// show makes a matrix of some lines, first to last, over the blocks that have them,
// each of which it holds.
func show(c *object.Context, h *layout.SparseHeader, blocks []layout.SparsePart, first, last uint64) uintptr {
	from, to, begin, end := 0, 0, edge{}, edge{}
	if last > first {
		from, to = blockOf(blocks, first), blockOf(blocks, last-1)+1
		st := status.OK
		if begin, end, st = edges(c, h, blocks, first, last); st != status.OK {
			return 0
		}
	}
	e := room(c, uint64(to-from))
	if e.Object == 0 {
		return 0
	}
	shape := shapeOf(h)
	if h.Format == layout.SparseCSC {
		shape.Columns = int64(last - first)
	} else {
		shape.Rows = int64(last - first)
	}
	made := describe(e.Object, &shape, end.element-begin.element, uint64(to-from), h.Flags)
	table := object.SparseParts(e.Object, made)
	for i := range table {
		if !hold(c, blocks[from+i].Holder) {
			abandon(c, e, table[:i])
			return 0
		}
		table[i] = blocks[from+i]
	}
	cut(table, first, begin, uintptr(sizeOf(h.IndexDtype)))
	return finish(c, e, made)
}

// edge is where the elements of a line begin, or those of the one before it end: the
// number of the element in the matrix, and in the block.
type edge struct{ element, inBlock uint64 }

// edges returns the first edge of the line first, and the last of the line before last.
func edges(c *object.Context, h *layout.SparseHeader, blocks []layout.SparsePart, first, last uint64) (begin, end edge,
	st status.Status) {
	head, tail := blockOf(blocks, first), blockOf(blocks, last-1)
	begin, low := edgeAt(h, blocks, head, first)
	end, high := edgeAt(h, blocks, tail, last)
	if low && high && begin.element <= end.element {
		return begin, end, status.OK
	}
	return edge{}, edge{}, tensor.Refuse(c, status.InvalidArgument,
		"the offsets from %s %d to the end of %s %d were changed: they go from %d to %d",
		lineName(h.Format), first, lineName(h.Format), last-1, int64(begin.inBlock), int64(end.inBlock))
}

// edgeAt returns the edge before a line of block i, or after its last. The edges of the
// block are what was checked; between them the offsets tell, which may have been changed
// since: they are false outside the block.
func edgeAt(h *layout.SparseHeader, blocks []layout.SparsePart, i int, line uint64) (edge, bool) {
	b, elements := &blocks[i], elementCount(h, blocks, i)
	past := uint64(0)
	switch k := line - b.FirstLine; k {
	case 0:
	case lineCount(h, blocks, i):
		past = elements
	default:
		past = uint64(offset(b.Offsets, h.IndexDtype, k)) - b.Begin
	}
	return edge{b.FirstElement + past, b.Begin + past}, past <= elements
}

// cut makes a table that was copied start with a line and its edge.
func cut(table []layout.SparsePart, first uint64, begin edge, indexSize uintptr) {
	if len(table) == 0 {
		return
	}
	head := &table[0]
	head.Offsets += uintptr(first-head.FirstLine) * indexSize
	head.FirstLine, head.FirstElement, head.Begin = first, begin.element, begin.inBlock
	for i := range table {
		table[i].FirstLine -= first
		table[i].FirstElement -= begin.element
	}
}

// hold adds a reference to the tensor of a block.
func hold(c *object.Context, holder uintptr) bool {
	e, st := c.FindTensor(holder)
	return st == status.OK && e.Object != 0 && c.Hold(e)
}

// Row is one line of a matrix, where it stands.
type Row struct {
	Values, Indices uintptr
	Length          int64
}

// RowOf returns line i; zeros for NULL.
func RowOf(c *object.Context, p uintptr, i int64) (r Row, st status.Status) {
	if p == 0 {
		return r, status.OK
	}
	h, blocks, st := at(c, p)
	if st != status.OK {
		return r, st
	}
	if uint64(i) >= h.Lines {
		return r, tensor.Refuse(c, status.InvalidArgument, "there is no %s %d in a matrix of %d", lineName(h.Format), i,
			h.Lines)
	}
	number := blockOf(blocks, uint64(i))
	b := &blocks[number]
	k, end := uint64(i)-b.FirstLine, int64(b.Begin+elementCount(h, blocks, number))
	low, high := offset(b.Offsets, h.IndexDtype, k), offset(b.Offsets, h.IndexDtype, k+1)
	if low < int64(b.Begin) || high < low || high > end {
		return r, tensor.Refuse(c, status.InvalidArgument, "the offsets of %s %d, %d and %d, were changed",
			lineName(h.Format), i, low, high)
	}
	return Row{elementAt(b.Values, uint64(low), h.ValueDtype), elementAt(b.Indices, uint64(low), h.IndexDtype),
		high - low}, status.OK
}

func elementAt(array uintptr, i uint64, dtype uint8) uintptr {
	if array == 0 {
		return 0
	}
	return array + uintptr(i*sizeOf(dtype))
}

// Block is what a matrix shows of a block.
type Block struct {
	First, Lines, Nonzeros   int64
	Values, Indices, Offsets uintptr
	Holder                   uintptr
	value, index             tensor.ElementType
}

// BlockOf returns block i; zeros for NULL.
func BlockOf(c *object.Context, p uintptr, i int64) (b Block, st status.Status) {
	if p == 0 {
		return b, status.OK
	}
	h, blocks, st := at(c, p)
	if st != status.OK {
		return b, st
	}
	if uint64(i) >= uint64(len(blocks)) {
		return b, tensor.Refuse(c, status.InvalidArgument, "there is no block %d in a matrix of %d blocks", i,
			len(blocks))
	}
	of := &blocks[i]
	return Block{
		First: int64(of.FirstLine), Lines: int64(lineCount(h, blocks, int(i))),
		Nonzeros: int64(elementCount(h, blocks, int(i))),
		Values:   elementAt(of.Values, of.Begin, h.ValueDtype), Indices: elementAt(of.Indices, of.Begin, h.IndexDtype),
		Offsets: of.Offsets, Holder: of.Holder,
		value: tensor.ElementType(h.ValueDtype), index: tensor.ElementType(h.IndexDtype),
	}, status.OK
}

// Tensors are a matrix or a block of one as vectors.
type Tensors struct{ Values, Indices, Offsets uintptr }

// BlockTensors returns views of the arrays of block i, registered in the current
// scope. They hold the block, not the matrix.
func BlockTensors(c *object.Context, p uintptr, i int64) (t Tensors, st status.Status) {
	b, st := BlockOf(c, p, i)
	if p == 0 || st != status.OK {
		return t, st
	}
	view := func(to *uintptr, data uintptr, dtype tensor.ElementType, n int64) bool {
		*to = tensor.ViewBlock(c, b.Holder, data, dtype, uint64(n))
		return *to != 0
	}
	if view(&t.Values, b.Values, b.value, b.Nonzeros) && view(&t.Indices, b.Indices, b.index, b.Nonzeros) &&
		view(&t.Offsets, b.Offsets, b.index, b.Lines+1) {
		return t, status.OK
	}
	return Tensors{}, t.drop(c)
}

// drop ends tensors that were made before one could not be; the error stays.
func (t *Tensors) drop(c *object.Context) status.Status {
	st := status.Status(c.Error.Status)
	for _, made := range []uintptr{t.Values, t.Indices, t.Offsets} {
		tensor.Free(c, made)
	}
	return st
}

// Info is what there is to know about a matrix.
type Info struct {
	Shape
	Nonzeros, Blocks uint64
	Bytes, Payload   uint64
	Flags            uint32
}

// Describe returns what there is to know; zeros for NULL.
func Describe(c *object.Context, p uintptr) (info Info, st status.Status) {
	if p == 0 {
		return info, status.OK
	}
	h, _, st := at(c, p)
	if st != status.OK {
		return info, st
	}
	payload := h.Nonzeros*(sizeOf(h.ValueDtype)+sizeOf(h.IndexDtype)) + (h.Lines+1)*sizeOf(h.IndexDtype)
	return Info{shapeOf(h), h.Nonzeros, h.Blocks, h.Bytes, payload, h.Flags}, status.OK
}
