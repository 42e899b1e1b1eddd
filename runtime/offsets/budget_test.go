package offsets_test

import (
	"math"
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

// looksOf is how often the clock is looked at where no budget is given.
func looksOf(t *testing.T, p offsets.Problem) (looks int, frame int64) {
	looked(t, &looks)
	s := solved(t, p, offsets.Options{Progress: func(offsets.Progress) bool { return false }})
	return looks, s.FrameBytes()
}

// With a clock that counts, time is the only thing that differs between the runs. A budget that covers what is done
// without one gives no larger frame, whatever it is, and a smaller one cuts the same work: the frame never grows with
// the budget.
func TestMoreTimeIsNeverWorse(t *testing.T) {
	for name, p := range hard() {
		t.Run(name, func(t *testing.T) {
			looks, unasked := looksOf(t, p)
			last := int64(math.MaxInt64)
			for _, part := range []int{1, 10, 30, 60, 90, 99, 101, 110, 200, 1000} { // per cent
				countedClock(t)
				budget := time.Duration(1+looks*part/100) * time.Millisecond
				frame := solved(t, p, offsets.Options{Budget: budget}).FrameBytes()
				require.LessOrEqual(t, frame, last, "%d %%", part)
				require.True(t, part < 100 || frame <= unasked, "%d after %d %%, %d without a budget", frame, part, unasked)
				last = frame
			}
		})
	}
}

// The same with several spaces, each of which is filled as it is without a budget before any is searched.
func TestMoreTimeIsNeverWorseInSeveralSpaces(t *testing.T) {
	p := problems.Alive(3, 1000, 30, 1<<20)
	p.Spaces = []offsets.Space{{}, {Capacity: 1 << 22}, {Capacity: 1 << 23}}
	for i := range p.Buffers {
		p.Buffers[i].Spaces = [][]int{nil, {0}, {1, 2, 0}, {2, 0}}[i%4]
	}
	looks, unasked := looksOf(t, p)
	for _, part := range []int{101, 150, 400} {
		countedClock(t)
		frame := solved(t, p, offsets.Options{Budget: time.Duration(1+looks*part/100) * time.Millisecond}).FrameBytes()
		require.LessOrEqual(t, frame, unasked, "%d %%", part)
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
