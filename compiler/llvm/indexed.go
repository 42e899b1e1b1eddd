package llvm

import (
	"fmt"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
)

var indexedKernels = map[string]writer{
	"ArgMax":          {emit: func(k *kernel) error { return k.argExtreme("gt") }, types: numbers},
	"ArgMin":          {emit: func(k *kernel) error { return k.argExtreme("lt") }, types: numbers},
	"GatherElements":  {emit: (*kernel).gatherElements, types: computed},
	"GatherND":        {emit: (*kernel).gatherND, types: computed},
	"ScatterElements": {emit: (*kernel).scatterElements, types: computed},
	"ScatterND":       {emit: (*kernel).scatterND, types: computed},
	"NonZero":         {emit: (*kernel).nonZero, types: computed},
	"CumSum":          {emit: (*kernel).cumSum, types: numbers},
	"TopK":            {emit: (*kernel).topK, types: numbers},
}

// beats reports whether a takes the place of b: it is above ("gt") or below it ("lt"), or
// is the first NaN.
func (l lanes) beats(order, a, b string) string {
	r := l.cmp(order, a, b)
	if !l.float() {
		return r
	}
	truths := vector(l.n, "i1")
	first := l.let("and %s %s, %s", truths, l.cmp("ne", a, a), l.cmp("eq", b, b))
	return l.let("or %s %s, %s", truths, r, first)
}

func (k *kernel) argExtreme(order string) error {
	x, y, axes := k.in[0], k.out[0], []int64{k.Attrs.Int("axis")}
	if !areAxes(axes, x.Shape) || y.dtype != graph.I64 {
		return k.mismatch(fmt.Sprintf("axis %d", axes[0]))
	}
	strides, ok := reducedStrides(x.Shape, y.View, axes)
	if !ok || x.Shape[axes[0]] == 0 {
		return k.mismatch(fmt.Sprintf("axis %d", axes[0]))
	}
	if y.View.Elements() == 0 {
		return nil
	}
	list := make([]axis, len(x.Shape))
	for i, n := range x.Shape {
		list[i] = axis{n, []int64{strides[i], x.Strides[i]}}
	}
	r := k.newRows(list, func(i int) bool { return int64(i) == axes[0] }, []operand{y, x}, 1)
	r.each([]string{y.ptr, x.ptr}, func(w *row) { k.argOfRow(w, order, x.Shape[axes[0]], x.Strides[axes[0]]) })
	return nil
}

// argOfRow writes which of n elements is the best, in each lane of the row.
func (k *kernel) argOfRow(w *row, order string, n, stride int64) {
	l, number := w.cell(k.in[0].elem), w.cell(elems[graph.I64])
	last := k.Attrs.Int("select_last_index") != 0
	load := func(i string) string {
		return w.load(l, 1, k.at(w.ptrs[1], l.memory, k.scaled(i, stride)), false)
	}
	init := []value{{l.typ(), load("0")}, {number.typ(), number.repeat("0")}}
	done := k.fold(n, init, func(i string, so []string) []string {
		v := load(i)
		better := l.beats(order, v, so[0])
		if last {
			better = k.let("or %s %s, %s", vector(l.n, "i1"), better, l.cmp("eq", v, so[0]))
		}
		return []string{l.pick(better, v, so[0]), number.pick(better, number.splat(i), so[1])}
	})
	w.store(number, 0, done[1], w.ptrs[0], false)
}

// indexedAlong checks operators whose indices name elements of one axis of a tensor, and
// returns that axis. What goes with the indices has their shape.
func (k *kernel) indexedAlong(whole, indices, with operand) (int, error) {
	axis := int(k.Attrs.Int("axis"))
	if indices.dtype != graph.I32 && indices.dtype != graph.I64 {
		return 0, k.unsupported(indices.dtype, "indices are of i32 or i64")
	}
	if axis < 0 || axis >= len(whole.Shape) || len(indices.Shape) != len(whole.Shape) ||
		!slices.Equal(indices.Shape, with.Shape) {
		return 0, k.mismatch(fmt.Sprintf("axis %d of indices %v", axis, indices.Shape))
	}
	for i, n := range indices.Shape {
		if i != axis && n > whole.Shape[i] {
			return 0, k.mismatch(fmt.Sprintf("axis %d of indices %v", axis, indices.Shape))
		}
	}
	if whole.elem != with.elem {
		return 0, k.unsupported(with.dtype, "it is of %s and of %s", whole.dtype, with.dtype)
	}
	return axis, nil
}

