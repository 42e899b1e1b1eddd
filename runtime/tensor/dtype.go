package tensor

import "tlruntime/runtime/dtype"

// ElementType is what a tensor is made of.
type ElementType = dtype.Type

// The element types.
const (
	F32, F64, F16, BF16, C64, C128 = dtype.F32, dtype.F64, dtype.F16, dtype.BF16, dtype.C64, dtype.C128
	I8, I16, I32, I64              = dtype.I8, dtype.I16, dtype.I32, dtype.I64
	U8, U16, U32, U64, Bool        = dtype.U8, dtype.U16, dtype.U32, dtype.U64, dtype.Bool
)

// CPU is the device whose tensors are one heap object. DefaultDevice is no device: it
// stands for the one that the option TL_DEVICE names.
const (
	CPU           = 0
	DefaultDevice = -1
)
