package llvm

import (
	"fmt"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

var normKernels = map[string]writer{
	"Softmax":            {emit: (*kernel).softmax, types: floats},
	"LayerNormalization": {emit: (*kernel).layerNormalization, types: floats},
	"BatchNormalization": {emit: (*kernel).batchNormalization, types: floats, results: 1},
	"LRN":                {emit: (*kernel).lrn, types: floats},
	"LogSoftmax":         {emit: (*kernel).logSoftmax, types: floats},
	"RMSNormalization":   {emit: (*kernel).rmsNormalization, types: floats},
}

// sameShape checks operators whose result is as their argument, which it may lie on.
func (k *kernel) sameShape() error {
	x, y := k.in[0], k.out[0]
	if !slices.Equal(x.Shape, y.Shape) || x.elem != y.elem {
		return k.mismatch(k.Op)
	}
	for i := range k.in {
		if k.overwrites(i) && (i > 0 || !x.View.Same(y.View)) {
			return k.unsupported(x.dtype, "argument %d begins where the result does and is not the same", i)
		}
	}
	return nil
}

// softmax writes e^(x - max) first, and divides what it wrote by the sum. In a type
// that would round it, it computes it twice instead.
func (k *kernel) softmax() error {
	return k.belowHighest(func(w *row, e elem, below func(x element) string) {
		exp := func(x element) string { return x.exp(below(x)) }
		again := exp
		if !e.narrow() {
			again = func(x element) string { return x.get(0) }
		}
		sum := w.fold(e, k.scalar(e).number(0), lanes.add, func(x element) string {
			v := exp(x)
			if !e.narrow() {
				x.put(0, v)
			}
			return v
		})
		l := w.cell(e)
		factor := l.arith("div", l.number(1), sum)
		w.each(e, func(x element) { x.put(0, x.mul(again(x), x.over(factor))) })
	})
}

func (k *kernel) logSoftmax() error {
	return k.belowHighest(func(w *row, e elem, below func(x element) string) {
		sum := w.fold(e, k.scalar(e).number(0), lanes.add, func(x element) string { return x.exp(below(x)) })
		rest := w.cell(e).log(sum)
		w.each(e, func(x element) { x.put(0, x.sub(below(x), x.over(rest))) })
	})
}

// belowHighest emits body for each row along the axes that the attribute names. Its below
// is how far an element lies below the highest one of the row.
func (k *kernel) belowHighest(body func(w *row, e elem, below func(x element) string)) error {
	if err := k.sameShape(); err != nil || k.in[0].View.Elements() == 0 {
		return err
	}
	x, y, axes := k.in[0], k.out[0], k.Attrs.Ints("axes")
	if !areAxes(axes, x.Shape) {
		return k.unsupported(x.dtype, "axes %v of %v", axes, x.Shape)
	}
	list, _ := axesOf(x.Shape, y.View, x.View)
	r := k.newRows(list, func(i int) bool { return slices.Contains(axes, int64(i)) }, []operand{y, x}, 1)
	r.each([]string{y.ptr, x.ptr}, func(w *row) {
		most := w.fold(x.elem, x.elem.lowest(), lanes.max, func(x element) string { return x.get(1) })
		body(w, x.elem, func(x element) string { return x.sub(x.get(1), x.over(most)) })
	})
	return nil
}

// over is a value of the row for the lanes of an element.
func (e element) over(v string) string {
	if e.wide {
		return e.lanes.splat(v)
	}
	return v
}

// layerNormalization takes the mean first and the variance about it then, so that
// nothing cancels out.
func (k *kernel) layerNormalization() error {
	x, scale := k.in[0], k.in[1]
	if !k.out[0].present {
		k.out[0] = x // its shape and layout; nothing is written
		k.out[0].present = false
	}
	if err := k.sameShape(); err != nil || !k.anyElements() {
		return err
	}
	operands := []operand{k.out[0], x, scale}
	for _, o := range append(slices.Clone(k.in[2:]), k.out[1:]...) {
		if o.present {
			operands = append(operands, o)
		}
	}
	_, ptrs, views := all(operands)
	first := int(k.Attrs.Int("axis"))
	if first < 0 || first > len(x.Shape) {
		return k.unsupported(x.dtype, "axis %d of %v", first, x.Shape)
	}
	if err := k.rowResults(first); err != nil {
		return err
	}
	list, ok := axesOf(x.Shape, views...)
	if !ok || slices.ContainsFunc(k.in, func(o operand) bool { return o.present && o.elem != x.elem }) {
		return k.unsupported(scale.dtype, "scale %v or bias is not broadcast to %v", scale.Shape, x.Shape)
	}
	n := float64(view.Contiguous(x.Shape[first:]).Elements())
	r := k.newRows(list, func(i int) bool { return i >= first }, operands, 1)
	r.each(ptrs, func(w *row) { k.normalizeRow(w, x.elem, n) })
	return nil
}

// anyElements reports whether some result has elements.
func (k *kernel) anyElements() bool {
	return slices.ContainsFunc(k.out, func(o operand) bool { return o.present && o.View.Elements() > 0 })
}

// rowResults checks the second and the third result: one element for each row.
func (k *kernel) rowResults(first int) error {
	shape := slices.Clone(k.in[0].Shape)
	for i := first; i < len(shape); i++ {
		shape[i] = 1
	}
	for i, o := range k.out {
		if i > 0 && o.present && (o.dtype != graph.F32 || !slices.Equal(o.Shape, shape)) {
			return k.unsupported(o.dtype, "result %d is of shape %v; f32 of shape %v is computed", i, o.Shape, shape)
		}
	}
	return nil
}

// normalizeRow finds its operands in the order in which layerNormalization lists
// those that there are.
func (k *kernel) normalizeRow(w *row, e elem, n float64) {
	l, zero := w.cell(e), k.scalar(e).number(0)
	sum := w.fold(e, zero, lanes.add, func(x element) string { return x.get(1) })
	mean := l.arith("div", sum, l.number(n))
	squares := w.fold(e, zero, lanes.add, func(x element) string {
		d := x.sub(x.get(1), x.over(mean))
		return x.mul(d, d)
	})
	variance := l.add(l.arith("div", squares, l.number(n)), l.number(k.Attrs.Float("epsilon")))
	factor := l.arith("div", l.number(1), l.call("llvm.sqrt", variance))
	at, biased := 3, len(k.in) > 2 && k.in[2].present
	if biased {
		at++
	}
	for i, v := range []string{mean, factor} {
		if i+1 < len(k.out) && k.out[i+1].present {
			w.store(l, at, convert(l, l.of(elems[graph.F32]), v), w.ptrs[at], false)
			at++
		}
	}
	if !k.out[0].present {
		return
	}
	w.each(e, func(x element) {
		v := x.mul(x.mul(x.sub(x.get(1), x.over(mean)), x.over(factor)), x.get(2))
		if biased {
			v = x.add(v, x.get(3))
		}
		x.put(0, v)
	})
}

// batchNormalization makes a factor and a term of the four arguments of a channel.
func (k *kernel) batchNormalization() error {
	if err := k.sameShape(); err != nil || k.in[0].View.Elements() == 0 {
		return err
	}
	x, y := k.in[0], k.out[0]
	if len(x.Shape) < 2 {
		return k.mismatch(k.Op)
	}
	for _, o := range k.in[1:] {
		if !slices.Equal(o.Shape, x.Shape[1:2]) || o.elem != x.elem {
			return k.unsupported(o.dtype, "an argument of %v for %d channels of %s", o.Shape, x.Shape[1], x.dtype)
		}
	}
	list, _ := axesOf(x.Shape, y.View, x.View)
	inner := merged(append(slices.Clone(list[:1]), list[2:]...), 0)
	types, l := []elem{y.elem, x.elem}, k.scalar(x.elem)
	k.loop(x.Shape[1], func(c string) {
		arg := func(i int) string {
			return l.load(k.at(k.in[i].ptr, l.memory, k.scaled(c, k.in[i].Strides[0])))
		}
		deviation := l.call("llvm.sqrt", l.add(arg(4), l.number(k.Attrs.Float("epsilon"))))
		factor := l.arith("div", arg(1), deviation)
		term := l.sub(arg(2), l.mul(arg(3), factor))
		ptrs := k.advanced(list[1], types, []string{y.ptr, x.ptr}, c)
		k.walk(inner, types, ptrs, func(p []string) { l.store(l.add(l.mul(l.load(p[1]), factor), term), p[0]) })
	})
	return nil
}

// lrn goes along the channels with the window of inputs in registers, as the result
// may lie where they did.
func (k *kernel) lrn() error {
	if err := k.sameShape(); err != nil || k.in[0].View.Elements() == 0 {
		return err
	}
	x, y, size := k.in[0], k.out[0], k.Attrs.Int("size")
	if len(x.Shape) < 2 || size < 1 || size > 64 {
		return k.unsupported(x.dtype, "size %d of %v; there are kernels for sizes from 1 to 64", size, x.Shape)
	}
	list, _ := axesOf(x.Shape, y.View, x.View)
	r := k.newRows(list, func(i int) bool { return i == 1 }, []operand{y, x}, 1)
	r.reduced = list[1:2]
	if r.along > 1 {
		r.along = 1
	}
	r.each([]string{y.ptr, x.ptr}, func(w *row) { k.lrnRow(w, w.cell(x.elem), size) })
	return nil
}

// lrnRow carries inputs c-before to c+after-1 and adds c+after in each turn.
func (k *kernel) lrnRow(w *row, l lanes, size int64) {
	axis := w.reduced[0]
	before, after := (size-1)/2, size/2
	input := func(c string) string {
		ptr := k.at(w.ptrs[1], l.memory, k.scaled(c, axis.strides[1]))
		return w.load(l, 1, ptr, false)
	}
	window := make([]value, before+after)
	for i := range window {
		window[i] = value{l.typ(), l.number(0)}
		if c := int64(i) - before; c >= 0 && c < axis.n {
			window[i].ref = input(strconv.FormatInt(c, 10))
		}
	}
	whole := max(axis.n-after, 0)
	carried := k.fold(whole, window, func(c string, so []string) []string {
		return k.lrnStep(w, l, c, append(slices.Clone(so), input(k.shifted(c, after))), before)
	})
	for c := whole; c < axis.n; c++ {
		carried = k.lrnStep(w, l, fmt.Sprint(c), append(slices.Clone(carried), l.number(0)), before)
	}
}

// lrnStep writes channel c, whose window is given, and returns the window without
// its first input.
func (k *kernel) lrnStep(w *row, l lanes, c string, window []string, before int64) []string {
	sum := l.number(0)
	for _, x := range window {
		sum = l.add(sum, l.mul(x, x))
	}
	a := k.Attrs
	base := l.add(l.mul(sum, l.number(a.Float("alpha")/float64(a.Int("size")))), l.number(a.Float("bias")))
	v := l.mul(window[before], l.pow(base, l.number(-a.Float("beta"))))
	w.store(l, 0, v, k.at(w.ptrs[0], l.memory, k.scaled(c, w.reduced[0].strides[0])), false)
	return window[1:]
}
