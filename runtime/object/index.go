package object

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// The scope index finds the newest entry of a pointer among many. Entries above
// its mark, Indexed, are not in it; unregister brings it up to the newest entries
// first, so each entry is indexed at most once. A hash slot names the newest
// position of a pointer, links[position] the next older one:
//
//	chain(p) = the positions below Indexed whose entry is p, newest first
//
// A slot repeats what its entry says, so that the fast door need not wait for the entry:
// in a large scope each look at one is a miss of the cache. The linear search covers at most
// the newest LinearEntries; when it cannot cover all that are not indexed, all but the
// newest linearLeft are, so that the next ones need no work for a while.
const (
	LinearEntries = 32
	linearLeft    = 8
	firstIndex    = 1024
)

type indexSlot struct {
	pointer  uintptr
	position uint32 // 1 + position, with older when there is a link; 0 = the slot is free
	gen      uint32 // of the newest entry
}

const (
	indexSlotBytes = 16
	older          = 1 << 31
)

// newest returns the position that a slot in use names.
func (s *indexSlot) newest() uint64 { return uint64(s.position&^older) - 1 }

func (c *Context) indexSlot(i uint64) *indexSlot {
	return layout.At[indexSlot](c.Index + uintptr(i)*indexSlotBytes)
}

// hashPointer keeps neighbours in memory neighbours in the index, for they are often
// used one after the other: 1024 bytes share 32 slots, which Fibonacci hashing (Knuth
// 1973) spreads.
func hashPointer(p uintptr) uint64 {
	return uint64(p>>10)*0x9E3779B97F4A7C15>>32&^31 | uint64(p>>5)&31
}

// probe returns the slot of p and true, or the free one where it would go.
func (c *Context) probe(p uintptr) (*indexSlot, bool) {
	for i := hashPointer(p) & c.IndexMask; ; i = (i + 1) & c.IndexMask {
		if s := c.indexSlot(i); s.position == 0 || s.pointer == p {
			return s, s.position != 0
		}
	}
}

func (c *Context) link(position uint64) *uint32 {
	return layout.At[uint32](c.IndexPrev + uintptr(position)*4)
}

// indexTo brings the index up to position end; false when there is no memory for it.
func (c *Context) indexTo(end uint64) bool {
	if c.Index == 0 || 2*end > c.IndexMask+1 {
		if !c.growIndex(max(firstIndex, uint64(1)<<bits.Len64(2*end-1))) {
			return false
		}
	}
	for ; c.Indexed < end; c.Indexed++ {
		e := c.entry(c.Indexed)
		if e.Object == 0 {
			continue
		}
		s, found := c.probe(e.Object)
		*c.link(c.Indexed) = s.position
		*s = indexSlot{e.Object, uint32(c.Indexed) + 1, e.Gen}
		if found {
			s.position |= older
		}
	}
	return true
}

func (c *Context) growIndex(slots uint64) bool {
	index, err := memory.Map(uintptr(slots*indexSlotBytes), "scope index")
	if err != nil {
		return false
	}
	memory.PreferHugePages(index, uintptr(slots*indexSlotBytes))
	indexed := c.Indexed
	c.dropIndex()
	c.Index, c.IndexMask = index, slots-1
	return indexed == 0 || c.indexTo(indexed)
}

// dropIndex forgets the index and its memory.
func (c *Context) dropIndex() {
	if c.Index != 0 {
		memory.Unmap(c.Index, uintptr((c.IndexMask+1)*indexSlotBytes), "scope index")
	}
	c.Index, c.IndexMask, c.Indexed = 0, 0, 0
}

// unindex takes the position of pointer p, the newest one in its chain, out of
// the index: its entry leaves the stack or is taken out by hand.
func (c *Context) unindex(p uintptr, position uint64) {
	s, found := c.probe(p)
	if !found || s.newest() != position {
		return
	}
	if s.position&older != 0 {
		s.position = *c.link(position)
		s.gen = c.entry(s.newest()).Gen
		return
	}
	c.removeSlot(s)
}

