package llvm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// sample is an elementwise operator with its meaning in float64.
type sample struct {
	op        string
	args      int
	types     []graph.DType
	low, high float64
	f         func(x []float64) float64
	truth     bool
	attrs     graph.Attrs
	tol       float64
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func one(f func(float64) float64) func([]float64) float64 {
	return func(x []float64) float64 { return f(x[0]) }
}

const close32 = 4e-7 // a few units in the last place of f32

var signed3 = []graph.DType{graph.F32, graph.F64, graph.I8, graph.I16, graph.I32, graph.I64, graph.F16, graph.BF16}

var samples = slices.Concat(arithmeticSamples, activationSamples)

var arithmeticSamples = []sample{
	{op: "Add", args: 2, types: numbers, low: 0, high: 50, f: func(x []float64) float64 {
		return x[0] + x[1]
	}, tol: close32},
	{op: "Sub", args: 2, types: signed3, low: 0, high: 50, f: func(x []float64) float64 {
		return x[0] - x[1]
	}, tol: 1e-5},
	{op: "Mul", args: 2, types: numbers, low: 0, high: 11, f: func(x []float64) float64 {
		return x[0] * x[1]
	}, tol: close32},
	{op: "Div", args: 2, types: floats, low: 1, high: 9, f: func(x []float64) float64 {
		return x[0] / x[1]
	}, tol: close32},
	{op: "Div", args: 2, types: integers, low: 0, high: 20, f: func(x []float64) float64 {
		if x[1] == 0 {
			return 0
		}
		return math.Trunc(x[0] / x[1])
	}},
	{op: "Max", args: 3, types: numbers, low: 0, high: 99, f: func(x []float64) float64 {
		return max(x[0], x[1], x[2])
	}},
	{op: "Min", args: 2, types: numbers, low: 0, high: 99, f: func(x []float64) float64 { return min(x[0], x[1]) }},
	{op: "Sum", args: 3, types: floats, low: 1, high: 99, f: func(x []float64) float64 {
		return x[0] + x[1] + x[2]
	}, tol: close32},
	{op: "Pow", args: 2, types: floats, low: 0.1, high: 5, f: func(x []float64) float64 {
		return math.Pow(x[0], x[1])
	}, tol: 1e-2},
	{op: "Pow", args: 2, types: []graph.DType{graph.F32, graph.F64}, low: 0.1, high: 5, f: func(x []float64) float64 {
		return math.Pow(x[0], x[1])
	}, tol: close32},
	{op: "Pow", args: 2, types: []graph.DType{graph.I32, graph.I64}, low: 0, high: 7, f: func(x []float64) float64 {
		return math.Pow(x[0], x[1])
	}},
	{op: "Sqrt", args: 1, types: floats, low: 0, high: 50, f: one(math.Sqrt), tol: close32},
	{op: "Floor", args: 1, types: floats, low: -5, high: 5, f: one(math.Floor)},
	{op: "Ceil", args: 1, types: floats, low: -5, high: 5, f: one(math.Ceil)},
	{op: "Exp", args: 1, types: floats, low: -10, high: 10, f: one(math.Exp), tol: close32},
	{op: "Log", args: 1, types: floats, low: 2, high: 50, f: one(math.Log), tol: close32},
	{op: "Tanh", args: 1, types: floats, low: -3, high: 3, f: one(math.Tanh), tol: close32},
	{op: "Sigmoid", args: 1, types: floats, low: -9, high: 9, f: one(func(x float64) float64 {
		return 1 / (1 + math.Exp(-x))
	}), tol: close32},
	{op: "Erf", args: 1, types: floats, low: -4, high: 4, f: one(math.Erf), tol: close32},
	{op: "Reciprocal", args: 1, types: floats, low: 1, high: 9, f: one(func(x float64) float64 {
		return 1 / x
	}), tol: close32},
	{op: "Relu", args: 1, types: signed3, low: -9, high: 9, f: one(func(x float64) float64 { return max(x, 0) })},
	{op: "LeakyRelu", args: 1, types: floats, low: -9, high: 9, attrs: graph.Attrs{"alpha": 0.125}, tol: close32,
		f: one(func(x float64) float64 {
			return max(x, 0.125*x)
		})},
	{op: "Neg", args: 1, types: signed3, low: -9, high: 9, f: one(func(x float64) float64 { return -x })},
	{op: "Abs", args: 1, types: signed3, low: -9, high: 9, f: one(math.Abs)},
	{op: "Clip", args: 1, types: numbers, low: 0, high: 99, attrs: graph.Attrs{"min": 10.0, "max": 60.0},
		f: one(func(x float64) float64 {
			return min(max(x, 10), 60)
		})},
	{op: "Clip", args: 1, types: numbers, low: 0, high: 99, attrs: graph.Attrs{"min": math.Inf(-1), "max": 60.0},
		f: one(func(x float64) float64 {
			return min(x, 60)
		})},
	{op: "Equal", args: 2, types: computed, low: 0, high: 3, truth: true, f: func(x []float64) float64 {
		return truth(x[0] == x[1])
	}},
	{op: "Less", args: 2, types: numbers, low: 0, high: 9, truth: true, f: func(x []float64) float64 {
		return truth(x[0] < x[1])
	}},
	{op: "LessOrEqual", args: 2, types: numbers, low: 0, high: 9, truth: true, f: func(x []float64) float64 {
		return truth(x[0] <= x[1])
	}},
	{op: "Greater", args: 2, types: numbers, low: 0, high: 9, truth: true, f: func(x []float64) float64 {
		return truth(x[0] > x[1])
	}},
	{op: "GreaterOrEqual", args: 2, types: numbers, low: 0, high: 9, truth: true, f: func(x []float64) float64 {
		return truth(x[0] >= x[1])
	}},
	{op: "And", args: 2, types: truths, truth: true, f: func(x []float64) float64 {
		return truth(x[0] != 0 && x[1] != 0)
	}},
	{op: "Or", args: 2, types: truths, truth: true, f: func(x []float64) float64 {
		return truth(x[0] != 0 || x[1] != 0)
	}},
	{op: "Xor", args: 2, types: truths, truth: true, f: func(x []float64) float64 { return truth(x[0] != x[1]) }},
	{op: "Not", args: 1, types: truths, truth: true, f: one(func(x float64) float64 { return truth(x == 0) })},
}

// applied computes f for each element of shape, to which the arguments are broadcast.
func applied(d graph.DType, shape []int64, args []tensor, f func(x []float64) float64) tensor {
	y := zeros(d, shape...)
	x := make([]float64, len(args))
	for index := range indices(shape) {
		for i, a := range args {
			x[i] = a.broadcast(index)
		}
		y.data[y.at(index)] = f(x)
	}
	return y
}

func drawElementwise(s sample) func(t *rapid.T, r *rand.Rand) *spec {
	return func(t *rapid.T, r *rand.Rand) *spec {
		d := dtypeOf(t, s.types)
		shape := extents(t, "shape", rapid.IntRange(0, 4).Draw(t, "axes"), 1, 9)
		if rapid.IntRange(0, 4).Draw(t, "long") == 0 {
			shape = []int64{rapid.Int64Range(60, 300).Draw(t, "length")}
		}
		args := make([]tensor, s.args)
		for i := range args {
			of := shape
			if i != s.args-1 && s.args > 1 {
				of = broadcastable(t, shape, "argument")
			}
			args[i] = random(r, d, s.low, s.high, of...)
		}
		result := d
		if s.truth {
			result = graph.Bool
		}
		c := newSpec(s.op, s.attrs, args, applied(result, shape, args, s.f))
		c.tol = s.tol
		last := s.args - 1
		if result == d && slices.Equal(args[last].shape, shape) && rapid.Bool().Draw(t, "in place") {
			c.inPlace = last
		}
		return c
	}
}

func TestElementwise(t *testing.T) {
	runExamples(t, 3*len(samples), func(t *rapid.T, r *rand.Rand) *spec {
		return drawElementwise(rapid.SampledFrom(samples).Draw(t, "operator"))(t, r)
	})
}

// Every operator on every type, whatever the examples above happened to draw.
func TestElementwiseTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var jobs []*job
	for _, s := range samples {
		for _, d := range s.types {
			args := make([]tensor, s.args)
			for i := range args {
				args[i] = random(r, d, s.low, s.high, 3, 7)
			}
			result := d
			if s.truth {
				result = graph.Bool
			}
			c := newSpec(s.op, s.attrs, args, applied(result, []int64{3, 7}, args, s.f))
			c.tol = s.tol
			jobs = append(jobs, c.plain(len(jobs)))
		}
	}
	run(t, jobs)
}
