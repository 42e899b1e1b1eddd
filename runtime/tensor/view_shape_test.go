package tensor

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// model is a view as a plain list: which element of the memory stands at each
// index, in row-major order. It knows nothing of strides.
type model struct {
	shape    []int64
	elements []int64
}

// at returns the element at an index.
func (m model) at(index []int64) int64 {
	position := int64(0)
	for i, d := range m.shape {
		position = position*d + index[i]
	}
	return m.elements[position]
}

// build returns the model of a shape whose element at each index f tells.
func build(shape []int64, f func(index []int64) int64) model {
	m := model{shape: slices.Clone(shape)}
	index := make([]int64, len(shape))
	for range product(shape) {
		m.elements = append(m.elements, f(index))
		for i := len(shape) - 1; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return m
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// modelOf reads a view through its strides.
func modelOf(v *view) model {
	return build(v.dimensions(), func(index []int64) int64 {
		at := v.offset
		for i, n := range index {
			at += n * v.strides[i]
		}
		return at
	})
}

func contiguousView(shape ...int64) *view {
	v := &view{spec: spec{dtype: F32, rank: len(shape)}}
	copy(v.shape[:], shape)
	if _, ok := v.compact(); !ok {
		panic("not a shape")
	}
	return v
}

// strided tells whether any strides visit the elements in this order.
func (m model) strided() bool {
	if len(m.elements) == 0 {
		return true
	}
	index := make([]int64, len(m.shape))
	first, strides := m.at(index), make([]int64, len(m.shape))
	for i, d := range m.shape {
		if d > 1 {
			index[i] = 1
			strides[i] = m.at(index) - first
			index[i] = 0
		}
	}
	return slices.Equal(m.elements, build(m.shape, func(index []int64) int64 {
		at := first
		for i, n := range index {
			at += n * strides[i]
		}
		return at
	}).elements)
}

// A step makes the same change to a view and to its model. want is the status
// that the view has to answer; the model is left alone where that is not OK.
type step func(t *rapid.T, v *view, m model) (got refusal, want status.Status, next model)

// pythonSlice lists the positions start, start+step, ... of a Python slice, by
// trying every position there is.
func pythonSlice(start, stop, step, extent int64) (positions []int64) {
	if start < 0 {
		start += extent
	}
	if stop < 0 {
		stop += extent
	}
	if step > 0 {
		for i := max(start, 0); i < min(stop, extent); i += step {
			positions = append(positions, i)
		}
		return positions
	}
	for i := min(start, extent-1); i > max(stop, -1); i += step {
		positions = append(positions, i)
	}
	return positions
}

func sliceStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	axis := rapid.Int64Range(-int64(v.rank)-1, int64(v.rank)).Draw(t, "axis")
	start := rapid.Int64Range(-7, 7).Draw(t, "start")
	stop := rapid.Int64Range(-7, 7).Draw(t, "stop")
	pace := rapid.Int64Range(-3, 3).Draw(t, "step")
	got := v.slice(axis, start, stop, pace)
	at := axis
	if at < 0 {
		at += int64(len(m.shape))
	}
	if at < 0 || at >= int64(len(m.shape)) || pace == 0 {
		return got, status.InvalidArgument, m
	}
	chosen := pythonSlice(start, stop, pace, m.shape[at])
	shape := slices.Clone(m.shape)
	shape[at] = int64(len(chosen))
	return got, status.OK, build(shape, func(index []int64) int64 {
		from := slices.Clone(index)
		from[at] = chosen[index[at]]
		return m.at(from)
	})
}

func permuteStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	n := len(m.shape)
	order := rapid.Permutation(axes(n)).Draw(t, "order")
	if n == 2 && rapid.Bool().Draw(t, "transpose") {
		order = []int64{1, 0}
		return v.transpose(0, -1), status.OK, permuted(m, order)
	}
	if n > 1 && rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
		order[0] = order[1]
		return v.permute(order), status.InvalidArgument, m
	}
	return v.permute(order), status.OK, permuted(m, order)
}

