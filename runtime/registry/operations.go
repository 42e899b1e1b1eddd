package registry

import (
	core "tlruntime/cshim/registry"
	"tlruntime/runtime/layout"
)

// Ended is a block without references, which the caller frees.
type Ended = core.Ended

func floats(e *layout.ForeignEntry) uint32 { return e.TypeFloats >> 24 }

func bytesOf(e *layout.ForeignEntry) uintptr { return uintptr(e.Block & layout.ForeignBytes) }

// live tells whether the block is held and was not handed back to the host.
func live(e *layout.ForeignEntry) bool { return e.Count != 0 && e.Block&layout.ForeignHandedBack == 0 }

// Adopt registers a block of malloc's for a scope: count 1, not floating. A block that was
// handed back or is held at zero comes back to life. One that another thread has registered
// in the meantime gets one more reference.
func (t *Table) Adopt(p, usable uintptr) (gen uint32, r Result) {
	r = t.grown(p, usable, false, func() (r core.Result) { gen, r = core.Adopt(p, usable); return r })
	return gen, r
}

// grown does an operation, and again after it has made the room that was missing.
func (t *Table) grown(p, bytes uintptr, record bool, operation func() core.Result) Result {
	for {
		r := Result(operation())
		if r != slow {
			return r
		}
		if !t.makeRoom(p, bytes) || record && !t.reserveRecord(t.shard(p)) {
			return NoMemory
		}
	}
}

// Entered is what a registration has made, so that it can be taken back.
type Entered struct {
	Gen uint32
	was layout.ForeignEntry // the dead entry that it has replaced; generation 0 = none
}

// Insert registers a block for another owner than a scope: count 1, held by the owner; 24
// bits of type. Present when p is live.
func (t *Table) Insert(p, bytes uintptr, kind uint8, typ uint32) (e Entered, r Result) {
	return t.insert(p, bytes, kind, core.Owner{Deleter: uintptr(typ)})
}

// insert registers any block.
func (t *Table) insert(p, bytes uintptr, kind uint8, owner core.Owner) (e Entered, r Result) {
	r = t.grown(p, bytes, owner.State != layout.BlockFree, func() (r core.Result) {
		e.Gen, e.was, r = core.Insert(p, bytes, kind, owner)
		return r
	})
	return e, r
}

// Retract takes what Insert has entered back, whatever it counts, and frees
// nothing: the registration of several blocks failed at a later one.
func (t *Table) Retract(p uintptr, made Entered) { core.Retract(p, made.Gen, made.was) }

// Register takes a reference for a scope: a floating one if there is one, else a new one.
func (t *Table) Register(p uintptr) (gen uint32, r Result) {
	gen, result := core.Register(p)
	return gen, Result(result)
}

// Acquire counts one more reference.
func (t *Table) Acquire(p uintptr) Result { return Result(core.Acquire(p)) }

// Immortal freezes the count.
func (t *Table) Immortal(p uintptr) Result { return Result(core.Immortal(p)) }

// Count returns the references to p; -1 when p is unknown, 0 when it is held at
// zero, 2^32 - 1 when the count is frozen.
func (t *Table) Count(p uintptr) int64 { return core.Count(p) }

// Covered tells whether p is inside a registered block, its start included.
func (t *Table) Covered(p uintptr) bool { return core.Covered(p) }

// Release drops a counted reference, or a floating one when no other is left.
func (t *Table) Release(p uintptr) (Ended, Result) { return t.drop(p, core.Release, 0) }

// ReleaseEntry is Release for a scope's entry: Stale when it meant an earlier block at p.
func (t *Table) ReleaseEntry(p uintptr, gen uint32) (Ended, Result) {
	return t.drop(p, core.Entry, gen)
}

// Float is unregister: the reference of a scope's entry floats. The block is
// handed back to the host when no other reference is held.
func (t *Table) Float(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, core.Float, gen) }

// DecRef is Release, but a block that comes to Zero stays, dead and owning nothing, until it
// is forgotten or registered again.
func (t *Table) DecRef(p uintptr) Result {
	_, r := t.drop(p, core.DecRef, 0)
	return r
}

// Forget removes an entry of which no counted reference is left: Gone, else Refused or Miss.
func (t *Table) Forget(p uintptr) (Ended, Result) { return t.drop(p, core.Forget, 0) }

// FreeAligned forgets a block of aligned memory that is held at zero: Gone, else Refused or Miss.
func (t *Table) FreeAligned(p uintptr) (Ended, Result) { return t.drop(p, core.Aligned, 0) }

// End takes out a block of that generation with all its references: Gone, or Stale when it is none
// any more.
func (t *Table) End(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, core.End, gen) }

// drop drops a reference. A block whose references are being read ends after that.
func (t *Table) drop(p uintptr, way int, gen uint32) (Ended, Result) {
	for turn := 0; ; turn++ {
		ended, r := core.Drop(p, way, gen)
		if Result(r) != slow {
			return ended, Result(r)
		}
		layout.Wait(turn)
	}
}
