package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

// parse makes a graph from a few lines of JSON.
func parse(t require.TestingT, text string) *graph.Graph {
	g, err := json.Read(strings.NewReader(`{"tl_graph": 1, ` + text + `}`))
	require.NoError(t, err)
	return g
}

func mustCheck(t require.TestingT, g *graph.Graph, o check.Options) *graph.Checked {
	c, err := check.Check(g, o)
	require.NoError(t, err)
	requireSound(t, c)
	return c
}

func nodeNames(c *graph.Checked) string {
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	for nodes, want := range map[string]string{
		"a:x b:x c:a,b":      "a b c",
		"c:a,b b:x a:x":      "a b c",
		"b:a d:x a:x c:b,d":  "a b d c",
		"a:x dead:a b:a c:b": "a b c",
		"c:b,b b:x":          "b c",
		"c:x":                "c",
	} {
		g := &graph.Graph{Inputs: []graph.Value{{"x", graph.F32, []graph.Dim{{Size: 2}}}}, Outputs: []string{"c"}}
		for item := range strings.SplitSeq(nodes, " ") {
			name, from, _ := strings.Cut(item, ":")
			g.Nodes = append(g.Nodes, graph.Node{Name: name, Op: "Sum", Inputs: strings.Split(from, ","),
				Outputs: []string{name}})
		}
		require.Equal(t, want, nodeNames(mustCheck(t, g, check.Options{})), nodes)
	}
}

// drawGraph draws a graph of operators that keep the shape (2, 3).
func drawGraph(t *rapid.T) *graph.Graph {
	g := &graph.Graph{Inputs: []graph.Value{{"x", graph.F32, []graph.Dim{{Symbol: "n"}, {Size: 3}}}}}
	g.Constants = []graph.Constant{{"k", numbers(graph.F32, list(2, 3), 1, 2, 3, 4, 5, 6)}}
	values := []string{"x", "k"}
	for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
		op := rapid.SampledFrom([]string{"Relu", "Add", "Sum", "Identity", "Dropout", "Sub", "Softmax", "Clip"}).Draw(t,
			"op")
		n := graph.Node{Name: rapid.SampledFrom([]string{"", fmt.Sprint("n", i)}).Draw(t, "name"), Op: op,
			Outputs: []string{fmt.Sprint("v", i)}}
		count := map[string]int{"Add": 2, "Sub": 2, "Sum": 3}[op]
		for range max(count, 1) {
			n.Inputs = append(n.Inputs, rapid.SampledFrom(values).Draw(t, "from"))
		}
		values = append(values, n.Outputs[0])
		g.Nodes = append(g.Nodes, n)
	}
	for range rapid.IntRange(1, 3).Draw(t, "outputs") {
		g.Outputs = append(g.Outputs, rapid.SampledFrom(values).Draw(t, "output"))
	}
	return g
}

// TestOrderDoesNotMatter shuffles the nodes of a graph: the same nodes are left,
// and a graph that was in order keeps it.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		for i := range g.Nodes {
			g.Nodes[i].Name = fmt.Sprint("n", i)
		}
		o := check.Options{Bind: map[string]int64{"n": 2}}
		c := mustCheck(t, g, o)
		position := func(n graph.TypedNode) int {
			return slices.IndexFunc(g.Nodes, func(m graph.Node) bool { return m.Name == n.Name })
		}
		inOrder := func(a, b graph.TypedNode) int { return position(a) - position(b) }
		require.True(t, slices.IsSortedFunc(c.Nodes, inOrder))
		shuffled := *g
		shuffled.Nodes = slices.Clone(g.Nodes)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(g.Nodes), func(i, j int) {
			shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i]
		})
		d := mustCheck(t, &shuffled, o)
		a, b := strings.Fields(nodeNames(c)), strings.Fields(nodeNames(d))
		slices.Sort(a)
		slices.Sort(b)
		require.Equal(t, a, b)
	})
}

func TestDeadNodesGo(t *testing.T) {
	g := parse(t,
		`"inputs": [{"name": "x", "dtype": "f32", "shape": [2]}, {"name": "unused", "dtype": "f32", "shape": []}],
		"outputs": ["y", "x", "y"], "constants": [{"name": "k", "dtype": "f32", "shape": [], "data": 1}], "nodes": [
		{"op": "NobodyKnowsMe", "inputs": ["x"], "outputs": ["z"]},
		{"op": "Split", "inputs": ["x"], "outputs": ["p", "", "q"], "attrs": {"num_outputs": 3}},
		{"op": "Relu", "inputs": ["q"], "outputs": ["y"]}]`)
	c := mustCheck(t, g, check.Options{})
	require.Equal(t, "f32(0); f32(2); f32(0); Split[axis:0 split:[1 1 0]]; Relu", summary(c))
	require.Equal(t, []int{0, 1}, c.Inputs)
	require.Len(t, c.Values, 4, "x, unused, q, y")
	require.Equal(t, []int{-1, -1, 2}, c.Nodes[0].Outputs)
	require.Equal(t, []int{3, 0, 3}, c.Outputs)
}

