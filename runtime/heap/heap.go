// Package heap is the Go side of the heap that hands out objects: it maps the memory
// that cshim/heap works on, obtains more of it, gives it back to the system, and reads
// it. heap.h explains the parts and the lock order.
//
//	heap.go     open, close, and the calls of cshim/heap, with what they need
//	ranges.go   large objects that have a range of addresses for themselves, in which they grow
//	huge.go     which memory asks for huge pages
//	side.go     tables beside the spans and records
//	purge.go    what goes back to the system, and when
//	find.go     what an address is, and where the object of a record lies
//	usage.go    counters
//	records.go  blocks of records
//	check.go    the books
package heap

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/config"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Heap is the process's object heap.
type Heap struct {
	G    *layout.Globals
	s    *layout.Heap
	side Side
	raw  uintptr // the range as it was reserved, before its start was aligned
	huge func() bool
	rest func(idle uint64) (used bool)

	growing sync.Mutex // held while more memory, or more records, become usable
	clock   clock
	ranges  ranges

	hasBarriers bool
	barriers    sync.Once
}

// Config sizes a heap; zero fields take the defaults.
type Config struct {
	ReserveBytes uint64
	HugePages    func() bool // asked for each object of 4 MiB and more: whether it asks the system for them
	// Rest is called by each tick, with the bytes that are idle. It gives back what threads that rest keep, and tells
	// whether some were used since it was called last.
	Rest        func(idle uint64) (used bool)
	HasBarriers bool // the process is registered for those of core.PassBarriers
}

// Open reserves the address ranges and fills the heap's part of g.
func Open(g *layout.Globals, cfg Config) (*Heap, status.Status) {
	h := &Heap{G: g, huge: cfg.HugePages, rest: cfg.Rest, hasBarriers: cfg.HasBarriers}
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
		bytes = min(max(2*memory.Physical(), 64<<30), config.MostReserve)
	}
	if memory.Instrumented {
		bytes = min(bytes, 64<<20)
	}
	bytes = min(bytes, memory.AddressSpaceLeft()/4, config.MostReserve)
	return bytes &^ (8*layout.SpanBytes - 1)
}

// Slabs are aligned on their size, and large objects on more if they were asked to be.
const align = layout.HeapMostAlign * layout.SpanBytes

func (h *Heap) open(bytes uint64) bool {
	raw, err := memory.Reserve(uintptr(bytes)+align, "heap")
	if err != nil {
		return false
	}
	h.raw, h.G.HeapBase, h.G.HeapBytes = raw, memory.Round(raw, align), bytes
	if !h.openSpans() {
		memory.Unmap(raw, uintptr(bytes)+align, "heap")
		return false
	}
	if !h.openRecords(bytes / 2) {
		h.closeSpans()
		memory.Unmap(raw, uintptr(bytes)+align, "heap")
		return false
	}
	h.side.records = h.RecordLimit()
	h.G.Spans, h.G.Records, h.G.BlockMetadata = h.s.Spans, h.s.Records, h.s.BlockMetadata
	h.G.RecordBlocks, h.G.Heap = h.s.RecordBlocks, layout.Address(h.s)
	return true
}

// Close gives the ranges back. Nobody may hold an object any more.
func (h *Heap) Close() {
	h.stopClock()
	h.side.close()
	h.closeRecords()
	h.closeSpans()
	memory.Unmap(h.raw, uintptr(h.G.HeapBytes)+align, "heap")
}

// openSpans maps the words of the spans and behind them the heap's own; and the metas with the bits of huge pages.
func (h *Heap) openSpans() bool {
	total := uint32(h.G.HeapBytes >> layout.SpanShift)
	words, err := memory.Map(wordsBytes(total), "span words")
	if err != nil {
		return false
	}
	metas, err := memory.Map(metasBytes(total), "span metas")
	if err != nil {
		memory.Unmap(words, wordsBytes(total), "span words")
		return false
	}
	h.s = layout.At[layout.Heap](words + uintptr(total)*8)
	s := h.s
	s.Base, s.Spans, s.Metas, s.Asked = h.G.HeapBase, words, metas, metas+uintptr(total)*layout.SpanMetaBytes
	s.Classes, s.Total = uintptr(unsafe.Pointer(&h.G.Classes)), total
	s.Cpu, s.All = layout.Address(limit.Account(limit.CPU)), layout.Address(limit.Account(limit.Total))
	for s.PageShift = 12; 1<<s.PageShift < os.Getpagesize(); {
		s.PageShift++
	}
	s.Clock = 2 // so that "two ticks ago" exists
	s.Never = 8 // span 0 is "none" in lists; the first slab's worth of spans stays unused
	s.Committed = 8
	if h.huge != nil {
		s.Huge = 1
	}
	if h.hasBarriers {
		s.Barriers = 1
	}
	return true
}

