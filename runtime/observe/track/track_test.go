package track

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func open(t *testing.T) {
	t.Helper()
	require.Equal(t, status.OK, openTables(1<<16))
	tracker.period.Store(1)
	t.Cleanup(func() { tracker.period.Store(0) })
}

func TestWhatIsKnownLapsesWithTheGeneration(t *testing.T) {
	open(t)
	ref := Ref{Kind: Object, Key: 7, Gen: 0x105}
	record(1, ref, 0, 40, 1, 0)
	settle(1, []uintptr{0x1000, 0x2000}, 9)
	e, known := Find(ref)
	require.True(t, known)
	require.Equal(t, []uintptr{0x1000, 0x2000}, SiteOf(e.Site).Stack)
	require.Equal(t, [2]uint64{40, 9}, [2]uint64{e.Bytes, uint64(e.Thread)})
	require.True(t, name(ref, 0, "a.tl", 3))
	e, _ = Find(ref)
	require.Equal(t, Site{Stack: []uintptr{0x1000, 0x2000}, File: "a.tl", Line: 3}, SiteOf(e.Site))
	later := ref
	later.Gen += 0x100
	_, known = Find(later)
	require.False(t, known)
	require.False(t, name(later, 0, "b.tl", 4))
	last, known := Last(7)
	require.True(t, known)
	require.Equal(t, uint64(40), last.Bytes)
}

// What a call makes and what it releases get the same site, each in its place.
func TestBothEndsOfACallAreSettled(t *testing.T) {
	open(t)
	older, newer := Ref{Key: 300, Gen: 1}, Ref{Key: 301, Gen: 1}
	record(1, older, 0, 8, 1, 0)
	first := settle(1, []uintptr{0x10}, 1)
	Released(1, older)
	record(1, newer, 0, 8, 1, 0)
	second := settle(1, []uintptr{0x20}, 1)
	o, _ := Find(older)
	n, _ := Find(newer)
	require.Equal(t, [4]uint32{first, second, second, 0}, [4]uint32{o.Site, o.Freed, n.Site, n.Freed})
	settle(1, []uintptr{0x30}, 1)
	o, _ = Find(older)
	require.Equal(t, second, o.Freed)
}

func TestABlockWithoutAnEntryLeavesNoMark(t *testing.T) {
	open(t)
	sum := func() (all uint32) {
		for i := range uintptr(1 << markBits) {
			all += *layout.At[uint32](tracker.marks + 4*i)
		}
		return all
	}
	before, n := sum(), uint64(0)
	memory.FailAfter(0)
	defer memory.FailAfter(-1)
	for lost := Lost(); Lost() == lost; n++ {
		require.Less(t, n, uint64(4*firstSlots), "the table never asks for memory")
		record(1, Ref{Kind: Block, Key: 1<<40 + 16*n}, 0, 8, 1, 0)
	}
	require.EqualValues(t, n-1, sum()-before)
	memory.FailAfter(-1)
	for i := range n {
		Forget(1<<40 + 16*i)
	}
	require.Equal(t, before, sum())
}

// A table that is full and gets no memory looked through all of itself for each allocation.
func TestATableWithoutMemoryIsNotSearchedForEachKey(t *testing.T) {
	looks := 0
	table := &table{current: func(uint64, uint32) bool { looks++; return true }}
	key := uint64(0)
	add := func() bool { key++; return table.place(key) != nil }
	for range firstSlots / 2 {
		require.True(t, add())
	}
	memory.FailAfter(0)
	defer memory.FailAfter(-1)
	for looks = 0; key < 2*firstSlots; {
		require.False(t, add())
	}
	require.Less(t, looks, 32*2*firstSlots, "looks for each key")
	memory.FailAfter(-1)
	for range table.refusals {
		require.False(t, add())
	}
	require.True(t, add(), "memory is asked for again")
	memory.Unmap(table.base, uintptr(table.slots)*slotBytes, purpose)
}

func TestOneStackIsKeptOnce(t *testing.T) {
	open(t)
	for i := range uint64(100) {
		record(1, Ref{Key: 100 + i}, 0, 8, 1, 0)
		settle(1, []uintptr{0x1234, 0x5678}, 1)
	}
	first, _ := Find(Ref{Key: 100})
	last, _ := Find(Ref{Key: 199})
	require.Equal(t, first.Site, last.Site)
	require.NotZero(t, first.Site)
	require.Equal(t, first.Seq+99, last.Seq)
}

