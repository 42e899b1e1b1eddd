package heap

import (
	"sync/atomic"
	"time"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// startTicking arms the purge clock; the table's lock is held.
func (t *spanTable) startTicking() {
	if t.ticking {
		return
	}
	t.ticking = true
	time.AfterFunc(purgeDelay, t.tick)
}

// tick purges what has been free for a whole period, until keepDirty is left.
func (t *spanTable) tick() {
	t.mu.Lock()
	t.clock++
	allowed := t.purgeRuns(keepDirty, t.clock-2)
	t.ticking = false
	if t.dirty > keepDirty && allowed {
		t.startTicking()
	}
	t.mu.Unlock()
	t.h.recs.purge(&t.h.G.Classes)
}

// purgeRuns gives dirty free runs last freed before the epoch to the system
// until at most keep bytes are dirty. Large runs go first: fewest calls. False: the
// system refuses to take them, and they stay dirty.
func (t *spanTable) purgeRuns(keep uint64, epoch uint32) bool {
	for b := bins - 1; b >= 0; b-- {
		for run := t.bins[b]; run != 0 && t.dirty > keep; run = t.meta(run).next {
			m := t.meta(run)
			if !m.dirty || m.epoch > epoch {
				continue
			}
			if !memory.Purge(t.address(run), uintptr(m.run)<<layout.SpanShift) {
				return false
			}
			m.dirty = false
			t.dirty -= uint64(m.run) << layout.SpanShift
		}
	}
	return true
}

// Purge gives all idle memory to the system and returns the bytes that it took.
func (h *Heap) Purge() uint64 {
	h.DropEmpty()
	t := &h.spans
	t.mu.Lock()
	before := t.dirty
	t.purgeRuns(0, t.clock)
	taken := before - t.dirty
	t.mu.Unlock()
	h.recs.purge(&h.G.Classes)
	return taken
}

// DropEmpty takes the slabs without an object out of the depots.
func (h *Heap) DropEmpty() {
	for class := uint32(1); class <= layout.ClassSmall; class++ {
		h.dropEmpty(class)
	}
}

func (h *Heap) dropEmpty(class uint32) {
	d := &h.depot[class]
	d.mu.Lock()
	defer d.mu.Unlock()
	for span := d.partial; span != 0; {
		m := h.spans.meta(span)
		next := m.next
		if m.used() == 0 {
			h.drop(d, class, span)
		}
		span = next
	}
}

// Usage is a snapshot of the heap; exact when no other thread is in it.
type Usage struct {
	Reserved  uint64                // address space
	Committed uint64                // usable without a system call
	Slabs     uint64                // bytes of spans in use
	Idle      uint64                // bytes of free spans that may be resident
	Out       [layout.Classes]int64 // slots handed to contexts, by class
	Slots     [layout.Classes]int64 // of slabs in use, by class, but for those whose record is retired
	Held      [layout.Classes]int64 // bytes of those slabs, and of large objects
	LargeSpan uint64                // spans of large objects
}

// Usage reads the counters.
func (h *Heap) Usage() Usage {
	u := Usage{Reserved: h.G.HeapBytes}
	for class := range h.depot {
		d := &h.depot[class]
		d.mu.Lock()
		u.Out[class] = d.out
		info := &h.G.Classes[class]
		if class == layout.ClassLarge {
			u.LargeSpan = uint64(d.slabs)
			u.Held[class], u.Slots[class] = d.slabs<<layout.SpanShift, d.out
		} else {
			u.Held[class], u.Slots[class] = d.slabs*int64(info.Mask+1), d.slabs*int64(info.Slots)-d.retired
		}
		u.Slabs += uint64(u.Held[class])
		d.mu.Unlock()
	}
	h.spans.mu.Lock()
	u.Committed, u.Idle = uint64(h.spans.committed)<<layout.SpanShift, h.spans.dirty
	h.spans.mu.Unlock()
	return u
}

// slabOf returns the first span of the slab or large object that record n of a block belongs to.
func (h *Heap) slabOf(record, n, class uint32) uint32 {
	return h.recs.metadata(record-n, h.G.Classes[class].BlockRecords).TypeFlags
}

// PlaceInBlock returns the number of a record in its block.
func (h *Heap) PlaceInBlock(record uint32) uint32 {
	return record - atomic.LoadUint32(h.recs.blockOf(record))
}

// Locate returns the object of a dead record whose number in its block is known; the
// pump finds dying objects by it.
func (h *Heap) Locate(record, n, class uint32) uintptr {
	return h.spans.address(h.slabOf(record, n, class)) + uintptr(n)*uintptr(h.G.Classes[class].Stride)
}

// LocateLive returns the object of a live record.
func (h *Heap) LocateLive(record uint32) uintptr {
	class := atomic.LoadUint32(&h.Record(record).Gen) & 0xFF
	return h.Locate(record, h.PlaceInBlock(record), class)
}

// LifeOf returns the generation of a record of a class: that of its object, of its next one, or of its
// last one; 0: there is no such record.
func (h *Heap) LifeOf(record, class uint32) uint32 {
	if record >= h.recs.limit || class == layout.ClassNone || class > layout.ClassLarge {
		return 0
	}
	gen := atomic.LoadUint32(&h.Record(record).Gen)
	if first := atomic.LoadUint32(h.recs.blockOf(record)); gen == 0 && first != 0 {
		if n := h.G.Classes[class].BlockRecords; n >= purgeable { // never handed out, or purged
			return h.recs.metadata(first, n).Gen | class
		}
	}
	if gen&0xFF != class {
		return 0
	}
	return gen
}

// LocateAny returns the slot of a record, live or not, of a class; 0: it has none now, or never had.
func (h *Heap) LocateAny(record, class uint32) uintptr {
	first := atomic.LoadUint32(h.recs.blockOf(record))
	if first == 0 || class == layout.ClassNone || class > layout.ClassLarge {
		return 0
	}
	info := &h.G.Classes[class]
	n, span := record-first, h.slabOf(record, record-first, class)
	if n >= info.BlockRecords || n%info.Step() != 0 || span >= h.spans.total ||
		h.spans.word(span) != layout.SpanWord(class, first, 0) {
		return 0
	}
	return h.Locate(record, n, class)
}
