package llvm

import (
	"math"
	"testing"

	"tlruntime/compiler/graph"
)

// Tensors without elements, and results of nothing.
func TestEmpty(t *testing.T) {
	number := func(x float64, shape ...int64) tensor {
		y := zeros(graph.F32, shape...)
		for i := range y.data {
			y.data[i] = x
		}
		return y
	}
	window := graph.Attrs{"kernel_shape": []int64{3}, "strides": []int64{1}, "pads": []int64{1, 1},
		"dilations": []int64{1}, "group": int64(1), "count_include_pad": int64(0)}
	gemm := graph.Attrs{"alpha": 1.0, "beta": 1.0}
	axes := graph.Attrs{"axes": []int64{1}, "keepdims": int64(0)}
	specs := []*spec{
		newSpec("Conv", window, []tensor{number(1, 1, 0, 5), number(1, 2, 0, 3), number(7, 2)}, number(7, 1, 2, 5)),
		newSpec("Conv", window, []tensor{number(1, 0, 2, 5), number(1, 2, 2, 3)}, number(0, 0, 2, 5)),
		newSpec("MatMul", nil, []tensor{number(1, 3, 0), number(1, 0, 4)}, number(0, 3, 4)),
		newSpec("MatMul", nil, []tensor{number(1, 0, 3), number(1, 3, 4)}, number(0, 0, 4)),
		newSpec("Gemm", gemm, []tensor{number(1, 3, 0), number(1, 0, 4), number(5, 4)}, number(5, 3, 4)),
		newSpec("ReduceSum", axes, []tensor{number(1, 3, 0)}, number(0, 3)),
		newSpec("ReduceMean", axes, []tensor{number(1, 3, 0)}, number(math.NaN(), 3)),
		newSpec("ReduceMax", axes, []tensor{number(1, 0, 4)}, number(1, 0)),
		newSpec("Add", nil, []tensor{number(1, 0, 4), number(1, 4)}, number(1, 0, 4)),
		newSpec("Softmax", graph.Attrs{"axes": []int64{1}}, []tensor{number(1, 3, 0)}, number(1, 3, 0)),
		newSpec("Pad", graph.Attrs{"pads": []int64{1, 2}, "mode": "constant", "value": 4.0}, []tensor{number(1, 0)},
			number(4, 3)),
		newSpec("Gather", graph.Attrs{"axis": int64(0)}, []tensor{number(1, 3, 2), zeros(graph.I64, 0)},
			number(1, 0, 2)),
		newSpec("AveragePool", window, []tensor{number(1, 0, 2, 5)}, number(1, 0, 2, 5)),
		newSpec("LRN", graph.Attrs{"size": int64(3), "alpha": 1.0, "beta": 1.0, "bias": 1.0},
			[]tensor{number(1, 2, 0, 3)}, number(1, 2, 0, 3)),
	}
	var jobs []*job
	for i, s := range specs {
		jobs = append(jobs, s.plain(i))
	}
	run(t, jobs)
}
