package main

import (
	"fmt"

	"tlruntime/compiler/graph"
)

const (
	near   = 16 << 20 // bytes of operands that stay in the last cache
	around = 12 << 20 // bytes of a measurement's arguments: more than the second cache of a core holds
	most   = 200      // nodes of a measurement
)

// kernel is a graph of nodes that do the same, each on arguments of its own, which are inputs. Together these
// are larger than the second cache: in a model, what a node takes has been out of it for long as well.
func kernel(op string, attrs graph.Attrs, shapes ...[]int64) *graph.Graph {
	g := &graph.Graph{Name: op}
	bytes := int64(0)
	for _, shape := range shapes {
		bytes += 4 * graph.Elements(shape)
		for _, d := range shape {
			g.Name += fmt.Sprintf("_%d", d)
		}
	}
	for k := range max(1, min(most, around/bytes)) {
		n := graph.Node{Name: fmt.Sprint("n", k), Op: op, Attrs: attrs, Outputs: []string{fmt.Sprint("y", k)}}
		for i, shape := range shapes {
			in := graph.Value{Name: fmt.Sprintf("x%d_%d", k, i), DType: graph.F32}
			if op == "Where" && i == 0 {
				in.DType = graph.Bool
			}
			for _, d := range shape {
				in.Shape = append(in.Shape, graph.Dim{Size: d})
			}
			g.Inputs, n.Inputs = append(g.Inputs, in), append(n.Inputs, in.Name)
		}
		g.Nodes, g.Outputs = append(g.Nodes, n), append(g.Outputs, n.Outputs[0])
	}
	return g
}

// kernels lists what is measured: of each class some operators, within the caches and beyond.
func kernels() (list []*graph.Graph) {
	add := func(op string, attrs graph.Attrs, shapes ...[]int64) {
		list = append(list, kernel(op, attrs, shapes...))
	}
	for _, n := range []int64{4 << 10, 64 << 10, 512 << 10, 4 << 20} {
		flat, rows := []int64{n}, []int64{n / 256, 256}
		for _, op := range []string{"Add", "Mul"} {
			add(op, nil, flat, flat)
		}
		add("Relu", nil, flat)
		add("Sub", nil, rows, []int64{256})
		add("Where", nil, flat, flat, flat)
		for _, op := range []string{"Tanh", "Exp", "Sigmoid"} {
			add(op, nil, flat)
		}
		add("ReduceSum", graph.Attrs{"axes": []int64{1}, "keepdims": int64(1)}, rows)
		add("ReduceSum", graph.Attrs{"axes": []int64{0}, "keepdims": int64(1)}, rows)
		add("ReduceMean", graph.Attrs{"axes": []int64{1}, "keepdims": int64(1)}, rows)
		add("Softmax", graph.Attrs{"axis": int64(1)}, rows)
		add("LayerNormalization", graph.Attrs{"axis": int64(1)}, rows, []int64{256})
		add("Concat", graph.Attrs{"axis": int64(1)}, rows, rows)
		add("Transpose", graph.Attrs{"perm": []int64{1, 0}}, rows)
		picture := []int64{1, n / 1024, 32, 32}
		add("AveragePool", graph.Attrs{"kernel_shape": []int64{2, 2}, "strides": []int64{2, 2}}, picture)
		add("MaxPool", graph.Attrs{"kernel_shape": []int64{3, 3}, "strides": []int64{1, 1}, "pads": []int64{1, 1, 1, 1}},
			picture)
	}
	for _, s := range [][3]int64{
		{32, 32, 32}, {64, 64, 64}, {128, 128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 128, 128}, {128, 512, 128},
		{128, 128, 512}, {256, 64, 256}, {1, 1024, 1024}, {16, 512, 512}, {1024, 64, 64},
	} {
		add("MatMul", nil, []int64{s[0], s[1]}, []int64{s[1], s[2]})
	}
	for _, s := range [][3]int64{{512, 128, 128}, {128, 512, 128}, {256, 64, 256}, {128, 128, 128}} {
		add("Gemm", graph.Attrs{"transA": int64(1)}, []int64{s[1], s[0]}, []int64{s[1], s[2]})
		add("Gemm", graph.Attrs{"transB": int64(1)}, []int64{s[0], s[1]}, []int64{s[2], s[1]})
	}
	add("MatMul", nil, []int64{4, 256, 16}, []int64{4, 16, 256})
	add("MatMul", nil, []int64{4, 256, 256}, []int64{4, 256, 16})
	for _, s := range [][5]int64{
		{1, 16, 32, 16, 3}, {8, 16, 32, 16, 3}, {8, 32, 16, 32, 3}, {1, 64, 56, 64, 3}, {1, 128, 28, 128, 1},
		{8, 3, 32, 16, 3}, {4, 64, 8, 64, 3}, {1, 256, 14, 256, 3}, {8, 16, 32, 32, 1}, {1, 32, 112, 64, 1},
	} {
		pad := s[4] / 2
		add("Conv", graph.Attrs{"kernel_shape": []int64{s[4], s[4]}, "pads": []int64{pad, pad, pad, pad}},
			[]int64{s[0], s[1], s[2], s[2]}, []int64{s[3], s[1], s[4], s[4]})
	}
	// The gradient of a weight: pictures are windows.
	for _, s := range [][4]int64{{16, 8, 32, 16}, {32, 8, 16, 32}, {64, 4, 8, 64}} {
		add("Conv", graph.Attrs{"kernel_shape": []int64{s[2], s[2]}, "pads": []int64{1, 1, 1, 1}},
			[]int64{s[0], s[1], s[2], s[2]}, []int64{s[3], s[1], s[2], s[2]})
	}
	return list
}
