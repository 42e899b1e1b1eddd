package registry

import "tlruntime/runtime/layout"

// Ended is a block without references, which the caller frees. It is zero when there is
// nothing to free, because what went was one alias of several. With OK it is a block that was
// handed back to the host, or zero.
type Ended struct {
	Pointer, Bytes uintptr
	Kind           uint8
	Deleter, Ctx   uintptr // of layout.ForeignCustom: what to call, and with what
	Returned       bool    // it was handed back to the host
	Record         uint32  // not 0: PENDING, for a list of calls that wait; Settle gives it back
}

func floats(e *layout.ForeignEntry) uint32 { return e.TypeFloats >> 24 }

func bytesOf(e *layout.ForeignEntry) uintptr { return uintptr(e.Block & layout.ForeignBytes) }

// live tells whether the block is held and was not handed back to the host.
func live(e *layout.ForeignEntry) bool { return e.Count != 0 && e.Block&layout.ForeignHandedBack == 0 }

// isCovered tells whether the entry's block owns granules. One with a deleter does so even at zero:
// nobody may take its memory for malloc's before the deleter has freed it.
func isCovered(e *layout.ForeignEntry) bool { return bytesOf(e) != 0 && (live(e) || e.Link != 0) }

// revivable tells whether a dead entry may stand for another block of malloc's by now. It may
// where free() takes the memory.
func revivable(e *layout.ForeignEntry) bool {
	kind := uint8(e.Block >> layout.ForeignKindShift)
	return e.Link == 0 && (kind == layout.ForeignMalloc || kind == layout.ForeignAligned)
}

func nextGen(s *layout.Shard) uint32 {
	if s.Gen++; s.Gen == 0 {
		s.Gen = 1
	}
	return s.Gen
}

// Adopt registers a block of malloc's for a scope: count 1, not floating. A block that was
// handed back or is held at zero comes back to life. One that another thread has registered
// in the meantime gets one more reference.
func (t *Table) Adopt(p, usable uintptr) (gen uint32, r Result) {
	if usable == 0 {
		return 0, Refused
	}
	e, r := t.enter(p, usable, layout.ForeignMalloc<<layout.ForeignKindShift|layout.ForeignAdopted, 0, nil)
	if r == Present {
		return t.Register(p) // Miss if it is gone again: two threads use one block without a reference
	}
	return e.Gen, r
}

// Entered is what a registration has made, so that it can be taken back.
type Entered struct {
	Gen uint32
	was layout.ForeignEntry // the dead entry that it has replaced; generation 0 = none
}

// Insert registers a block for another owner than a scope: count 1, held by the owner; 24
// bits of type. Present when p is live. An address that is no multiple of 16 is not refused
// inside another block.
func (t *Table) Insert(p, bytes uintptr, kind uint8, typ uint32) (e Entered, r Result) {
	return t.enter(p, bytes, uint64(kind)<<layout.ForeignKindShift, typ, nil)
}

// enter registers any block; custom has its deleter, nil = none.
func (t *Table) enter(p, bytes uintptr, block uint64, typ uint32, custom *Block) (entered Entered, r Result) {
	if !possible(p) || bytes > layout.ForeignBytes {
		return Entered{}, Refused
	}
	var b extent
	b.cut(t, p, bytes)
	for {
		above := t.insideAbove(p, bytes)
		b.lock(t)
		entered, r = t.enterLocked(&b, p, above, block|uint64(bytes), typ, custom)
		b.unlock(t)
		if r != slow {
			return entered, r
		}
		if !t.makeRoom(p, bytes) || custom != nil && !t.reserveRecord(&t.shards[t.shardOf(p)]) {
			return Entered{}, NoMemory
		}
	}
}

func (t *Table) enterLocked(b *extent, p uintptr, above bool, block uint64, typ uint32,
	custom *Block) (made Entered, r Result) {
	x := t.lookUp(p)
	e := x.entry
	adopting := block&layout.ForeignAdopted != 0
	switch {
	case e != nil && (live(e) || e.Link != 0):
		return made, Present
	case e != nil && adopting && !revivable(e):
		return made, Stale
	case above || b.n > 0 && x.covered() || !b.free(t):
		return made, Refused
	case !b.fits(t), custom != nil && x.shard.FreeRecord == 0:
		return made, slow
	case e == nil:
		if e = x.create(block, 0); e == nil {
			return made, slow
		}
	case adopting:
		revive(x.shard, e, block)
	default:
		made.was = replace(x.shard, e, block, 0)
	}
	if !adopting {
		e.TypeFloats = typ
	}
	if custom != nil {
		e.Link = t.take(x.shard, *custom, custom.state())
	}
	made.Gen = e.Gen
	b.cover(t) // moves units, and the entries in them
	return made, OK
}

