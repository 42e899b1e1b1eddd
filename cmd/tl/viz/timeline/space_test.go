package timeline

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// holds tells what every axis has to give: pieces in order, each block to scale, and no
// more for what nobody used than a fifth.
func holds(t require.TestingT, trace *Trace) {
	axis := trace.axis()
	used, gaps := int64(0), int64(0)
	for i, p := range axis {
		if i > 0 {
			require.Equal(t, axis[i-1].end, p.start)
			require.Equal(t, axis[i-1].at+axis[i-1].room, p.at)
		}
		if p.used {
			require.EqualValues(t, p.bytes(), p.room)
			used += p.room
		} else {
			gaps += p.room
		}
	}
	require.LessOrEqual(t, gaps, used/partOfGaps)
	for _, b := range trace.Blocks {
		for _, at := range []uint64{b.Address, b.Address + max(b.Bytes, 1) - 1} {
			i := find(axis, at)
			require.GreaterOrEqual(t, i, 0)
			require.True(t, axis[i].used)
		}
		require.EqualValues(t, b.Bytes, placeOf(axis, b.Address+b.Bytes)-placeOf(axis, b.Address))
	}
	for _, c := range trace.Chunks {
		require.LessOrEqual(t, placeOf(axis, c.Address), placeOf(axis, c.Address+c.Bytes))
	}
	require.Equal(t, -1, find(axis, 1))
}

func TestTheAxisHoldsWhatWasUsed(t *testing.T) {
	trace := training().trace(t)
	holds(t, trace)
	names := ""
	for _, r := range regions(trace.axis()) {
		names += r.Name + " "
	}
	assert.Equal(t, "malloc pool 3 heap ", names)

	// Three of the four MiB of the chunk are used.
	for _, p := range trace.axis() {
		if p.name == "pool 3" && !p.used {
			assert.EqualValues(t, mib, p.bytes())
			assert.True(t, p.cut())
		}
	}
}

// TestUnusedChunksTakeLittle has 2 MiB in 256 MiB of a chunk, and another chunk that
// nothing was in.
func TestUnusedChunksTakeLittle(t *testing.T) {
	s := &script{}
	s.chunk(1, "chunk obtained", chunkAt, 256*mib)
	s.chunk(1, "chunk obtained", chunkAt+1024*mib, 256*mib)
	s.alloc(2, chunkAt+100*mib, 2*mib, "pool block", "", 1)
	trace := s.trace(t)
	holds(t, trace)
	axis := trace.axis()
	last := axis[len(axis)-1]
	assert.Less(t, last.at+last.room, int64(5*mib/2))
	assert.Equal(t, []region{{0, last.at + last.room, "pool 3"}}, regions(axis))

	empty := &script{}
	empty.chunk(1, "chunk obtained", chunkAt, 256*mib)
	axis = empty.trace(t).axis()
	require.Len(t, axis, 1, "a chunk without blocks is all that there is to show")
	assert.EqualValues(t, 256*mib, axis[0].room)
	assert.Empty(t, (&script{}).trace(t).axis())
}

func TestAnyAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &script{}
		spread := rapid.SampledFrom([]uint64{4096, mib, 4096 * mib}).Draw(t, "spread")
		for n := range rapid.IntRange(1, 40).Draw(t, "blocks") {
			address := heapAt + rapid.Uint64Range(0, spread).Draw(t, "address")
			s.alloc(float64(2*n), address, rapid.Uint64Range(0, spread/4).Draw(t, "bytes"), "object", "", 1)
			s.free(float64(2*n)+1, address)
		}
		for n := range rapid.IntRange(0, 4).Draw(t, "chunks") {
			at := heapAt + rapid.Uint64Range(0, spread).Draw(t, "chunk")
			s.chunk(float64(n), "chunk obtained", at, rapid.Uint64Range(1, spread).Draw(t, "length"))
		}
		holds(t, s.trace(t))
	})
}

func TestSlots(t *testing.T) {
	for bytes, want := range map[uint64]uint64{0: 64, 1: 64, 64: 64, 65: 128, 600: 640, 262336: 327680} {
		assert.Equal(t, want, slot(bytes), fmt.Sprint(bytes))
	}
}

func TestLevel(t *testing.T) {
	assert.EqualValues(t, 4, level([]uint64{1, 100, 3}, 8))
	assert.EqualValues(t, 50, level([]uint64{20, 30}, 100))
	assert.EqualValues(t, 0, level([]uint64{5, 5, 5}, 2))
}
