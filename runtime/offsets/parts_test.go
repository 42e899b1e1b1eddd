package offsets_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// Each part can be left out: placements stay valid, and some are others than with it.
func TestParts(t *testing.T) {
	list := []offsets.Problem{problems.Alive(1, 5000, 300, 1<<20)}
	for seed := range uint64(3) {
		p, _ := problems.Perfect(seed, 100, true)
		list = append(list, p, problems.Packing(seed, 150, 1))
	}
	solve := func(p offsets.Problem, without offsets.Part) *offsets.Solution {
		o := offsets.Options{Without: without}
		if len(p.Buffers) < 1000 {
			o.MaxSteps = 5_000
		}
		s, err := offsets.Solve(p, o)
		require.NoError(t, err)
		require.NoError(t, check.Solution(p, s))
		return s
	}
	all := make([]*offsets.Solution, len(list))
	for k, p := range list {
		all[k] = solve(p, 0)
	}
	for _, part := range offsets.Parts {
		differs := false
		for k, p := range list {
			s := solve(p, part.Part)
			differs = differs || s.Steps != all[k].Steps || !slices.Equal(s.Offsets, all[k].Offsets)
		}
		require.True(t, differs, part.Name)
	}
}
