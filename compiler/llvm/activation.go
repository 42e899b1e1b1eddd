package llvm

import (
	"math"

	"tlruntime/compiler/graph"
)

var activationKernels = map[string]writer{
	"Gelu":            elementwise(floats, gelu),
	"Elu":             elementwise(floats, elu("alpha", "")),
	"Celu":            elementwise(floats, celu),
	"Selu":            elementwise(floats, elu("alpha", "gamma")),
	"HardSigmoid":     elementwise(floats, hardSigmoid),
	"Swish":           elementwise(floats, swish),
	"ThresholdedRelu": elementwise(floats, thresholded),
	"Shrink":          elementwise(numbers, shrink),
	"HardSwish": elementwise(floats, ofOne(func(l lanes, x string) string {
		return l.mul(x, l.between01(l.add(l.mul(x, l.number(1.0/6)), l.number(0.5))))
	})),
	"Mish":     elementwise(floats, ofOne(func(l lanes, x string) string { return l.mul(x, l.tanh(l.softplus(x))) })),
	"Softplus": elementwise(floats, ofOne(lanes.softplus)),
	"Softsign": elementwise(floats, ofOne(func(l lanes, x string) string {
		return l.arith("div", x, l.add(l.number(1), l.abs(x)))
	})),
	"Sign":  elementwise(numbers, ofOne(lanes.sign)),
	"Round": elementwise(floats, ofOne(func(l lanes, x string) string { return l.call("llvm.rint", x) })),
	"PRelu": elementwise(floats, ofTwo(func(l lanes, x, slope string) string {
		return l.pick(l.cmp("lt", x, l.number(0)), l.mul(x, slope), x)
	})),

	"Sin": trigonometric("sin"), "Cos": trigonometric("cos"), "Tan": trigonometric("tan"),
	"Asin": trigonometric("asin"), "Acos": trigonometric("acos"), "Atan": trigonometric("atan"),
	"Sinh": trigonometric("sinh"), "Cosh": trigonometric("cosh"), "Asinh": trigonometric("asinh"),
	"Acosh": trigonometric("acosh"), "Atanh": trigonometric("atanh"),

	"IsNaN": told(floats, func(_ *kernel, l lanes, x []string) string { return l.cmp("ne", x[0], x[0]) }),
	"IsInf": told(floats, isInfinite),
	"Mean": elementwise(floats, func(k *kernel, l lanes, x []string) string {
		return l.arith("div", ofAll(lanes.add)(k, l, x), l.number(float64(len(x))))
	}),
	"Mod":        elementwise(numbers, rest),
	"BitwiseAnd": elementwise(integers, logical("and")),
	"BitwiseOr":  elementwise(integers, logical("or")),
	"BitwiseXor": elementwise(integers, logical("xor")),
	"BitwiseNot": elementwise(integers, ofOne(func(l lanes, x string) string {
		return l.bin("xor", x,
			l.repeat("-1"))
	})),
	"BitShift": elementwise(integers, bitShift),
}

// told are the kernels of operators that tell something of each element.
func told(types []graph.DType, f formula) writer {
	w := elementwise(types, f)
	w.emit = func(k *kernel) error { return k.elementwise(0, elems[graph.Bool], f) }
	return w
}

// trigonometric calls a function of C's library: numbers of any size are brought into its
// period without a loss.
func trigonometric(name string) writer {
	return elementwise(floats, ofOne(func(l lanes, x string) string {
		if l.ir == "float" {
			return l.library(name+"f", x)
		}
		return l.library(name, x)
	}))
}

// between01 holds x to 0 and 1; a NaN stays.
func (l lanes) between01(x string) string {
	x = l.pick(l.cmp("lt", x, l.number(0)), l.number(0), x)
	return l.pick(l.cmp("gt", x, l.number(1)), l.number(1), x)
}

func gelu(k *kernel, l lanes, x []string) string {
	half := l.mul(x[0], l.number(0.5))
	if k.Attrs.String("approximate") == "tanh" {
		cube := l.mul(l.mul(x[0], x[0]), x[0])
		inner := l.add(x[0], l.mul(cube, l.number(0.044715)))
		return l.mul(half, l.add(l.number(1), l.tanh(l.mul(inner, l.number(math.Sqrt(2/math.Pi))))))
	}
	return l.mul(half, l.add(l.number(1), l.erf(l.mul(x[0], l.number(math.Sqrt2/2)))))
}

// below1 is e^x - 1 for x up to 0, also where that is small; a NaN stays.
func (l lanes) below1(x string) string {
	low := l.number(-64)
	return l.expm1(l.pick(l.cmp("lt", x, low), low, x))
}

func elu(alpha, gamma string) formula {
	return func(k *kernel, l lanes, x []string) string {
		r := l.pick(l.cmp("lt", x[0], l.number(0)), l.mul(l.number(k.Attrs.Float(alpha)), l.below1(l.negative(x[0]))),
			x[0])
		if gamma == "" {
			return r
		}
		return l.mul(l.number(k.Attrs.Float(gamma)), r)
	}
}

// negative is x where it is below 0, else 0, so that powers of e do not overflow.
func (l lanes) negative(x string) string { return l.pick(l.cmp("gt", x, l.number(0)), l.number(0), x) }

