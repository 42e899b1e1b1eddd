package graph

import (
	"cmp"
	"strings"

	"tlruntime/runtime/dtype"
)

// DType is the type of a tensor's elements: a dtype.Type that is not complex, or one that is only passed on.
type DType uint8

// The element types.
const (
	F32, F64, F16, BF16, Bool = DType(dtype.F32), DType(dtype.F64), DType(dtype.F16), DType(dtype.BF16),
		DType(dtype.Bool)
	I8, I16, I32, I64 = DType(dtype.I8), DType(dtype.I16), DType(dtype.I32), DType(dtype.I64)
	U8, U16, U32, U64 = DType(dtype.U8), DType(dtype.U16), DType(dtype.U32), DType(dtype.U64)
)

// firstPassed is the first type that is only passed on: tensors of it have a place, operators move and convert them,
// and there is no code for them. Elements of less than a byte take one here.
const firstPassed DType = 32

const passedOn = "passed on"

// A string is an address, and as a constant a sum of its text.
var passed = [...]dtype.Info{
	{Name: "string", Bytes: 8, Kind: passedOn, ONNX: 8, Data: "STRING"},
	{Name: "f8e4m3fn", Bytes: 1, Kind: passedOn, ONNX: 17, Data: "FLOAT8E4M3FN"},
	{Name: "f8e4m3fnuz", Bytes: 1, Kind: passedOn, ONNX: 18, Data: "FLOAT8E4M3FNUZ"},
	{Name: "f8e5m2", Bytes: 1, Kind: passedOn, ONNX: 19, Data: "FLOAT8E5M2"},
	{Name: "f8e5m2fnuz", Bytes: 1, Kind: passedOn, ONNX: 20, Data: "FLOAT8E5M2FNUZ"},
	{Name: "f8e8m0", Bytes: 1, Kind: passedOn, ONNX: 24, Data: "FLOAT8E8M0"},
	{Name: "f4e2m1", Bytes: 1, Kind: passedOn, ONNX: 23, Data: "FLOAT4E2M1"},
	{Name: "u4", Bytes: 1, Kind: passedOn, ONNX: 21, Data: "UINT4"},
	{Name: "i4", Bytes: 1, Kind: passedOn, ONNX: 22, Data: "INT4"},
	{Name: "u2", Bytes: 1, Kind: passedOn, ONNX: 25, Data: "UINT2"},
	{Name: "i2", Bytes: 1, Kind: passedOn, ONNX: 26, Data: "INT2"},
}

// The types that are only passed on.
const (
	Text = firstPassed
	U4   = firstPassed + 7
	I4   = firstPassed + 8
	U2   = firstPassed + 9
	I2   = firstPassed + 10
)

// Passed reports whether the type is one that is only passed on.
func (d DType) Passed() bool { return d >= firstPassed && int(d-firstPassed) < len(passed) }

// Packed returns how many elements share a byte in files of ONNX.
func (d DType) Packed() int64 {
	switch {
	case d == U4 || d == I4 || d.String() == "f4e2m1":
		return 2
	case d == U2 || d == I2:
		return 4
	}
	return 1
}

// Info returns what is known of the type; nothing, zero, when there is no such type.
func (d DType) Info() *dtype.Info {
	if d.Passed() {
		return &passed[d-firstPassed]
	}
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
	for i := range passed {
		if fits(&passed[i]) {
			return firstPassed + DType(i), true
		}
	}
	t, ok := dtype.Find(func(i *dtype.Info) bool { return i.Kind != dtype.Complex && fits(i) })
	return DType(t), ok
}

// DTypes is a set of element types.
type DTypes uint64

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
	for d := range DType(64) {
		if s.Has(d) {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, " ")
}

// The floats, and all types that operators compute with.
var (
	FloatTypes = SetOf(F32, F64, F16, BF16)
	AnyTypes   = FloatTypes | SetOf(I8, I16, I32, I64, U8, U16, U32, U64, Bool)
)

// PassedTypes are those that are only passed on, but for strings NarrowTypes.
var (
	NarrowTypes = func() (s DTypes) {
		for i := range passed[1:] {
			s |= SetOf(firstPassed + 1 + DType(i))
		}
		return s
	}()
	PassedTypes = NarrowTypes | SetOf(Text)
)
