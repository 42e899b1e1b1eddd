package heap

import (
	"cmp"
	"slices"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// cshim/heap hands out blocks of records: those of the slots of one slab and, after them, a
// sentinel that is dead for ever. The tail of a slab, where another object would not
// fit, passes the test "starts a slot" and finds the sentinel.
//
// A slot of 1 KiB or more has a line of records for itself, of which it uses the first: two threads write to
// the records of two tensors, whichever of them has made those, and must not share a line. The
// others are dead for ever, and so are those of the line behind the last slot's.
//
// Each block has metadata, kept in words that no classification reads: type_flags is
// the slab's first span while in use and the next block on the free list otherwise;
// gen is where generations go on after a purge; loc is 1 while it is as high as that of any
// record, so that the records may be zero. The sentinel of a large object's record holds it. That of
// slabs stands apart, so that a purge keeps nothing of them: one for each blockRecords records.
//
// A block begins on a cache line of its own: threads that use two large objects, or objects of two
// classes, write to different lines.
//
// Blocks are reused for the same class only, so that a record's generation never
// goes back and a stale scope entry never matches a new object. A record that has had all of
// its generations is retired: the slabs that use its block leave its slot out, and a block of
// retired records is not used again. A block never moves either, and a table that tells of
// each line of records where its block begins is written once. It gives a record that is
// live, and so does not know its slot number, its address.
const (
	blockRecords = layout.BlockRecords
	lineRecords  = layout.LineRecords
	dumpStep     = 1 << 20 // records that are added to core dumps at once

	// A purge lets all records of a block go on with the highest generation of them. Above this one, which is half of
	// all, the block keeps its pages instead: one busy slot costs the others half of their generations at most.
	purgeBelow = layout.GenLast / 2
)

// A line of records is a cache line.
var (
	_ [64 - lineRecords*layout.RecordBytes]struct{}
	_ [lineRecords*layout.RecordBytes - 64]struct{}
)

func (h *Heap) openRecords(bytes uint64) bool {
	s := h.s
	bytes = min(bytes, 1<<32*layout.RecordBytes-layout.SpanBytes)
	base, err := memory.MapUndumped(uintptr(bytes), "records")
	if err != nil {
		return false
	}
	s.Records, s.RecordLimit = base, uint32(bytes/layout.RecordBytes)
	s.BlockMetadata, err = memory.Map(h.metadataBytes(), "records")
	if err != nil {
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	s.RecordBlocks, err = memory.MapUndumped(h.blocksBytes(), "records")
	if err != nil {
		memory.Unmap(s.BlockMetadata, h.metadataBytes(), "records")
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	s.NextRecord = 64 // record 0 is the one of every span not in use; 0 also ends lists
	h.dumpRecords()
	return true
}

// dumpRecords has core dumps hold more records.
func (h *Heap) dumpRecords() {
	h.growing.Lock()
	defer h.growing.Unlock()
	s := h.s
	h.lock()
	from, next := s.DumpedRecords, s.NextRecord
	h.unlock()
	if from-next >= dumpStep/2 && from != 0 {
		return // another call has done it
	}
	n := min(dumpStep, s.RecordLimit-from)
	memory.Dump(s.Records+uintptr(from)*layout.RecordBytes, uintptr(n)*layout.RecordBytes)
	memory.Dump(layout.Address(h.blockOf(from)), uintptr(n)/lineRecords*4)
	h.lock()
	s.DumpedRecords = from + n
	h.unlock()
}

func (h *Heap) closeRecords() {
	memory.Unmap(h.s.RecordBlocks, h.blocksBytes(), "records")
	memory.Unmap(h.s.BlockMetadata, h.metadataBytes(), "records")
	memory.Unmap(h.s.Records, uintptr(h.s.RecordLimit)*layout.RecordBytes, "records")
}

func (h *Heap) metadataBytes() uintptr {
	return uintptr(h.s.RecordLimit/blockRecords+1) * layout.RecordBytes
}

func (h *Heap) blocksBytes() uintptr { return uintptr(h.s.RecordLimit/lineRecords+1) * 4 }

// blockOf returns where the first record of the block of a record is noted; 0: it is in none.
func (h *Heap) blockOf(record uint32) *uint32 {
	return layout.At[uint32](h.s.RecordBlocks + uintptr(record/lineRecords)*4)
}

// metadata returns what is kept of a block.
func (h *Heap) metadata(first, n uint32) *layout.Record {
	if n > 1 {
		return layout.At[layout.Record](h.s.BlockMetadata + uintptr(first/blockRecords)*layout.RecordBytes)
	}
	return h.Record(first + n)
}

// recordsOf is how many a block of a class takes, with those that no slot has.
func recordsOf(k *layout.ClassInfo) uint32 {
	if k.BlockRecords == 1 {
		return 2
	}
	return max(k.BlockRecords+k.Step(), blockRecords)
}

// freeRecords are those of free blocks side by side.
type freeRecords struct {
	first, end uint32
	new        bool // of one of them at least
}

// purgeRecords drops the pages that have records of free blocks only. Nobody finds the blocks meanwhile.
func (h *Heap) purgeRecords() {
	var taken [layout.ClassLarge]struct{ first, last uint32 }
	var free []freeRecords
	for class := range uint32(layout.ClassLarge) {
		info := &h.G.Classes[class]
		n := info.BlockRecords
		if n == 1 || layout.IsCellClass(class) { // records of cells stay zero
			continue
		}
		t := &taken[class]
		t.first = h.takeBlocks(class)
		for b := t.first; b != 0; b = h.metadata(b, n).TypeFlags {
			t.last = b
			if may, isNew := h.rememberGenerations(b, n); may {
				free = append(free, freeRecords{b, b + recordsOf(info), isNew})
			}
		}
	}
	slices.SortFunc(free, func(a, b freeRecords) int { return cmp.Compare(a.first, b.first) })
	for len(free) != 0 {
		all := free[0]
		for free = free[1:]; len(free) != 0 && free[0].first-all.end < lineRecords; free = free[1:] {
			all.end, all.new = free[0].end, all.new || free[0].new
		}
		if all.new {
			h.purgePagesOf(all)
		}
	}
	for class, t := range taken {
		h.giveBlocks(uint32(class), t.first, t.last)
	}
}

// purgePagesOf drops the whole pages of records.
func (h *Heap) purgePagesOf(free freeRecords) {
	page := uintptr(1) << h.s.PageShift
	start := memory.Round(layout.Address(h.Record(free.first)), page)
	if end := layout.Address(h.Record(free.end)) &^ (page - 1); start < end {
		memory.Purge(start, end-start)
	}
}

// takeBlocks takes all free blocks of a class.
func (h *Heap) takeBlocks(class uint32) (first uint32) {
	h.lock()
	defer h.unlock()
	first = h.s.FreeRecords[class]
	h.s.FreeRecords[class] = 0
	return first
}

// giveBlocks puts a chain of blocks in front of those that are free; 0: there is none.
func (h *Heap) giveBlocks(class, first, last uint32) {
	if first == 0 {
		return
	}
	h.lock()
	defer h.unlock()
	h.metadata(last, h.G.Classes[class].BlockRecords).TypeFlags = h.s.FreeRecords[class]
	h.s.FreeRecords[class] = first
}

// rememberGenerations notes where the generations of a free block go on. may: its records may be zero from now on;
// isNew: and might not before.
func (h *Heap) rememberGenerations(first, n uint32) (may, isNew bool) {
	metadata := h.metadata(first, n)
	if metadata.Loc == 1 {
		return true, false
	}
	high := metadata.Gen
	for i := range n {
		high = max(high, atomic.LoadUint32(&h.Record(first+i).Gen)&^0xFF)
	}
	if high > purgeBelow {
		return false, false
	}
	metadata.Gen, metadata.Loc = high, 1
	return true, true
}

// RecordLimit returns the number of records that could ever exist.
func (h *Heap) RecordLimit() uint64 { return uint64(h.s.RecordLimit) }

// Slab is a slab or a large object that is in use.
type Slab struct {
	Slots uint32 // handed out so far
	Size  uint32 // bytes of a slot; 0: it is a large object
	Cells bool   // each slot is a cell, with its head in front

	start        uintptr
	record, step uint32
	first        uint32 // the first slot that a cell may have
}

// Slot returns where a slot and its record are; the generation is the record's.
func (s Slab) Slot(i uint32) layout.Entry {
	return layout.Entry{Object: s.start + uintptr(i*s.Size), Record: s.record + i*s.step}
}

// IsRetired tells whether no cell ever has slot i.
func (s Slab) IsRetired(i uint32) bool { return i < s.first }

// HasCell tells whether a live cell has slot i, of a slab of cells.
func (s Slab) HasCell(i uint32) bool {
	return i >= s.first && atomic.LoadUint32(&CellHead(s.start+uintptr(i*s.Size)).Count) != 0
}

// Slabs visits every slab and large object that is in use.
func (h *Heap) Slabs(visit func(Slab)) {
	never := atomic.LoadUint32(&h.s.Never)
	for span := uint32(8); span < never; {
		w := h.word(span)
		class := layout.SpanClass(w)
		if class == layout.ClassNone || class == layout.ClassRest {
			span++
			continue
		}
		m := h.meta(span)
		if class == layout.ClassLarge {
			visit(Slab{Slots: 1, start: h.address(span), record: m.Record, step: 1})
		} else {
			info := &h.G.Classes[class]
			first, fresh := h.handedOut(span)
			visit(Slab{fresh, info.Size, layout.IsCellClass(class), h.address(span), m.Record, info.Step(), first})
		}
		span += max(m.Run, 1)
	}
}