// MayPassBarriers tells whether core.PassBarriers works. The first call registers the process, which may take 20 ms.
func (h *Heap) MayPassBarriers() bool {
	h.barriers.Do(func() {
		if !h.hasBarriers && core.BeginBarriers() {
			atomic.StoreUint32(&h.s.Barriers, 1)
		}
	})
	return atomic.LoadUint32(&h.s.Barriers) != 0
}

func (h *Heap) closeSpans() {
	total := h.s.Total
	memory.Unmap(h.s.Metas, metasBytes(total), "span metas")
	memory.Unmap(h.s.Spans, wordsBytes(total), "span words")
}

func wordsBytes(spans uint32) uintptr { return uintptr(spans)*8 + layout.HeapBytes }

func metasBytes(spans uint32) uintptr { return uintptr(spans)*layout.SpanMetaBytes + askedBytes(spans) }

// Record returns the record with the given index.
func (h *Heap) Record(index uint32) *layout.Record {
	return layout.At[layout.Record](h.G.Records + uintptr(index)*layout.RecordBytes)
}

// obtain repeats a call until it says something that no more memory helps.
// bytes is what it charges.
func (h *Heap) obtain(bytes uint64, call func() core.Result) status.Status {
	for {
		switch why := call(); why {
		case layout.HeapOk:
			return status.OK
		case layout.HeapLimit:
			limit.Refused(limit.CPU, bytes)
			return status.Limit
		case layout.HeapNeedsMemory:
			if !h.commit(bytes) {
				return status.OutOfMemory
			}
		case layout.HeapNeedsRecords:
			h.dumpRecords()
		default:
			return status.OutOfMemory
		}
	}
}

const commitStep = 2 << 20 >> layout.SpanShift

// commit makes the spans usable that were wanted, for a call that charges so many bytes: an eighth more than there are,
// or what is wanted, if that is more. What another call wants and the system refuses is not refused to this one.
func (h *Heap) commit(bytes uint64) bool {
	h.growing.Lock()
	defer h.growing.Unlock()
	s := h.s
	h.lock()
	from, wanted := s.Committed, s.Wanted
	own := atomic.LoadUint32(&s.Never) + uint32(bytes>>layout.SpanShift) + align>>layout.SpanShift
	s.Wanted = 0
	h.unlock()
	for _, to := range []uint32{max(wanted, from+from/8), wanted, own} {
		if wanted <= from || to <= from { // somebody was faster
			return true
		}
		to = min((to+commitStep-1)&^(commitStep-1), s.Total)
		if memory.Commit(h.address(from), uintptr(to-from)<<layout.SpanShift) == nil {
			h.lock()
			s.Committed = to
			h.unlock()
			if to > layout.HeapKeeps>>layout.SpanShift {
				h.startClock()
			}
			return true
		}
	}
	return false
}

// lock takes the heap's lock, which is that of the accounts.
func (h *Heap) lock()   { layout.Lock(&layout.At[layout.Account](h.s.All).Lock) }
func (h *Heap) unlock() { layout.Unlock(&layout.At[layout.Account](h.s.All).Lock) }

// RefillMagazine gives an empty magazine of a context slots.
func (h *Heap) RefillMagazine(c *layout.Context, class uint32) status.Status {
	return h.obtain(h.slabBytes(class), func() core.Result { return core.Refill(h.s, c, class) })
}

// MakeRoom makes room in a full magazine of a context.
func (h *Heap) MakeRoom(c *layout.Context, class uint32) {
	core.MakeRoom(h.s, c, class)
}

