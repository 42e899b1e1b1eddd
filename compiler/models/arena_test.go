package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/compiler/remat"
)

// scaled multiplies an input by a constant.
func scaled(content ...byte) *graph.Graph {
	shape := []int64{int64(len(content))}
	return &graph.Graph{Name: "scaled", Outputs: []string{"y"},
		Inputs:    []graph.Value{{Name: "x", DType: graph.U8, Shape: []graph.Dim{{Size: shape[0]}}}},
		Constants: []graph.Constant{{Name: "w", Tensor: graph.Tensor{DType: graph.U8, Shape: shape, Data: content}}},
		Nodes:     []graph.Node{{Op: "Mul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}}}}
}

// A constant that is a state becomes an input of the entry, and what the state begins with.
func TestConstantsBecomeStates(t *testing.T) {
	begins := map[string]models.Begin{}
	g := scaled(3, 4)
	e, err := models.Entry(g, "one", map[string]string{"w": "weights"}, check.Options{}, begins)
	require.NoError(t, err)
	assert.Len(t, e.Graph.Inputs, 2)
	assert.Equal(t, map[string]string{"w": "weights"}, e.States)
	assert.Len(t, g.Inputs, 1, "the graph is not changed")
	assert.Len(t, g.Constants, 1)
	assert.Equal(t, models.Begin{Graph: "one", Constant: g.Constants[0]}, begins["weights"])
	_, err = models.Entry(scaled(3, 4), "two", map[string]string{"w": "weights"}, check.Options{}, begins)
	require.NoError(t, err, "the same content")
	_, err = models.Entry(scaled(3, 5), "three", map[string]string{"w": "weights"}, check.Options{}, begins)
	require.ErrorContains(t, err, `state "weights" begins as constant "w" of two and as constant "w" of three`)
	_, err = models.Entry(&graph.Graph{Outputs: []string{"lost"}}, "four", nil, check.Options{}, begins)
	require.ErrorContains(t, err, "lost")
}

// The time that a plan takes without a capacity is that of its nodes, by any rates.
func TestCostOfPlansWithSymbols(t *testing.T) {
	one := func(*graph.Checked, *graph.TypedNode) float64 { return 1 }
	options := check.Options{Bind: map[string]int64{"n": 5}}
	r, err := models.PlanSymbolic(rows(), options, remat.Options{Cost: one})
	require.NoError(t, err)
	assert.Equal(t, 2.0, r.Cost)
	assert.NotNil(t, r.Plan.Symbolic)
	_, err = models.PlanSymbolic(rows(), options, remat.Options{Capacity: 1})
	require.ErrorContains(t, err, "not both")
}
