package object

import (
	"sync/atomic"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// slot takes a free slot of a class out of the magazine, refilling it first when
// it is empty.
func (c *Context) slot(class uint32) (layout.Entry, status.Status) {
	m := &c.Magazines[class]
	if m.Top <= m.Base {
		if st := process.heap.RefillMagazine(&c.Context, class); st != status.OK {
			return layout.Entry{}, st
		}
	}
	m.Top -= layout.EntryBytes
	return *layout.At[layout.Entry](m.Top), status.OK
}

// recycle makes the slot of a dead object available again, under the next
// generation. A record whose generation would wrap is never used again.
func (c *Context) recycle(r *layout.Record, e layout.Entry) {
	usdt.Free(e.Object)
	if Tracing.Load() {
		recorder.Died(c, e)
	}
	if process.debug != nil {
		c.bury(r, e)
		return
	}
	c.countUntyped(r.TypeFlags&layout.TypeMask, e)
	e, left := renew(r, e)
	if !left {
		return
	}
	c.giveSlot(e)
}

// bury is recycle with a check and a wait; the object is dead.
func (c *Context) bury(r *layout.Record, e layout.Entry) {
	c.countUntyped(r.TypeFlags&layout.TypeMask, e)
	process.debug.Bury(c, e)
	c.Tracking.Pending |= PendingRecords
	e, left := renew(r, e)
	if !left {
		return
	}
	for _, free := range process.debug.Wait(c, e) {
		c.giveSlot(free)
	}
}

// renew gives a dead slot its next generation; false: they are used up, the record is retired, and the memory was given
// back.
func renew(r *layout.Record, e layout.Entry) (next layout.Entry, left bool) {
	gen, left := layout.NextGen(e.Gen)
	atomic.StoreUint32(&r.TypeFlags, layout.TypePlain)
	if !left {
		retire(e)
		return e, false
	}
	e.Gen = gen
	atomic.StoreUint32(&r.Gen, e.Gen)
	return e, true
}

// giveSlot makes a slot available that has its next generation already.
func (c *Context) giveSlot(e layout.Entry) {
	class := e.Gen & 0xFF
	if class == layout.ClassLarge {
		process.heap.GiveLarge(e, true)
		return
	}
	m := &c.Magazines[class]
	if m.Top >= m.Limit {
		process.heap.MakeRoom(&c.Context, class)
	}
	*layout.At[layout.Entry](m.Top) = e
	m.Top += layout.EntryBytes
}

// Cool gives the warm places of the scope stack to the magazines, the top one first, as the fast path
// does. What works on a context that is parked calls it before it looks at either; a thread that enters
// Go has done it already.
func (c *Context) Cool() {
	if c.Warm == 0 {
		return
	}
	for c.Warm > c.End {
		c.Warm -= layout.EntryBytes
		c.giveSlot(*layout.At[layout.Entry](c.Warm))
	}
	c.Warm, c.End = 0, c.endOfEntries()
}

// endOfEntries is where the scope stack ends when no place of it is warm.
func (c *Context) endOfEntries() uintptr { return c.Entries + uintptr(process.slices.entries.bytes) }

// returnMagazines gives every cached object back to the depots and returns the bytes.
func (c *Context) returnMagazines() (bytes uint64) {
	c.Cool()
	for class := uint32(1); class < layout.ClassLarge; class++ {
		bytes += process.heap.EmptyMagazine(&c.Context, class)
	}
	return bytes
}

// obtain obtains the slot for an object of n bytes, with TL_DEBUG and a red zone behind
// them; its record is dead still. zero tells that the memory reads as zero.
func (c *Context) obtain(n, alignment uintptr) (e layout.Entry, zero bool, st status.Status) {
	if uint64(n) > process.g.HeapBytes {
		return e, false, status.OutOfMemory
	}
	slot := n
	if process.debug != nil {
		slot = process.debug.Room(n)
	}
	if e, zero, st = c.obtainSlot(roomFor(slot, alignment), n, alignment); st == status.OK && process.debug != nil {
		process.debug.Guard(e, n)
	}
	return e, zero, st
}

// roomFor is how many bytes of a slot n bytes take that are aligned so: the size of the class of a multiple of a power
// of two is one, too, and slabs are aligned to their size. What is aligned to more than a span is large.
func roomFor(n, alignment uintptr) uintptr {
	switch {
	case alignment > layout.SpanBytes:
		return max(n, layout.SpanBytes+1)
	case n <= layout.SpanBytes:
		return memory.Round(n, alignment)
	}
	return n
}

// obtainSlot obtains a slot of at least n bytes for an object of `asked` bytes.
func (c *Context) obtainSlot(n, asked, alignment uintptr) (e layout.Entry, zero bool, st status.Status) {
	class := layout.ClassOf(n)
	if class == 0 {
		e, zero, st = process.heap.TakeAligned(n, uint32(max(alignment, layout.SpanBytes)>>layout.SpanShift))
		if st == status.OK {
			c.handedOut(e, asked)
		}
		return e, zero, st
	}
	if e, st = c.slot(class); st == status.OK {
		c.handedOut(e, asked)
	}
	return e, false, st
}

// Alloc returns a floating object of n plain bytes; 0 bytes is NULL.
func (c *Context) Alloc(n uintptr) uintptr { return c.AllocAligned(n, 1) }

// AllocAligned is Alloc of an object whose address is a multiple of a power of two.
func (c *Context) AllocAligned(n, alignment uintptr) uintptr {
	if alignment&(alignment-1) != 0 || alignment-1 >= layout.HeapMostAlign<<layout.SpanShift {
		c.Fail(status.InvalidArgument, textAlignment, 0, uint64(alignment))
		return 0
	}
	if n == 0 {
		return c.null()
	}
	e, _, st := c.takeAligned(n, alignment)
	if st != status.OK {
		return c.failAlloc(st, uint64(n))
	}
	publish(process.heap.Record(e.Record), c.AllocLoc, c.AllocSh)
	return e.Object
}

// New is Alloc and Register in one.
func (c *Context) New(n uintptr) uintptr { return c.makeObject(n, layout.TypePlain, false) }

// NewZeroed is New with the payload zeroed.
func (c *Context) NewZeroed(n uintptr) uintptr { return c.makeObject(n, layout.TypePlain, true) }

// makeObject allocates an object of a type and registers it.
func (c *Context) makeObject(n uintptr, typ uint32, clean bool) uintptr {
	if n == 0 {
		return c.null()
	}
	if !c.HasRoom() {
		return 0
	}
	e, st := c.newHeld(n, typ, clean)
	if st != status.OK {
		return c.failAlloc(st, uint64(n))
	}
	c.push(e)
	return e.Object
}

// newHeld allocates an object with one reference that the caller holds.
func (c *Context) newHeld(n uintptr, typ uint32, clean bool) (layout.Entry, status.Status) {
	e, zero, st := c.take(n)
	if st != status.OK {
		return e, st
	}
	if clean && !zero {
		core.Clear(e.Object, uint64(n))
	}
	c.enliven(e, typ)
	return e, status.OK
}

// enliven makes an object of a slot, with one reference that the caller holds. From here
// on others read its fields, so they are complete.
func (c *Context) enliven(e layout.Entry, typ uint32) {
	c.countTyped(typ, e)
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.TypeFlags, typ)
	publish(r, c.NewLoc, c.NewSh)
}

