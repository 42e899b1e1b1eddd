package llvm

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/llvm/text"
	"tlruntime/runtime/dtype"
)

const floating, signed, unsigned, boolean = dtype.Float, dtype.Signed, dtype.Unsigned, dtype.Boolean

// elem is an element type: in registers and in memory. Narrow floats are computed
// with as f32 and rounded when they are stored.
type elem struct {
	dtype  graph.DType
	ir     string // in registers
	memory string // in memory
	bytes  int64  // in memory
	class  string // the kind, floating for bf16, too
}

var elems = func() map[graph.DType]elem {
	all := map[graph.DType]elem{}
	for d := range graph.DType(math.MaxUint8) {
		info := d.Info()
		memory := cmp.Or(map[graph.DType]string{graph.F32: "float", graph.F64: "double"}[d],
			fmt.Sprintf("i%d", 8*info.Bytes))
		e := elem{d, memory, memory, d.Bytes(), info.Kind}
		if e.narrow() {
			e.ir, e.class = "float", floating
		} else if e.class == boolean {
			e.ir = "i1"
		}
		if info.Bytes > 0 {
			all[d] = e
		}
	}
	return all
}()

// opaque is the element type of the same size whose values are only moved.
func (e elem) opaque() elem {
	return elems[map[int64]graph.DType{1: graph.U8, 2: graph.U16, 4: graph.U32, 8: graph.U64}[e.bytes]]
}

func (e elem) float() bool { return e.class == floating }

// narrow tells of a float type that is another one in registers.
func (e elem) narrow() bool { return e.dtype == graph.F16 || e.dtype == graph.BF16 }

// lanes are n elements of a type in one register, and what can be done with them.
// One lane is the scalar type.
type lanes struct {
	*code
	elem
	n int
}

func (c *code) scalar(e elem) lanes { return lanes{c, e, 1} }

func vector(n int, typ string) string {
	if n == 1 {
		return typ
	}
	return fmt.Sprintf("<%d x %s>", n, typ)
}

func (l lanes) typ() string { return vector(l.n, l.ir) }

// of is as many lanes of another type.
func (l lanes) of(e elem) lanes { return lanes{l.code, e, l.n} }

// wide is n lanes of the same type.
func (l lanes) wide(n int) lanes { return lanes{l.code, l.elem, n} }

// repeat is a literal that has the same number in every lane.
func (l lanes) repeat(one string) string {
	if l.n == 1 {
		return one
	}
	return l.listed(func(int) string { return one })
}

func (l lanes) listed(lane func(i int) string) string {
	if l.n == 1 {
		return lane(0)
	}
	parts := make([]string, l.n)
	for i := range parts {
		parts[i] = l.ir + " " + lane(i)
	}
	return "<" + strings.Join(parts, ", ") + ">"
}

// number is a literal: x in every lane, rounded to the type.
func (l lanes) number(x float64) string { return l.repeat(l.digits(x)) }

func (l lanes) digits(x float64) string {
	switch {
	case l.ir == "float":
		return text.Double(float64(float32(x)))
	case l.ir == "double":
		return text.Double(x)
	case l.class == boolean:
		return strconv.FormatBool(x != 0)
	}
	low, high := l.limits()
	switch {
	case x <= low:
		return l.lowest()
	case x >= high:
		return l.highest()
	}
	return strconv.FormatInt(int64(x), 10)
}

// limits are the lowest and the highest number of an integer type, as floats.
func (e elem) limits() (float64, float64) {
	bits := float64(8 * e.bytes)
	if e.class == unsigned {
		return 0, math.Exp2(bits) - 1
	}
	return -math.Exp2(bits - 1), math.Exp2(bits-1) - 1
}

// lowest and highest are the literals that no element is below and above.
func (e elem) lowest() string {
	switch e.class {
	case floating:
		return "0xFFF0000000000000"
	case signed:
		return strconv.FormatInt(math.MinInt64>>(64-8*e.bytes), 10)
	case unsigned:
		return "0"
	}
	return "false"
}

func (e elem) highest() string {
	switch e.class {
	case floating:
		return "0x7FF0000000000000"
	case signed:
		return strconv.FormatInt(math.MaxInt64>>(64-8*e.bytes), 10)
	case unsigned:
		return strconv.FormatUint(math.MaxUint64>>(64-8*e.bytes), 10)
	}
	return "true"
}

// bin emits an instruction with two operands of the type.
func (l lanes) bin(op, a, b string) string { return l.let("%s %s %s, %s", op, l.typ(), a, b) }

// Products and sums may be contracted to fused multiply-adds, which round once
// instead of twice; nothing else is relaxed.
func (l lanes) arith(op, a, b string) string {
	if l.float() {
		return l.bin("f"+op+" contract", a, b)
	}
	return l.bin(op, a, b)
}

func (l lanes) add(a, b string) string { return l.arith("add", a, b) }
func (l lanes) sub(a, b string) string { return l.arith("sub", a, b) }
func (l lanes) mul(a, b string) string { return l.arith("mul", a, b) }

// cmp compares with one of eq, ne, lt, le, gt, ge; nothing but ne holds for a NaN.
func (l lanes) cmp(order, a, b string) string {
	switch {
	case l.float() && order == "ne":
		order = "fcmp une"
	case l.float():
		order = "fcmp o" + order
	case order == "eq" || order == "ne":
		order = "icmp " + order
	case l.class == signed:
		order = "icmp s" + order
	default:
		order = "icmp u" + order
	}
	return l.let("%s %s %s, %s", order, l.typ(), a, b)
}

