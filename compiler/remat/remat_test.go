package remat_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// training is a step of a perceptron: forward, backward, and the gradients of the weights as outputs.
func training(t *testing.T, layers int, batch, width int64) *graph.Checked {
	g := &graph.Graph{Name: "training"}
	dims := func(extents ...int64) (d []graph.Dim) {
		for _, n := range extents {
			d = append(d, graph.Dim{Size: n})
		}
		return d
	}
	input := func(name string, extents ...int64) {
		g.Inputs = append(g.Inputs, graph.Value{Name: name, DType: graph.F32, Shape: dims(extents...)})
	}
	node := func(op, out string, in ...string) {
		n := graph.Node{Name: out, Op: op, Inputs: in, Outputs: []string{out}}
		if op == "Transpose" {
			n.Attrs = graph.Attrs{"perm": []int64{1, 0}}
		}
		g.Nodes = append(g.Nodes, n)
	}
	input("h0", batch, width)
	input("target", batch, width)
	for i := range layers {
		input(fmt.Sprint("w", i), width, width)
		node("MatMul", fmt.Sprint("z", i+1), fmt.Sprint("h", i), fmt.Sprint("w", i))
		node("Tanh", fmt.Sprint("h", i+1), fmt.Sprint("z", i+1))
	}
	node("Sub", fmt.Sprint("g", layers), fmt.Sprint("h", layers), "target")
	for i := layers - 1; i >= 0; i-- {
		h, up := fmt.Sprint("h", i+1), fmt.Sprint("g", i+1)
		node("Mul", fmt.Sprint("s", i), h, h)
		node("Mul", fmt.Sprint("r", i), up, fmt.Sprint("s", i))
		node("Sub", fmt.Sprint("d", i), up, fmt.Sprint("r", i))
		node("Transpose", fmt.Sprint("ht", i), fmt.Sprint("h", i))
		node("MatMul", fmt.Sprint("dw", i), fmt.Sprint("ht", i), fmt.Sprint("d", i))
		g.Outputs = append(g.Outputs, fmt.Sprint("dw", i))
		if i > 0 {
			node("Transpose", fmt.Sprint("wt", i), fmt.Sprint("w", i))
			node("MatMul", fmt.Sprint("g", i), fmt.Sprint("d", i), fmt.Sprint("wt", i))
		}
	}
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	return c
}

// meaning spells out what a value is: operators and arguments, down to inputs and constants.
func meaning(c *graph.Checked) []string {
	texts := make([]string, len(c.Values))
	ids := map[string]int{}
	for v := range c.Values {
		if c.Values[v].Producer < 0 {
			texts[v] = c.Values[v].Name
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if plan.Transfers(n.Op) {
			texts[n.Outputs[0]] = texts[n.Inputs[0]]
			continue
		}
		text := n.Op + fmt.Sprint(n.Attrs)
		for _, v := range n.Inputs {
			if v < 0 {
				text += " -"
			} else {
				text += " " + texts[v]
			}
		}
		if _, ok := ids[text]; !ok {
			ids[text] = len(ids)
		}
		for k, v := range n.Outputs {
			if v >= 0 {
				texts[v] = fmt.Sprintf("<%d.%d>", ids[text], k)
			}
		}
	}
	return texts
}

// same holds a result to the graph that it came from: each output is made of the same operators and arguments.
func same(t require.TestingT, c *graph.Checked, r *remat.Result) {
	require.NoError(t, plan.Verify(r.Plan, r.Graph))
	// One numbering for both: the nodes of the one after those of the other.
	both := graph.Checked{Values: append(append([]graph.TypedValue{}, c.Values...), r.Graph.Values...)}
	both.Nodes = append(both.Nodes, c.Nodes...)
	shift := func(list []int) []int {
		out := make([]int, len(list))
		for k, v := range list {
			if out[k] = v; v >= 0 {
				out[k] = v + len(c.Values)
			}
		}
		return out
	}
	for _, n := range r.Graph.Nodes {
		n.Inputs, n.Outputs = shift(n.Inputs), shift(n.Outputs)
		both.Nodes = append(both.Nodes, n)
	}
	texts := meaning(&both)
	require.Len(t, r.Graph.Outputs, len(c.Outputs))
	for k, v := range c.Outputs {
		assert.Equal(t, texts[v], texts[len(c.Values)+r.Graph.Outputs[k]], "output %d", k)
	}
}

func TestWhatFitsIsLeftAlone(t *testing.T) {
	c := training(t, 4, 8, 8)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes})
	require.NoError(t, err)
	assert.Same(t, c, r.Graph)
	assert.Equal(t, given, r.Plan)
	assert.Empty(t, r.Again)
	assert.Equal(t, r.Given, r.Cost)
}

