package object

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// The scope index finds the newest entry of a pointer among many. Entries above
// its mark, Indexed, are not in it; unregister brings it up to the newest entries
// first, so each entry is indexed at most once. A slot names the newest position of
// a pointer, links[position] the next older one:
//
//	chain(p) = the positions below Indexed whose entry is p, newest first
//
// Slots stand in buckets of four, a cache line each. A pointer is in its home bucket. If
// that was full, the pointer is in the next bucket that was not. Each bucket counts the
// pointers that passed it; a search ends at a bucket that nobody passed.
//
// In a large scope every access to an entry, a record or a bucket misses the cache. The
// processor overlaps the misses of consecutive calls only while it predicts all branches
// between them. This is why a search compares a whole bucket at once, why slots never
// move, and why a slot repeats the object of its entry: the fast path then reads no entry.
// The record of each slot stands in an array behind all slots, because a pointer may get
// another record, with generations of its own.
//
// The linear search covers at most the newest LinearEntries. When more entries than that
// are not indexed, all but the newest linearLeft are indexed at once, so that the next
// calls need no work.
const (
	LinearEntries = 32
	linearLeft    = 8
	firstIndex    = 1024 // slots
)

type indexSlot struct {
	pointer  uintptr // 0 = the slot is free
	position uint32  // older | passed 4, of a bucket's first slot | 1 + position 27
	gen      uint32  // of the newest entry
}

const (
	indexSlotBytes   = 16
	indexRecordBytes = 4
	bucketSlots      = 4

	positionMask = 1<<27 - 1
	passedOne    = 1 << 27
	passedMask   = 15 << 27 // at 15 for ever: an upper bound
	older        = 1 << 31  // there is a link
)

// newest returns the position that a slot in use names.
func (s *indexSlot) newest() uint64 { return uint64(s.position&positionMask) - 1 }

// setSlot names an entry in a slot, and keeps how many passed its bucket.
func (c *Context) setSlot(s *indexSlot, position uint32, e layout.Entry) {
	*s = indexSlot{e.Object, s.position&passedMask | position, e.Gen}
	i := uint64(layout.Address(s)-c.Index.Slots) / indexSlotBytes
	*layout.At[uint32](c.Index.Slots + uintptr((c.Index.Mask+1)*indexSlotBytes+i*indexRecordBytes)) = e.Record
}

func (c *Context) indexSlot(i uint64) *indexSlot {
	return layout.At[indexSlot](c.Index.Slots + uintptr(i)*indexSlotBytes)
}

// homeBucket returns the first slot of p's bucket. Neighbours in memory are neighbours
// in the index, for they are often used one after the other: 1024 bytes share 8 buckets,
// which Fibonacci hashing (Knuth 1973) spreads.
func (c *Context) homeBucket(p uintptr) uint64 {
	h := uint64(p>>10) * layout.HashFactor
	return (h>>32&^31 | (uint64(p>>5)^h>>59)&31) & c.Index.Mask &^ (bucketSlots - 1)
}

// probe returns the slot of p, nil when it has none.
func (c *Context) probe(p uintptr) *indexSlot {
	for b := c.homeBucket(p); ; b = (b + bucketSlots) & c.Index.Mask {
		for i := range uint64(bucketSlots) {
			if s := c.indexSlot(b + i); s.pointer == p {
				return s
			}
		}
		if c.indexSlot(b).position&passedMask == 0 {
			return nil
		}
	}
}

// newSlot returns a free slot for p, which has none.
func (c *Context) newSlot(p uintptr) *indexSlot {
	for b := c.homeBucket(p); ; b = (b + bucketSlots) & c.Index.Mask {
		for i := range uint64(bucketSlots) {
			if s := c.indexSlot(b + i); s.pointer == 0 {
				return s
			}
		}
		if first := c.indexSlot(b); first.position&passedMask != passedMask {
			first.position += passedOne
		}
	}
}

// removeSlot frees the slot of p: it passes no bucket any more.
func (c *Context) removeSlot(s *indexSlot, p uintptr) {
	own := uint64(layout.Address(s)-c.Index.Slots) / indexSlotBytes &^ (bucketSlots - 1)
	for b := c.homeBucket(p); b != own; b = (b + bucketSlots) & c.Index.Mask {
		if first := c.indexSlot(b); first.position&passedMask != passedMask {
			first.position -= passedOne
		}
	}
	c.setSlot(s, 0, layout.Entry{})
}

func (c *Context) link(position uint64) *uint32 {
	return layout.At[uint32](c.Index.Older + uintptr(position)*4)
}

// indexTo brings the index up to position end; false when there is no memory for it,
// or positions are too large for it.
func (c *Context) indexTo(end uint64) bool {
	if end >= positionMask {
		return false
	}
	if c.Index.Slots == 0 || 2*end > c.Index.Mask+1 {
		if !c.growIndex(max(firstIndex, uint64(1)<<bits.Len64(2*end-1))) {
			return false
		}
	}
	for ; c.Index.Below < end; c.Index.Below++ {
		if c.entry(c.Index.Below).Object != 0 {
			c.enterIndex(c.Index.Below)
		}
	}
	return true
}

