package sparse

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

type index interface{ int32 | int64 }

// chunk bounds how long a scan keeps the collector waiting, in elements.
const chunk = 1 << 17

// ascends reports whether n indices ascend from above prev, which is -1 or one of
// them. Without a branch for each: every distance to the next has to be negative,
// and so has every complement, because 64-bit distances may overflow.
//
//go:nosplit
//go:noinline
func ascends[I index](at uintptr, n uint64, prev int64) bool {
	signs := int64(-1)
	all := unsafe.Slice(layout.At[I](at), n)
	for ; len(all) >= 4; all = all[4:] {
		a, b, c, d := int64(all[0]), int64(all[1]), int64(all[2]), int64(all[3])
		signs &= (prev - a) & (a - b) & (b - c) & (c - d) & ^(a | b | c | d)
		prev = d
	}
	for _, x := range all {
		signs &= (prev - int64(x)) & ^int64(x)
		prev = int64(x)
	}
	return signs < 0
}

// descent returns the position of the first of n indices that is not above the one
// before it; there is one, unless somebody writes.
//
//go:nosplit
//go:noinline
func descent[I index](at uintptr, n uint64, prev int64) uint64 {
	for i, x := range unsafe.Slice(layout.At[I](at), n) {
		if int64(x) <= prev {
			return uint64(i)
		}
		prev = int64(x)
	}
	return n
}

// firstFault returns the position of the first index of a line that is out of
// order or range, n when there is none.
func firstFault[I index](at uintptr, n, minor uint64) uint64 {
	prev := int64(-1)
	for done := uint64(0); done < n; done += chunk {
		part := min(n-done, chunk)
		from := at + uintptr(done)*unsafe.Sizeof(I(0))
		if !ascends[I](from, part, prev) {
			k := done + descent[I](from, part, prev)
			return min(k, below[I](at, k, minor))
		}
		prev = int64(load[I](from + uintptr(part-1)*unsafe.Sizeof(I(0))))
	}
	if uint64(prev+1) <= minor {
		return n
	}
	return below[I](at, n, minor)
}

// below returns how many of n ascending indices are below minor.
func below[I index](at uintptr, n, minor uint64) uint64 {
	low, high := uint64(0), n
	for low < high {
		middle := low + (high-low+1)/2
		if uint64(load[I](at+uintptr(middle-1)*unsafe.Sizeof(I(0)))) < minor {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// checkIndices holds the indices of a part's lines to order and range, and their
// offsets to the elements of the part.
func checkIndices(c *object.Context, h *layout.SparseHeader, b *layout.SparsePart, lines,
	elements uint64) status.Status {
	if h.IndexDtype == uint8(tensor.I32) {
		return checkBlock[int32](c, h, b, lines, elements)
	}
	return checkBlock[int64](c, h, b, lines, elements)
}

func checkBlock[I index](c *object.Context, h *layout.SparseHeader, b *layout.SparsePart, lines,
	elements uint64) status.Status {
	size := unsafe.Sizeof(I(0))
	first, end := int64(b.Begin), int64(b.Begin+elements)
	low := int64(load[I](b.Offsets))
	if low != first {
		return refuseEnds(c, h, b, low, int64(load[I](b.Offsets+uintptr(lines)*size)), elements)
	}
	for k := range lines {
		high := int64(load[I](b.Offsets + uintptr(k+1)*size))
		if high < low || high > end {
			return tensor.Refuse(c, status.InvalidArgument,
				"%s %d begins at offset %d and ends at %d in a block of %d nonzeros",
				lineName(h.Format), b.FirstLine+k, low, high, elements)
		}
		n := uint64(high - low)
		at := b.Indices + uintptr(low)*size
		if bad := firstFault[I](at, n, h.Minor); bad < n {
			return refuseIndex[I](c, h, b.FirstLine+k, at, bad)
		}
		low = high
	}
	if low != end {
		return refuseEnds(c, h, b, first, low, elements)
	}
	return status.OK
}

// refuseEnds tells of offsets whose first or last are not those that were checked.
func refuseEnds(c *object.Context, h *layout.SparseHeader, b *layout.SparsePart, low, high int64,
	elements uint64) status.Status {
	return tensor.Refuse(c, status.InvalidArgument,
		"the offsets of the block of %s %d were changed: they go from %d to %d, and went from %d to %d",
		lineName(h.Format), b.FirstLine, low, high, b.Begin, b.Begin+elements)
}

// refuseIndex says what is wrong with the index at a position of a line.
func refuseIndex[I index](c *object.Context, h *layout.SparseHeader, line uint64, at uintptr,
	position uint64) status.Status {
	size := unsafe.Sizeof(I(0))
	found := int64(load[I](at + uintptr(position)*size))
	name := lineName(h.Format)
	if found < 0 || uint64(found) >= h.Minor {
		return tensor.Refuse(c, status.InvalidArgument,
			"%s %d has the index %d at position %d; indices are from 0 to below %d",
			name, line, found, position, h.Minor)
	}
	before := int64(load[I](at + uintptr(position-1)*size))
	if before == found {
		return tensor.Refuse(c, status.InvalidArgument, "%s %d has the index %d twice, at positions %d and %d",
			name, line, found, position-1, position)
	}
	return tensor.Refuse(c, status.InvalidArgument, "%s %d has the index %d after %d at position %d; indices ascend",
		name, line, found, before, position)
}

// Validate holds every line to order and range.
func Validate(c *object.Context, p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	h, blocks, st := at(c, p)
	for i := 0; st == status.OK && i < len(blocks); i++ {
		st = checkIndices(c, h, &blocks[i], lineCount(h, blocks, i), elementCount(h, blocks, i))
	}
	return st
}
