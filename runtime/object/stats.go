package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// Stats are the process's counters. What the tensor pool keeps is live here; package
// tensor knows how much that is. At quiescence they are exact:
//
//	Allocations - Frees == LiveObjects == sum over Classes == sum over kinds
//
// While others run, frees are read before allocations: what is live may be too high
// for a moment, and is never negative.
type Stats struct {
	LiveObjects, LiveBytes uint64
	Allocations, Frees     uint64
	AllocatedBytes         uint64 // of all allocations
	ForeignLive            uint64
	ForeignBack            uint64 // handed back to the host
	ForeignMade            uint64 // ever
	ForeignBytes           uint64
	RegistryBuffers        uint64
	RegistryBytes          uint64 // of its tables
	Reserved, Committed    uint64
	Skipped, Deferred      uint64
	WaitingObjects         uint64 // whose last reference was handed to an owner that did not take it yet
	WaitingBytes           uint64 // of them
	SlowCalls, SystemCalls uint64
	Contexts               uint64
	ScopeEntries           uint64
	FrameBytes, ArenaBytes uint64 // in use
	Classes                [layout.Classes]ClassStats
	Kinds                  [layout.Kinds]KindStats // by record type; plain objects and user types are the rest
}

// ClassStats are the counters of one size class.
type ClassStats struct {
	Size        uint64 // of a slot; 0: large objects
	Allocations uint64
	Frees       uint64
	Bytes       uint64 // live
	Free        uint64 // slots of slabs that are in use
	Held        uint64 // bytes of those slabs, and of large objects
}

// Live returns how many objects are live.
func (s *ClassStats) Live() uint64 { return s.Allocations - min(s.Frees, s.Allocations) }

// KindStats are the counters of the slots of one kind.
type KindStats struct {
	Allocations, Frees uint64
	Bytes              uint64 // live
}

// Live returns how many slots are live.
func (k *KindStats) Live() uint64 { return k.Allocations - min(k.Frees, k.Allocations) }

// ReadStats sums up the contexts.
func ReadStats() Stats {
	process.resting.mu.Lock()
	defer process.resting.mu.Unlock()
	return readStats()
}

// readStats has the clock stand still.
func readStats() (s Stats) {
	s.readFrees()
	s.readAllocations()
	s.readHeap()
	s.readForeign()
	s.WaitingObjects += process.late.objects.Load()
	s.WaitingBytes = bytesThatWait()
	return s
}

// readFrees comes before readAllocations.
func (s *Stats) readFrees() {
	for class := range s.Classes {
		s.Classes[class].Frees = process.counters.gone[class].Load()
	}
	s.Kinds[layout.TypeTensor].Frees = process.counters.tensors.Load()
	large, given := process.heap.LargeGone()
	s.Classes[layout.ClassLarge].Frees += large
	gone := [layout.Kinds]uint64{layout.TypeTensor: process.counters.tensorBytes.Load()}
	EachContext(func(c *Context) {
		s.WaitingObjects -= layout.Peek(&c.Handed.Answered) // what was deferred is added
		for class := uint32(1); class < layout.ClassLarge; class++ {
			s.Classes[class].Frees += c.cameBack(class)
		}
		c.eachWarm(func(class uint32) { s.Classes[class].Frees++ })
		for kind := range c.Kinds {
			s.Kinds[kind].Frees += layout.Peek(&c.Kinds[kind].Gone)
			gone[kind] += layout.Peek(&c.Kinds[kind].BytesGone)
		}
	})
	held, spans := quarantined()
	for class := range held {
		s.Classes[class].Frees += uint64(held[class]) // dead, and not back yet
	}
	for kind, bytes := range gone {
		s.Kinds[kind].Bytes = -bytes // what was made is added
	}
	s.Classes[layout.ClassLarge].Bytes = -given - uint64(spans)<<layout.SpanShift
}

// quarantined returns how many dead slots of each class TL_DEBUG keeps back, and the spans of
// large objects.
func quarantined() (slots [layout.Classes]int64, large int64) {
	if process.debug == nil {
		return slots, 0
	}
	return process.debug.Quarantined()
}

