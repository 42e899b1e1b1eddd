package tensor

import (
	"math"
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// maxBlock is up to where an array's memory is a plain block; above it is the
// data of a tensor of bytes, because the pool keeps those.
const maxBlock = 64 << 10

// AllocArray returns memory for count elements of an array library's, held by the
// caller; zeros when clean. cshim/python_numpy.c is the fast half.
func AllocArray(c *object.Context, count, each uintptr, clean bool) uintptr {
	high, product := bits.Mul64(uint64(count), uint64(each))
	n := max(product, 1)
	if high != 0 || n > math.MaxInt64/2 {
		c.Failf(status.OutOfMemory, "%d times %d bytes are more than there can be", count, each)
		return 0
	}
	p, zero := allocArray(c, n)
	if p != 0 && clean && !zero {
		clear(layout.Bytes(p, n))
	}
	return p
}

func allocArray(c *object.Context, n uint64) (p uintptr, zero bool) {
	if n <= maxBlock {
		return c.AllocHeld(uintptr(n))
	}
	s := spec{dtype: U8, rank: 1, numel: n, nbytes: n}
	s.shape[0], s.strides[0] = int64(n), 1
	e, zero := obtain(c, &s, false) // on the CPU
	if e.Object == 0 {
		return 0, false
	}
	return e.Object + layout.TensorHeaderBytes, zero
}

// arrayAt returns the live object that has the block at p, and the block's bytes; false,
// with the error recorded, when none does.
func arrayAt(c *object.Context, p uintptr) (object uintptr, bytes uint64, ok bool) {
	const behind = layout.TensorHeaderBytes // in the slot of a tensor, or of one that was freed
	if typ, room, there := c.SlotAt(p); there {
		object, bytes, ok = p, room, typ == layout.TypePlain
	} else if typ, room, there := c.SlotAt(p - behind); there && room > behind {
		object, bytes = p-behind, min(header(p-behind).Nbytes, room-behind)
		ok = typ == layout.TypeTensor && header(object).Data == p || !c.IsLive(object)
	}
	if !ok {
		c.FailOurs(p)
	}
	return object, bytes, ok && c.Check(object) == status.OK
}

// FreeArray drops the reference to a block of AllocArray's. p is memory of the runtime's.
func FreeArray(c *object.Context, p uintptr) {
	if object, _, ok := arrayAt(c, p); ok {
		c.Release(object)
	}
}

// ReallocArray changes the size of a block of AllocArray's. One that is large enough, and
// not twice as large, stays where it is; under TL_DEBUG none, for the sake of its red zone.
func ReallocArray(c *object.Context, p, bytes uintptr) uintptr {
	object, had, ok := arrayAt(c, p)
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
		c.Release(object)
	}
	return moved
}