// popped follows the scope stack down: e has just left its top.
func (c *Context) popped(e layout.Entry) {
	c.Indexed = c.entryCount()
	switch {
	case c.Indexed == 0 && c.IndexMask >= 1<<16:
		c.dropIndex()
	case e.Object != 0:
		c.unindex(e.Object, c.Indexed)
	}
}

// removeSlot deletes by shifting later slots back, so that probes stay short.
func (c *Context) removeSlot(s *indexSlot) {
	hole := uint64(layout.Address(s)-c.Index) / indexSlotBytes
	for i := (hole + 1) & c.IndexMask; ; i = (i + 1) & c.IndexMask {
		next := c.indexSlot(i)
		if next.position == 0 {
			break
		}
		home := hashPointer(next.pointer) & c.IndexMask
		if (i-home)&c.IndexMask >= (i-hole)&c.IndexMask {
			*c.indexSlot(hole) = *next
			hole = i
		}
	}
	*c.indexSlot(hole) = indexSlot{}
}

// linearFrom returns where the linear search ends: what is below is indexed, another
// function's, or too far down.
func (c *Context) linearFrom(floor uint64) uint64 {
	n := c.entryCount()
	return max(floor, min(c.Indexed, n), n-min(n, LinearEntries))
}

// find returns the position of the newest entry of p at or above floor.
func (c *Context) find(p uintptr, floor uint64) (uint64, bool) {
	n := c.entryCount()
	low := c.linearFrom(floor)
	for i := n; i > low; i-- {
		if c.entry(i-1).Object == p {
			return i - 1, true
		}
	}
	if low == floor {
		return 0, false
	}
	if c.Indexed < low && !c.indexTo(n-linearLeft) {
		return c.findLinear(p, floor, low)
	}
	return c.findIndexed(p, floor)
}

// findLinear is the search without an index, when there is no memory for one.
func (c *Context) findLinear(p uintptr, floor, end uint64) (uint64, bool) {
	for i := end; i > floor; i-- {
		if c.entry(i-1).Object == p {
			return i - 1, true
		}
	}
	return 0, false
}

// findIndexed looks p up; the head of its chain is the newest entry.
func (c *Context) findIndexed(p uintptr, floor uint64) (uint64, bool) {
	s, found := c.probe(p)
	if !found {
		return 0, false
	}
	return s.newest(), s.newest() >= floor
}

// Holes are closed when there are many and they are three of four entries: what
// closing costs is a third of what made them, at most.
const compactHoles = 4096

// takeOut removes the entry at a position: from the top for good, elsewhere by
// leaving a hole that the scope's exit passes over.
func (c *Context) takeOut(at uint64) {
	if at < c.Indexed {
		c.unindex(c.entry(at).Object, at)
	}
	*c.entry(at) = layout.Entry{Record: layout.Foreign}
	c.Holes++
	floor := uint64(0)
	if n := c.marks(); n > 0 {
		floor = c.mark(n - 1).Entries
	}
	for c.entryCount() > floor && c.entry(c.entryCount()-1).Object == 0 {
		c.Top -= layout.EntryBytes
		c.Holes--
		c.Indexed = min(c.Indexed, c.entryCount())
	}
	if c.Holes > compactHoles && 4*c.Holes > 3*c.entryCount() {
		c.compact()
	}
}

// compact closes the holes of the scope stack, so that a long scope which
// registers and unregisters for ever stays small. The index starts over.
func (c *Context) compact() {
	c.dropIndex()
	kept, mark := uint64(0), uint64(0)
	floor := c.Floor
	for i := range c.entryCount() {
		for ; mark < c.marks() && c.mark(mark).Entries <= i; mark++ {
			c.mark(mark).Entries = kept
		}
		if i == floor {
			c.Floor = kept
		}
		if e := *c.entry(i); e.Object != 0 {
			*c.entry(kept) = e
			kept++
		}
	}
	for ; mark < c.marks(); mark++ {
		c.mark(mark).Entries = kept
	}
	if floor >= c.entryCount() {
		c.Floor = kept
	}
	c.Top = c.Entries + uintptr(kept*layout.EntryBytes)
	c.Holes = 0
}
