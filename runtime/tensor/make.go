package tensor

import (
	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// obtain returns a live contiguous tensor of the spec. Entry.Object 0: no memory, the error is recorded.
func obtain(c *object.Context, s *spec, floating bool) (e layout.Entry, zero bool) {
	if s.device != CPU {
		return obtainOn(c, s, floating), false
	}
	if e, zero = c.TakeTensor(uintptr(s.total())); e.Object == 0 {
		return e, false
	}
	c.GuardTensor(e, layout.TensorHeaderBytes+s.nbytes)
	s.describe(e.Object, layout.TensorContiguous)
	c.Revive(e, floating)
	return e, zero
}

// register makes a tensor of the spec, held by the current scope.
func register(c *object.Context, s *spec) (p uintptr, zero bool) {
	if !c.HasRoom() {
		return 0, false
	}
	e, zero := obtain(c, s, false)
	if e.Object != 0 {
		c.Push(e)
	}
	return e.Object, zero
}

// New returns an f32 tensor with a copy of data.
func New(c *object.Context, data uintptr, rank int64, shape uintptr) uintptr {
	return newFrom(c, F32, data, rank, shape)
}

// NewI64 returns an i64 tensor with a copy of data.
func NewI64(c *object.Context, data uintptr, rank int64, shape uintptr) uintptr {
	return newFrom(c, I64, data, rank, shape)
}

func newFrom(c *object.Context, dtype ElementType, data uintptr, rank int64, shape uintptr) uintptr {
	s, st := request(c, int32(dtype), CPU, rank, shape)
	if st != status.OK {
		return 0
	}
	if s.numel > 0 && data < layout.LowestAddress {
		c.Fail(status.InvalidArgument, object.TextNullData, 0, s.numel)
		return 0
	}
	p, _ := register(c, &s)
	if p != 0 {
		copyMemory(p+layout.TensorHeaderBytes, data, uintptr(s.nbytes))
	}
	return p
}

// Empty returns a contiguous tensor with undefined contents.
func Empty(c *object.Context, dtype, device int32, rank int64, shape uintptr) uintptr {
	s, st := request(c, dtype, device, rank, shape)
	if st != status.OK {
		return 0
	}
	p, _ := register(c, &s)
	return p
}

// NewZeroed returns a contiguous tensor of zeros.
func NewZeroed(c *object.Context, dtype, device int32, rank int64, shape uintptr) uintptr {
	s, st := request(c, dtype, device, rank, shape)
	if st != status.OK {
		return 0
	}
	if s.device != CPU {
		return zerosOn(c, &s)
	}
	p, zero := register(c, &s)
	if p != 0 && !zero {
		core.Clear(p+layout.TensorHeaderBytes, s.nbytes)
	}
	return p
}

// Borrowed is memory of a caller's that a tensor is to stand for.
type Borrowed struct {
	Dtype, Device        int32
	Rank                 int64
	Shape, Strides, Data uintptr // no strides: contiguous
	ReadOnly             bool
	Deleter, Context     uintptr // Deleter(Data, Context) ends it; 0: nothing does
}

// Borrow returns a tensor over the caller's memory. On failure that stays the
// caller's.
func Borrow(c *object.Context, from Borrowed) uintptr {
	s, st := request(c, from.Dtype, from.Device, from.Rank, from.Shape)
	if st != status.OK {
		return 0
	}
	data := from.Data
	if data == 0 && s.numel > 0 || data != 0 && data < layout.LowestAddress {
		c.Fail(status.InvalidArgument, object.TextNullData, 0, s.numel)
		return 0
	}
	if from.Strides != 0 && s.setStrides(c, from.Strides) != status.OK {
		return 0
	}
	if !c.HasRoom() {
		return 0
	}
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		return 0
	}
	flags := uint32(layout.TensorExternal)
	if s.contiguous() {
		flags |= layout.TensorContiguous
	}
	if from.ReadOnly {
		flags |= layout.TensorReadOnly
	}
	h := s.describe(e.Object, flags)
	h.Data, h.Deleter, h.DeleterContext = data, from.Deleter, from.Context
	c.Revive(e, false)
	c.Push(e)
	return e.Object
}

// InSlot returns a contiguous tensor whose header and data stand in a slot of
// the newest function frame.
func InSlot(c *object.Context, slot int64, dtype int32, rank int64, shape uintptr) uintptr {
	s, st := request(c, dtype, CPU, rank, shape)
	if st != status.OK {
		return 0
	}
	p := c.GetBuffer(slot, int64(s.total()))
	if p != 0 {
		s.describe(p, layout.TensorContiguous|layout.TensorInSlot)
	}
	return p
}
