package offsets_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// Whatever the limit, what an outward sweep places shares no byte, and lies below the limit or above it.
func TestOutwardSweepsPlaceAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := offsets.Problem{}
		for range rapid.IntRange(1, 60).Draw(r, "buffers") {
			b := offsets.Buffer{Bytes: rapid.Int64Range(0, 40).Draw(r, "bytes"),
				Alignment: rapid.SampledFrom([]int64{0, 1, 1, 4, 16}).Draw(r, "alignment"),
				First:     rapid.Int64Range(0, 30).Draw(r, "first")}
			b.End = b.First + rapid.Int64Range(1, 12).Draw(r, "life")
			p.Buffers = append(p.Buffers, b)
		}
		limit := rapid.Int64Range(1, 400).Draw(r, "limit")
		s, finished := offsets.SweepOutwards(p, limit, 0, rapid.IntRange(0, 7).Draw(r, "turn"))
		require.True(r, finished)
		require.NoError(r, check.Solution(p, s))
		for i, b := range p.Buffers {
			require.True(r, b.Bytes == 0 || s.Offsets[i]+b.Bytes <= limit || s.Offsets[i] >= limit)
		}
	})
}

// A limit that rises loses nothing, and ends the sweep where it is in vain.
func TestOutwardLimitsRise(t *testing.T) {
	p := problems.Alive(1, 2000, 300, 1<<20)
	bound := solved(t, p, offsets.Options{Budget: 1}).LowerBound()
	for turn := range 4 {
		s, finished := offsets.SweepOutwards(p, bound, 2*bound, turn)
		require.True(t, finished)
		require.NoError(t, check.Solution(p, s))
		require.LessOrEqual(t, s.Gap(), 0.12)
		_, finished = offsets.SweepOutwards(p, bound, bound+1, turn)
		require.False(t, finished, "it cannot reach the bound")
	}
}

// Fifty alive at once all the time, without steps and time.
func TestFiftyAliveComeClose(t *testing.T) {
	p := problems.Alive(1, 30_000, 50, 1<<20)
	s := solved(t, p, offsets.Options{})
	require.LessOrEqual(t, s.Gap(), 0.05)
	again := solved(t, p, offsets.Options{MaxSteps: 1})
	require.Equal(t, s.Offsets, again.Offsets, "steps decide, not time")
}

// The first outward sweeps are of use where sizes are few, and where lives lie inside each other, also when little is
// above the bound: without that these end at 1.0005 and 1.0047.
func TestFirstOutwardSweepsComeClose(t *testing.T) {
	s := solved(t, problems.Equal(3, 30_000), offsets.Options{Seed: 3})
	require.Zero(t, s.Gap())
	s = solved(t, problems.Stack(12, 110_000), offsets.Options{Seed: 12})
	require.LessOrEqual(t, s.Gap(), 0.002)
	require.Equal(t, "outward sweep", s.Method)
}

// Where many are alive all the time, whatever their sizes and lives, outward sweeps and mending come closer than sweeps
// and the skyline, which reach none of these figures.
func TestCrowdsComeClose(t *testing.T) {
	for _, c := range []struct {
		alive, buffers int
		sizes, lives   string
		steps          int64
		gap            float64
	}{
		{3000, 20_000, "uniform", "exponential", 0, 0.01},
		{3000, 20_000, "uniform", "two kinds", 0, 0.008},
		{3000, 20_000, "powers of two", "exponential", 0, 0.005},
		{3000, 20_000, "log-uniform", "exponential", 0, 0.015},
		{300, 21_000, "uniform", "uniform", 0, 0.01},
		{3000, 150_000, "few huge", "exponential", 0, 0.075},
		{3000, 150_000, "log-uniform", "uniform", 0, 0.035},
		{50, 5_000, "uniform", "exponential", 20_000, 0.04},
	} {
		if testing.Short() && c.buffers > 100_000 {
			continue
		}
		p := problems.Slots(1, c.buffers, c.alive, 100, problems.Sizes[c.sizes], problems.Lives[c.lives])
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: c.steps})
		require.NoError(t, err)
		require.LessOrEqual(t, s.Gap(), c.gap, fmt.Sprintf("%+v", c))
	}
}
