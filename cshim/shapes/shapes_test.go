package shapes

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

// As large as a tensor can be, and an element more.
func TestTheLargestShapes(t *testing.T) {
	const most = (math.MaxInt64 - layout.SpanBytes) / 4
	for _, c := range []struct {
		shape []int64
		axis  int
		numel uint64
	}{
		{[]int64{}, -1, 1},
		{[]int64{most}, -1, most},
		{[]int64{most + 1}, 0, 1},
		{[]int64{1, most, 1, 1, 1, 1, 1, 1}, -1, most},
		{[]int64{0, most}, -1, 0},
		{[]int64{most + 1, 0}, 0, 0},
		{[]int64{3, 0, -1, 2}, 2, 0},
		{[]int64{1 << 32, 1 << 32, 1 << 32}, 1, 0},
	} {
		var shape, strides Axes
		copy(shape[:], c.shape)
		numel, axis := Compact(4, len(c.shape), &shape, &strides)
		require.Equal(t, c.axis, axis, c)
		if axis < 0 {
			require.Equal(t, c.numel, numel, c)
		}
	}
	_, axis := Compact(1, 1, &Axes{math.MaxInt64 - layout.SpanBytes}, &Axes{})
	require.Equal(t, -1, axis)
	require.Equal(t, []int64{5, 5, 1}, contiguousView(4, 0, 5).Strides[:3])
	require.Zero(t, contiguousView(1).broadcast([]int64{2, most / 2}))
	require.Zero(t, contiguousView(most).reshape([]int64{most, -1}))
}

// Strides may lead as far as the address space, forwards and backwards.
func TestTheLongestStrides(t *testing.T) {
	const most = 1 << 47 / 4
	for _, c := range []struct {
		a, b int64
		axis int
	}{
		{most / 2, most / 4, -1},
		{-most / 2, most / 4, -1},
		{most/2 + 1, -most / 4, 1},
		{most / 2, math.MinInt64 + most/4, 1}, // the sum wraps to 0
		{most + 1, math.MinInt64, 0},
		{0, math.MinInt64, 1},
		{math.MinInt64, 0, 0},
	} {
		v := contiguousView(2, 3, 1, 0)
		v.Strides = [layout.MaxRank]int64{c.a, c.b, math.MinInt64, math.MinInt64}
		require.Equal(t, c.axis, CheckStrides(4, int(v.Rank), &v.Shape, &v.Strides), c)
	}
}

// Where elements stand, by looking at each.
func TestSpanAndRepetitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := contiguousView(rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 4).Draw(t, "shape")...)
		for i := range v.Rank {
			v.Strides[i] = rapid.Int64Range(-4, 4).Draw(t, "stride")
		}
		elements, repeats := []int64{0}, false
		for i := range v.Rank {
			repeats = repeats || v.Numel != 0 && v.Shape[i] > 1 && v.Strides[i] == 0
			next := []int64{}
			for k := range v.Shape[i] {
				for _, at := range elements {
					next = append(next, at+k*v.Strides[i])
				}
			}
			elements = next
		}
		require.Equal(t, repeats, Repeats(&v.TensorHeader))
		if v.Numel == 0 {
			return
		}
		before, span := Span(4, int(v.Rank), &v.Shape, &v.Strides)
		require.EqualValues(t, -4*slices.Min(elements), before)
		require.EqualValues(t, 4*(slices.Max(elements)+1-slices.Min(elements)), span)
	})
}
