package shapes

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

// TestTheHeaderOfAView: what it has of the tensor, and whose memory it holds.
func TestTheHeaderOfAView(t *testing.T) {
	v := contiguousView(4, 2)
	v.Flags, v.Device = layout.TensorReadOnly|layout.TensorExternal|layout.TensorContiguous, 3
	v.Deleter, v.DeleterContext = 1, 2
	tensor := v.TensorHeader
	base := uintptr(unsafe.Pointer(&v.TensorHeader))
	require.Zero(t, v.slice(0, 1, 3, 1))
	want := layout.TensorHeader{Data: origin + 8, Numel: 4, Nbytes: 16, Dtype: 2, Device: 3, Rank: 2, Mark: 77,
		Base: base, Flags: layout.TensorView | layout.TensorReadOnly | layout.TensorContiguous, Shape: tensor.Shape,
		Strides: tensor.Strides}
	want.Shape[0] = 2
	require.Equal(t, want, v.TensorHeader)
	v.Base = 99
	require.Zero(t, v.to(layout.ViewTranspose, 0, 1))
	require.EqualValues(t, 99, v.Base)
	require.EqualValues(t, layout.TensorView|layout.TensorReadOnly, v.Flags)
	for _, bad := range []layout.TensorHeader{{Dtype: layout.Dtypes}, {Dtype: 255}, {Dtype: 2, Rank: 9}} {
		v.TensorHeader = bad
		require.EqualValues(t, layout.NoViewHeader, v.slice(0, 0, 1, 1))
		require.Equal(t, [3]int64{int64(base), int64(bad.Dtype), int64(bad.Rank)}, [3]int64(v.said[:3]))
	}
}

// TestArraysThatAreNotThere: a number of extents that no tensor has, or no array.
func TestArraysThatAreNotThere(t *testing.T) {
	six := list([]int64{6})
	for _, r := range []struct {
		why       uint32
		operation uint32
		given     []int64
	}{
		{layout.NoViewRank, layout.ViewReshape, []int64{9, six}},
		{layout.NoViewRank, layout.ViewPermute, []int64{-1, six}},
		{layout.NoViewRank, layout.ViewBroadcastTo, []int64{9, six}},
		{layout.NoViewRank, layout.ViewSliceAxes, []int64{9, six, six, six}},
		{layout.NoViewShape, layout.ViewReshape, []int64{1, 0}},
		{layout.NoViewShape, layout.ViewBroadcastTo, []int64{2, 4095}},
		{layout.NoViewAxes, layout.ViewPermute, []int64{2, 0}},
		{layout.NoViewStarts, layout.ViewSliceAxes, []int64{1, 0, 0, 1}},
		{layout.NoViewStops, layout.ViewSliceAxes, []int64{1, six, 0, 1}},
		{layout.NoViewSteps, layout.ViewSliceAxes, []int64{1, six, six, 1}},
		{granted, layout.ViewSliceAxes, []int64{1, six, six, 0}},
		{granted, layout.ViewSliceAxes, []int64{0, 0, 0, 0}},
	} {
		require.Equal(t, r.why, contiguousView(2, 3).to(r.operation, r.given...), r)
	}
	v := contiguousView(2, 3)
	v.to(layout.ViewReshape, 9, six)
	require.Equal(t, [4]int64{9, layout.MaxRank}, v.said)
}

// A change makes a view another one, unless that is refused.
type change = func(v *view) uint32

func reshape(shape ...int64) change   { return func(v *view) uint32 { return v.reshape(shape) } }
func broadcast(shape ...int64) change { return func(v *view) uint32 { return v.broadcast(shape) } }
func permute(axes ...int64) change    { return func(v *view) uint32 { return v.permute(axes) } }

// strided are the extents and strides of a view.
type strided struct{ shape, strides []int64 }

