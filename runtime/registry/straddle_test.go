package registry

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/memory"
)

// Blocks that begin in one unit of 1 KiB and end in the next: C enters and drops
// them in its own way (cshim/registry/enter.c), on what these tests say of the memory.

const unitBytes0 = uintptr(1024)

// straddling calls f with every start granule of a unit and every end granule of the next.
func straddling(f func(p, bytes uintptr)) {
	for head := uintptr(16); head < unitBytes0; head += 16 {
		for tail := uintptr(16); tail < unitBytes0; tail += 16 {
			f(base+2*unitBytes0-head, head+tail-8)
		}
	}
}

func TestStraddlingBlocksOwnTheirGranulesAndNoOther(t *testing.T) {
	table := open64(t)
	straddling(func(p, bytes uintptr) {
		gen := adopt(t, table, p, bytes)
		end := p + bytes + 8
		require.False(t, table.Covered(p-16))
		require.True(t, table.Covered(p))
		require.True(t, table.Covered(base+2*unitBytes0-16))
		require.True(t, table.Covered(base+2*unitBytes0))
		require.True(t, table.Covered(end-16))
		require.False(t, table.Covered(end))
		s := &table.shards[table.shardOf(p)]
		require.EqualValues(t, 2, s.Units, "and both in one shard")
		_, r := table.ReleaseEntry(p, gen)
		require.Equal(t, Gone, r)
		require.Zero(t, s.Units)
	})
	require.NoError(t, table.Check())
}

func TestStraddlingBlocksRefuseWhatOverlaps(t *testing.T) {
	table := open64(t)
	p, edge := base+unitBytes0-32, base+unitBytes0
	adopt(t, table, p, 64)
	for _, other := range []struct{ p, bytes uintptr }{
		{p + 16, 16}, {edge, 16}, {edge + 16, 16}, {p - 16, 32}, {p - 512, 1024}, {p - 512, 1 << 20}, {base, 4096},
	} {
		_, r := table.Adopt(other.p, other.bytes)
		assert.Equal(t, Refused, r, "%d bytes at %#x", other.bytes, other.p)
	}
	adopt(t, table, p-48, 48)
	adopt(t, table, edge+32, unitBytes0) // straddles the next edge
	require.NoError(t, table.Check())
	_, r := table.Release(p)
	assert.Equal(t, Gone, r)
	_, r = table.Adopt(p, 80)
	assert.Equal(t, Refused, r, "its end is in the next unit, and taken")
	adopt(t, table, p, 64)
	require.NoError(t, table.Check())
}

// A block that was handed back is measured again: it may straddle, or no more.
// Blocks between all pairs of places about the edges of units and regions, each over each other one.
func TestBlocksAboutAllEdgesRefuseWhatOverlaps(t *testing.T) {
	const region = 64 * unitBytes0
	var places []uintptr
	for _, edge := range []uintptr{unitBytes0, 2 * unitBytes0, region - unitBytes0, region, region + unitBytes0,
		2 * region, 3 * region} {
		places = append(places, base+edge-16, base+edge, base+edge+16)
	}
	type block struct{ p, end uintptr }
	var blocks []block
	for i, p := range places {
		for _, end := range places[i+1:] {
			blocks = append(blocks, block{p, end})
		}
	}
	// What is below the regions that a block of several owns as a whole is not looked at.
	unnoticed := func(b, old block) bool {
		for r := base; r < base+4*region; r += region {
			owns := func(x block) bool { return x.p <= r && r+region <= x.end && x.end-x.p > region }
			if owns(b) && !owns(old) && old.p < r+region && old.end > r {
				return true
			}
		}
		return false
	}
	table := open64(t)
	for _, old := range blocks {
		gen := adopt(t, table, old.p, old.end-old.p)
		for _, b := range blocks {
			of, r := table.Adopt(b.p, b.end-b.p)
			switch overlap := b.p < old.end && old.p < b.end; {
			case b.p == old.p: // one more reference of the block that is there
				require.Equal(t, OK, r)
				require.Equal(t, OK, second(table.Release(b.p)))
			case r == OK && (!overlap || unnoticed(b, old)):
				require.Equal(t, Gone, second(table.ReleaseEntry(b.p, of)))
			default:
				require.True(t, overlap && r == Refused, "%#x to %#x over %#x to %#x: %v", b.p, b.end, old.p, old.end, r)
			}
		}
		require.NoError(t, table.Check())
		require.Equal(t, Gone, second(table.ReleaseEntry(old.p, gen)))
	}
	require.NoError(t, table.Check())
}

func TestHandedBackBlocksComeBackAcrossAnEdge(t *testing.T) {
	table := open64(t)
	p := base + unitBytes0 - 32
	for _, bytes := range []uintptr{32, 64, 16, 1000, 5000, 64} {
		gen := adopt(t, table, p, bytes)
		require.Equal(t, OK, second(table.Float(p, gen)))
		require.False(t, table.Covered(p))
		require.False(t, table.Covered(base+unitBytes0))
		require.NoError(t, table.Check())
	}
	_, r := table.Forget(p)
	require.Equal(t, Gone, r)
	require.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
}

func TestStraddlingBlocksWithoutMemoryChangeNothing(t *testing.T) {
	if memory.Instrumented {
		t.Skip("the slab of race builds has no failures to inject at this grain")
	}
	table := openShards(t, 1)
	memory.FailAfter(0)
	defer memory.FailAfter(-1)
	n := uintptr(0)
	edge := func(n uintptr) uintptr { return base + (n+1)*2*unitBytes0 - 32 }
	for ; ; n++ {
		require.Less(t, n, uintptr(100_000))
		before := table.Totals()
		if _, r := table.Adopt(edge(n), 64); r != OK {
			require.Equal(t, NoMemory, r)
			require.Equal(t, before, table.Totals())
			break
		}
	}
	require.NoError(t, table.Check())
	assert.False(t, table.Covered(edge(n)))
	assert.False(t, table.Covered(edge(n)+32))
	memory.FailAfter(-1)
	adopt(t, table, edge(n), 64)
	require.NoError(t, table.Check())
}

// Each edge is another goroutine's: all of them open, move and close units of the same lists.
func TestConcurrentStraddlingBlocksOfOneRegion(t *testing.T) {
	table := openShards(t, 2)
	const workers, rounds = 4, 400
	var all sync.WaitGroup
	for w := range uintptr(workers) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(w)))
			for range rounds {
				edge := base + (uintptr(rng.IntN(30))*workers+w+1)*unitBytes0
				p, bytes := edge-uintptr(1+rng.IntN(30))*16, uintptr(1)
				bytes += edge - p + uintptr(rng.IntN(400))
				gen, r := table.Adopt(p, bytes)
				assert.Equal(t, OK, r)
				assert.True(t, table.Covered(edge))
				if rng.IntN(2) == 0 {
					assert.Equal(t, OK, second(table.Float(p, gen)))
					again, r := table.Adopt(p, bytes)
					assert.Equal(t, OK, r)
					gen = again
				}
				_, r = table.ReleaseEntry(p, gen)
				assert.Equal(t, Gone, r)
			}
		})
	}
	all.Wait()
	require.NoError(t, table.Check())
	assert.Zero(t, table.Totals().Units)
}
