package tensor

import (
	"math"
	"math/bits"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// AllocArray returns memory for count elements of an array library's, held by the
// caller; zeros when clean. cshim/python/numpy.c is the fast half.
func AllocArray(c *object.Context, count, each uintptr, clean bool) uintptr {
	high, product := bits.Mul64(uint64(count), uint64(each))
	n := max(product, 1)
	if high != 0 || n > math.MaxInt64/2 {
		c.Failf(status.OutOfMemory, "%d times %d bytes are more than there can be", count, each)
		return 0
	}
	p, zero := c.AllocHeld(uintptr(n))
	if p != 0 && clean && !zero {
		core.Clear(p, n)
	}
	return p
}

// arrayAt returns the bytes of the block of a live object at p; false, with the error recorded, when none is there.
func arrayAt(c *object.Context, p uintptr) (bytes uint64, ok bool) {
	typ, bytes, ok := c.SlotAt(p)
	if !ok || typ != layout.TypePlain {
		c.FailOurs(p)
		return 0, false
	}
	return bytes, c.Check(p) == status.OK
}

// FreeArray drops the reference to a block of AllocArray's. p is memory of the runtime's.
func FreeArray(c *object.Context, p uintptr) {
	if _, ok := arrayAt(c, p); ok {
		c.Release(p)
	}
}

// ReallocArray changes the size of a block of AllocArray's. One that is large enough, and
// not twice as large, stays where it is; under TL_DEBUG none, for the sake of its red zone.
func ReallocArray(c *object.Context, p, bytes uintptr) uintptr {
	had, ok := arrayAt(c, p)
	if !ok {
		return 0
	}
	wanted := uint64(max(bytes, 1))
	if wanted <= had && wanted > had/2 && !c.Guards() {
		return p
	}
	moved := AllocArray(c, 1, bytes, false)
	if moved != 0 {
		copyMemory(moved, p, uintptr(min(had, wanted)))
		c.Release(p)
	}
	return moved
}
