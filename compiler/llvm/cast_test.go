package llvm

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// castTo is what becomes of a number in another type.
func castTo(from, to graph.DType, x float64) float64 {
	e := elems[to]
	switch {
	case to == graph.Bool:
		return truth(x != 0)
	case e.float():
		return decode(to, encode(to, x))
	case !elems[from].float():
		return decode(to, encode(to, x)) // the low bits
	case math.IsNaN(x):
		return 0
	}
	low, high := e.limits()
	return min(max(math.Trunc(x), low), high)
}

// castSources are numbers that casts treat in their own way, besides those at random.
func castSources(r *rand.Rand, d graph.DType) tensor {
	x := random(r, d, -300, 300, 40)
	if elems[d].class == unsigned {
		x = random(r, d, 0, 255, 40)
	}
	if elems[d].float() {
		copy(x.data, []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 0.5, -0.5, math.Copysign(0, -1),
			65504, 65519, 65520,
			6e-8, 2.9e-8, 3.1e-8, 1e-5, 2147483648, -2147483904, 1e10, 127.9, -0.99})
	}
	return x.rounded()
}

func TestCasts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var jobs []*job
	for _, from := range computed {
		for _, to := range computed {
			if (from == graph.F64 || from == graph.I64 || from == graph.U64) && elems[to].narrow() {
				continue // rounded twice; TestCastsRoundTwice
			}
			x := castSources(r, from)
			y := zeros(to, x.shape...)
			for i, v := range x.data {
				y.data[i] = castTo(from, to, v)
			}
			jobs = append(jobs, newSpec("Cast", graph.Attrs{"to": int64(to)}, []tensor{x}, y).plain(len(jobs)))
		}
	}
	run(t, jobs)
}

func TestWhere(t *testing.T) {
	runExamples(t, 20, func(t *rapid.T, r *rand.Rand) *spec {
		d := dtypeOf(t, computed)
		shape := extents(t, "shape", rapid.IntRange(0, 3).Draw(t, "axes"), 1, 9)
		condition := random(r, graph.Bool, 0, 1, broadcastable(t, shape, "condition")...)
		x, y := random(r, d, 0, 99, broadcastable(t, shape, "x")...), random(r, d, 0, 99, shape...)
		args := []tensor{condition, x, y}
		want := applied(d, shape, args, func(x []float64) float64 {
			if x[0] != 0 {
				return x[1]
			}
			return x[2]
		})
		s := newSpec("Where", nil, args, want)
		if rapid.Bool().Draw(t, "in place") {
			s.inPlace = 2
		}
		return s
	})
}

// Exponents of another type, and constant ones, which have forms of their own.
func TestPowers(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var jobs []*job
	for _, y := range []float64{0, 1, 2, 3, -1, 0.5, 2.5} {
		for _, d := range []graph.DType{graph.F32, graph.F64} {
			x, e := random(r, d, 0.5, 4, 30), zeros(d)
			e.data[0] = y
			want := applied(d, x.shape, []tensor{x}, func(x []float64) float64 { return math.Pow(x[0], y) })
			s := newSpec("Pow", nil, []tensor{x, e}, want)
			s.constant, s.tol = []bool{false, true}, close32
			jobs = append(jobs, s.plain(len(jobs)))
		}
	}
	for _, types := range [][2]graph.DType{{graph.F32, graph.I64}, {graph.I32, graph.F32}, {graph.I64, graph.U8},
		{graph.F64, graph.F32}, {graph.I32, graph.I64}} {
		x, y := random(r, types[0], 1, 9, 30), random(r, types[1], 0, 4, 30)
		want := applied(types[0], x.shape, []tensor{x, y}, func(x []float64) float64 {
			return castTo(graph.F64, types[0], math.Pow(x[0], x[1]))
		})
		s := newSpec("Pow", nil, []tensor{x, y}, want)
		s.tol = close32
		jobs = append(jobs, s.plain(len(jobs)))
	}
	run(t, jobs)
}

// exact is a job over vectors of numbers that stand here.
func exact(number int, op string, d graph.DType, want []float64, attrs graph.Attrs, args ...[]float64) *job {
	list := make([]tensor, len(args))
	for i, a := range args {
		list[i] = tensor{dtype: d, shape: []int64{int64(len(a))}, data: a}
	}
	return newSpec(op, attrs, list, tensor{dtype: d, shape: []int64{int64(len(want))}, data: want}).plain(number)
}

// What docs/planner-llvm.md says of numbers that are none, and of what overflows.
func TestSpecialNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var jobs []*job
	add := func(op string, d graph.DType, want []float64, attrs graph.Attrs, args ...[]float64) {
		jobs = append(jobs, exact(len(jobs), op, d, want, attrs, args...))
	}
	for _, d := range []graph.DType{graph.F32, graph.F64, graph.F16} {
		add("Max", d, []float64{nan, nan, inf}, nil, []float64{nan, 1, inf}, []float64{1, nan, 2})
		add("Min", d, []float64{nan, nan, -inf}, nil, []float64{nan, 1, -inf}, []float64{1, nan, 2})
		add("Relu", d, []float64{nan, 0, inf}, nil, []float64{nan, -inf, inf})
		add("Clip", d, []float64{nan, 1, 2}, graph.Attrs{"min": 1.0, "max": 2.0}, []float64{nan, -inf, inf})
		for _, at := range []int{0, 7, 8, 18} {
			x := make([]float64, 19)
			x[at] = nan
			add("ReduceMax", d, []float64{nan}, graph.Attrs{"axes": []int64{0}, "keepdims": int64(1)}, x)
		}
	}
	add("Div", graph.I32, []float64{0, math.MinInt32, -3, 0}, nil, []float64{5, math.MinInt32, 7, 0},
		[]float64{0, -1, -2, 0})
	add("Div", graph.I8, []float64{0, -128, -64}, nil, []float64{5, -128, -128}, []float64{0, -1, 2})
	add("Div", graph.U8, []float64{0, 51, 255}, nil, []float64{5, 255, 255}, []float64{0, 5, 1})
	add("Add", graph.U8, []float64{4, 255}, nil, []float64{250, 254}, []float64{10, 1})
	add("Abs", graph.I8, []float64{-128, 5}, nil, []float64{-128, -5})
	add("Pow", graph.I32, []float64{0, 1, -1, 0, 0}, nil, []float64{2, 1, -1, 0, 2}, []float64{-1, -3, -3, -2, 32})
	run(t, jobs)
}

// Numbers of more bits than f32 has become f16 by way of f32.
func TestCastsRoundTwice(t *testing.T) {
	x := castSources(rand.New(rand.NewPCG(7, 8)), graph.F64)
	var jobs []*job
	for _, to := range []graph.DType{graph.F16, graph.BF16} {
		want := zeros(to, x.shape...)
		for i, v := range x.data {
			want.data[i] = castTo(graph.F32, to, float64(float32(v)))
		}
		jobs = append(jobs, newSpec("Cast", nil, []tensor{x}, want).plain(len(jobs)))
	}
	run(t, jobs)
}
