package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

// constantsOf lists the names of a graph's constants.
func constantsOf(c *graph.Checked) (names []string) {
	for _, v := range c.Values {
		if v.Constant != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

func TestConstantsOfOneContentStandOnce(t *testing.T) {
	large := slices.Repeat([]float64{1}, 1200)
	other := slices.Clone(large)
	other[301] = 2 // between the bytes of a sample
	for name, tensors := range map[string][]graph.Tensor{
		"w0 w2 w3 w4 w5": {numbers(graph.F32, list(2), 1, 2), numbers(graph.F32, list(2), 1, 2), numbers(graph.F32, list(2), 2, 1),
			numbers(graph.F32, list(1, 2), 1, 2), numbers(graph.I32, list(2), 1065353216, 1073741824),
			numbers(graph.F32, list(2), 1, 3)},
		"w0 w1": {numbers(graph.F32, list(1200), large...), numbers(graph.F32, list(1200), other...),
			numbers(graph.F32, list(1200), large...), numbers(graph.F32, list(1200), other...)},
		"w0": {numbers(graph.F32, list(0)), numbers(graph.F32, list(0))},
	} {
		g := &graph.Graph{}
		for i, k := range tensors {
			constant, result := fmt.Sprint("w", i), fmt.Sprint("y", i)
			g.Inputs = append(g.Inputs, graph.Value{Name: fmt.Sprint("x", i), DType: k.DType, Shape: []graph.Dim{{Size: 1}}})
			g.Constants = append(g.Constants, graph.Constant{Name: constant, Tensor: k})
			g.Nodes = append(g.Nodes, graph.Node{Op: "Add", Inputs: []string{g.Inputs[i].Name, constant}, Outputs: []string{result}})
			g.Outputs = append(g.Outputs, result)
		}
		c := mustCheck(t, g, check.Options{})
		assert.ElementsMatch(t, constantsOf(c), strings.Fields(name))
		for i, n := range c.Nodes {
			assert.Equal(t, tensors[i].Data, c.Values[n.Inputs[1]].Constant.Data)
		}
	}
}

func TestWhatIsComputedTwiceStandsOnce(t *testing.T) {
	g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 1}, {Size: 64}}}},
		Constants: []graph.Constant{{Name: "w", Tensor: numbers(graph.F32, list(64, 64), slices.Repeat([]float64{1, 2}, 2048)...)}}}
	from := "x"
	for i := range 16 {
		turned, to := fmt.Sprint("t", i), fmt.Sprint("y", i)
		g.Nodes = append(g.Nodes, graph.Node{Op: "Transpose", Inputs: []string{"w"}, Outputs: []string{turned}},
			graph.Node{Op: "MatMul", Inputs: []string{from, turned}, Outputs: []string{to}})
		from = to
	}
	g.Outputs = []string{from}
	c := mustCheck(t, g, check.Options{FoldBytes: 2 * 4 * 64 * 64})
	assert.Equal(t, []string{"t0"}, constantsOf(c))
	assert.Len(t, c.Nodes, 16, "what is there already takes no room of FoldBytes")
}

// An output has its own name, whatever constant it is.
func TestOutputsThatAreOneConstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &graph.Graph{}
		for i := range rapid.IntRange(1, 5).Draw(t, "constants") {
			k := numbers(graph.F32, list(1), float64(rapid.IntRange(0, 1).Draw(t, "content")))
			g.Constants = append(g.Constants, graph.Constant{Name: fmt.Sprint("k", i), Tensor: k})
			g.Nodes = append(g.Nodes, graph.Node{Op: "Identity", Inputs: []string{fmt.Sprint("k", i)}, Outputs: []string{fmt.Sprint("y", i)}})
		}
		content := map[string]float64{}
		for range rapid.IntRange(1, 6).Draw(t, "outputs") {
			i := rapid.IntRange(0, len(g.Constants)-1).Draw(t, "of")
			name := rapid.SampledFrom([]string{"k", "y"}).Draw(t, "name") + fmt.Sprint(i)
			g.Outputs, content[name] = append(g.Outputs, name), g.Constants[i].FloatAt(0)
		}
		c := mustCheck(t, g, check.Options{})
		for i, name := range g.Outputs {
			require.Equal(t, name, c.Values[c.Outputs[i]].Name)
			require.Equal(t, content[name], c.Values[c.Outputs[i]].Constant.FloatAt(0))
		}
		require.Len(t, constantsOf(c), len(content))
	})
}

// A node whose name another has gets a number behind it, one that no node has.
func TestNodesOfOneName(t *testing.T) {
	c := mustCheck(t, readGraph(t, `"inputs": [{"name": "x", "dtype": "f32", "shape": [2]}], "outputs": ["e"], "nodes": [
		{"name": "n", "op": "Neg", "inputs": ["x"], "outputs": ["a"]}, {"name": "n", "op": "Abs", "inputs": ["a"], "outputs": ["b"]},
		{"name": "n_2", "op": "Relu", "inputs": ["b"], "outputs": ["c"]}, {"name": "n", "op": "Exp", "inputs": ["c"], "outputs": ["d"]},
		{"op": "Log", "inputs": ["d"], "outputs": ["e"]}]`), check.Options{})
	assert.Equal(t, "n n_3 n_2 n_4 Log_4", nodeNames(c))
}
