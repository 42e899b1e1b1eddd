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
	s, err := offsets.Solve(p, offsets.Options{MaxSteps: 200_000})
	require.NoError(t, err)
	require.NoError(t, check.Solution(p, s))
	frame := s.Frames[0]
	require.LessOrEqual(t, frame.Bytes, frame.LowerBound+frame.LowerBound/100)
}

// Hot places are placed anew below ever lower limits, until the frame is the bound. Without ejections of elastic items
// as many steps leave a thousandth above it.
func TestHotPlacesReachTheLoad(t *testing.T) {
	p := problems.Large["alive 50"](2, 30_000)
	s := solved(t, p, offsets.Options{Seed: 1, MaxSteps: 250_000})
	require.Zero(t, s.Gap())
}

// So it is with so few buffers that a tree searches them, too, which alone leaves a twentieth above the load.
func TestHotPlacesOfFewBuffersReachTheLoad(t *testing.T) {
	p := problems.Large["alive 50"](4, 3000)
	s := solved(t, p, offsets.Options{Seed: 1, MaxSteps: 60_000})
	require.Zero(t, s.Gap())
}