// TestWhereElementsStand: of views of what has gaps, repetitions, and an order of its own.
func TestWhereElementsStand(t *testing.T) {
	rows, gaps, runs := strided{[]int64{2, 3}, []int64{6, 2}}, strided{[]int64{4, 2}, []int64{4, 1}},
		strided{[]int64{2, 3, 4}, []int64{1, 8, 2}}
	cube, none := strided{[]int64{2, 3, 2, 4}, []int64{24, 8, 4, 1}}, strided{[]int64{0, 3}, []int64{7, 2}}
	for _, c := range []struct {
		from   strided
		change change
		to     strided // no shape: no strides visit the elements in this order
		offset int
	}{
		{rows, reshape(6), strided{[]int64{6}, []int64{2}}, 0},
		{rows, reshape(3, 1, 2), strided{[]int64{3, 1, 2}, []int64{4, 4, 2}}, 0},
		{strided{[]int64{2, 1, 3}, []int64{6, 77, 2}}, reshape(6), strided{[]int64{6}, []int64{2}}, 0},
		{strided{[]int64{2, 3}, []int64{3, 2}}, reshape(6), strided{}, 0},
		{strided{[]int64{2, 6}, []int64{100, 2}}, reshape(3, 4), strided{}, 0},
		{gaps, reshape(8), strided{}, 0},
		{gaps, reshape(2, 2, 2), strided{[]int64{2, 2, 2}, []int64{8, 4, 1}}, 0},
		{runs, reshape(2, -1), strided{[]int64{2, 12}, []int64{1, 2}}, 0},
		{runs, reshape(2, 2, 6), strided{[]int64{2, 2, 6}, []int64{1, 12, 2}}, 0},
		{runs, reshape(6, 4), strided{}, 0},
		{none, reshape(3, 0), strided{[]int64{3, 0}, []int64{1, 1}}, 0},
		{none, permute(1, 0), strided{[]int64{3, 0}, []int64{2, 7}}, 0},
		{runs, permute(2, 0, -2), strided{[]int64{4, 2, 3}, []int64{2, 1, 8}}, 0},
		{strided{[]int64{1, 3}, []int64{7, 2}}, broadcast(4, 2, -1), strided{[]int64{4, 2, 3}, []int64{0, 0, 2}}, 0},
		{strided{[]int64{2, 1, 3}, []int64{6, 9, 2}}, func(v *view) uint32 { return v.to(layout.ViewSqueeze, -2) },
			rows, 0},
		{rows, func(v *view) uint32 { return v.to(layout.ViewExpandDims, 0) },
			strided{[]int64{1, 2, 3}, []int64{1, 6, 2}}, 0},
		{cube, func(v *view) uint32 { return v.slice(1, -1, 0, -1) },
			strided{[]int64{2, 2, 2, 4}, []int64{24, -8, 4, 1}}, 16},
		{cube, func(v *view) uint32 {
			return v.sliceAxes([]int64{-1, 0, 1}, []int64{0, 3, 2}, []int64{0, 2, 1})
		}, strided{[]int64{2, 1, 4}, []int64{16, 4, 1}}, 28},
	} {
		v := contiguousView(c.from.shape...)
		copy(v.Strides[:], c.from.strides)
		if why := c.change(v); c.to.shape == nil {
			require.EqualValues(t, layout.NoViewScattered, why, c.from)
			continue
		}
		rank, numel := len(c.to.shape), uint64(1)
		for _, d := range c.to.shape {
			numel *= uint64(d)
		}
		require.Equal(t, c.to, strided{v.Shape[:v.Rank], v.Strides[:v.Rank]})
		require.EqualValues(t, origin+4*c.offset, v.Data, c.to)
		require.Equal(t, [2]uint64{numel, 4 * numel}, [2]uint64{v.Numel, v.Nbytes}, c.to)
		require.Equal(t, numel == 0 || slices.Equal(c.to.strides, contiguousView(c.to.shape...).Strides[:rank]),
			v.Flags&layout.TensorContiguous != 0, c.to)
	}
}

