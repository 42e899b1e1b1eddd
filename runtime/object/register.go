package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// Register sinks a floating reference of p into the current scope, or acquires
// one. An unknown address outside the runtime's ranges is adopted as malloc'ed
// memory with count 1.
func (c *Context) Register(p uintptr) status.Status { return c.register(p, true) }

// RegisterKnown is Register without adoption: an unknown address is an error.
func (c *Context) RegisterKnown(p uintptr) status.Status { return c.register(p, false) }

func (c *Context) register(p uintptr, adoptUnknown bool) status.Status {
	if p != 0 && !c.hasRoomFor(p) {
		return status.ArenaExhausted
	}
	if at := c.locate(p); adoptUnknown && (at.where == inOtherStack || at.where == inRuntime) {
		f := at.finding(p)
		return c.Fail(status.Unsupported, f.kind, p, f.details[:]...)
	}
	return c.handle(p,
		func(o object) status.Status {
			switch c.sink(o.Record) {
			case gone:
				return c.orDead(p, status.NotLive)
			case noFloat:
				if st := c.retain(o.Record); st != status.OK {
					return c.orDead(p, st)
				}
			}
			c.push(o.Entry)
			return status.OK
		},
		func() status.Status { return c.registerForeign(p, adoptUnknown) })
}

func (c *Context) registerForeign(p uintptr, adoptUnknown bool) status.Status {
	c.touch(p)
	gen, res := process.registry.Register(p)
	if res == registry.Miss && adoptUnknown || res == registry.Returned || res == registry.Zero {
		if st := c.adoptable(p); st != status.OK {
			return st
		}
		if process.registry.Covered(p) { // the size of its inside would be read from a block's contents
			return c.Fail(status.AlreadyRegistered, textInsideBlock, p)
		}
		usable, why := measure(p, 1)
		if usable == 0 {
			return c.Fail(status.InvalidArgument, why, p)
		}
		if gen, res = process.registry.Adopt(p, usable); res == registry.OK {
			c.ForeignAdopted++
			c.spendForeign(p, usable)
		}
	}
	switch res {
	case registry.OK:
		c.push(layout.Entry{Object: p, Record: layout.Foreign, Gen: gen})
		return status.OK
	case registry.Refused:
		return c.Fail(status.AlreadyRegistered, textInsideBlock, p)
	}
	return c.foreign(p, res)
}

// measure returns the size of a block of malloc's, or 0 and why there is none at p. Where the program's
// malloc does not tell, a block has what it was aligned to, and the caller is trusted for so many bytes.
func measure(p, least uintptr) (bytes uintptr, why Text) {
	bytes, ok := process.cfg.UsableSize(p)
	switch {
	case !ok:
		return 0, textUnreadable
	case bytes == 0 && process.cfg.MallocTells:
		return 0, textNotABlock
	case bytes == 0:
		bytes = max(least, process.cfg.MallocAlign)
	}
	return bytes, 0
}

// adoptable refuses what malloc cannot have returned: small numbers, what is not
// aligned as its blocks are, addresses beyond the user's half.
func (c *Context) adoptable(p uintptr) status.Status {
	const highest = 1 << layout.ProgramBits
	switch {
	case process.cfg.UsableSize == nil:
		return c.failPlace(p, place{where: elsewhere})
	case p%process.cfg.MallocAlign != 0:
		return c.Fail(status.InvalidArgument, textMisaligned, p, uint64(process.cfg.MallocAlign))
	case p < layout.LowestAddress || p >= highest:
		return c.Fail(status.InvalidArgument, textNotMalloc, p)
	}
	return status.OK
}

// Unregister makes the newest reference to p that a scope of this function
// holds floating. Fields are not touched.
func (c *Context) Unregister(p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	st, held := c.HandOut(p)
	if !held {
		return c.notRegistered(p)
	}
	return st
}

// HandOut makes the newest reference to p that a scope of this function holds floating;
// false, with no error recorded, when none holds one.
func (c *Context) HandOut(p uintptr) (st status.Status, held bool) {
	for {
		position, found := c.find(p, c.Floor)
		if !found {
			return status.OK, false
		}
		switch st := c.floatEntry(p, *c.entry(position)); st {
		case status.OK:
			c.takeOut(position)
			return status.OK, true
		case status.NotLive: // what it meant was freed by hand
			c.takeOut(position)
			c.Skipped++
		default:
			return st, true
		}
	}
}

