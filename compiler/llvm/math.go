package llvm

import (
	"fmt"
	"math"

	"tlruntime/compiler/graph"
)

// Functions of mathematics are written out, so that loops over them vectorise on
// any target and modules need no library. They keep to a few units in the last
// place, and have the infinities, zeros and NaNs of C's functions; exceptions are
// told at each. All are branch free: special cases are selected in the end.

// layout is what has to be known of a float type to take its bits apart.
type layout struct {
	bits     elem    // integer of the same size
	mantissa int     // bits of the fraction
	bias     int64   // of the exponent
	round    float64 // x + round - round is the integer nearest to x
	ln2High  float64 // ln 2 in as many bits as leave a product with an exponent exact
	ln2Low   float64 // the rest of ln 2
	expTerms int     // of the series of exp
	logTerms int     // of the series of log
}

var layouts = map[string]layout{
	"float": {elems[graph.I32], 23, 127, 1.5 * (1 << 23), 355.0 / 512, math.Ln2 - 355.0/512, 7, 5},
	"double": {elems[graph.I64], 52, 1023, 1.5 * (1 << 52), math.Float64frombits(0x3FE62E42FEE00000),
		1.9082149292705877e-10, 13, 11},
}

// poly returns c[0] + c[1]*x + ... by Horner's rule.
func (l lanes) poly(x string, c []float64) string {
	y := l.number(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = l.add(l.mul(y, x), l.number(c[i]))
	}
	return y
}

func (l lanes) cast(op, v string, to lanes) string {
	return l.let("%s %s %s to %s", op, l.typ(), v, to.typ())
}

// reduction is x = n*ln2 + r with |r| <= ln2/2: n as a float, n as an integer, r.
func (l lanes) reduction(x string, t layout) (integer, r string) {
	shifted := l.add(l.mul(x, l.number(math.Log2E)), l.number(t.round))
	n := l.sub(shifted, l.number(t.round))
	bits := l.of(t.bits)
	integer = bits.sub(l.cast("bitcast", shifted, bits), l.cast("bitcast", l.number(t.round), bits))
	r = l.sub(x, l.mul(n, l.number(t.ln2High)))
	r = l.sub(r, l.mul(n, l.number(t.ln2Low)))
	return integer, r
}

// power2 returns 2^n for an n whose power is a normal number.
func (l lanes) power2(n string, t layout) string {
	bits := l.of(t.bits)
	biased := bits.add(n, bits.repeat(fmt.Sprint(t.bias)))
	return bits.cast("bitcast", bits.bin("shl", biased, bits.repeat(fmt.Sprint(t.mantissa))), l)
}

// inverseFactorials are 1/from!, 1/(from+1)!, ..., 1/to!.
func inverseFactorials(from, to int) []float64 {
	f, list := 1.0, []float64(nil)
	for i := 0; i <= to; i++ {
		if i > 0 {
			f *= float64(i)
		}
		if i >= from {
			list = append(list, 1/f)
		}
	}
	return list
}

// exp is 2^n times the series of e^r, r at most ln2/2.
func (l lanes) exp(x string) string { return l.expTo(x, layouts[l.ir].expTerms) }

func (l lanes) expTo(x string, terms int) string {
	t := layouts[l.ir]
	low := -float64(t.bias+int64(t.mantissa)+2) * math.Ln2
	high := float64(t.bias+2) * math.Ln2
	x = l.pick(l.cmp("lt", x, l.number(low)), l.number(low), x)
	x = l.pick(l.cmp("gt", x, l.number(high)), l.number(high), x)
	n, r := l.reduction(x, t)
	p := l.poly(r, inverseFactorials(0, terms))
	bits := l.of(t.bits)
	half := bits.bin("ashr", n, bits.repeat("1"))
	p = l.mul(p, l.power2(half, t))
	return l.mul(p, l.power2(bits.sub(n, half), t))
}

// expm1 is e^x - 1 for x from 0 to 64.
func (l lanes) expm1(x string) string {
	t := layouts[l.ir]
	n, r := l.reduction(x, t)
	p := l.mul(r, l.poly(r, inverseFactorials(1, t.expTerms)))
	scale := l.power2(n, t)
	return l.add(l.mul(scale, p), l.sub(scale, l.number(1)))
}

// log is n*ln2 + log(m), m from sqrt(1/2) to sqrt(2). With f = m-1 and
// s = f/(2+f) it is log(m) = 2 artanh(s) = f - s*(f - R), where R is what is left of
// the series of 2 artanh(s)/s behind its first term.
func (l lanes) log(x string) string { return l.logTo(x, layouts[l.ir].logTerms) }

func (l lanes) logTo(x string, terms int) string {
	t := layouts[l.ir]
	m, n := l.split(x, t)
	f := l.sub(m, l.number(1))
	s := l.arith("div", f, l.add(f, l.number(2)))
	z := l.mul(s, s)
	odd := make([]float64, terms)
	for i := range odd {
		odd[i] = 2 / float64(2*i+3)
	}
	r := l.mul(z, l.poly(z, odd))
	y := l.sub(l.mul(s, l.sub(f, r)), l.mul(n, l.number(t.ln2Low)))
	y = l.add(l.mul(n, l.number(t.ln2High)), l.sub(f, y))
	infinite := l.number(math.Inf(1))
	y = l.pick(l.cmp("eq", x, infinite), infinite, y)
	y = l.pick(l.cmp("eq", x, l.number(0)), l.number(math.Inf(-1)), y)
	wrong := l.let("fcmp ult %s %s, %s", l.typ(), x, l.number(0))
	return l.pick(wrong, l.number(math.NaN()), y)
}

