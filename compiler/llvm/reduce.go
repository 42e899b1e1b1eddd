package llvm

import (
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/view"
)

// reduction is how elements are joined to one.
type reduction struct {
	start  func(e elem) string                       // a literal that changes nothing
	join   func(l lanes, a, b string) string         // of two
	before func(l lanes, x string) string            // nil: what is joined is the element itself
	after  func(l lanes, v string, n float64) string // nil: the result is what was joined; n elements were
}

func literalOf(x float64) func(e elem) string {
	return func(e elem) string { return lanes{nil, e, 1}.number(x) }
}

func squared(l lanes, x string) string { return l.mul(x, x) }

var (
	sums  = reduction{start: literalOf(0), join: lanes.add}
	means = reduction{start: literalOf(0), join: lanes.add, after: func(l lanes, v string, n float64) string {
		return l.quotient(v, l.number(n))
	}}
	maxima = reduction{start: elem.lowest, join: func(l lanes, a, b string) string {
		if l.class == boolean {
			return l.bin("or", a, b)
		}
		return l.max(a, b)
	}}
	minima = reduction{start: elem.highest, join: func(l lanes, a, b string) string {
		if l.class == boolean {
			return l.bin("and", a, b)
		}
		return l.min(a, b)
	}}
	products = reduction{start: literalOf(1), join: lanes.mul}
	sizes    = reduction{start: literalOf(0), join: lanes.add, before: lanes.abs}
	squares  = reduction{start: literalOf(0), join: lanes.add, before: squared}
	lengths  = reduction{start: literalOf(0), join: lanes.add, before: squared,
		after: func(l lanes, v string, _ float64) string { return l.call("llvm.sqrt", v) }}
	logarithms = reduction{start: literalOf(0), join: lanes.add,
		after: func(l lanes, v string, _ float64) string { return l.log(v) }}
)

var reduceKernels = map[string]writer{
	"ReduceSum":       {emit: sums.ofAxes, types: numbers},
	"ReduceMean":      {emit: means.ofAxes, types: numbers},
	"ReduceMax":       {emit: maxima.ofAxes, types: computed},
	"ReduceMin":       {emit: minima.ofAxes, types: computed},
	"ReduceProd":      {emit: products.ofAxes, types: numbers},
	"ReduceL1":        {emit: sizes.ofAxes, types: numbers},
	"ReduceL2":        {emit: lengths.ofAxes, types: floats},
	"ReduceSumSquare": {emit: squares.ofAxes, types: numbers},
	"ReduceLogSum":    {emit: logarithms.ofAxes, types: floats},
	"ReduceLogSumExp": {emit: (*kernel).reduceLogSumExp, types: floats},

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
	return k.reduceRows(axes, func(w *row, turns float64) string {
		e := k.in[0].elem
		v := w.fold(e, what.start(e), what.join, func(x element) string {
			if what.before == nil {
				return x.get(1)
			}
			return what.before(x.lanes, x.get(1))
		})
		if what.after == nil {
			return v
		}
		return what.after(w.cell(e), v, turns)
	})
}

// reduceLogSumExp takes the highest element out of the sum, so that nothing overflows.
// One that is infinite is taken out as the highest finite number.
func (k *kernel) reduceLogSumExp() error {
	return k.reduceRows(k.Attrs.Ints("axes"), func(w *row, _ float64) string {
		e := k.in[0].elem
		l := w.cell(e)
		most := w.fold(e, e.lowest(), lanes.max, func(x element) string { return x.get(1) })
		finite := math.MaxFloat32
		if l.ir == "double" {
			finite = math.MaxFloat64
		}
		most = l.pick(l.cmp("gt", most, l.number(finite)), l.number(finite), most)
		most = l.pick(l.cmp("lt", most, l.number(-finite)), l.number(-finite), most)
		sum := w.fold(e, literalOf(0)(e), lanes.add, func(x element) string {
			return x.exp(x.sub(x.get(1), x.over(most)))
		})
		return l.add(l.log(sum), most)
	})
}

// reduceRows writes what body makes of each row, and of the number of its elements.
func (k *kernel) reduceRows(axes []int64, body func(w *row, turns float64) string) error {
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
	r := k.newRows(list, func(i int) bool { return slices.Contains(axes, int64(i)) }, []operand{y, x}, 1)
	r.each([]string{y.ptr, x.ptr}, func(w *row) {
		w.store(w.cell(x.elem), 0, body(w, float64(turns)), w.ptrs[0], false)
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
