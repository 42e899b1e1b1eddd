package sparse

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// Arrays are a whole matrix of a caller's: offsets of lines, and Nonzeros indices
// and values.
type Arrays struct {
	Values, Indices, Offsets uintptr
	Nonzeros                 int64
}

// Create returns a matrix with room for lines of the lengths given, one int64
// each; values and indices are undefined.
func Create(c *object.Context, s Shape, lengths uintptr, o Options) uintptr {
	if s.check(c) != status.OK || o.check(c) != status.OK {
		return 0
	}
	if lines, _ := s.lines(); lines > 0 && lengths < layout.LowestAddress {
		tensor.Refuse(c, status.InvalidArgument, "lengths is NULL for %d lines", lines)
		return 0
	}
	return build(c, &s, o, source{at: lengths}, nil)
}

// FromArrays returns a matrix with a copy of a caller's arrays.
func FromArrays(c *object.Context, s Shape, from Arrays, o Options) uintptr {
	if s.check(c) != status.OK || o.check(c) != status.OK || checkArrays(c, &s, &from) != status.OK {
		return 0
	}
	return build(c, &s, o, source{at: from.Offsets, isOffset: true, dtype: uint8(s.Index)}, &from)
}

// build makes the matrix block by block; with arrays it copies them.
func build(c *object.Context, s *Shape, o Options, from source, arrays *Arrays) uintptr {
	lines, _ := s.lines()
	p := planner{from: from, options: o, lines: uint64(lines), value: sizeOf(uint8(s.Value)),
		index: sizeOf(uint8(s.Index))}
	nonzeros, blocks, st := p.survey(c, s)
	if st != status.OK {
		return 0
	}
	e := room(c, blocks)
	if e.Object == 0 {
		return 0
	}
	h := describe(e.Object, s, nonzeros, blocks, 0)
	table := object.SparseParts(e.Object, h)
	for i := range table {
		if !p.fill(c, h, table, i, arrays) {
			abandon(c, e, table[:i])
			return 0
		}
	}
	return finish(c, e, h)
}

// fill makes block i of a table and copies into it.
func (p *planner) fill(c *object.Context, h *layout.SparseHeader, table []layout.SparsePart, i int,
	arrays *Arrays) bool {
	line, element := p.next, uint64(0)
	if i > 0 {
		element = table[i-1].FirstElement + p.cut
	}
	if !p.advance() || i == len(table)-1 && (p.next != p.lines || element+p.cut != h.Nonzeros) {
		tensor.Refuse(c, status.InvalidArgument, "the lengths of the lines were changed during the call")
		return false
	}
	where := p.bytes()
	holder := tensor.NewBlock(c, where.total)
	if holder == 0 {
		return false
	}
	data := tensor.DataOf(holder)
	table[i] = layout.SparsePart{
		FirstLine: line, FirstElement: element, Bytes: c.SlotBytes(holder), Holder: holder,
		Values: data, Indices: data + uintptr(where.indices), Offsets: data + uintptr(where.offsets),
	}
	if p.index == 4 {
		writeOffsets[int32](p, table[i].Offsets, line)
	} else {
		writeOffsets[int64](p, table[i].Offsets, line)
	}
	if arrays != nil {
		tensor.CopyBytes(table[i].Values, arrays.Values+uintptr(element*p.value), uintptr(p.cut*p.value))
		tensor.CopyBytes(table[i].Indices, arrays.Indices+uintptr(element*p.index), uintptr(p.cut*p.index))
		if checkIndices(c, h, &table[i], p.cutLines, p.cut) != status.OK {
			c.DropReference(holder)
			return false
		}
	}
	return true
}

// writeOffsets writes the offsets of the block that was cut last.
func writeOffsets[I index](p *planner, to uintptr, line uint64) {
	offsets := layout.Slice[I](to, p.cutLines+1)
	sum := I(0)
	for k := range p.cutLines {
		offsets[k] = sum
		sum += I(p.from.length(line + k))
	}
	offsets[p.cutLines] = sum
}

