package llvm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// lines groups the elements of x that differ in the given axes only.
func lines(x tensor, axes []int64) map[int64][]int64 {
	groups := map[int64][]int64{}
	for index := range indices(x.shape) {
		kept := slices.Clone(index)
		for _, a := range axes {
			kept[a] = 0
		}
		groups[x.at(kept)] = append(groups[x.at(kept)], x.at(index))
	}
	return groups
}

func drawAxes(t *rapid.T, n int) []int64 {
	var axes []int64
	for i := range n {
		if rapid.Bool().Draw(t, "axis") {
			axes = append(axes, int64(i))
		}
	}
	if len(axes) == 0 {
		axes = []int64{int64(n - 1)}
	}
	return axes
}

// spatial draws a shape whose last axis is often longer than vectors.
func spatial(t *rapid.T, axes int) []int64 {
	shape := extents(t, "shape", axes, 1, 5)
	shape[rapid.IntRange(0, axes-1).Draw(t, "which")] = rapid.Int64Range(1, 40).Draw(t, "long")
	return shape
}

func TestReduce(t *testing.T) {
	runExamples(t, 70, func(t *rapid.T, r *rand.Rand) *spec {
		op := rapid.SampledFrom([]string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
			"ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "GlobalAveragePool",
			"GlobalMaxPool"}).Draw(t, "operator")
		d, size := drawnType(t, graph.F64, graph.F16)
		onFloats := slices.Contains([]string{"ReduceProd", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}, op)
		if op[0] == 'R' && !onFloats && rapid.IntRange(0, 2).Draw(t, "integer") == 0 {
			d, size = rapid.SampledFrom([]graph.DType{graph.I32, graph.I64}).Draw(t, "type"), 50
		}
		shape := spatial(t, rapid.IntRange(2, 4).Draw(t, "axes"))
		x := random(r, d, -size, size, shape...)
		switch op {
		case "ReduceProd":
			x = random(r, d, 0.8, 1.2, shape...)
		case "ReduceLogSum":
			x = random(r, d, 1, 2, shape...)
		}
		axes := drawAxes(t, len(shape))
		keep := rapid.Bool().Draw(t, "keepdims") || op[0] == 'G'
		if op[0] == 'G' {
			axes = nil
			for i := 2; i < len(shape); i++ {
				axes = append(axes, int64(i))
			}
		}
		s := newSpec(op, graph.Attrs{"axes": axes, "keepdims": int64(truth(keep))}, []tensor{x},
			reduced(x, op, axes, keep))
		if s.tol = 3e-6; op == "ReduceProd" {
			s.tol = 1e-4
		}
		return s
	})
}

// TestReduceOfNothing: a sum is 0, a mean NaN, and a maximum the lowest of its type.
func TestReduceOfNothing(t *testing.T) {
	var jobs []*job
	add := func(op string, d graph.DType, want float64) {
		y := tensor{dtype: d, shape: []int64{2, 1, 3}, data: slices.Repeat([]float64{want}, 6)}
		s := newSpec(op, graph.Attrs{"axes": []int64{1}, "keepdims": int64(1)}, []tensor{zeros(d, 2, 0, 3)}, y)
		jobs = append(jobs, s.plain(len(jobs)))
	}
	for _, d := range floats {
		add("ReduceSum", d, 0)
		add("ReduceMean", d, math.NaN())
		add("ReduceMax", d, math.Inf(-1))
		add("ReduceMin", d, math.Inf(1))
		add("ReduceProd", d, 1)
		add("ReduceL1", d, 0)
		add("ReduceL2", d, 0)
		add("ReduceSumSquare", d, 0)
		add("ReduceLogSum", d, math.Inf(-1))
		add("ReduceLogSumExp", d, math.Inf(-1))
	}
	add("ReduceMin", graph.Bool, 1)
	for d, lowest := range map[graph.DType]float64{graph.I8: math.MinInt8, graph.I32: math.MinInt32, graph.U16: 0,
		graph.Bool: 0} {
		add("ReduceMax", d, lowest)
	}
	one := tensor{dtype: graph.F32, shape: []int64{2, 1}, data: []float64{math.NaN(), math.NaN()}}
	s := newSpec("LayerNormalization", graph.Attrs{"axis": int64(1), "epsilon": 0.01},
		[]tensor{zeros(graph.F32, 2, 0), zeros(graph.F32, 0)}, zeros(graph.F32, 2, 0), one, one)
	run(t, append(jobs, s.plain(len(jobs))))
}

