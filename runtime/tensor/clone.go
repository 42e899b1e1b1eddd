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
	e, ok := copyOf(c, p, header(p).Device, false)
	if ok {
		c.Push(e)
	}
	return e.Object
}

// copyOf makes a contiguous copy of a tensor that was looked up, on a device, with one
// reference for the caller.
func copyOf(c *object.Context, p uintptr, device uint8, floating bool) (layout.Entry, bool) {
	h := header(p)
	s := specOf(h, device)
	if s.compact(c) != status.OK {
		return layout.Entry{}, false
	}
	e, _ := obtain(c, &s, floating)
	if e.Object == 0 {
		return e, false
	}
	if transfer(c, header(e.Object), h) != status.OK {
		c.DropReference(e.Object)
		return layout.Entry{}, false
	}
	return e, true
}
