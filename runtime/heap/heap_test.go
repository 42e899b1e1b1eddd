package heap

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dustin/go-humanize"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// open gives each test a heap of its own.
func open(t *testing.T, bytes uint64) *Heap {
	t.Helper()
	page, err := memory.Map(layout.SpanBytes, "globals")
	require.NoError(t, err)
	h, st := Open(layout.At[layout.Globals](page), Config{ReserveBytes: bytes})
	require.Equal(t, status.OK, st)
	t.Cleanup(func() {
		h.Close()
		memory.Unmap(page, layout.SpanBytes, "globals")
	})
	return h
}

func refill(t *testing.T, h *Heap, class uint32, n int) []layout.Entry {
	t.Helper()
	got, st := take(h, class, n)
	require.Equal(t, status.OK, st)
	return got
}

// take returns slots that magazines are filled with, in the order in which they hand them out; what the last one holds
// beyond n goes back.
func take(h *Heap, class uint32, n int) (got []layout.Entry, st status.Status) {
	places := make([]layout.Entry, layout.MagazineHolds/h.G.Classes[class].Size+layout.MagazineFewest)
	var pin runtime.Pinner // the heap knows them by their address alone
	pin.Pin(&places[0])
	defer pin.Unpin()
	var c layout.Context
	m := &c.Magazines[class]
	for len(got) < n && st == status.OK {
		m.Base = layout.Address(&places[0])
		m.Top, m.Limit = m.Base, m.Base
		st = h.RefillMagazine(&c, class)
		filled := places[:(m.Top-m.Base)/layout.EntryBytes]
		slices.Reverse(filled)
		got = append(got, filled...)
	}
	if len(got) > n {
		h.Flush(class, got[n:])
		got = got[:n]
	}
	return got, st
}

// revive and bury stand for what contexts do with a slot.
func revive(h *Heap, e layout.Entry) { atomic.StoreUint32(&h.Record(e.Record).Sh, layout.ShAlive) }

func bury(h *Heap, e *layout.Entry) {
	r := h.Record(e.Record)
	atomic.StoreUint32(&r.Sh, 0)
	e.Gen += layout.GenOne
	atomic.StoreUint32(&r.Gen, e.Gen)
}

// live takes slots out and has the last generation of some end: what remains of a slab is empty, and goes.
func live(t *testing.T, h *Heap, class uint32, n int, last func(i int) bool) (retired map[uint32]bool) {
	retired = map[uint32]bool{}
	for i, e := range refill(t, h, class, n) {
		if last(i) {
			e.Gen = layout.GenLast | class
			atomic.StoreUint32(&h.Record(e.Record).Gen, e.Gen)
			h.Retire(e)
			retired[e.Record] = true
			continue
		}
		bury(h, &e)
		h.Flush(class, []layout.Entry{e})
	}
	require.NoError(t, h.Check(func(uint32) {}))
	h.Purge()
	require.Zero(t, h.Usage().Slabs, "class %d", class)
	require.Zero(t, h.Retired())
	require.NoError(t, h.Check(func(uint32) {}))
	return retired
}

// A slab with retired records becomes empty like any other, and its block of records serves the next one, which uses
// the other records. A block of which all are retired is not used again.
func TestSlabsOfRetiredRecordsGoBack(t *testing.T) {
	h := open(t, 16<<20)
	for _, class := range []uint32{1, 3, 16, 30, layout.ClassSmall} {
		slots := int(h.G.Classes[class].Slots)
		gone := map[uint32]bool{}
		for round, last := range []func(i int) bool{
			func(i int) bool { return i%3 == 1 },
			func(i int) bool { return i == 0 },
			func(i int) bool { return i > slots },
			func(int) bool { return true },
			func(int) bool { return true },
			func(int) bool { return false },
		} {
			for record := range live(t, h, class, slots+slots/2+1, last) {
				require.False(t, gone[record], "class %d, round %d: record %d was used again", class, round, record)
				gone[record] = true
			}
		}
	}
}

// Of a slab whose other slots are in use, a retired one is left out until the slab is empty.
func TestARetiredRecordInASlabInUse(t *testing.T) {
	h := open(t, 16<<20)
	const class = layout.ClassSmall - 8
	out := refill(t, h, class, int(h.G.Classes[class].Slots))
	for i := range out {
		out[i].Gen = layout.GenLast | class
		h.Record(out[i].Record).Gen = out[i].Gen
		require.EqualValues(t, len(out)-i, h.Usage().Out[class])
		require.NotZero(t, h.Usage().Held[class])
		h.Retire(out[i])
		require.NoError(t, h.Check(func(uint32) {}))
	}
	require.Zero(t, h.Usage().Slabs, "a slab that has no slot left goes at once")
	again := refill(t, h, class, 1)[0]
	require.NotEqual(t, out[0].Record, again.Record)
	require.Less(t, again.Gen, uint32(layout.GenLast))
}

