package tensor

import (
	"unsafe"

	"tlruntime/cshim/shapes"
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// Shared describes a tensor to another process: a descriptor of the file that has its elements, and how they lie there.
// It is tl_tensor_shared of the C interface.
type Shared struct {
	StructSize  uintptr
	Fd          int32
	Flags       uint32
	Offset      uint64 // of the first element
	Dtype, Rank int32
	Shape       [layout.MaxRank]int64
	Strides     [layout.MaxRank]int64 // in elements
}

// Share returns how another process opens a tensor of the shared device, with a new descriptor of its memory.
func Share(c *object.Context, p uintptr, readOnly bool) (s Shared, st status.Status) {
	if p == 0 {
		return s, c.Failf(status.InvalidArgument, "a tensor is needed, not NULL")
	}
	if _, st := c.FindTensor(p); st != status.OK {
		return s, st
	}
	h := *header(p)
	d := sharer(h.Device)
	if d == nil {
		return s, c.Failf(status.Unsupported, "the memory of %#x belongs to this process alone; share a copy, which "+
			"tl_tensor_to makes on TL_DEVICE_SHARED", p)
	}
	part, st := partOf(c, p, &h, d, readOnly)
	if st != status.OK {
		return s, st
	}
	s = Shared{StructSize: unsafe.Sizeof(s), Fd: int32(part.File), Offset: part.Offset, Dtype: int32(h.Dtype),
		Rank: int32(h.Rank)}
	if part.ReadOnly || h.Flags&layout.TensorReadOnly != 0 {
		s.Flags = layout.TensorReadOnly
	}
	copy(s.Shape[:h.Rank], h.Shape[:h.Rank])
	copy(s.Strides[:h.Rank], h.Strides[:h.Rank])
	return s, status.OK
}

// partOf returns a new descriptor of the memory of the tensor at p, and where in it the first element is. The header
// lies in a program's reach, so what it says has to fit the block.
func partOf(c *object.Context, p uintptr, h *layout.TensorHeader, d device.Sharer, readOnly bool) (device.Part,
	status.Status) {
	if ElementType(h.Dtype).Size() == 0 || h.Rank > layout.MaxRank {
		return device.Part{}, c.Failf(status.InvalidArgument, "the header of the tensor at %#x was overwritten", p)
	}
	if h.Numel == 0 {
		part, err := d.ShareNothing()
		return part, failed(c, noMemory(err))
	}
	owner := p
	if h.Flags&layout.TensorView != 0 {
		owner = h.Base
	}
	b, found := blocks.find(owner)
	if !found || !b.own {
		return device.Part{}, c.Failf(status.Unsupported, "the memory of %#x was lent, and may be nobody else's to see; "+
			"share a copy", p)
	}
	low, high := reach(h)
	if low < b.address || high > b.address+b.bytes || low > high {
		return device.Part{}, c.Failf(status.InvalidArgument,
			"the header of the tensor at %#x was overwritten: its elements lie outside its memory", p)
	}
	part, err := d.Share(h.Data, readOnly)
	return part, failed(c, noMemory(err))
}

// noMemory makes a lack of memory of a lack of descriptors.
func noMemory(err error) error {
	if err != nil && statusOf(err) == status.Limit {
		return device.Errorf(status.OutOfMemory, "%v", err)
	}
	return err
}

// Open returns a tensor over the memory that a descriptor stands for, registered in the current scope. Whoever has sent
// it is not trusted: nothing is mapped before the memory is known to stay, and to have every element. Shape and strides
// are read at the address of the description; the descriptor stays the caller's.
func Open(c *object.Context, s Shared, at uintptr) uintptr {
	what, first, span, ok := described(c, &s, at)
	if !ok || !c.HasRoom() {
		return 0
	}
	d := sharer(sharedDevice)
	if d == nil {
		c.Fail(status.Device, object.TextDevice, 0, sharedDevice)
		return 0
	}
	from := device.Part{File: int(s.Fd), Offset: s.Offset - first, ReadOnly: s.Flags&layout.TensorReadOnly != 0}
	m := device.Mapped{}
	open := func() (err error) {
		m, err = d.Open(from, uintptr(span))
		return err
	}
	b := block{device: sharedDevice, own: true}
	if span == 0 {
		if err := open(); err != nil {
			noBlock(c, err)
			return 0
		}
	} else {
		b.room = uint64(memory.SharedPages(uintptr(from.Offset - memory.SharedPage(from.Offset) + span)))
		if !b.obtain(c, d.Name(), open) {
			return 0
		}
		b.address, b.bytes = m.Block, m.Bytes
	}
	e := headFor(c, b)
	if e.Object == 0 {
		return 0
	}
	flags := uint32(layout.TensorOnDevice)
	if what.contiguous() {
		flags |= layout.TensorContiguous
	}
	if m.ReadOnly {
		flags |= layout.TensorReadOnly
	}
	noteFile(what.describe(e.Object, flags), d, m.At+uintptr(first))
	c.Revive(e, false)
	c.SpendObject(e, layout.TensorHeaderBytes+what.nbytes)
	c.Push(e)
	return e.Object
}

// described checks what a sender says of its tensor: span bytes have the elements, of which the first one begins first
// bytes behind the lowest.
func described(c *object.Context, s *Shared, at uintptr) (what spec, first, span uint64, ok bool) {
	what, st := request(c, s.Dtype, CPU, int64(s.Rank), at+unsafe.Offsetof(s.Shape))
	if st != status.OK || what.setStrides(c, at+unsafe.Offsetof(s.Strides)) != status.OK {
		return what, 0, 0, false
	}
	what.device = sharedDevice
	size := what.dtype.Size()
	switch {
	case s.Flags&^layout.TensorReadOnly != 0:
		c.Failf(status.InvalidArgument, "flags are %#x; the only one is TL_TENSOR_FLAG_READ_ONLY", s.Flags)
		return what, 0, 0, false
	case s.Offset%size != 0:
		c.Failf(status.InvalidArgument, "the first element begins at byte %d, which is no multiple of its size, %d",
			s.Offset, size)
		return what, 0, 0, false
	case what.numel == 0:
		return what, 0, 0, true
	}
	first, span = shapes.Span(size, what.rank, &what.shape, &what.strides)
	if first > s.Offset {
		c.Failf(status.InvalidArgument, "elements lie %d bytes before the first one, which begins at byte %d", first, s.Offset)
		return what, 0, 0, false
	}
	return what, first, span, true
}

// noteFile writes into a header where its data is, and for children of fork(), which have the fast path alone, in which
// file: cshim/tensor/shared.c.
func noteFile(h *layout.TensorHeader, d device.Sharer, data uintptr) {
	h.Data = data
	if h.Numel == 0 {
		return
	}
	part := d.Where(data)
	h.Deleter, h.DeleterContext = uintptr(part.File)+1, uintptr(part.Offset)
}