// cameBack returns how many slots ever came back to a magazine. The order of reading
// is that of counters.go backwards.
func (c *Context) cameBack(class uint32) uint64 {
	f, m := &c.Flows[class], &c.Magazines[class]
	flushed := atomic.LoadUint64(&f.Flushed)
	allocations := c.allocated(class)
	cached := uint64(layout.PeekAddress(&m.Top)-m.Base) / layout.EntryBytes
	return flushed + allocations + cached - atomic.LoadUint64(&f.Refilled)
}

// eachWarm visits the classes of the warm places. It comes after cameBack: a slot that moves from one to
// the other in between is missed, as one whose places have changed meanwhile.
func (c *Context) eachWarm(visit func(class uint32)) {
	top, end, warm := layout.PeekAddress(&c.Top), layout.PeekAddress(&c.End), layout.PeekAddress(&c.Warm)
	first := max(top, end)
	if warm <= first || warm-first > layout.WarmEntries*layout.EntryBytes {
		return
	}
	var classes [layout.WarmEntries]uint32
	n := 0
	for at := first; at < warm; at += layout.EntryBytes {
		classes[n] = atomic.LoadUint32(&layout.At[layout.Entry](at).Gen) & 0xFF
		n++
	}
	if layout.PeekAddress(&c.Top) != top || layout.PeekAddress(&c.End) != end || layout.PeekAddress(&c.Warm) != warm {
		return
	}
	for _, class := range classes[:n] {
		if class < layout.ClassLarge {
			visit(class)
		}
	}
}

func (s *Stats) readAllocations() {
	EachContext(func(c *Context) {
		for class := uint32(1); class < layout.ClassRest; class++ {
			s.Classes[class].Allocations += c.allocated(class)
		}
		for kind := range c.Kinds {
			s.Kinds[kind].Allocations += layout.Peek(&c.Kinds[kind].Made)
			s.Kinds[kind].Bytes += layout.Peek(&c.Kinds[kind].BytesMade)
		}
		s.addContext(c)
	})
	taken := process.heap.LargeTaken()
	_, ranges := process.heap.Ranges() // the elements of tensors that have grown
	s.Kinds[layout.TypeTensor].Bytes += ranges
	s.Classes[layout.ClassLarge].Bytes += taken + ranges
	s.AllocatedBytes = taken
	for class := range s.Classes {
		k := &s.Classes[class]
		if class != layout.ClassLarge {
			k.Size = uint64(process.g.Classes[class].Size)
			k.Bytes = k.Live() * k.Size
			s.AllocatedBytes += k.Allocations * k.Size
		}
		s.Allocations += k.Allocations
		s.Frees += k.Frees
		s.LiveBytes += k.Bytes
	}
	s.LiveObjects = s.Allocations - s.Frees
}

func (s *Stats) addContext(c *Context) {
	if atomic.LoadUint64(&c.Word)&layout.CtxState != layout.CtxFree && c.Id != 0 {
		s.Contexts++
	}
	s.Skipped += layout.Peek(&c.Skipped)
	deferred := layout.Peek(&c.Handed.Deferred)
	s.Deferred += deferred
	s.WaitingObjects += deferred
	s.SlowCalls += layout.Peek(&c.SlowCalls)
	s.ForeignMade += layout.Peek(&c.ForeignAdopted)
	holes := layout.Peek(&c.Holes) // before the entries: more may come meanwhile
	entries := uint64(layout.PeekAddress(&c.Top)-c.Entries) / layout.EntryBytes
	s.ScopeEntries += entries - min(holes, entries)
	s.FrameBytes += uint64(layout.PeekAddress(&c.Frame.Top) - c.Frame.Base)
	base, top := layout.PeekAddress(&c.Arena.Base), layout.PeekAddress(&c.Arena.Top)
	s.ArenaBytes += uint64(top - min(base, top))
}

func (s *Stats) readHeap() {
	usage := process.heap.Usage()
	s.Reserved, s.Committed = usage.Reserved+process.g.SlicesBytes, usage.Committed
	s.SystemCalls = memory.Calls()
	for class := range s.Classes {
		k := &s.Classes[class]
		k.Held = uint64(usage.Held[class])
		k.Free = uint64(usage.Slots[class]) - min(k.Live(), uint64(usage.Slots[class]))
	}
}