func TestViewsThatCannotBe(t *testing.T) {
	const huge, least = math.MaxInt64, math.MinInt64
	type numbers = [3]int64
	slice := func(axis, step int64) change { return func(v *view) uint32 { return v.slice(axis, 0, 1, step) } }
	swap := func(a, b int64) change { return func(v *view) uint32 { return v.to(layout.ViewTranspose, a, b) } }
	squeeze := func(axis int64) change { return func(v *view) uint32 { return v.to(layout.ViewSqueeze, axis) } }
	pick := func(at ...int64) change {
		return func(v *view) uint32 { return v.sliceAxes(at, at, make([]int64, len(at))) }
	}
	for _, r := range []struct {
		change  change
		why     uint32
		numbers numbers
	}{
		{slice(2, 1), layout.NoViewAxis, numbers{2, 2}},
		{slice(least, 1), layout.NoViewAxis, numbers{least, 2}},
		{slice(0, 0), layout.NoViewStep, numbers{}},
		{swap(0, 2), layout.NoViewAxis, numbers{2, 2}},
		{swap(-3, 2), layout.NoViewAxis, numbers{-3, 2}},
		{permute(0), layout.NoViewNumber, numbers{1, 2}},
		{permute(1, -1), layout.NoViewTwice, numbers{-1}},
		{permute(0, huge), layout.NoViewAxis, numbers{huge, 2}},
		{squeeze(-2), layout.NoViewLong, numbers{-2, 2}},
		{squeeze(huge), layout.NoViewAxis, numbers{huge, 2}},
		{func(v *view) uint32 { return v.to(layout.ViewExpandDims, 4) }, layout.NoViewAxis, numbers{4, 3}},
		{pick(0, 0, 0), layout.NoViewNumber, numbers{3, 2}},
		{pick(2), layout.NoViewElement, numbers{2, 0, 2}},
		{pick(7, -4), layout.NoViewElement, numbers{-4, 1, 3}},
		{reshape(5), layout.NoViewElements, numbers{6, 5}},
		{reshape(0, 6), layout.NoViewElements, numbers{6, 0}},
		{reshape(-1, 6, -1), layout.NoViewOpen, numbers{0, 2}},
		{reshape(4, -1), layout.NoViewDivided, numbers{6, 4}},
		{reshape(0, -1), layout.NoViewDivided, numbers{6, 0}},
		{reshape(-2, -3), layout.NoViewExtent, numbers{-3, 1}},
		{reshape(-2, -1), layout.NoViewExtent, numbers{-2, 0}},
		{reshape(-2, 6), layout.NoViewExtent, numbers{-2, 0}},
		{reshape(huge, huge), layout.NoViewOverflow, numbers{huge, 1}},
		{reshape(huge, huge, -1), layout.NoViewOverflow, numbers{huge, 1}},
		{reshape(1<<32, 1<<32, 6), layout.NoViewOverflow, numbers{1 << 32, 1}},
		{reshape(1 << 61), layout.NoViewExtent, numbers{1 << 61, 0}},
		{broadcast(6), layout.NoViewFewer, numbers{2, 1}},
		{broadcast(2, 5), layout.NoViewRepeated, numbers{1, 3, 5}},
		{broadcast(4, 5), layout.NoViewRepeated, numbers{0, 2, 4}},
		{broadcast(-2, 2, 3), layout.NoViewExtent, numbers{-2, 0}},
		{broadcast(-1, 2, 3), layout.NoViewExtent, numbers{-1, 0}},
		{broadcast(huge, 2, 3), layout.NoViewExtent, numbers{huge, 0}},
		{broadcast(0, huge, 2, 3), layout.NoViewExtent, numbers{huge, 1}},
		{broadcast(huge, 0, 2, 3), layout.NoViewExtent, numbers{huge, 0}},
	} {
		v := contiguousView(2, 3)
		require.Equal(t, r.why, r.change(v))
		require.Equal(t, r.numbers, numbers(v.said[:3]))
	}
	v := contiguousView(1, 1, 1, 1, 1, 1, 1, 1)
	require.Equal(t, uint32(layout.NoViewFull), v.to(layout.ViewExpandDims, 0))
	v = contiguousView(2, 3)
	v.to(layout.ViewTranspose, 0, 1)
	require.Equal(t, uint32(layout.NoViewScattered), v.reshape([]int64{6}))
	for _, change := range []change{broadcast(1<<62 + 1), broadcast(1<<62+1, 1)} { // whose bytes wrap to 4
		require.Equal(t, uint32(layout.NoViewExtent), change(contiguousView(1)))
	}
	require.Equal(t, uint32(layout.NoViewExtent), contiguousView(0).reshape([]int64{0, 1 << 62, 1 << 62}))
	v.Numel = 1 << 63 // of a header that was overwritten
	require.Equal(t, uint32(layout.NoViewExtent), v.reshape([]int64{-1}))
	require.Equal(t, numbers{-1}, numbers(v.said[:3]))
}

// TestSlicesFarOutOfRange: positions and steps at the ends of their range.
func TestSlicesFarOutOfRange(t *testing.T) {
	for _, c := range []struct{ start, stop, step, offset, n int64 }{
		{math.MinInt64, math.MaxInt64, 1, 0, 5},
		{math.MinInt64, math.MaxInt64, math.MaxInt64, 0, 1},
		{math.MaxInt64, math.MinInt64, -1, 4, 5},
		{math.MaxInt64, math.MinInt64, math.MinInt64, 4, 1},
		{math.MaxInt64, math.MinInt64, 1, 0, 0},
		{math.MinInt64, math.MaxInt64, -1, 0, 0},
		{-2, math.MaxInt64, 1, 3, 2},
		{-2, 5, 1, 3, 2},
		{0, 6, 1, 0, 5},
		{0, 4, 2, 0, 2},
	} {
		v := contiguousView(5)
		require.Zero(t, v.slice(-1, c.start, c.stop, c.step))
		require.Equal(t, c.n, v.Shape[0], c)
		require.EqualValues(t, origin+4*c.offset, v.Data, c)
	}
}

// TestStridesOfOneElement: the stride of an axis of one element may be anything.
func TestStridesOfOneElement(t *testing.T) {
	require.True(t, Contiguous(2, &Axes{1, 4}, &Axes{99, 1}))
	require.False(t, Contiguous(2, &Axes{2, 3}, &Axes{1, 1}))
	v := contiguousView(1, 4)
	v.Strides[0] = math.MinInt64
	require.Zero(t, v.slice(0, 0, 1, 4))
	require.EqualValues(t, math.MinInt64, v.Strides[0])
	require.Zero(t, v.reshape([]int64{2, 2}))
	require.Equal(t, []int64{2, 1}, v.Strides[:2])
	v = contiguousView(1, 4)
	v.Strides = [layout.MaxRank]int64{math.MinInt64, 2}
	require.Zero(t, v.reshape([]int64{4, 1}))
	require.EqualValues(t, 2, v.Strides[0])
	require.Zero(t, v.to(layout.ViewExpandDims, 0))
	require.EqualValues(t, 1, v.Strides[0])
	v = contiguousView(2, 3)
	v.to(layout.ViewTranspose, 0, 1)
	require.Zero(t, v.reshape([]int64{3, 1, 2}))
	require.Equal(t, []int64{1, 6, 3}, v.Strides[:3])
}
