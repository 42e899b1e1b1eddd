package plans

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/offsets"
	"tlruntime/runtime/status"
)

func one(uint64) Request { return Request{Bytes: 64, Alignment: 64, First: 0, End: 1} }

// covers: tl_plan_add_buffer TL_E_LIMIT
func TestBuffersHaveALimit(t *testing.T) {
	defer func(n uint64) { maxBuffers = n }(maxBuffers)
	maxBuffers = 8
	h, failed := Create()
	require.Nil(t, failed)
	_, failed = Add(h, 9, one)
	assert.Equal(t, status.Limit, failed.Status)
	_, failed = Add(h, 8, one)
	require.Nil(t, failed)
	_, failed = Add(h, 1, one)
	assert.Equal(t, status.Limit, failed.Status)
	assert.ErrorContains(t, failed, "8 buffers and 1 more")
	require.Nil(t, Destroy(h))
	assert.Empty(t, plans.live)
}

// The handle of a plan that ended names none, also after others were made.
func TestHandlesAreNotUsedAgain(t *testing.T) {
	first, _ := Create()
	require.Nil(t, Destroy(first))
	second, _ := Create()
	assert.NotEqual(t, first, second)
	_, failed := Count(first)
	assert.Equal(t, status.InvalidArgument, failed.Status)
	require.Nil(t, Destroy(second))
}

// Small numbers, addresses and what lies beside a live handle name no plan.
func TestNumbersAreNoHandles(t *testing.T) {
	h, _ := Create()
	defer Destroy(h)
	next, _ := Create()
	defer Destroy(next)
	assert.Greater(t, uint64(h), uint64(1)<<layout.ProgramBits-1, "an address that memory could have")
	for n := range Handle(1000) {
		for _, wrong := range []Handle{n, h - n - 1, h + n + 1, next + n + 1} {
			_, failed := Count(wrong)
			require.NotNil(t, failed, "%#x beside %#x", wrong, h)
		}
	}
}

// What was solved stays when a later attempt fails; what is refused changes nothing.
func TestAFailureLosesNothing(t *testing.T) {
	h, _ := Create()
	defer Destroy(h)
	_, failed := Add(h, 2, one)
	require.Nil(t, failed)
	require.Nil(t, Solve(h, offsets.Options{}))
	require.NotNil(t, Alias(h, 0, 0, 0))
	require.NotNil(t, Pin(h, 1, 1))
	_, failed = Add(h, 2, func(i uint64) Request { return Request{Bytes: 1, End: 1 - int64(i)} })
	require.NotNil(t, failed)
	r, failed := Summary(h)
	require.Nil(t, failed)
	assert.Equal(t, Result{FrameBytes: 128, LowerBound: 128, Optimal: true}, r)
	n, _ := Count(h)
	assert.EqualValues(t, 2, n)
}

// What a plan knows of where its buffers lay outlives a change; a hint is for one solution.
func TestAPlanBeginsWhereItEnded(t *testing.T) {
	h, _ := Create()
	defer Destroy(h)
	_, failed := Add(h, 2, one)
	require.Nil(t, failed)
	start := func() (list []int64) {
		require.Nil(t, with(h, func(p *plan) *Error {
			list = p.start()
			return nil
		}))
		return list
	}
	assert.Nil(t, start())
	require.Nil(t, Hint(h, 1, 128))
	assert.Equal(t, []int64{-1, 128}, start())
	require.Nil(t, SolveByProcessor(h, offsets.Options{Budget: Budget(1000)}))
	var last []int64
	require.Nil(t, Places(h, 2, func(_ uint64, p Place) { last = append(last, p.Offset) }))
	assert.Equal(t, last, start())
	_, failed = Add(h, 1, one)
	require.Nil(t, failed)
	require.Nil(t, Resize(h, 0, 32))
	assert.Equal(t, append(last, -1), start())
	require.Nil(t, Hint(h, 2, 0))
	assert.Equal(t, append(last, 0), start())
}
