package registry

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// base is where the tests' blocks pretend to be; nothing is there.
const base = uintptr(0x7f00_0000_0000)

func open64(t testing.TB) *Table { return openShards(t, 0) }

func openShards(t testing.TB, shards int) *Table {
	before := memory.Purposes()[purpose]
	table, st := Open(shards)
	require.Equal(t, status.OK, st)
	t.Cleanup(func() {
		table.Close()
		assert.Equal(t, before, memory.Purposes()[purpose], "all memory went back")
	})
	return table
}

func adopt(t testing.TB, table *Table, p, bytes uintptr) uint32 {
	gen, r := table.Adopt(p, bytes)
	require.Equal(t, OK, r, "adopt %#x", p)
	require.NotZero(t, gen)
	return gen
}

func TestLayoutSizes(t *testing.T) {
	assert.EqualValues(t, layout.ForeignEntryBytes, unsafe.Sizeof(layout.ForeignEntry{}))
	assert.EqualValues(t, layout.UnitBytes, unsafe.Sizeof(layout.Unit{}))
	assert.EqualValues(t, layout.ShardBytes, unsafe.Sizeof(layout.Shard{}))
	assert.EqualValues(t, layout.RegistryBytes, unsafe.Sizeof(layout.Registry{}))
	assert.EqualValues(t, layout.RegionBytes, unsafe.Sizeof(layout.Region{}))
	assert.EqualValues(t, 64, layout.RegionRooms[layout.UnitRooms-1])
}

func TestOpenRefusesWhatIsNoPowerOfTwo(t *testing.T) {
	for _, n := range []int{-1, 3, 63, 2 * maxShards} {
		_, st := Open(n)
		assert.Equal(t, status.InvalidArgument, st, "%d shards", n)
	}
}

func TestLifeOfABlock(t *testing.T) {
	table := open64(t)
	gen := adopt(t, table, base, 72)
	assert.EqualValues(t, 1, table.Count(base))
	assert.Equal(t, OK, table.Acquire(base))
	again, r := table.Register(base)
	assert.Equal(t, OK, r)
	assert.Equal(t, gen, again)
	assert.EqualValues(t, 3, table.Count(base))
	for range 2 {
		_, r = table.Release(base)
		assert.Equal(t, OK, r)
	}
	_, r = table.ReleaseEntry(base, gen+1)
	assert.Equal(t, Stale, r)
	ended, r := table.ReleaseEntry(base, gen)
	assert.Equal(t, Gone, r)
	assert.Equal(t, Ended{Pointer: base, Bytes: 72, Kind: layout.ForeignMalloc}, ended)
	assert.EqualValues(t, -1, table.Count(base))
	_, r = table.ReleaseEntry(base, gen)
	assert.Equal(t, Stale, r)
	_, r = table.Release(base)
	assert.Equal(t, Miss, r)
	assert.Zero(t, table.Totals().Pointers)
	require.NoError(t, table.Check())
}

func TestInteriorPointersAreRefused(t *testing.T) {
	for _, bytes := range []uintptr{32, 72, 2048, 4104, 100_000, 1 << 20, 3<<30 + 4096, 1 << 40} {
		table := open64(t)
		for _, p := range []uintptr{base, base + 16, base + 2032, base + 4096 - 16, base + 1<<20 - 48} {
			gen := adopt(t, table, p, bytes)
			for _, offset := range []uintptr{16, bytes / 2, bytes - 16, bytes - 1} {
				q := (p + offset) &^ 15
				if q <= p {
					continue
				}
				_, r := table.Adopt(q, 16)
				assert.Equal(t, Refused, r, "%d bytes at %#x, offset %d", bytes, p, offset)
				assert.True(t, table.Covered(q))
			}
			after := adopt(t, table, (p+bytes+15)&^15, 64)
			adopt(t, table, p-64, 64)
			require.NoError(t, table.Check())
			_, r := table.ReleaseEntry((p+bytes+15)&^15, after)
			assert.Equal(t, Gone, r)
			_, r = table.Release(p - 64)
			assert.Equal(t, Gone, r)
			_, r = table.ReleaseEntry(p, gen)
			assert.Equal(t, Gone, r)
			require.NoError(t, table.Check())
		}
		assert.Zero(t, table.Totals().Units)
	}
}

func TestImpossibleAddresses(t *testing.T) {
	table := open64(t)
	for _, p := range []uintptr{0, 1 << 57, math.MaxUint64 &^ 15} {
		_, r := table.Adopt(p, 64)
		assert.Equal(t, Refused, r, "%#x", p)
		assert.Equal(t, Miss, table.Acquire(p))
		assert.False(t, table.Covered(p))
	}
	for _, bytes := range []uintptr{0, 1 << 48, math.MaxUint64} {
		_, r := table.Adopt(base, bytes)
		assert.Equal(t, Refused, r, "%d bytes", bytes)
	}
	for _, bytes := range []uintptr{65, 1 << 12, 1 << 40} {
		_, r := table.Adopt(1<<57-64, bytes)
		assert.Equal(t, Refused, r, "%d bytes beyond the last address", bytes-64)
	}
	require.NoError(t, table.Check())
}

