package tensor

import (
	"fmt"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// fail records an error whose text is made on the spot.
func fail(c *object.Context, st status.Status, format string, args ...any) status.Status {
	text := st.String() + ": " + fmt.Sprintf(format, args...)
	if name := status.Function(c.FunctionId); name != "" {
		text = name + ": " + text
	}
	c.SetMessage(st, text)
	return st
}

// viewOf makes a view of a tensor, registered in the current scope, that change
// has the last word about.
func viewOf(c *object.Context, p uintptr, change func(*view) refusal) uintptr {
	if p == 0 {
		return c.Null()
	}
	e, st := c.FindTensor(p)
	if st != status.OK {
		return 0
	}
	if e.Object == 0 {
		fail(c, status.Unsupported, "%#x stands in a slot of a frame, which ends without asking who shares it; "+
			"clone it, or have the view first", p)
		return 0
	}
	h := header(p)
	v := view{spec: spec{dtype: ElementType(h.Dtype), rank: int(h.Rank), shape: h.Shape, strides: h.Strides,
		numel: h.Numel, nbytes: h.Nbytes}}
	if no := change(&v); no != granted {
		fail(c, no.status, "%s", no.text)
		return 0
	}
	return share(c, p, &v)
}

// share makes the view v of the tensor at p. What it holds a reference to is the
// tensor that has the memory, never another view: a view of a view of a view
// keeps one object alive, and the views between may go.
func share(c *object.Context, p uintptr, v *view) uintptr {
	if !c.HasRoom() {
		return 0
	}
	h := header(p)
	base, readOnly := p, h.Flags&layout.TensorReadOnly
	if h.Flags&layout.TensorView != 0 {
		base = h.Base
	}
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		return 0
	}
	if _, st := c.FindTensor(base); st != status.OK || c.Acquire(base) != status.OK {
		c.Recycle(e)
		return 0
	}
	flags := layout.TensorView | readOnly
	if v.contiguous() {
		flags |= layout.TensorContiguous
	}
	to := v.describe(e.Object, flags)
	to.Data = h.Data + uintptr(v.offset)*uintptr(v.dtype.Size())
	to.Device, to.Base = h.Device, base
	c.Revive(e, false)
	c.Push(e)
	return e.Object
}

// numbers copies n numbers of the caller's; nil when there is no array at p.
func numbers(c *object.Context, n int64, p uintptr, what string) ([]int64, bool) {
	if n < 0 || n > layout.MaxRank {
		c.Fail(status.InvalidArgument, object.TextRank, 0, uint64(n), layout.MaxRank)
		return nil, false
	}
	if n > 0 && p < lowest {
		nullArray(c, what)
		return nil, false
	}
	values := make([]int64, n)
	for i := range values {
		values[i] = load(p + uintptr(i)*8)
	}
	return values, true
}

// shaped is viewOf for a change that takes numbers of the caller's.
func shaped(c *object.Context, p uintptr, n int64, at uintptr, what string, change func(*view, []int64) refusal) uintptr {
	if p == 0 {
		return c.Null()
	}
	values, ok := numbers(c, n, at, what)
	if !ok {
		return 0
	}
	return viewOf(c, p, func(v *view) refusal { return change(v, values) })
}

// Reshape returns a view of another shape.
func Reshape(c *object.Context, p uintptr, rank int64, shape uintptr) uintptr {
	return shaped(c, p, rank, shape, "shape", (*view).reshape)
}

// BroadcastTo returns a view in which axes of one element are repeated.
func BroadcastTo(c *object.Context, p uintptr, rank int64, shape uintptr) uintptr {
	return shaped(c, p, rank, shape, "shape", (*view).broadcast)
}

// Permute returns a view with the axes in another order.
func Permute(c *object.Context, p uintptr, rank int64, axes uintptr) uintptr {
	return shaped(c, p, rank, axes, "axes", (*view).permute)
}

// Transpose returns a view with two axes swapped.
func Transpose(c *object.Context, p uintptr, a, b int64) uintptr {
	return viewOf(c, p, func(v *view) refusal { return v.transpose(a, b) })
}

// Slice returns a view of some of the elements of an axis.
func Slice(c *object.Context, p uintptr, axis, start, stop, step int64) uintptr {
	return viewOf(c, p, func(v *view) refusal { return v.slice(axis, start, stop, step) })
}

// Squeeze returns a view without an axis of one element.
func Squeeze(c *object.Context, p uintptr, axis int64) uintptr {
	return viewOf(c, p, func(v *view) refusal { return v.squeeze(axis) })
}

// ExpandDims returns a view with one more axis, of one element.
func ExpandDims(c *object.Context, p uintptr, axis int64) uintptr {
	return viewOf(c, p, func(v *view) refusal { return v.expand(axis) })
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