// publish makes a new object live: the shared word last, so that whoever sees it sees
// everything else of the record.
func publish(r *layout.Record, loc, sh uint32) {
	atomic.StoreUint32(&r.Loc, loc)
	atomic.StoreUint32(&r.Sh, sh)
}

// Purge gives idle memory back to the system: this context's magazines at once,
// those of others at their next slow call.
func (c *Context) Purge() {
	atomic.AddUint32(&process.g.Purge, 1)
	c.HonourPurge()
	eachParked(func(p *Context) {
		p.returnMagazines()
		p.giveBack(c)
	})
	c.trimStacks()
	process.heap.Purge()
}

// eachParked borrows the parked contexts one after the other; visit gives each back.
func eachParked(visit func(p *Context)) {
	process.slices.each(func(p *Context) {
		w := atomic.LoadUint64(&p.Word)
		if w&layout.CtxState == layout.CtxParked &&
			atomic.CompareAndSwapUint64(&p.Word, w, w&^layout.CtxState|layout.CtxBorrowed) {
			visit(p)
		}
	})
}

// HonourPurge returns the magazines when a purge was asked for since the last
// time; slow calls make it.
func (c *Context) HonourPurge() {
	if asked := uint64(atomic.LoadUint32(&process.g.Purge)); asked != c.PurgeSeen {
		c.PurgeSeen = asked
		c.returnMagazines()
	}
}
