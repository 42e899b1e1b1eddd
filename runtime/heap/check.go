package heap

import (
	"slices"
	"sync/atomic"

	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
)

// Check verifies the heap's books, each by a way of its own:
//
//	free runs, slabs and large objects tile the spans that were ever used
//	free runs are never adjacent, each is in its bin, their dirty bytes add up
//	a slab's list holds freeCount dead slots below fresh, each once
//	slots below fresh, on no list and not retired == out, class by class
//	blocks of records do not overlap, and those that are free are dead
//
// It calls free with the record of every slot in a depot. No other goroutine may take
// or give memory meanwhile; the fast path never does.
func (h *Heap) Check(free func(record uint32)) error {
	c := checker{h: h, free: free}
	h.spans.mu.Lock() // the purge clock ticks beside us
	defer h.spans.mu.Unlock()
	h.recs.mu.Lock()
	defer h.recs.mu.Unlock()
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
	partly map[uint32]bool // slabs on the lists of depots
	of     [layout.Classes]found
	blocks []block
}

// found is what there is of a class.
type found struct {
	slabs, spans int64
	out          int64 // slots that were handed out and did not come back
	retired      int64
	empty        int // slabs without a used slot
}

// block is a block of records.
type block struct{ first, end uint32 }

func (c *checker) bins() {
	t := &c.h.spans
	c.binned = map[uint32]bool{}
	for b := range bins {
		before := uint32(0)
		for run := t.bins[b]; run != 0; run = t.meta(run).next {
			m := t.meta(run)
			if c.binned[run] {
				c.Want(false, "the run at span %d is in two bins", run)
				break
			}
			c.binned[run] = true
			c.Want(m.state == spanFree && bin(m.run) == b && m.prev == before,
				"the run at span %d: state %d, %d spans in bin %d, after %d",
				run, m.state, m.run, b, m.prev)
			if m.dirty {
				c.dirty += uint64(m.run) << layout.SpanShift
			}
			before = run
		}
	}
	c.Want(c.dirty == t.dirty, "%d dirty bytes, counted %d", c.dirty, t.dirty)
}

// spans walks everything below never; what is there says how far the next one is.
func (c *checker) spans() {
	t := &c.h.spans
	c.partly = map[uint32]bool{}
	for class := uint32(1); class <= layout.ClassSmall; class++ {
		c.partial(class)
	}
	c.Want(t.never <= t.committed && t.committed <= t.total, "%d spans used, %d committed, of %d", t.never, t.committed,
		t.total)
	wasFree := false
	for span := uint32(8); span < t.never; {
		m := t.meta(span)
		if m.run == 0 || m.run > t.never-span {
			c.Want(false, "span %d: a run of %d", span, m.run)
			return
		}
		switch m.state {
		case spanFree:
			c.freeRun(span, m)
			c.Want(!wasFree, "the free runs before and at span %d touch", span)
		case spanSlab:
			c.slab(span, m)
		case spanLarge:
			c.large(span, m)
		default:
			c.Want(false, "span %d is in state %d", span, m.state)
		}
		wasFree = m.state == spanFree
		span += m.run
	}
	c.Want(len(c.binned) == 0 && len(c.partly) == 0, "%d free runs and %d slabs in lists are none", len(c.binned),
		len(c.partly))
}

// partial walks the list of a depot.
func (c *checker) partial(class uint32) {
	before := uint32(0)
	for span := c.h.depot[class].partial; span != 0; span = c.h.spans.meta(span).next {
		m := c.h.spans.meta(span)
		if c.partly[span] {
			c.Want(false, "the slab at span %d is in two lists", span)
			return
		}
		c.partly[span] = true
		c.Want(m.state == spanSlab && uint32(m.class) == class && m.prev == before,
			"the slab at span %d: state %d, class %d of %d, after %d",
			span, m.state, m.class, class, m.prev)
		before = span
	}
}

func (c *checker) freeRun(span uint32, m *spanMeta) {
	c.Want(c.binned[span], "the free run at span %d is in no bin", span)
	delete(c.binned, span)
	c.Want(c.h.spans.meta(span+m.run-1).run == m.run, "the run at span %d ends as one of %d", span,
		c.h.spans.meta(span+m.run-1).run)
	c.words(span, m.run, func(uint32) uint64 { return 0 })
}

// words checks what classification sees of a run.
func (c *checker) words(span, run uint32, want func(i uint32) uint64) {
	for i := range run {
		w := c.h.spans.word(span + i)
		c.Want(w == want(i), "span %d of the run at %d: the word is %#x, not %#x", i, span, w, want(i))
	}
}

