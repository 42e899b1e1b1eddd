package shapes

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

const (
	origin  = 1 << 40 // where the memory begins
	granted = layout.ViewGranted
)

// view is the header of a view of elements of 4 bytes, and what was said of the last one that was refused.
type view struct {
	layout.TensorHeader
	said [4]int64
}

// to makes the view another one, unless that is refused.
func (v *view) to(operation uint32, given ...int64) (why uint32) {
	next := layout.TensorHeader{Mark: 77}
	v.said = [4]int64{}
	copy(v.said[:], given)
	if why = View(&next, &v.TensorHeader, operation, &v.said); why == granted {
		v.TensorHeader = next
	}
	return why
}

// lists are the arrays whose addresses the tests have handed out: what only an address leads to is free for Go.
var lists [][]int64

// list returns the address of numbers, which stay where they are.
func list(numbers []int64) int64 {
	lists = append(lists, numbers)
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(numbers))))
}

func (v *view) reshape(shape []int64) uint32 {
	return v.to(layout.ViewReshape, int64(len(shape)), list(shape))
}

func (v *view) broadcast(shape []int64) uint32 {
	return v.to(layout.ViewBroadcastTo, int64(len(shape)), list(shape))
}

func (v *view) permute(axes []int64) uint32 {
	return v.to(layout.ViewPermute, int64(len(axes)), list(axes))
}

func (v *view) slice(axis, start, stop, step int64) uint32 {
	return v.to(layout.ViewSlice, axis, start, stop, step)
}

func (v *view) sliceAxes(starts, stops, steps []int64) uint32 {
	return v.to(layout.ViewSliceAxes, int64(len(starts)), list(starts), list(stops), list(steps))
}

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
	return build(v.Shape[:v.Rank], func(index []int64) int64 {
		at := (int64(v.Data) - origin) / 4
		for i, n := range index {
			at += n * v.Strides[i]
		}
		return at
	})
}

func contiguousView(shape ...int64) *view {
	h := layout.TensorHeader{Data: origin, Rank: uint16(len(shape)), Dtype: 2, // I32
		Flags: layout.TensorContiguous}
	copy(h.Shape[:], shape)
	numel, axis := Compact(4, len(shape), &h.Shape, &h.Strides)
	if axis >= 0 {
		panic("not a shape")
	}
	h.Numel, h.Nbytes = numel, 4*numel
	return &view{TensorHeader: h}
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

// A step makes the same change to a view and to its model. want is what the view has to answer; the model is left alone
// where it is refused.
type step func(t *rapid.T, v *view, m model) (got, want uint32, next model)

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

// sliceAxesStep takes a slice or one element of some of the first axes.
func sliceAxesStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	n := rapid.IntRange(0, len(m.shape)).Draw(t, "axes")
	starts, stops, paces := make([]int64, n), make([]int64, n), make([]int64, n)
	shape, chosen := []int64{}, make([][]int64, len(m.shape))
	picked := func(axis int) bool { return axis < n && paces[axis] == 0 }
	for i, extent := range m.shape {
		chosen[i] = pythonSlice(0, extent, 1, extent)
		if i < n {
			starts[i] = rapid.Int64Range(-7, 7).Draw(t, "start")
			stops[i] = rapid.Int64Range(-7, 7).Draw(t, "stop")
			paces[i] = rapid.Int64Range(-2, 2).Draw(t, "step")
		}
		switch {
		case picked(i) && (starts[i] < -extent || starts[i] >= extent):
			want = layout.NoViewElement
		case picked(i):
			chosen[i] = []int64{(starts[i] + extent) % extent}
		case i < n:
			chosen[i] = pythonSlice(starts[i], stops[i], paces[i], extent)
		}
		if !picked(i) {
			shape = append(shape, int64(len(chosen[i])))
		}
	}
	if got = v.sliceAxes(starts, stops, paces); want != granted {
		return got, want, m
	}
	return got, want, build(shape, func(index []int64) int64 {
		from := make([]int64, len(chosen))
		for i := range chosen {
			at := int64(0)
			if !picked(i) {
				at, index = index[0], index[1:]
			}
			from[i] = chosen[i][at]
		}
		return m.at(from)
	})
}

func permuteStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	n := len(m.shape)
	order := rapid.Permutation([]int64{0, 1, 2, 3, 4, 5, 6, 7}[:n]).Draw(t, "order")
	if n == 2 && rapid.Bool().Draw(t, "transpose") {
		order = []int64{1, 0}
		return v.to(layout.ViewTranspose, 0, -1), granted, permuted(m, order)
	}
	if n > 1 && rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
		order[0] = order[1]
		return v.permute(order), layout.NoViewTwice, m
	}
	return v.permute(order), granted, permuted(m, order)
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

func reshapeStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	shape := factors(t, product(m.shape))
	given := slices.Clone(shape)
	if i := rapid.IntRange(-3, len(shape)-1).Draw(t, "open"); i >= 0 && product(shape) != 0 {
		given[i] = -1
	}
	next = model{shape: shape, elements: m.elements}
	if !next.strided() {
		return v.reshape(given), layout.NoViewScattered, m
	}
	return v.reshape(given), granted, next
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

func broadcastStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	lead := rapid.IntRange(0, min(2, layout.MaxRank-len(m.shape))).Draw(t, "lead")
	shape := make([]int64, lead+len(m.shape))
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
	if n := len(m.shape); n > 0 && m.shape[n-1] != 1 && rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
		given[lead+n-1] = rapid.Int64Range(0, 6).Filter(func(d int64) bool { return d != m.shape[n-1] }).Draw(t, "other")
		return v.broadcast(given), layout.NoViewRepeated, m
	}
	return v.broadcast(given), granted, build(shape, func(index []int64) int64 {
		from := slices.Clone(index[lead:])
		for i := range from {
			if m.shape[i] == 1 {
				from[i] = 0
			}
		}
		return m.at(from)
	})
}

func squeezeStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	if len(m.shape) == 0 {
		return v.to(layout.ViewSqueeze, 0), layout.NoViewAxis, m
	}
	axis := rapid.IntRange(0, len(m.shape)-1).Draw(t, "axis")
	if m.shape[axis] != 1 {
		return v.to(layout.ViewSqueeze, int64(axis)), layout.NoViewLong, m
	}
	next = model{slices.Delete(slices.Clone(m.shape), axis, axis+1), m.elements}
	return v.to(layout.ViewSqueeze, int64(axis)-int64(len(m.shape))), granted, next
}

func expandStep(t *rapid.T, v *view, m model) (got, want uint32, next model) {
	axis := rapid.IntRange(0, len(m.shape)).Draw(t, "axis")
	if len(m.shape) == layout.MaxRank {
		return v.to(layout.ViewExpandDims, int64(axis)), layout.NoViewFull, m
	}
	next = model{slices.Insert(slices.Clone(m.shape), axis, 1), m.elements}
	return v.to(layout.ViewExpandDims, int64(axis)), granted, next
}

// TestViewsAgreeWithALookUpTable makes random views of views and compares every
// element with a model that knows no strides.
func TestViewsAgreeWithALookUpTable(t *testing.T) {
	steps := []step{permuteStep, reshapeStep, broadcastStep, squeezeStep, expandStep, sliceAxesStep}
	check := func(t *rapid.T) {
		v := contiguousView(rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 4).Draw(t, "shape")...)
		m := modelOf(v)
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			kind := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
			got, want, next := steps[kind](t, v, m)
			if got != want {
				t.Fatalf("step %d of %v: %v, want %v", kind, m.shape, got, want)
			}
			if len(next.elements) > 2000 {
				return
			}
			m = next
			checkModel(t, v, m)
		}
	}
	for range 100 {
		rapid.Check(t, check)
	}
}

func checkModel(t *rapid.T, v *view, m model) {
	t.Helper()
	got := modelOf(v)
	if !slices.Equal(got.shape, m.shape) || !slices.Equal(got.elements, m.elements) {
		t.Fatalf("is %v, want %v", got, m)
	}
	if n := uint64(len(m.elements)); v.Numel != n || v.Nbytes != 4*n {
		t.Fatalf("%d elements in %d bytes, want %d", v.Numel, v.Nbytes, n)
	}
	contiguous := v.Flags&layout.TensorContiguous != 0
	if rows := modelOf(contiguousView(m.shape...)); contiguous != sameOrder(rows.elements, m.elements) {
		t.Fatalf("contiguous is %v for %v", contiguous, m)
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
