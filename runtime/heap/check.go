package heap

import (
	"math/bits"
	"slices"
	"sync/atomic"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
)

// Check verifies the heap's books, each by a way of its own:
//
//	free runs, slabs and large objects tile the spans that were ever used
//	free runs are never adjacent, each is in its bin, their dirty bytes add up
//	a slab's list holds free_count dead slots below fresh, each once
//	slots below fresh, on no list and not retired == out, class by class
//	blocks of records do not overlap, and those that are free are dead
//
// It calls free with the record of every slot in a depot. No other goroutine may take
// or give memory meanwhile; the fast path never does.
func (h *Heap) Check(free func(record uint32)) error {
	c := checker{h: h, free: free}
	core.Lock(h.s) // the purge clock ticks beside us
	defer core.Unlock(h.s)
	c.bins()
	c.spans()
	c.depots()
	c.records()
	return c.Err()
}

// checker holds what the walk along the spans has found.
type checker struct {
	invariant.Found
	h      *Heap
	free   func(record uint32)
	binned map[uint32]bool // free runs in bins
	dirty  uint64
	idle   uint64          // bytes of free slots, but for pages that were purged
	partly map[uint32]bool // slabs on the lists of depots
	of     [layout.Classes]found
	blocks []block
}

// found is what there is of a class.
type found struct {
	slabs   int64
	out     int64 // slots that were handed out and did not come back
	retired int64
	empty   int64 // slabs without a used slot, in a list
}

// block is a block of records.
type block struct{ first, end uint32 }

func (c *checker) bins() {
	t := c.h.s
	c.binned = map[uint32]bool{}
	for b := range uint32(layout.Bins) {
		before := uint32(0)
		c.Want(t.Binned[b/64]>>(b%64)&1 != 0 == (t.Bins[b] != 0), "bin %d begins with %d, its bit tells otherwise", b,
			t.Bins[b])
		for run := t.Bins[b]; run != 0; run = c.h.meta(run).Next {
			m := c.h.meta(run)
			if c.binned[run] {
				c.Want(false, "the run at span %d is in two bins", run)
				break
			}
			c.binned[run] = true
			c.Want(m.State == layout.SpanFree && bin(m.Run) == b && m.Prev == before,
				"the run at span %d: state %d, %d spans in bin %d, after %d",
				run, m.State, m.Run, b, m.Prev)
			if m.Dirty != 0 {
				c.dirty += uint64(m.Run) << layout.SpanShift
			}
			before = run
		}
	}
	c.Want(c.dirty == t.Dirty, "%d dirty bytes, counted %d", c.dirty, t.Dirty)
}

// bin returns the list for free runs of n spans: exact up to 64, by power of two above.
func bin(n uint32) uint32 {
	if n <= layout.ExactBins {
		return n - 1
	}
	return min(layout.ExactBins+uint32(bits.Len32(n-1))-7, layout.Bins-1)
}

// spans walks everything below never; what is there says how far the next one is.
func (c *checker) spans() {
	t := c.h.s
	c.partly = map[uint32]bool{}
	for class := uint32(1); class < layout.ClassLarge; class++ {
		c.partial(class)
	}
	c.Want(t.Never <= t.Committed && t.Committed <= t.Total, "%d spans used, %d committed, of %d", t.Never, t.Committed,
		t.Total)
	wasFree := false
	for span := uint32(8); span < t.Never; {
		m := c.h.meta(span)
		if m.Run == 0 || m.Run > t.Never-span {
			c.Want(false, "span %d: a run of %d", span, m.Run)
			return
		}
		switch m.State {
		case layout.SpanFree:
			c.freeRun(span, m)
			c.Want(!wasFree, "the free runs before and at span %d touch", span)
		case layout.SpanSlab:
			c.slab(span, m)
		case layout.SpanLarge:
			c.large(span, m)
		case layout.SpanPurging:
		default:
			c.Want(false, "span %d is in state %d", span, m.State)
		}
		wasFree = m.State == layout.SpanFree
		span += m.Run
	}
	c.Want(len(c.binned) == 0 && len(c.partly) == 0, "%d free runs and %d slabs in lists are none", len(c.binned),
		len(c.partly))
}

// partial walks the lists of a depot.
func (c *checker) partial(class uint32) {
	d := &c.h.s.Depots[class]
	c.list(class, d.Partial, layout.SlabPartial)
	c.list(class, d.Cold, layout.SlabCold)
}

func (c *checker) list(class, first uint32, list uint8) {
	before := uint32(0)
	for span := first; span != 0; span = c.h.meta(span).Next {
		m := c.h.meta(span)
		if c.partly[span] {
			c.Want(false, "the slab at span %d is in two lists", span)
			return
		}
		c.partly[span] = true
		c.Want(m.State == layout.SpanSlab && uint32(m.SizeClass) == class && m.Prev == before && m.List == list,
			"the slab at span %d: state %d, class %d of %d, in list %d of %d, after %d",
			span, m.State, m.SizeClass, class, m.List, list, m.Prev)
		before = span
	}
}

