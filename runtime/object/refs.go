package object

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Ref names one life of an object: the number of its record and its generation, as
// entries of scopes have them. 0 is none. It is what cshim/inline/refs.h calls a tl_ref.
type Ref uint64

func refOf(e layout.Entry) Ref { return Ref(e.Record) | Ref(e.Gen)<<32 }

func (ref Ref) record() uint32 { return uint32(ref) }
func (ref Ref) gen() uint32    { return uint32(ref >> 32) }

// RefOf returns the reference to the live object that starts at p; 0 for NULL and for what
// has no record, the error recorded.
func (c *Context) RefOf(p uintptr) Ref {
	if p == 0 {
		return 0
	}
	at := c.locate(p)
	switch at.where {
	case inHeap:
		if o, ok := at.object(p); ok {
			return refOf(o.Entry)
		}
	case inLiveStack:
		c.Fail(status.Unsupported, textNoRecord, p)
		return 0
	case elsewhere:
		if process.registry.Count(p) >= 0 {
			c.Fail(status.Unsupported, textNoRecord, p)
			return 0
		}
	}
	c.failPlace(p, at)
	return 0
}

// WeakShare turns bias off for the object at p and returns the reference to it; 0: the
// error is recorded.
func (c *Context) WeakShare(p uintptr) Ref {
	ref := c.RefOf(p)
	if ref == 0 || c.Share(p) != status.OK {
		return 0
	}
	return ref
}

// state is what became of the object of a reference.
type state int

const (
	noRef  state = iota // the word is no reference
	past                // it was released
	atZero              // dec_ref has brought it to zero
	live
)

// look finds the record of a reference. The shared word is read before the generation:
// it is of this life then, or of an earlier one.
func (ref Ref) look() (r *layout.Record, sh uint32, s state) {
	class := ref.gen() & 0xFF
	now := process.heap.LifeOf(ref.record(), class)
	switch {
	case now < ref.gen(), ref.gen() == 0:
		return nil, 0, noRef
	case now > ref.gen():
		return nil, 0, past
	}
	r = process.heap.Record(ref.record())
	sh = atomic.LoadUint32(&r.Sh)
	switch gen := atomic.LoadUint32(&r.Gen); {
	case gen == 0:
		return nil, 0, noRef // of a slot that was never handed out, or not since a purge
	case gen != ref.gen(), sh&layout.ShAlive == 0:
		return nil, 0, past
	case sh == layout.ShAlive|layout.ShMerged:
		return r, sh, atZero
	}
	return r, sh, live
}

// of calls do with the object of a reference, unless that is none.
func (c *Context) of(ref Ref, do func(object) status.Status) status.Status {
	if ref == 0 {
		return status.OK
	}
	r, _, s := ref.look()
	if s != live {
		return c.failRef(ref, s)
	}
	return do(ref.object(r))
}

// object is the object of a live record.
func (ref Ref) object(r *layout.Record) object {
	return object{r, layout.Entry{Object: process.heap.LocateLive(ref.record()), Record: ref.record(), Gen: ref.gen()}}
}

// failRef records why there is no live object.
func (c *Context) failRef(ref Ref, s state) status.Status {
	word := uint64(ref)
	switch s {
	case noRef:
		return c.Fail(status.InvalidArgument, textNoRef, uintptr(ref))
	case atZero:
		return c.Fail(status.NotLive, textRefZero, 0, word)
	}
	slot := process.heap.LocateAny(ref.record(), ref.gen()&0xFF)
	if slot != 0 && process.heap.Find(slot).Kind == heap.Live {
		return c.Fail(status.NotLive, textRefReused, 0, word)
	}
	return c.Fail(status.NotLive, textRefDead, slot, word)
}

// AcquireRef adds a reference to the object of another one.
func (c *Context) AcquireRef(ref Ref) status.Status {
	return c.of(ref, func(o object) status.Status {
		if c.retain(o.Record) != status.OK {
			return c.failRef(ref, past)
		}
		if !c.isStill(ref, o) {
			return c.failRef(ref, past)
		}
		return status.OK
	})
}

// isStill tells whether a reference that was just counted is one to the object that ref means.
// If the slot has got another object since it was looked up, that one gets the reference back,
// at its own address: its class may be another one. The owner of the object that was meant may have
// stored over the count: where an object with an owner shows none, there is nothing to take back.
func (c *Context) isStill(ref Ref, o object) bool {
	gen := atomic.LoadUint32(&o.Record.Gen)
	if gen == ref.gen() {
		return true
	}
	s, _ := updateSh(o.Record, func(s layout.Sh) (layout.Sh, bool) {
		if s.Has(layout.ShMerged) || s.Count <= s.Claims {
			return s, false
		}
		addShared(&s, -1)
		return s, true
	})
	if !s.Has(layout.ShMerged) {
		return false
	}
	o.Entry.Gen, o.Entry.Object = gen, process.heap.LocateLive(ref.record())
	c.dropAt(o.Entry.Object, o)
	return false
}

// ReleaseRef drops a reference.
func (c *Context) ReleaseRef(ref Ref) status.Status {
	return c.of(ref, func(o object) status.Status {
		switch c.drop(c, o.Record, o.Entry) {
		case zero:
			c.kill(o.Record, o.Entry)
		case dead:
			return c.failRef(ref, past)
		case full:
			return c.Fail(status.OutOfMemory, textNodes, o.Entry.Object)
		}
		return status.OK
	})
}

// GetRef returns the object of a reference.
func (c *Context) GetRef(ref Ref) (p uintptr) {
	if ref == 0 {
		return c.null()
	}
	c.of(ref, func(o object) status.Status { p = o.Entry.Object; return status.OK })
	return p
}

// CheckRef tells what became of the object of a reference.
func (c *Context) CheckRef(ref Ref) status.Status {
	return c.of(ref, func(object) status.Status { return status.OK })
}

// Upgrade returns the object of a weak reference with one reference more, which is the
// caller's; 0 when the object is gone, or with an error.
func (c *Context) Upgrade(ref Ref) uintptr {
	for {
		r, sh, s := ref.look()
		switch {
		case s == noRef && ref != 0:
			c.failRef(ref, s)
			return 0
		case s != live:
			return c.null()
		}
		loc := atomic.LoadUint32(&r.Loc)
		o := ref.object(r)
		if !c.owns(loc) && sh&(layout.ShMerged|layout.ShImmortal) == 0 {
			if layout.LocOwner(loc) == 0 {
				runtime.Gosched() // its owner is merging
				continue
			}
			c.Fail(status.Busy, textNotUpgraded, o.Entry.Object, uint64(layout.LocOwner(loc)))
			return 0
		}
		if n, _ := sums(loc, layout.UnpackSh(sh)); n <= 0 && sh&layout.ShImmortal == 0 {
			return c.null() // it waits for its owner
		}
		if c.owns(loc) {
			c.retain(r)
			return o.Entry.Object
		}
		if c.upgradeShared(ref, o, sh) {
			return o.Entry.Object
		}
	}
}

// upgradeShared adds a reference to an object without an owner, which another thread may be
// about to end: while its shared word is sh, and sh is of the life that ref means. The object
// of a later life that looks alike gives the reference back.
func (c *Context) upgradeShared(ref Ref, o object, sh uint32) bool {
	s := layout.UnpackSh(sh)
	if s.Has(layout.ShImmortal) {
		return true
	}
	addShared(&s, 1)
	if !atomic.CompareAndSwapUint32(&o.Record.Sh, sh, s.Pack()) {
		return false
	}
	return c.isStill(ref, o)
}
