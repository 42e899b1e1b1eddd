package graph_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

// folded checks a graph of one node with constant arguments and returns the
// content of its outputs.
func folded(t require.TestingT, op string, attrs graph.Attrs, outputs int, args ...graph.Tensor) []*graph.Tensor {
	g := &graph.Graph{Nodes: []graph.Node{{Op: op, Attrs: attrs}}}
	n := &g.Nodes[0]
	for i, a := range args {
		n.Inputs = append(n.Inputs, fmt.Sprint("in", i))
		g.Constants = append(g.Constants, graph.Constant{n.Inputs[i], a})
	}
	for i := range outputs {
		n.Outputs = append(n.Outputs, fmt.Sprint("out", i))
	}
	g.Outputs = n.Outputs
	c := mustCheck(t, g, check.Options{})
	var all []*graph.Tensor
	for _, out := range c.Outputs {
		require.NotNil(t, c.Values[out].Constant, "%s was not folded", op)
		all = append(all, c.Values[out].Constant)
	}
	return all
}

// values returns the elements of a tensor as floats.
func values(t *graph.Tensor) []float64 {
	all := make([]float64, graph.Elements(t.Shape))
	for i := range all {
		all[i] = t.FloatAt(int64(i))
	}
	return all
}

func TestFoldArithmetic(t *testing.T) {
	f := func(x ...float64) graph.Tensor { return numbers(graph.F32, list(int64(len(x))), x...) }
	n := func(x ...float64) graph.Tensor { return numbers(graph.I64, list(int64(len(x))), x...) }
	b := func(x ...float64) graph.Tensor { return numbers(graph.Bool, list(int64(len(x))), x...) }
	inf := math.Inf(1)
	for _, c := range []struct {
		op   string
		args []graph.Tensor
		want []float64
	}{
		{"Add", []graph.Tensor{f(1, 2), f(0.5)}, []float64{1.5, 2.5}},
		{"Sub", []graph.Tensor{n(1, 2), n(5, 5)}, []float64{-4, -3}},
		{"Mul", []graph.Tensor{n(3), n(-5, 5)}, []float64{-15, 15}},
		{"Div", []graph.Tensor{n(-7, 7), n(2)}, []float64{-3, 3}},
		{"Div", []graph.Tensor{f(1, -1), f(0)}, []float64{inf, -inf}},
		{"Min", []graph.Tensor{n(3, 1), n(2), n(9, 0)}, []float64{2, 0}},
		{"Max", []graph.Tensor{f(3, 1)}, []float64{3, 1}},
		{"Sum", []graph.Tensor{f(3)}, []float64{3}},
		{"Sum", []graph.Tensor{f(3), f(4, 5), f(1)}, []float64{8, 9}},
		{"Neg", []graph.Tensor{n(3, -1)}, []float64{-3, 1}},
		{"Abs", []graph.Tensor{n(3, -1)}, []float64{3, 1}},
		{"Abs", []graph.Tensor{f(3, -1)}, []float64{3, 1}},
		{"Sqrt", []graph.Tensor{f(9, 2)}, []float64{3, float64(float32(math.Sqrt2))}},
		{"Reciprocal", []graph.Tensor{f(4)}, []float64{0.25}},
		{"Floor", []graph.Tensor{f(-1.5)}, []float64{-2}},
		{"Ceil", []graph.Tensor{f(-1.5)}, []float64{-1}},
		{"Not", []graph.Tensor{b(0, 1)}, []float64{1, 0}},
		{"And", []graph.Tensor{b(0, 0, 1, 1), b(0, 1, 0, 1)}, []float64{0, 0, 0, 1}},
		{"Or", []graph.Tensor{b(0, 0, 1, 1), b(0, 1, 0, 1)}, []float64{0, 1, 1, 1}},
		{"Xor", []graph.Tensor{b(0, 0, 1, 1), b(0, 1, 0, 1)}, []float64{0, 1, 1, 0}},
		{"Equal", []graph.Tensor{n(1, 2), n(2)}, []float64{0, 1}},
		{"Less", []graph.Tensor{n(1, 2, 3), n(2)}, []float64{1, 0, 0}},
		{"LessOrEqual", []graph.Tensor{n(1, 2, 3), n(2)}, []float64{1, 1, 0}},
		{"Greater", []graph.Tensor{f(1, 2, 3), f(2)}, []float64{0, 0, 1}},
		{"GreaterOrEqual", []graph.Tensor{f(1, 2, 3), f(2)}, []float64{0, 1, 1}},
		{"Where", []graph.Tensor{b(1, 0), f(7), f(8, 9)}, []float64{7, 9}},
		{"Gather", []graph.Tensor{f(5, 6, 7), n(-1, 0)}, []float64{7, 5}},
		{"Identity", []graph.Tensor{n(1)}, []float64{1}},
	} {
		require.Equal(t, c.want, values(folded(t, c.op, nil, 1, c.args...)[0]), "%s %v", c.op, c.args)
	}
}

