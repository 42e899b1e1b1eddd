package remat

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// Of two ways to one set of values the cheaper one counts, whichever is found first.
func TestTheLowestFrameIsNotAboveAPlan(t *testing.T) {
	row := func(units int64) []int64 { return []int64{16 * units} }
	c := &graph.Checked{Values: []graph.TypedValue{
		{Name: "in", DType: graph.F32, Shape: row(1), Producer: -1},
		{Name: "q", DType: graph.F32, Shape: row(17), Producer: 0},
		{Name: "x", DType: graph.F32, Shape: row(10), Producer: 1},
		{Name: "y", DType: graph.F32, Shape: row(5), Producer: 1},
		{Name: "a", DType: graph.F32, Shape: row(20), Producer: 2},
		{Name: "b", DType: graph.F32, Shape: row(3), Producer: 3},
		{Name: "out", DType: graph.F32, Shape: row(1), Producer: 4},
	}, Nodes: []graph.TypedNode{
		{Name: "Q", Op: "own.Q", Inputs: []int{0}, Outputs: []int{1}},
		{Name: "P", Op: "own.P", Inputs: []int{1}, Outputs: []int{2, 3}},
		{Name: "A", Op: "own.A", Inputs: []int{2}, Outputs: []int{4}},
		{Name: "B", Op: "own.B", Inputs: []int{3}, Outputs: []int{5}},
		{Name: "S", Op: "own.S", Inputs: []int{4, 5}, Outputs: []int{6}},
	}, Inputs: []int{0}, Outputs: []int{6}}
	p, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	assert.LessOrEqual(t, lowest(c, &Options{}), p.Frame.Bytes)
	assert.EqualValues(t, 33*64, lowest(c, &Options{}))
}
