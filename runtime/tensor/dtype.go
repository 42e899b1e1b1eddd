package tensor

// ElementType is what a tensor is made of. The numbers are those of enum tl_dtype.
type ElementType int32

// The element types.
const (
	F32  ElementType = 0
	F64  ElementType = 1
	I32  ElementType = 2
	I64  ElementType = 3
	U8   ElementType = 4
	F16  ElementType = 5
	BF16 ElementType = 6
	Bool ElementType = 16
	I8   ElementType = 17
	I16  ElementType = 18
	U16  ElementType = 19
	U32  ElementType = 20
	U64  ElementType = 21
	C64  ElementType = 22
	C128 ElementType = 23
)

// CPU is the device whose tensors are one heap object. DefaultDevice is no device: it
// stands for the one that the option TL_DEVICE names.
const (
	CPU           = 0
	DefaultDevice = -1
)

var sizes = [...]uint8{
	F32: 4, F64: 8, I32: 4, I64: 8, U8: 1, F16: 2, BF16: 2, Bool: 1, I8: 1, I16: 2, U16: 2, U32: 4, U64: 8, C64: 8,
	C128: 16,
}

// Size returns the bytes of an element, 0 when there is no such dtype.
func (d ElementType) Size() uint64 {
	if d < 0 || int(d) >= len(sizes) {
		return 0
	}
	return uint64(sizes[d])
}