func TestHandedBackMayBeReused(t *testing.T) {
	table := open64(t)
	gen := adopt(t, table, base, 200)
	assert.Equal(t, OK, second(table.Float(base, gen)))
	assert.EqualValues(t, 1, table.Totals().HandedBack)
	_, r := table.Register(base)
	assert.Equal(t, Returned, r, "it must be measured again")

	inner := adopt(t, table, base+64, 40) // malloc reused the middle
	_, r = table.Adopt(base, 200)
	assert.Equal(t, Refused, r, "it would overlap")
	again := adopt(t, table, base, 40) // a smaller block at the old address
	assert.NotEqual(t, gen, again)
	assert.EqualValues(t, 1, table.Count(base))
	info, known := table.Info(base)
	assert.True(t, known)
	assert.Equal(t, Info{Pointer: base, Bytes: 40, Count: 1, Gen: again, Kind: 1, Adopted: true}, info)
	require.NoError(t, table.Check())
	_, r = table.ReleaseEntry(base, gen)
	assert.Equal(t, Stale, r, "the scope entry meant the block before")
	_, r = table.ReleaseEntry(base+64, inner)
	assert.Equal(t, Gone, r)
}

func TestFloats(t *testing.T) {
	table := open64(t)
	gen := adopt(t, table, base, 64)
	for range 16 {
		require.Equal(t, OK, table.Acquire(base))
	}
	for range layout.MaxFloats {
		require.Equal(t, OK, second(table.Float(base, gen)))
	}
	assert.Equal(t, Overflow, second(table.Float(base, gen)))
	assert.Equal(t, Stale, second(table.Float(base, gen+1)))
	assert.False(t, table.handedBack(base), "two counted references are held")
	_, r := table.Release(base)
	assert.Equal(t, OK, r)
	assert.False(t, table.handedBack(base))
	_, r = table.Release(base)
	assert.Equal(t, OK, r)
	assert.True(t, table.handedBack(base), "what is left floats")
	require.NoError(t, table.Check())
	ended, r := table.Forget(base)
	assert.Equal(t, Gone, r)
	assert.EqualValues(t, 64, ended.Bytes)
	require.NoError(t, table.Check())
}

func (t *Table) handedBack(p uintptr) bool {
	info, _ := t.Info(p)
	return info.HandedBack
}

func TestHeldAtZero(t *testing.T) {
	table := open64(t)
	adopt(t, table, base, 4096)
	_, r := table.Forget(base)
	assert.Equal(t, Refused, r, "somebody holds it")
	assert.Equal(t, Zero, table.DecRef(base))
	assert.EqualValues(t, 0, table.Count(base))
	assert.Equal(t, Stale, table.Acquire(base))
	assert.Equal(t, Stale, table.DecRef(base))
	_, r = table.Release(base)
	assert.Equal(t, Stale, r)
	assert.False(t, table.Covered(base+64))
	require.NoError(t, table.Check())
	adopt(t, table, base, 64) // free() was called, and malloc gave it out again
	assert.EqualValues(t, 1, table.Count(base))
	assert.Equal(t, Zero, table.DecRef(base))
	_, r = table.Forget(base)
	assert.Equal(t, Gone, r)
	assert.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
}

func TestCountsStick(t *testing.T) {
	table := open64(t)
	gen := adopt(t, table, base, 64)
	assert.Equal(t, OK, table.Immortal(base))
	assert.Equal(t, OK, table.Acquire(base))
	_, r := table.ReleaseEntry(base, gen)
	assert.Equal(t, OK, r)
	assert.Equal(t, OK, table.DecRef(base))
	assert.Equal(t, OK, second(table.Float(base, gen)))
	assert.EqualValues(t, math.MaxUint32, table.Count(base))
	_, r = table.Forget(base)
	assert.Equal(t, Refused, r)

	adopt(t, table, base+64, 64)
	s, e := lockEntry(base + 64)
	e.Count = layout.ForeignSticky - 1
	unlock(s)
	assert.Equal(t, OK, table.Acquire(base+64))
	_, r = table.Release(base + 64)
	assert.Equal(t, OK, r)
	assert.EqualValues(t, math.MaxUint32, table.Count(base+64), "a count that reached its end stays there")
}

func TestEachSeesEveryPointerOnce(t *testing.T) {
	table := open64(t)
	want := map[uintptr]uintptr{}
	for i := range uintptr(1000) {
		want[base+i*80] = 72
		adopt(t, table, base+i*80, 72)
	}
	table.Each(func(info Info) bool {
		assert.Equal(t, want[info.Pointer], info.Bytes)
		delete(want, info.Pointer)
		_, r := table.Release(info.Pointer) // no lock is held
		return assert.Equal(t, Gone, r)
	})
	assert.Empty(t, want)
	assert.Zero(t, table.Totals().Pointers)
}