// A deep network in less and less memory: the frame holds at the addresses, and the time grows slowly.
func TestATrainingStepInLessMemory(t *testing.T) {
	c := training(t, 8, 64, 32)
	before := meaning(c)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	last := 1.0
	for _, percent := range []int64{90, 70, 50} {
		capacity := given.Frame.Bytes * percent / 100
		r, err := remat.Fit(c, remat.Options{Capacity: capacity})
		require.NoError(t, err, "%d %%", percent)
		same(t, c, r)
		assert.LessOrEqual(t, r.Plan.Frame.Bytes, capacity)
		t.Logf("%3d %%: frame %d of %d, %d nodes again, time x %.3f", percent, r.Plan.Frame.Bytes, capacity, len(r.Again),
			r.Cost/r.Given)
		assert.Greater(t, r.Cost/r.Given, last-0.02)
		assert.Less(t, r.Cost/r.Given, 1.5)
		last = r.Cost / r.Given
	}
	assert.Equal(t, before, meaning(c), "the given graph has changed")
}

// Nobody knows whether an operator without a row gives the same a second time: its results are kept.
func TestOnlyKnownOperatorsRunAgain(t *testing.T) {
	shape := []graph.Dim{{Size: 64}, {Size: 64}}
	g := &graph.Graph{Inputs: []graph.Value{{Name: "v0", DType: graph.F32, Shape: shape}}}
	for i := range 8 {
		op := "Tanh"
		if i%2 == 0 {
			op = "com.example.Noise"
		}
		out := fmt.Sprint("v", i+1)
		g.Nodes = append(g.Nodes, graph.Node{Op: op, Inputs: []string{fmt.Sprint("v", i)}, Outputs: []string{out}})
		made := graph.Value{Name: out, DType: graph.F32, Shape: shape}
		g.Declared = append(g.Declared, graph.Declaration{Value: made})
	}
	last := "v8"
	for i := 7; i > 0; i-- {
		out := fmt.Sprint("b", i)
		g.Nodes = append(g.Nodes, graph.Node{Op: "Add", Inputs: []string{last, fmt.Sprint("v", i)}, Outputs: []string{out}})
		last = out
	}
	g.Outputs = []string{last}
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes * 3 / 4})
	require.NoError(t, err)
	require.NotEmpty(t, r.Again)
	for _, a := range r.Again {
		assert.NotContains(t, a.Of, "Noise", a.Node)
	}
	same(t, c, r)
}

func TestACapacityThatNothingReaches(t *testing.T) {
	_, err := remat.Fit(training(t, 4, 8, 8), remat.Options{Capacity: 64})
	var e *remat.CapacityError
	require.ErrorAs(t, err, &e)
	assert.EqualValues(t, 64, e.Capacity)
	assert.Greater(t, e.Reached, e.Capacity)
	_, err = remat.Fit(training(t, 4, 8, 8), remat.Options{Capacity: -1})
	require.ErrorContains(t, err, "the capacity is -1")
}

// The curve of time against memory, for docs/planner-capacity.md.
func TestCurve(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("a table for readers: go test -run Curve -v")
	}
	c := training(t, 64, 256, 64)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	for _, percent := range []int64{100, 80, 50, 30} {
		r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes * percent / 100})
		require.NoError(t, err)
		same(t, c, r)
		t.Logf("%3d %%: %7d bytes, time x %.3f, %d nodes again", percent, r.Plan.Frame.Bytes, r.Cost/r.Given, len(r.Again))
	}
}
