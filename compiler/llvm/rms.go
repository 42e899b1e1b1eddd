package llvm

import (
	"slices"

	"tlruntime/compiler/view"
)

// rmsNormalization takes the mean of squares of a row first.
func (k *kernel) rmsNormalization() error {
	if err := k.sameShape(); err != nil || k.in[0].View.Elements() == 0 {
		return err
	}
	x, scale, y := k.in[0], k.in[1], k.out[0]
	first := int(k.Attrs.Int("axis"))
	if first < 0 || first > len(x.Shape) {
		return k.unsupported(x.dtype, "axis %d of %v", first, x.Shape)
	}
	list, ok := axesOf(x.Shape, y.View, x.View, scale.View)
	if !ok || scale.elem != x.elem {
		return k.unsupported(scale.dtype, "scale %v is not broadcast to %v", scale.Shape, x.Shape)
	}
	n := float64(view.Contiguous(slices.Clone(x.Shape[first:])).Elements())
	r := k.newRows(list, func(i int) bool { return i >= first }, []operand{y, x, scale}, 1)
	r.each([]string{y.ptr, x.ptr, scale.ptr}, func(w *row) {
		l := w.cell(x.elem)
		sum := w.fold(x.elem, literalOf(0)(x.elem), lanes.add, func(x element) string {
			v := x.get(1)
			return x.mul(v, v)
		})
		mean := l.add(l.arith("div", sum, l.number(n)), l.number(k.Attrs.Float("epsilon")))
		factor := l.arith("div", l.number(1), l.call("llvm.sqrt", mean))
		w.each(x.elem, func(x element) { x.put(0, x.mul(x.mul(x.get(1), x.over(factor)), x.get(2))) })
	})
	return nil
}
