package view

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is a tensor written out: which element of the buffer stands at each place.
type model struct {
	shape []int64
	at    []int64
}

func modelOf(v View) model {
	m := model{shape: slices.Clone(v.Shape)}
	for index := range indices(v.Shape) {
		m.at = append(m.at, v.At(index...))
	}
	return m
}

// indices yields every index of a shape in row-major order, by counting.
func indices(shape []int64) func(func([]int64) bool) {
	return func(yield func([]int64) bool) {
		n := View{Shape: shape}.Elements()
		for k := range n {
			index := make([]int64, len(shape))
			rest := k
			for i := len(shape) - 1; i >= 0; i-- {
				index[i] = rest % shape[i]
				rest /= shape[i]
			}
			if !yield(index) {
				return
			}
		}
	}
}

// place returns the position of index in a row-major tensor.
func place(shape, index []int64) int64 {
	p := int64(0)
	for i, d := range shape {
		p = p*d + index[i]
	}
	return p
}

func drawShape(t *rapid.T, name string) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, name)
}

// drawView makes a view by a few random steps, each checked against the model.
func drawView(t *rapid.T) View {
	v := Contiguous(drawShape(t, "shape"))
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			v = checkTranspose(t, v)
		case 1:
			v = checkSlice(t, v)
		case 2:
			v = checkExpand(t, v)
		case 3:
			v = checkPad(t, v)
		default:
			v = checkReshape(t, v)
		}
	}
	return v
}

func axes(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

func checkTranspose(t *rapid.T, v View) View {
	perm := rapid.Permutation(axes(len(v.Shape))).Draw(t, "perm")
	got, ok := v.Transpose(perm)
	require.True(t, ok)
	for index := range indices(got.Shape) {
		from := make([]int64, len(perm))
		for i, p := range perm {
			from[p] = index[i]
		}
		require.Equal(t, v.At(from...), got.At(index...))
	}
	return got
}

func checkSlice(t *rapid.T, v View) View {
	rank := len(v.Shape)
	starts, ends, steps := make([]int64, rank), make([]int64, rank), make([]int64, rank)
	picked := make([][]int64, rank)
	for i, d := range v.Shape {
		steps[i] = rapid.SampledFrom([]int64{-3, -2, -1, 1, 2, 5}).Draw(t, "step")
		if d == 0 {
			continue
		}
		starts[i] = rapid.Int64Range(0, d-1).Draw(t, "start")
		ends[i] = rapid.Int64Range(-1, d).Draw(t, "end")
		for x := starts[i]; steps[i] > 0 && x < ends[i] || steps[i] < 0 && x > ends[i]; x += steps[i] {
			picked[i] = append(picked[i], x)
		}
	}
	got, ok := v.Slice(starts, ends, steps)
	require.True(t, ok)
	for i := range picked {
		require.EqualValues(t, len(picked[i]), got.Shape[i])
	}
	for index := range indices(got.Shape) {
		from := make([]int64, rank)
		for i, x := range index {
			from[i] = picked[i][x]
		}
		require.Equal(t, v.At(from...), got.At(index...))
	}
	return got
}

func checkExpand(t *rapid.T, v View) View {
	to := rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 2).Draw(t, "more")
	more := len(to)
	to = append(to, v.Shape...)
	for i, d := range v.Shape {
		if d == 1 {
			to[more+i] = rapid.Int64Range(0, 3).Draw(t, "extent")
		}
	}
	if (View{Shape: to}).Elements() > 500 {
		return v
	}
	got, ok := v.Expand(to)
	require.True(t, ok)
	for index := range indices(to) {
		from := slices.Clone(index[more:])
		for i, d := range v.Shape {
			if d == 1 {
				from[i] = 0
			}
		}
		require.Equal(t, v.At(from...), got.At(index...))
	}
	return got
}

func checkPad(t *rapid.T, v View) View {
	rank := len(v.Shape)
	pads := make([]int64, 2*rank)
	for i, d := range v.Shape {
		pads[i] = -rapid.Int64Range(0, d).Draw(t, "begin")
		pads[rank+i] = -rapid.Int64Range(0, d+pads[i]).Draw(t, "end")
	}
	got, ok := v.Pad(pads)
	require.True(t, ok)
	for index := range indices(got.Shape) {
		from := slices.Clone(index)
		for i := range from {
			from[i] -= pads[i]
		}
		require.Equal(t, v.At(from...), got.At(index...))
	}
	return got
}

// checkReshape draws a shape with as many elements and holds both answers to the
// model: a view shows the same elements in the same order, and where there is
// none, no strides do.
func checkReshape(t *rapid.T, v View) View {
	shape := drawFactors(t, v.Elements())
	got, ok := v.Reshape(shape)
	want := modelOf(v).at
	require.Equal(t, ok, expressible(shape, want), "%v to %v", v, shape)
	if !ok {
		return v
	}
	require.Equal(t, shape, got.Shape)
	require.Equal(t, want, modelOf(got).at)
	return got
}