func axes(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

func permuted(m model, order []int64) model {
	shape := make([]int64, len(order))
	for to, from := range order {
		shape[to] = m.shape[from]
	}
	return build(shape, func(index []int64) int64 {
		old := make([]int64, len(order))
		for to, from := range order {
			old[from] = index[to]
		}
		return m.at(old)
	})
}

func reshapeStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	shape := factors(t, product(m.shape))
	given := slices.Clone(shape)
	if i := rapid.IntRange(-3, len(shape)-1).Draw(t, "open"); i >= 0 && product(shape) != 0 {
		given[i] = -1
	}
	next := model{shape: shape, elements: m.elements}
	if !next.strided() {
		return v.reshape(given), status.Unsupported, m
	}
	return v.reshape(given), status.OK, next
}

// factors draws a shape of n elements.
func factors(t *rapid.T, n int64) (shape []int64) {
	if n == 0 {
		return []int64{3, 0}
	}
	for n > 1 && len(shape) < 5 {
		d := rapid.Int64Range(1, n).Draw(t, "extent")
		if n%d == 0 {
			shape, n = append(shape, d), n/d
		}
	}
	return append(shape, n)
}

func broadcastStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	lead := rapid.IntRange(0, 2).Draw(t, "lead")
	shape := make([]int64, lead+len(m.shape))
	ok := len(shape) <= layout.MaxRank
	given := slices.Clone(shape)
	for i := range shape {
		shape[i] = rapid.Int64Range(0, 2).Draw(t, "extent")
		if from := i - lead; from >= 0 && (m.shape[from] != 1 || rapid.Bool().Draw(t, "same")) {
			shape[i] = m.shape[from]
		}
		given[i] = shape[i]
		if from := i - lead; from >= 0 && shape[i] == m.shape[from] && rapid.Bool().Draw(t, "kept") {
			given[i] = -1
		}
	}
	if !ok {
		return v.broadcast(given), status.InvalidArgument, m
	}
	return v.broadcast(given), status.OK, build(shape, func(index []int64) int64 {
		from := slices.Clone(index[lead:])
		for i := range from {
			if m.shape[i] == 1 {
				from[i] = 0
			}
		}
		return m.at(from)
	})
}

func squeezeStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	if len(m.shape) == 0 {
		return v.squeeze(0), status.InvalidArgument, m
	}
	axis := rapid.IntRange(0, len(m.shape)-1).Draw(t, "axis")
	if m.shape[axis] != 1 {
		return v.squeeze(int64(axis)), status.InvalidArgument, m
	}
	next := model{slices.Delete(slices.Clone(m.shape), axis, axis+1), m.elements}
	return v.squeeze(int64(axis) - int64(len(m.shape))), status.OK, next
}

func expandStep(t *rapid.T, v *view, m model) (refusal, status.Status, model) {
	axis := rapid.IntRange(0, len(m.shape)).Draw(t, "axis")
	if len(m.shape) == layout.MaxRank {
		return v.expand(int64(axis)), status.InvalidArgument, m
	}
	return v.expand(int64(axis)), status.OK, model{slices.Insert(slices.Clone(m.shape), axis, 1), m.elements}
}

// TestViewsAgreeWithALookUpTable makes random views of views and compares every
// element with a model that knows no strides.
func TestViewsAgreeWithALookUpTable(t *testing.T) {
	steps := map[string]step{"slice": sliceStep, "permute": permuteStep, "reshape": reshapeStep,
		"broadcast": broadcastStep, "squeeze": squeezeStep, "expand": expandStep}
	names := []string{"slice", "permute", "reshape", "broadcast", "squeeze", "expand"}
	rapid.Check(t, func(t *rapid.T) {
		v := contiguousView(rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "shape")...)
		m := modelOf(v)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "step")
			before := *v
			got, want, next := steps[name](t, v, m)
			if got.status != want {
				t.Fatalf("%s of %v: %v, want %v", name, m.shape, got, want)
			}
			if want != status.OK && *v != before {
				t.Fatalf("%s was refused and changed %v to %v", name, before, *v)
			}
			if len(next.elements) > 2000 {
				return
			}
			m = next
			checkModel(t, v, m)
		}
	})
}

func checkModel(t *rapid.T, v *view, m model) {
	t.Helper()
	got := modelOf(v)
	if !slices.Equal(got.shape, m.shape) || !slices.Equal(got.elements, m.elements) {
		t.Fatalf("is %v, want %v", got, m)
	}
	if v.numel != uint64(len(m.elements)) || v.nbytes != v.numel*4 {
		t.Fatalf("%d elements in %d bytes, want %d", v.numel, v.nbytes, len(m.elements))
	}
	if rows := modelOf(contiguousView(m.shape...)); v.contiguous() != sameOrder(rows.elements, m.elements) {
		t.Fatalf("contiguous is %v for %v", v.contiguous(), m)
	}
}