func (s *Stats) readForeign() {
	t := process.registry.Totals()
	s.ForeignBack = t.HandedBack
	s.ForeignLive = t.Pointers - min(t.Pointers, t.HandedBack)
	s.ForeignMade = max(s.ForeignMade, s.ForeignLive)
	s.ForeignBytes, s.RegistryBuffers, s.RegistryBytes = t.Bytes, t.SharedBlocks, t.Memory
}

// largestFree returns the size of the largest slot that is held and free. Free spans are
// not held: whoever takes them is charged for them anew.
func (s *Stats) largestFree() (largest uint64) {
	for class := range s.Classes {
		if k := &s.Classes[class]; k.Free != 0 && class != layout.ClassLarge {
			largest = max(largest, k.Size)
		}
	}
	return largest
}

// EachContext visits the contexts that were ever in use.
func EachContext(visit func(c *Context)) {
	process.slices.each(func(c *Context) {
		if c.Self != 0 {
			visit(c)
		}
	})
}

// TypeStats are the counters of one type.
type TypeStats struct {
	Type uint32
	Name string
	KindStats
}

// ReadTypes returns the types that programs have defined, by number.
func ReadTypes() []TypeStats {
	types := make([]TypeStats, process.types.count.Load())
	counted := types[:min(len(types), int(process.g.CountedTypes))]
	for n := len(counted); n < len(types); n++ {
		types[n].Frees = process.counters.typ(uint32(n)).gone.Load()
	}
	EachContext(func(c *Context) {
		for n := range counted {
			counted[n].Frees += layout.Peek(&c.typeCount(uint32(n)).Gone)
		}
	})
	EachContext(func(c *Context) {
		for n := range counted {
			counted[n].Allocations += layout.Peek(&c.typeCount(uint32(n)).Made)
		}
	})
	for n := range types {
		s, t := &types[n], process.types.at(uint32(n))
		if n >= len(counted) {
			s.Allocations = process.counters.typ(uint32(n)).made.Load()
		}
		s.Type, s.Name = uint32(n)+layout.TypeFirstUser, t.Name
		s.Bytes = s.Live() * slotBytes(t.Size)
	}
	return types
}

// SumTypes returns the sum over the types that programs have defined. It takes two loads for each
// type of each context and makes no garbage, so that a program with many types can ask often.
func SumTypes() (sum KindStats) {
	defined := process.types.count.Load()
	counted := min(defined, process.g.CountedTypes)
	sum.addRare(defined, func(t *typeCounters) (made, gone uint64) { return 0, t.gone.Load() })
	EachContext(func(c *Context) {
		for n := range counted {
			sum.addType(n, 0, layout.Peek(&c.typeCount(n).Gone))
		}
	})
	EachContext(func(c *Context) {
		for n := range counted {
			sum.addType(n, layout.Peek(&c.typeCount(n).Made), 0)
		}
	})
	sum.addRare(defined, func(t *typeCounters) (made, gone uint64) { return t.made.Load(), 0 })
	return sum
}

// addType adds slots of type number n, from 0. While it adds, Bytes may be below zero.
func (k *KindStats) addType(n uint32, made, gone uint64) {
	if made|gone != 0 {
		k.Allocations += made
		k.Frees += gone
		k.Bytes += (made - gone) * slotBytes(process.types.at(n).Size)
	}
}

// addRare adds the types beyond those that contexts count.
func (k *KindStats) addRare(defined uint32, read func(t *typeCounters) (made, gone uint64)) {
	process.counters.types.Range(func(n, t any) bool {
		if n := n.(uint32); n < defined {
			made, gone := read(t.(*typeCounters))
			k.addType(n, made, gone)
		}
		return true
	})
}

// slotBytes is what an object of n bytes occupies.
func slotBytes(n uintptr) uint64 {
	if class := layout.ClassOf(n); class != 0 {
		return uint64(process.g.Classes[class].Size)
	}
	return uint64(memory.Round(n, layout.SpanBytes))
}
