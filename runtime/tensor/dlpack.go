package tensor

import (
	"math/bits"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// DLPack's structs, as cshim/tensor_dlpack.h has them.

// DLType is an element type.
type DLType struct {
	Code, Bits uint8
	Lanes      uint16
}

// DLTensor describes elements in memory.
type DLTensor struct {
	Data                 uintptr
	DeviceType, DeviceID int32
	Ndim                 int32
	Dtype                DLType
	Shape, Strides       uintptr // strides in elements; 0: row-major
	ByteOffset           uint64
}

// DLManagedVersioned is a DLTensor and who ends it, from DLPack 1.0 on.
type DLManagedVersioned struct {
	Major, Minor       uint32
	ManagerCtx, Delete uintptr
	Flags              uint64
	Tensor             DLTensor
}

// DLManaged is the same before DLPack 1.0.
type DLManaged struct {
	Tensor             DLTensor
	ManagerCtx, Delete uintptr
}

// The version that is exported, and flags.
const (
	DLMajor    = 1
	DLMinor    = 3
	DLReadOnly = 1
	DLCopied   = 2
)

// DLPack is what the C path has of it: what DLPack calls the element types, by
// dtype, and the functions that end exported structs and imported memory.
var DLPack struct {
	Types                []DLType
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

// dlTensor describes a tensor whose place dlPlace knows.
func dlTensor(p uintptr) DLTensor {
	h := header(p)
	at, _ := dlPlace(h)
	t := DLTensor{
		Data: at.data, DeviceType: at.device, DeviceID: at.ordinal, Ndim: int32(h.Rank), Dtype: DLPack.Types[h.Dtype],
		Shape: p + unsafe.Offsetof(h.Shape), Strides: p + unsafe.Offsetof(h.Strides), ByteOffset: at.offset,
	}
	return t
}

// ToDLPack returns a DLManagedTensorVersioned that holds a reference to the
// tensor, or to a copy of it.
func ToDLPack(c *object.Context, p uintptr, copied bool) uintptr {
	block, held := export(c, p, copied, unsafe.Sizeof(DLManagedVersioned{}))
	if block == 0 {
		return 0
	}
	flags := uint64(0)
	if copied {
		flags |= DLCopied
	}
	if header(held).Flags&layout.TensorReadOnly != 0 {
		flags |= DLReadOnly
	}
	*layout.At[DLManagedVersioned](block) = DLManagedVersioned{
		Major: DLMajor, Minor: DLMinor, ManagerCtx: held, Delete: DLPack.Delete, Flags: flags, Tensor: dlTensor(held),
	}
	return block
}

// ToDLPackLegacy is ToDLPack with the struct of before 1.0, which cannot say that
// memory is not to be written.
func ToDLPackLegacy(c *object.Context, p uintptr, copied bool) uintptr {
	if h, st := Describe(c, p); st == status.OK && h.Flags&layout.TensorReadOnly != 0 && !copied {
		c.Failf(status.Unsupported,
			"%#x is read-only, which DLPack before 1.0 cannot tell; export a copy or a versioned struct", p)
		return 0
	}
	block, held := export(c, p, copied, unsafe.Sizeof(DLManaged{}))
	if block != 0 {
		*layout.At[DLManaged](block) = DLManaged{Tensor: dlTensor(held), ManagerCtx: held, Delete: DLPack.DeleteLegacy}
	}
	return block
}

// FromDLPack returns a tensor over the memory of a DLManagedTensorVersioned. On
// failure that stays the caller's.
func FromDLPack(c *object.Context, managed uintptr) uintptr {
	if managed < layout.LowestAddress {
		c.Failf(status.InvalidArgument, "managed is NULL")
		return 0
	}
	m := layout.At[DLManagedVersioned](managed)
	if major := m.Major; major != DLMajor {
		c.Failf(status.Unsupported, "the tensor comes as DLPack %d, and only major version %d is understood here",
			major, DLMajor)
		return 0
	}
	return fromDL(c, managed+unsafe.Offsetof(m.Tensor), m.Flags&DLReadOnly != 0, DLPack.End, managed)
}

// FromDLPackLegacy does it with the struct of before 1.0.
func FromDLPackLegacy(c *object.Context, managed uintptr) uintptr {
	if managed < layout.LowestAddress {
		c.Failf(status.InvalidArgument, "managed is NULL")
		return 0
	}
	return fromDL(c, managed+unsafe.Offsetof(DLManaged{}.Tensor), false, DLPack.EndLegacy, managed)
}

func fromDL(c *object.Context, at uintptr, readOnly bool, end, managed uintptr) uintptr {
	t := *layout.At[DLTensor](at)
	data, device, err := fromDLPlace(&t)
	if err != nil {
		failed(c, err)
		return 0
	}
	dtype, ok := dtypeOfDL(t.Dtype)
	if !ok {
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
	return Borrow(c, Borrowed{Dtype: int32(dtype), Device: device, Rank: int64(t.Ndim), Shape: t.Shape,
		Strides: t.Strides,
		Data:    data, ReadOnly: readOnly, Deleter: end, Context: managed})
}

func dtypeOfDL(t DLType) (ElementType, bool) {
	for d, known := range DLPack.Types {
		if known == t && t.Bits != 0 {
			return ElementType(d), true
		}
	}
	return 0, false
}
