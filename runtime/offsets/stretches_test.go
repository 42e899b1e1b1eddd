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

// Hot places are packed together with what is alive beside them, so that nothing is in their way afterwards. Packed
// alone, many more steps leave a sixtieth above the load.
func TestHotPlacesArePackedWithWhatIsAliveBeside(t *testing.T) {
	for _, c := range []struct {
		seed           uint64
		buffers, steps int64
	}{{1, 30_000, 150_000}, {8, 3000, 80_000}} {
		p := problems.Large["alive 50"](c.seed, int(c.buffers))
		s := solved(t, p, offsets.Options{Seed: 1, MaxSteps: c.steps, Progress: func(p offsets.Progress) bool {
			return p.Frame >= 0 && p.Frame <= p.LowerBound+p.LowerBound/100
		}})
		require.LessOrEqual(t, s.Gap(), 0.01)
	}
}
