package tensor

import (
	"fmt"
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// view is what a view is to be: a shape and strides over memory that a tensor
// has, and where in it the first element lies. Its methods are arithmetic only;
// each leaves it as it was when it returns a refusal.
//
//	element (i, j, ...) = data + (offset + i*strides[0] + j*strides[1] + ...) * size
//
// Every element lies in the tensor's memory because every one of them is an
// element of the tensor that the view starts from. Nothing overflows: an axis of
// more than one element has |stride| * (extent - 1) * size <= addressSpace, and
// the strides of other axes, which may be anything, are not multiplied.
type view struct {
	spec
	offset int64 // in elements
}

// refusal says why there is no such view; "" that there is one.
type refusal struct {
	status status.Status
	text   string
}

var granted = refusal{}

func invalid(format string, args ...any) refusal {
	return refusal{status.InvalidArgument, fmt.Sprintf(format, args...)}
}

// axis returns which axis is meant; negative ones count from the last.
func (v *view) axis(a int64) (int, refusal) {
	rank := int64(v.rank)
	if a < -rank || a >= rank {
		return 0, invalid("there is no axis %d in a tensor of %d dimensions", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return int(a), granted
}

// slice keeps the elements start, start+step, ... before stop of one axis, by
// Python's rules: negative positions count from the end, and what lies beyond
// either end is cut off.
func (v *view) slice(a, start, stop, step int64) refusal {
	i, no := v.axis(a)
	if no != granted {
		return no
	}
	if step == 0 {
		return invalid("a slice cannot go on by 0 elements")
	}
	d := v.shape[i]
	first, last := clampSlice(start, d, step), clampSlice(stop, d, step)
	n := countSteps(first, last, step)
	v.shape[i] = n
	if n > 0 {
		v.offset += first * v.strides[i]
	}
	if n > 1 {
		v.strides[i] *= step
	}
	v.count()
	return granted
}

// sliceAxes takes parts of the first axes; a step of 0 takes one element and leaves its axis out.
func (v *view) sliceAxes(starts, stops, steps []int64) refusal {
	if len(starts) > v.rank {
		return invalid("%d axes are given for a tensor of %d dimensions", len(starts), v.rank)
	}
	part := *v
	for i := len(starts) - 1; i >= 0; i-- {
		no := granted
		if steps[i] == 0 {
			no = part.pick(i, starts[i])
		} else {
			no = part.slice(int64(i), starts[i], stops[i], steps[i])
		}
		if no != granted {
			return no
		}
	}
	*v = part
	v.count()
	return granted
}

// pick keeps one element of an axis, without the axis.
func (v *view) pick(i int, at int64) refusal {
	d := v.shape[i]
	if at < -d || at >= d {
		return invalid("there is no element %d in axis %d, which has %d", at, i, d)
	}
	if at < 0 {
		at += d
	}
	v.offset += at * v.strides[i]
	v.remove(i)
	return granted
}

// remove leaves an axis out.
func (v *view) remove(i int) {
	copy(v.shape[i:], v.shape[i+1:v.rank])
	copy(v.strides[i:], v.strides[i+1:v.rank])
	v.rank--
}

// clampSlice turns a position of a slice into one between 0 and the extent, or,
// for a slice that runs backwards, between -1 and the extent - 1.
func clampSlice(position, extent, step int64) int64 {
	low, high := int64(0), extent
	if step < 0 {
		low, high = -1, extent-1
	}
	if position < 0 {
		position = max(position+extent, low)
	}
	return min(max(position, low), high)
}

// countSteps returns how many elements first, first+step, ... come before last.
func countSteps(first, last, step int64) int64 {
	distance, pace := uint64(last-first), uint64(step)
	if step < 0 {
		distance, pace = uint64(first-last), -pace
	}
	if int64(distance) <= 0 {
		return 0
	}
	return int64((distance-1)/pace) + 1
}

// count computes the number of elements again. The shape is part of one of a tensor that
// exists, or was checked, so nothing overflows.
func (v *view) count() {
	v.numel = 1
	for _, d := range v.dimensions() {
		v.numel *= uint64(d)
	}
	v.nbytes = v.numel * v.dtype.Size()
}

// transpose swaps two axes.
func (v *view) transpose(a, b int64) refusal {
	i, no := v.axis(a)
	if no != granted {
		return no
	}
	j, no := v.axis(b)
	if no != granted {
		return no
	}
	v.shape[i], v.shape[j] = v.shape[j], v.shape[i]
	v.strides[i], v.strides[j] = v.strides[j], v.strides[i]
	return granted
}

// permute puts the axes into another order.
func (v *view) permute(axes []int64) refusal {
	if len(axes) != v.rank {
		return invalid("%d axes are given for a tensor of %d dimensions", len(axes), v.rank)
	}
	old, seen := *v, [layout.MaxRank]bool{}
	for to, a := range axes {
		from, no := old.axis(a)
		if no == granted && seen[from] {
			no = invalid("axis %d is given twice", a)
		}
		if no != granted {
			*v = old
			return no
		}
		seen[from] = true
		v.shape[to], v.strides[to] = old.shape[from], old.strides[from]
	}
	return granted
}

// squeeze removes an axis of one element.
func (v *view) squeeze(a int64) refusal {
	i, no := v.axis(a)
	if no != granted {
		return no
	}
	if v.shape[i] != 1 {
		return invalid("axis %d has %d elements; only one of 1 can be left out", a, v.shape[i])
	}
	v.remove(i)
	return granted
}

// expand adds an axis of one element in front of axis a of the result's axes.
func (v *view) expand(a int64) refusal {
	if v.rank == layout.MaxRank {
		return invalid("the tensor has %d dimensions, as many as there can be", v.rank)
	}
	v.rank++
	i, no := v.axis(a)
	if no != granted {
		v.rank--
		return no
	}
	copy(v.shape[i+1:v.rank], v.shape[i:])
	copy(v.strides[i+1:v.rank], v.strides[i:])
	v.shape[i], v.strides[i] = 1, 1
	return granted
}

// keptExtent is an extent that the caller leaves to the runtime.
const keptExtent = -1

// broadcast repeats axes of one element, and the whole in new leading axes,
// without memory: their stride is 0. An extent of -1 is that of the tensor.
func (v *view) broadcast(shape []int64) refusal {
	lead := len(shape) - v.rank
	if lead < 0 || len(shape) > layout.MaxRank {
		return invalid("a tensor of %d dimensions cannot be broadcast to %d", v.rank, len(shape))
	}
	wide := view{spec: spec{dtype: v.dtype, rank: len(shape)}, offset: v.offset}
	for i, d := range shape {
		from := i - lead
		if d == keptExtent && from >= 0 {
			d = v.shape[from]
		}
		wide.shape[i] = d
		switch {
		case from < 0: // repeated: stride 0
		case d == v.shape[from]:
			wide.strides[i] = v.strides[from]
		case v.shape[from] != 1:
			return invalid("axis %d has %d elements and cannot be broadcast to %d", from, v.shape[from], d)
		}
	}
	strides := wide.strides
	if axis, ok := wide.compact(); !ok {
		return invalid("extent %d of axis %d is negative, or the product of the shape overflows", shape[axis], axis)
	}
	wide.strides = strides
	*v = wide
	return granted
}

// reshape gives the same elements, in row-major order, another shape. One extent
// may be -1: what the others leave.
func (v *view) reshape(shape []int64) refusal {
	if len(shape) > layout.MaxRank {
		return invalid("rank %d is not between 0 and %d", len(shape), layout.MaxRank)
	}
	to := view{spec: spec{dtype: v.dtype, rank: len(shape)}, offset: v.offset}
	copy(to.shape[:], shape)
	if no := to.infer(v.numel); no != granted {
		return no
	}
	if axis, ok := to.compact(); !ok {
		return invalid("extent %d of axis %d is negative, or the product of the shape overflows", shape[axis], axis)
	}
	if to.numel != v.numel {
		return invalid("%d elements cannot take a shape of %d", v.numel, to.numel)
	}
	if !v.contiguous() && !to.follow(v) {
		return refusal{status.Unsupported,
			"the elements do not lie so that strides could give them this shape; clone the tensor first"}
	}
	*v = to
	return granted
}

// infer replaces the one extent of -1.
func (v *view) infer(numel uint64) refusal {
	unknown, known := -1, uint64(1)
	for i, d := range v.dimensions() {
		switch {
		case d == keptExtent && unknown >= 0:
			return invalid("axes %d and %d are both -1; only one extent can be left open", unknown, i)
		case d == keptExtent:
			unknown = i
		case d >= 0:
			high, product := bits.Mul64(known, uint64(d))
			if high != 0 {
				return invalid("extent %d of axis %d: the product of the shape overflows", d, i)
			}
			known = product
		}
	}
	if unknown < 0 {
		return granted
	}
	if known == 0 || numel%known != 0 {
		return invalid("%d elements cannot be divided among %d", numel, known)
	}
	v.shape[unknown] = int64(numel / known)
	return granted
}

// follow finds strides that visit the elements in the order of from, which has
// elements; false when there are none. Neighbouring axes of from that are steps of
// one regular walk are one run, and each run has to be divided among axes of its
// own, last ones first.
func (v *view) follow(from *view) bool {
	next := from.rank - 1
	left, stride := from.run(&next)
	for i := v.rank - 1; i >= 0; i-- {
		d := v.shape[i]
		if d != 1 && left == 1 {
			left, stride = from.run(&next)
		}
		if left%d != 0 {
			return false
		}
		v.strides[i] = stride
		if d != 1 {
			left /= d
			stride *= d
		}
	}
	return true
}

// run returns length and stride of the run that ends with axis *last, and moves
// *last in front of it. Axes of one element belong to any run.
func (v *view) run(last *int) (length, stride int64) {
	length = 1
	for ; *last >= 0; *last-- {
		d, s := v.shape[*last], v.strides[*last]
		switch {
		case d == 1:
		case length == 1:
			length, stride = d, s
		case s == length*stride:
			length *= d
		default:
			return length, stride
		}
	}
	return length, stride
}
