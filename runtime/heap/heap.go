// Package heap hands out objects: one reserved address range cut into spans of
// 64 KiB, a dense table of records beside it, and per size class a depot of
// free slots (Bonwick and Adams, "Magazines and Vmem", USENIX 2001) from which
// contexts refill their magazines.
//
// Free memory holds no links. A free slot is linked through its dead record,
// so nothing that a program writes into or beyond an object can corrupt a list.
//
// Lock order: a class's depot, then records, then spans. Nothing under these locks
// calls out.
package heap

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Heap is the process's object heap.
type Heap struct {
	G     *layout.Globals
	depot [layout.Classes]depot
	spans spanTable
	recs  recordTable
	side  Side
	raw   uintptr // the range as it was reserved, before its start was aligned
	huge  func() bool

	handed, peak atomic.Uint64 // bytes of slots and large objects that are out, and the most since ResetPeak
}

// A depot holds the slabs of one size class that have free slots.
type depot struct {
	mu      sync.Mutex
	partial uint32 // first slab with a free or fresh slot, 0 = none; linked by span number through their metas
	empty   int    // slabs on the list without a used slot
	out     int64  // slots in contexts: live or in a magazine
	slabs   int64
	retired int64 // slots of slabs in use whose record has had all of its generations
}

// Config sizes a heap; zero fields take the defaults.
type Config struct {
	ReserveBytes uint64
	HugePages    func() bool // asked for each object of 4 MiB and more: whether it asks the system for them
}

// Open reserves the address ranges and fills the heap's part of g.
func Open(g *layout.Globals, cfg Config) (*Heap, status.Status) {
	h := &Heap{G: g, huge: cfg.HugePages}
	layout.FillClasses(&g.Classes)
	bytes := reserveBytes(cfg.ReserveBytes)
	for ; ; bytes /= 2 {
		if bytes < 8*layout.SpanBytes {
			return nil, status.OutOfMemory
		}
		if h.open(bytes) {
			return h, status.OK
		}
	}
}

// reserveBytes chooses the size of the range: what was asked for, or twice the
// physical memory between 64 GiB and 1 TiB; under RLIMIT_AS at most a quarter of
// what is left, so that the host's own malloc still works.
func reserveBytes(asked uint64) uint64 {
	bytes := asked
	if bytes == 0 {
		bytes = min(max(2*memory.Physical(), 64<<30), 1<<40)
	}
	if memory.Instrumented {
		bytes = min(bytes, 64<<20)
	}
	bytes = min(bytes, memory.AddressSpaceLeft()/4, 1<<40)
	return bytes &^ (8*layout.SpanBytes - 1)
}

const align = 8 * layout.SpanBytes // slabs are aligned on their size

func (h *Heap) open(bytes uint64) bool {
	raw, err := memory.Reserve(uintptr(bytes)+align, "heap")
	if err != nil {
		return false
	}
	spans := bytes >> layout.SpanShift
	if !h.spans.open(h, memory.Round(raw, align), uint32(spans)) {
		memory.Unmap(raw, uintptr(bytes)+align, "heap")
		return false
	}
	if !h.recs.open(bytes / 2) {
		h.spans.close()
		memory.Unmap(raw, uintptr(bytes)+align, "heap")
		return false
	}
	h.side.records = h.RecordLimit()
	h.raw, h.G.HeapBase, h.G.HeapBytes = raw, memory.Round(raw, align), bytes
	h.G.Spans, h.G.Records, h.G.BlockMetadata = h.spans.words, h.recs.base, h.recs.metadataBase
	h.G.RecordBlocks = h.recs.blocksBase
	return true
}

// Close gives the ranges back. Nobody may hold an object any more.
func (h *Heap) Close() {
	h.side.close()
	h.recs.close()
	h.spans.close()
	memory.Unmap(h.raw, uintptr(h.G.HeapBytes)+align, "heap")
}

// Record returns the record with the given index.
func (h *Heap) Record(index uint32) *layout.Record {
	return layout.At[layout.Record](h.G.Records + uintptr(index)*layout.RecordBytes)
}

// Index returns the index of a record.
func (h *Heap) Index(r *layout.Record) uint32 {
	return uint32((layout.Address(r) - h.G.Records) / layout.RecordBytes)
}

// slabSpans returns how many spans a slab of the class takes.
func (h *Heap) slabSpans(class uint32) uint32 {
	return uint32((h.G.Classes[class].Mask + 1) >> layout.SpanShift)
}

