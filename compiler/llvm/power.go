package llvm

import (
	"fmt"
	"math"

	"tlruntime/compiler/graph"
)

// powers is elementwise for arguments of two types: the result has the base's.
func (k *kernel) powers() error {
	if err := k.gives(k.in[0].elem); err != nil {
		return err
	}
	return k.compute(0, k.in[0].elem, (*kernel).power)
}

// power raises x[0] to x[1], which may be of another type. Exponents that are one
// constant and have a short form get it.
func (k *kernel) power(l lanes, x []string) string {
	if y, known := k.constantExponent(); known && l.float() {
		if r, short := l.shortPower(x[0], y); short {
			return r
		}
	}
	from := k.scalar(k.in[1].elem)
	switch {
	case l.float():
		return l.pow(x[0], convert(from, l, x[1]))
	case from.float():
		d := l.of(elems[graph.F64])
		return convert(d, l, d.pow(convert(l, d, x[0]), convert(from, d, x[1])))
	}
	return l.integerPower(x[0], convert(from, l, x[1]))
}

func (k *kernel) constantExponent() (float64, bool) {
	c := k.in[1].constant
	if c == nil || graph.Elements(c.Shape) != 1 || k.in[1].View.Elements() < 1 ||
		c.DType != graph.F32 && c.DType != graph.F64 {
		return 0, false
	}
	return c.Number(0).(float64), true
}

func (l lanes) shortPower(x string, y float64) (string, bool) {
	switch y {
	case 1:
		return x, true
	case 2:
		return l.mul(x, x), true
	case 3:
		return l.mul(l.mul(x, x), x), true
	case -1:
		return l.arith("div", l.number(1), x), true
	case 0.5:
		root := l.call("llvm.fabs", l.call("llvm.sqrt", x))
		low := l.cmp("eq", x, l.number(math.Inf(-1)))
		return l.pick(low, l.number(math.Inf(1)), root), true
	}
	return "", false
}

// integerPower multiplies the squares of x that the bits of y name. What overflows
// wraps; a negative exponent gives 1/x^-y without its fraction, 0 for a zero base.
func (l lanes) integerPower(x, y string) string {
	zero, one := l.number(0), l.number(1)
	negative := "false"
	if l.class == signed {
		negative = l.cmp("lt", y, zero)
		y = l.pick(negative, l.neg(y), y)
	}
	init := []value{{l.typ(), one}, {l.typ(), x}, {l.typ(), y}}
	r := l.fold(8*l.bytes, init, func(_ string, v []string) []string {
		odd := l.cmp("ne", l.bin("and", v[2], one), zero)
		return []string{l.pick(odd, l.mul(v[0], v[1]), v[0]), l.mul(v[1], v[1]), l.bin("lshr", v[2], one)}
	})[0]
	if l.class != signed {
		return r
	}
	return l.pick(negative, l.quotient(one, r), r)
}

// convert turns a number into another type. Integers wrap; a float becomes the
// nearest integer towards zero that there is, NaN 0; a boolean tells what is not 0.
func convert(from, to lanes, v string) string {
	switch {
	case from.ir == to.ir && from.class == to.class:
		return v
	case to.class == boolean:
		return from.cmp("ne", v, from.number(0))
	case from.float() && to.float():
		return from.cast(map[bool]string{true: "fpext", false: "fptrunc"}[to.ir == "double"], v, to)
	case from.float():
		return to.saturated(from, v)
	case to.float():
		return from.cast(map[bool]string{true: "sitofp", false: "uitofp"}[from.class == signed], v, to)
	case from.ir == to.ir:
		return v
	case from.class != boolean && from.bytes > to.bytes:
		return from.cast("trunc", v, to)
	}
	return from.cast(map[bool]string{true: "sext", false: "zext"}[from.class == signed], v, to)
}

func (l lanes) saturated(from lanes, v string) string {
	op := map[string]string{signed: "llvm.fptosi.sat", unsigned: "llvm.fptoui.sat"}[l.class]
	name := fmt.Sprintf("%s.%s.%s", op, l.suffix(), from.suffix())
	l.module.declare(name, fmt.Sprintf("declare %s @%s(%s)", l.typ(), name, from.typ()))
	return l.let("call %s @%s(%s %s)", l.typ(), name, from.typ(), v)
}

func (k *kernel) castElements() error {
	to := k.out[0].elem
	operands := []operand{k.out[0], k.in[0]}
	return k.each(operands, func(ptrs []string) {
		from := k.scalar(k.in[0].elem)
		k.scalar(to).store(convert(from, k.scalar(to), from.load(ptrs[1])), ptrs[0])
	})
}
