package training

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// Every step can be planned, begins with a forward pass, and gives new weights and momenta.
func TestModels(t *testing.T) {
	for name, build := range Models {
		c, err := check.Check(build(), check.Options{})
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

// The replays of this step come within a twentieth of the capacity, and no single value that they give up makes the
// peak lower: the search goes by all bytes above the capacity.
func TestATrainingStepInTwoFifthsOfItsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: searches for long")
	}
	f, err := os.Open("testdata/torch_cnn.json") // a network of PyTorch, traced by functorch.make_fx
	require.NoError(t, err)
	defer f.Close()
	g, err := json.Read(f)
	require.NoError(t, err)
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	o := remat.Options{Capacity: given.Frame.Bytes * 2 / 5}
	r, err := remat.Fit(c, o)
	require.NoError(t, err)
	require.NoError(t, plan.Verify(r.Plan, r.Graph))
	assert.LessOrEqual(t, r.Plan.Frame.Bytes, o.Capacity)
	assert.Less(t, r.Cost/r.Given, 1.33)
}
