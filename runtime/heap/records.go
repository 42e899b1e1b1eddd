package heap

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// recordTable hands out blocks of records: those of the slots of one slab and, after them, a
// sentinel that is dead for ever. The tail of a slab, where another object would not
// fit, passes the test "starts a slot" and finds the sentinel.
//
// A large slot has a line of records for itself, of which it uses the first: two threads write to
// the records of two tensors, whichever of them has made those, and must not share a line. The
// others are dead for ever, and so are those of the line behind the last slot's.
//
// Each block has metadata, kept in words that no classification reads: type_flags is
// the slab's first span while in use and the next block on the free list otherwise;
// gen is where generations go on after a purge; loc is 1 once the block's pages were
// purged. The sentinel holds it. Blocks of whole pages (slots of 32 and 64 bytes,
// which leave no tail) have no sentinel, so that a purge keeps nothing of them; their
// metadata stands apart, one for each page of records.
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
type recordTable struct {
	base         uintptr
	metadataBase uintptr
	blocksBase   uintptr
	limit        uint32

	mu     sync.Mutex // guards all below
	next   uint32     // first record never used
	dumped uint32     // records that core dumps hold, a multiple of dumpStep or all
	free   [layout.Classes]uint32
}

const (
	purgeable   = layout.WholePageSlots // slots of blocks that fill whole pages and are purged
	lineRecords = layout.LineRecords
	pageRecords = layout.PageRecords
	dumpStep    = 1 << 20 // records that are added to core dumps at once

	// A purge lets all records of a block go on with the highest generation of them. Above this one, which is half of
	// all, the block keeps its pages instead: one busy slot costs the others half of their generations at most.
	purgeBelow = layout.GenLast / 2
)

// A line of records is a cache line, a page of them a page.
var (
	_ [64 - lineRecords*layout.RecordBytes]struct{}
	_ [lineRecords*layout.RecordBytes - 64]struct{}
	_ [memory.PageBytes - pageRecords*layout.RecordBytes]struct{}
	_ [pageRecords*layout.RecordBytes - memory.PageBytes]struct{}
)