// pick returns a in the lanes in which the condition holds, else b.
func (l lanes) pick(condition, a, b string) string {
	return l.let("select %s %s, %s %s, %s %s", vector(l.n, "i1"), condition, l.typ(), a, l.typ(), b)
}

// max and min return a NaN when one of the arguments is one.
func (l lanes) max(a, b string) string { return l.extreme("gt", a, b) }
func (l lanes) min(a, b string) string { return l.extreme("lt", a, b) }

func (l lanes) extreme(order, a, b string) string {
	r := l.pick(l.cmp(order, a, b), a, b)
	if !l.float() {
		return r
	}
	return l.pick(l.let("fcmp uno %s %s, %s", l.typ(), a, a), a, r)
}

// call calls an intrinsic that is named by the type, such as llvm.sqrt.
func (l lanes) call(intrinsic string, args ...string) string {
	typed, types := make([]string, len(args)), make([]string, len(args))
	for i, a := range args {
		typed[i], types[i] = l.typ()+" "+a, l.typ()
	}
	name := intrinsic + "." + l.suffix()
	l.module.declare(name, fmt.Sprintf("declare %s @%s(%s)", l.typ(), name, strings.Join(types, ", ")))
	return l.let("call %s @%s(%s)", l.typ(), name, strings.Join(typed, ", "))
}

// suffix is the type as names of intrinsics have it, such as v8f32.
func (l lanes) suffix() string {
	s := map[string]string{"float": "f32", "double": "f64"}[l.ir]
	if s == "" {
		s = l.ir
	}
	if l.n > 1 {
		s = fmt.Sprintf("v%d%s", l.n, s)
	}
	return s
}

// splat returns a scalar in every lane.
func (l lanes) splat(scalar string) string {
	if l.n == 1 {
		return scalar
	}
	one := l.let("insertelement %s poison, %s %s, i64 0", l.typ(), l.ir, scalar)
	return l.shuffle(one, "poison", make([]int, l.n))
}

// shuffle takes lanes of a (from 0 on) and b (from l.n on).
func (l lanes) shuffle(a, b string, mask []int) string {
	parts := make([]string, len(mask))
	for i, m := range mask {
		parts[i] = fmt.Sprintf("i32 %d", m)
	}
	return l.let("shufflevector %s %s, %s %s, <%d x i32> <%s>", l.typ(), a, l.typ(), b, len(mask),
		strings.Join(parts, ", "))
}

// lane returns one lane as a scalar.
func (l lanes) lane(v string, i int) string {
	if l.n == 1 {
		return v
	}
	return l.let("extractelement %s %s, i64 %d", l.typ(), v, i)
}

// gathered makes a register of scalars.
func (l lanes) gathered(lane func(i int) string) string {
	if l.n == 1 {
		return lane(0)
	}
	v := "poison"
	for i := range l.n {
		v = l.let("insertelement %s %s, %s %s, i64 %d", l.typ(), v, l.ir, lane(i), i)
	}
	return v
}

// load reads lanes that lie side by side.
func (l lanes) load(ptr string) string {
	v := l.let("load %s, %s, align %d", vector(l.n, l.memory), l.as(ptr, vector(l.n, l.memory)), l.bytes)
	if l.class == boolean {
		return l.let("icmp ne %s %s, zeroinitializer", vector(l.n, l.memory), v)
	}
	if l.narrow() {
		return l.widened(v)
	}
	return v
}

// store writes lanes side by side.
func (l lanes) store(v, ptr string) {
	if l.class == boolean {
		v = l.let("zext %s %s to %s", l.typ(), v, vector(l.n, l.memory))
	}
	if l.narrow() {
		v = l.narrowed(v)
	}
	l.Do("store %s %s, %s, align %d", vector(l.n, l.memory), v, l.as(ptr, vector(l.n, l.memory)), l.bytes)
}

// loadStrided reads lanes that lie stride elements apart; 0 repeats one.
func (l lanes) loadStrided(ptr string, stride int64) string {
	one := l.wide(1)
	switch {
	case stride == 1 || l.n == 1:
		return l.load(ptr)
	case stride == 0:
		return l.splat(one.load(ptr))
	}
	return l.gathered(func(i int) string {
		return one.load(l.at(ptr, l.memory, strconv.FormatInt(int64(i)*stride, 10)))
	})
}

// storeStrided writes lanes stride elements apart.
func (l lanes) storeStrided(v, ptr string, stride int64) {
	if stride == 1 || l.n == 1 {
		l.store(v, ptr)
		return
	}
	for i := range l.n {
		l.wide(1).store(l.lane(v, i), l.at(ptr, l.memory, strconv.FormatInt(int64(i)*stride, 10)))
	}
}

// joined folds the lanes of v to a scalar, halves with halves.
func (l lanes) joined(v string, join func(l lanes, a, b string) string) string {
	for l.n > 2 {
		half := l.wide(l.n / 2)
		low, high := make([]int, half.n), make([]int, half.n)
		for i := range half.n {
			low[i], high[i] = i, half.n+i
		}
		v, l = join(half, l.shuffle(v, "poison", low), l.shuffle(v, "poison", high)), half
	}
	if l.n == 2 {
		return join(l.wide(1), l.lane(v, 0), l.lane(v, 1))
	}
	return v
}