// create makes the entry of a start that has none: count 1. It returns nil and changes
// nothing when the shard has no memory; the table has room for a cell.
func (x *lookup) create(block uint64, link uint32) *layout.ForeignEntry {
	if x.unit == nil {
		if x.unit = open(x.shard, x.at); x.unit == nil {
			return nil
		}
	}
	e := insert(x.shard, x.unit, x.at.bit)
	if e == nil { // the unit had entries: one that was opened here has room for its first
		return nil
	}
	*e = layout.ForeignEntry{Count: 1, Gen: nextGen(x.shard), Block: block, Link: link}
	x.shard.Entries++
	x.shard.Bytes += block & layout.ForeignBytes
	return e
}

// revive brings an entry back that was handed back (its float sinks) or held at zero (count
// 1); the caller covers it. Without a counted reference it may be another block at the same
// address, so it gets a new generation.
func revive(s *layout.Shard, e *layout.ForeignEntry, block uint64) {
	if floats(e) == e.Count {
		e.Gen = nextGen(s)
	}
	if e.Count == 0 {
		s.Zeros--
		e.Count = 1
		e.TypeFloats = 0
	} else {
		s.HandedBack--
		e.TypeFloats -= layout.ForeignFloat
	}
	s.Bytes += block & layout.ForeignBytes
	e.Block = block
}

// replace gives a dead entry to another owner's block: count 1. References that float were
// to the block that was handed back. It returns the dead entry, for takeBack.
func replace(s *layout.Shard, e *layout.ForeignEntry, block uint64, link uint32) (was layout.ForeignEntry) {
	was = *e
	if e.Count == 0 {
		s.Zeros--
	} else {
		s.HandedBack--
	}
	*e = layout.ForeignEntry{Count: 1, Gen: nextGen(s), Block: block, Link: link}
	s.Bytes += block & layout.ForeignBytes
	return was
}

// takeBack erases an entry, and puts back the dead one that it had replaced; covers excepted.
func (x *lookup) takeBack(was layout.ForeignEntry) {
	if was.Gen == 0 {
		x.drop()
		x.vacate()
		return
	}
	x.uncount()
	*x.entry = was
	if was.Count == 0 {
		x.shard.Zeros++
	} else {
		x.shard.HandedBack++
	}
}

// Register takes a reference for a scope: a floating one if there is one, else a new one.
func (t *Table) Register(p uintptr) (gen uint32, r Result) {
	x, found := t.lockEntry(p)
	if !found {
		return 0, Miss
	}
	defer unlock(x.shard)
	switch e := x.entry; {
	case !live(e) && !revivable(e):
		return 0, Stale
	case !live(e):
		return 0, Returned
	case floats(e) != 0:
		e.TypeFloats -= layout.ForeignFloat
	default:
		t.countOne(e)
	}
	return x.entry.Gen, OK
}

// Acquire counts one more reference.
func (t *Table) Acquire(p uintptr) Result {
	x, found := t.lockEntry(p)
	if !found {
		return Miss
	}
	defer unlock(x.shard)
	if x.entry.Count == 0 {
		return Stale
	}
	t.countOne(x.entry)
	return OK
}

// countOne counts one more reference.
func (t *Table) countOne(e *layout.ForeignEntry) {
	if e.Count != layout.ForeignSticky {
		e.Count++
		t.countAtAlias(e, 1)
	}
}

// Immortal freezes the count.
func (t *Table) Immortal(p uintptr) Result {
	x, found := t.lockEntry(p)
	if !found {
		return Miss
	}
	defer unlock(x.shard)
	if !live(x.entry) {
		return Stale
	}
	t.countAtAlias(x.entry, layout.ForeignSticky-int64(x.entry.Count))
	x.entry.Count = layout.ForeignSticky
	return OK
}

// Count returns the references to p; -1 when p is unknown, 0 when it is held at
// zero, 2^32 - 1 when the count is frozen.
func (t *Table) Count(p uintptr) int64 {
	x, found := t.lockEntry(p)
	if !found {
		return -1
	}
	defer unlock(x.shard)
	return int64(x.entry.Count)
}
