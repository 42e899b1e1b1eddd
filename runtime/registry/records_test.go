package registry

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

func TestDamageOfRecordsIsFound(t *testing.T) {
	table := openShards(t, 1)
	id, names, _, r := table.InsertShared(custom(base, 4096), []uintptr{base + 64, base + 64, base + 4095})
	require.Equal(t, OK, r)
	require.EqualValues(t, 3, names)
	require.Equal(t, OK, table.InsertCustom(custom(base+1<<20, 100_000)))
	require.NoError(t, table.Check())
	s := &table.shards[0]
	shared, free := table.record(uint32(id)), table.record(s.FreeRecord)
	info, _ := table.Info(base + 1<<20)
	owned := table.record(info.Link)
	locked, alias := lockEntry(base + 64)
	unlock(locked)
	type damage struct{ do, undo func() }
	add := func(at *uint64, n uint64) damage { return damage{func() { *at += n }, func() { *at -= n }} }
	set := func(at *uint32, value uint32) damage {
		before := *at
		return damage{func() { *at = value }, func() { *at = before }}
	}
	for what, d := range map[string]damage{
		"a name too many":               add(&shared.Life, 1),
		"a name too few":                add(&shared.Life, ^uint64(0)),
		"names of a free record":        add(&free.Life, 1),
		"names of a deleter":            add(&owned.Life, 1),
		"the last generation, free":     add(&free.Life, uint64(noGeneration)<<layout.BlockGenerationShift),
		"a reference that is counted":   add(&shared.More, 1),
		"a reference that is not":       add(&shared.More, ^uint64(0)),
		"bytes of a shared block":       add(&shared.Block, 16),
		"where a shared block is":       add(&shared.Real, 1<<16),
		"a free record in use":          set(&free.State, layout.BlockCustom),
		"a deleter whose call waits":    set(&owned.State, layout.BlockPending),
		"a shared block that is free":   set(&shared.State, layout.BlockFree),
		"an unknown state":              set(&owned.State, layout.BlockTyped+1),
		"an alias of another block":     set(&alias.Link, info.Link),
		"an alias of a free record":     set(&alias.Link, s.FreeRecord),
		"a free list that is cut":       set(&free.Next, 0),
		"a free list that is a circle":  set(&free.Next, s.FreeRecord),
		"records of the shard":          set(&s.Records, s.Records+1),
		"shared blocks of the shard":    set(&s.Buffers, 2),
		"a deleter that is none":        {func() { owned.Deleter = 0 }, func() { owned.Deleter = 1 }},
		"references at an alias":        set(&alias.Count, 3),
		"a shared block without a name": {func() { shared.Life -= 3 }, func() { shared.Life += 3 }},
	} {
		d.do()
		require.Error(t, table.Check(), what)
		d.undo()
		require.NoError(t, table.Check(), what)
	}
}

// A generation names one block alone, so a record that has used all of them is not used again.
func TestARecordRetiresWithItsLastGeneration(t *testing.T) {
	table := openShards(t, 1)
	id, _, _, r := table.InsertShared(custom(base, 64), nil)
	require.Equal(t, OK, r)
	number := uint32(id)
	_, r = table.Release(base)
	require.Equal(t, Gone, r)
	table.Settle(number)
	table.record(number).Life = lifeOf(noGeneration-1, 0)
	last, _, _, r := table.InsertShared(custom(base, 64), nil)
	require.Equal(t, OK, r)
	require.Equal(t, lifeOf(noGeneration-1, number), last)
	given := table.shards[0].Records
	ended, _ := table.Release(base)
	require.NoError(t, table.Check())
	table.Settle(ended.Record)
	require.EqualValues(t, layout.BlockRetired, table.record(number).State)
	require.Equal(t, given-1, table.shards[0].Records)
	require.NoError(t, table.Check())
	_, r = table.AddAlias(last, base)
	require.Equal(t, NoShared, r)
	next, _, _, r := table.InsertShared(custom(base, 64), nil)
	require.Equal(t, OK, r)
	require.NotEqual(t, number, uint32(next))
}

func TestRecordsGoOnInTheNextLevel(t *testing.T) {
	table := openShards(t, 2)
	const blocks = 5000
	for i := range uintptr(blocks) {
		require.Equal(t, OK, table.InsertCustom(Block{base + i*64, 64, layout.ForeignCustom, 1, i}))
	}
	require.NoError(t, table.Check())
	for i := range uintptr(blocks) {
		ended, r := table.Release(base + i*64)
		require.Equal(t, Gone, r)
		require.Equal(t, i, table.Settle(ended.Record).Ctx)
	}
	require.NoError(t, table.Check())
	assert.Zero(t, table.Totals().Bytes)
}

func TestNoMemoryForRecordsChangesNothing(t *testing.T) {
	if memory.Instrumented {
		t.Skip("the slab of race builds has no failures to inject at this grain")
	}
	table := open64(t)
	memory.FailAfter(0)
	defer memory.FailAfter(-1)
	require.Equal(t, NoMemory, table.InsertCustom(custom(base, 64)))
	_, _, _, r := table.InsertShared(custom(base, 64), nil)
	require.Equal(t, NoMemory, r)
	require.Zero(t, table.Wait(Ended{Pointer: base, Bytes: 1, Kind: layout.ForeignNewArray}))
	require.NoError(t, table.Check())
	require.Zero(t, table.Totals().Pointers)
}

// The last alias goes while others add one: the id names the block or nothing.
func TestAliasesAreAddedWhileTheLastOneGoes(t *testing.T) {
	table := open64(t)
	for range 2000 {
		id, _, _, r := table.InsertShared(custom(base, 4096), nil)
		require.Equal(t, OK, r)
		var ends atomic.Int32
		drop := func(p uintptr) {
			if ended, _ := table.Release(p); ended.Pointer != 0 {
				table.Settle(ended.Record)
				ends.Add(1)
			}
		}
		var all sync.WaitGroup
		for i := range uintptr(2) {
			all.Go(func() {
				for k := range uintptr(4) {
					p := base + 64*(1+i) + 8*k
					if _, r := table.AddAlias(id, p); r == OK {
						drop(p)
					} else {
						assert.Equal(t, NoShared, r)
					}
				}
			})
		}
		drop(base)
		all.Wait()
		require.EqualValues(t, 1, ends.Load())
	}
	require.NoError(t, table.Check())
	assert.Zero(t, table.Totals().Pointers)
}

// What a program guesses is the id of no block.
func TestGuessedIdsNameNothing(t *testing.T) {
	table := open64(t)
	id, _, _, r := table.InsertShared(custom(base, 4096), nil)
	require.Equal(t, OK, r)
	require.Equal(t, OK, table.InsertCustom(custom(base+1<<20, 64)))
	info, _ := table.Info(base + 1<<20)
	for _, guess := range []uint64{0, 1, 255, 256, 257, uint64(info.Link), id + 1, id + 1<<32, 1 << 31, 1<<32 - 1,
		1<<64 - 1} {
		if guess != id {
			_, r = table.AddAlias(guess, base)
			require.Equal(t, NoShared, r, "%#x", guess)
			require.False(t, table.HasShared(guess))
		}
	}
	require.True(t, table.HasShared(id))
}
