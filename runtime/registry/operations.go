package registry

/*
#cgo CFLAGS: -std=gnu11
#cgo noescape tlc_registry_lock_entry
#cgo nocallback tlc_registry_lock_entry
#cgo noescape tlc_registry_register
#cgo nocallback tlc_registry_register
#cgo noescape tlc_registry_adopt
#cgo nocallback tlc_registry_adopt
#cgo noescape tlc_registry_insert
#cgo nocallback tlc_registry_insert
#cgo noescape tlc_registry_drop
#cgo nocallback tlc_registry_drop
#cgo noescape tlc_registry_retract
#cgo nocallback tlc_registry_retract
#cgo noescape tlc_registry_own
#cgo nocallback tlc_registry_own
#cgo noescape tlc_add_alias
#cgo nocallback tlc_add_alias
#cgo noescape tlc_registry_owned
#cgo nocallback tlc_registry_owned
#cgo noescape tlc_registry_settle
#cgo nocallback tlc_registry_settle
#cgo noescape tlc_registry_remove_alias
#cgo nocallback tlc_registry_remove_alias
#cgo noescape tlc_registry_wait
#cgo nocallback tlc_registry_wait
#cgo noescape tlc_registry_lacks
#cgo nocallback tlc_registry_lacks
#cgo noescape tlc_registry_rehash
#cgo nocallback tlc_registry_rehash
#cgo noescape tlc_registry_give_chunk
#cgo nocallback tlc_registry_give_chunk
#cgo nocallback tlc_registry_acquire
#cgo nocallback tlc_registry_immortal
#cgo nocallback tlc_registry_abandon
#cgo nocallback tlc_registry_covered
#cgo nocallback tlc_registry_detach
#cgo nocallback tlc_registry_touch
#cgo nocallback tlc_foreign_attach
#cgo nocallback tlc_foreign_count
#cgo nocallback tlc_settle_typed
#cgo nocallback tlc_shared_block
#include "../../cshim/registry/operations.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	_ "tlruntime/cshim/registry" // the operations, which are C
	"tlruntime/runtime/layout"
)

// Result is the outcome of an operation. Nothing changed unless it is OK, Gone or Zero.
type Result int32

// The results: registry.h says what each means. C never returns NoMemory.
const (
	OK       = Result(C.TLC_OK)
	Miss     = Result(C.TLC_MISS)
	slow     = Result(C.TLC_SLOW)
	Gone     = Result(C.TLC_GONE)
	Stale    = Result(C.TLC_STALE)
	Refused  = Result(C.TLC_REFUSED)
	Overflow = Result(C.TLC_OVERFLOW)
	Returned = Result(C.TLC_RETURNED)
	Zero     = Result(C.TLC_ZERO)
	NoMemory = Result(C.TLC_NO_MEMORY)
	Present  = Result(C.TLC_PRESENT)
	Outside  = Result(C.TLC_OUTSIDE)
	NoShared = Result(C.TLC_NO_SHARED)
)

var results = [...]string{OK: "OK", Miss: "Miss", slow: "slow", Gone: "Gone", Stale: "Stale", Refused: "Refused",
	Overflow: "Overflow", Returned: "Returned", Zero: "Zero", NoMemory: "NoMemory", Present: "Present",
	Outside: "Outside", NoShared: "NoShared"}

// String returns the name of the result.
func (r Result) String() string { return results[r] }

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

func ended(d *C.tlc_dropped) Ended {
	e := &d.ended
	return Ended{uintptr(e.pointer), uintptr(d.bytes), uint8(e.kind), uintptr(e.deleter), uintptr(e.ctx),
		bool(d.returned), uint32(e.record)}
}

// owner is what a block has beside an entry, tlc_owner: a record of that state, or its type alone.
func owner(state uint32, deleter, ctx uintptr) C.tlc_owner {
	return C.tlc_owner{state: C.uint32_t(state), deleter: C.uintptr_t(deleter), ctx: C.uintptr_t(ctx)}
}

func inC(e *layout.ForeignEntry) *C.tl_foreign_entry { return (*C.tl_foreign_entry)(unsafe.Pointer(e)) }

func shardInC(s *layout.Shard) *C.tl_shard { return (*C.tl_shard)(unsafe.Pointer(s)) }

func floats(e *layout.ForeignEntry) uint32 { return e.TypeFloats >> 24 }

func bytesOf(e *layout.ForeignEntry) uintptr { return uintptr(e.Block & layout.ForeignBytes) }

// live tells whether the block is held and was not handed back to the host.
func live(e *layout.ForeignEntry) bool { return e.Count != 0 && e.Block&layout.ForeignHandedBack == 0 }

// lockEntry locks the shard of p and looks p up. It locks nothing when p has no entry.
func lockEntry(p uintptr) (*layout.Shard, *layout.ForeignEntry) {
	var at *C.tl_foreign_entry
	s := (*layout.Shard)(unsafe.Pointer(C.tlc_registry_lock_entry(C.uintptr_t(p), &at)))
	if s != nil {
		atomic.LoadUint32(&s.Lock) // the race detector does not see C take the lock
	}
	return s, (*layout.ForeignEntry)(unsafe.Pointer(at))
}

// Adopt registers a block of malloc's for a scope: count 1, not floating. A block that was
// handed back or is held at zero comes back to life. One that another thread has registered
// in the meantime gets one more reference.
func (t *Table) Adopt(p, usable uintptr) (gen uint32, r Result) {
	var g C.uint32_t
	r = t.grown(p, usable, false, func() Result {
		return Result(C.tlc_registry_adopt(C.uintptr_t(p), C.uint64_t(usable), &g))
	})
	return uint32(g), r
}

// grown does an operation, and again after it has made the room that was missing.
func (t *Table) grown(p, bytes uintptr, record bool, operation func() Result) Result {
	for {
		if r := operation(); r != slow {
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
	return t.insert(p, bytes, kind, owner(layout.BlockFree, uintptr(typ), 0))
}

// InsertAtZero registers new memory that nobody holds, as Insert and DecRef.
func (t *Table) InsertAtZero(p, bytes uintptr, kind uint8) Result {
	return t.grown(p, bytes, false, func() Result {
		return Result(C.tlc_registry_insert_at_zero(C.uintptr_t(p), C.uint64_t(bytes), C.uint32_t(kind)))
	})
}

// insert registers any block.
func (t *Table) insert(p, bytes uintptr, kind uint8, by C.tlc_owner) (e Entered, r Result) {
	var g C.uint32_t
	r = t.grown(p, bytes, uint32(by.state) != layout.BlockFree, func() Result {
		return Result(C.tlc_registry_insert(C.uintptr_t(p), C.uint64_t(bytes), C.uint32_t(kind), &by, &g, inC(&e.was)))
	})
	e.Gen = uint32(g)
	return e, r
}

// Retract takes what Insert has entered back, whatever it counts, and frees
// nothing: the registration of several blocks failed at a later one.
func (t *Table) Retract(p uintptr, made Entered) {
	C.tlc_registry_retract(C.uintptr_t(p), C.uint32_t(made.Gen), inC(&made.was))
}

// Register takes a reference for a scope: a floating one if there is one, else a new one.
func (t *Table) Register(p uintptr) (gen uint32, r Result) {
	var g C.uint32_t
	r = Result(C.tlc_registry_register(C.uintptr_t(p), &g))
	return uint32(g), r
}

// Acquire counts one more reference.
func (t *Table) Acquire(p uintptr) Result { return Result(C.tlc_registry_acquire(C.uintptr_t(p))) }

// Immortal freezes the count.
func (t *Table) Immortal(p uintptr) Result { return Result(C.tlc_registry_immortal(C.uintptr_t(p))) }

// Count returns the references to p; -1 when p is unknown, 0 when it is held at
// zero, 2^32 - 1 when the count is frozen.
func (t *Table) Count(p uintptr) int64 { return int64(C.tlc_foreign_count(C.uintptr_t(p))) }

// Covered tells whether p is inside a registered block, its start included.
func (t *Table) Covered(p uintptr) bool { return bool(C.tlc_registry_covered(C.uintptr_t(p))) }

// Release drops a counted reference, or a floating one when no other is left.
func (t *Table) Release(p uintptr) (Ended, Result) { return t.drop(p, C.TLC_DROP_RELEASE, 0) }

// ReleaseEntry is Release for a scope's entry: Stale when it meant an earlier block at p.
func (t *Table) ReleaseEntry(p uintptr, gen uint32) (Ended, Result) {
	return t.drop(p, C.TLC_DROP_ENTRY, gen)
}

// Float is unregister: the reference of a scope's entry floats. The block is
// handed back to the host when no other reference is held.
func (t *Table) Float(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, C.TLC_DROP_FLOAT, gen) }

// DecRef is Release, but a block that comes to Zero stays, dead and owning nothing, until it
// is forgotten or registered again.
func (t *Table) DecRef(p uintptr) Result {
	_, r := t.drop(p, C.TLC_DROP_DECREF, 0)
	return r
}

// Forget removes an entry of which no counted reference is left: Gone, else Refused or Miss.
func (t *Table) Forget(p uintptr) (Ended, Result) { return t.drop(p, C.TLC_DROP_FORGET, 0) }

// FreeAligned forgets a block of aligned memory that is held at zero: Gone, else Refused or Miss.
func (t *Table) FreeAligned(p uintptr) (Ended, Result) { return t.drop(p, C.TLC_DROP_ALIGNED, 0) }

// End takes out a block of that generation with all its references: Gone, or Stale when it is none
// any more.
func (t *Table) End(p uintptr, gen uint32) (Ended, Result) { return t.drop(p, C.TLC_DROP_END, gen) }

// drop drops a reference. A block whose references are being read ends after that.
func (t *Table) drop(p uintptr, way C.int, gen uint32) (Ended, Result) {
	for turn := 0; ; turn++ {
		var d C.tlc_dropped
		r := Result(C.tlc_registry_drop(C.uintptr_t(p), way, C.uint32_t(gen), &d))
		if r != slow {
			return ended(&d), r
		}
		layout.Wait(turn)
	}
}

// own gives a shared block a record, and returns its number.
func (t *Table) own(b *Block) (number uint32, r Result) {
	var n C.uint32_t
	by := owner(layout.BlockShared, b.Deleter, b.Ctx)
	r = t.grown(b.Real, b.Bytes, true, func() Result {
		return Result(C.tlc_registry_own(C.uintptr_t(b.Real), C.uint64_t(b.Bytes), C.uint32_t(b.Kind), &by, &n))
	})
	return uint32(n), r
}

func (t *Table) addAlias(id uint64, p uintptr) (fresh bool, was layout.ForeignEntry, r Result) {
	var f C.bool
	r = t.grown(p, 0, false, func() Result {
		return Result(C.tlc_add_alias(C.uint64_t(id), C.uintptr_t(p), &f, inC(&was)))
	})
	return bool(f), was, r
}

// owned ends the registration of a shared block.
func (t *Table) owned(number uint32) Ended {
	var d C.tlc_dropped
	C.tlc_registry_owned(C.uint32_t(number), &d)
	return ended(&d)
}

// abandon undoes a registration that failed half way. All of its aliases go, with the
// references that others have counted there, and nothing is freed.
func (t *Table) abandon(number uint32, made []alias) {
	C.tlc_registry_abandon(C.uint32_t(number))
	for i := range made {
		C.tlc_registry_remove_alias(C.uint32_t(number), C.uintptr_t(made[i].p), inC(&made[i].was))
	}
	t.owned(number)
}

// HasShared tells whether a live shared block has this number.
func (t *Table) HasShared(id uint64) bool { return C.tlc_shared_block(C.uint64_t(id)) != nil }

// Wait prepares what ended for a list of calls that wait: it returns the number of its record,
// 0 when there is no memory for one. Most have theirs already.
func (t *Table) Wait(e Ended) (number uint32) {
	if e.Record != 0 {
		return e.Record
	}
	d := C.tlc_dropped{bytes: C.uint64_t(e.Bytes)}
	d.ended.pointer, d.ended.kind = C.uintptr_t(e.Pointer), C.uint32_t(e.Kind)
	d.ended.deleter, d.ended.ctx = C.uintptr_t(e.Deleter), C.uintptr_t(e.Ctx)
	for number == 0 && t.reserveRecord(t.shard(e.Pointer)) {
		number = uint32(C.tlc_registry_wait(&d))
	}
	return number
}

// Settle takes what is to be called out of the record of a call that has left its list, and gives
// the record back.
func (t *Table) Settle(number uint32) Ended {
	var d C.tlc_dropped
	C.tlc_registry_settle(C.uint32_t(number), &d)
	return ended(&d)
}

// SettleTyped takes a block with a type whose references are released out of the table. The caller
// frees it.
func (t *Table) SettleTyped(number uint32) { C.tlc_settle_typed(C.uint32_t(number)) }

// Touch notes that a thread counts the references of what starts at p. Owner is that of its context; gen is
// the generation that it means, 0 any.
func (t *Table) Touch(p uintptr, owner, gen uint32) {
	if t.HasTyped() {
		C.tlc_registry_touch(C.uintptr_t(p), C.uint32_t(owner), C.uint32_t(gen))
	}
}
