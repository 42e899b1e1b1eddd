package tensor

import (
	"math/bits"

	"tlruntime/cshim/shapes"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// DLPack has the functions of C that end exported structs and imported memory.
var DLPack struct {
	Delete, DeleteLegacy uintptr
	End, EndLegacy       uintptr // as tl_deleter
}

// export returns a block of n bytes for the struct, and the tensor that it is to
// hold a reference to: p, or a copy of it.
func export(c *object.Context, p uintptr, copied bool, n uintptr) (block, held uintptr) {
	if p == 0 {
		return c.Null(), 0
	}
	e, st := c.FindTensor(p)
	switch {
	case st != status.OK:
		return 0, 0
	case e.Object == 0 && !copied:
		c.Failf(status.Unsupported,
			"%#x stands in a slot of a frame, which ends without asking who shares it; export a copy", p)
		return 0, 0
	}
	if _, err := dlPlace(header(p)); err != nil {
		failed(c, err)
		return 0, 0
	}
	if block, _ = c.AllocHeld(n); block == 0 {
		return 0, 0
	}
	held = p
	if copied {
		e, _ = copyOf(c, p, header(p).Device, false)
		held = e.Object
	} else if c.Acquire(p) != status.OK {
		held = 0
	}
	if held == 0 {
		c.DropReference(block)
		return 0, 0
	}
	return block, held
}

// ToDLPack returns a layout.DlVersioned, or for consumers of before 1.0 a layout.DlManaged, that holds a reference to
// the tensor or to a copy of it.
func ToDLPack(c *object.Context, p uintptr, copied, legacy bool) uintptr {
	n, deleter := uintptr(layout.DlVersionedBytes), DLPack.Delete
	if legacy {
		n, deleter = layout.DlManagedBytes, DLPack.DeleteLegacy
		if h, st := Describe(c, p); st == status.OK && h.Flags&layout.TensorReadOnly != 0 && !copied {
			c.Failf(status.Unsupported,
				"%#x is read-only, which DLPack before 1.0 cannot tell; export a copy or a versioned struct", p)
			return 0
		}
	}
	block, held := export(c, p, copied, n)
	if block != 0 {
		at, _ := dlPlace(header(held))
		shapes.FillDLPack(block, header(held), &at, copied, legacy, deleter)
	}
	return block
}

// FromDLPack returns a tensor over the memory of a struct of DLPack's, which stays the caller's on failure.
func FromDLPack(c *object.Context, managed uintptr, legacy bool) uintptr {
	if managed < layout.LowestAddress {
		c.Failf(status.InvalidArgument, "managed is NULL")
		return 0
	}
	if legacy {
		return fromDL(c, layout.At[layout.DlManaged](managed).Tensor, false, DLPack.EndLegacy, managed)
	}
	m := layout.At[layout.DlVersioned](managed)
	if major := m.Major; major != layout.DlMajor {
		c.Failf(status.Unsupported, "the tensor comes as DLPack %d, and only major version %d is understood here",
			major, layout.DlMajor)
		return 0
	}
	return fromDL(c, m.Tensor, m.Flags&layout.DlReadOnly != 0, DLPack.End, managed)
}

func fromDL(c *object.Context, t layout.DlTensor, readOnly bool, end, managed uintptr) uintptr {
	data, device, err := fromDLPlace(&t)
	if err != nil {
		failed(c, err)
		return 0
	}
	dtype := shapes.DLPackDtype(t.Dtype)
	if dtype == layout.Dtypes {
		c.Failf(status.Unsupported, "no tensor has elements of DLPack's type code %d with %d bits and %d lanes",
			t.Dtype.Code, t.Dtype.Bits, t.Dtype.Lanes)
		return 0
	}
	if data != 0 {
		sum, carry := bits.Add64(uint64(data), t.ByteOffset, 0)
		if carry != 0 {
			c.Failf(status.InvalidArgument, "byte_offset %d lies outside the address space", t.ByteOffset)
			return 0
		}
		data = uintptr(sum)
	}
	return Borrow(c, Borrowed{Dtype: dtype, Device: device, Rank: int64(t.Ndim), Shape: t.Shape,
		Strides: t.Strides, Data: data, ReadOnly: readOnly, Deleter: end, Context: managed})
}