// split returns x = m * 2^n with m from sqrt(1/2) to sqrt(2), both as floats.
func (l lanes) split(x string, t layout) (m, n string) {
	bits := l.of(t.bits)
	smallest := math.Exp2(float64(1 - t.bias))
	tiny := l.cmp("lt", x, l.number(smallest))
	x = l.pick(tiny, l.mul(x, l.number(math.Exp2(float64(t.mantissa)+1))), x)
	b := l.cast("bitcast", x, bits)
	root := l.cast("bitcast", l.number(math.Sqrt2/2), bits)
	e := bits.bin("ashr", bits.sub(b, root), bits.repeat(fmt.Sprint(t.mantissa)))
	m = bits.cast("bitcast", bits.sub(b, bits.bin("shl", e, bits.repeat(fmt.Sprint(t.mantissa)))), l)
	e = bits.sub(e, bits.pick(tiny, bits.repeat(fmt.Sprint(t.mantissa+1)), bits.repeat("0")))
	if small := l.of(elems[graph.I32]); l.ir == "double" {
		return m, small.cast("sitofp", bits.cast("trunc", e, small), l)
	}
	return m, bits.cast("sitofp", e, l)
}

// tanh is e/(e+2) with e = e^2|x| - 1.
func (l lanes) tanh(x string) string {
	y := l.call("llvm.fabs", x)
	most := l.number(20)
	y = l.pick(l.cmp("gt", y, most), most, y)
	e := l.expm1(l.add(y, y))
	return l.call("llvm.copysign", l.arith("div", e, l.add(e, l.number(2))), x)
}

func (l lanes) sigmoid(x string) string {
	e := l.exp(l.let("fneg %s %s", l.typ(), x))
	return l.arith("div", l.number(1), l.add(e, l.number(1)))
}

// erf is x times a polynomial in x*x below 1, and 1 - e^(-x*x) * q(1/(1+x/2)) above.
func (l lanes) erf(x string) string {
	if l.ir != "float" {
		return l.library("erf", x)
	}
	y := l.call("llvm.fabs", x)
	most := l.number(4)
	y = l.pick(l.cmp("gt", y, most), most, y)
	square := l.mul(y, y)
	near := l.mul(y, l.poly(square, erfNear))
	t := l.arith("div", l.number(1), l.add(l.mul(y, l.number(0.5)), l.number(1)))
	e := l.exp(l.let("fneg %s %s", l.typ(), square))
	far := l.sub(l.number(1), l.mul(e, l.poly(t, erfFar)))
	return l.call("llvm.copysign", l.pick(l.cmp("lt", y, l.number(1)), near, far), x)
}

// library calls a function of C's library on each lane.
func (l lanes) library(name string, x string) string {
	l.module.declare(name, fmt.Sprintf("declare %s @%s(%s) #1", l.ir, name, l.ir))
	return l.gathered(func(i int) string { return l.let("call %s @%s(%s %s)", l.ir, name, l.ir, l.lane(x, i)) })
}

// pow of f32 goes through a logarithm in f64. The exponent multiplies the logarithm's error, which in f64 is
// so small that no bit of the f32 result shows it. The sign of a base of zero is lost.
func (l lanes) pow(x, y string) string {
	if l.ir != "float" {
		return l.call("llvm.pow", x, y)
	}
	d := l.of(elems[graph.F64])
	wideX, wideY := l.cast("fpext", l.call("llvm.fabs", x), d), l.cast("fpext", y, d)
	logX := d.logTo(wideX, 7)
	product := d.pick(d.cmp("eq", logX, d.number(0)), d.number(0), d.mul(wideY, logX))
	r := d.cast("fptrunc", d.expTo(product, 9), l)

	half := l.mul(y, l.number(0.5))
	odd := l.cmp("ne", half, l.call("llvm.floor", half))
	signed := l.pick(odd, l.let("fneg %s %s", l.typ(), r), r)
	whole := l.cmp("eq", y, l.call("llvm.floor", y))
	negative := l.cmp("lt", x, l.number(0))
	finite := l.cmp("ne", x, l.number(math.Inf(-1)))
	r = l.pick(negative, l.pick(whole, signed, l.pick(finite, l.number(math.NaN()), r)), r)
	one := l.number(1)
	r = l.pick(l.cmp("eq", x, one), one, r)
	return l.pick(l.cmp("eq", y, l.number(0)), one, r)
}

// Chebyshev fits, computed with 40 digits: of erf(x)/x over x*x from 0 to 1, error
// 4e-11, and of erfc(x)*e^(x*x) over t from 1/3 to 2/3, error 7e-9.
var (
	erfNear = []float64{
		1.1283791670615435, -0.3761263846802871, 0.11283782495236845, -0.026865430727670243,
		0.005221031807858023, -0.0008484080405535107, 0.00011265959025606609, -9.667044571486996e-06,
	}
	erfFar = []float64{
		0.0006051183909673801, 0.273634340084396, 0.3307571337028597, 0.1014954124429318,
		0.40349505334132824, -0.05706519996389612, -0.05363042807694806,
	}
)