func celu(k *kernel, l lanes, x []string) string {
	alpha := l.number(k.Attrs.Float("alpha"))
	low := l.mul(alpha, l.below1(l.negative(l.arith("div", x[0], alpha))))
	return l.pick(l.cmp("lt", x[0], l.number(0)), low, x[0])
}

func hardSigmoid(k *kernel, l lanes, x []string) string {
	return l.between01(l.add(l.mul(x[0], l.number(k.Attrs.Float("alpha"))), l.number(k.Attrs.Float("beta"))))
}

func swish(k *kernel, l lanes, x []string) string {
	return l.mul(x[0], l.sigmoid(l.mul(x[0], l.number(k.Attrs.Float("alpha")))))
}

func thresholded(k *kernel, l lanes, x []string) string {
	return l.pick(l.cmp("gt", x[0], l.number(k.Attrs.Float("alpha"))), x[0], l.number(0))
}

// shrink compares integers with what is left of lambd without its fraction, which is the
// same.
func shrink(k *kernel, l lanes, x []string) string {
	bias, most := l.number(k.Attrs.Float("bias")), k.Attrs.Float("lambd")
	low := -most
	if !l.float() {
		most, low = math.Floor(most), math.Ceil(low)
	}
	r := l.pick(l.cmp("gt", x[0], l.number(most)), l.sub(x[0], bias), l.number(0))
	if l.class == unsigned && low < 0 {
		return r
	}
	return l.pick(l.cmp("lt", x[0], l.number(low)), l.add(x[0], bias), r)
}

// softplus is max(x, 0) + log(1 + e^-|x|), which does not overflow.
func (l lanes) softplus(x string) string {
	e := l.exp(l.neg(l.abs(x)))
	return l.add(l.pick(l.cmp("lt", x, l.number(0)), l.number(0), x), l.log1p(e))
}

// log1p is log(1 + x) for x from 0 to 1: what rounding adds to 1 + x is taken out again
// (Kahan's correction).
func (l lanes) log1p(x string) string {
	one := l.number(1)
	sum := l.add(one, x)
	added := l.sub(sum, one)
	nothing := l.cmp("eq", added, l.number(0))
	r := l.mul(l.log(sum), l.arith("div", x, l.pick(nothing, one, added)))
	return l.pick(nothing, x, r)
}

// sign keeps a NaN and the sign of a zero.
func (l lanes) sign(x string) string {
	r := l.pick(l.cmp("gt", x, l.number(0)), l.number(1), x)
	if l.class == unsigned {
		return r
	}
	return l.pick(l.cmp("lt", x, l.number(0)), l.number(-1), r)
}

func isInfinite(k *kernel, l lanes, x []string) string {
	r := l.of(elems[graph.Bool]).number(0)
	for i, name := range []string{"detect_negative", "detect_positive"} {
		if k.Attrs.Int(name) != 0 {
			end := l.number(math.Inf(2*i - 1))
			r = l.let("or %s %s, %s", vector(l.n, "i1"), r, l.cmp("eq", x[0], end))
		}
	}
	return r
}

// rest divides. An integer modulo 0 is 0, as is the lowest one modulo -1.
func rest(k *kernel, l lanes, x []string) string {
	a, b := x[0], x[1]
	like := k.Attrs.Int("fmod") != 0
	if l.float() {
		return l.floatRest(a, b, like)
	}
	r := l.sub(a, l.mul(l.quotient(a, b), b))
	zero := l.number(0)
	r = l.pick(l.cmp("eq", b, zero), zero, r)
	if l.class == unsigned || like {
		return r
	}
	apart := l.cmp("lt", l.bin("xor", r, b), zero)
	some := l.cmp("ne", r, zero)
	return l.pick(l.let("and %s %s, %s", vector(l.n, "i1"), apart, some), l.add(r, b), r)
}

// floatRest has the sign of a, or of b.
func (l lanes) floatRest(a, b string, like bool) string {
	r, zero := l.bin("frem", a, b), l.number(0)
	if like {
		return r
	}
	apart := l.let("xor %s %s, %s", vector(l.n, "i1"), l.cmp("lt", r, zero), l.cmp("lt", b, zero))
	r = l.pick(l.cmp("eq", r, zero), l.call("llvm.copysign", zero, b), l.pick(apart, l.add(r, b), r))
	return l.pick(l.cmp("eq", b, zero), l.number(math.NaN()), r)
}

// bitShift moves all bits out where the number of places is none of the type's.
func bitShift(k *kernel, l lanes, x []string) string {
	zero := l.number(0)
	beyond := l.let("icmp uge %s %s, %s", l.typ(), x[1], l.number(float64(8*l.bytes)))
	places := l.pick(beyond, zero, x[1])
	if k.Attrs.String("direction") == "LEFT" {
		return l.pick(beyond, zero, l.bin("shl", x[0], places))
	}
	if l.class == unsigned {
		return l.pick(beyond, zero, l.bin("lshr", x[0], places))
	}
	out := l.pick(l.cmp("lt", x[0], zero), l.number(-1), zero)
	return l.pick(beyond, out, l.bin("ashr", x[0], places))
}
