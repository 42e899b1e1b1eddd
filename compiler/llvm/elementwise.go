package llvm

import (
	"math"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
)

// formula computes one element of a result from one element of each argument. The
// lanes are of the deciding argument's type.
type formula func(k *kernel, l lanes, x []string) string

func ofOne(f func(l lanes, x string) string) formula {
	return func(_ *kernel, l lanes, x []string) string { return f(l, x[0]) }
}

func ofTwo(f func(l lanes, x, y string) string) formula {
	return func(_ *kernel, l lanes, x []string) string { return f(l, x[0], x[1]) }
}

// ofAll applies f from the first argument to the last.
func ofAll(f func(l lanes, x, y string) string) formula {
	return func(_ *kernel, l lanes, x []string) string {
		r := x[0]
		for _, y := range x[1:] {
			r = f(l, r, y)
		}
		return r
	}
}

func compared(order string, types []graph.DType) writer {
	f := ofTwo(func(l lanes, x, y string) string { return l.cmp(order, x, y) })
	w := elementwise(types, f)
	w.emit = func(k *kernel) error { return k.elementwise(0, elems[graph.Bool], f) }
	return w
}

func logical(op string) formula {
	return ofTwo(func(l lanes, x, y string) string { return l.bin(op, x, y) })
}

// elementwise are the kernels of operators that compute each element by itself.
func elementwise(types []graph.DType, f formula) writer {
	emit := func(k *kernel) error { return k.elementwise(0, k.in[0].elem, f) }
	return writer{emit: emit, types: types}
}

var elementwiseKernels = map[string]writer{
	"Add": elementwise(numbers, ofTwo(lanes.add)),
	"Sub": elementwise(numbers, ofTwo(lanes.sub)),
	"Mul": elementwise(numbers, ofTwo(lanes.mul)),
	"Div": elementwise(numbers, ofTwo(lanes.quotient)),
	"Max": elementwise(numbers, ofAll(lanes.max)),
	"Min": elementwise(numbers, ofAll(lanes.min)),
	"Sum": elementwise(numbers, ofAll(lanes.add)),
	"Pow": {emit: (*kernel).powers, types: numbers},

	"Sqrt":       elementwise(floats, ofOne(func(l lanes, x string) string { return l.call("llvm.sqrt", x) })),
	"Floor":      elementwise(floats, ofOne(func(l lanes, x string) string { return l.call("llvm.floor", x) })),
	"Ceil":       elementwise(floats, ofOne(func(l lanes, x string) string { return l.call("llvm.ceil", x) })),
	"Exp":        elementwise(floats, ofOne(lanes.exp)),
	"Log":        elementwise(floats, ofOne(lanes.log)),
	"Tanh":       elementwise(floats, ofOne(lanes.tanh)),
	"Sigmoid":    elementwise(floats, ofOne(lanes.sigmoid)),
	"Erf":        elementwise(floats, ofOne(lanes.erf)),
	"Reciprocal": elementwise(floats, ofOne(func(l lanes, x string) string { return l.arith("div", l.number(1), x) })),
	"Relu":       elementwise(numbers, ofOne(lanes.relu)),
	"LeakyRelu":  leakyReluKernel,
	"Neg":        elementwise(signeds, ofOne(lanes.neg)),
	"Abs":        elementwise(numbers, ofOne(lanes.abs)),
	"Clip":       elementwise(numbers, clip),

	"Equal":          compared("eq", computed),
	"Less":           compared("lt", numbers),
	"LessOrEqual":    compared("le", numbers),
	"Greater":        compared("gt", numbers),
	"GreaterOrEqual": compared("ge", numbers),
	"And":            elementwise(truths, logical("and")),
	"Or":             elementwise(truths, logical("or")),
	"Xor":            elementwise(truths, logical("xor")),
	"Not":            elementwise(truths, ofOne(func(l lanes, x string) string { return l.bin("xor", x, "true") })),

	"Where": {emit: (*kernel).where, types: computed, decider: 1},
	"Cast":  {emit: (*kernel).castElements, types: computed},
}

// elementwise emits loops over the result in which f computes each element, of
// the type that is given. The arguments from first on have the deciding type.
func (k *kernel) elementwise(first int, result elem, f formula) error {
	if err := k.gives(result); err != nil {
		return err
	}
	for _, o := range k.in[first:] {
		if o.elem != k.in[first].elem {
			return k.unsupported(o.dtype, "its arguments are of %s and of %s", k.in[first].dtype, o.dtype)
		}
	}
	return k.compute(first, result, f)
}