// sameOrder tells whether b is a moved by some distance.
func sameOrder(a, b []int64) bool {
	for i := range a {
		if b[i]-b[0] != a[i]-a[0] {
			return false
		}
	}
	return true
}

func TestViewsThatCannotBe(t *testing.T) {
	const huge = math.MaxInt64
	for name, change := range map[string]func(v *view) refusal{
		"axis":                 func(v *view) refusal { return v.slice(2, 0, 1, 1) },
		"lowest axis":          func(v *view) refusal { return v.slice(math.MinInt64, 0, 1, 1) },
		"step 0":               func(v *view) refusal { return v.slice(0, 0, 1, 0) },
		"transpose":            func(v *view) refusal { return v.transpose(0, 2) },
		"transpose, first":     func(v *view) refusal { return v.transpose(-3, 0) },
		"permute, short":       func(v *view) refusal { return v.permute([]int64{0}) },
		"permute, twice":       func(v *view) refusal { return v.permute([]int64{1, -1}) },
		"permute, beyond":      func(v *view) refusal { return v.permute([]int64{0, huge}) },
		"squeeze":              func(v *view) refusal { return v.squeeze(0) },
		"squeeze, beyond":      func(v *view) refusal { return v.squeeze(huge) },
		"expand":               func(v *view) refusal { return v.expand(4) },
		"reshape, other":       func(v *view) refusal { return v.reshape([]int64{5}) },
		"reshape, two open":    func(v *view) refusal { return v.reshape([]int64{-1, -1}) },
		"reshape, open rest":   func(v *view) refusal { return v.reshape([]int64{4, -1}) },
		"reshape, open of 0":   func(v *view) refusal { return v.reshape([]int64{0, -1}) },
		"reshape, negative":    func(v *view) refusal { return v.reshape([]int64{-2, -3}) },
		"reshape, overflow":    func(v *view) refusal { return v.reshape([]int64{huge, huge}) },
		"reshape, open over":   func(v *view) refusal { return v.reshape([]int64{huge, huge, -1}) },
		"reshape, wraps":       func(v *view) refusal { return v.reshape([]int64{1 << 32, 1 << 32, 6}) },
		"reshape, rank":        func(v *view) refusal { return v.reshape(make([]int64, 9)) },
		"broadcast, smaller":   func(v *view) refusal { return v.broadcast([]int64{6}) },
		"broadcast, other":     func(v *view) refusal { return v.broadcast([]int64{4, 3}) },
		"broadcast, negative":  func(v *view) refusal { return v.broadcast([]int64{-2, 2, 3}) },
		"broadcast, new -1":    func(v *view) refusal { return v.broadcast([]int64{-1, 2, 3}) },
		"broadcast, overflow":  func(v *view) refusal { return v.broadcast([]int64{huge, 2, 3}) },
		"broadcast, with zero": func(v *view) refusal { return v.broadcast([]int64{0, huge, 2, 3}) },
		"broadcast, rank":      func(v *view) refusal { return v.broadcast([]int64{1, 1, 1, 1, 1, 1, 1, 2, 3}) },
	} {
		v := contiguousView(2, 3)
		before := *v
		require.Equal(t, status.InvalidArgument, change(v).status, name)
		require.Equal(t, before, *v, name)
	}
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
	} {
		v := contiguousView(5)
		require.Equal(t, granted, v.slice(0, c.start, c.stop, c.step))
		require.Equal(t, c.n, v.shape[0], c)
		require.Equal(t, c.offset, v.offset, c)
	}
}

// TestStridesOfOneElement: the stride of an axis of one element may be anything.
func TestStridesOfOneElement(t *testing.T) {
	v := contiguousView(1, 4)
	v.strides[0] = math.MinInt64
	require.Equal(t, granted, v.slice(0, 0, 1, 5))
	require.Equal(t, granted, v.reshape([]int64{2, 2}))
	require.Equal(t, []int64{2, 1}, v.strides[:2])
	v = contiguousView(1, 4)
	v.strides = [layout.MaxRank]int64{math.MinInt64, 2}
	require.Equal(t, granted, v.reshape([]int64{4, 1}))
	require.EqualValues(t, 2, v.strides[0])
}
