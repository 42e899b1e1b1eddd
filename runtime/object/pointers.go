package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// place classifies an address anywhere in the process.
type place struct {
	heap.Place
	where region
	owner uint32 // id of the context whose stack it lies in
}

type region uint32

const (
	elsewhere   region = iota // outside every range of the runtime
	inHeap                    // see heap.Place
	inLiveStack               // the caller's arena or frame stack, below its top
	inDeadStack               // beyond its top, or never handed out
	inOtherStack
	inRuntime // bookkeeping: never a user's pointer
)

// locate classifies any address without touching its memory.
func (c *Context) locate(p uintptr) place {
	if process.heap.Contains(p) {
		return place{Place: process.heap.Find(p), where: inHeap}
	}
	s := &process.slices
	offset := p - s.base
	if offset >= uintptr(process.g.SlicesBytes) {
		return place{where: elsewhere}
	}
	at := place{owner: uint32(offset >> s.shift)}
	inside := uint64(offset) & (1<<s.shift - 1)
	switch {
	case inside < process.g.FrameOffset:
		at.where = inRuntime
	case at.owner != c.Id:
		at.where = inOtherStack
	case p >= c.Frame.Base && p < c.Frame.Top, p >= c.Arena.Base && p < c.Arena.Top:
		at.where = inLiveStack
	default:
		at.where = inDeadStack
	}
	return at
}

// object is a live heap object and its record.
type object struct {
	*layout.Record
	layout.Entry
}

// handle answers a call about one pointer: the caller's own live stack memory
// needs nothing, a live heap object goes to onHeap, any other address that is not
// in the runtime's ranges to onForeign. Everything else is an error with a text
// that says what was found.
func (c *Context) handle(p uintptr, onHeap func(object) status.Status, onForeign func() status.Status) status.Status {
	if p == 0 {
		return status.OK
	}
	at := c.locate(p)
	switch at.where {
	case elsewhere:
		return onForeign()
	case inLiveStack:
		return status.OK
	case inHeap:
		if o, ok := at.object(p); ok {
			return onHeap(o)
		}
	}
	return c.failPlace(p, at)
}

// object returns the live object that starts at p. One that dec_ref has brought to
// zero is not live.
func (at place) object(p uintptr) (object, bool) {
	if at.Kind != heap.Live || heldAtZero(process.heap.Record(at.Record)) {
		return object{}, false
	}
	return object{process.heap.Record(at.Record), layout.Entry{Object: p, Record: at.Place.Record, Gen: at.Gen}}, true
}

// Acquire adds a reference.
func (c *Context) Acquire(p uintptr) status.Status {
	return c.handle(p,
		func(o object) status.Status { return c.orDead(p, c.retain(o.Record)) },
		func() status.Status { return c.acquireForeign(p) })
}

func (c *Context) acquireForeign(p uintptr) status.Status {
	c.touch(p)
	return c.foreign(p, process.registry.Acquire(p))
}

// orDead turns "it died in between" into the error of a dead pointer.
func (c *Context) orDead(p uintptr, st status.Status) status.Status {
	if st == status.OK {
		return st
	}
	return c.failPlace(p, place{Place: heap.Place{Kind: heap.Dead, Start: p}, where: inHeap})
}

// foreign maps an answer of the registry.
func (c *Context) foreign(p uintptr, res registry.Result) status.Status {
	switch res {
	case registry.OK:
		return status.OK
	case registry.Miss:
		return c.failPlace(p, place{where: elsewhere})
	case registry.Overflow:
		return c.Fail(status.Overflow, textFloats, p)
	case registry.NoMemory:
		return c.Fail(status.OutOfMemory, textTable, p)
	}
	return c.Fail(status.NotLive, textZero, p)
}

// Release drops a reference; the last one runs the destructor, releases the
// fields and frees.
func (c *Context) Release(p uintptr) status.Status {
	return c.handle(p,
		func(o object) status.Status { return c.dropAt(p, o) },
		func() status.Status { return c.releaseForeign(p) })
}

func (c *Context) dropAt(p uintptr, o object) status.Status {
	switch c.drop(c, o.Record, o.Entry) {
	case zero:
		c.kill(o.Record, o.Entry)
	case dead:
		return c.orDead(p, status.NotLive)
	case full:
		return c.Fail(status.OutOfMemory, textNodes, p)
	}
	return status.OK
}

func (c *Context) releaseForeign(p uintptr) status.Status {
	c.touch(p)
	ended, res := process.registry.Release(p)
	c.dropped(ended, res)
	if res == registry.Gone {
		return status.OK
	}
	return c.foreign(p, res)
}

// DecRef drops a reference without freeing: 1 when none is left, and the caller
// then frees the fields and calls Free. A biased object of another context is
// merged and freed by its owner as Release does it: 0.
func (c *Context) DecRef(p uintptr) int32 {
	reached := int32(0)
	c.handle(p,
		func(o object) status.Status {
			if c.owns(atomic.LoadUint32(&o.Loc)) || atomic.LoadUint32(&o.Sh)&layout.ShMerged != 0 {
				return c.decRefHere(p, o, &reached)
			}
			return c.dropAt(p, o)
		},
		func() status.Status {
			c.touch(p)
			res := process.registry.DecRef(p)
			if res == registry.Zero {
				reached = 1
				return status.OK
			}
			return c.foreign(p, res)
		})
	return reached
}

