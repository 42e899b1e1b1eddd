package offsets_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// countedClock goes on by a millisecond with each look at it, so that budgets cut at places that are the same in
// every run.
func countedClock(t testing.TB) {
	at := time.Unix(0, 0)
	t.Cleanup(offsets.SetClock(func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}))
}

// hard are problems that no rule places, of several shapes.
func hard() map[string]offsets.Problem {
	if testing.Short() {
		return map[string]offsets.Problem{"packing": problems.Packing(1, 250, 0.97), "alive": problems.Alive(1, 3000, 50, 1<<20)}
	}
	many := problems.Wide(1500)
	many.PerStep = 10
	return map[string]offsets.Problem{
		"packing":  problems.Packing(1, 250, 0.97),
		"many":     many.Problem(1),
		"alive":    problems.Alive(1, 3000, 50, 1<<20),
		"training": problems.Training(1, 6000),
		"equal":    problems.Equal(1, 5000),
		"crowd":    problems.Alive(2, 3000, 1000, 1<<20),
	}
}

// With a clock that counts, time is the only thing that differs between the runs.
func TestMoreTimeIsNeverWorse(t *testing.T) {
	for name, p := range hard() {
		t.Run(name, func(t *testing.T) {
			frames := []int64{}
			for _, ms := range []time.Duration{1, 10, 100, 1000, 4000} {
				countedClock(t)
				frames = append(frames, solved(t, p, offsets.Options{Budget: ms * time.Millisecond}).FrameBytes())
			}
			require.IsDecreasing(t, append(slices.Compact(frames), 0))
			unasked := solved(t, p, offsets.Options{}).FrameBytes()
			require.LessOrEqual(t, frames[len(frames)-1], unasked)
		})
	}
}

func TestMoreStepsAreNeverWorse(t *testing.T) {
	for name, p := range hard() {
		t.Run(name, func(t *testing.T) {
			frames := []int64{}
			for _, steps := range []int64{0, 100, 1000} {
				frames = append(frames, solved(t, p, offsets.Options{MaxSteps: steps}).FrameBytes())
			}
			require.IsDecreasing(t, append(slices.Compact(frames), 0))
		})
	}
}

func TestMoreIsNeverWorseForAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := tiny(r)
		seed := rapid.Uint64().Draw(r, "seed")
		last := int64(-1)
		for _, steps := range []int64{0, 3, 30, 300} {
			s, err := offsets.Solve(p, offsets.Options{Seed: seed, MaxSteps: steps})
			if err != nil {
				r.Skip(err)
			}
			require.True(r, last < 0 || s.FrameBytes() <= last, "%d after %d steps, %d before", s.FrameBytes(), steps, last)
			last = s.FrameBytes()
		}
	})
}

// cpu is the time that the process has computed.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bounded holds what is computed after a budget to a few passes of what is cheapest, which a budget of nothing
// measures. A busy machine computes the same at a fraction of the speed, so that there is room.
func bounded(t *testing.T, p offsets.Problem, budgets ...time.Duration) {
	took := func(budget time.Duration) time.Duration {
		start := cpu(t)
		s, err := offsets.Solve(p, offsets.Options{Budget: budget})
		took := cpu(t) - start
		require.NoError(t, err)
		for k, space := range p.Spaces {
			require.True(t, space.Capacity == 0 || s.Frames[k].Bytes <= space.Capacity)
		}
		return took
	}
	least := took(1)
	require.Less(t, least, 5*time.Second)
	for _, budget := range budgets {
		require.Less(t, took(budget), 2*budget+4*least+time.Second, "%v, and %v for the least", budget, least)
	}
}

func TestBudgetIsABound(t *testing.T) {
	shapes := map[string]offsets.Problem{
		"lifetimes of training": problems.Training(1, 100_000),
		"a crowd":               problems.Alive(1, 30_000, 10_000, 1<<20),
		"a stack":               problems.Stack(1, 60_000),
		"fifty alive":           problems.Alive(1, 60_000, 50, 1<<20),
		"hard":                  problems.Packing(3, 1000, 0.97),
	}
	pinned := problems.Alive(1, 20_000, 5_000, 1<<20)
	pinned.Buffers[0].Pinned = true
	shapes["a crowd with a pin"] = pinned
	for name, p := range shapes {
		t.Run(name, func(t *testing.T) {
			bounded(t, p, 10*time.Millisecond, 100*time.Millisecond)
		})
	}
}
