package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// A few hot places, far from each other, decide the frame: each comes within a hundredth of the largest load. Mending
// alone leaves one of them at a fiftieth.
func TestHotPlacesComeCloseToTheLoad(t *testing.T) {
	p := problems.Large["alive 50"](3, 30_000)
	s, err := offsets.Solve(p, offsets.Options{MaxSteps: 400_000})
	require.NoError(t, err)
	require.NoError(t, check.Solution(p, s))
	frame := s.Frames[0]
	require.LessOrEqual(t, frame.Bytes, frame.LowerBound+frame.LowerBound/100)
}