func reduced(x tensor, op string, axes []int64, keep bool) tensor {
	one := slices.Clone(x.shape)
	var without []int64
	for i, n := range x.shape {
		if slices.Contains(axes, int64(i)) {
			one[i] = 1
		} else {
			without = append(without, n)
		}
	}
	y := zeros(x.dtype, one...)
	y.size = make([]float64, len(y.data))
	groups := lines(x, axes)
	i := 0
	for index := range indices(x.shape) {
		group, first := groups[x.at(index)]
		if !first {
			continue
		}
		sum, size, most := 0.0, 0.0, math.Inf(-1)
		for _, at := range group {
			sum, size, most = sum+x.data[at], size+math.Abs(x.data[at]), max(most, x.data[at])
		}
		switch op {
		case "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp":
			sum, size = joined(x, op, group)
		case "ReduceMax", "GlobalMaxPool":
			sum = most
		case "ReduceMean", "GlobalAveragePool":
			sum, size = sum/float64(len(group)), size/float64(len(group))
			if !elems[x.dtype].float() {
				sum = math.Trunc(sum)
			}
		}
		y.data[i], y.size[i] = sum, size
		i++
	}
	if !keep {
		y.shape = without
	}
	return y
}

// joined is what becomes of a group of elements, and of what size the terms are.
func joined(x tensor, op string, group []int64) (result, size float64) {
	least, product, sizes, squares, sum, powers := math.Inf(1), 1.0, 0.0, 0.0, 0.0, 0.0
	for _, at := range group {
		v := x.data[at]
		least, product, sizes, squares = min(least, v), product*v, sizes+math.Abs(v), squares+v*v
		sum, powers = sum+v, powers+math.Exp(v)
	}
	switch op {
	case "ReduceMin":
		return least, 0
	case "ReduceProd":
		return product, 0
	case "ReduceL1":
		return sizes, 0
	case "ReduceL2":
		return math.Sqrt(squares), 0
	case "ReduceSumSquare":
		return squares, 0
	case "ReduceLogSum":
		return math.Log(sum), 1
	}
	return math.Log(powers), 1
}

// TestReduceLogSumExpOfAll: no element, however high or low, overflows.
func TestReduceLogSumExpOfAll(t *testing.T) {
	inf := math.Inf(1)
	x := tensor{dtype: graph.F32, shape: []int64{5, 2}, data: []float64{-inf, -inf, inf, 1, 1000, 1000, -1000, -1000,
		-inf, 3}}
	y := tensor{dtype: graph.F32, shape: []int64{5}, data: []float64{-inf, inf, 1000 + math.Ln2, -1000 + math.Ln2, 3}}
	s := newSpec("ReduceLogSumExp", graph.Attrs{"axes": []int64{1}, "keepdims": int64(0)}, []tensor{x}, y)
	s.tol = close32
	run(t, []*job{s.plain(0)})
}

func drawSoftmax(t *rapid.T, r *rand.Rand) *spec {
	x := random(r, dtypeOf(t, floats), -5, 5, spatial(t, rapid.IntRange(1, 4).Draw(t, "axes"))...)
	first := rapid.IntRange(0, len(x.shape)-1).Draw(t, "first")
	axes := []int64{int64(first)}
	for i := first + 1; i < len(x.shape) && rapid.Bool().Draw(t, "more"); i++ {
		axes = append(axes, int64(i))
	}
	y := zeros(x.dtype, x.shape...)
	for _, group := range lines(x, axes) {
		sum := 0.0
		for _, at := range group {
			y.data[at] = math.Exp(x.data[at])
			sum += y.data[at]
		}
		for _, at := range group {
			y.data[at] /= sum
		}
	}
	op := rapid.SampledFrom([]string{"Softmax", "LogSoftmax"}).Draw(t, "operator")
	if op == "LogSoftmax" {
		y.size = slices.Repeat([]float64{5}, len(y.data))
		for i, v := range y.data {
			y.data[i] = math.Log(v)
		}
	}
	s := newSpec(op, graph.Attrs{"axes": axes}, []tensor{x}, y)
	s.tol = 2e-6
	return s
}

func drawRMSNormalization(t *rapid.T, r *rand.Rand) *spec {
	x := random(r, dtypeOf(t, floats), -5, 5, spatial(t, rapid.IntRange(1, 4).Draw(t, "axes"))...)
	first := rapid.IntRange(0, len(x.shape)-1).Draw(t, "axis")
	var axes []int64
	for i := first; i < len(x.shape); i++ {
		axes = append(axes, int64(i))
	}
	scale := random(r, x.dtype, 0, 2, broadcastable(t, x.shape[first:], "scale")...)
	mean := zeros(graph.F64, x.shape...)
	for _, group := range lines(x, axes) {
		sum := 0.01
		for _, at := range group {
			sum += x.data[at] * x.data[at] / float64(len(group))
		}
		for _, at := range group {
			mean.data[at] = sum
		}
	}
	y := zeros(x.dtype, x.shape...)
	for index := range indices(x.shape) {
		y.data[y.at(index)] = x.get(index...) / math.Sqrt(mean.get(index...)) * scale.broadcast(index)
	}
	s := newSpec("RMSNormalization", graph.Attrs{"axis": int64(first), "epsilon": 0.01}, []tensor{x, scale}, y)
	s.tol = 2e-6
	return s
}

