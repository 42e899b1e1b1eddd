package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// Clone returns a contiguous copy, registered in the current scope.
func Clone(c *object.Context, p uintptr) uintptr {
	if p == 0 {
		return c.Null()
	}
	if _, st := c.FindTensor(p); st != status.OK || !c.HasRoom() {
		return 0
	}
	e, ok := copyOf(c, p, false)
	if ok {
		c.Push(e)
	}
	return e.Object
}

// copyOf makes a contiguous copy of a tensor that was looked up, with one
// reference for the caller.
func copyOf(c *object.Context, p uintptr, floating bool) (layout.Entry, bool) {
	h := header(p)
	s := specOf(h)
	e, _ := obtain(c, &s, floating)
	if e.Object == 0 {
		return e, false
	}
	to := e.Object + layout.TensorHeaderBytes
	switch {
	case s.numel == 0:
	case h.Flags&layout.TensorContiguous != 0:
		copyMemory(to, h.Data, uintptr(s.nbytes))
	default:
		gather(to, h)
	}
	return e, true
}

// gather copies the elements of a tensor with gaps or permuted dimensions, a run
// of the last dimension at a time where that has none.
func gather(to uintptr, h *layout.TensorHeader) {
	size := uintptr(ElementType(h.Dtype).Size())
	last := int(h.Rank) - 1
	run, outer := size, last+1
	if h.Strides[last] == 1 {
		run, outer = size*uintptr(h.Shape[last]), last
	}
	var index [layout.MaxRank]int64
	from := h.Data
	for {
		copyMemory(to, from, run)
		to += run
		axis := outer - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			from += uintptr(h.Strides[axis]) * size
			if index[axis] < h.Shape[axis] {
				break
			}
			from -= uintptr(h.Strides[axis]*h.Shape[axis]) * size
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
