package llvm

import (
	"fmt"
	"slices"

	"tlruntime/compiler/view"
)

// reduction is what becomes of the elements that a reduction joins.
type reduction uint8

const (
	sums reduction = iota
	means
	maxima
)

var reduceKernels = map[string]writer{
	"ReduceSum":  {emit: sums.ofAxes, types: numbers},
	"ReduceMean": {emit: means.ofAxes, types: numbers},
	"ReduceMax":  {emit: maxima.ofAxes, types: computed},

	"GlobalAveragePool": {emit: means.global, types: floats},
	"GlobalMaxPool":     {emit: maxima.global, types: floats},
}

// ofAxes reduces the axes that the attribute names.
func (what reduction) ofAxes(k *kernel) error { return k.reduce(what, k.Attrs.Ints("axes")) }

// global reduces all axes behind the second.
func (what reduction) global(k *kernel) error {
	var axes []int64
	for i := 2; i < len(k.in[0].Shape); i++ {
		axes = append(axes, int64(i))
	}
	return k.reduce(what, axes)
}

// reduce folds the axes, which the result has with extent 1 or has not.
func (k *kernel) reduce(what reduction, axes []int64) error {
	x, y := k.in[0], k.out[0]
	strides, ok := reducedStrides(x.Shape, y.View, axes)
	if !ok || !areAxes(axes, x.Shape) || x.elem != y.elem {
		return k.mismatch(fmt.Sprintf("%s of the axes %v", k.Op, axes))
	}
	list := make([]axis, len(x.Shape))
	turns := int64(1)
	for i, n := range x.Shape {
		list[i] = axis{n, []int64{strides[i], x.Strides[i]}}
		if slices.Contains(axes, int64(i)) {
			turns *= n
		}
	}
	if y.View.Elements() == 0 {
		return nil
	}
	start, join := x.elem.lowest(), lanes.max
	switch {
	case what != maxima:
		start, join = k.scalar(x.elem).number(0), lanes.add
	case x.class == boolean:
		join = func(l lanes, a, b string) string { return l.bin("or", a, b) }
	}
	r := k.newRows(list, func(i int) bool { return slices.Contains(axes, int64(i)) }, []operand{y, x}, 1)
	r.each([]string{y.ptr, x.ptr}, func(w *row) {
		v := w.fold(x.elem, start, join, func(e element) string { return e.get(1) })
		l := w.cell(x.elem)
		if what == means {
			v = l.quotient(v, l.number(float64(turns)))
		}
		w.store(l, 0, v, w.ptrs[0], false)
	})
	return nil
}

// areAxes reports whether a shape has all of these axes.
func areAxes(axes, shape []int64) bool {
	return !slices.ContainsFunc(axes, func(a int64) bool { return a < 0 || a >= int64(len(shape)) })
}

// reducedStrides returns the strides of the result for each axis of shape, 0 for
// those that are reduced.
func reducedStrides(shape []int64, y view.View, axes []int64) ([]int64, bool) {
	strides := make([]int64, len(shape))
	keeps := len(y.Shape) == len(shape)
	at := 0
	for i, n := range shape {
		if slices.Contains(axes, int64(i)) {
			if keeps {
				if y.Shape[i] != 1 {
					return nil, false
				}
				at++
			}
			continue
		}
		if at >= len(y.Shape) || y.Shape[at] != n {
			return nil, false
		}
		strides[i] = y.Strides[at]
		at++
	}
	return strides, at == len(y.Shape)
}
