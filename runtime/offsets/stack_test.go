package offsets_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// Where lives are as long as the program, the clock is looked at all the same, in whatever is done.
func TestLongLivesEndInTime(t *testing.T) {
	p := problems.Stack(8, 300_000)
	last, longest := cpu(t), time.Duration(0)
	t.Cleanup(offsets.SetClock(func() time.Time {
		at := cpu(t)
		longest = max(longest, at-last)
		last = at
		return time.Unix(0, 0)
	}))
	s := solved(t, p, offsets.Options{Progress: func(offsets.Progress) bool { return false }})
	require.LessOrEqual(t, s.Gap(), 0.001)
	require.Less(t, longest, 2*time.Second)
}