// Refill moves up to want free slots of a class into dst and returns how many. For 0
// the status tells who refused more memory: the system or a limit.
func (h *Heap) Refill(class uint32, dst []layout.Entry) (n int, st status.Status) {
	d := &h.depot[class]
	d.mu.Lock()
	defer d.mu.Unlock()
	for n < len(dst) {
		if d.partial == 0 {
			if st = h.grow(d, class); st != status.OK {
				break
			}
		}
		n += h.take(d, class, dst[n:])
	}
	d.out += int64(n)
	h.handOut(uint64(n) * uint64(h.G.Classes[class].Size))
	return n, st
}

// handOut counts bytes that leave a depot.
func (h *Heap) handOut(n uint64) {
	out := h.handed.Add(n)
	for peak := h.peak.Load(); out > peak && !h.peak.CompareAndSwap(peak, out); peak = h.peak.Load() {
	}
}

// takeBack counts bytes that return to one.
func (h *Heap) takeBack(n uint64) { h.handed.Add(-n) }

// Peak returns the most bytes that were out of the depots at once since ResetPeak: in
// objects, and in the magazines of contexts.
func (h *Heap) Peak() uint64 { return h.peak.Load() }

// ResetPeak makes what is out now the peak.
func (h *Heap) ResetPeak() { h.peak.Store(h.handed.Load()) }

// take fills dst from the depot's first slab. A fresh slot whose record began its last generation in an earlier slab
// stays unused: the record may be retired.
func (h *Heap) take(d *depot, class uint32, dst []layout.Entry) int {
	first := d.partial
	m := h.spans.meta(first)
	info := &h.G.Classes[class]
	base, step := h.spans.address(first), info.Step()
	if m.used() == 0 {
		d.empty--
	}
	n := 0
	for n < len(dst) {
		slot := uint32(m.freeHead)
		if slot != 0 {
			slot--
			r := h.Record(m.record + slot*step)
			m.freeHead = uint16(r.Loc)
			m.freeCount--
			atomic.StoreUint32(&r.Loc, 0)
		} else if uint32(m.fresh) < info.Slots {
			slot = uint32(m.fresh)
			m.fresh++
			if h.recs.prepare(m.record, slot*step, info.BlockRecords, class) >= layout.GenLast {
				m.retired++
				d.retired++
				continue
			}
		} else {
			break
		}
		record := m.record + slot*step
		dst[n] = layout.Entry{Object: base + uintptr(slot*info.Size), Record: record, Gen: h.Record(record).Gen}
		n++
	}
	if m.isFull(info) {
		h.spans.unlink(&d.partial, first)
	}
	if m.used() == 0 { // each of its records is retired
		h.remove(d, class, first)
	}
	return n
}

// grow adds a slab to the depot.
func (h *Heap) grow(d *depot, class uint32) status.Status {
	n := h.slabSpans(class)
	info := &h.G.Classes[class]
	record, ok := h.recs.take(class, info.BlockRecords, info.Step())
	if !ok {
		return status.OutOfMemory
	}
	first, _, st := h.spans.take(n, n)
	if st != status.OK {
		h.recs.give(class, record, info.BlockRecords)
		return st
	}
	h.spans.use(first, spanMeta{state: spanSlab, class: uint8(class), record: record, run: n})
	h.recs.reuse(record, info.BlockRecords, first)
	for i := range n {
		h.spans.setWord(first+i, layout.SpanWord(class, record, 0))
	}
	h.spans.link(&d.partial, first)
	d.slabs++
	d.empty++
	return status.OK
}

// Flush takes free slots back. Their records are dead and carry the generation
// that the next owner will see.
func (h *Heap) Flush(class uint32, entries []layout.Entry) {
	d := &h.depot[class]
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		h.put(d, class, e)
	}
	d.out -= int64(len(entries))
	h.takeBack(uint64(len(entries)) * uint64(h.G.Classes[class].Size))
}

func (h *Heap) put(d *depot, class uint32, e layout.Entry) {
	n := h.slabSpans(class)
	first := h.spans.number(e.Object) &^ (n - 1)
	m := h.spans.meta(first)
	info := &h.G.Classes[class]
	full := m.isFull(info)
	atomic.StoreUint32(&h.Record(e.Record).Loc, uint32(m.freeHead))
	m.freeHead = uint16((e.Record-m.record)/info.Step()) + 1
	m.freeCount++
	if full {
		h.spans.link(&d.partial, first)
	}
	h.settle(d, class, first)
}

