package tensor

import (
	"tlruntime/cshim/shapes"
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
	return s, s.compact(c)
}

func nullArray(c *object.Context, name string) status.Status {
	return c.Failf(status.InvalidArgument, "%s is NULL, and the rank is not 0", name)
}

// compact counts the elements of the shape and gives it the strides of elements without gaps.
func (s *spec) compact(c *object.Context) status.Status {
	axis := 0
	s.numel, axis = shapes.Compact(s.dtype.Size(), s.rank, &s.shape, &s.strides)
	if s.nbytes = s.numel * s.dtype.Size(); axis >= 0 {
		return c.Fail(status.InvalidArgument, object.TextShape, 0, uint64(s.shape[axis]), uint64(axis))
	}
	return status.OK
}

// setStrides replaces the strides by the caller's. They may be negative: then the
// data's address is not the lowest one.
func (s *spec) setStrides(c *object.Context, strides uintptr) status.Status {
	if strides < layout.LowestAddress {
		return nullArray(c, "strides")
	}
	for i := range s.dimensions() {
		s.strides[i] = load(strides + uintptr(i)*8)
	}
	if i := shapes.CheckStrides(s.dtype.Size(), s.rank, &s.shape, &s.strides); i >= 0 {
		return c.Fail(status.InvalidArgument, object.TextStrides, 0, uint64(s.strides[i]), uint64(i))
	}
	return status.OK
}

// contiguous reports whether the elements lie in row-major order without gaps.
func (s *spec) contiguous() bool { return shapes.Contiguous(s.rank, &s.shape, &s.strides) }

// head returns the header of a tensor, but for where it and its data are.
func (s *spec) head(flags uint32) layout.TensorHeader {
	return layout.TensorHeader{Numel: s.numel, Nbytes: s.nbytes, Dtype: uint8(s.dtype), Device: s.device,
		Rank: uint16(s.rank), Flags: flags, Shape: s.shape, Strides: s.strides}
}

// describe writes the header of a tensor at p whose data follows it.
func (s *spec) describe(p uintptr, flags uint32) *layout.TensorHeader {
	h := header(p)
	*h = s.head(flags)
	h.Data, h.Mark = p+layout.TensorHeaderBytes, uint64(p)^layout.TensorMark
	return h
}

// specOf reads the shape of a header, for a contiguous copy of the tensor on a device: compact does the rest.
func specOf(h *layout.TensorHeader, device uint8) spec {
	return spec{dtype: ElementType(h.Dtype), device: device, rank: int(h.Rank), shape: h.Shape}
}
