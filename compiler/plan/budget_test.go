package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/tests_go/problems"
	"tlruntime/tests_go/problems/graphs"
)

func hard(t *testing.T, buffers int) *graph.Checked {
	c, err := check.Check(graphs.Of(problems.Packing(1, buffers, 0.97)), check.Options{})
	require.NoError(t, err)
	return c
}

// lieApart holds the buffers of a frame to their lifetimes. Validate would write each element of a large frame.
func lieApart(t *testing.T, p *ExecutionPlan) {
	for i := range p.Buffers {
		a := &p.Buffers[i]
		if a.Kind != Activation {
			continue
		}
		require.LessOrEqual(t, a.Offset+a.Bytes, p.Frame.Bytes)
		for k := range p.Buffers[:i] {
			b := &p.Buffers[k]
			if b.Kind == Activation && a.First <= b.Last && b.First <= a.Last {
				require.True(t, a.Offset+a.Bytes <= b.Offset || b.Offset+b.Bytes <= a.Offset, "%s and %s", a.Name, b.Name)
			}
		}
	}
}

// What a plan does not need of its budget is used for better offsets. That nothing is begun after its end, the test
// below tells.
func TestABudgetIsUsed(t *testing.T) {
	c := hard(t, 250)
	for _, budget := range []time.Duration{1, 20 * time.Millisecond, 400 * time.Millisecond} {
		began := time.Now()
		p, err := Build(c, Options{NoReorder: true, Budget: budget})
		require.NoError(t, err)
		lieApart(t, p)
		assert.True(t, p.Frame.Optimal || time.Since(began) >= budget, "the time is used")
	}
}

// Once the deadline has passed nothing is begun, wherever that was, and the plan is whole.
func TestADeadlineEndsWithAPlan(t *testing.T) {
	defer func() { now = time.Now }()
	c := hard(t, 40)
	start, calls, last, frame := time.Now(), 0, 0, int64(math.MaxInt64)
	for _, last = range []int{1, 2, 3, 5, 10, 20, 40, 80} {
		calls = 0
		now = func() time.Time {
			if calls++; calls > last {
				return start.Add(time.Hour)
			}
			return start
		}
		p, err := Build(c, Options{Budget: time.Minute, MaxSteps: 100})
		require.NoError(t, err)
		lieApart(t, p)
		assert.Less(t, calls-last, 20, last)
		assert.LessOrEqual(t, p.Frame.Bytes, frame, "more time is no worse")
		frame = p.Frame.Bytes
	}
}

// No plan has more time than there is, however many there are in one.
func TestABudgetIsDividedAmongBodiesAndEntries(t *testing.T) {
	assert.Equal(t, time.Second/3, portion(time.Second, 3))
	assert.Zero(t, portion(0, 3), "no budget stays none")
	assert.Zero(t, portion(time.Second, 0))
	assert.Positive(t, portion(2, 3), "a budget does not become none")
}
