package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// Without time, lives with gaps are no worse placed than without: a stack alone has several times the frame.
func TestGapsAreSweptWhenItIsLate(t *testing.T) {
	p := problems.Alive(1, 30_000, 50, 1<<20)
	whole := solved(t, p, offsets.Options{Budget: 1})
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.End-b.First > 2 {
			b.Gaps = []offsets.Interval{{First: b.First + 1, End: b.First + 2}}
		}
	}
	require.LessOrEqual(t, solved(t, p, offsets.Options{Budget: 1}).FrameBytes(), whole.FrameBytes()*11/10)
}

// Ends of intervals are numbered in 31 bits, so a problem with more is refused before any is read.
func TestTooManyGapsAreRefused(t *testing.T) {
	gaps := make([]offsets.Interval, 1<<21)
	buffers := make([]offsets.Buffer, 1<<9)
	for i := range buffers {
		buffers[i] = offsets.Buffer{Bytes: 8, End: 4, Gaps: gaps}
	}
	_, err := offsets.Solve(offsets.Problem{Buffers: buffers}, offsets.Options{})
	var input *offsets.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, len(buffers)-1, input.Buffer)
	require.ErrorContains(t, err, "more than 1073741823; split the problem")
}