func TestFoldCast(t *testing.T) {
	x := numbers(graph.F64, list(5), -1.75, 0, 2.5, 1e30, 200)
	require.Equal(t, []float64{1, 0, 1, 1, 1}, values(folded(t, "Cast", A{"to": "bool"}, 1, x)[0]))
	require.Equal(t, float64(float32(1e30)), values(folded(t, "Cast", A{"to": "f32"}, 1, x)[0])[3])
	require.Equal(t, []float64{-1.75, 0, 2.5, math.Inf(1), 200}, values(folded(t, "Cast", A{"to": "f16"}, 1, x)[0]))
	short := numbers(graph.F64, list(3), -1.75, 0, 2.5)
	half := folded(t, "Cast", A{"to": "bf16"}, 1, short)[0]
	require.Equal(t, []float64{-1, 0, 2}, values(folded(t, "Cast", A{"to": "i32"}, 1, *half)[0]))
	require.Equal(t, []float64{-1, 0, 2}, values(folded(t, "Cast", A{"to": "i32"}, 1, short)[0]))
	require.Equal(t, []float64{255}, values(folded(t, "Cast", A{"to": "u8"}, 1, numbers(graph.I64, list(1), -1))[0]))
	require.Equal(t, []float64{-1}, values(folded(t, "Cast", A{"to": "i16"}, 1, numbers(graph.I32, list(1), 65535))[0]))
}

// TestWhatIsNotFolded: a result that nobody can know, or that a run has to make,
// stays a node.
func TestWhatIsNotFolded(t *testing.T) {
	for _, g := range []*graph.Graph{
		single("Div", "i64[1,2] i64[0]", nil, 1),
		single("Cast", "f32=1e30", A{"to": "i64"}, 1),
		single("Cast", "f32=300", A{"to": "u8"}, 1),
		single("Add", "u64=1 u64=2", nil, 1),
		single("Exp", "f32=1", nil, 1),
		single("Expand", "f32=1 i64[1024,1024,1024]", nil, 1),
		single("Where", "bool[1] f32=1 f32(2)", nil, 1),
	} {
		c := mustCheck(t, g, check.Options{})
		require.Len(t, c.Nodes, 1, g.Nodes[0].Op)
	}
}

func TestFoldBytes(t *testing.T) {
	g := single("Expand", "f32=1 i64[10]", nil, 1)
	require.Empty(t, mustCheck(t, g, check.Options{FoldBytes: 40}).Nodes)
	require.Len(t, mustCheck(t, g, check.Options{FoldBytes: 39}).Nodes, 1)
	g = single("ConstantOfShape", "i64[10]", nil, 1)
	require.Empty(t, mustCheck(t, g, check.Options{FoldBytes: 40}).Nodes)
	_, err := check.Check(g, check.Options{FoldBytes: 39})
	require.ErrorContains(t, err,
		"its result takes 40 bytes, and 39 are left for computed constants; use smaller extents, or raise FoldBytes")
}

