package registry

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

// What registries of this kind are known to get wrong; RATIONALE.md has the reasons.

func custom(p, bytes uintptr) Block {
	return Block{Real: p, Bytes: bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: 2}
}

func TestAnAliasEqualToTheBlockCountsOnItsOwn(t *testing.T) {
	table := open64(t)
	_, _, _, r := table.InsertShared(custom(base, 4096), []uintptr{base, base + 1024, base})
	require.Equal(t, OK, r)
	require.EqualValues(t, 3, table.Count(base))
	for range 3 {
		require.NotEqual(t, int64(-1), table.Count(base))
		ended, _ := table.Release(base)
		require.Equal(t, Ended{}, ended, "another alias is left")
	}
	_, r = table.Release(base)
	assert.Equal(t, Miss, r, "one too many")
	require.NoError(t, table.Check())
	ended, r := table.Release(base + 1024)
	assert.Equal(t, Gone, r)
	assert.Equal(t, custom(base, 4096), endedBlock(table, ended))
	require.NoError(t, table.Check())
	assert.Zero(t, table.Totals().Units)
}

// What takes the place of a dead entry and is taken back leaves it as it was.
func TestDeadEntriesComeBack(t *testing.T) {
	for name, die := range map[string]func(table *Table, gen uint32) Result{
		"at zero":     func(table *Table, _ uint32) Result { return table.DecRef(base + 64) },
		"handed back": func(table *Table, gen uint32) Result { return second(table.Float(base+64, gen)) },
	} {
		t.Run(name, func(t *testing.T) {
			table := open64(t)
			die(table, adopt(t, table, base+64, 48))
			adopt(t, table, base+8192, 16)
			dead, _ := table.Info(base + 64)
			same := func(before Totals) {
				t.Helper()
				require.NoError(t, table.Check())
				now, _ := table.Info(base + 64)
				require.Equal(t, dead, now)
				before.Memory = table.Totals().Memory
				require.Equal(t, before, table.Totals())
			}
			for _, bytes := range []uintptr{16, 4000, 8000} {
				before := table.Totals()
				made, r := table.Insert(base+64, bytes, layout.ForeignNewScalar, 7)
				require.Equal(t, OK, r)
				info, _ := table.Info(base + 64)
				require.Equal(t, Info{Pointer: base + 64, Bytes: bytes, Count: 1, Gen: made.Gen, Type: 7,
					Kind: layout.ForeignNewScalar}, info)
				require.NoError(t, table.Check())
				table.Retract(base+64, Entered{Gen: made.Gen + 1})
				require.EqualValues(t, 1, table.Count(base+64), "another generation")
				table.Retract(base+64, made)
				same(before)
			}
			_, r := table.Insert(base+1001, 1, layout.ForeignNewScalar, 0)
			require.Equal(t, OK, r)
			before := table.Totals()
			aliases := []uintptr{base + 64, base + 64, base + 128, base + 1001}
			_, _, _, r = table.InsertShared(custom(base, 4096), aliases)
			require.Equal(t, Present, r)
			same(before)
		})
	}
}