// floatEntry makes the reference of a scope entry floating; NotLive, with no error
// recorded, when the entry meant an earlier object at p.
func (c *Context) floatEntry(p uintptr, e layout.Entry) status.Status {
	if e.Record == layout.Foreign {
		c.touchEntry(e)
		ended, res := process.registry.Float(p, e.Gen)
		c.dropped(ended, res)
		if res == registry.Stale || res == registry.Miss {
			return status.NotLive
		}
		return c.foreign(p, res)
	}
	r := process.heap.Record(e.Record)
	dies := atomic.LoadUint32(&r.Sh)&layout.ShAlive == 0 // its words are links of the destruction queue
	if atomic.LoadUint32(&r.Gen) != e.Gen || dies || heldAtZero(r) {
		return status.NotLive
	}
	if st := c.float(r); st != status.OK {
		return c.Fail(st, textFloats, p)
	}
	return status.OK
}

func (c *Context) notRegistered(p uintptr) status.Status {
	return c.handleStack(p, c.handle(p,
		func(object) status.Status { return c.Fail(status.NotRegistered, textNotRegistered, p) },
		func() status.Status {
			n := process.registry.Count(p)
			if n > 0 {
				return c.Fail(status.NotRegistered, textNotRegistered, p)
			}
			return c.notForeign(p, &n)
		}))
}

// handleStack refuses to unregister live stack memory: it dies with its scope.
func (c *Context) handleStack(p uintptr, st status.Status) status.Status {
	if st == status.OK {
		return c.Fail(status.Unsupported, textCopyOut, p)
	}
	return st
}

// Realloc changes the size of an object of plain bytes. Count, registrations and
// content are kept; the address may change, and then only references that this
// context knows of may exist: floating ones and those in its scopes.
func (c *Context) Realloc(p, n uintptr) uintptr {
	if p == 0 {
		return c.Alloc(n)
	}
	if n == 0 {
		c.Fail(status.InvalidArgument, textReallocZero, p)
		return 0
	}
	moved := uintptr(0)
	c.ofPlain(p, func(o object) (st status.Status) { moved, st = c.reallocObject(p, n, o); return st })
	return moved
}

// Reuse drops a reference to an object of plain bytes and returns a new object. The new one is allocated before the
// reference is dropped, so a failure changes nothing; where it takes the slot of the old one, the old one ends first.
func (c *Context) Reuse(p, n uintptr) (fresh uintptr) {
	if p == 0 {
		return c.Alloc(n)
	}
	if n == 0 {
		c.Fail(status.InvalidArgument, textReallocZero, p)
		return 0
	}
	c.ofPlain(p, func(o object) status.Status {
		if c.leavesSlotFor(n, o) {
			st := c.dropAt(p, o)
			if st == status.OK {
				fresh = c.Alloc(n)
			}
			return st
		}
		if fresh = c.Alloc(n); fresh == 0 {
			return status.Status(c.Error.Status)
		}
		st := c.dropAt(p, o)
		if st != status.OK {
			c.Free(fresh)
			fresh = 0
		}
		return st
	})
	return fresh
}

// leavesSlotFor reports whether an object ends with the reference that is dropped, and its slot is the next of a class.
func (c *Context) leavesSlotFor(n uintptr, o object) bool {
	class := layout.ClassOf(n)
	return process.debug == nil && class != 0 && class == o.Entry.Gen&0xFF && c.owns(atomic.LoadUint32(&o.Loc)) &&
		references(o.Record) == 1
}

// UsableSize returns how many bytes of an object of plain bytes the program may use.
func (c *Context) UsableSize(p uintptr) (bytes uintptr) {
	if p == 0 {
		return c.null()
	}
	c.ofPlain(p, func(o object) status.Status { bytes = uintptr(usable(o.Entry)); return status.OK })
	return bytes
}

// ofPlain answers a call about an object of plain bytes, and refuses all others.
func (c *Context) ofPlain(p uintptr, answer func(o object) status.Status) {
	var is bool
	st := c.handle(p,
		func(o object) status.Status {
			if is = o.TypeFlags == layout.TypePlain; is {
				return answer(o)
			}
			return status.OK
		},
		func() status.Status { return c.Check(p) })
	if st == status.OK && !is {
		c.Fail(status.Unsupported, textReallocKind, p)
	}
}

