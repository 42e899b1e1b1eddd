package llvm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// TestLeakyRelu takes the operator from a graph to machine code.
func TestLeakyRelu(t *testing.T) {
	checked, err := check.Check(&graph.Graph{
		Name:   "leaky",
		Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 4}}}},
		Nodes: []graph.Node{
			{Op: "Neg", Inputs: []string{"x"}, Outputs: []string{"minus"}},
			{Op: "LeakyRelu", Inputs: []string{"minus"}, Outputs: []string{"y"}, Attrs: graph.Attrs{"alpha": 0.5}},
		},
		Outputs: []string{"y"},
	}, check.Options{})
	require.NoError(t, err)

	p, err := plan.Build(checked, plan.Options{})
	require.NoError(t, err)
	require.NoError(t, plan.Verify(p, checked))
	leaky := p.Instructions[1]
	assert.Equal(t, leaky.Inputs[0].Buffer, leaky.Outputs[0].Buffer, "it works in place")

	x := tensor{dtype: graph.F32, shape: []int64{4}, data: []float64{-2, 0, 3, 10}}
	check := func(t *testing.T, status int32, outputs [][]byte) {
		require.Zero(t, status)
		for i, y := range []float64{2, 0, -1.5, -5} {
			assert.Equal(t, y, decode(graph.F32, outputs[0][4*i:4*i+4]))
		}
	}
	run(t, []*job{{name: p.Name, plan: p, inputs: [][]byte{laid(&x, view.Contiguous(x.shape), 4, 0)}, check: check}})
}
