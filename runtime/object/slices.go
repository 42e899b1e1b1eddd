package object

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// slices is one reservation cut into equal slices, one a context:
//
//	context | types counted | magazines | marks | scope entries | index links | frame stack | arena
//
// Everything is lazily backed, so a slice costs what its thread has touched. A
// pointer into the reservation names its context by its address alone.
type slices struct {
	base  uintptr
	shift uint64
	count uint32 // slices that fit; slice 0 is the locked context's

	magazines [layout.Classes]uint32 // capacity by class
	types     part                   // layout.TypeCount by type, from layout.TypeFirstUser
	marks     part
	entries   part
	links     part

	mu      sync.Mutex // guards creation
	created atomic.Uint32
}

// part is a range inside a slice.
type part struct{ offset, bytes uint64 }

const (
	defaultArena = 1 << 30
	maxSlices    = 8192
	minSlices    = 16 // under RLIMIT_AS; threads beyond share the locked context
	raceSlices   = 64
	// Of the scope entries, of the frame stack and of the arena of so many threads so many bytes are in core dumps. A
	// thread takes six mappings for that, of which a process has some 65,000.
	dumpedThreads, dumpedBytes = 256, 64 << 20
)

// magazineCapacity bounds a magazine by bytes; it has some entries of any class. As capacity_of in cshim/heap.
func magazineCapacity(size uint32) uint32 {
	return max(layout.MagazineHolds/size, layout.MagazineFewest)
}

func (s *slices) open(g *layout.Globals, arena uint64) status.Status {
	if arena == 0 {
		arena = defaultArena
	}
	count, left := uint64(maxSlices), memory.AddressSpaceLeft()
	if memory.Instrumented {
		count, arena = raceSlices, min(arena, 64<<10)
	}
	arena = max(arena&^(layout.SpanBytes-1), layout.SpanBytes)
	for ; ; arena, count = max(arena/2, layout.SpanBytes), max(count/2, minSlices) {
		size := s.plan(g, arena)
		if count*size <= left/8 || memory.Instrumented {
			if base, err := memory.MapUndumped(uintptr(count*size), "contexts"); err == nil {
				s.base, s.count = base, uint32(count)
				g.SlicesBase, g.SlicesBytes, g.SliceShift = base, count*size, s.shift
				return status.OK
			}
		}
		if arena == layout.SpanBytes && count == minSlices {
			return status.OutOfMemory
		}
	}
}

// close gives the reservation back. No context was made.
func (s *slices) close() {
	if s.base != 0 {
		memory.Unmap(s.base, uintptr(s.count)<<s.shift, "contexts")
		s.base, s.count = 0, 0
	}
}

// plan lays out a slice for the given arena size and returns its size.
func (s *slices) plan(g *layout.Globals, arena uint64) uint64 {
	at := uint64(2 * memory.Round(contextBytes, 64)) // the context and its stub
	s.types = part{at, min(uint64(memory.Round(uintptr(process.types.limit)*layout.TypeCountBytes, 64)), arena/4)}
	at += s.types.bytes
	g.CountedTypes = uint32(s.types.bytes / layout.TypeCountBytes)
	for class := uint32(1); class < layout.ClassLarge; class++ {
		s.magazines[class] = magazineCapacity(g.Classes[class].Size)
		at += uint64(s.magazines[class]) * layout.EntryBytes
	}
	next := func(bytes uint64) part {
		at = (at + memory.PageBytes - 1) &^ (memory.PageBytes - 1)
		p := part{at, bytes}
		at += bytes
		return p
	}
	s.marks = next(arena / 8)
	s.entries = next(arena)
	s.links = next(arena / layout.EntryBytes * 4)
	g.FrameOffset = next(arena).offset
	g.ArenaOffset = next(arena).offset
	g.ArenaCapacity = arena
	s.shift = 12
	for 1<<s.shift < at {
		s.shift++
	}
	return 1 << s.shift
}

// slice returns context id, in whatever state it is.
func (s *slices) slice(id uint32) *Context {
	return At(s.base + uintptr(id)<<s.shift)
}

// create makes a context with a fresh id; nil when all slices are in use. The
// first 4094 own their objects; the rest count through the shared word.
func (s *slices) create() *Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.created.Load() + 1
	if id >= s.count {
		return nil
	}
	c := s.slice(id)
	s.prepare(c, id)
	s.countIn(c)
	atomic.StoreUint64(&c.Word, layout.CtxActive)
	s.created.Store(id)
	return c
}

// prepare fills a context of zeros, and the stub behind it that stands in for it
// when the fast path is off.
func (s *slices) prepare(c *Context, id uint32) {
	addr := c.address()
	if id <= dumpedThreads {
		s.dump(addr)
	}
	c.Id, c.Self = id, addr
	c.Owner = layout.OwnerNever
	c.RecordLimit = process.heap.RecordLimit()
	const unbiased = layout.ShAlive | layout.ShMerged | layout.ShOne
	c.AllocSh, c.NewSh = unbiased|layout.ShFloat, unbiased
	if id >= 1 && id <= layout.MaxOwner {
		c.Owner = id << layout.LocOwnerShift
		c.AllocLoc, c.NewLoc = c.Owner|layout.LocFloat|1, c.Owner|1
		c.AllocSh, c.NewSh = layout.ShAlive, layout.ShAlive
	}
	stub := At(addr + memory.Round(contextBytes, 64))
	stub.Owner, stub.Self = layout.OwnerNever, addr
	c.One, stub.One = c.Owner|1, stub.Owner|1
	c.HeapBase, c.HeapBytes = atomic.LoadUintptr(&process.g.HeapBase), process.g.HeapBytes
	c.Spans, c.Records = process.g.Spans, process.g.Records
	c.Classes = uintptr(unsafe.Pointer(&process.g.Classes))
	c.BlockMetadata, c.RecordBlocks = process.g.BlockMetadata, process.g.RecordBlocks
	at := addr + uintptr(s.types.offset+s.types.bytes)
	for class := uint32(1); class < layout.ClassLarge; class++ {
		m := &c.Magazines[class]
		m.Base, m.Top = at, at
		at += uintptr(s.magazines[class]) * layout.EntryBytes
		m.Limit = m.Base // grows by use, up to the capacity
	}
	c.Marks = addr + uintptr(s.marks.offset)
	c.MarkTop, c.MarkEnd = c.Marks, c.Marks+uintptr(s.marks.bytes)
	c.Entries = addr + uintptr(s.entries.offset)
	c.Top, c.End = c.Entries, c.Entries+uintptr(s.entries.bytes)
	c.Index.Older = addr + uintptr(s.links.offset)
	c.Frame.Base = addr + uintptr(process.g.FrameOffset)
	c.Tracking.Left = Never
	c.Frame.Top, c.Frame.End = c.Frame.Base, c.Frame.Base+uintptr(process.g.ArenaCapacity)
}

// dump has core dumps hold what most threads use of the slice at an address.
func (s *slices) dump(addr uintptr) {
	bytes := min(process.g.ArenaCapacity, dumpedBytes)
	memory.Dump(addr, uintptr(s.entries.offset+bytes))
	memory.Dump(addr+uintptr(process.g.FrameOffset), uintptr(bytes))
	memory.Dump(addr+uintptr(process.g.ArenaOffset), uintptr(bytes))
}

// each visits every context made so far.
func (s *slices) each(visit func(c *Context)) {
	for id := uint32(0); id <= s.created.Load(); id++ {
		visit(s.slice(id))
	}
}
