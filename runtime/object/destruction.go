package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The destruction queue: dead objects whose fields are still to be released, first in
// first out, linked through their records, so that a chain of ten million needs
// neither stack nor memory.
//
//	loc = link bits 28..31 << 16 | record number in its block     (owner 0: matches nobody)
//	sh  = link bits 0..27 << 4                     (not ALIVE: dead to everybody)

func setLink(r *layout.Record, next uint32) {
	atomic.StoreUint32(&r.Loc, r.Loc&0xFFFF|next>>28<<16)
	atomic.StoreUint32(&r.Sh, next<<4)
}

func nextToDestroy(r *layout.Record) uint32 { return r.Sh>>4 | r.Loc>>16<<28 }

func (me *Context) queueDestruction(r *layout.Record, e layout.Entry) {
	atomic.StoreUint32(&r.Loc, process.heap.PlaceInBlock(e.Record))
	setLink(r, 0)
	if me.Draining.DestroyFirst == 0 {
		me.Draining.DestroyFirst = e.Record
	} else {
		setLink(process.heap.Record(me.Draining.DestroyLast), e.Record)
	}
	me.Draining.DestroyLast = e.Record
}

func (c *Context) hasToDestroy() bool { return c.Draining.DestroyFirst|c.Draining.DeleterFirst != 0 }

// moveDestruction hands c's dying objects and pending deleter calls to me.
func (c *Context) moveDestruction(me *Context) {
	if c == me {
		return
	}
	c.moveDeleters(me)
	if c.Draining.DestroyFirst == 0 {
		return
	}
	if me.Draining.DestroyFirst == 0 {
		me.Draining.DestroyFirst = c.Draining.DestroyFirst
	} else {
		setLink(process.heap.Record(me.Draining.DestroyLast), c.Draining.DestroyFirst)
	}
	me.Draining.DestroyLast = c.Draining.DestroyLast
	c.Draining.DestroyFirst, c.Draining.DestroyLast = 0, 0
}

// DrainStep works on the destruction queue and the pending deleter calls until both are empty or a C
// function has to be called: then it returns true with Callback set, and goes on
// from there the next time, whatever the function did.
func (c *Context) DrainStep() bool {
	for c.Draining.Arguments == 0 && c.hasToDestroy() {
		if c.Draining.DestroyFirst == 0 {
			c.nextDeleter()
			continue
		}
		r := process.heap.Record(c.Draining.DestroyFirst)
		class := r.Gen & 0xFF
		object := process.heap.Locate(c.Draining.DestroyFirst, r.Loc&0xFFFF, class)
		if r.TypeFlags&layout.RecordDestroyed == 0 {
			atomic.StoreUint32(&r.TypeFlags, r.TypeFlags|layout.RecordDestroyed)
			if c.wantsCall(r.TypeFlags&layout.TypeMask, object) {
				return true
			}
		}
		e := layout.Entry{Object: object, Record: c.Draining.DestroyFirst, Gen: r.Gen}
		c.Draining.DestroyFirst = nextToDestroy(r)
		c.dismantle(r.TypeFlags&layout.TypeMask, object)
		atomic.StoreUint32(&r.Loc, 0)
		atomic.StoreUint32(&r.Sh, 0)
		c.recycle(r, e)
	}
	return c.Draining.Arguments != 0
}

// callNext leaves what the drain calls next, with so many arguments.
func (c *Context) callNext(call layout.Callback, arguments uint32) {
	c.Draining.Callback, c.Draining.Arguments = call, arguments
}

func (c *Context) wantsCall(typ uint32, object uintptr) bool {
	if typ == layout.TypeTensor {
		if f, data, context := tensors.Deleter(object); f != 0 {
			c.callNext(layout.Callback{Function: f, Object: data, Context: context}, 2)
			return true
		}
		return false
	}
	t := process.types.get(typ)
	switch {
	case t == nil:
		return false
	case t.OnDestroy != nil:
		c.Draining.Active++
		t.OnDestroy(object)
		c.Draining.Active--
	case t.Destructor != 0:
		c.callNext(layout.Callback{Function: t.Destructor, Object: object, Context: t.Context}, 1)
		if t.Context != 0 {
			c.Draining.Arguments = 2
		}
		return true
	}
	return false
}

// dismantle releases what an object refers to.
func (c *Context) dismantle(typ uint32, object uintptr) {
	switch typ {
	case layout.TypeVec:
		c.dismantleVec(object)
	case layout.TypeTensor:
		tensors.Dismantle(c, object)
	case layout.TypeSparse:
		c.dismantleSparse(object)
	default:
		if t := process.types.get(typ); t != nil {
			for _, offset := range t.Offsets {
				if p := *field(object + offset); t.OfCells {
					c.dropCellField(CellIn(object), offset-layout.CellOffset, t.Name, p)
				} else {
					c.dropFieldOf(object, offset, t.Name, p)
				}
			}
			if t.Vec != nil {
				c.dismantleShape(t, object)
			}
		}
	}
}

// Drain finishes every dying object, up to the first C function where nobody can
// call one from here: then the C path's entry guard goes on with that call.
func (c *Context) Drain() {
	if c.Draining.Active != 0 {
		return
	}
	c.Draining.Active = 1
	for c.DrainStep() && CallC != nil {
		CallC(c)
		c.Draining.Arguments = 0
	}
	c.Draining.Active = 0
}

// CallC calls the C function that a context's drain asks for. The C path does it
// from C instead; it stays nil there.
var CallC func(c *Context)

func (c *Context) releaseForeignField(p uintptr) {
	c.touch(p)
	ended, res := process.registry.Release(p)
	c.dropped(ended, res)
}
