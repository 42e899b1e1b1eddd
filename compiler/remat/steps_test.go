package remat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// A search with more steps is the same search, and goes on: whatever the graph, it finds what fewer steps found, or
// better. None is the fixed amount of work, which a search of as many steps does, too.
func TestMoreStepsAreNeverDearerWhateverTheGraph(t *testing.T) {
	found, better := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		c := thereAndBack(r, 8)
		if rapid.Bool().Draw(r, "any graph") {
			c = drawn(r, rapid.IntRange(6, 14).Draw(r, "nodes"), "Add", "Tanh", "MatMul", "Transpose", "Concat")
		}
		given, err := plan.Build(c, quick)
		require.NoError(r, err)
		o := remat.Options{Plan: quick, Seed: rapid.Uint64Range(0, 9).Draw(r, "seed"),
			Capacity: given.Frame.Bytes * rapid.Int64Range(30, 95).Draw(r, "percent") / 100}
		if rapid.Bool().Draw(r, "second space") {
			o.Outside = &remat.Outside{Bandwidth: rapid.SampledFrom([]float64{1e9, 1e10}).Draw(r, "bandwidth")}
		}
		costs := []float64{}
		try := func(steps int64) int64 {
			o.MaxSteps = steps
			got, err := remat.Fit(c, o)
			if err != nil {
				require.ErrorAs(r, err, new(*remat.CapacityError))
				require.Empty(r, costs, "%d steps find nothing, and fewer did", steps)
				return 0
			}
			if n := len(costs); n > 0 {
				require.LessOrEqual(r, got.Cost, costs[n-1], "%d steps", steps)
				if got.Cost < costs[n-1] {
					better++
				}
			}
			costs = append(costs, got.Cost)
			found++
			return got.Steps
		}
		steps := rapid.Int64Range(1, 30).Draw(r, "steps")
		for range 4 {
			try(steps)
			steps += rapid.Int64Range(1, 60).Draw(r, "more")
		}
		costs = costs[:0]
		whole := try(0)
		try(max(whole, 1))
		try(whole + 50)
	})
	t.Logf("%d answers, %d of them better than with fewer steps", found, better)
	if !testing.Short() { // with fewer graphs
		assert.Greater(t, better, 0)
	}
}