func (t *recordTable) open(bytes uint64) bool {
	bytes = min(bytes, 1<<32*layout.RecordBytes-layout.SpanBytes)
	base, err := memory.MapUndumped(uintptr(bytes), "records")
	if err != nil {
		return false
	}
	t.base, t.limit = base, uint32(bytes/layout.RecordBytes)
	t.metadataBase, err = memory.Map(t.metadataBytes(), "records")
	if err != nil {
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	t.blocksBase, err = memory.MapUndumped(t.blocksBytes(), "records")
	if err != nil {
		memory.Unmap(t.metadataBase, t.metadataBytes(), "records")
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	t.next = 64 // record 0 is the one of every span not in use; 0 also ends lists
	t.dump()
	return true
}

// dump has core dumps hold the records that are in use.
func (t *recordTable) dump() {
	for ; t.dumped < t.next; t.dumped += min(dumpStep, t.limit-t.dumped) {
		n := uintptr(min(dumpStep, t.limit-t.dumped))
		memory.Dump(t.base+uintptr(t.dumped)*layout.RecordBytes, n*layout.RecordBytes)
		memory.Dump(layout.Address(t.blockOf(t.dumped)), n/lineRecords*4)
	}
}

func (t *recordTable) close() {
	memory.Unmap(t.blocksBase, t.blocksBytes(), "records")
	memory.Unmap(t.metadataBase, t.metadataBytes(), "records")
	memory.Unmap(t.base, uintptr(t.limit)*layout.RecordBytes, "records")
}

func (t *recordTable) metadataBytes() uintptr {
	return uintptr(t.limit/pageRecords+1) * layout.RecordBytes
}

func (t *recordTable) blocksBytes() uintptr { return uintptr(t.limit/lineRecords+1) * 4 }

// blockOf returns where the first record of the block of a record is noted; 0: it is in none.
func (t *recordTable) blockOf(record uint32) *uint32 {
	return layout.At[uint32](t.blocksBase + uintptr(record/lineRecords)*4)
}

func (t *recordTable) at(index uint32) *layout.Record {
	return layout.At[layout.Record](t.base + uintptr(index)*layout.RecordBytes)
}

// metadata returns what is kept of a block.
func (t *recordTable) metadata(first, n uint32) *layout.Record {
	if n >= purgeable {
		return layout.At[layout.Record](t.metadataBase + uintptr(first/pageRecords)*layout.RecordBytes)
	}
	return t.at(first + n)
}

// sentinels is how many records a block has behind the n of its slots, of which each has step.
func sentinels(n, step uint32) uint32 {
	if n >= purgeable {
		return 0
	}
	return step
}

// take returns a block of n records of a class that are dead and not all retired, of which each slot has step.
func (t *recordTable) take(class, n, step uint32) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.free[class]; first != 0 {
		t.free[class] = t.metadata(first, n).TypeFlags
		return first, true
	}
	first := (t.next + lineRecords - 1) &^ (lineRecords - 1)
	if n >= purgeable {
		first = (first + pageRecords - 1) &^ (pageRecords - 1)
	}
	records := n + sentinels(n, step)
	if records > t.limit-first {
		return 0, false
	}
	t.next = first + records
	t.dump()
	for r := first; r < t.next; r += lineRecords {
		atomic.StoreUint32(t.blockOf(r), first)
	}
	return first, true
}

// give takes a block back; every record in it is dead, and one at least is not retired.
func (t *recordTable) give(class, first, n uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.metadata(first, n).TypeFlags = t.free[class]
	t.free[class] = first
}

// prepare makes record i of a block of n, whose slot is handed out for the first time since the block was
// taken fresh or purged: all zeros is dead, only the generation is missing, which it returns. The slab
// that had the block before may have left a link.
func (t *recordTable) prepare(first, i, n, class uint32) (gen uint32) {
	r := t.at(first + i)
	atomic.StoreUint32(&r.Loc, 0)
	if r.Gen == 0 {
		atomic.StoreUint32(&r.Gen, t.metadata(first, n).Gen|class)
	}
	return r.Gen
}

// purge drops the pages of free blocks and remembers their highest generation.
func (t *recordTable) purge(info *[layout.Classes]layout.ClassInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for class := range uint32(layout.ClassSmall + 1) {
		n := info[class].BlockRecords
		if n < purgeable {
			continue
		}
		for b := t.free[class]; b != 0; b = t.metadata(b, n).TypeFlags {
			t.purgeBlock(b, n)
		}
	}
}

func (t *recordTable) purgeBlock(first, n uint32) {
	metadata := t.metadata(first, n)
	if metadata.Loc == 1 {
		return
	}
	high := metadata.Gen
	for i := range n {
		high = max(high, atomic.LoadUint32(&t.at(first+i).Gen)&^0xFF)
	}
	if high > purgeBelow {
		return
	}
	metadata.Gen = high
	if memory.Purge(layout.Address(t.at(first)), uintptr(n*layout.RecordBytes)) {
		metadata.Loc = 1
	}
}

// reuse clears the purged mark when a block goes into service, and notes the slab.
func (t *recordTable) reuse(first, n, span uint32) {
	metadata := t.metadata(first, n)
	metadata.Loc, metadata.TypeFlags = 0, span
}

// RecordLimit returns the number of records that could ever exist.
func (h *Heap) RecordLimit() uint64 { return uint64(h.recs.limit) }

// Slab is a slab or a large object that is in use.
type Slab struct {
	Slots uint32 // handed out so far
	Size  uint32 // bytes of a slot; 0: it is a large object

	start        uintptr
	record, step uint32
}

// Slot returns where a slot and its record are; the generation is the record's.
func (s Slab) Slot(i uint32) layout.Entry {
	return layout.Entry{Object: s.start + uintptr(i*s.Size), Record: s.record + i*s.step}
}

// Slabs visits every slab and large object that is in use.
func (h *Heap) Slabs(visit func(Slab)) {
	h.spans.mu.Lock()
	never := h.spans.never
	h.spans.mu.Unlock()
	for span := uint32(8); span < never; {
		w := h.spans.word(span)
		class := layout.SpanClass(w)
		if class == layout.ClassNone || class == layout.ClassRest {
			span++
			continue
		}
		m := h.spans.meta(span)
		if class == layout.ClassLarge {
			visit(Slab{Slots: 1, start: h.spans.address(span), record: m.record, step: 1})
		} else {
			info := &h.G.Classes[class]
			visit(Slab{uint32(m.fresh), info.Size, h.spans.address(span), m.record, info.Step()})
		}
		span += max(m.run, 1)
	}
}