func TestGrowthThatFailsChangesNothing(t *testing.T) {
	if memory.Instrumented {
		t.Skip("the slab of race builds has no failures to inject at this grain")
	}
	for name, stride := range map[string]uintptr{"tables": 4096, "lists": 16, "both": 2032} {
		t.Run(name, func(t *testing.T) {
			table := openShards(t, 2)
			memory.FailAfter(0)
			defer memory.FailAfter(-1)
			var n uintptr
			for ; ; n++ {
				require.Less(t, n, uintptr(100_000))
				if _, r := table.Adopt(base+n*stride, min(stride, 3000)); r != OK {
					require.Equal(t, NoMemory, r)
					break
				}
			}
			require.NoError(t, table.Check())
			assert.EqualValues(t, n, table.Totals().Pointers)
			assert.EqualValues(t, -1, table.Count(base+n*stride))
			for i := range n {
				require.EqualValues(t, 1, table.Count(base+i*stride))
			}
			memory.FailAfter(-1)
			adopt(t, table, base+n*stride, min(stride, 3000))
			require.NoError(t, table.Check())
		})
	}
}

// meanProbes is the average distance of a bucket from its home.
func (t *Table) meanProbes() float64 {
	var sum, n float64
	for i := range t.shards {
		s := &t.shards[i]
		for at := range s.Capacity {
			if r := bucket(s, at); r.Key != 0 {
				sum += float64((at + s.Capacity - home(r.Key, s.Capacity)) % s.Capacity)
				n++
			}
		}
	}
	return sum / max(n, 1)
}

func TestAMillionFreshAddressesLeaveNothingBehind(t *testing.T) {
	for _, stride := range []uintptr{64, 4096} {
		table := open64(t)
		const live = 2000
		for i := range uintptr(live) {
			adopt(t, table, base+i*stride, 48)
		}
		var memoryThen uint64
		rounds := uintptr(1_000_000)
		if memory.Instrumented {
			rounds /= 5 // the race detector looks for something else
		}
		for i := range rounds {
			adopt(t, table, base+(live+i)*stride, 48)
			_, r := table.Release(base + i*stride)
			require.Equal(t, Gone, r)
			if i == 100_000 {
				memoryThen = table.Totals().Memory
			}
		}
		assert.Less(t, table.meanProbes(), 1.5, "stride %d", stride)
		assert.LessOrEqual(t, table.Totals().Memory, memoryThen+memoryThen/4, "stride %d", stride)
		require.NoError(t, table.Check())
	}
}

func TestProbesStayShortForEveryAlignment(t *testing.T) {
	for shift := 4; shift < 34; shift++ {
		table := open64(t)
		for i := range uintptr(5000) {
			adopt(t, table, base+i<<shift, 16)
		}
		least, most := uint32(math.MaxUint32), uint32(0)
		for i := range table.shards {
			least, most = min(least, table.shards[i].Entries), max(most, table.shards[i].Entries)
		}
		assert.Less(t, table.meanProbes(), 1.5, "stride %d", 1<<shift)
		if shift >= 12 { // below, they are in few regions
			assert.Less(t, most, 3*least+30, "stride %d", 1<<shift)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	table := openShards(t, 4)
	const shared = base + 1<<40
	adopt(t, table, shared, 1<<21)
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	var all sync.WaitGroup
	for g := range uintptr(2 * runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(g)))
			mine := base + g<<32
			for i := range rounds {
				p := mine + uintptr(rng.IntN(4096))*16
				bytes := uintptr(1) << rng.IntN(24)
				gen, r := table.Adopt(p, bytes)
				assert.Equal(t, OK, r)
				assert.Equal(t, OK, table.Acquire(shared))
				assert.True(t, table.Covered(p))
				_, r = table.Adopt(shared+uintptr(i+1)*64, 64)
				assert.Equal(t, Refused, r)
				_, r = table.Release(shared)
				assert.Equal(t, OK, r)
				_, r = table.ReleaseEntry(p, gen)
				assert.Equal(t, Gone, r)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, table.Count(shared))
	assert.EqualValues(t, 1, table.Totals().Pointers)
	require.NoError(t, table.Check())
}

func TestConcurrentAdoptionOfOneBlockCountsEveryone(t *testing.T) {
	for _, bytes := range []uintptr{64, 5000, 1 << 20} {
		table := open64(t)
		for range 200 {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					_, r := table.Adopt(base+16, bytes)
					assert.Equal(t, OK, r)
				})
			}
			all.Wait()
			for range 3 {
				_, r := table.Release(base + 16)
				require.Equal(t, OK, r)
			}
			_, r := table.Release(base + 16)
			require.Equal(t, Gone, r)
		}
		require.NoError(t, table.Check())
	}
}

func second(_ Ended, r Result) Result { return r }
