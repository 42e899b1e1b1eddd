package remat_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
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
	c, err := graph.Check(g, graph.CheckOptions{})
	require.NoError(t, err)
	return c
}

// thereAndBack is a chain whose values are needed again in about the opposite order.
func thereAndBack(t *rapid.T) *graph.Checked {
	g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 16}, {Size: 16}}}}}
	node := func(op, out string, in ...string) string {
		g.Nodes = append(g.Nodes, graph.Node{Op: op, Inputs: in, Outputs: []string{out}})
		return out
	}
	names, length := []string{"x"}, rapid.IntRange(3, 7).Draw(t, "length")
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
		got, err := remat.Fit(c, remat.Options{Capacity: capacity})
		var full *remat.CapacityError
		if errors.As(err, &full) {
			require.Greater(r, full.Reached, capacity)
			return
		}
		require.NoError(r, err)
		require.LessOrEqual(r, got.Plan.Frame.Bytes, capacity)
		require.GreaterOrEqual(r, got.Cost, got.Given)
		same(r, c, got)
	})
}

// exact is the lowest cost at which the outputs can be computed when no more bytes are alive at once, by a search over
// the sets of values that are alive (Dijkstra, 1959): every order, every value computed any number of times.
func exact(c *graph.Checked, capacity int64) float64 {
	n := len(c.Nodes)
	outputs, bytes := 0, make([]int64, n)
	for i := range n {
		bytes[i] = c.Values[c.Nodes[i].Outputs[0]].Bytes()
	}
	for _, v := range c.Outputs {
		outputs |= 1 << c.Values[v].Producer
		bytes[c.Values[v].Producer] = 0
	}
	needs := make([]int, n)
	for i := range n {
		for _, v := range c.Nodes[i].Inputs {
			if p := c.Values[v].Producer; p >= 0 {
				needs[i] |= 1 << p
			}
		}
	}
	sum := func(set int) (s int64) {
		for i := range n {
			if set>>i&1 == 1 {
				s += bytes[i]
			}
		}
		return s
	}
	cost, settled := make([]float64, 1<<n), make([]bool, 1<<n)
	for set := range cost {
		cost[set] = math.Inf(1)
	}
	cost[0] = 0
	for {
		at := -1
		for set := range cost {
			if !settled[set] && !math.IsInf(cost[set], 1) && (at < 0 || cost[set] < cost[at]) {
				at = set
			}
		}
		if at < 0 || at&outputs == outputs {
			if at < 0 {
				return math.Inf(1)
			}
			return cost[at]
		}
		settled[at] = true
		for i := range n {
			if less := at &^ (1 << i); less != at {
				cost[less] = min(cost[less], cost[at])
				continue
			}
			if needs[i]&^at == 0 && sum(at|1<<i) <= capacity {
				cost[at|1<<i] = min(cost[at|1<<i], cost[at]+remat.Estimate(c, &c.Nodes[i]))
			}
		}
	}
}

// On small graphs, without views and results in place, no answer is cheaper than the exact one, and few are dearer.
func TestBesideTheExactAnswer(t *testing.T) {
	o := plan.Options{NoViews: true, NoInPlace: true, NoConcat: true}
	possible, found, equal, ratio := 0, 0, 0, 0.0
	rapid.Check(t, func(r *rapid.T) {
		c := thereAndBack(r)
		given, err := plan.Build(c, o)
		require.NoError(r, err)
		capacity := given.Frame.Bytes - 1024*rapid.Int64Range(1, 3).Draw(r, "less")
		if capacity < 0 {
			r.Skip()
		}
		least := exact(c, capacity)
		got, err := remat.Fit(c, remat.Options{Plan: o, Capacity: capacity})
		if math.IsInf(least, 1) {
			require.Error(r, err)
			return
		}
		possible++
		if err != nil {
			return
		}
		found++
		require.GreaterOrEqual(r, got.Cost, least*(1-1e-9))
		ratio += got.Cost / least
		if got.Cost <= least*(1+1e-9) {
			equal++
		}
	})
	t.Logf("possible %d, found %d, at the lowest cost %d, mean ratio %.4f", possible, found, equal, ratio/float64(found))
	assert.GreaterOrEqual(t, 10*found, 9*possible)
	assert.Less(t, ratio/float64(found), 1.05)
}