// A purge lets a block's records go on with the highest of their generations, which must not cost the others theirs.
func TestAPurgeKeepsGenerations(t *testing.T) {
	h := open(t, 16<<20)
	for _, busy := range []uint32{1, 3} { // quarters of all generations
		out := refill(t, h, 1, 10)
		h.Record(out[0].Record).Gen = busy<<30 | 1
		out[0].Gen = busy<<30 | 1
		for i := range out {
			bury(h, &out[i])
		}
		h.Flush(1, out)
		h.Purge()
		for _, e := range refill(t, h, 1, 2048) {
			if e.Record != out[0].Record {
				require.Less(t, e.Gen, uint32(purgeBelow))
			}
			bury(h, &e)
			h.Flush(1, []layout.Entry{e})
		}
		h.Purge()
	}
}

func TestRefillGivesDistinctAlignedObjects(t *testing.T) {
	h := open(t, 16<<20)
	seen := map[uintptr]bool{}
	for class := uint32(1); class <= 40; class++ {
		for _, e := range refill(t, h, class, 50) {
			require.False(t, seen[e.Object])
			seen[e.Object] = true
			require.Zero(t, e.Object%32)
			require.Equal(t, class, e.Gen&0xFF)
			revive(h, e)
			at := h.Find(e.Object)
			require.Equal(t, Live, at.Kind)
			require.Equal(t, e.Record, at.Record)
			require.Equal(t, Interior, h.Find(e.Object+1).Kind)
			require.Equal(t, e.Object, h.Find(e.Object+uintptr(h.G.Classes[class].Size)-1).Start)
		}
	}
}

// Objects that are made one after the other lie so: programs walk what they built in the order in which they built it.
func TestFreshSlotsAreHandedOutUpwards(t *testing.T) {
	h := open(t, 16<<20)
	for _, class := range []uint32{1, 5, layout.ClassSmall, layout.ClassCell, layout.ClassCell + 3} {
		slots := refill(t, h, class, 100)
		of := &h.G.Classes[class]
		for i, e := range slots[1:] {
			before := slots[i].Object
			if e.Object&^uintptr(of.Mask) == before&^uintptr(of.Mask) {
				require.Equal(t, before+uintptr(of.Size), e.Object, "class %d, slot %d", class, i+1)
			}
		}
	}
}

// The tail of a slab, where another object would not fit, passes the fast path's
// test "starts a slot": without the sentinel record the next block's first record
// would answer for it.
func TestSentinelAnswersForTheTailOfASlab(t *testing.T) {
	h := open(t, 16<<20)
	const class = 3 // 96 bytes: 682 slots and a tail of 64 bytes
	slots := int(h.G.Classes[class].Slots)
	first := refill(t, h, class, slots)
	second := refill(t, h, class, slots)
	for _, e := range append(first, second...) {
		revive(h, e)
	}
	tail := first[0].Object + uintptr(slots)*96
	require.Equal(t, Unused, h.Find(tail).Kind)
	block := layout.SpanRecord(h.word(h.number(tail)))
	sentinel := h.Record(block + uint32(slots))
	require.Zero(t, sentinel.Sh&layout.ShAlive, "the fast path reads this record for the tail")
	require.NotEqual(t, block+uint32(slots), second[0].Record)
}

// The records of two slots of 1 KiB or more are never in one cache line, and what else the line has is dead:
// the fast path reads it for addresses inside the slot, and for the tail of the slab.
func TestSlotsOfAKiBHaveALineOfRecordsEach(t *testing.T) {
	h := open(t, 64<<20)
	for class := layout.ClassOf(layout.LineSlotBytes - 1); class <= layout.ClassSmall; class++ {
		info := &h.G.Classes[class]
		lines := map[uint32]bool{}
		entries := refill(t, h, class, int(info.Slots)+1)
		for i := range entries {
			e := &entries[i]
			revive(h, *e)
			lines[e.Record/layout.LineRecords] = true
			if info.Size < layout.LineSlotBytes {
				continue
			}
			require.Zero(t, e.Record%layout.LineRecords)
			for n := uint32(1); n < layout.LineRecords; n++ {
				require.Zero(t, *h.Record(e.Record + n))
				require.Equal(t, Interior, h.Find(e.Object+uintptr(n*info.Stride)).Kind)
				require.Zero(t, h.LocateAny(e.Record+n, class))
			}
			require.Equal(t, e.Object, h.LocateLive(e.Record))
		}
		require.Equal(t, info.Size >= layout.LineSlotBytes, len(lines) == len(entries), "class %d", class)
		for n := info.BlockRecords; n <= uint32(info.Mask)/info.Stride; n++ {
			require.Zero(t, h.Record(entries[0].Record+n).Sh, "the fast path reads record %d for the tail", n)
			require.Less(t, n, info.BlockRecords+info.Step())
		}
		for i := range entries {
			bury(h, &entries[i])
		}
		h.Flush(class, entries)
		require.NoError(t, h.Check(func(uint32) {}))
	}
}