// An alias without counted references is forgotten as any address is, and the block counts what is left.
func TestAliasesThatFloatOrAreAtZeroAreForgotten(t *testing.T) {
	table := open64(t)
	id, _, _, r := table.InsertShared(custom(base, 4096), []uintptr{base + 64, base + 64, base + 128})
	require.Equal(t, OK, r)
	for p, lose := range map[uintptr]func(p uintptr, gen uint32) Result{
		base + 64:  func(p uintptr, gen uint32) Result { return second(table.Float(p, gen)) },
		base + 128: func(p uintptr, _ uint32) Result { return table.DecRef(p) },
	} {
		info, _ := table.Info(p)
		for range info.Count {
			lose(p, info.Gen)
		}
		require.NoError(t, table.Check())
		require.Equal(t, Gone, second(table.Forget(p)))
		require.NoError(t, table.Check())
	}
	_, r = table.AddAlias(id, base+128)
	require.Equal(t, OK, r)
	require.Equal(t, Zero, table.DecRef(base))
	fresh, r := table.AddAlias(id, base)
	require.Equal(t, OK, r)
	require.False(t, fresh)
	require.EqualValues(t, 1, table.Count(base))
	require.NoError(t, table.Check())
	require.Equal(t, Zero, table.DecRef(base))
	require.Equal(t, Gone, second(table.Forget(base)))
	require.Equal(t, OK, table.Acquire(base+128))
	require.Equal(t, OK, second(table.Release(base+128)))
	ended, r := table.Release(base + 128)
	require.Equal(t, Gone, r)
	require.Equal(t, custom(base, 4096), endedBlock(table, ended))
	require.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
}

// endedBlock gives the record of a block that has ended back.
func endedBlock(table *Table, ended Ended) Block {
	settled := table.Settle(ended.Record)
	return Block{settled.Pointer, settled.Bytes, settled.Kind, settled.Deleter, settled.Ctx}
}

// probes returns how far the search for each pointer goes, the longest and the mean.
func probes(table *Table, pointers []uintptr) (longest uint32, mean float64) {
	sum := uint64(0)
	for _, p := range pointers {
		s := table.shard(p)
		key := granuleOf(layout.UnitLevel0, uint64(p>>4)).region
		first, far := home(key, s.Capacity), uint32(0)
		for ; far < s.Capacity && bucket(s, (first+far)%s.Capacity).Key != key; far++ {
		}
		longest = max(longest, far)
		sum += uint64(far)
	}
	return longest, float64(sum) / float64(len(pointers))
}

func TestAlignedPointersSpreadOverShardsAndBuckets(t *testing.T) {
	for _, stride := range []uintptr{64, 4096, 8192, 1 << 16, 1 << 21} {
		table := open64(t)
		var pointers []uintptr
		for i := range uintptr(50000) {
			pointers = append(pointers, base+i*stride)
			adopt(t, table, base+i*stride, 48)
		}
		least, most := table.load()
		assert.Less(t, most, 2*least+64, "multiples of %d", stride)
		longest, mean := probes(table, pointers)
		assert.Less(t, mean, 1.5, "multiples of %d", stride)
		assert.Less(t, longest, uint32(64), "multiples of %d", stride)
	}
}

func TestAMillionThatCameAndWentLeaveLookupsAsTheyWere(t *testing.T) {
	table := open64(t)
	var pointers []uintptr
	for i := range uintptr(1000) {
		pointers = append(pointers, base+i*4096)
		adopt(t, table, base+i*4096, 64)
	}
	longest, mean := probes(table, pointers)
	before := table.Totals()
	for i := range uintptr(1_000_000) {
		p := base + (1<<32 + i*4112)
		_, inserted := table.Insert(p, 64, layout.ForeignMalloc, 0)
		if _, r := table.Release(p); inserted != OK || r != Gone {
			t.Fatal(inserted, r)
		}
	}
	after := table.Totals()
	assert.Equal(t, before, after, "buckets in use and memory")
	longestNow, meanNow := probes(table, pointers)
	assert.LessOrEqual(t, longestNow, longest+1, "nothing is left that a search passes over")
	assert.InDelta(t, mean, meanNow, 0.1)
	require.NoError(t, table.Check())
}