// Borrowed is what Wrap is lent beside arrays.
type Borrowed struct {
	ReadOnly         bool
	Deleter, Context uintptr // Deleter(values, Context) ends all of it; 0: nothing does
}

// Wrap returns a matrix of one block over a caller's arrays. On failure they stay
// the caller's.
func Wrap(c *object.Context, s Shape, from Arrays, borrowed Borrowed) uintptr {
	if s.check(c) != status.OK || checkArrays(c, &s, &from) != status.OK {
		return 0
	}
	if st := checkAligned(c, &s, &from); st != status.OK {
		return 0
	}
	lines, _ := s.lines()
	p := planner{from: source{at: from.Offsets, isOffset: true, dtype: uint8(s.Index)}, lines: uint64(lines)}
	if _, st := p.sum(c, &s); st != status.OK {
		return 0
	}
	e := room(c, 1)
	if e.Object == 0 {
		return 0
	}
	flags := uint32(FlagLent)
	if borrowed.ReadOnly {
		flags |= FlagReadOnly
	}
	n := uint64(from.Nonzeros)
	h := describe(e.Object, &s, n, 1, flags)
	b := layout.SparsePart{Values: from.Values, Indices: from.Indices, Offsets: from.Offsets}
	b.Bytes = n*(sizeOf(h.ValueDtype)+sizeOf(h.IndexDtype)) + (h.Lines+1)*sizeOf(h.IndexDtype)
	if checkIndices(c, h, &b, h.Lines, n) == status.OK {
		b.Holder = tensor.LendBlock(c, from.Values, n*sizeOf(h.ValueDtype), borrowed.ReadOnly, borrowed.Deleter,
			borrowed.Context)
	}
	if b.Holder == 0 {
		abandon(c, e, nil)
		return 0
	}
	object.SparseParts(e.Object, h)[0] = b
	return finish(c, e, h)
}

// widestAligned is the alignment that C wants of the largest values, complex ones of two doubles.
const widestAligned = 8

// checkAligned refuses arrays that emitted code could not read in place.
func checkAligned(c *object.Context, s *Shape, from *Arrays) status.Status {
	index := uintptr(sizeOf(uint8(s.Index)))
	value := min(uintptr(sizeOf(uint8(s.Value))), widestAligned)
	if from.Offsets%index == 0 && (from.Nonzeros == 0 || from.Values%value == 0 && from.Indices%index == 0) {
		return status.OK
	}
	return tensor.Refuse(c, status.InvalidArgument,
		"values at %#x, indices at %#x and offsets at %#x are not all aligned to their %d and %d bytes; "+
			"tl_sparse_from_csr copies them",
		from.Values, from.Indices, from.Offsets, value, index)
}

// Info.Flags, the same numbers as those of tensors.
const (
	FlagLent     = layout.TensorExternal
	FlagReadOnly = layout.TensorReadOnly
)

// checkArrays looks at what can be seen of arrays without reading all of them.
func checkArrays(c *object.Context, s *Shape, from *Arrays) status.Status {
	lines, _ := s.lines()
	switch {
	case from.Nonzeros < 0:
		return tensor.Refuse(c, status.InvalidArgument, "%d nonzeros are less than none", from.Nonzeros)
	case from.Offsets < layout.LowestAddress:
		return tensor.Refuse(c, status.InvalidArgument, "offsets is NULL; a matrix of no lines has the one offset 0")
	case from.Nonzeros > 0 && (from.Values < layout.LowestAddress || from.Indices < layout.LowestAddress):
		return tensor.Refuse(c, status.InvalidArgument, "values or indices is NULL for %d nonzeros", from.Nonzeros)
	}
	if st := s.checkNonzeros(c, uint64(from.Nonzeros)); st != status.OK {
		return st
	}
	first, last := offset(from.Offsets, uint8(s.Index), 0), offset(from.Offsets, uint8(s.Index), uint64(lines))
	if first != 0 || last != from.Nonzeros {
		return tensor.Refuse(c, status.InvalidArgument,
			"the offsets go from %d to %d; they have to go from 0 to %d, the nonzeros",
			first, last, from.Nonzeros)
	}
	return status.OK
}