// walkAlong emits body for each index, in their order: with the addresses of what goes
// with it and of the element of whole that it names.
func (k *kernel) walkAlong(axisOf int, whole, indices, with operand, body func(with, element string)) {
	axes := make([]axis, len(indices.Shape))
	for i, n := range indices.Shape {
		axes[i] = axis{n, []int64{with.Strides[i], indices.Strides[i], whole.Strides[i]}}
		if i == axisOf {
			axes[i].strides[2] = 0
		}
	}
	types := []elem{with.elem, indices.elem, whole.elem}
	k.walk(joinedAxes(axes), types, []string{with.ptr, indices.ptr, whole.ptr}, func(p []string) {
		index, _ := k.index(indices, p[1], whole.Shape[axisOf])
		body(p[0], k.at(p[2], whole.memory, k.scaled(index, whole.Strides[axisOf])))
	})
}

func (k *kernel) gatherElements() error {
	data, indices, to := k.in[0], k.in[1], k.out[0]
	along, err := k.indexedAlong(data, indices, to)
	if err != nil || to.View.Elements() == 0 {
		return err
	}
	k.checkIndices(indices, data.Shape[along])
	data.elem, to.elem = data.elem.opaque(), to.elem.opaque()
	l := k.scalar(data.elem)
	k.walkAlong(along, data, indices, to, func(with, element string) { l.store(l.load(element), with) })
	return nil
}

// combination is how an update goes into an element: it takes its place, or is joined
// with it.
func (k *kernel) combination(e elem) (elem, func(l lanes, old, update string) string, error) {
	switch how := k.Attrs.String("reduction"); {
	case how == "none":
		return e.opaque(), nil, nil
	case e.class == boolean:
		return e, nil, k.unsupported(e.dtype, "reduction %q", how)
	case how == "add":
		return e, lanes.add, nil
	case how == "mul":
		return e, lanes.mul, nil
	case how == "max":
		return e, lanes.max, nil
	case how == "min":
		return e, lanes.min, nil
	default:
		return e, nil, k.unsupported(e.dtype, "reduction %q", how)
	}
}

// update returns what puts the element at from into the one at to.
func (k *kernel) update(e elem) (elem, func(from, to string), error) {
	e, join, err := k.combination(e)
	l := k.scalar(e)
	return e, func(from, to string) {
		v := l.load(from)
		if join != nil {
			v = join(l, l.load(to), v)
		}
		l.store(v, to)
	}, err
}

func (k *kernel) scatterElements() error {
	data, indices, updates, to := k.in[0], k.in[1], k.in[2], k.out[0]
	along, err := k.indexedAlong(to, indices, updates)
	if err != nil {
		return err
	}
	e, put, err := k.update(to.elem)
	if err != nil || !slices.Equal(data.Shape, to.Shape) || data.elem != to.elem {
		return errorOr(err, k.mismatch(k.Op))
	}
	some := indices.View.Elements() > 0
	if some {
		k.checkIndices(indices, to.Shape[along])
	}
	if err := k.move(to, data); err != nil || !some {
		return err
	}
	to.elem, updates.elem = e, e
	k.walkAlong(along, to, indices, updates, func(with, element string) { put(with, element) })
	return nil
}

func errorOr(first, otherwise error) error {
	if first != nil {
		return first
	}
	return otherwise
}

// tuples are indices whose last axis names an element, or a part, of a tensor.
type tuples struct {
	indices operand
	batch   int // first axes that both have
	n       int // axes of the tensor that are named
	shape   []int64
}

