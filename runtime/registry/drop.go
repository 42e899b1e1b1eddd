package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Release drops a counted reference, or a floating one when no other is left.
func (t *Table) Release(p uintptr) (Ended, Result) { return t.drop(p, dropRelease, 0) }

// ReleaseEntry is Release for a scope's entry: Stale when it meant an earlier block at p.
func (t *Table) ReleaseEntry(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, dropEntry, gen) }

// Float is unregister: the reference of a scope's entry floats. The block is
// handed back to the host when no other reference is held.
func (t *Table) Float(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, dropFloat, gen) }

// DecRef is Release, but a block that comes to Zero stays, dead and owning nothing, until it
// is forgotten or registered again.
func (t *Table) DecRef(p uintptr) Result {
	_, r := t.drop(p, dropDecRef, 0)
	return r
}

// Forget removes an entry of which no counted reference is left: Gone, else Refused.
func (t *Table) Forget(p uintptr) (Ended, Result) { return t.drop(p, dropForget, 0) }

// End takes out a block of that generation with all its references: Gone, or Stale when it is none
// any more.
func (t *Table) End(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, dropEnd, gen) }

// way to lose a reference
type way int

const (
	dropRelease way = iota
	dropEntry
	dropFloat
	dropDecRef
	dropForget
	dropEnd
	dropDead
)

// effect is what a drop does to an entry; nothing unless result is OK, Gone or Zero.
type effect struct {
	result        Result
	count, floats uint32
	handBack      bool
	dies          bool // Gone, and the entry stays until the references of the block are released
}

func effectOf(e *layout.ForeignEntry, w way, gen uint32) effect {
	f := effect{result: OK, count: e.Count, floats: floats(e)}
	held := f.count > f.floats
	switch {
	case (w == dropEntry || w == dropFloat || w == dropEnd) && (e.Gen != gen || f.count == 0):
		f.result = Stale
	case w == dropEnd, w == dropDead:
		f.result = Gone
	case w == dropForget && held:
		f.result = Refused
	case w == dropForget:
		f.result = Gone
	case f.count == 0:
		f.result = Stale
	case f.count == layout.ForeignSticky:
		return f
	case w == dropFloat && f.floats == f.count: // every reference floats already
	case w == dropFloat && f.floats == layout.MaxFloats:
		f.result = Overflow
	case w == dropFloat:
		f.floats++
	default:
		f.count--
		f.floats = min(f.floats, f.count) // counted references go before floats
		if f.count == 0 {
			f.result = Gone
			if w == dropDecRef {
				f.result = Zero
			}
		}
	}
	f.handBack = f.result == OK && f.count == f.floats && e.Block&layout.ForeignAdopted != 0
	return f
}

// effectAt is effectOf, where a block with a type dies before it is gone.
func (t *Table) effectAt(e *layout.ForeignEntry, w way, gen uint32) effect {
	f := effectOf(e, w, gen)
	if f.result != Gone || e.Link == 0 || isAlias(e) {
		return f
	}
	switch b := t.record(e.Link); {
	case isTyped(b):
		f.dies = e.Count != 0 // held at zero: what it refers to is its holder's
	case isDying(b) && w != dropDead:
		f.result = Stale
	}
	return f
}

// endsCover tells whether the block stops owning its granules.
func (f effect) endsCover(e *layout.ForeignEntry) bool {
	return (f.handBack || f.result == Gone && !f.dies || f.result == Zero && e.Link == 0) && isCovered(e)
}

// drop drops a reference. Whether the block stops owning granules is known only under the
// lock of its start, and then the locks of all its units are needed: they are taken again
// until they are the right ones. A block whose references are being read ends after that.
func (t *Table) drop(p uintptr, w way, gen uint32) (Ended, Result) {
	if !possible(p) {
		return Ended{}, unknown(w)
	}
	var b extent
	for turn, bytes := 0, uintptr(0); ; {
		b.cut(t, p, bytes)
		b.lock(t)
		x := t.lookUp(p)
		if x.entry == nil {
			b.unlock(t)
			return Ended{}, unknown(w)
		}
		f := t.effectAt(x.entry, w, gen)
		if (f.result == Gone || f.result == Zero) && t.isRead(x.entry) {
			b.unlock(t)
			layout.Wait(turn)
			turn++
			continue
		}
		ends := f.endsCover(x.entry)
		if ends && bytesOf(x.entry) != bytes {
			bytes = bytesOf(x.entry)
			b.unlock(t)
			continue
		}
		ended, last := t.apply(x, f)
		x.vacate()
		if ends {
			b.uncover(t)
		}
		b.unlock(t)
		if last != 0 {
			ended = t.end(last)
		}
		return ended, f.result
	}
}

