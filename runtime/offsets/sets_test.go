package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// Hundreds to a thousand buffers of a recorded training step are alive at once, for which no rule is quick. Placing by
// breadth finds the optimum of each, and is tried without a budget.
func TestTrainingStepsNeedWhatIsAlive(t *testing.T) {
	list, err := problems.Sets("../../bench/data/sets")
	require.NoError(t, err)
	for _, set := range list {
		if testing.Short() && len(set.Problem.Buffers) > 20_000 {
			continue
		}
		s, err := offsets.Solve(set.Problem, offsets.Options{})
		require.NoError(t, err)
		require.Equal(t, s.LowerBound(), s.FrameBytes(), set.Name)
		if len(set.Problem.Buffers) < 17_000 { // the checker compares all that are alive at once
			require.NoError(t, check.Solution(set.Problem, s))
		}
	}
}