// A block of records that is used again goes on with its generations, also after
// its pages were purged, so that an old scope entry never meets a new object.
func TestGenerationsNeverGoBack(t *testing.T) {
	h := open(t, 16<<20)
	highest := map[uint32]uint32{}
	for round := range 6 {
		entries := refill(t, h, 2, 4096)
		for i := range entries {
			e := &entries[i]
			if before, again := highest[e.Record]; again {
				require.Greater(t, e.Gen, before, "record %d in round %d", e.Record, round)
			}
			highest[e.Record] = e.Gen
			bury(h, e)
		}
		h.Flush(2, entries)
		if round%2 == 1 {
			h.Purge()
		}
	}
}

// Records of slabs that went go back to the system, whatever their class, but for the pages that they share with
// others; and the generations go on.
func TestRecordsOfEveryClassArePurged(t *testing.T) {
	for _, bytes := range []uintptr{32, 96, 320, 1000, 1024, 3000, 6 << 10, 20 << 10, 64 << 10} {
		t.Run(humanize.IBytes(uint64(bytes)), func(t *testing.T) { recordsArePurged(t, bytes) })
	}
}

func recordsArePurged(t *testing.T, bytes uintptr) {
	h := open(t, 256<<20)
	class := layout.ClassOf(bytes)
	info := &h.G.Classes[class]
	n := 8 * 4096 / layout.RecordBytes / int(info.BlockRecords) * int(info.Slots) // eight pages of records
	n = min(max(n, 2*int(info.Slots)), int(h.G.HeapBytes*3/4)/int(info.Size))
	highest := map[uint32]uint32{}
	for range 3 {
		entries := refill(t, h, class, n)
		for i := range entries {
			e := &entries[i]
			require.Greater(t, e.Gen, highest[e.Record], "record %d", e.Record)
			bury(h, e)
			highest[e.Record] = e.Gen - 1
		}
		h.Flush(class, entries)
		h.Purge()
		require.NoError(t, h.Check(func(uint32) {}))
		kept := 0
		for _, e := range entries {
			if atomic.LoadUint32(&h.Record(e.Record).Gen) != 0 {
				kept++
			}
			require.Equal(t, class, h.LifeOf(e.Record, class)&0xFF)
			require.GreaterOrEqual(t, h.LifeOf(e.Record, class), e.Gen)
		}
		require.LessOrEqual(t, kept*int(info.Step())*layout.RecordBytes, 2*4096)
	}
}

// A block of records that is used again hands out dead records without the links that
// its last slab kept its free slots by.
func TestSlotsComeWithoutLinks(t *testing.T) {
	h := open(t, 16<<20)
	for range 2 {
		entries := refill(t, h, 9, 3*int(h.G.Classes[9].Slots))
		for i := range entries {
			require.Zero(t, h.Record(entries[i].Record).Loc)
			bury(h, &entries[i])
		}
		h.Flush(9, entries)
		h.DropEmpty()
	}
}

// Span words are read without a lock while slabs come and go: each load must see
// a whole word, whose record is the slab's or the dead one.
func TestClassificationWhileSpansChangeHands(t *testing.T) {
	h := open(t, 16<<20)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for rng := rand.New(rand.NewPCG(1, 2)); !stop.Load(); {
			at := h.Find(h.G.HeapBase + uintptr(rng.Uint64N(4<<20)))
			if at.Kind >= Interior && at.Start < h.G.HeapBase {
				t.Error("impossible place")
			}
		}
	}()
	for i := range 300 {
		class := uint32(2 + i%8)
		entries := refill(t, h, class, 700)
		for j := range entries {
			bury(h, &entries[j])
		}
		h.Flush(class, entries)
		h.Purge()
	}
	stop.Store(true)
	wg.Wait()
}

