// Package sparse keeps sparse matrices in blocks that matrices share by count.
//
// A matrix is an object of its own kind: a header and a table of blocks. A block is
// a tensor of bytes with the values, the indices and the offsets of some lines, or
// stands for arrays of a caller's. A line is a row of a CSR matrix, a column of a
// CSC matrix. Because blocks know nothing of the matrix, a slice is a part of the
// table and holds the blocks that it shows, not the matrix. The transpose is the
// whole table under the other format: it holds the matrix that has the table.
//
// Arrays come from C as addresses. They are read by functions that the collector
// does not interrupt, in chunks; see package tensor.
package sparse

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// Shape is what a matrix is to be.
type Shape struct {
	Format        int32
	Rows, Columns int64
	Value, Index  int32 // of enum tl_dtype
}

// lines returns how many lines there are, and what indices stay below.
func (s *Shape) lines() (lines, minor int64) {
	if s.Format == layout.SparseCSC {
		return s.Columns, s.Rows
	}
	return s.Rows, s.Columns
}

// most is the largest number that a 32-bit index can be.
const most = 1<<31 - 1

// maxNonzeros is beyond every heap, and far from where sizes overflow.
const maxNonzeros = 1 << 44

// check refuses what no matrix can be.
func (s *Shape) check(c *object.Context) status.Status {
	switch {
	case s.Format != layout.SparseCSR && s.Format != layout.SparseCSC:
		return tensor.Refuse(c, status.InvalidArgument, "format %d is neither TL_SPARSE_CSR nor TL_SPARSE_CSC",
			s.Format)
	case s.Rows < 0 || s.Columns < 0:
		return tensor.Refuse(c, status.InvalidArgument, "a matrix cannot have %d rows and %d columns", s.Rows,
			s.Columns)
	case tensor.ElementType(s.Value).Size() == 0:
		return tensor.Refuse(c, status.InvalidArgument, "values are of an enum tl_dtype, and %d is none of its numbers",
			s.Value)
	case s.Index != int32(tensor.I32) && s.Index != int32(tensor.I64):
		return tensor.Refuse(c, status.InvalidArgument, "indices are TL_DTYPE_I32 or TL_DTYPE_I64, not dtype %d",
			s.Index)
	}
	if lines, minor := s.lines(); lines >= maxNonzeros || s.Index == int32(tensor.I32) && minor > most {
		return tensor.Refuse(c, status.Limit,
			"a matrix of %d by %d is too large for its indices; TL_DTYPE_I64 goes further",
			s.Rows, s.Columns)
	}
	return status.OK
}

// checkNonzeros refuses more nonzeros than offsets can count.
func (s *Shape) checkNonzeros(c *object.Context, n uint64) status.Status {
	if n > maxNonzeros || s.Index == int32(tensor.I32) && n > most {
		return tensor.Refuse(c, status.Limit,
			"%d nonzeros are more than the offsets can count; TL_DTYPE_I64 goes further", n)
	}
	return status.OK
}

// lineName is what a user calls a line.
func lineName(format uint8) string {
	if format == layout.SparseCSC {
		return "column"
	}
	return "row"
}

func sizeOf(dtype uint8) uint64 { return tensor.ElementType(dtype).Size() }

// load reads a number of the caller's; nosplit, like tensor.load.
//
//go:nosplit
//go:noinline
func load[T int32 | int64](addr uintptr) T { return *layout.At[T](addr) }

// offset reads entry i of an array of offsets.
func offset(at uintptr, dtype uint8, i uint64) int64 {
	if dtype == uint8(tensor.I32) {
		return int64(load[int32](at + uintptr(i)*4))
	}
	return load[int64](at + uintptr(i)*8)
}

// at returns header and table of the matrix at p, which is not NULL.
func at(c *object.Context, p uintptr) (*layout.SparseHeader, []layout.SparsePart, status.Status) {
	h, st := c.FindSparse(p)
	if st != status.OK {
		return nil, nil, st
	}
	return h, object.SparseParts(p, h), status.OK
}

// lineCount returns how many lines of the matrix block i has.
func lineCount(h *layout.SparseHeader, blocks []layout.SparsePart, i int) uint64 {
	if i+1 < len(blocks) {
		return blocks[i+1].FirstLine - blocks[i].FirstLine
	}
	return h.Lines - blocks[i].FirstLine
}

// elementCount returns how many nonzeros of the matrix block i has.
func elementCount(h *layout.SparseHeader, blocks []layout.SparsePart, i int) uint64 {
	if i+1 < len(blocks) {
		return blocks[i+1].FirstElement - blocks[i].FirstElement
	}
	return h.Nonzeros - blocks[i].FirstElement
}

// blockOf returns the block that has a line; there is one.
func blockOf(blocks []layout.SparsePart, line uint64) int {
	low, high := 0, len(blocks)
	for high-low > 1 {
		middle := int(uint(low+high) / 2)
		if blocks[middle].FirstLine <= line {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// describe fills in the header of the matrix at p.
func describe(p uintptr, s *Shape, nonzeros, blocks uint64, flags uint32) *layout.SparseHeader {
	lines, minor := s.lines()
	h := layout.At[layout.SparseHeader](p)
	*h = layout.SparseHeader{
		Mark: uint64(p) ^ layout.SparseMark, Lines: uint64(lines), Minor: uint64(minor), Nonzeros: nonzeros,
		Blocks: blocks,
		Format: uint8(s.Format), ValueDtype: uint8(s.Value), IndexDtype: uint8(s.Index), Flags: flags,
	}
	return h
}

// shapeOf inverts describe.
func shapeOf(h *layout.SparseHeader) Shape {
	s := Shape{Format: int32(h.Format), Rows: int64(h.Lines), Columns: int64(h.Minor),
		Value: int32(h.ValueDtype), Index: int32(h.IndexDtype)}
	if h.Format == layout.SparseCSC {
		s.Rows, s.Columns = s.Columns, s.Rows
	}
	return s
}

// room obtains the object for a matrix of so many blocks.
func room(c *object.Context, blocks uint64) layout.Entry {
	if !c.HasRoom() {
		return layout.Entry{}
	}
	return c.TakeSparse(uintptr(layout.SparseHeaderBytes + blocks*layout.SparsePartBytes))
}

// abandon gives up a matrix in the making, with the blocks that it has so far.
func abandon(c *object.Context, e layout.Entry, blocks []layout.SparsePart) {
	for i := range blocks {
		c.DropReference(blocks[i].Holder)
	}
	c.Recycle(e)
}

// finish completes a matrix and registers it.
func finish(c *object.Context, e layout.Entry, h *layout.SparseHeader) uintptr {
	h.Bytes = c.SlotBytes(e.Object)
	for _, b := range object.SparseParts(e.Object, h) {
		h.Bytes += b.Bytes
	}
	c.PushSparse(e)
	return e.Object
}

var _ = [1]struct{}{}[unsafe.Sizeof(layout.SparseHeader{})-layout.SparseHeaderBytes]
var _ = [1]struct{}{}[unsafe.Sizeof(layout.SparsePart{})-layout.SparsePartBytes]