func drawFactors(t *rapid.T, n int64) []int64 {
	if n == 0 {
		return rapid.Permutation(append(drawShape(t, "rest"), 0)).Draw(t, "empty")
	}
	var shape []int64
	for n > 1 && len(shape) < 6 {
		var divisors []int64
		for d := int64(1); d <= n; d++ {
			if n%d == 0 {
				divisors = append(divisors, d)
			}
		}
		d := rapid.SampledFrom(divisors).Draw(t, "factor")
		shape = append(shape, d)
		n /= d
	}
	if n > 1 {
		shape = append(shape, n)
	}
	return append(shape, rapid.SampledFrom([][]int64{nil, {1}, {1, 1}}).Draw(t, "ones")...)
}

// expressible reports whether some strides show these elements in that shape: the
// strides can only be the distances to the neighbours of the first element.
func expressible(shape, elements []int64) bool {
	if len(elements) == 0 {
		return true
	}
	v := View{Shape: shape, Strides: make([]int64, len(shape)), Offset: elements[0]}
	for i, d := range shape {
		if d > 1 {
			neighbour := make([]int64, len(shape))
			neighbour[i] = 1
			v.Strides[i] = elements[place(shape, neighbour)] - elements[0]
		}
	}
	return slices.Equal(modelOf(v).at, elements)
}

func TestViewsShowWhatTheModelShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		m := modelOf(v)
		require.EqualValues(t, len(m.at), v.Elements())
		require.Equal(t, m.at, slices.Collect(v.All()))
		low, high := v.Extent()
		if len(m.at) == 0 {
			require.Less(t, high, low)
			require.True(t, v.IsContiguous())
			return
		}
		require.Equal(t, slices.Min(m.at), low)
		require.Equal(t, slices.Max(m.at), high)
		contiguous := true
		for i, at := range m.at {
			contiguous = contiguous && at == v.Offset+int64(i)
		}
		require.Equal(t, contiguous, v.IsContiguous())
	})
}

func TestSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := drawView(t), drawView(t)
		a, b := modelOf(v), modelOf(w)
		same := slices.Equal(a.shape, b.shape) && slices.Equal(a.at, b.at)
		require.Equal(t, same, v.Same(w))
		require.True(t, v.Same(v))
	})
}

func TestWhatIsNoView(t *testing.T) {
	v := Contiguous([]int64{2, 3})
	no := func(_ View, ok bool) { t.Helper(); require.False(t, ok) }
	no(v.Transpose([]int64{0}))
	no(v.Transpose([]int64{0, 0}))
	no(v.Transpose([]int64{0, 2}))
	no(v.Transpose([]int64{-1, 0}))
	no(v.Expand([]int64{3}))
	no(v.Expand([]int64{2, 4}))
	no(v.Expand([]int64{-1, 2, 3}))
	no(v.Slice([]int64{0}, []int64{1}, []int64{1}))
	no(v.Slice([]int64{0, 0}, []int64{1, 1}, []int64{1, 0}))
	no(v.Slice([]int64{0, 0}, []int64{1, 4}, []int64{1, 1}))
	no(v.Slice([]int64{2, 0}, []int64{-1, 1}, []int64{-1, 1}))
	no(v.Slice([]int64{-2, 0}, []int64{2, 1}, []int64{1, 1}))
	no(v.Pad([]int64{0, 0, 0, 1}))
	no(v.Pad([]int64{0, -2, 0, -2}))
	no(v.Pad([]int64{0, 0}))
	no(v.Reshape([]int64{5}))
	no(v.Reshape([]int64{-2, -3}))
	no(v.Reshape([]int64{0}))
	turned, ok := v.Transpose([]int64{1, 0})
	require.True(t, ok)
	no(turned.Reshape([]int64{6}))
	_, ok = turned.Reshape([]int64{3, 1, 2})
	require.True(t, ok)
}

func FuzzReshape(f *testing.F) {
	f.Add(uint8(2), uint8(3), uint8(4), uint8(6), uint8(4), uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, perm uint8) {
		v := Contiguous([]int64{int64(a % 8), int64(b % 8), int64(c % 8)})
		perms := [][]int64{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
		v, _ = v.Transpose(perms[perm%6])
		shape := []int64{int64(d), int64(e)}
		got, ok := v.Reshape(shape)
		want := modelOf(v).at
		fits := int64(d)*int64(e) == v.Elements() && expressible(shape, want)
		if ok != fits || ok && !slices.Equal(want, modelOf(got).at) {
			t.Fatal(v, shape, got, ok)
		}
	})
}

func TestPart(t *testing.T) {
	v := View{Shape: []int64{2, 5}, Strides: []int64{10, -1}, Offset: 4}
	p, ok := v.Part(1, 1, 3)
	require.True(t, ok)
	require.Equal(t, View{Shape: []int64{2, 3}, Strides: []int64{10, -1}, Offset: 3}, p)
	s, ok := v.Slice([]int64{0, 1}, []int64{2, 4}, []int64{1, 1})
	require.True(t, ok)
	require.Equal(t, s, p)
	empty, ok := v.Part(0, 2, 0)
	require.True(t, ok)
	require.Equal(t, View{Shape: []int64{0, 5}, Strides: []int64{10, -1}, Offset: 4}, empty)
	for _, wrong := range [][3]int64{
		{2, 0, 1}, {-1, 0, 1}, {1, -1, 1}, {1, 0, -1}, {1, 3, 3}, {1, math.MaxInt64, 1}, {1, 1, math.MaxInt64},
	} {
		_, ok := v.Part(int(wrong[0]), wrong[1], wrong[2])
		require.False(t, ok, wrong)
	}
}