// TestLightWeights has what models with generated weights are made of: constants
// of one element, reshaped, which share one run of memory.
func TestLightWeights(t *testing.T) {
	g := parse(t,
		`"outputs": ["a", "b", "c", "d"], "constants": [{"name": "s", "dtype": "i64", "shape": [2], "data": [1000, 1000]}, {"name": "t", "dtype": "i64", "shape": [1], "data": [500000]}],
		"nodes": [
		{"op": "ConstantOfShape", "inputs": ["s"], "outputs": ["a"], "attrs": {"value": {"dtype": "f32", "shape": [1], "data": [0.5]}}},
		{"op": "ConstantOfShape", "inputs": ["t"], "outputs": ["b"], "attrs": {"value": {"dtype": "f32", "shape": [1], "data": [0.5]}}},
		{"op": "Unsqueeze", "inputs": ["b"], "outputs": ["c"], "attrs": {"axes": [1, 2]}},
		{"op": "ConstantOfShape", "inputs": ["t"], "outputs": ["d"], "attrs": {"value": {"dtype": "i32", "shape": [1], "data": [3]}}}]`)
	c := mustCheck(t, g, check.Options{})
	require.Equal(t, "f32(1000,1000) constant; f32(500000) constant; f32(500000,1,1) constant; i32(500000) constant",
		summary(c))
	at := func(i int) *graph.Tensor { return c.Values[c.Outputs[i]].Constant }
	require.Same(t, &at(0).Data[0], &at(1).Data[0])
	require.Same(t, &at(1).Data[0], &at(2).Data[0])
	require.EqualValues(t, 0.5, at(0).FloatAt(999999))
	require.EqualValues(t, 0.5, at(2).FloatAt(499999))
	require.EqualValues(t, 3, at(3).IntAt(499999))
	require.Equal(t, len(at(1).Data), cap(at(1).Data), "a constant must not see behind its end")
}

// TestParametersAreComputed has the arithmetic by which exporters find the shape
// of a Reshape.
func TestParametersAreComputed(t *testing.T) {
	g := parse(t, `"inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 3, 4]}], "outputs": ["y"],
		"constants": [{"name": "zero", "dtype": "i64", "shape": [], "data": 0}, {"name": "minus", "dtype": "i64", "shape": [1], "data": [-1]}],
		"nodes": [
		{"op": "Shape", "inputs": ["x"], "outputs": ["s"]},
		{"op": "Gather", "inputs": ["s", "zero"], "outputs": ["n"]},
		{"op": "Unsqueeze", "inputs": ["n", "at"], "outputs": ["n1"]},
		{"op": "Concat", "inputs": ["n1", "minus"], "outputs": ["to"], "attrs": {"axis": 0}},
		{"op": "Constant", "outputs": ["at"], "attrs": {"value_ints": [0]}},
		{"op": "Reshape", "inputs": ["x", "to"], "outputs": ["y"]}]`)
	c := mustCheck(t, g, check.Options{Bind: map[string]int64{"n": 5}})
	require.Equal(t, "f32(5,12); Reshape[shape:[5 12]]", summary(c))
	require.Len(t, c.Values, 2)
}

func TestFreeze(t *testing.T) {
	g := single("Reshape", "f32(2,3) i64(2)", nil, 1)
	c := mustCheck(t, g, check.Options{Freeze: map[string]graph.Tensor{"b": numbers(graph.I64, list(2), 3, -1)}})
	require.Equal(t, "f32(3,2); Reshape[shape:[3 2]]", summary(c))
	require.Equal(t, []int{0}, c.Inputs)
}

func drawTensor(t *rapid.T, d graph.DType, shape []int64) graph.Tensor {
	x := graph.NewTensor(d, shape)
	for i := range graph.Elements(shape) {
		if d == graph.F32 || d == graph.F64 {
			x.SetFloat(i, float64(rapid.Float32Range(-100, 100).Draw(t, "x")))
		} else {
			x.SetInt(i, rapid.Int64Range(-100, 100).Draw(t, "x"))
		}
	}
	return x
}

// broadcastAt returns the element of t that broadcasting shows at index.
func broadcastAt(t *graph.Tensor, index []int64) float64 {
	place := int64(0)
	for i, d := range t.Shape {
		x := index[len(index)-len(t.Shape)+i]
		if d == 1 {
			x = 0
		}
		place = place*d + x
	}
	return t.FloatAt(place)
}

func TestFoldBroadcasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 3).Draw(t, "shape")
		part := func(name string) []int64 {
			s := slices.Clone(shape[rapid.IntRange(0, len(shape)).Draw(t, name):])
			for i := range s {
				if rapid.Bool().Draw(t, "one") {
					s[i] = 1
				}
			}
			return s
		}
		d := rapid.SampledFrom([]graph.DType{graph.F32, graph.F64, graph.I32, graph.I64, graph.I8}).Draw(t, "dtype")
		a, b := drawTensor(t, d, part("a")), drawTensor(t, d, part("b"))
		got := folded(t, "Sub", nil, 1, a, b)[0]
		want := slices.Clone(shape[len(shape)-max(len(a.Shape), len(b.Shape)):])
		for i := range want {
			want[i] = 1
			for _, s := range [][]int64{a.Shape, b.Shape} {
				if at := i - len(want) + len(s); at >= 0 && s[at] != 1 {
					want[i] = s[at]
				}
			}
		}
		require.Equal(t, want, got.Shape)
		index := make([]int64, len(want))
		for i := range graph.Elements(want) {
			rest := i
			for axis := len(want) - 1; axis >= 0; axis-- {
				index[axis] = rest % want[axis]
				rest /= want[axis]
			}
			exact := numbers(d, list(1), broadcastAt(&a, index)-broadcastAt(&b, index))
			require.Equal(t, exact.FloatAt(0), got.FloatAt(i))
		}
	})
}

