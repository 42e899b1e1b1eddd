package tensor

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// ask reads a property: null for NULL, failed when p is no tensor.
func ask[R any](c *object.Context, p uintptr, null, failed R, read func(*layout.TensorHeader) R) R {
	if p == 0 {
		return null
	}
	if _, st := c.FindTensor(p); st != status.OK {
		return failed
	}
	return read(header(p))
}

// address is ask for properties that are addresses: a NULL that is right says so.
func address(c *object.Context, p uintptr, read func(*layout.TensorHeader) uintptr) uintptr {
	if p == 0 {
		return c.Null()
	}
	return ask(c, p, 0, 0, read)
}

// Describe returns a copy of a tensor's header as a caller is to see it: no data
// where there are no elements, no base where there is no view. Zeros for NULL.
func Describe(c *object.Context, p uintptr) (h layout.TensorHeader, st status.Status) {
	if p == 0 {
		return h, status.OK
	}
	if _, st = c.FindTensor(p); st != status.OK {
		return h, st
	}
	h = *header(p)
	if h.Numel == 0 {
		h.Data = 0
	}
	if h.Flags&layout.TensorView == 0 {
		h.Base = 0
	}
	return h, status.OK
}

// Data returns the address of the first element, NULL when there is none.
func Data(c *object.Context, p uintptr) uintptr {
	return address(c, p, func(h *layout.TensorHeader) uintptr {
		if h.Numel == 0 {
			return c.Null()
		}
		return h.Data
	})
}

// Nbytes returns the bytes of the elements.
func Nbytes(c *object.Context, p uintptr) uintptr {
	return ask(c, p, 0, 0, func(h *layout.TensorHeader) uintptr { return uintptr(h.Nbytes) })
}

// Numel returns the number of elements.
func Numel(c *object.Context, p uintptr) int64 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int64 { return int64(h.Numel) })
}

// Rank returns the number of dimensions.
func Rank(c *object.Context, p uintptr) int64 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int64 { return int64(h.Rank) })
}

// Shape returns the address of the extents.
func Shape(c *object.Context, p uintptr) uintptr {
	return address(c, p, func(*layout.TensorHeader) uintptr {
		return p + unsafe.Offsetof(layout.TensorHeader{}.Shape)
	})
}

// Strides returns the address of the strides, in elements.
func Strides(c *object.Context, p uintptr) uintptr {
	return address(c, p, func(*layout.TensorHeader) uintptr {
		return p + unsafe.Offsetof(layout.TensorHeader{}.Strides)
	})
}

// Dtype returns the element type.
func Dtype(c *object.Context, p uintptr) int32 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int32 { return int32(h.Dtype) })
}

// Device returns the device that holds the data.
func Device(c *object.Context, p uintptr) int32 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int32 { return int32(h.Device) })
}

// IsContiguous reports whether the elements lie in row-major order without gaps.
func IsContiguous(c *object.Context, p uintptr) bool {
	return ask(c, p, true, false, func(h *layout.TensorHeader) bool { return h.Flags&layout.TensorContiguous != 0 })
}

// Dim returns the extent of one dimension; negative axes count from the last.
func Dim(c *object.Context, p uintptr, axis int64) int64 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int64 {
		rank := int64(h.Rank)
		if axis < -rank || axis >= rank {
			c.Fail(status.InvalidArgument, object.TextAxis, 0, uint64(axis), uint64(rank))
			return -1
		}
		return h.Shape[(axis+rank)%rank]
	})
}