func TestLargeObjects(t *testing.T) {
	h := open(t, 64<<20)
	e, zero, st := h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	require.True(t, zero)
	revive(h, e)
	require.EqualValues(t, 1<<20, h.Size(e.Object))
	inside := h.Find(e.Object + 5*layout.SpanBytes + 17)
	require.Equal(t, Interior, inside.Kind)
	require.Equal(t, e.Object, inside.Start)
	bury(h, &e)
	h.GiveLarge(e, true)
	require.Equal(t, Freed, h.Find(e.Object).Kind)
	again, zero, st := h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	require.Equal(t, e.Object, again.Object, "the lowest free run that fits is used again")
	require.False(t, zero)
	_, _, st = h.TakeAligned(1<<40, 1)
	require.Equal(t, status.OutOfMemory, st)
	h.GiveLarge(again, false)
	next, _, st := h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	require.Equal(t, again.Object, next.Object)
	require.NotEqual(t, again.Record, next.Record, "its record was retired")
	require.NoError(t, h.Check(func(uint32) {}))
}

// Runs merge with both neighbours: after everything is free one run remains.
func TestSpansMerge(t *testing.T) {
	h := open(t, 64<<20)
	rng := rand.New(rand.NewPCG(3, 4))
	live := []layout.Entry{}
	for range 2000 {
		if len(live) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(live))
			bury(h, &live[i])
			h.GiveLarge(live[i], true)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		} else if e, _, st := h.TakeAligned(uintptr(1+rng.IntN(20))<<16, 1); st == status.OK {
			revive(h, e)
			live = append(live, e)
		}
		checkRuns(t, h)
	}
	for i := range live {
		bury(h, &live[i])
		h.GiveLarge(live[i], true)
	}
	runs := checkRuns(t, h)
	require.Equal(t, 1, runs)
	require.Zero(t, h.Usage().Out[layout.ClassLarge])
}

// The heap grows from the free run at its end, not from behind it: two free runs side by
// side would never become one, and large requests would pass them by.
func TestTheHeapGrowsFromItsLastFreeRun(t *testing.T) {
	h := open(t, 64<<20)
	h.TakeAligned(1<<16, 1)
	last, _, _ := h.TakeAligned(3<<16, 1)
	bury(h, &last)
	h.GiveLarge(last, true)
	big, zero, st := h.TakeAligned(5<<16, 1)
	require.Equal(t, status.OK, st)
	require.Equal(t, last.Object, big.Object)
	require.False(t, zero, "a part of it was used before")
	bury(h, &big)
	h.GiveLarge(big, true)
	aligned := refill(t, h, layout.ClassOf(16<<10), 1)[0]
	require.Zero(t, h.number(aligned.Object)%8)
	require.Equal(t, 1, checkRuns(t, h), "what the alignment leaves over joins the run")
	_, zero, _ = h.TakeAligned(40<<16, 1)
	require.True(t, zero)
}

// checkRuns checks the heap and returns the number of free runs.
func checkRuns(t *testing.T, h *Heap) (runs int) {
	t.Helper()
	require.NoError(t, h.Check(func(uint32) {}))
	for b := range layout.Bins {
		for run := h.s.Bins[b]; run != 0; run = h.meta(run).Next {
			runs++
		}
	}
	return runs
}

func TestEverySystemCallMayFail(t *testing.T) {
	defer memory.FailAfter(-1)
	for n := range int64(8) {
		memory.FailAfter(-1)
		page, err := memory.Map(layout.SpanBytes, "globals")
		require.NoError(t, err)
		t.Cleanup(func() { memory.Unmap(page, layout.SpanBytes, "globals") })
		memory.FailAfter(n)
		h, st := Open(layout.At[layout.Globals](page), Config{ReserveBytes: 8 << 20})
		if st != status.OK {
			require.Equal(t, status.OutOfMemory, st)
			continue
		}
		for range 100 {
			if _, st := take(h, 5, 64); st != status.OK {
				break
			}
		}
		if _, _, st := h.TakeAligned(4<<20, 1); st != status.OK {
			require.Equal(t, status.OutOfMemory, st)
		}
	}
}

// What the system refused to one call is not asked for with what others want.
func TestRefusedMemoryIsNotWantedAgain(t *testing.T) {
	h := open(t, 64<<20)
	defer memory.FailAfter(-1)
	memory.FailAfter(0)
	_, _, st := h.TakeAligned(32<<20, 1)
	require.Equal(t, status.OutOfMemory, st)
	memory.FailAfter(-1)
	_, _, st = h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	require.Less(t, h.s.Committed, uint32(32<<20>>layout.SpanShift))
}

// Values of an earlier walk do not come back when the numbers of walks begin again.
func TestSideValuesEndWithTheirWalk(t *testing.T) {
	s := open(t, 16<<20).Side()
	for i, epoch := range []uint32{0, 1, ^uint32(0) - 2, ^uint32(0) - 1, 0, 1} {
		s.epoch = epoch
		require.Equal(t, status.OK, s.Begin())
		at := s.At(uint32(i) % 4)
		require.Zero(t, at.Value, "walk %d", s.epoch)
		at.Value = 7
		s.End()
	}
}
