package heap

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// recordTable hands out blocks of records: the slots of one slab and, after them, a
// sentinel that is dead for ever. The tail of a slab, where another object would not
// fit, passes the test "starts a slot" and finds the sentinel.
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
// goes back and a stale scope entry never matches a new object. So a block never
// moves either, and a table that tells of each line of records where its block
// begins is written once. It gives a record that is live, and so does not know its
// slot number, its address.
type recordTable struct {
	base         uintptr
	metadataBase uintptr
	blocksBase   uintptr
	limit        uint32

	mu   sync.Mutex // guards all below
	next uint32     // first record never used
	free [layout.Classes]uint32
}

const (
	purgeable   = layout.WholePageSlots // slots of blocks that fill whole pages and are purged
	lineRecords = layout.LineRecords
	pageRecords = layout.PageRecords
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
	base, err := memory.Map(uintptr(bytes), "records")
	if err != nil {
		return false
	}
	t.base, t.limit = base, uint32(bytes/layout.RecordBytes)
	t.metadataBase, err = memory.Map(t.metadataBytes(), "records")
	if err != nil {
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	t.blocksBase, err = memory.Map(t.blocksBytes(), "records")
	if err != nil {
		memory.Unmap(t.metadataBase, t.metadataBytes(), "records")
		memory.Unmap(base, uintptr(bytes), "records")
		return false
	}
	t.next = 64 // record 0 is the one of every span not in use; 0 also ends lists
	return true
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
func (t *recordTable) metadata(first, slots uint32) *layout.Record {
	if slots >= purgeable {
		return layout.At[layout.Record](t.metadataBase + uintptr(first/pageRecords)*layout.RecordBytes)
	}
	return t.at(first + slots)
}

// take returns a block for slots records of a class.
func (t *recordTable) take(class, slots uint32) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.free[class]; first != 0 {
		t.free[class] = t.metadata(first, slots).TypeFlags
		return first, true
	}
	first, records := (t.next+lineRecords-1)&^(lineRecords-1), slots+1
	if slots >= purgeable {
		first, records = (first+pageRecords-1)&^(pageRecords-1), slots
	}
	if records > t.limit-first {
		return 0, false
	}
	t.next = first + records
	for r := first; r < t.next; r += lineRecords {
		atomic.StoreUint32(t.blockOf(r), first)
	}
	return first, true
}

// give takes a block back; every record in it is dead.
func (t *recordTable) give(class, first, slots uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.metadata(first, slots).TypeFlags = t.free[class]
	t.free[class] = first
}

// prepare makes a slot that is handed out for the first time since the block was
// taken fresh or purged: all zeros is dead, only the generation is missing. The slab
// that had the block before may have left a link.
func (t *recordTable) prepare(first, slot, slots, class uint32) {
	r := t.at(first + slot)
	atomic.StoreUint32(&r.Loc, 0)
	if r.Gen == 0 {
		atomic.StoreUint32(&r.Gen, t.metadata(first, slots).Gen|class)
	}
}

// purge drops the pages of free blocks and remembers their highest generation.
func (t *recordTable) purge(info *[layout.Classes]layout.ClassInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for class := range uint32(layout.ClassSmall + 1) {
		slots := info[class].Slots
		if slots < purgeable {
			continue
		}
		for b := t.free[class]; b != 0; b = t.metadata(b, slots).TypeFlags {
			t.purgeBlock(b, slots)
		}
	}
}

func (t *recordTable) purgeBlock(first, slots uint32) {
	metadata := t.metadata(first, slots)
	if metadata.Loc == 1 {
		return
	}
	high := metadata.Gen
	for i := range slots {
		high = max(high, atomic.LoadUint32(&t.at(first+i).Gen)&^0xFF)
	}
	memory.Purge(layout.Address(t.at(first)), uintptr(slots*layout.RecordBytes))
	metadata.Gen, metadata.Loc = high, 1
}

// reuse clears the purged mark when a block goes into service, and notes the slab.
func (t *recordTable) reuse(first, slots, span uint32) {
	metadata := t.metadata(first, slots)
	metadata.Loc, metadata.TypeFlags = 0, span
}

// RecordLimit returns the number of records that could ever exist.
func (h *Heap) RecordLimit() uint64 { return uint64(h.recs.limit) }

// Slabs visits every slab and large object that is in use: the first record and
// its start, the number of slots handed out so far, and the bytes of a slot.
func (h *Heap) Slabs(visit func(record uint32, start uintptr, slots, size uint32)) {
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
			visit(m.record, h.spans.address(span), 1, 0)
		} else {
			visit(m.record, h.spans.address(span), uint32(m.fresh), h.G.Classes[class].Size)
		}
		span += max(m.run, 1)
	}
}