// EmptyMagazine gives all slots of a magazine back and returns their bytes.
func (h *Heap) EmptyMagazine(c *layout.Context, class uint32) uint64 {
	if c.Magazines[class].Limit == c.Magazines[class].Base {
		return 0
	}
	n := core.EmptyMagazine(h.s, c, class)
	return uint64(n) * uint64(h.G.Classes[class].Size)
}

// Watch has the clock look for idle memory.
func (h *Heap) Watch() { core.Watch(h.s) }

// TakeMagazines gives the depots all slots of a context but the newest of each class, whatever its thread does
// meanwhile.
func (h *Heap) TakeMagazines(c *layout.Context) { core.TakeMagazines(h.s, c) }

// Peak returns the most bytes that were out of the depots at once since ResetPeak: in
// objects, and in the magazines of contexts.
func (h *Heap) Peak() uint64 { return atomic.LoadUint64(&h.s.Peak) }

// ResetPeak makes what is out now the peak.
func (h *Heap) ResetPeak() {
	large := atomic.LoadUint64(&h.s.LargeTaken) - atomic.LoadUint64(&h.s.LargeGiven)
	atomic.StoreUint64(&h.s.Peak, atomic.LoadUint64(&h.s.Handed)+large)
}

// Flush takes free slots back. Their records are dead and carry the generation
// that the next owner will see.
func (h *Heap) Flush(class uint32, entries []layout.Entry) {
	core.Give(h.s, class, entries)
}

// Retire takes a slot back whose record has had all of its generations. It is not used again before another slab, with
// another record for it, takes its place.
func (h *Heap) Retire(e layout.Entry) { core.Retire(h.s, e) }

// TakeAligned allocates an object larger than every size class, which begins at a multiple of so many spans, a power of
// two. zero tells that its memory reads as zero already.
func (h *Heap) TakeAligned(bytes uintptr, spans uint32) (e layout.Entry, zero bool, st status.Status) {
	st = h.obtain(uint64(memory.Round(bytes, layout.SpanBytes)), func() (why core.Result) {
		e, zero, why = core.TakeLarge(h.s, uint64(bytes), spans)
		return why
	})
	if st == status.OK {
		h.wantHuge(e.Object, bytes)
	}
	return e, zero, st
}

// ResizeLarge changes the size of a large object to another that is large, where it is; false: what is behind it is not
// free, or not allowed.
func (h *Heap) ResizeLarge(object, bytes uintptr) bool {
	before := h.Size(object)
	more := max(uint64(memory.Round(bytes, layout.SpanBytes)), before) - before
	if h.obtain(more, func() core.Result { return core.ResizeLarge(h.s, object, uint64(bytes)) }) != status.OK {
		return false
	}
	h.wantHuge(object, bytes)
	return true
}

// GiveLarge frees a large object whose record is dead, and has generations left or is retired.
func (h *Heap) GiveLarge(e layout.Entry, left bool) {
	core.GiveLarge(h.s, e, left)
}

func (h *Heap) slabBytes(class uint32) uint64 { return h.G.Classes[class].Mask + 1 }

// ClassOf returns the class of the span that an address of the heap is in.
func (h *Heap) ClassOf(addr uintptr) uint32 { return layout.SpanClass(h.word(h.number(addr))) }

// Size returns the usable bytes of the object that starts at addr.
func (h *Heap) Size(addr uintptr) uint64 {
	w := h.word(h.number(addr))
	if layout.SpanClass(w) == layout.ClassLarge {
		return uint64(layout.SpanBack(w)) << layout.SpanShift
	}
	return uint64(h.G.Classes[layout.SpanClass(w)].Size)
}

func (h *Heap) number(addr uintptr) uint32 { return uint32((addr - h.s.Base) >> layout.SpanShift) }

func (h *Heap) address(span uint32) uintptr { return h.s.Base + uintptr(span)<<layout.SpanShift }

func (h *Heap) meta(span uint32) *layout.SpanMeta {
	return layout.At[layout.SpanMeta](h.s.Metas + uintptr(span)*layout.SpanMetaBytes)
}

func (h *Heap) word(span uint32) uint64 {
	return atomic.LoadUint64(layout.At[uint64](h.s.Spans + uintptr(span)*8))
}
