package offsets_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// A capacity is a goal: the search goes on until the frame fits, also when nobody granted steps or time, and whatever
// the seed.
func TestCapacityIsAGoal(t *testing.T) {
	found := map[string]offsets.Problem{}
	for seed := range uint64(3) {
		found[fmt.Sprint("packing ", seed)] = problems.Packing(seed, 200, 1)
	}
	for name, p := range instances(t, "minimalloc") {
		found[name] = p
	}
	delete(found, "input.12.csv")
	for name, p := range found {
		p.Spaces = []space{{Capacity: problems.Side}}
		for seed := range uint64(5) {
			s := solved(t, p, offsets.Options{Seed: seed})
			require.LessOrEqual(t, s.FrameBytes(), int64(problems.Side), name)
		}
	}
}

// With steps left, the search goes on below the capacity.
func TestCapacityIsNotTheEnd(t *testing.T) {
	p := problems.Packing(1, 60, 0.9)
	least := solved(t, p, offsets.Options{MaxSteps: 100_000})
	require.True(t, least.Optimal)
	p.Spaces = []space{{Capacity: 2 * problems.Side}}
	s := solved(t, p, offsets.Options{MaxSteps: 100_000})
	require.Equal(t, least.FrameBytes(), s.FrameBytes())
}

func TestTargetIsReachedUnasked(t *testing.T) {
	p := problems.Packing(3, 400, 1)
	require.Greater(t, solved(t, p, offsets.Options{}).FrameBytes(), int64(problems.Side))
	s := solved(t, p, offsets.Options{Target: problems.Side})
	require.Equal(t, int64(problems.Side), s.FrameBytes())
	small := solved(t, problems.Packing(1, 60, 0.9), offsets.Options{Target: 1})
	require.Greater(t, small.FrameBytes(), int64(1), "a target that nothing reaches is no failure")
}

// The smaller of target and capacity counts.
func TestTargetAndCapacity(t *testing.T) {
	p := problems.Packing(2, 300, 1)
	for _, o := range []struct{ target, capacity int64 }{{problems.Side, 2 * problems.Side}, {2 * problems.Side,
		problems.Side}} {
		p.Spaces = []space{{Capacity: o.capacity}}
		s := solved(t, p, offsets.Options{Target: o.target})
		require.Equal(t, int64(problems.Side), s.FrameBytes())
	}
}

func TestProgressTellsEachImprovement(t *testing.T) {
	p := problems.Packing(2, 300, 1)
	var told []offsets.Progress
	s := solved(t, p, offsets.Options{MaxSteps: 20_000, Progress: func(p offsets.Progress) bool {
		told = append(told, p)
		return false
	}})
	require.NotEmpty(t, told)
	for k := range told[1:] {
		require.LessOrEqual(t, told[k+1].Frame, told[k].Frame)
		require.GreaterOrEqual(t, told[k+1].LowerBound, told[k].LowerBound)
		require.GreaterOrEqual(t, told[k+1].Steps, told[k].Steps)
		require.GreaterOrEqual(t, told[k+1].Elapsed, told[k].Elapsed)
	}
	require.Equal(t, s.FrameBytes(), told[len(told)-1].Frame)
	require.Equal(t, s, solved(t, p, offsets.Options{MaxSteps: 20_000}), "telling changes nothing")
}

func TestProgressCancels(t *testing.T) {
	for name, p := range hard() {
		calls := 0
		s := solved(t, p, offsets.Options{Budget: time.Hour, Progress: func(offsets.Progress) bool {
			calls++
			return true
		}})
		require.Equal(t, 1, calls, name)
		require.Positive(t, s.FrameBytes())
	}
	p := problems.Packing(3, 400, 0.97)
	p.Spaces = []space{{Capacity: problems.Side}}
	_, err := offsets.Solve(p, offsets.Options{Progress: func(offsets.Progress) bool { return true }})
	var limit *offsets.LimitError
	require.True(t, errors.As(err, &limit))
	require.False(t, limit.Proved)
}