// settle looks whether a slab has lost its last used slot. One empty slab stays, so that a program at the edge does not
// thrash.
func (h *Heap) settle(d *depot, class, first uint32) {
	m := h.spans.meta(first)
	switch {
	case m.used() != 0:
	case m.isFull(&h.G.Classes[class]): // of retired records
		h.remove(d, class, first)
	default:
		d.empty++
		if d.empty > 1 {
			h.drop(d, class, first)
		}
	}
}

// drop gives an empty slab of the depot's list back.
func (h *Heap) drop(d *depot, class, first uint32) {
	h.spans.unlink(&d.partial, first)
	d.empty--
	h.remove(d, class, first)
}

// remove gives a slab that is in no list back to the span table, and its records to the next slab, which uses those
// that are not retired.
func (h *Heap) remove(d *depot, class, first uint32) {
	m := h.spans.meta(first)
	info := &h.G.Classes[class]
	d.slabs--
	d.retired -= int64(m.retired)
	if uint32(m.retired) < info.Slots {
		h.recs.give(class, m.record, info.BlockRecords)
	}
	h.spans.give(first, m.run)
}

// Retire takes a slot back whose record has had all of its generations. It is not used again before another slab, with
// another record for it, takes its place.
func (h *Heap) Retire(e layout.Entry) {
	class := e.Gen & 0xFF
	first := h.spans.number(e.Object) &^ (h.slabSpans(class) - 1)
	d := &h.depot[class]
	d.mu.Lock()
	h.spans.meta(first).retired++
	d.retired++
	d.out--
	h.settle(d, class, first)
	d.mu.Unlock()
	h.takeBack(uint64(h.G.Classes[class].Size))
}

// TakeLarge allocates an object larger than every size class. zero tells that
// its memory reads as zero already.
func (h *Heap) TakeLarge(bytes uintptr) (e layout.Entry, zero bool, st status.Status) {
	spans := (uint64(bytes)-1)>>layout.SpanShift + 1
	if spans > h.G.HeapBytes>>layout.SpanShift {
		return e, false, status.OutOfMemory
	}
	record, ok := h.recs.take(layout.ClassLarge, 1, 1)
	if !ok {
		return e, false, status.OutOfMemory
	}
	first, zero, st := h.spans.take(uint32(spans), 1)
	if st != status.OK {
		h.recs.give(layout.ClassLarge, record, 1)
		return e, false, st
	}
	h.recs.reuse(record, 1, first)
	h.recs.prepare(record, 0, 1, layout.ClassLarge)
	h.spans.use(first, spanMeta{state: spanLarge, class: layout.ClassLarge, record: record, run: uint32(spans),
		bytes: uint64(bytes)})
	for i := uint32(1); i < uint32(spans); i++ {
		h.spans.setWord(first+i, layout.SpanWord(layout.ClassRest, 0, i))
	}
	h.spans.setWord(first, layout.SpanWord(layout.ClassLarge, record, uint32(spans)))
	d := &h.depot[layout.ClassLarge]
	d.mu.Lock()
	d.out++
	d.slabs += int64(spans)
	d.mu.Unlock()
	h.handOut(spans << layout.SpanShift)
	if bytes >= hugeFrom && h.huge != nil && h.huge() {
		h.spans.askHuge(first, uint32(spans))
	}
	return layout.Entry{Object: h.spans.address(first), Record: record, Gen: h.Record(record).Gen}, zero, status.OK
}

// GiveLarge frees a large object whose record is dead, and has generations left or is retired.
func (h *Heap) GiveLarge(e layout.Entry, left bool) {
	first := h.spans.number(e.Object)
	run := h.spans.meta(first).run
	d := &h.depot[layout.ClassLarge]
	d.mu.Lock()
	d.out--
	d.slabs -= int64(run)
	d.mu.Unlock()
	h.takeBack(uint64(run) << layout.SpanShift)
	if left {
		h.recs.give(layout.ClassLarge, e.Record, 1)
	}
	h.spans.give(first, run)
}

// Size returns the usable bytes of the object that starts at addr.
func (h *Heap) Size(addr uintptr) uint64 {
	w := h.spans.word(h.spans.number(addr))
	if layout.SpanClass(w) == layout.ClassLarge {
		return uint64(layout.SpanBack(w)) << layout.SpanShift
	}
	return uint64(h.G.Classes[layout.SpanClass(w)].Size)
}
