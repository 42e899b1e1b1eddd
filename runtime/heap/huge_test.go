package heap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// calls returns the calls to the system while a large object is taken, and gives it back.
func calls(t *testing.T, h *Heap, bytes uintptr) uint64 {
	t.Helper()
	before := memory.Calls()
	e, _, st := h.TakeAligned(bytes, 1)
	require.Equal(t, status.OK, st)
	made := memory.Calls() - before
	revive(h, e)
	bury(h, &e)
	h.GiveLarge(e, true)
	return made
}

// What is asked for stays: the next object at the addresses asks for nothing, and a larger one for the rest.
func TestHugePagesAreAskedForOnce(t *testing.T) {
	if memory.Instrumented {
		t.Skip("memory under the race detector asks for nothing")
	}
	h, wanted := open(t, 64<<20), false
	h.huge = func() bool { return wanted }
	require.EqualValues(t, 2, calls(t, h, 14<<20), "they are committed, and in core dumps from now on")
	require.Zero(t, calls(t, h, 14<<20))
	wanted = true
	require.Zero(t, calls(t, h, layout.HeapHugeFrom-1))
	for _, bytes := range []uintptr{layout.HeapHugeFrom, 8 << 20, 12 << 20} {
		require.EqualValues(t, 1, calls(t, h, bytes))
		require.Zero(t, calls(t, h, bytes))
	}
	require.Zero(t, calls(t, h, 8<<20))
	require.NoError(t, h.Check(func(uint32) {}))
}

// One page that was not asked for is found wherever its bit stands in a word, and in which word.
func TestEachHugePageIsLookedAt(t *testing.T) {
	if memory.Instrumented {
		t.Skip("memory under the race detector asks for nothing")
	}
	const bytes = 300 << 20
	h := open(t, 512<<20)
	h.huge = func() bool { return true }
	calls(t, h, bytes)
	require.Zero(t, calls(t, h, bytes))
	asked := layout.At[[4]uint64](h.s.Asked)
	all := *asked
	for page := range uintptr(4 * 64) {
		if bit := uint64(1) << (page % 64); all[page/64]&bit != 0 {
			asked[page/64] &^= bit
			require.EqualValues(t, 1, calls(t, h, bytes), page)
			require.Equal(t, all, *asked)
		}
	}
}