func drawLayerNormalization(t *rapid.T, r *rand.Rand) *spec {
	x := random(r, dtypeOf(t, floats), -5, 5, spatial(t, rapid.IntRange(1, 4).Draw(t, "axes"))...)
	first := rapid.IntRange(0, len(x.shape)-1).Draw(t, "axis")
	var axes []int64
	for i := first; i < len(x.shape); i++ {
		axes = append(axes, int64(i))
	}
	scale := random(r, x.dtype, 0, 2, broadcastable(t, x.shape[first:], "scale")...)
	bias := random(r, x.dtype, -1, 1, x.shape[first:]...)
	biased := rapid.Bool().Draw(t, "biased")
	y := zeros(x.dtype, x.shape...)
	y.size = slices.Repeat([]float64{5}, len(y.data))
	means, factors := zeros(graph.F32, rowShape(x.shape, first)...), zeros(graph.F32, rowShape(x.shape, first)...)
	means.size, factors.size = slices.Repeat([]float64{5}, len(means.data)), slices.Repeat([]float64{10},
		len(means.data))
	places := slices.Collect(func(yield func([]int64) bool) {
		for index := range indices(x.shape) {
			yield(slices.Clone(index))
		}
	})
	for start, group := range lines(x, axes) {
		mean, variance := 0.0, 0.0
		for _, at := range group {
			mean += x.data[at] / float64(len(group))
		}
		for _, at := range group {
			variance += (x.data[at] - mean) * (x.data[at] - mean) / float64(len(group))
		}
		row := int(start) / len(group)
		means.data[row], factors.data[row] = mean, 1/math.Sqrt(variance+0.01)
		for _, at := range group {
			y.data[at] = (x.data[at] - mean) / math.Sqrt(variance+0.01) * scale.broadcast(places[at])
			if biased {
				y.data[at] += bias.broadcast(places[at])
			}
		}
	}
	s := newSpec("LayerNormalization", graph.Attrs{"axis": int64(first), "epsilon": 0.01}, []tensor{x, scale, bias}, y)
	if !biased {
		s.args[2] = nil
	}
	for _, extra := range []*tensor{&means, &factors} {
		if rapid.Bool().Draw(t, "statistic") {
			s.want = append(s.want, extra)
		} else {
			s.want = append(s.want, nil)
		}
	}
	if (s.want[1] != nil || s.want[2] != nil) && rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
		s.want[0] = nil
	}
	s.tol = 2e-6
	return s
}

// rowShape is a shape whose axes from first on have extent 1.
func rowShape(shape []int64, first int) []int64 {
	return append(slices.Clone(shape[:first]), slices.Repeat([]int64{1}, len(shape)-first)...)
}

func drawBatchNormalization(t *rapid.T, r *rand.Rand) *spec {
	d := dtypeOf(t, floats)
	x := random(r, d, -5, 5, spatial(t, rapid.IntRange(2, 4).Draw(t, "axes"))...)
	c := x.shape[1]
	scale, bias := random(r, d, 0, 2, c), random(r, d, -1, 1, c)
	mean, variance := random(r, d, -1, 1, c), random(r, d, 0.5, 2, c)
	y := zeros(d, x.shape...)
	y.size = slices.Repeat([]float64{20}, len(y.data))
	for index := range indices(x.shape) {
		i := index[1]
		y.data[y.at(index)] = (x.get(index...)-mean.get(i))/math.Sqrt(variance.get(i)+1e-5)*scale.get(i) + bias.get(i)
	}
	s := newSpec("BatchNormalization", graph.Attrs{"epsilon": 1e-5}, []tensor{x, scale, bias, mean, variance}, y)
	s.want = append(s.want, nil, nil)
	s.tol = 2e-6
	return s
}

func drawLRN(t *rapid.T, r *rand.Rand) *spec {
	x := random(r, dtypeOf(t, floats), -5, 5, spatial(t, rapid.IntRange(2, 4).Draw(t, "axes"))...)
	size := rapid.Int64Range(1, 6).Draw(t, "size")
	y := zeros(x.dtype, x.shape...)
	for index := range indices(x.shape) {
		sum := 0.0
		for c := max(index[1]-(size-1)/2, 0); c <= min(index[1]+size/2, x.shape[1]-1); c++ {
			at := slices.Clone(index)
			at[1] = c
			sum += x.get(at...) * x.get(at...)
		}
		y.data[y.at(index)] = x.get(index...) / math.Pow(2+0.5/float64(size)*sum, 0.75)
	}
	s := newSpec("LRN", graph.Attrs{"alpha": 0.5, "beta": 0.75, "bias": 2.0, "size": size}, []tensor{x}, y)
	s.tol = 2e-6
	return s
}

func TestNorms(t *testing.T) {
	draws := []func(*rapid.T, *rand.Rand) *spec{drawSoftmax, drawLayerNormalization, drawRMSNormalization,
		drawBatchNormalization, drawLRN}
	runExamples(t, 80, func(t *rapid.T, r *rand.Rand) *spec {
		s := rapid.SampledFrom(draws).Draw(t, "operator")(t, r)
		if s.want[0] != nil && rapid.Bool().Draw(t, "in place") {
			s.inPlace = 0
		}
		return s
	})
}
