package tensor

import (
	"math"
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// spec is what a tensor is to be, checked.
//
//	numel = product of shape, nbytes = numel * size of the dtype
//	product of the extents, with empty ones counted as 1, * size <= MaxInt64
type spec struct {
	dtype          ElementType
	device         uint8
	rank           int
	shape, strides [layout.MaxRank]int64
	numel, nbytes  uint64
}

// total is the bytes of header and data.
func (s *spec) total() uint64 {
	return layout.TensorHeaderBytes + (s.nbytes+layout.TensorAlign-1)&^(layout.TensorAlign-1)
}

func (s *spec) dimensions() []int64 { return s.shape[:s.rank] }

// request checks what a caller asks for and fills in a contiguous spec.
func request(c *object.Context, dtype, device int32, rank int64, shape uintptr) (s spec, st status.Status) {
	s.dtype = ElementType(dtype)
	if s.dtype.Size() == 0 {
		return s, c.Fail(status.InvalidArgument, object.TextDtype, 0, uint64(int64(dtype)))
	}
	if s.device, st = place(c, device); st != status.OK {
		return s, st
	}
	if rank < 0 || rank > layout.MaxRank {
		return s, c.Fail(status.InvalidArgument, object.TextRank, 0, uint64(rank), layout.MaxRank)
	}
	if rank > 0 && shape < layout.LowestAddress {
		return s, nullArray(c, "shape")
	}
	s.rank = int(rank)
	for i := range s.dimensions() {
		s.shape[i] = load(shape + uintptr(i)*8)
	}
	if i, ok := s.compact(); !ok {
		return s, c.Fail(status.InvalidArgument, object.TextShape, 0, uint64(s.shape[i]), uint64(i))
	}
	return s, status.OK
}

func nullArray(c *object.Context, name string) status.Status {
	return c.Failf(status.InvalidArgument, "%s is NULL, and the rank is not 0", name)
}

// compact computes numel, nbytes and contiguous strides of the shape; false, and
// the axis, where an extent is negative or makes the product overflow.
func (s *spec) compact() (axis int, ok bool) {
	numel, stride := uint64(1), s.dtype.Size()
	for i := s.rank - 1; i >= 0; i-- {
		d := s.shape[i]
		high, product := bits.Mul64(stride, uint64(max(d, 1)))
		if d < 0 || high != 0 || product > math.MaxInt64-layout.SpanBytes {
			return i, false
		}
		s.strides[i] = int64(stride / s.dtype.Size())
		numel, stride = numel*uint64(d), product
	}
	s.numel, s.nbytes = numel, numel*s.dtype.Size()
	return 0, true
}

// setStrides replaces the strides by the caller's. They may be negative: then the
// data's address is not the lowest one.
//
//	sum of (extent - 1) * |stride| * size <= bytes of the address space
func (s *spec) setStrides(c *object.Context, strides uintptr) status.Status {
	if strides < layout.LowestAddress {
		return nullArray(c, "strides")
	}
	const addressSpace = 1 << 47
	reach := uint64(0)
	for i, d := range s.dimensions() {
		stride := load(strides + uintptr(i)*8)
		pace := uint64(max(stride, -stride))
		high, last := bits.Mul64(uint64(max(d, 1)-1), pace)
		if high != 0 || last > addressSpace/s.dtype.Size() || reach+last > addressSpace/s.dtype.Size() {
			return c.Fail(status.InvalidArgument, object.TextStrides, 0, uint64(stride), uint64(i))
		}
		reach += last
		s.strides[i] = stride
	}
	return status.OK
}

// contiguous reports whether the elements lie in row-major order without gaps.
// The strides of dimensions with one element, and of empty tensors, say nothing.
func (s *spec) contiguous() bool {
	if s.numel == 0 {
		return true
	}
	want := int64(1)
	for i := s.rank - 1; i >= 0; i-- {
		if s.shape[i] != 1 && s.strides[i] != want {
			return false
		}
		want *= s.shape[i]
	}
	return true
}

// describe writes the header of a tensor at p whose data follows it.
func (s *spec) describe(p uintptr, flags uint32) *layout.TensorHeader {
	h := header(p)
	*h = layout.TensorHeader{
		Data:    p + layout.TensorHeaderBytes,
		Numel:   s.numel,
		Nbytes:  s.nbytes,
		Dtype:   uint8(s.dtype),
		Device:  s.device,
		Rank:    uint16(s.rank),
		Flags:   flags,
		Mark:    uint64(p) ^ layout.TensorMark,
		Shape:   s.shape,
		Strides: s.strides,
	}
	return h
}

// specOf reads a header, for a contiguous copy of the tensor on a device.
func specOf(h *layout.TensorHeader, device uint8) spec {
	s := spec{dtype: ElementType(h.Dtype), device: device, rank: int(h.Rank), shape: h.Shape, numel: 1}
	stride := int64(1)
	for i := s.rank - 1; i >= 0; i-- {
		s.strides[i] = stride
		stride *= max(s.shape[i], 1)
		s.numel *= uint64(s.shape[i])
	}
	s.nbytes = s.numel * s.dtype.Size()
	return s
}