func TestCheckedIsItsOwn(t *testing.T) {
	g := single("ReduceSum", "f32(2,3)", A{"axes": list(1)}, 1)
	c := mustCheck(t, g, check.Options{})
	g.Inputs[0].Shape[0].Size = 9
	g.Nodes[0].Attrs["axes"].([]int64)[0] = 0
	g.Nodes[0].Inputs[0] = "z"
	require.Equal(t, "f32(2,1); ReduceSum[axes:[1] keepdims:1]", summary(c))
	require.Equal(t, "a", c.Values[0].Name)
}

func TestSymbols(t *testing.T) {
	g := parse(t,
		`"inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 3]}, {"name": "y", "dtype": "f32", "shape": ["m", "n"]}],
		"outputs": ["z"], "nodes": [{"op": "MatMul", "inputs": ["y", "x"], "outputs": ["z"]}]`)
	c := mustCheck(t, g, check.Options{Bind: map[string]int64{"n": 4, "m": 5}})
	require.Equal(t, "f32(5,3); MatMul", summary(c))
	require.Equal(t, map[string]int64{"n": 4, "m": 5}, c.Symbols)
	require.EqualValues(t, 60, c.Values[c.Outputs[0]].Bytes())
}

// TestNamesThatCheckMakes has a graph that already uses the name of the helper
// node's value.
func TestNamesThatCheckMakes(t *testing.T) {
	g := parse(t,
		`"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}, {"name": "b", "dtype": "f32", "shape": [2]}, {"name": "b_1", "dtype": "f32", "shape": [2]}],
		"outputs": ["y", "z"], "nodes": [
		{"op": "Add", "inputs": ["x", "b"], "outputs": ["y"], "attrs": {"broadcast": 1, "axis": 0}},
		{"op": "Mul", "inputs": ["x", "b"], "outputs": ["z"], "attrs": {"broadcast": 1, "axis": 0}}]`)
	c := mustCheck(t, g, check.Options{})
	require.Equal(t, "f32(2,3); f32(2,3); Reshape[shape:[2 1]]; Add; Reshape[shape:[2 1]]; Mul", summary(c))
}

// TestDeepGraphs has a chain that recursion over its nodes would not survive well.
func TestDeepGraphs(t *testing.T) {
	const n = 50000
	g := &graph.Graph{Inputs: []graph.Value{{Name: "v0", DType: graph.F32}}, Outputs: []string{fmt.Sprint("v", n)}}
	for i := n; i > 0; i-- {
		g.Nodes = append(g.Nodes, graph.Node{Op: "Relu", Inputs: []string{fmt.Sprint("v", i-1)},
			Outputs: []string{fmt.Sprint("v", i)}})
	}
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	require.Len(t, c.Nodes, n)
}

// windows counts by trying where a window of a convolution or pool can stop.
func countWindows(in, begin, end, reach, stride int64, ceil bool) (n int64) {
	for at := -begin; ; at += stride {
		inside := at+reach <= in+end
		hangsOver := ceil && at < in && at-stride+reach < in+end
		if !inside && !hangsOver {
			return n
		}
		n++
	}
}

func TestWindowsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, kernel, stride := rapid.Int64Range(1, 20).Draw(t, "in"), rapid.Int64Range(1, 5).Draw(t, "kernel"),
			rapid.Int64Range(1, 6).Draw(t, "stride")
		dilation := rapid.Int64Range(1, 3).Draw(t, "dilation")
		reach := dilation*(kernel-1) + 1
		begin, end := rapid.Int64Range(0, reach-1).Draw(t, "begin"), rapid.Int64Range(0, reach-1).Draw(t, "end")
		ceil := rapid.Int64Range(0, 1).Draw(t, "ceil")
		g := single("MaxPool", fmt.Sprintf("f32(1,1,%d)", in), A{"kernel_shape": list(kernel), "strides": list(stride),
			"dilations": list(dilation), "pads": list(begin, end), "ceil_mode": ceil}, 1)
		c, err := check.Check(g, check.Options{})
		want := countWindows(in, begin, end, reach, stride, ceil == 1)
		if in+begin+end < reach {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, c.Values[c.Outputs[0]].Shape[2])
	})
}

// TestSamePads holds auto_pad to its definition: ceil(in / stride) windows, and no
// more pads than they need, split evenly.
func TestSamePads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, kernel, stride := rapid.Int64Range(1, 20).Draw(t, "in"), rapid.Int64Range(1, 5).Draw(t, "kernel"),
			rapid.Int64Range(1, 6).Draw(t, "stride")
		mode := rapid.SampledFrom([]string{"SAME_UPPER", "SAME_LOWER"}).Draw(t, "mode")
		g := single("AveragePool", fmt.Sprintf("f32(1,1,%d)", in),
			A{"kernel_shape": list(kernel), "strides": list(stride), "auto_pad": mode}, 1)
		c := mustCheck(t, g, check.Options{})
		out := c.Values[c.Outputs[0]].Shape[2]
		require.Equal(t, (in+stride-1)/stride, out)
		pads := c.Nodes[0].Attrs.Ints("pads")
		begin, end := pads[0], pads[1]
		require.Equal(t, out, countWindows(in, begin, end, kernel, stride, false))
		if begin+end > 0 {
			require.Equal(t, (out-1)*stride+kernel, in+begin+end)
		}
		if mode == "SAME_LOWER" {
			begin, end = end, begin
		}
		require.True(t, end == begin || end == begin+1)
	})
}