func TestCountsSplitOverThreadsComeToZeroOnce(t *testing.T) {
	table := open64(t)
	const workers, places = 4, 8
	for range 200 {
		aliases := make([]uintptr, 0, workers*places)
		for i := range uintptr(workers * places) {
			aliases = append(aliases, base+i%places*600)
		}
		id, _, _, r := table.InsertShared(custom(base, 8192), aliases)
		require.Equal(t, OK, r)
		var ends atomic.Int32
		drop := func(p uintptr) {
			ended, _ := table.Release(p)
			if ended.Pointer != 0 {
				table.Settle(ended.Record)
				ends.Add(1)
			}
		}
		var all sync.WaitGroup
		for w := range uintptr(workers) {
			all.Go(func() {
				for i := range uintptr(places) {
					p := base + (i+3*w)%places*600
					assert.Equal(t, OK, table.Acquire(p))
					if _, r := table.AddAlias(id, p+1); assert.Equal(t, OK, r) {
						drop(p + 1)
					}
					drop(p)
					drop(p)
				}
			})
		}
		drop(base) // the block's own
		all.Wait()
		require.EqualValues(t, 1, ends.Load())
		require.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
		_, r = table.AddAlias(id, base)
		require.Equal(t, NoShared, r)
	}
	require.NoError(t, table.Check())
}

// Somebody who drops an alias that he was not given yet ends a shared block that is being made,
// and nobody frees it twice.
func TestASharedBlockThatIsDroppedWhileItIsMade(t *testing.T) {
	table := open64(t)
	for range 300 {
		var ends atomic.Int32
		count := func(ended Ended) {
			if ended.Pointer != 0 {
				table.Settle(ended.Record)
				ends.Add(1)
			}
		}
		var all sync.WaitGroup
		all.Go(func() {
			for range 20 {
				ended, _ := table.Release(base)
				count(ended)
			}
		})
		_, _, ended, r := table.InsertShared(custom(base, 4096), []uintptr{base, base, base})
		assert.Equal(t, OK, r)
		count(ended)
		all.Wait()
		for table.Count(base) > 0 {
			ended, _ := table.Release(base)
			count(ended)
		}
		require.EqualValues(t, 1, ends.Load())
	}
	require.NoError(t, table.Check())
}

// A registration that fails half way frees nothing, whatever others have done to its aliases.
func TestARegistrationThatFailsFreesNothing(t *testing.T) {
	table := open64(t)
	_, r := table.Insert(base+1001, 1, layout.ForeignNewScalar, 0) // not a granule: found when its turn comes
	require.Equal(t, OK, r)
	for range 300 {
		var all sync.WaitGroup
		all.Go(func() {
			for range 20 {
				ended, _ := table.Release(base + 64)
				assert.Equal(t, Ended{}, ended)
			}
		})
		_, _, ended, r := table.InsertShared(custom(base, 4096), []uintptr{base + 64, base + 128, base + 1001})
		assert.Equal(t, Present, r)
		assert.Equal(t, Ended{}, ended)
		all.Wait()
		require.EqualValues(t, 1, table.Totals().Pointers)
	}
	require.NoError(t, table.Check())
	_, r = table.Release(base + 1001)
	require.Equal(t, Gone, r)
}

// A block with a record that is held at zero is there: nothing is registered in its place.
func TestBlocksWithARecordAreThereAtZero(t *testing.T) {
	table := open64(t)
	require.Equal(t, OK, table.InsertCustom(custom(base, 4096)))
	_, _, _, r := table.InsertShared(custom(base+8192, 4096), []uintptr{base + 8256})
	require.Equal(t, OK, r)
	for _, p := range []uintptr{base, base + 8192, base + 8256} {
		require.Equal(t, Zero, table.DecRef(p))
		_, r = table.Insert(p, 16, layout.ForeignNewScalar, 0)
		require.Equal(t, Present, r, "%#x", p)
		_, _, _, r = table.InsertShared(custom(p, 16), nil)
		require.Equal(t, Present, r, "%#x", p)
		_, r = table.Register(p)
		require.Equal(t, Stale, r, "%#x", p)
		require.True(t, table.Covered(p+16))
	}
	for _, p := range []uintptr{base, base + 8192, base + 8256} {
		require.Equal(t, Gone, second(table.Forget(p)))
	}
	require.NoError(t, table.Check())
}
