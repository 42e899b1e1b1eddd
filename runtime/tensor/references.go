package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// onTensor answers a call about one tensor: NULL and a tensor in a slot, which
// its frame owns, need nothing.
func onTensor(c *object.Context, p uintptr, onHeap func(layout.Entry) status.Status) status.Status {
	if p == 0 {
		return status.OK
	}
	e, st := c.FindTensor(p)
	if st != status.OK || e.Object == 0 {
		return st
	}
	return onHeap(e)
}

// Acquire adds a reference.
func Acquire(c *object.Context, p uintptr) status.Status {
	return onTensor(c, p, func(layout.Entry) status.Status { return c.Acquire(p) })
}

// Release drops a reference; the last one gives the memory to the pool or calls
// the deleter.
func Release(c *object.Context, p uintptr) status.Status {
	return onTensor(c, p, func(layout.Entry) status.Status { return c.Release(p) })
}

// Register sinks a floating reference into the current scope, or acquires one.
func Register(c *object.Context, p uintptr) status.Status {
	return onTensor(c, p, func(layout.Entry) status.Status { return c.RegisterKnown(p) })
}

// Promote makes the newest reference that a scope of this function holds
// floating. A tensor in a slot cannot be promoted.
func Promote(c *object.Context, p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	if _, st := c.FindTensor(p); st != status.OK {
		return st
	}
	return c.Unregister(p)
}

// PrepareReturn returns the tensor that a function may return in place of p: p
// itself, promoted where a scope holds it, or a floating copy of one in a slot.
func PrepareReturn(c *object.Context, p uintptr) uintptr {
	if p == 0 {
		return c.Null()
	}
	e, st := c.FindTensor(p)
	switch {
	case st != status.OK:
	case e.Object == 0:
		copied, _ := copyOf(c, p, CPU, true)
		return copied.Object
	default:
		c.HandOut(p)
	}
	return p
}

// Free takes the newest entry that a scope of this function has for a tensor with
// it and drops the reference.
func Free(c *object.Context, p uintptr) status.Status {
	return onTensor(c, p, func(e layout.Entry) status.Status {
		c.TakeOut(e)
		return c.Release(p)
	})
}
