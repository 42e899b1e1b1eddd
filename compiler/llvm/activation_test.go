package llvm

import (
	"math"

	"tlruntime/compiler/graph"
)

// below1 is the exponential function less 1 below zero, else x.
func below1(alpha, x float64) float64 {
	if x < 0 {
		return alpha * math.Expm1(x)
	}
	return x
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// activationSamples are elementwise operators, as samples has them.
var activationSamples = []sample{
	{op: "Gelu", args: 1, types: floats, low: -1, high: 4, attrs: graph.Attrs{"approximate": "none"}, tol: 1e-5,
		f: one(func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) })},
	{op: "Gelu", args: 1, types: floats, low: -1, high: 3, attrs: graph.Attrs{"approximate": "tanh"}, tol: 1e-4,
		f: one(func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		})},
	{op: "Elu", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 0.5}, tol: close32,
		f: one(func(x float64) float64 { return below1(0.5, x) })},
	{op: "Celu", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 2.0}, tol: close32,
		f: one(func(x float64) float64 {
			if x < 0 {
				return 2 * math.Expm1(x/2)
			}
			return x
		})},
	{op: "Selu", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 0.5, "gamma": 3.0}, tol: close32,
		f: one(func(x float64) float64 { return 3 * below1(0.5, x) })},
	{op: "HardSigmoid", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 0.25, "beta": 0.5},
		tol: 1e-5, f: one(func(x float64) float64 { return min(max(0.25*x+0.5, 0), 1) })},
	{op: "HardSwish", args: 1, types: floats, low: -4, high: 4, tol: 1e-4,
		f: one(func(x float64) float64 { return x * min(max(x/6+0.5, 0), 1) })},
	{op: "Swish", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 0.5}, tol: close32,
		f: one(func(x float64) float64 { return x / (1 + math.Exp(-0.5*x)) })},
	{op: "Mish", args: 1, types: floats, low: -4, high: 4, tol: 2 * close32,
		f: one(func(x float64) float64 { return x * math.Tanh(softplus(x)) })},
	{op: "Softplus", args: 1, types: floats, low: -20, high: 20, tol: close32, f: one(softplus)},
	{op: "Softsign", args: 1, types: floats, low: -4, high: 4, tol: close32,
		f: one(func(x float64) float64 { return x / (1 + math.Abs(x)) })},
	{op: "ThresholdedRelu", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"alpha": 0.5},
		f: one(func(x float64) float64 { return x * truth(x > 0.5) })},
	{op: "Shrink", args: 1, types: floats, low: -4, high: 4, attrs: graph.Attrs{"lambd": 1.5, "bias": 0.5}, tol: 1e-6,
		f: one(func(x float64) float64 {
			return (x-0.5)*truth(x > 1.5) + (x+0.5)*truth(x < -1.5)
		})},
	{op: "Shrink", args: 1, types: integers, low: 0, high: 9, attrs: graph.Attrs{"lambd": 2.5, "bias": 1.0},
		f: one(func(x float64) float64 { return (x - 1) * truth(x > 2.5) })},
	{op: "Sign", args: 1, types: signed3, low: -2, high: 2,
		f: one(func(x float64) float64 { return truth(x > 0) - truth(x < 0) })},
	{op: "Sign", args: 1, types: integers, low: 0, high: 2, f: one(func(x float64) float64 { return truth(x > 0) })},
	{op: "Round", args: 1, types: floats, low: -9, high: 9, f: one(math.RoundToEven)},
	{op: "PRelu", args: 2, types: floats, low: -4, high: 4, tol: close32, f: func(x []float64) float64 {
		if x[0] < 0 {
			return x[0] * x[1]
		}
		return x[0]
	}},
	{op: "Sin", args: 1, types: floats, low: -9, high: 9, f: one(math.Sin), tol: close32},
	{op: "Cos", args: 1, types: floats, low: -9, high: 9, f: one(math.Cos), tol: close32},
	{op: "Tan", args: 1, types: floats, low: -1, high: 1, f: one(math.Tan), tol: close32},
	{op: "Asin", args: 1, types: floats, low: -1, high: 1, f: one(math.Asin), tol: close32},
	{op: "Acos", args: 1, types: floats, low: -1, high: 1, f: one(math.Acos), tol: close32},
	{op: "Atan", args: 1, types: floats, low: -9, high: 9, f: one(math.Atan), tol: close32},
	{op: "Sinh", args: 1, types: floats, low: -3, high: 3, f: one(math.Sinh), tol: close32},
	{op: "Cosh", args: 1, types: floats, low: -3, high: 3, f: one(math.Cosh), tol: close32},
	{op: "Asinh", args: 1, types: floats, low: -9, high: 9, f: one(math.Asinh), tol: close32},
	{op: "Acosh", args: 1, types: floats, low: 1.5, high: 9, f: one(math.Acosh), tol: close32},
	{op: "Atanh", args: 1, types: floats, low: -0.9, high: 0.9, f: one(math.Atanh), tol: close32},
	{op: "IsNaN", args: 1, types: floats, low: -9, high: 9, truth: true, f: one(func(float64) float64 { return 0 })},
	{op: "IsInf", args: 1, types: floats, low: -9, high: 9, truth: true,
		attrs: graph.Attrs{"detect_negative": int64(1), "detect_positive": int64(1)},
		f:     one(func(float64) float64 { return 0 })},
	{op: "Mean", args: 3, types: floats, low: 1, high: 99, tol: close32, f: func(x []float64) float64 {
		return (x[0] + x[1] + x[2]) / 3
	}},
	{op: "Mod", args: 2, types: floats, low: 1, high: 9, tol: 1e-5, attrs: graph.Attrs{"fmod": int64(1)},
		f: func(x []float64) float64 { return math.Mod(x[0], x[1]) }},
	{op: "Mod", args: 2, types: floats, low: -9, high: 9, tol: 1e-5, attrs: graph.Attrs{"fmod": int64(0)},
		f: func(x []float64) float64 { return x[0] - x[1]*math.Floor(x[0]/x[1]) }},
	{op: "Mod", args: 2, types: integers, low: 0, high: 9, attrs: graph.Attrs{"fmod": int64(0)},
		f: func(x []float64) float64 { return modulo(x[0], x[1]) }},
	{op: "Mod", args: 2, types: []graph.DType{graph.I8, graph.I16, graph.I32, graph.I64}, low: -9, high: 9,
		attrs: graph.Attrs{"fmod": int64(0)}, f: func(x []float64) float64 { return modulo(x[0], x[1]) }},
	{op: "Mod", args: 2, types: []graph.DType{graph.I8, graph.I64}, low: -9, high: 9,
		attrs: graph.Attrs{"fmod": int64(1)}, f: func(x []float64) float64 {
			if x[1] == 0 {
				return 0
			}
			return math.Mod(x[0], x[1])
		}},
	{op: "BitwiseAnd", args: 2, types: integers, low: 0, high: 99, f: ofBits(func(a, b int64) int64 { return a & b })},
	{op: "BitwiseOr", args: 2, types: integers, low: 0, high: 99, f: ofBits(func(a, b int64) int64 { return a | b })},
	{op: "BitwiseXor", args: 2, types: integers, low: 0, high: 99, f: ofBits(func(a, b int64) int64 { return a ^ b })},
	{op: "BitwiseNot", args: 1, types: []graph.DType{graph.I8, graph.I16, graph.I32, graph.I64}, low: -99, high: 99,
		f: one(func(x float64) float64 { return -1 - x })},
	{op: "BitShift", args: 2, types: integers, low: 0, high: 70, attrs: graph.Attrs{"direction": "RIGHT"},
		f: ofBits(func(a, b int64) int64 { return a >> b })},
	{op: "BitShift", args: 2, types: []graph.DType{graph.I8, graph.I32}, low: -70, high: 70,
		attrs: graph.Attrs{"direction": "RIGHT"}, f: ofBits(func(a, b int64) int64 {
			if b < 0 {
				b = 63
			}
			return a >> b
		})},
	{op: "BitShift", args: 2, types: []graph.DType{graph.U8}, low: 0, high: 9, attrs: graph.Attrs{"direction": "LEFT"},
		f: ofBits(func(a, b int64) int64 { return a << b & 255 })},
}

// modulo has the sign of b; modulo 0 it is 0.
func modulo(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a - b*math.Floor(a/b)
}

func ofBits(f func(a, b int64) int64) func(x []float64) float64 {
	return func(x []float64) float64 { return float64(f(int64(x[0]), int64(x[1]))) }
}
