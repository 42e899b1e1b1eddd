package remat_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// drawn is a graph of square matrices; each value that nobody takes is an output.
func drawn(t *rapid.T, nodes int, ops ...string) *graph.Checked {
	g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 16}, {Size: 16}}}}}
	names, taken := []string{"x"}, map[string]bool{"x": true}
	pick := func() string {
		name := rapid.SampledFrom(names[max(0, len(names)-6):]).Draw(t, "argument")
		taken[name] = true
		return name
	}
	for i := range nodes {
		n := graph.Node{Op: rapid.SampledFrom(ops).Draw(t, "op"), Outputs: []string{fmt.Sprint("v", i)}}
		n.Inputs = []string{pick()}
		switch n.Op {
		case "Add", "MatMul":
			n.Inputs = append(n.Inputs, pick())
		case "Transpose":
			n.Attrs = graph.Attrs{"perm": []int64{1, 0}}
		case "Concat":
			n.Inputs = append(n.Inputs, pick())
			n.Attrs = graph.Attrs{"axis": int64(0)}
			half := graph.Node{Op: "Slice", Inputs: []string{fmt.Sprint("whole", i)}, Outputs: n.Outputs,
				Attrs: graph.Attrs{"starts": []int64{8}, "ends": []int64{24}, "axes": []int64{0}}}
			n.Outputs = []string{half.Inputs[0]}
			g.Nodes = append(g.Nodes, n)
			n = half
		}
		g.Nodes = append(g.Nodes, n)
		names = append(names, n.Outputs[0])
	}
	for _, name := range names {
		if !taken[name] {
			g.Outputs = append(g.Outputs, name)
		}
	}
	return checked(t, g)
}

func checked(t *rapid.T, g *graph.Graph) *graph.Checked {
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	return c
}

// thereAndBack is a chain whose values are needed again in about the opposite order.
func thereAndBack(t *rapid.T, longest int) *graph.Checked {
	g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 16}, {Size: 16}}}}}
	node := func(op, out string, in ...string) string {
		g.Nodes = append(g.Nodes, graph.Node{Op: op, Inputs: in, Outputs: []string{out}})
		return out
	}
	names, length := []string{"x"}, rapid.IntRange(3, longest).Draw(t, "length")
	for i := range length {
		from := names[len(names)-1]
		if rapid.Bool().Draw(t, "add") {
			names = append(names, node("Add", fmt.Sprint("f", i), from, rapid.SampledFrom(names).Draw(t, "skip")))
		} else {
			names = append(names, node("Tanh", fmt.Sprint("f", i), from))
		}
	}
	back := names[length]
	for i := length - 1; i > 0; i-- {
		if rapid.IntRange(0, 3).Draw(t, "needed") > 0 {
			back = node("Add", fmt.Sprint("b", i), back, names[i])
		}
	}
	g.Outputs = []string{back}
	return checked(t, g)
}

// Whatever the graph: the result fits, its plan is right, and it computes the same.
func TestRandomGraphsInLessMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawn(r, rapid.IntRange(2, 14).Draw(r, "nodes"), "Add", "Tanh", "MatMul", "Transpose", "Concat")
		given, err := plan.Build(c, plan.Options{})
		require.NoError(r, err)
		capacity := rapid.Int64Range(0, given.Frame.Bytes).Draw(r, "capacity")
		o := remat.Options{Capacity: capacity}
		if rapid.Bool().Draw(r, "second space") {
			o.Outside = &remat.Outside{Bandwidth: rapid.Float64Range(1e8, 1e11).Draw(r, "bandwidth")}
			o.Outside.Capacity = 1024 * rapid.Int64Range(0, 4).Draw(r, "outside")
			o.NoAgain = rapid.Bool().Draw(r, "moves alone")
		}
		got, err := remat.Fit(c, o)
		var full *remat.CapacityError
		if errors.As(err, &full) {
			require.Greater(r, full.Reached, capacity)
			require.LessOrEqual(r, full.LowerBound, full.Reached)
			return
		}
		require.NoError(r, err)
		require.LessOrEqual(r, got.Plan.Frame.Bytes, capacity)
		if o.Outside != nil && o.Outside.Capacity > 0 {
			require.LessOrEqual(r, got.Plan.Outside, o.Outside.Capacity)
		}
		require.GreaterOrEqual(r, got.Cost, got.LeastCost*(1-1e-9))
		require.GreaterOrEqual(r, got.LeastCost, got.Given)
		same(r, c, got)
		o.Capacity = 0
		if _, err = remat.Fit(c, o); errors.As(err, &full) {
			require.LessOrEqual(r, full.LowerBound, got.Plan.Frame.Bytes, "the bound is proved")
		}
	})
}
