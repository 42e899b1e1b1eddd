package export

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// moved is a plan that moves a value to the second space and back.
func moved(t *testing.T) *plan.ExecutionPlan {
	value := func(name string, producer int) graph.TypedValue {
		return graph.TypedValue{Name: name, DType: graph.F32, Shape: []int64{32}, Producer: producer}
	}
	node := func(op string, out int, in ...int) graph.TypedNode {
		return graph.TypedNode{Name: op, Op: op, Inputs: in, Outputs: []int{out}}
	}
	c := &graph.Checked{Name: "moved", Inputs: []int{0}, Outputs: []int{4},
		Values: []graph.TypedValue{value("x", -1), value("a", 0), value("out", 1), value("in", 2), value("y", 3)},
		Nodes: []graph.TypedNode{node("Tanh", 1, 0), node(plan.OpMoveOut, 2, 1), node(plan.OpMoveIn, 3, 2),
			node("Add", 4, 3, 3)}}
	p, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	require.NoError(t, plan.Verify(p, c))
	return p
}

func TestJSONOfASecondSpace(t *testing.T) {
	p := moved(t)
	assert.EqualValues(t, 128, p.Outside)
	var text bytes.Buffer
	require.NoError(t, WriteJSON(&text, p, WithContent))
	assert.Contains(t, text.String(), "\n\"outside\": 128,\n")
}