func TestSamplesAreDrawnByBytes(t *testing.T) {
	const period, size, draws = 1 << 16, 96, 20000
	tracker.period.Store(period)
	defer tracker.period.Store(0)
	var objects, bytes float64
	for range draws {
		objects += float64(recorder{}.NextObject(size))
		bytes += float64(recorder{}.NextBytes())
	}
	p := 1 - math.Exp(-float64(size)/period)
	require.InEpsilon(t, 1/p, objects/draws, 0.05, "the mean of a geometric distribution")
	require.InEpsilon(t, period, bytes/draws, 0.05)
	require.InEpsilon(t, 1/p, Weight(size), 1e-3)
	require.Equal(t, float32(1), Weight(0))
}

func TestOffAndAllAreNoSamples(t *testing.T) {
	tracker.period.Store(0)
	require.Equal(t, [2]uint64{object.Never, object.Never}, [2]uint64{recorder{}.NextObject(8), recorder{}.NextBytes()})
	tracker.period.Store(1)
	defer tracker.period.Store(0)
	require.Equal(t, [2]uint64{1, 0}, [2]uint64{recorder{}.NextObject(8), recorder{}.NextBytes()})
	require.Equal(t, float32(1), Weight(100))
}

// The table of addresses agrees with a map.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, model := table{}, map[uint64]uint64{}
		for range rapid.IntRange(1, 3000).Draw(t, "steps") {
			key := rapid.Uint64Range(1, 600).Draw(t, "key") << 4
			if rapid.Bool().Draw(t, "place") {
				bytes := rapid.Uint64().Draw(t, "bytes")
				table.place(key).Bytes, model[key] = bytes, bytes
				continue
			}
			_, had := model[key]
			delete(model, key)
			if table.remove(key) != had {
				t.Fatalf("remove(%d) is %v", key, !had)
			}
		}
		if uint64(len(model)) != table.used {
			t.Fatalf("%d entries, want %d", table.used, len(model))
		}
		for key, bytes := range model {
			if e := table.find(key); e == nil || e.Bytes != bytes {
				t.Fatalf("%d is lost", key)
			}
		}
	})
}

// Address space for all records at once is not asked for: valgrind has not that much.
func TestRecordsAreMappedInParts(t *testing.T) {
	before := memory.Purposes()[purpose]
	all := newRecords(1 << 31)
	require.Nil(t, all.find(5))
	all.place(5).Bytes, all.place(1<<31-1).Bytes = 40, 50
	require.Equal(t, [2]uint64{40, 50}, [2]uint64{all.find(5).Bytes, all.find(1<<31 - 1).Bytes})
	require.Nil(t, all.find(partRecords))
	require.Nil(t, all.place(1<<31))
	require.Equal(t, uint64(2*partRecords*entryBytes), memory.Purposes()[purpose]-before)
}

func TestWhatLapsedMakesRoom(t *testing.T) {
	table := table{current: func(key uint64, _ uint32) bool { return key%2 == 0 }}
	for key := range uint64(4 * firstSlots) {
		require.NotNil(t, table.place(key+1))
	}
	require.Less(t, table.used, uint64(3*firstSlots))
	require.NotNil(t, table.find(firstSlots))
}

func TestNamesStay(t *testing.T) {
	first, again := Intern("epoch/load"), Intern("epoch/load")
	require.Equal(t, first, again)
	require.Equal(t, "epoch/load", NameOf(first))
	require.NotZero(t, NameAddress(first))
	require.Zero(t, Intern(""))
	require.Zero(t, NameAddress(0))
	require.Equal(t, Site{}, SiteOf(1<<30))
}

func TestBlocksAreForgotten(t *testing.T) {
	open(t)
	record(1, Ref{Kind: Block, Key: 0x5000}, 0, 8, 1, 0)
	settle(1, []uintptr{1}, 1)
	_, known := Find(Ref{Kind: Block, Key: 0x5000})
	require.True(t, known)
	Forget(0x5000)
	_, known = Find(Ref{Kind: Block, Key: 0x5000})
	require.False(t, known)
	record(1, Ref{Kind: Block, Key: 0x6000}, 0, 8, 1, 0)
	ForgetBlocks()
	settle(1, []uintptr{1}, 1)
	_, known = Find(Ref{Kind: Block, Key: 0x6000})
	require.False(t, known)
}
