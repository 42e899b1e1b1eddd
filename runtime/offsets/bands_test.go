package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// Thousands alive all the time: stacks in bands bring the frame as close as this without steps and time. Stacks in the
// order of how long their items live end at 1.02 and more.
func TestThreeThousandAliveComeClose(t *testing.T) {
	gaps := map[uint64]float64{1: 0.012, 2: 0.012, 3: 0.01, 4: 0.006}
	if testing.Short() {
		gaps = map[uint64]float64{4: 0.006}
	}
	for seed, gap := range gaps {
		p := problems.Alive(seed, 30_000, 3000, 1<<20)
		s := solved(t, p, offsets.Options{})
		require.LessOrEqual(t, s.Gap(), gap, seed)
	}
}

// The order of a stack has each of its items once, whatever the seed, and neighbours in it that end together in both
// directions of time.
func TestBandsKeepTogetherWhatEndsTogether(t *testing.T) {
	p := problems.Alive(1, 12_000, 3000, 1<<20)
	for seed := range uint64(20) {
		stack, runs, before := offsets.Bands(p, 4500, seed)
		require.Len(t, stack, 3000)
		for direction := range runs {
			require.Less(t, 4*runs[direction], before[direction], "seed %d", seed)
		}
	}
}