func (c *Context) decRefHere(p uintptr, o object, reached *int32) status.Status {
	switch c.drop(c, o.Record, o.Entry) {
	case zero:
		atomic.StoreUint32(&o.Loc, 0)
		atomic.StoreUint32(&o.Sh, layout.ShAlive|layout.ShMerged)
		*reached = 1
	case dead:
		return c.orDead(p, status.NotLive)
	}
	return status.OK
}

// Free frees an object that DecRef brought to zero, without touching its fields,
// or releases a floating one.
func (c *Context) Free(p uintptr) status.Status {
	at := c.locate(p)
	if at.where == inHeap && at.Kind == heap.Live && heldAtZero(process.heap.Record(at.Record)) {
		if IsCell(process.heap.Record(at.Record)) {
			return c.failPlace(p, at)
		}
		return c.freeZero(p, object{process.heap.Record(at.Record), layout.Entry{Object: p, Record: at.Record,
			Gen: at.Gen}})
	}
	return c.handle(p,
		func(o object) status.Status {
			n, floating := tally(o.Record)
			if n == floating {
				return c.dropAll(p, o, n)
			}
			return c.Fail(status.Busy, textReferenced, p, uint64(n))
		},
		func() status.Status {
			ended, res := process.registry.Forget(p)
			if res == registry.Gone {
				c.freeForeign(ended)
				return status.OK
			}
			if res == registry.Refused {
				return c.Fail(status.Busy, textReferenced, p, uint64(process.registry.Count(p)))
			}
			return c.foreign(p, res)
		})
}

func (c *Context) dropAll(p uintptr, o object, n int64) status.Status {
	st := status.OK
	for ; n > 0 && st == status.OK; n-- {
		st = c.dropAt(p, o)
	}
	return st
}

// freeZero disposes of an object that DecRef brought to zero. Its fields are the
// caller's; a Vec's element table is ours.
func (c *Context) freeZero(p uintptr, o object) status.Status {
	if isShared(o.typ()) {
		c.kill(o.Record, o.Entry) // its deleter or its blocks are nobody else's to call or to release
		return status.OK
	}
	if !atomic.CompareAndSwapUint32(&o.Sh, layout.ShAlive|layout.ShMerged, 0) {
		return c.orDead(p, status.NotLive)
	}
	if o.TypeFlags&layout.TypeMask == layout.TypeVec {
		c.freeVecData(p)
	}
	c.recycle(o.Record, o.Entry)
	return status.OK
}

// heldAtZero tells an object that dec_ref brought to zero and nobody freed yet.
func heldAtZero(r *layout.Record) bool {
	return atomic.LoadUint32(&r.Sh) == layout.ShAlive|layout.ShMerged
}

// IsUnique reports whether p has one reference, which this thread or the shared word counts. Memory of a stack has its
// scope's alone, and is nobody's to change.
func (c *Context) IsUnique(p uintptr) bool {
	one := false
	c.handle(p,
		func(o object) status.Status {
			loc := atomic.LoadUint32(&o.Loc)
			one = references(o.Record) == 1 && (c.owns(loc) || layout.LocCountOf(loc) == 0)
			return status.OK
		},
		func() status.Status {
			n := process.registry.Count(p)
			if one = n == 1; n <= 0 {
				return c.notForeign(p, &n)
			}
			return status.OK
		})
	return one
}

// Refcount returns the references of p, -1 when it is not live, 0 for NULL.
func (c *Context) Refcount(p uintptr) int64 {
	n := int64(-1)
	st := c.handle(p,
		func(o object) status.Status { n = references(o.Record); return status.OK },
		func() status.Status {
			n = process.registry.Count(p)
			if n <= 0 {
				return c.notForeign(p, &n)
			}
			return status.OK
		})
	switch {
	case p == 0:
		return 0
	case n < 0 && st == status.OK:
		return 1 // the caller's live stack memory: held by its scope
	}
	return n
}

// Check tells what p is: OK for a live object, live stack memory and NULL.
func (c *Context) Check(p uintptr) status.Status {
	return c.handle(p,
		func(object) status.Status { return status.OK },
		func() status.Status {
			n := process.registry.Count(p)
			if n > 0 {
				return status.OK
			}
			return c.notForeign(p, &n)
		})
}

// notForeign is the error of an address that is not a live registered one: never
// known (n < 0), or brought to zero by dec_ref (n becomes -1).
func (c *Context) notForeign(p uintptr, n *int64) status.Status {
	if *n < 0 {
		return c.failPlace(p, place{where: elsewhere})
	}
	*n = -1
	return c.Fail(status.NotLive, textZero, p)
}

// Share turns bias off for an object of the calling context.
func (c *Context) Share(p uintptr) status.Status {
	return c.handle(p,
		func(o object) status.Status {
			if st := c.share(o.Record); st != status.OK {
				return c.Fail(st, textNotOwner, p, uint64(layout.LocOwner(atomic.LoadUint32(&o.Loc))))
			}
			return status.OK
		},
		func() status.Status { return c.shareForeign(p) })
}

// MakeImmortal freezes the count: no release will ever free the object.
func (c *Context) MakeImmortal(p uintptr) status.Status {
	return c.handle(p,
		func(o object) status.Status {
			_, done := updateSh(o.Record, func(s layout.Sh) (layout.Sh, bool) {
				s.Flags |= layout.ShImmortal
				return s, s.Has(layout.ShAlive)
			})
			if !done {
				return c.orDead(p, status.NotLive)
			}
			return status.OK
		},
		func() status.Status { return c.foreign(p, process.registry.Immortal(p)) })
}
