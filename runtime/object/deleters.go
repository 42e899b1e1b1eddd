package object

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
)

// Pending deleter calls are of foreign blocks that nobody refers to any more and that a C function
// frees: a deleter, or operator delete. It is called as destructors are, by the
// entry guard, from C and with no lock held, so that it may call back. A context's pending deleter calls
// are linked through the records that the blocks have in the registry (cshim/registry/blocks.h),
// first in first out; 0 ends the list. cshim/object/deleters.c works on the same list. Blocks with a
// type (typed.go) are in it, too, until what they refer to is released.

// dropped does what follows from a reference to a registered block that is gone: it is
// freed, or the trace is told that the host has it back. Whether and when the host frees it
// nobody is told.
func (c *Context) dropped(ended registry.Ended, res registry.Result) {
	switch {
	case res == registry.Gone:
		c.freeForeign(ended)
	case ended.Returned && Tracing.Load():
		recorder.ForeignGone(c, ended.Pointer, ended.Bytes)
	}
}

// freeForeign frees a block that nobody refers to any more, by its kind. What free()
// does not take waits for the entry guard, a few instructions from here.
func (c *Context) freeForeign(ended registry.Ended) {
	if ended.Pointer == 0 {
		return // one alias of several
	}
	c.ForeignFreed++
	if !ended.Returned && Tracing.Load() {
		recorder.ForeignGone(c, ended.Pointer, ended.Bytes)
	}
	if ended.Record != 0 {
		c.appendDeleters(ended.Record)
		return
	}
	switch ended.Kind {
	case layout.ForeignMalloc:
		c.freeMalloc(ended.Pointer)
		return
	case layout.ForeignAligned:
		if process.cfg.AlignedFree != nil {
			process.cfg.AlignedFree(ended.Pointer)
		}
		return
	}
	if number := process.registry.Wait(ended); number != 0 {
		c.appendDeleters(number)
	} else if process.cfg.FreeNew != nil { // there is no memory, and operator delete throws nothing
		process.cfg.FreeNew(ended.Pointer, ended.Kind)
	}
}

func waiting(number uint32) *layout.BlockRecord { return process.registry.Waiting(number) }

// appendDeleters adds a list of one.
func (c *Context) appendDeleters(number uint32) {
	waiting(number).Next = 0
	if c.Draining.DeleterFirst == 0 {
		c.Draining.DeleterFirst = number
	} else {
		waiting(c.Draining.DeleterLast).Next = number
	}
	c.Draining.DeleterLast = number
}

// nextDeleter asks the entry guard for the oldest one's call. It leaves the list first: what
// the function does, it is called once.
func (c *Context) nextDeleter() {
	number := c.Draining.DeleterFirst
	if typ := registry.PendingType(waiting(number)); typ != 0 {
		c.nextTyped(number, typ)
		return
	}
	c.Draining.DeleterFirst = waiting(number).Next
	e := process.registry.Settle(number)
	c.callNext(layout.Callback{Function: e.Deleter, Object: e.Pointer, Context: e.Ctx}, 2)
	if e.Kind != layout.ForeignCustom {
		c.Draining.Callback.Function, c.Draining.Arguments = process.cfg.Deleter(e.Kind), 1
	}
}

func (c *Context) moveDeleters(me *Context) {
	if c.Draining.DeleterFirst == 0 {
		return
	}
	if me.Draining.DeleterFirst == 0 {
		me.Draining.DeleterFirst = c.Draining.DeleterFirst
	} else {
		waiting(me.Draining.DeleterLast).Next = c.Draining.DeleterFirst
	}
	me.Draining.DeleterLast = c.Draining.DeleterLast
	c.Draining.DeleterFirst, c.Draining.DeleterLast = 0, 0
}