// unknown is the result where nothing is. A scope need not know why its entry is stale.
func unknown(w way) Result {
	if w == dropEntry {
		return Stale
	}
	return Miss
}

// apply carries an effect out on everything but covers. An entry that is gone is erased. last is
// the record of a shared block whose last alias that was; the caller ends it.
func (t *Table) apply(x lookup, f effect) (ended Ended, last uint32) {
	s, e := x.shard, x.entry
	back := e.Block&layout.ForeignHandedBack != 0
	switch {
	case f.result == Gone && isAlias(e):
		link := e.Link
		t.countAtAlias(e, 1-int64(e.Count))
		x.drop()
		if t.dropName(link) {
			last = link
		}
		return ended, last
	case f.result == Gone:
		ended = x.ended(back)
		if e.Link != 0 && t.endLinked(e, f, &ended) {
			s.Zeros++
			e.Count = 0
			e.TypeFloats &= layout.TypeMask
			return ended, 0
		}
		x.drop()
		return ended, 0
	case f.result == Zero:
		if back {
			s.HandedBack--
		} else if e.Link == 0 {
			s.Bytes -= uint64(bytesOf(e))
		}
		s.Zeros++
		e.Block &^= layout.ForeignHandedBack
	case f.result != OK:
		return ended, 0
	case f.handBack && !back:
		s.HandedBack++
		s.Bytes -= uint64(bytesOf(e))
		e.Block |= layout.ForeignHandedBack
		ended = x.ended(true)
	}
	t.countAtAlias(e, int64(f.count)-int64(e.Count))
	e.Count = f.count
	e.TypeFloats = e.TypeFloats&layout.TypeMask | f.floats*layout.ForeignFloat
	return ended, 0
}

// endLinked does with the record of a block that is gone what has to be done; true: the entry stays.
func (t *Table) endLinked(e *layout.ForeignEntry, f effect, ended *Ended) (stays bool) {
	switch b := t.record(e.Link); {
	case f.dies:
		atomic.StoreUint32(&b.State, layout.BlockPending)
		ended.Record = e.Link
		return true
	case isTyped(b), isDying(b):
		t.give(&t.shards[t.shardOf(ended.Pointer)], e.Link)
	default:
		t.endCustom(e.Link, ended)
	}
	return false
}

// endCustom has the record of a block that is gone wait for the call of its deleter.
func (t *Table) endCustom(number uint32, ended *Ended) {
	b := t.record(number)
	ended.Deleter, ended.Ctx, ended.Record = b.Deleter, b.Ctx, number
	atomic.StoreUint64(&b.Real, uint64(ended.Pointer))
	atomic.StoreUint64(&b.Block, uint64(ended.Kind)<<layout.ForeignKindShift|uint64(ended.Bytes))
	atomic.StoreUint32(&b.State, layout.BlockPending)
}

func (x *lookup) ended(returned bool) Ended {
	kind := uint8(x.entry.Block >> layout.ForeignKindShift)
	return Ended{Pointer: x.at.pointer(), Bytes: bytesOf(x.entry), Kind: kind, Returned: returned}
}

// drop erases an entry and what is counted of it, covers excepted.
func (x *lookup) drop() {
	x.uncount()
	x.shard.Entries--
	erase(x.shard, x.unit, x.at.bit)
}

// uncount takes an entry that goes, or becomes another, out of its shard's sums.
func (x *lookup) uncount() {
	s, e := x.shard, x.entry
	if isCovered(e) {
		s.Bytes -= uint64(bytesOf(e))
	}
	switch {
	case e.Count == 0:
		s.Zeros--
	case !live(e):
		s.HandedBack--
	}
}
