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
// caller; zeros when clean. cshim/python.c is the fast half.
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
