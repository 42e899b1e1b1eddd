package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Blocks with a type: memory of malloc's whose references are released before it is freed
// (runtime/object/typed.go). The entry has the type. The record has it, too, for the time after
// the entry, together with the owner of the context that registered the block.

// Typed describes a block with a type.
type Typed struct {
	Info
	Owner     uint32 // as in layout.Record.Loc
	Shared    bool   // another thread has counted its references
	Destroyed bool   // its destructor was called
}

func isTyped(b *layout.BlockRecord) bool { return atomic.LoadUint32(&b.State) == layout.BlockTyped }

// isDying tells whether a block with a type waits until its references are released.
func isDying(b *layout.BlockRecord) bool {
	return atomic.LoadUint32(&b.State) == layout.BlockPending && blockKind(b) == layout.ForeignMalloc
}

// InsertTyped registers a block of malloc's with a type: count 1, held by the caller.
func (t *Table) InsertTyped(p, bytes uintptr, typ, by uint32) (gen uint32, r Result) {
	e, r := t.insert(p, bytes, layout.ForeignMalloc, owner(layout.BlockTyped, uintptr(typ), uintptr(by)))
	if r == OK {
		atomic.StoreUint32(&t.header.Typed, 1)
	}
	return e.Gen, r
}

// HasTyped tells whether a block with a type was ever registered.
func (t *Table) HasTyped() bool { return atomic.LoadUint32(&t.header.Typed) != 0 }

// typedEntry locks the shard of p and searches for a block with a type that starts there; without
// one no lock is held.
func (t *Table) typedEntry(p uintptr) (s *layout.Shard, e *layout.ForeignEntry, b *layout.BlockRecord) {
	if !t.HasTyped() {
		return nil, nil, nil
	}
	if s, e = lockEntry(p); e == nil {
		return nil, nil, nil
	}
	if e.Link != 0 && !isAlias(e) {
		if b = t.record(e.Link); isTyped(b) {
			return s, e, b
		}
	}
	unlock(s)
	return nil, nil, nil
}

// TypedAt describes the live block with a type that starts at p.
func (t *Table) TypedAt(p uintptr) (Typed, bool) {
	s, e, b := t.typedEntry(p)
	if b == nil {
		return Typed{}, false
	}
	defer unlock(s)
	return typedOf(infoOf(p, e), b), e.Count != 0
}

func typedOf(info Info, b *layout.BlockRecord) Typed {
	return Typed{Info: info, Owner: uint32(b.Ctx) &^ layout.TypedMarks, Shared: b.Ctx&layout.TypedShared != 0,
		Destroyed: b.Ctx&layout.TypedDestroyed != 0}
}

// EachTyped calls f with every live block with a type. No lock is held, so f may change the registry.
func (t *Table) EachTyped(f func(Typed)) {
	if !t.HasTyped() {
		return
	}
	t.eachRecord(func(_ uint32, b *layout.BlockRecord) {
		if !isTyped(b) {
			return
		}
		if block, live := t.TypedAt(realOf(b)); live {
			f(block)
		}
	})
}

// StartReading describes a live block with a type that only this owner has counted; false: it is none. Until
// StopReading whoever would end the block waits, so that its references can be read; nothing else shows.
func (t *Table) StartReading(p uintptr, owner uint32) (block Typed, reading bool) {
	s, e, b := t.typedEntry(p)
	if b == nil {
		return block, false
	}
	defer unlock(s)
	block = typedOf(infoOf(p, e), b)
	if block.Count == 0 || block.Count == layout.ForeignSticky || block.Shared || block.Owner != owner {
		return block, false
	}
	b.Ctx |= layout.TypedRead
	return block, true
}

// StopReading lets a block end again. Reading is short: one block at a time, and no function of the program is called.
func (t *Table) StopReading(p uintptr) {
	s, _, b := t.typedEntry(p)
	b.Ctx &^= layout.TypedRead
	unlock(s)
}

// IsUntouched tells whether a block is as StartReading described it: nobody has counted or ended it since.
func (t *Table) IsUntouched(block Typed) bool {
	now, live := t.TypedAt(block.Pointer)
	return live && now.Gen == block.Gen && now.Count == block.Count && !now.Shared
}

// Side returns what the walk that goes on knows of a live block with a type; 0 is nothing.
func (t *Table) Side(p uintptr) uint64 {
	s, _, b := t.typedEntry(p)
	if b == nil {
		return 0
	}
	defer unlock(s)
	return b.Side
}

// SetSide is what the walk says of a block with a type. Before it ends it sets 0.
func (t *Table) SetSide(p uintptr, value uint64) {
	if s, _, b := t.typedEntry(p); b != nil {
		b.Side = value
		unlock(s)
	}
}

// PendingType returns the type of a record that waits; 0 when its block has none.
func PendingType(b *layout.BlockRecord) uint32 {
	if blockKind(b) != layout.ForeignMalloc {
		return 0
	}
	return uint32(b.Deleter)
}

// Destroyed tells whether the destructor of a block that waits was called; from now on it was.
func Destroyed(b *layout.BlockRecord) (was bool) {
	was = b.Ctx&layout.TypedDestroyed != 0
	b.Ctx |= layout.TypedDestroyed
	return was
}