func (c *checker) freeRun(span uint32, m *layout.SpanMeta) {
	c.Want(c.binned[span], "the free run at span %d is in no bin", span)
	delete(c.binned, span)
	c.Want(c.h.meta(span+m.Run-1).Run == m.Run, "the run at span %d ends as one of %d", span,
		c.h.meta(span+m.Run-1).Run)
	for i := range m.Run { // the words of large objects stay, but for the first one
		class := layout.SpanClass(c.h.word(span + i))
		c.Want(class == layout.ClassNone || class == layout.ClassRest, "span %d of the free run at %d has class %d", i, span,
			class)
	}
}

// words checks what classification sees of a run.
func (c *checker) words(span, run uint32, want func(i uint32) uint64) {
	for i := range run {
		w := c.h.word(span + i)
		c.Want(w == want(i), "span %d of the run at %d: the word is %#x, not %#x", i, span, w, want(i))
	}
}

func (c *checker) slab(span uint32, m *layout.SpanMeta) {
	class := uint32(m.SizeClass)
	info := &c.h.G.Classes[class]
	if class == 0 || class >= layout.ClassLarge || m.Run != uint32((info.Mask+1)>>layout.SpanShift) || span%m.Run != 0 {
		c.Want(false, "the slab at span %d: class %d, %d spans", span, class, m.Run)
		return
	}
	c.words(span, m.Run, func(uint32) uint64 { return layout.SpanWord(class, m.Record, 0) })
	c.Want(uint32(m.Fresh) <= info.Slots && m.FreeCount <= m.Fresh && m.Retired <= m.Fresh-m.FreeCount,
		"the slab at span %d: %d free and %d retired of %d of %d", span, m.FreeCount, m.Retired, m.Fresh, info.Slots)
	if layout.IsCellClass(class) {
		c.freeCells(span, m)
	} else {
		c.freeSlots(span, m)
	}
	full := m.FreeCount == 0 && uint32(m.Fresh) == info.Slots
	held := m.List == layout.SlabHeld
	c.Want(c.partly[span] == (!full && !held), "the slab at span %d, %d free of %d, in a list: %v", span,
		m.FreeCount, m.Fresh, c.partly[span])
	delete(c.partly, span)
	at := &c.of[class]
	at.slabs++
	out := int64(m.Fresh) - int64(m.FreeCount) - int64(m.Retired)
	at.out += out
	at.retired += int64(m.Retired)
	if out == 0 && !held {
		at.empty++
	}
	c.idle += uint64(m.FreeCount)*uint64(info.Size) - uint64(m.Purged)<<c.h.s.PageShift
	c.block(span, m.Record, info)
}

// freeSlots walks the list of a slab, which leads through the records.
func (c *checker) freeSlots(span uint32, m *layout.SpanMeta) {
	seen, step := make([]bool, m.Fresh), c.h.G.Classes[m.SizeClass].Step()
	n := uint16(0)
	for slot := uint32(m.FreeHead); slot != 0; n++ {
		if slot > uint32(m.Fresh) || seen[slot-1] {
			c.Want(false, "the slab at span %d: slot %d is in its list twice, or fresh", span, slot-1)
			return
		}
		seen[slot-1] = true
		record := m.Record + (slot-1)*step
		r := c.h.Record(record)
		c.Want(r.Sh == 0 && r.TypeFlags == layout.TypePlain && r.Gen&0xFF == uint32(m.SizeClass),
			"the slab at span %d: free slot %d is %+v", span, slot-1, *r)
		c.free(record)
		slot = atomic.LoadUint32(&r.Loc)
	}
	c.Want(n == m.FreeCount, "the slab at span %d: %d free slots, counted %d", span, n, m.FreeCount)
}

// freeCells counts the bits of a slab of cells.
func (c *checker) freeCells(span uint32, m *layout.SpanMeta) {
	n, info := uint16(0), &c.h.G.Classes[m.SizeClass]
	for i := range info.Slots {
		word := *layout.At[uint64](c.h.address(span) + uintptr(i/64*8))
		if word>>(i%64)&1 == 0 {
			continue
		}
		n++
		c.Want(uint16(i) >= m.Retired && uint16(i) < m.Fresh && uint16(i/64) >= m.FreeHead,
			"the slab at span %d: slot %d is free, of %d to %d from word %d on", span, i, m.Retired, m.Fresh, m.FreeHead)
		c.free(m.Record + i)
	}
	c.Want(n == m.FreeCount, "the slab at span %d: %d free cells, counted %d", span, n, m.FreeCount)
}

