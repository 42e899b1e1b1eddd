package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// What package sparse makes of tensors: the memory of its blocks, views of parts of
// it, and the vectors that a matrix is converted to.

// Refuse records an error whose text is made on the spot.
func Refuse(c *object.Context, st status.Status, format string, args ...any) status.Status {
	return c.Failf(st, format, args...)
}

// CopyBytes copies n bytes from memory of a caller's.
func CopyBytes(to, from, n uintptr) { copyMemory(to, from, n) }

func vector(dtype ElementType, n uint64) spec {
	s := spec{dtype: dtype, rank: 1, numel: n, nbytes: n * dtype.Size()}
	s.shape[0], s.strides[0] = int64(n), 1
	return s
}

// BlockHeaderBytes is what a block's tensor needs beside its bytes.
const BlockHeaderBytes = layout.TensorHeaderBytes

// NewBlock returns a tensor of n bytes that the caller holds and no scope has. The
// pool never keeps one: blocks come in as many sizes as there are matrices.
func NewBlock(c *object.Context, n uint64) uintptr {
	s := vector(U8, n)
	e, _ := c.TakeTensor(uintptr(s.total()))
	if e.Object == 0 {
		return 0
	}
	c.GuardTensor(e, layout.TensorHeaderBytes+n)
	s.describe(e.Object, layout.TensorContiguous|layout.TensorBlock)
	c.Revive(e, false)
	return e.Object
}

// LendBlock returns a tensor over n bytes of a caller's memory, which
// deleter(data, context) ends. The caller holds it and no scope has it.
func LendBlock(c *object.Context, data uintptr, n uint64, readOnly bool, deleter, context uintptr) uintptr {
	s := vector(U8, n)
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		return 0
	}
	flags := uint32(layout.TensorContiguous | layout.TensorExternal | layout.TensorBlock)
	if readOnly {
		flags |= layout.TensorReadOnly
	}
	h := s.describe(e.Object, flags)
	h.Data, h.Deleter, h.DeleterContext = data, deleter, context
	c.Revive(e, false)
	return e.Object
}

// ViewBlock returns a tensor of n elements at data, registered in the current
// scope, that holds the block which has them.
func ViewBlock(c *object.Context, block, data uintptr, dtype ElementType, n uint64) uintptr {
	if !c.HasRoom() {
		return 0
	}
	if _, st := c.FindTensor(block); st != status.OK {
		return 0
	}
	h := header(block)
	v := vector(dtype, n)
	v.device = h.Device
	to := v.head(layout.TensorView | layout.TensorContiguous | h.Flags&layout.TensorReadOnly)
	to.Data, to.Base = data, block
	return over(c, &to)
}

// Vector returns a tensor of n undefined elements, registered in the current scope.
func Vector(c *object.Context, dtype ElementType, n uint64) uintptr {
	s := vector(dtype, n)
	p, _ := register(c, &s)
	return p
}

// DataOf returns where the elements of a tensor of this package's making begin.
func DataOf(p uintptr) uintptr { return header(p).Data }