// enterIndex enters an entry; false: there is a newer one for its address.
func (c *Context) enterIndex(at uint64) bool {
	e, position := *c.entry(at), uint32(at)+1
	s := c.probe(e.Object)
	switch {
	case s == nil:
		c.setSlot(c.newSlot(e.Object), position, e)
	case s.newest() > at:
		return false
	default:
		*c.link(at) = s.position &^ passedMask
		c.setSlot(s, position|older, e)
	}
	return true
}

func indexBytes(slots uint64) uintptr { return uintptr(slots * (indexSlotBytes + indexRecordBytes)) }

func (c *Context) growIndex(slots uint64) bool {
	take, bytes := memory.Map, indexBytes(slots)
	if bytes >= memory.HugePageBytes {
		take = memory.MapHuge // a miss of the cache here would be one of the page tables too
	}
	index, err := take(bytes, "scope index")
	if err != nil {
		return false
	}
	indexed := c.Index.Below
	c.dropIndex()
	c.Index.Slots, c.Index.Mask = index, slots-1
	return indexed == 0 || c.indexTo(indexed)
}

// dropIndex forgets the index and its memory.
func (c *Context) dropIndex() {
	if c.Index.Slots != 0 {
		memory.Unmap(c.Index.Slots, indexBytes(c.Index.Mask+1), "scope index")
	}
	c.Index.Slots, c.Index.Mask, c.Index.Below = 0, 0, 0
}

// unindex takes the position of pointer p, the newest one in its chain, out of
// the index: its entry leaves the stack, is taken out by hand or gets another object. False: it is not the newest.
func (c *Context) unindex(p uintptr, position uint64) bool {
	s := c.probe(p)
	if s == nil || s.newest() != position {
		return false
	}
	if s.position&older == 0 {
		c.removeSlot(s, p)
		return true
	}
	next := *c.link(position)
	c.setSlot(s, next, *c.entry(uint64(next&positionMask) - 1))
	return true
}

// popped follows the scope stack down: e has just left its top.
func (c *Context) popped(e layout.Entry) {
	c.Index.Below = c.entryCount()
	switch {
	case c.Index.Below == 0 && c.Index.Mask >= 1<<16:
		c.dropIndex()
	case e.Object != 0:
		c.unindex(e.Object, c.Index.Below)
	}
}

// linearFrom returns where the linear search ends: what is below is indexed, another
// function's, or too far down.
func (c *Context) linearFrom(floor uint64) uint64 {
	n := c.entryCount()
	return max(floor, min(c.Index.Below, n), n-min(n, LinearEntries))
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
	if c.Index.Below < low && !c.indexTo(n-linearLeft) {
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

// inIndex returns 1 + the newest position of p, and older if there is a link; 0: it is not in the index.
func (c *Context) inIndex(p uintptr) uint32 {
	if s := c.probe(p); s != nil {
		return s.position &^ passedMask
	}
	return 0
}

// findIndexed looks p up; the head of its chain is the newest entry.
func (c *Context) findIndexed(p uintptr, floor uint64) (uint64, bool) {
	s := c.probe(p)
	if s == nil {
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
	if at < c.Index.Below {
		c.unindex(c.entry(at).Object, at)
	}
	*c.entry(at) = layout.Entry{Record: layout.Foreign}
	c.Holes++
	floor := uint64(0)
	if n := c.OpenMarks(); n > 0 {
		floor = c.entriesBelow(c.OpenMark(n - 1))
	}
	for c.entryCount() > floor && c.entry(c.entryCount()-1).Object == 0 {
		c.Top -= layout.EntryBytes
		c.Holes--
		c.Index.Below = min(c.Index.Below, c.entryCount())
	}
	if c.Holes > compactHoles && 4*c.Holes > 3*c.entryCount() {
		c.compact()
	}
}

// A full stack is compacted when a sixteenth of it are holes: with fewer, closing
// them for each entry would cost more than an entry may.
const fullHoles = 16

// hasRoomFor is HasRoom for a call about p.
func (c *Context) hasRoomFor(p uintptr) bool {
	if c.Top == c.End && fullHoles*c.Holes >= c.entryCount() {
		c.compact()
	}
	if c.Top == c.End {
		c.Fail(status.ArenaExhausted, textScopeFull, p, uint64(c.End-c.Entries)/layout.EntryBytes)
		return false
	}
	return true
}

// compact closes the holes of the scope stack, so that a long scope which
// registers and unregisters for ever stays small. The index starts over, and the emptied pages go back.
func (c *Context) compact() {
	c.dropIndex()
	kept, mark := uint64(0), uint64(0)
	floor := c.Floor
	for i := range c.entryCount() {
		for ; mark < c.OpenMarks() && c.entriesBelow(c.OpenMark(mark)) <= i; mark++ {
			c.OpenMark(mark).Top = c.Entries + uintptr(kept)*layout.EntryBytes
		}
		if i == floor {
			c.Floor = kept
		}
		if e := *c.entry(i); e.Object != 0 {
			*c.entry(kept) = e
			kept++
		}
	}
	for ; mark < c.OpenMarks(); mark++ {
		c.OpenMark(mark).Top = c.Entries + uintptr(kept)*layout.EntryBytes
	}
	if floor >= c.entryCount() {
		c.Floor = kept
	}
	c.Top = c.Entries + uintptr(kept*layout.EntryBytes)
	c.Holes = 0
	c.trimStacks()
}
