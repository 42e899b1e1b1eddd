package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// look returns how the elements of the tensor at p lie, for a view of it; false,
// and why, when it can have none. Here and below everything stays on the stack: a
// call of C's leaves no garbage.
func look(c *object.Context, p uintptr) (v view, ok bool) {
	if p == 0 {
		c.Null()
		return v, false
	}
	e, st := c.FindTensor(p)
	if st != status.OK {
		return v, false
	}
	if e.Object == 0 {
		c.Failf(status.Unsupported, "%#x stands in a slot of a frame, which ends without asking who shares it; "+
			"clone it, or have the view first", p)
		return v, false
	}
	h := header(p)
	if ElementType(h.Dtype).Size() == 0 || h.Rank > layout.MaxRank {
		c.Failf(status.InvalidArgument, "the header of the tensor at %#x was overwritten: element type %d, %d dimensions; "+
			"write to the tensor's data only", p, h.Dtype, h.Rank)
		return v, false
	}
	v.spec = spec{dtype: ElementType(h.Dtype), rank: int(h.Rank), shape: h.Shape, strides: h.Strides,
		numel: h.Numel, nbytes: h.Nbytes}
	return v, true
}

// lookWith is look, and copies n numbers that say what the view is to be. (A function
// that took what to do with them would cost every view garbage.)
func lookWith(c *object.Context, p uintptr, n int64, list uintptr, what string, kept *[layout.MaxRank]int64) (v view,
	to []int64, ok bool) {
	if v, ok = look(c, p); ok {
		to, ok = numbers(c, n, list, what, kept)
	}
	return v, to, ok
}

// show makes the view of the tensor at p, registered in the current scope, unless
// it was refused.
func show(c *object.Context, p uintptr, v *view, no refusal) uintptr {
	if no != granted {
		c.Failf(no.status, "%s", no.text)
		return 0
	}
	return share(c, p, v)
}

// share makes the view v of the tensor at p. What it holds a reference to is the
// tensor that has the memory, never another view: a view of a view of a view
// keeps one object alive, and the views between may go.
func share(c *object.Context, p uintptr, v *view) uintptr {
	if !c.HasRoom() {
		return 0
	}
	h := header(p)
	base := p
	if h.Flags&layout.TensorView != 0 {
		base = h.Base
	}
	return over(c, base, h.Data+uintptr(v.offset)*uintptr(v.dtype.Size()), v, h)
}

// over makes the view v of elements at data, which the tensor at base keeps alive.
// Device and whether it may be written are those of the tensor with header like.
func over(c *object.Context, base, data uintptr, v *view, like *layout.TensorHeader) uintptr {
	device, readOnly := like.Device, like.Flags&layout.TensorReadOnly
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		return 0
	}
	if found, st := c.FindTensor(base); st != status.OK || found.Object == 0 || !c.Hold(found) {
		c.Recycle(e)
		return 0
	}
	v.count() // what the header that v was read from says of it may be anything
	flags := layout.TensorView | readOnly
	if v.contiguous() {
		flags |= layout.TensorContiguous
	}
	to := v.describe(e.Object, flags)
	to.Data, to.Device, to.Base = data, device, base
	c.Revive(e, false)
	c.Push(e)
	return e.Object
}

// numbers copies n numbers of the caller's.
func numbers(c *object.Context, n int64, p uintptr, what string, to *[layout.MaxRank]int64) ([]int64, bool) {
	if n < 0 || n > layout.MaxRank {
		c.Fail(status.InvalidArgument, object.TextRank, 0, uint64(n), layout.MaxRank)
		return nil, false
	}
	if n > 0 && p < layout.LowestAddress {
		nullArray(c, what)
		return nil, false
	}
	for i := range to[:n] {
		to[i] = load(p + uintptr(i)*8)
	}
	return to[:n], true
}

// Reshape returns a view of another shape.
func Reshape(c *object.Context, p uintptr, rank int64, shape uintptr) uintptr {
	var kept [layout.MaxRank]int64
	v, to, ok := lookWith(c, p, rank, shape, "shape", &kept)
	if !ok {
		return 0
	}
	no := v.reshape(to)
	return show(c, p, &v, no)
}

// BroadcastTo returns a view in which axes of one element are repeated.
func BroadcastTo(c *object.Context, p uintptr, rank int64, shape uintptr) uintptr {
	var kept [layout.MaxRank]int64
	v, to, ok := lookWith(c, p, rank, shape, "shape", &kept)
	if !ok {
		return 0
	}
	no := v.broadcast(to)
	return show(c, p, &v, no)
}

// Permute returns a view with the axes in another order.
func Permute(c *object.Context, p uintptr, rank int64, axes uintptr) uintptr {
	var kept [layout.MaxRank]int64
	v, order, ok := lookWith(c, p, rank, axes, "axes", &kept)
	if !ok {
		return 0
	}
	no := v.permute(order)
	return show(c, p, &v, no)
}

// Transpose returns a view with two axes swapped.
func Transpose(c *object.Context, p uintptr, a, b int64) uintptr {
	v, ok := look(c, p)
	if !ok {
		return 0
	}
	no := v.transpose(a, b)
	return show(c, p, &v, no)
}

// Slice returns a view of some of the elements of an axis.
func Slice(c *object.Context, p uintptr, axis, start, stop, step int64) uintptr {
	v, ok := look(c, p)
	if !ok {
		return 0
	}
	no := v.slice(axis, start, stop, step)
	return show(c, p, &v, no)
}

// SliceAxes returns a view of parts of the first rank axes; without steps all are 1.
func SliceAxes(c *object.Context, p uintptr, rank int64, starts, stops, steps uintptr) uintptr {
	var kept [3][layout.MaxRank]int64
	v, from, ok := lookWith(c, p, rank, starts, "starts", &kept[0])
	if !ok {
		return 0
	}
	to, ok := numbers(c, rank, stops, "stops", &kept[1])
	if !ok {
		return 0
	}
	by := kept[2][:rank]
	for i := range by {
		by[i] = 1
	}
	if steps != 0 {
		if by, ok = numbers(c, rank, steps, "steps", &kept[2]); !ok {
			return 0
		}
	}
	no := v.sliceAxes(from, to, by)
	return show(c, p, &v, no)
}

// Squeeze returns a view without an axis of one element.
func Squeeze(c *object.Context, p uintptr, axis int64) uintptr {
	v, ok := look(c, p)
	if !ok {
		return 0
	}
	no := v.squeeze(axis)
	return show(c, p, &v, no)
}

// ExpandDims returns a view with one more axis, of one element.
func ExpandDims(c *object.Context, p uintptr, axis int64) uintptr {
	v, ok := look(c, p)
	if !ok {
		return 0
	}
	no := v.expand(axis)
	return show(c, p, &v, no)
}

// Base returns the tensor whose memory a view shares, NULL for one that is no view.
func Base(c *object.Context, p uintptr) uintptr {
	return address(c, p, func(h *layout.TensorHeader) uintptr {
		if h.Flags&layout.TensorView == 0 {
			return c.Null()
		}
		return h.Base
	})
}
