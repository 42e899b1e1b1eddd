package graph

import (
	"cmp"
	"strings"

	"tlruntime/runtime/dtype"
)

// DType is the type of a tensor's elements, a dtype.Type that is not complex.
type DType uint8

// The element types.
const (
	F32, F64, F16, BF16, Bool = DType(dtype.F32), DType(dtype.F64), DType(dtype.F16), DType(dtype.BF16),
		DType(dtype.Bool)
	I8, I16, I32, I64 = DType(dtype.I8), DType(dtype.I16), DType(dtype.I32), DType(dtype.I64)
	U8, U16, U32, U64 = DType(dtype.U8), DType(dtype.U16), DType(dtype.U32), DType(dtype.U64)
)

// Info returns what is known of the type; nothing, zero, when there is no such type.
func (d DType) Info() *dtype.Info {
	if info := dtype.Type(d).Info(); info.Kind != dtype.Complex {
		return info
	}
	return dtype.Type(-1).Info()
}

// Bytes returns the size of one element, 0 when there is no such type.
func (d DType) Bytes() int64 { return int64(d.Info().Bytes) }

// String returns the name that the JSON form uses, such as "f32".
func (d DType) String() string { return cmp.Or(d.Info().Name, "?") }

// ParseDType returns the type with this name.
func ParseDType(name string) (DType, bool) {
	return FindDType(func(i *dtype.Info) bool { return i.Name == name })
}

// FindDType returns the type whose row of the table fits.
func FindDType(fits func(*dtype.Info) bool) (DType, bool) {
	t, ok := dtype.Find(func(i *dtype.Info) bool { return i.Kind != dtype.Complex && fits(i) })
	return DType(t), ok
}

// DTypes is a set of element types.
type DTypes uint32

// SetOf returns a set.
func SetOf(list ...DType) (s DTypes) {
	for _, d := range list {
		s |= 1 << d
	}
	return s
}

// Has reports whether d is in the set.
func (s DTypes) Has(d DType) bool { return s>>d&1 != 0 }

// String lists the set, such as "f32 f64".
func (s DTypes) String() string {
	var names []string
	for d := range DType(32) {
		if s.Has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, " ")
}

// The floats, and all types.
var (
	FloatTypes = SetOf(F32, F64, F16, BF16)
	AnyTypes   = FloatTypes | SetOf(I8, I16, I32, I64, U8, U16, U32, U64, Bool)
)
