package graph

import (
	"encoding/binary"
	"math"
)

var le = binary.LittleEndian

// IntAt returns element i of a tensor of integers or bools; the bits of a u64.
func (t *Tensor) IntAt(i int64) int64 {
	switch b := t.At(i); t.DType {
	case I64, U64:
		return int64(le.Uint64(b))
	case I32:
		return int64(int32(le.Uint32(b)))
	case U32:
		return int64(le.Uint32(b))
	case I16:
		return int64(int16(le.Uint16(b)))
	case U16:
		return int64(le.Uint16(b))
	case I8, I4, I2:
		return int64(int8(b[0]))
	case Bool:
		if b[0] != 0 {
			return 1
		}
		return 0
	default:
		return int64(b[0])
	}
}

// FloatAt returns element i of any tensor.
func (t *Tensor) FloatAt(i int64) float64 {
	switch b := t.At(i); t.DType {
	case F64:
		return math.Float64frombits(le.Uint64(b))
	case F32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case BF16:
		return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
	case F16:
		return halfValue(le.Uint16(b))
	case U64:
		return float64(le.Uint64(b))
	default:
		return float64(t.IntAt(i))
	}
}

// Number returns element i: a float64, an int64 or, of a u64, a uint64.
func (t *Tensor) Number(i int64) any {
	switch {
	case FloatTypes.Has(t.DType):
		return t.FloatAt(i)
	case t.DType == U64:
		return uint64(t.IntAt(i))
	}
	return t.IntAt(i)
}

func (t *Tensor) At(i int64) []byte {
	n := t.DType.Bytes()
	return t.Data[i*n : (i+1)*n]
}

// halfValue decodes IEEE 754 binary16.
func halfValue(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// SetInt stores the low bits of x as element i of a tensor of integers or bools.
func (t *Tensor) SetInt(i, x int64) {
	switch b := t.At(i); t.DType.Bytes() {
	case 8:
		le.PutUint64(b, uint64(x))
	case 4:
		le.PutUint32(b, uint32(x))
	case 2:
		le.PutUint16(b, uint16(x))
	default:
		b[0] = byte(x)
	}
}

// SetFloat stores x as element i of a tensor of f32 or f64.
func (t *Tensor) SetFloat(i int64, x float64) {
	if t.DType == F32 {
		le.PutUint32(t.At(i), math.Float32bits(float32(x)))
		return
	}
	le.PutUint64(t.At(i), math.Float64bits(x))
}

// NewTensor makes a tensor of zeros.
func NewTensor(d DType, shape []int64) Tensor {
	return Tensor{DType: d, Shape: shape, Data: make([]byte, Elements(shape)*d.Bytes())}
}

// IntsTensor makes a tensor of i64 with one axis.
func IntsTensor(list []int64) Tensor {
	t := NewTensor(I64, []int64{int64(len(list))})
	for i, x := range list {
		t.SetInt(int64(i), x)
	}
	return t
}

// halfBits encodes IEEE 754 binary16: the nearest number, ties to even.
func halfBits(x float64) uint16 {
	sign := uint16(math.Float64bits(x)>>63) << 15
	x = math.Abs(x)
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00
	case x >= 65520:
		return sign | 0x7c00
	case x == 0:
		return sign
	}
	_, exponent := math.Frexp(x)
	unit := max(exponent-11, -24)
	return sign | uint16((unit+24)<<10+int(math.RoundToEven(math.Ldexp(x, -unit))))
}

// shortBits encodes bfloat16: the upper half of an f32, rounded to even.
func shortBits(x float64) uint16 {
	bits := math.Float32bits(float32(x))
	if math.IsNaN(x) {
		return uint16(bits>>16) | 1
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FilledTensor makes a tensor of which every element is x.
func FilledTensor(d DType, shape []int64, x float64) Tensor {
	t := NewTensor(d, shape)
	for i := range Elements(shape) {
		t.SetNumber(i, x)
	}
	return t
}

// SetNumber stores x as an element of any type, rounded to it as kernels do: to f16 and bf16
// through f32.
func (t *Tensor) SetNumber(i int64, x float64) {
	switch {
	case t.DType == F32 || t.DType == F64:
		t.SetFloat(i, x)
	case t.DType == F16:
		le.PutUint16(t.At(i), halfBits(float64(float32(x))))
	case t.DType == BF16:
		le.PutUint16(t.At(i), shortBits(x))
	default:
		t.SetInt(i, int64(x))
	}
}
