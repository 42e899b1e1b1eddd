package ops

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// arith is an operator on elements. Floats are computed in float64 and rounded
// once: for one f32 operation of + - * / and the square root that is the correctly
// rounded result (Figueroa 1995, When is double rounding innocuous?). Integers are
// computed in int64 and wrap around. A nil function: not for this kind.
type arith struct {
	floats  func(a, b float64) float64
	ints    func(a, b int64) int64
	divides bool // integers have no result where the second input is 0
}

// fold returns what computes the results of an operator, nil where there is no op.
func (op *arith) fold() func(*call) []graph.Tensor {
	if op == nil {
		return nil
	}
	return func(k *call) []graph.Tensor { return evalArithmetic(k, op) }
}

func onBoth(floats func(a, b float64) float64, ints func(a, b int64) int64) *arith {
	return &arith{floats: floats, ints: ints}
}

// wide is what elements are computed in.
type wide interface{ float64 | int64 }

func ofFloat(f func(float64) float64) func(a, _ float64) float64 {
	return func(a, _ float64) float64 { return f(a) }
}

func negative[N wide](a, _ N) N   { return -a }
func sum[N wide](a, b N) N        { return a + b }
func difference[N wide](a, b N) N { return a - b }
func product[N wide](a, b N) N    { return a * b }
func less[N wide](a, b N) bool    { return a < b }
func atMost[N wide](a, b N) bool  { return a <= b }
func greater[N wide](a, b N) bool { return a > b }
func atLeast[N wide](a, b N) bool { return a >= b }
func equal[N wide](a, b N) bool   { return a == b }

// positive keeps a NaN, which is not below 0.
func positive[N wide](a, _ N) N {
	if a < 0 {
		return 0
	}
	return a
}

func ratio(a, b float64) float64 { return a / b }

// quotient is 0 for a division by zero; evalArithmetic keeps that from happening.
func quotient(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func compare(floats func(a, b float64) bool, ints func(a, b int64) bool) *arith {
	return &arith{
		floats: func(a, b float64) float64 {
			if floats(a, b) {
				return 1
			}
			return 0
		},
		ints: func(a, b int64) int64 {
			if ints(a, b) {
				return 1
			}
			return 0
		},
	}
}

// arithmeticElements bounds a result of which elements are computed one by one;
// more is work for the run.
const arithmeticElements = 1 << 22

// Types that elements are computed in; half floats are rounded to theirs afterwards. Those of
// u64 are left to the run.
var foldedInts = graph.SetOf(graph.Bool, graph.I8, graph.I16, graph.I32, graph.I64, graph.U8, graph.U16, graph.U32)

// evalArithmetic folds the inputs from the left, as ONNX defines it for more than
// two; an operator of one input gets it twice.
func evalArithmetic(k *call, op *arith) []graph.Tensor {
	if graph.Elements(k.results[0].shape) > arithmeticElements || op.divides && hasZero(k.input(1)) {
		return nil
	}
	if len(k.keep) == 1 && k.spec.Inputs[0].Variadic {
		return evalShared(k)
	}
	so := *k.input(0)
	for i := min(1, len(k.keep)-1); i < len(k.keep); i++ {
		next, ok := combine(&so, k.input(i), k.results[0].dtype, op)
		if !ok {
			return nil
		}
		so = next
	}
	return []graph.Tensor{so}
}

// hasZero reports whether a tensor of integers has an element 0.
func hasZero(t *graph.Tensor) bool {
	if !foldedInts.Has(t.DType) {
		return false
	}
	for i := range graph.Elements(t.Shape) {
		if t.IntAt(i) == 0 {
			return true
		}
	}
	return false
}

// combine computes op over two tensors that are broadcast to each other.
func combine(a, b *graph.Tensor, to graph.DType, op *arith) (graph.Tensor, bool) {
	shape, _ := broadcast(a.Shape, b.Shape)
	va, _ := view.Contiguous(a.Shape).Expand(shape)
	vb, _ := view.Contiguous(b.Shape).Expand(shape)
	out := graph.NewTensor(to, shape)
	places := slices.Collect(vb.All())
	i := int64(0)
	switch {
	case floatTypes.Has(a.DType) && op.floats != nil:
		for at := range va.All() {
			setResult(&out, i, op.floats(a.FloatAt(at), b.FloatAt(places[i])))
			i++
		}
	case foldedInts.Has(a.DType) && op.ints != nil:
		for at := range va.All() {
			out.SetInt(i, op.ints(a.IntAt(at), b.IntAt(places[i])))
			i++
		}
	default:
		return out, false
	}
	return out, true
}

// setResult stores a float, or the 0 or 1 of a comparison, as the tensor's type.
func setResult(t *graph.Tensor, i int64, x float64) {
	if t.DType == graph.Bool {
		t.SetInt(i, int64(x))
		return
	}
	t.SetNumber(i, x)
}
