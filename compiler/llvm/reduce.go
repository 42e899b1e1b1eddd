package llvm

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/view"
)

var reduceKernels = map[string]writer{
	"ReduceSum":  {emit: func(k *kernel) error { return k.reduce(k.Attrs.Ints("axes")) }, types: numbers, args: exactly(1), results: 1},
	"ReduceMean": {emit: func(k *kernel) error { return k.reduce(k.Attrs.Ints("axes")) }, types: numbers, args: exactly(1), results: 1},
	"ReduceMax":  {emit: func(k *kernel) error { return k.reduce(k.Attrs.Ints("axes")) }, types: computed, args: exactly(1), results: 1},

	"GlobalAveragePool": {emit: (*kernel).global, types: floats, args: exactly(1), results: 1},
	"GlobalMaxPool":     {emit: (*kernel).global, types: floats, args: exactly(1), results: 1},
}

// global reduces all axes behind the second.
func (k *kernel) global() error {
	var axes []int64
	for i := 2; i < len(k.in[0].Shape); i++ {
		axes = append(axes, int64(i))
	}
	return k.reduce(axes)
}

// reduce folds the axes, which the result has with extent 1 or has not.
func (k *kernel) reduce(axes []int64) error {
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
	mean := strings.HasSuffix(k.Op, "Mean") || k.Op == "GlobalAveragePool"
	switch {
	case mean || k.Op == "ReduceSum":
		start, join = k.scalar(x.elem).number(0), lanes.add
	case x.class == boolean:
		join = func(l lanes, a, b string) string { return l.bin("or", a, b) }
	}
	r := k.newRows(list, func(i int) bool { return slices.Contains(axes, int64(i)) }, []operand{y, x}, 1)
	r.each([]string{y.ptr, x.ptr}, func(w *row) {
		v := w.fold(x.elem, start, join, func(e element) string { return e.get(1) })
		l := w.cell(x.elem)
		if mean {
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
