package plan

import (
	"syscall"
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

// cpu is the time that the process has computed.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Many frames are tried for one graph, which share the time; what is done without a budget is done before.
func TestABudgetIsForAllFramesTogether(t *testing.T) {
	c := hard(t, 250)
	start := cpu(t)
	unasked, err := Build(c, Options{NoReorder: true})
	require.NoError(t, err)
	least := cpu(t) - start
	require.False(t, unasked.Frame.Optimal, "the search ends when that is proved")
	for _, budget := range []time.Duration{1, 20 * time.Millisecond, 400 * time.Millisecond} {
		start, began := cpu(t), time.Now()
		p, err := Build(c, Options{NoReorder: true, OffsetBudget: budget})
		took := cpu(t) - start
		require.NoError(t, err)
		assert.LessOrEqual(t, p.Frame.Bytes, unasked.Frame.Bytes, budget)
		assert.Less(t, took, budget+budget/5+2*least+100*time.Millisecond, "%v, and %v without", budget, least)
		assert.True(t, p.Frame.Optimal || time.Since(began) >= budget, "the time is used")
	}
}

// No plan has more time than there is, however many there are in one.
func TestABudgetIsDividedAmongBodiesAndEntries(t *testing.T) {
	assert.Equal(t, time.Second/3, portion(time.Second, 3))
	assert.Zero(t, portion(0, 3), "no budget stays none")
	assert.Zero(t, portion(time.Second, 0))
	assert.Positive(t, portion(2, 3), "a budget does not become none")
}