// TestFoldMovesElements: what Split takes apart Concat puts together, and a
// transposition is undone by the inverse one.
func TestFoldMovesElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 4), 1, 4).Draw(t, "shape")
		x := drawTensor(t, graph.F32, shape)
		axis := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
		cut := rapid.Int64Range(0, shape[axis]).Draw(t, "cut")
		parts := folded(t, "Split", A{"axis": int64(axis)}, 2, x, numbers(graph.I64, list(2), float64(cut),
			float64(shape[axis]-cut)))
		back := folded(t, "Concat", A{"axis": int64(axis)}, 1, *parts[0], *parts[1])[0]
		require.Equal(t, x, *back)
		begin := folded(t, "Slice", nil, 1, x, numbers(graph.I64, list(1), 0), numbers(graph.I64, list(1), float64(cut)),
			numbers(graph.I64, list(1), float64(axis)))[0]
		require.Equal(t, *parts[0], *begin)

		perm := rapid.Permutation(list(0, 1, 2, 3)[:len(shape)]).Draw(t, "perm")
		inverse := make([]int64, len(perm))
		for i, p := range perm {
			inverse[p] = int64(i)
		}
		turned := folded(t, "Transpose", A{"perm": perm}, 1, x)[0]
		require.Equal(t, x, *folded(t, "Transpose", A{"perm": inverse}, 1, *turned)[0])
	})
}

// sliceModel is a slice of n elements as Python defines it, by the index of each.
func sliceModel(n, start, end, step int64) (picked []float64) {
	if start < 0 {
		start += n
	}
	if end < 0 {
		end += n
	}
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		if i < 0 || i >= n {
			// A start outside of the axis moves to its nearest end.
			if step > 0 && i < 0 {
				i = -step
			} else if step < 0 && i >= n {
				i = n - 1 - step
			} else {
				break
			}
			continue
		}
		picked = append(picked, float64(i))
	}
	return picked
}

func TestFoldSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 8).Draw(t, "n")
		any := rapid.Int64Range(-12, 12)
		start, end, step := any.Draw(t, "start"), any.Draw(t, "end"), any.Filter(func(s int64) bool {
			return s != 0
		}).Draw(t, "step")
		x := graph.NewTensor(graph.F32, list(n))
		for i := range n {
			x.SetFloat(i, float64(i))
		}
		one := func(v int64) graph.Tensor { return numbers(graph.I64, list(1), float64(v)) }
		got := folded(t, "Slice", nil, 1, x, one(start), one(end), one(0), one(step))[0]
		require.Equal(t, append([]float64{}, sliceModel(n, start, end, step)...), values(got))
	})
}

// Half floats are computed as f32 and rounded to their type, as kernels do.
func TestFoldHalfFloats(t *testing.T) {
	for d, want := range map[graph.DType]float64{graph.F16: 2049.0 - 1, graph.BF16: 2048} {
		a, b := graph.FilledTensor(d, []int64{2}, 2048), graph.FilledTensor(d, []int64{2}, 1)
		g := &graph.Graph{Constants: []graph.Constant{{"a", a}, {"b", b}}, Outputs: []string{"y"}, Nodes: []graph.Node{
			{Op: "Add", Inputs: []string{"a", "b"}, Outputs: []string{"s"}},
			{Op: "Neg", Inputs: []string{"s"}, Outputs: []string{"n"}},
			{Op: "Relu", Inputs: []string{"n"}, Outputs: []string{"z"}},
			{Op: "Sub", Inputs: []string{"z", "n"}, Outputs: []string{"y"}},
		}}
		c := mustCheck(t, g, check.Options{})
		require.Empty(t, c.Nodes)
		require.Equal(t, want, c.Values[c.Outputs[0]].Constant.FloatAt(1), "half of the last place is rounded to even")
	}
}
