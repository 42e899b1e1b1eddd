package copies

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

// array is memory with elements of a header in it.
type array struct {
	bytes  []byte
	header layout.TensorHeader
}

// spread returns an array of so many bytes an element, with the steps that a test has drawn, in elements.
func spread(size uint64, shape, strides []int64) array {
	a := array{header: layout.TensorHeader{Rank: uint16(len(shape))}}
	copy(a.header.Shape[:], shape)
	copy(a.header.Strides[:], strides)
	low, high := Reach(&a.header, size)
	a.bytes = make([]byte, high-low)
	a.header.Data = uintptr(unsafe.Pointer(unsafe.SliceData(a.bytes))) - low
	return a
}

// visit calls f with the offsets, in bytes, of each element in two arrays of one shape.
func visit(size int64, a, b *array, f func(i, k int64)) {
	var index [layout.MaxRank]int64
	base := func(x *array) int64 {
		return int64(x.header.Data - uintptr(unsafe.Pointer(unsafe.SliceData(x.bytes))))
	}
	rank := int(a.header.Rank)
	for {
		i, k := base(a), base(b)
		for axis := range rank {
			i += index[axis] * a.header.Strides[axis] * size
			k += index[axis] * b.header.Strides[axis] * size
		}
		f(i, k)
		axis := rank - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < a.header.Shape[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// drawShape has up to two long axes.
func drawShape(t *rapid.T) []int64 {
	shape := rapid.SliceOfN(rapid.Int64Range(1, 4), 0, layout.MaxRank).Draw(t, "shape")
	for range min(len(shape), 2) {
		axis := rapid.IntRange(0, len(shape)-1).Draw(t, "long axis")
		shape[axis] = rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(28, 140)).Draw(t, "extent")
	}
	for elements(shape) > 1<<16 {
		longest := slices.Index(shape, slices.Max(shape))
		shape[longest] = (shape[longest] + 1) / 2
	}
	return shape
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// drawApart returns strides that give each index a place of its own: axes in any order and direction, with gaps.
func drawApart(t *rapid.T, name string, shape []int64) []int64 {
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	if rapid.Bool().Draw(t, name+" permuted") {
		axes = rapid.Permutation(axes).Draw(t, name+" order")
	}
	strides, next := make([]int64, len(shape)), int64(1)
	gaps := rapid.Bool().Draw(t, name+" gaps")
	for _, axis := range slices.Backward(axes) {
		if gaps && next < 1<<18 {
			next += rapid.Int64Range(0, 2).Draw(t, name+" gap") * next
		}
		strides[axis] = next
		next *= shape[axis]
		if rapid.IntRange(0, 3).Draw(t, name+" backwards") == 0 {
			strides[axis] = -strides[axis]
		}
	}
	return strides
}

// drawSource returns any strides: some axes repeat an element, or share elements with others.
func drawSource(t *rapid.T, shape []int64) []int64 {
	strides := drawApart(t, "from", shape)
	for i := range strides {
		switch rapid.IntRange(0, 9).Draw(t, "repeats") {
		case 0:
			strides[i] = 0
		case 1:
			strides[i] = rapid.Int64Range(-3, 3).Draw(t, "stride")
		}
	}
	return strides
}

// Whatever the arrangement, each element arrives where the obvious loop puts it, and nothing between them is written.
func TestCopiesAreThoseOfALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]uint64{1, 2, 4, 8, 16}).Draw(t, "size")
		shape := drawShape(t)
		to, from := spread(size, shape, drawApart(t, "to", shape)), spread(size, shape, drawSource(t, shape))
		for i := range from.bytes {
			from.bytes[i] = byte(i*7 + i>>8)
		}
		for i := range to.bytes {
			to.bytes[i] = 0xA5
		}
		want := slices.Clone(to.bytes)
		visit(int64(size), &to, &from, func(i, k int64) {
			copy(want[i:i+int64(size)], from.bytes[k:k+int64(size)])
		})
		Elements(&to.header, &from.header, size)
		if !slices.Equal(want, to.bytes) {
			t.Fatalf("a copy of %v elements of %d bytes with strides %v to strides %v is wrong", shape, size,
				from.header.Strides[:len(shape)], to.header.Strides[:len(shape)])
		}
	})
}

func TestReach(t *testing.T) {
	h := layout.TensorHeader{Data: 1000, Rank: 3}
	copy(h.Shape[:], []int64{3, 1, 4})
	copy(h.Strides[:], []int64{-10, 7, 2})
	low, high := Reach(&h, 4)
	require.EqualValues(t, 1000-2*10*4, low)
	require.EqualValues(t, 1000+3*2*4+4, high)
}
