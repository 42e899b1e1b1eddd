package offsets_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// small, then large, then unlimited.
func threeSpaces(p offsets.Problem) offsets.Problem {
	p.Spaces = []space{{Capacity: 8 << 20}, {Capacity: 16 << 20}, {}}
	return p
}

// However little time there is, several spaces are filled in one pass.
func TestBudgetBoundsSeveralSpaces(t *testing.T) {
	pinned := problems.Alive(2, 60_000, 2_000, 1<<20)
	pinned.Buffers[7].Pinned = true
	for name, p := range map[string]offsets.Problem{"fifty alive": problems.Alive(1, 100_000, 50, 1<<20),
		"a crowd": problems.Alive(1, 60_000, 2_000, 1<<20), "a pin": pinned,
		"training": problems.Training(1, 60_000)} {
		t.Run(name, func(t *testing.T) {
			bounded(t, threeSpaces(p), 10*time.Millisecond, 200*time.Millisecond)
		})
	}
}

// An answer that time cut short at any point is right.
func TestHurriedAnswersAreRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := wellMeant(r)
		at, hurry := time.Unix(0, 0), rapid.IntRange(1, 30).Draw(r, "looks")
		restore := offsets.SetClock(func() time.Time {
			at = at.Add(time.Millisecond)
			return at
		})
		s, err := offsets.Solve(p, offsets.Options{Budget: time.Duration(hurry) * time.Millisecond})
		restore()
		if limit := (*offsets.LimitError)(nil); errors.As(err, &limit) {
			_, slow := offsets.Solve(p, offsets.Options{MaxSteps: 3000})
			require.False(r, limit.Proved && slow == nil, "%v", err)
			return
		}
		require.NoError(r, err)
		require.NoError(r, check.Solution(p, s))
	})
}

// Many spaces, each of which a few buffers ask for, cost no more than few.
func TestManySpaces(t *testing.T) {
	p := problems.Wide(100_000).Problem(1)
	p.Spaces = make([]space, 1024)
	for i := range p.Buffers {
		p.Buffers[i].Spaces = []int{i * 7919 % 1024}
	}
	start := cpu(t)
	s, err := offsets.Solve(p, offsets.Options{})
	require.NoError(t, err)
	require.Less(t, cpu(t)-start, 20*time.Second)
	require.NoError(t, check.Solution(p, s))
}
