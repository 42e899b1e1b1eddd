package registry

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

const (
	anOwner = 3 << 20
	aType   = 7
)

func insertTyped(t *testing.T, table *Table) Typed {
	_, r := table.InsertTyped(base, 64, aType, anOwner)
	require.Equal(t, OK, r)
	block, live := table.TypedAt(base)
	require.True(t, live)
	return block
}

// Whoever would end a block that is being read waits. Other references come and go, and no count shows it.
func TestABlockEndsAfterItWasRead(t *testing.T) {
	for name, end := range map[string]func(table *Table, gen uint32) Result{
		"release":         func(table *Table, _ uint32) Result { _, r := table.Release(base); return r },
		"a scope's entry": func(table *Table, gen uint32) Result { _, r := table.ReleaseEntry(base, gen); return r },
		"dec_ref":         func(table *Table, _ uint32) Result { return table.DecRef(base) },
		"end":             func(table *Table, gen uint32) Result { _, r := table.End(base, gen); return r },
	} {
		t.Run(name, func(t *testing.T) {
			table := openShards(t, 1)
			made := insertTyped(t, table)
			block, reading := table.StartReading(base, anOwner)
			require.True(t, reading)
			require.Equal(t, made, block)
			require.EqualValues(t, 1, table.Count(base))
			require.Equal(t, OK, table.Acquire(base))
			_, r := table.Release(base)
			require.Equal(t, OK, r)

			result := make(chan Result)
			go func() { result <- end(table, block.Gen) }()
			for range 1000 {
				runtime.Gosched()
				select {
				case r := <-result:
					t.Fatalf("the block that is being read has ended: %v", r)
				default:
				}
			}
			require.EqualValues(t, 1, table.Count(base))
			require.True(t, table.IsUntouched(block))
			table.StopReading(base)
			require.Contains(t, []Result{Gone, Zero}, <-result)
			require.False(t, table.IsUntouched(block))
		})
	}
}

func TestOnlyItsOwnBlocksAreRead(t *testing.T) {
	table := openShards(t, 1)
	block := insertTyped(t, table)
	_, reading := table.StartReading(base, anOwner+1<<20)
	require.False(t, reading, "another owner")
	_, reading = table.StartReading(base+16, anOwner)
	require.False(t, reading, "no start")

	block, reading = table.StartReading(base, anOwner)
	require.True(t, reading)
	table.Touch(base, anOwner, 0)
	require.True(t, table.IsUntouched(block), "the owner counts")
	table.Touch(base, anOwner+1<<20, 0)
	require.False(t, table.IsUntouched(block), "another thread counts")
	table.StopReading(base)
	_, reading = table.StartReading(base, anOwner)
	require.False(t, reading, "another thread has counted")
	_, r := table.Release(base)
	require.Equal(t, Gone, r)
}

// A frozen count says nothing of who holds the block.
func TestABlockThatBecameImmortalIsTouched(t *testing.T) {
	table := openShards(t, 1)
	insertTyped(t, table)
	block, _ := table.StartReading(base, anOwner)
	table.StopReading(base)
	require.Equal(t, OK, table.Immortal(base))
	require.False(t, table.IsUntouched(block))
	_, reading := table.StartReading(base, anOwner)
	require.False(t, reading)
}

// A block whose references are being released is in the table, and nobody's: neither its last reference nor what
// holds blocks at zero ends it again.
func TestABlockThatWaitsIsNobodys(t *testing.T) {
	table := openShards(t, 1)
	made := insertTyped(t, table)
	ended, r := table.Release(base)
	require.Equal(t, Gone, r)
	require.Equal(t, Ended{Pointer: base, Bytes: 64, Kind: layout.ForeignMalloc, Record: made.Link}, ended)
	for name, other := range map[string]func() Result{
		"register": func() Result { _, r := table.Register(base); return r },
		"acquire":  func() Result { return table.Acquire(base) },
		"release":  func() Result { return second(table.Release(base)) },
		"entry":    func() Result { return second(table.ReleaseEntry(base, made.Gen)) },
		"dec_ref":  func() Result { return table.DecRef(base) },
		"forget":   func() Result { return second(table.Forget(base)) },
		"end":      func() Result { return second(table.End(base, made.Gen)) },
	} {
		require.Equal(t, Stale, other(), name)
	}
	_, r = table.Adopt(base, 64)
	require.NotEqual(t, OK, r)
	require.True(t, table.Covered(base+16))
	require.NoError(t, table.Check())
	table.SettleTyped(ended.Record)
	require.NoError(t, table.Check())
	require.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
}

// What a block at zero refers to is its holder's, so that it goes at once.
func TestABlockWithATypeAtZeroIsForgotten(t *testing.T) {
	table := openShards(t, 1)
	insertTyped(t, table)
	require.Equal(t, Zero, table.DecRef(base))
	require.EqualValues(t, 0, table.Count(base))
	require.NoError(t, table.Check())
	ended, r := table.Forget(base)
	require.Equal(t, Gone, r)
	require.Equal(t, Ended{Pointer: base, Bytes: 64, Kind: layout.ForeignMalloc}, ended)
	require.NoError(t, table.Check())
	require.Equal(t, Totals{Memory: table.Totals().Memory}, table.Totals())
}
