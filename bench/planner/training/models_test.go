package training

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// Every step can be planned, begins with a forward pass, and gives new weights and momenta.
func TestModels(t *testing.T) {
	for name, build := range Models {
		c, err := graph.Check(build(), graph.CheckOptions{})
		require.NoError(t, err, name)
		e, err := plan.Build(c, plan.Options{OrderSteps: -1, MaxSteps: -1})
		require.NoError(t, err, name)
		assert.Positive(t, e.Frame.Bytes, name)
		forward := Forward(c)
		assert.Contains(t, forward, true, name)
		assert.Contains(t, forward, false, name)
		state := func(v int) bool { return !slices.Contains([]string{"x", "target"}, c.Values[v].Name) }
		states := 0
		for _, v := range c.Inputs {
			if state(v) {
				states++
			}
		}
		assert.GreaterOrEqual(t, states, len(c.Outputs), name)
		assert.Zero(t, len(c.Outputs)%2, name)
	}
}
