package heap

import (
	"sync/atomic"
	"unsafe"

	"tlruntime/runtime/layout"
)

// Kind classifies an address.
type Kind uint32

// The answers of Find. Outside is an address that is not in the heap's range.
const (
	Outside  Kind = iota
	Unused        // in the range, where no object ever was
	Freed         // in a span whose objects were all released
	Interior      // inside a slot, not at its start
	Dead          // the start of a slot without a live object
	Live
)

// Place is where an address lies: the slot's record and its object's start.
type Place struct {
	Kind   Kind
	Record uint32
	Gen    uint32
	Start  uintptr
}

// has reports whether addr lies in the heap's own address space.
func (h *Heap) has(addr uintptr) bool { return addr-h.G.HeapBase < uintptr(h.G.HeapBytes) }

// Contains reports whether addr is the heap's, or in a range.
func (h *Heap) Contains(addr uintptr) bool { return h.has(addr) || h.rangeAt(addr) != nil }

// Find classifies any address without touching its memory. What is in a range is inside the object that has it.
func (h *Heap) Find(addr uintptr) Place {
	if !h.has(addr) {
		if r := h.rangeAt(addr); r != nil {
			return Place{Kind: Interior, Record: r.owner.Record, Gen: r.owner.Gen, Start: r.owner.Object}
		}
		return Place{Kind: Outside}
	}
	span := h.number(addr)
	w := h.word(span)
	class := layout.SpanClass(w)
	switch class {
	case layout.ClassNone:
		if span < atomic.LoadUint32(&h.s.Never) {
			return Place{Kind: Freed}
		}
		return Place{Kind: Unused}
	case layout.ClassRest:
		back := layout.SpanBack(w)
		span -= back
		w = h.word(span)
		if layout.SpanClass(w) != layout.ClassLarge || back >= layout.SpanBack(w) {
			return Place{Kind: Freed} // the words of a freed object's spans stay until they are used again
		}
		return h.inSlot(layout.SpanRecord(w), h.address(span), addr)
	case layout.ClassLarge:
		return h.inSlot(layout.SpanRecord(w), h.address(span), addr)
	}
	info := &h.G.Classes[class]
	offset, before := uint64(addr-h.G.HeapBase)&uint64(info.Mask), uint64(0)
	if layout.IsCellClass(class) {
		before = layout.CellHeadBytes
	}
	slot := (offset + before) / uint64(info.Size)
	if slot >= uint64(info.Slots) || before != 0 && slot < uint64(h.meta(span).Retired) {
		return Place{Kind: Unused}
	}
	start := addr + uintptr(slot*uint64(info.Size)-before) - uintptr(offset)
	return h.inSlot(layout.SpanRecord(w)+uint32(slot)*info.Step(), start, addr)
}

// handedOut returns the slots from first to fresh of a slab, whose heads may be read then: C writes fresh behind them.
func (h *Heap) handedOut(span uint32) (first, fresh uint32) {
	word := atomic.LoadUint32((*uint32)(unsafe.Pointer(&h.meta(span).Fresh)))
	return word >> 16, word & 0xFFFF
}

var _ [unsafe.Offsetof(layout.SpanMeta{}.Retired) - unsafe.Offsetof(layout.SpanMeta{}.Fresh) - 2]struct{}

// CellHead returns what stands in front of a cell.
func CellHead(cell uintptr) *layout.CellHead {
	return layout.At[layout.CellHead](cell - layout.CellHeadBytes)
}

// CellAt returns the class of the slot of a class of cells whose cell is at an address, and whether it lives; 0: there
// is no such slot, or it was never handed out.
func (h *Heap) CellAt(cell uintptr) (class uint32, live bool) {
	if !h.has(cell) {
		return 0, false
	}
	span := h.number(cell)
	class = layout.SpanClass(h.word(span))
	if !layout.IsCellClass(class) {
		return 0, false
	}
	offset, size := uint32(cell-h.address(span)), h.G.Classes[class].Size
	first, fresh := h.handedOut(span)
	if slot := offset / size; offset%size != 0 || slot < first || slot >= fresh {
		return 0, false
	}
	return class, atomic.LoadUint32(&CellHead(cell).Count) != 0
}

func (h *Heap) inSlot(record uint32, start, addr uintptr) Place {
	r := h.Record(record)
	p := Place{Record: record, Start: start, Kind: Dead, Gen: atomic.LoadUint32(&r.Gen)}
	switch {
	case addr != start:
		p.Kind = Interior
	case atomic.LoadUint32(&r.Sh)&layout.ShAlive != 0:
		p.Kind = Live
	}
	return p
}

// slabOf returns the first span of the slab or large object that record n of a block belongs to.
func (h *Heap) slabOf(record, n, class uint32) uint32 {
	return h.metadata(record-n, h.G.Classes[class].BlockRecords).TypeFlags
}

// PlaceInBlock returns the number of a record in its block.
func (h *Heap) PlaceInBlock(record uint32) uint32 {
	return record - atomic.LoadUint32(h.blockOf(record))
}

// Locate returns the object of a dead record whose number in its block is known; the
// destruction queue finds dying objects by it.
func (h *Heap) Locate(record, n, class uint32) uintptr {
	return h.address(h.slabOf(record, n, class)) + uintptr(n)*uintptr(h.G.Classes[class].Stride)
}

// LocateLive returns the object of a live record.
func (h *Heap) LocateLive(record uint32) uintptr {
	class := atomic.LoadUint32(&h.Record(record).Gen) & 0xFF
	return h.Locate(record, h.PlaceInBlock(record), class)
}

// LifeOf returns the generation of a record of a class: that of its object, of its next one, or of its
// last one; 0: there is no such record.
func (h *Heap) LifeOf(record, class uint32) uint32 {
	if record >= h.s.RecordLimit || class == layout.ClassNone || class > layout.ClassLarge {
		return 0
	}
	gen := atomic.LoadUint32(&h.Record(record).Gen)
	if first := atomic.LoadUint32(h.blockOf(record)); gen == 0 && first != 0 {
		if n := h.G.Classes[class].BlockRecords; n > 1 { // never handed out, or purged
			return h.metadata(first, n).Gen | class
		}
	}
	if gen&0xFF != class {
		return 0
	}
	return gen
}

// LocateAny returns the slot of a record, live or not, of a class; 0: it has none now, or never had.
func (h *Heap) LocateAny(record, class uint32) uintptr {
	first := atomic.LoadUint32(h.blockOf(record))
	if first == 0 || class == layout.ClassNone || class > layout.ClassLarge {
		return 0
	}
	info := &h.G.Classes[class]
	n, span := record-first, h.slabOf(record, record-first, class)
	if n >= info.BlockRecords || n%info.Step() != 0 || span >= h.s.Total ||
		h.word(span) != layout.SpanWord(class, first, 0) {
		return 0
	}
	return h.Locate(record, n, class)
}