// tuplesOf checks indices into a tensor of this shape.
func (k *kernel) tuplesOf(indices operand, shape []int64, batch int) (*tuples, error) {
	last := len(indices.Shape) - 1
	if indices.dtype != graph.I32 && indices.dtype != graph.I64 {
		return nil, k.unsupported(indices.dtype, "indices are of i32 or i64")
	}
	if batch < 0 || last < batch || batch > len(shape) || !slices.Equal(indices.Shape[:batch], shape[:batch]) ||
		indices.Shape[last] > int64(len(shape)-batch) {
		return nil, k.mismatch(fmt.Sprintf("indices %v", indices.Shape))
	}
	return &tuples{indices, batch, int(indices.Shape[last]), shape}, nil
}

// withShape is the shape of what goes with the tuples.
func (t *tuples) withShape() []int64 {
	last := len(t.indices.Shape) - 1
	return slices.Concat(t.indices.Shape[:last], t.shape[t.batch+t.n:])
}

// checkTuples looks at all indices first.
func (k *kernel) checkTuples(t *tuples) {
	last := len(t.indices.Shape) - 1
	for j := range t.n {
		column := t.indices
		column.ptr = k.at(t.indices.ptr, t.indices.memory, strconv.FormatInt(int64(j)*t.indices.Strides[last], 10))
		column.View.Shape, column.View.Strides = t.indices.Shape[:last], t.indices.Strides[:last]
		k.checkIndices(column, t.shape[t.batch+j])
	}
}

// walkTuples emits body for each element of with, in order, and the one of whole that the
// tuple and its place behind it name.
func (k *kernel) walkTuples(t *tuples, whole, with operand, body func(with, element string)) {
	last := len(t.indices.Shape) - 1
	var outer, inner []axis
	for i, n := range with.Shape {
		switch {
		case i < t.batch:
			outer = append(outer, axis{n, []int64{with.Strides[i], t.indices.Strides[i], whole.Strides[i]}})
		case i < last:
			outer = append(outer, axis{n, []int64{with.Strides[i], t.indices.Strides[i], 0}})
		default:
			inner = append(inner, axis{n, []int64{with.Strides[i], 0, whole.Strides[i-last+t.batch+t.n]}})
		}
	}
	types := []elem{with.elem, t.indices.elem, whole.elem}
	k.walk(joinedAxes(outer), types, []string{with.ptr, t.indices.ptr, whole.ptr}, func(p []string) {
		to := p[2]
		for j := range t.n {
			at := k.at(p[1], t.indices.memory, strconv.FormatInt(int64(j)*t.indices.Strides[last], 10))
			index, _ := k.index(t.indices, at, t.shape[t.batch+j])
			to = k.at(to, whole.memory, k.scaled(index, whole.Strides[t.batch+j]))
		}
		k.walk(joinedAxes(inner), types, []string{p[0], p[1], to}, func(p []string) { body(p[0], p[2]) })
	})
}

func (k *kernel) gatherND() error {
	data, indices, to := k.in[0], k.in[1], k.out[0]
	t, err := k.tuplesOf(indices, data.Shape, int(k.Attrs.Int("batch_dims")))
	if err != nil {
		return err
	}
	if !slices.Equal(t.withShape(), to.Shape) || data.elem != to.elem {
		return k.mismatch(fmt.Sprintf("indices %v", indices.Shape))
	}
	if to.View.Elements() == 0 {
		return nil
	}
	k.checkTuples(t)
	data.elem, to.elem = data.elem.opaque(), to.elem.opaque()
	l := k.scalar(data.elem)
	k.walkTuples(t, data, to, func(with, element string) { l.store(l.load(element), with) })
	return nil
}

func (k *kernel) scatterND() error {
	data, indices, updates, to := k.in[0], k.in[1], k.in[2], k.out[0]
	t, err := k.tuplesOf(indices, data.Shape, 0)
	if err != nil {
		return err
	}
	e, put, err := k.update(to.elem)
	if err != nil || !slices.Equal(t.withShape(), updates.Shape) || !slices.Equal(data.Shape, to.Shape) ||
		data.elem != to.elem || updates.elem != to.elem {
		return errorOr(err, k.mismatch(fmt.Sprintf("indices %v and updates %v", indices.Shape, updates.Shape)))
	}
	some := updates.View.Elements() > 0
	if some {
		k.checkTuples(t)
	}
	if err := k.move(to, data); err != nil || !some {
		return err
	}
	to.elem, updates.elem = e, e
	k.walkTuples(t, to, updates, put)
	return nil
}