func (c *checker) slab(span uint32, m *spanMeta) {
	class := uint32(m.class)
	info := &c.h.G.Classes[class]
	if class == 0 || class > layout.ClassSmall || m.run != c.h.slabSpans(class) || span%m.run != 0 {
		c.Want(false, "the slab at span %d: class %d, %d spans", span, class, m.run)
		return
	}
	c.words(span, m.run, func(uint32) uint64 { return layout.SpanWord(class, m.record, 0) })
	c.Want(uint32(m.fresh) <= info.Slots && m.freeCount <= m.fresh && m.retired <= m.fresh-m.freeCount,
		"the slab at span %d: %d free and %d retired of %d of %d", span, m.freeCount, m.retired, m.fresh, info.Slots)
	c.freeSlots(span, m)
	c.Want(c.partly[span] != m.isFull(info), "the slab at span %d, %d free of %d, in a list: %v", span,
		m.freeCount, m.fresh, c.partly[span])
	delete(c.partly, span)
	at := &c.of[class]
	at.slabs++
	at.out += int64(m.used())
	at.retired += int64(m.retired)
	if m.used() == 0 {
		at.empty++
	}
	c.block(span, m.record, info)
}

// freeSlots walks the list of a slab, which leads through the records.
func (c *checker) freeSlots(span uint32, m *spanMeta) {
	seen, step := make([]bool, m.fresh), c.h.G.Classes[m.class].Step()
	n := uint16(0)
	for slot := uint32(m.freeHead); slot != 0; n++ {
		if slot > uint32(m.fresh) || seen[slot-1] {
			c.Want(false, "the slab at span %d: slot %d is in its list twice, or fresh", span, slot-1)
			return
		}
		seen[slot-1] = true
		record := m.record + (slot-1)*step
		r := c.h.Record(record)
		c.Want(r.Sh == 0 && r.TypeFlags == layout.TypePlain && r.Gen&0xFF == uint32(m.class),
			"the slab at span %d: free slot %d is %+v", span, slot-1, *r)
		c.free(record)
		slot = atomic.LoadUint32(&r.Loc)
	}
	c.Want(n == m.freeCount, "the slab at span %d: %d free slots, counted %d", span, n, m.freeCount)
}

func (c *checker) large(span uint32, m *spanMeta) {
	c.words(span, m.run, func(i uint32) uint64 {
		if i == 0 {
			return layout.SpanWord(layout.ClassLarge, m.record, m.run)
		}
		return layout.SpanWord(layout.ClassRest, 0, i)
	})
	at := &c.of[layout.ClassLarge]
	at.slabs += int64(m.run)
	at.out++
	c.block(span, m.record, &c.h.G.Classes[layout.ClassLarge])
}

// block notes the records of what stands at a span, and checks what is kept of them.
func (c *checker) block(span, first uint32, info *layout.ClassInfo) {
	metadata := c.h.recs.metadata(first, info.BlockRecords)
	c.Want(metadata.Loc == 0 && metadata.TypeFlags == span && metadata.Sh == 0,
		"the records from %d: %+v, not of span %d", first, *metadata, span)
	for i := first; i < first+info.BlockRecords; i++ {
		c.Want((i-first)%info.Step() == 0 || *c.h.Record(i) == layout.Record{}, "record %d, which no slot has, is %+v", i,
			*c.h.Record(i))
		c.Want(*c.h.recs.blockOf(i) == first, "record %d belongs to the block from %d, noted as %d", i, first,
			*c.h.recs.blockOf(i))
	}
	c.noteBlock(first, info)
}

func (c *checker) noteBlock(first uint32, info *layout.ClassInfo) {
	c.blocks = append(c.blocks, block{first, first + info.BlockRecords + sentinels(info.BlockRecords, info.Step())})
}

// depots compares the counters with what was found.
func (c *checker) depots() {
	handed := uint64(0)
	for class := range c.h.depot {
		d, at := &c.h.depot[class], &c.of[class]
		c.Want(d.slabs == at.slabs && d.empty == at.empty && d.out == at.out && d.retired == at.retired,
			"class %d: %d slabs, %d of them empty, %d slots out, %d retired, counted %d, %d, %d and %d", class,
			at.slabs, at.empty, at.out, at.retired, d.slabs, d.empty, d.out, d.retired)
		if class == layout.ClassLarge {
			handed += uint64(d.slabs) << layout.SpanShift
		} else {
			handed += uint64(d.out) * uint64(c.h.G.Classes[class].Size)
		}
	}
	c.Want(handed == c.h.handed.Load(), "%d bytes are out of the depots, counted %d", handed, c.h.handed.Load())
}

// records checks the free blocks, and that no two blocks overlap.
func (c *checker) records() {
	t := &c.h.recs
	for class := range uint32(layout.ClassLarge + 1) {
		info := &c.h.G.Classes[class]
		for first, n := t.free[class], uint32(0); first != 0; first = t.metadata(first, info.BlockRecords).TypeFlags {
			if n++; n > t.next {
				c.Want(false, "the free blocks of class %d are a circle", class)
				break
			}
			c.noteBlock(first, info)
			c.dead(first, info.BlockRecords, t.metadata(first, info.BlockRecords).Loc == 1)
		}
	}
	slices.SortFunc(c.blocks, func(a, b block) int { return int(int64(a.first) - int64(b.first)) })
	end := uint32(64)
	for _, b := range c.blocks {
		c.Want(b.first >= end && b.end <= t.next, "records %d to %d, the block before ends at %d, the last one at %d",
			b.first, b.end, end, t.next)
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
	for class := range h.depot {
		d := &h.depot[class]
		d.mu.Lock()
		slots[class] = d.retired
		d.mu.Unlock()
	}
	return slots
}