// large checks a large object. Its first word is written without a lock, last of all, and cleared before all: while it
// is 0, somebody takes or gives the object.
func (c *checker) large(span uint32, m *layout.SpanMeta) {
	if c.h.word(span) != 0 {
		c.words(span, m.Run, func(i uint32) uint64 {
			if i == 0 {
				return layout.SpanWord(layout.ClassLarge, m.Record, m.Run)
			}
			return layout.SpanWord(layout.ClassRest, 0, i)
		})
	}
	at := &c.of[layout.ClassLarge]
	at.slabs += int64(m.Run)
	at.out++
	c.block(span, m.Record, &c.h.G.Classes[layout.ClassLarge])
}

// block notes the records of what stands at a span, and checks what is kept of them.
func (c *checker) block(span, first uint32, info *layout.ClassInfo) {
	metadata := c.h.metadata(first, info.BlockRecords)
	c.Want(metadata.Loc == 0 && metadata.TypeFlags == span && metadata.Sh == 0,
		"the records from %d: %+v, not of span %d", first, *metadata, span)
	for i := first; i < first+info.BlockRecords; i++ {
		c.Want((i-first)%info.Step() == 0 || *c.h.Record(i) == layout.Record{}, "record %d, which no slot has, is %+v", i,
			*c.h.Record(i))
		c.Want(*c.h.blockOf(i) == first, "record %d belongs to the block from %d, noted as %d", i, first,
			*c.h.blockOf(i))
	}
	c.noteBlock(first, info)
}

func (c *checker) noteBlock(first uint32, info *layout.ClassInfo) {
	c.blocks = append(c.blocks, block{first, first + recordsOf(info)})
}

// depots compares the counters with what was found.
func (c *checker) depots() {
	handed := uint64(0)
	for class := range c.h.s.Depots {
		d, at := &c.h.s.Depots[class], &c.of[class]
		c.Want(d.Slabs == at.slabs && d.Empty == at.empty && d.Out == at.out && d.Retired == at.retired,
			"class %d: %d slabs, %d of them empty, %d slots out, %d retired, counted %d, %d, %d and %d", class,
			at.slabs, at.empty, at.out, at.retired, d.Slabs, d.Empty, d.Out, d.Retired)
		if class != layout.ClassLarge {
			handed += uint64(d.Out) * uint64(c.h.G.Classes[class].Size)
		}
	}
	c.Want(handed == c.h.s.Handed, "%d bytes are out of the depots, counted %d", handed, c.h.s.Handed)
	large := c.h.s.LargeTaken - c.h.s.LargeGiven
	c.Want(large == uint64(c.of[layout.ClassLarge].slabs)<<layout.SpanShift, "%d bytes of large objects", large)
	c.Want(c.idle == c.h.s.Idle, "%d bytes of free slots may be resident, counted %d", c.idle, c.h.s.Idle)
}

// records checks the free blocks, and that no two blocks overlap.
func (c *checker) records() {
	t := c.h.s
	for class := range uint32(layout.ClassLarge + 1) {
		info := &c.h.G.Classes[class]
		n := uint32(0)
		for first := t.FreeRecords[class]; first != 0; first = c.h.metadata(first, info.BlockRecords).TypeFlags {
			if n++; n > t.NextRecord {
				c.Want(false, "the free blocks of class %d are a circle", class)
				break
			}
			c.noteBlock(first, info)
			c.dead(first, info.BlockRecords, c.h.metadata(first, info.BlockRecords).Loc == 1)
		}
	}
	slices.SortFunc(c.blocks, func(a, b block) int { return int(int64(a.first) - int64(b.first)) })
	end := uint32(64)
	for _, b := range c.blocks {
		c.Want(b.first >= end && b.end <= t.NextRecord, "records %d to %d, the block before ends at %d, the last one at %d",
			b.first, b.end, end, t.NextRecord)
		end = max(end, b.end)
	}
}

// dead checks the records of a free block; reading those of a purged one would bring
// their pages back.
func (c *checker) dead(first, n uint32, purged bool) {
	for i := first; i < first+n && !purged; i++ {
		r := c.h.Record(i)
		c.Want(r.Sh == 0 && r.TypeFlags == layout.TypePlain, "record %d of a free block is %+v", i, *r)
	}
}

// Retired returns how many slots of the slabs in use have a retired record, by class.
func (h *Heap) Retired() (slots [layout.Classes]int64) {
	for class := range h.s.Depots {
		d := &h.s.Depots[class]
		layout.Lock(&d.Lock)
		slots[class] = d.Retired
		layout.Unlock(&d.Lock)
	}
	return slots
}