// gives holds the first result to a type.
func (k *kernel) gives(result elem) error {
	if k.out[0].elem != result {
		return k.unsupported(k.out[0].dtype, "its result is of %s, not of %s", result.dtype, k.out[0].dtype)
	}
	return nil
}

// compute is elementwise without its checks.
func (k *kernel) compute(first int, result elem, f formula) error {
	operands := append([]operand{k.out[0]}, k.in...)
	return k.each(operands, func(ptrs []string) {
		x := make([]string, len(k.in))
		for i, o := range k.in {
			x[i] = k.scalar(o.elem).load(ptrs[1+i])
		}
		k.scalar(result).store(f(k, k.scalar(k.in[first].elem), x), ptrs[0])
	})
}

// each emits loops over the first operand, to which the others are broadcast, in an
// order that suits the first one. In the loops no iteration depends on another, so
// that LLVM makes vectors of them.
func (k *kernel) each(operands []operand, body func(ptrs []string)) error {
	elems, ptrs, views := all(operands)
	for i, o := range operands {
		ptrs[i] = k.at(o.ptr, o.memory, strconv.FormatInt(o.View.Offset, 10))
	}
	axes, ok := axesOf(views[0].Shape, views...)
	if !ok {
		return k.unsupported(operands[0].dtype, "a shape among %v is not broadcast to %v", views[1:], views[0].Shape)
	}
	for i, o := range operands[1:] {
		if o.source == operands[0].source && !walksAlike(axes, 1+i) {
			return k.unsupported(o.dtype, "argument %d begins where the result does and has other strides", i)
		}
	}
	if views[0].Elements() > 0 {
		k.walk(blocked(merged(axes, 0)), elems, ptrs, body)
	}
	return nil
}

// walksAlike reports whether view i goes where the first one does.
func walksAlike(axes []axis, i int) bool {
	return !slices.ContainsFunc(axes, func(a axis) bool { return a.n > 1 && a.strides[0] != a.strides[i] })
}

// quotient divides. An integer divided by 0 is 0; the lowest one by -1 is itself.
func (l lanes) quotient(x, y string) string {
	if l.float() {
		return l.arith("div", x, y)
	}
	zero, one := l.number(0), l.number(1)
	none := l.cmp("eq", y, zero)
	if l.class == unsigned {
		return l.pick(none, zero, l.bin("udiv", x, l.pick(none, one, y)))
	}
	minus := l.cmp("eq", y, l.number(-1))
	trapped := l.let("or %s %s, %s", vector(l.n, "i1"), none, minus)
	q := l.pick(minus, l.sub(zero, x), l.bin("sdiv", x, l.pick(trapped, one, y)))
	return l.pick(none, zero, q)
}

// relu keeps a NaN.
func (l lanes) relu(x string) string { return l.pick(l.cmp("lt", x, l.number(0)), l.number(0), x) }

func (l lanes) neg(x string) string {
	if l.float() {
		return l.let("fneg %s %s", l.typ(), x)
	}
	return l.sub(l.number(0), x)
}

func (l lanes) abs(x string) string {
	switch l.class {
	case floating:
		return l.call("llvm.fabs", x)
	case unsigned:
		return x
	}
	return l.pick(l.cmp("lt", x, l.number(0)), l.neg(x), x)
}

// clip keeps a NaN; a bound that is absent does not hold.
func clip(k *kernel, l lanes, x []string) string {
	r := x[0]
	if low, ok := k.Attrs["min"].(float64); ok && !math.IsInf(low, -1) {
		bound := l.number(low)
		r = l.pick(l.cmp("lt", r, bound), bound, r)
	}
	if high, ok := k.Attrs["max"].(float64); ok && !math.IsInf(high, 1) {
		bound := l.number(high)
		r = l.pick(l.cmp("gt", r, bound), bound, r)
	}
	return r
}

func (k *kernel) where() error {
	if k.in[0].dtype != graph.Bool {
		return k.unsupported(k.in[0].dtype, "the condition is of bool")
	}
	for _, o := range []*operand{&k.in[1], &k.in[2], &k.out[0]} {
		o.elem = o.elem.opaque()
	}
	return k.elementwise(1, k.in[1].elem, func(_ *kernel, l lanes, x []string) string {
		return l.pick(x[0], x[1], x[2])
	})
}
