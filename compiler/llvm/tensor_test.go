package llvm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// tensor is what reference implementations compute with: row-major numbers, wide
// enough for all that the tests use.
type tensor struct {
	dtype graph.DType
	shape []int64
	data  []float64
	size  []float64 // of the terms that an element was made of; nil: of the element
}

func zeros(d graph.DType, shape ...int64) tensor {
	return tensor{dtype: d, shape: slices.Clone(shape), data: make([]float64, graph.Elements(shape))}
}

// at is the number of an element.
func (t tensor) at(index []int64) int64 {
	n := int64(0)
	for i, d := range t.shape {
		n = n*d + index[i]
	}
	return n
}

func (t tensor) get(index ...int64) float64 { return t.data[t.at(index)] }

// broadcast reads with an index of a shape that the tensor is broadcast to.
func (t tensor) broadcast(index []int64) float64 {
	own := slices.Clone(index[len(index)-len(t.shape):])
	for i, d := range t.shape {
		if d == 1 {
			own[i] = 0
		}
	}
	return t.get(own...)
}

// indices yields every index of a shape, row by row.
func indices(shape []int64) func(func([]int64) bool) {
	return func(yield func([]int64) bool) {
		index := make([]int64, len(shape))
		for range graph.Elements(shape) {
			if !yield(index) {
				return
			}
			for i := len(shape) - 1; i >= 0; i-- {
				if index[i]++; index[i] < shape[i] {
					break
				}
				index[i] = 0
			}
		}
	}
}

// encode and decode convert one element.
func encode(d graph.DType, x float64) []byte {
	b := make([]byte, 8)
	switch d {
	case graph.F32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
	case graph.F64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(x))
	case graph.BF16:
		bits := math.Float32bits(float32(x))
		if !math.IsNaN(x) {
			bits += 0x7FFF + bits>>16&1
		}
		binary.LittleEndian.PutUint32(b, bits>>16)
	case graph.F16:
		binary.LittleEndian.PutUint16(b, halfBits(x))
	case graph.Bool:
		if x != 0 {
			b[0] = 1
		}
	default:
		binary.LittleEndian.PutUint64(b, uint64(int64(x)))
	}
	return b[:d.Bytes()]
}

func decode(d graph.DType, b []byte) float64 {
	t := graph.Tensor{DType: d, Data: b}
	switch x := t.Number(0).(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	default:
		return x.(float64)
	}
}

func fromHalf(h uint16) float64 { return decode(graph.F16, binary.LittleEndian.AppendUint16(nil, h)) }

// halfBits finds the f16 next to x by trying all, in the order of their values.
func halfBits(x float64) uint16 {
	sign := uint16(0)
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	switch {
	case math.IsNaN(x):
		return 0x7E00
	case x >= 65520:
		return sign | 0x7C00
	}
	low, high := uint16(0), uint16(0x7BFF)
	for low < high {
		if mid := (low + high + 1) / 2; fromHalf(mid) <= x {
			low = mid
		} else {
			high = mid - 1
		}
	}
	below, above := x-fromHalf(low), fromHalf(low+1)-x
	if low < 0x7BFF && (above < below || above == below && low%2 == 1) {
		low++
	}
	return sign | low
}

// rounded are the numbers as the type has them.
func (t tensor) rounded() tensor {
	for i, x := range t.data {
		t.data[i] = decode(t.dtype, encode(t.dtype, x))
	}
	return t
}

// random fills a tensor with numbers from low to high, whole ones for integers.
func random(r *rand.Rand, d graph.DType, low, high float64, shape ...int64) tensor {
	t := zeros(d, shape...)
	for i := range t.data {
		x := low + (high-low)*r.Float64()
		if !elems[d].float() {
			x = math.Round(x)
		}
		t.data[i] = x
	}
	if d == graph.Bool {
		for i := range t.data {
			t.data[i] = float64(r.IntN(2))
		}
	}
	return t.rounded()
}

// layoutOf draws a view with this shape and the number of elements of a buffer for
// it: axes in any order in memory, gaps between, some way from the start.
func layoutOf(t *rapid.T, shape []int64, label string) (view.View, int64) {
	if rapid.IntRange(0, 2).Draw(t, label+" plain") > 0 {
		return view.Contiguous(shape), graph.Elements(shape)
	}
	order := make([]int, len(shape))
	for i := range order {
		order[i] = i
	}
	if rapid.Bool().Draw(t, label+" permuted") {
		order = rapid.Permutation(order).Draw(t, label+" order")
	}
	v := view.View{Shape: slices.Clone(shape), Strides: make([]int64, len(shape))}
	step := int64(rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, label+" step"))
	for i := len(order) - 1; i >= 0; i-- {
		v.Strides[order[i]] = step
		step *= max(shape[order[i]], 1) + int64(rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, label+" gap"))
	}
	v.Offset = int64(rapid.IntRange(0, 3).Draw(t, label+" offset"))
	return v, v.Offset + step
}