func (c *Context) reallocObject(p, n uintptr, o object) (uintptr, status.Status) {
	if c.fits(p, n, o) {
		if process.debug != nil {
			process.debug.CheckZone(c, o.Entry)
			process.debug.Guard(o.Entry, n)
		}
		if isRecording() {
			recorder.Resized(c, o.Entry, uint64(n))
		}
		return p, status.OK
	}
	want, known := c.heldByScopes(o)
	if !known {
		return 0, c.Fail(status.Busy, textReallocShared, p)
	}
	held, st := c.positions(o, want)
	defer held.Free()
	if st != status.OK {
		c.failAlloc(st, 0)
		return 0, st
	}
	if held.Len() != want {
		return 0, c.Fail(status.Busy, textReallocShared, p)
	}
	e, st := c.takeGrown(n, o)
	if st != status.OK {
		c.failAlloc(st, uint64(n))
		return 0, st
	}
	copy(layout.Bytes(e.Object, uint64(n)), layout.Bytes(p, min(usable(o.Entry), uint64(n))))
	r := process.heap.Record(e.Record)
	r.Sh, r.Loc = o.Sh, o.Loc
	c.moveEntries(&held, p, e)
	c.kill(o.Record, o.Entry)
	return e.Object, status.OK
}

// fits reports whether an object has n bytes where it is, and makes it have them. TL_DEBUG moves what it can, so that
// stale pointers show.
func (c *Context) fits(p, n uintptr, o object) bool {
	size, slot := process.heap.Size(p), n
	if process.debug != nil {
		slot = process.debug.Room(n)
	}
	class := layout.ClassOf(slot)
	if class != 0 {
		return class == o.Entry.Gen&0xFF
	}
	if process.debug == nil && o.Entry.Gen&0xFF == layout.ClassLarge && c.owns(o.Loc) && ownersAlone(o.Sh) {
		defer limit.Settle(limit.CPU)
		return process.heap.ResizeLarge(p, n)
	}
	return uint64(slot) <= size && uint64(slot) > size-layout.SpanBytes
}

// takeGrown is take for an object that moves: a large one that grows takes more than it needs, as heap.h says.
func (c *Context) takeGrown(n uintptr, o object) (layout.Entry, status.Status) {
	size := uintptr(process.heap.Size(o.Object))
	grown := size + size/layout.HeapGrowsBy
	if process.debug == nil && layout.ClassOf(size) == 0 && size < n && n < grown {
		if e, _, st := c.obtainSlot(grown, n, 1); st == status.OK {
			limit.Settle(limit.CPU)
			return e, st
		}
	}
	e, _, st := c.take(n)
	return e, st
}

// heldByScopes returns how many references of an object do not float, when no other thread
// counts it.
func (c *Context) heldByScopes(o object) (n uint64, known bool) {
	references, floats := sums(o.Loc, layout.UnpackSh(o.Sh))
	return uint64(references - floats), c.owns(o.Loc) && ownersAlone(o.Sh)
}

// positions returns where an object stands in the scope stack of c, newest first, up to want places: the index leads
// from each to the next older one.
func (c *Context) positions(o object, want uint64) (at memory.Array[uint64], st status.Status) {
	at = memory.NewArray[uint64]("realloc")
	n := c.entryCount()
	if low := c.linearFrom(0); c.Index.Below < low {
		c.indexTo(n - linearLeft) // without it the search is longer
	}
	indexed := min(c.Index.Below, n)
	for i := n; i > indexed && at.Len() < want; i-- {
		if *c.entry(i - 1) == o.Entry && !at.Push(i-1) {
			return at, status.OutOfMemory
		}
	}
	if indexed == 0 || at.Len() == want {
		return at, status.OK
	}
	for place := c.inIndex(o.Object); place != 0 && at.Len() < want; {
		i := uint64(place&positionMask) - 1
		if *c.entry(i) == o.Entry && !at.Push(i) {
			return at, status.OutOfMemory
		}
		if place&older == 0 {
			break
		}
		place = *c.link(i)
	}
	return at, status.OK
}

// moveEntries gives the entries of p another object. The newest ones leave the index first, and come back last.
func (c *Context) moveEntries(held *memory.Array[uint64], p uintptr, e layout.Entry) {
	for i := range held.Len() {
		if at := *held.At(i); at < c.Index.Below && !c.unindex(p, at) {
			c.dropIndex() // an earlier object at p has left a newer entry
		}
		*c.entry(*held.At(i)) = e
	}
	for i := held.Len(); i > 0; i-- {
		if at := *held.At(i - 1); at < c.Index.Below && !c.enterIndex(at) {
			c.dropIndex()
		}
	}
}
