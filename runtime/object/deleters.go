package object

import (
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
)

// Pending deleter calls are of foreign blocks that nobody refers to any more and that a C function
// frees: a deleter, or operator delete. It is called as destructors are, by the
// entry guard, from C and with no lock held, so that it may call back. A context's pending deleter calls
// are linked through process.deleterCalls, first in first out; 0 ends the list.
type deleterCalls struct {
	mu   sync.Mutex    // guards the rest; nothing is called under it
	all  []deleterCall // all[0] is none
	free uint32
}

type deleterCall struct {
	function, pointer, ctx uintptr
	arguments              uint32
	next                   uint32
}

func (s *deleterCalls) take(e deleterCall) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		if len(s.all) == 0 {
			s.all = append(s.all, deleterCall{})
		}
		s.all = append(s.all, e)
		return uint32(len(s.all) - 1)
	}
	i := s.free
	s.free = s.all[i].next
	s.all[i] = e
	return i
}

// give takes a node back and returns what it was.
func (s *deleterCalls) give(i uint32) deleterCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all[i]
	s.all[i] = deleterCall{next: s.free}
	s.free = i
	return e
}

func (s *deleterCalls) link(last, next uint32) {
	s.mu.Lock()
	s.all[last].next = next
	s.mu.Unlock()
}

// dropped does what follows from a reference to a registered block that is gone: it is
// freed, or the trace is told that the host has it back. Whether and when the host frees it
// nobody is told.
func (c *Context) dropped(ended registry.Ended, res registry.Result) {
	switch {
	case res == registry.Gone:
		c.freeForeign(ended)
	case ended.Returned && Tracing.Load():
		TraceHooks.ForeignGone(c, ended.Pointer, ended.Bytes)
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
		TraceHooks.ForeignGone(c, ended.Pointer, ended.Bytes)
	}
	e := deleterCall{function: ended.Deleter, pointer: ended.Pointer, ctx: ended.Ctx, arguments: 2}
	switch ended.Kind {
	case layout.ForeignMalloc, layout.ForeignAligned:
		if process.cfg.Free != nil {
			process.cfg.Free(ended.Pointer)
		}
		return
	case layout.ForeignNewArray, layout.ForeignNewScalar:
		e.function, e.arguments = process.cfg.Deleter(ended.Kind), 1
	}
	c.appendDeleters(process.deleterCalls.take(e))
}

// appendDeleters adds a list of one.
func (c *Context) appendDeleters(i uint32) {
	if c.DeleterFirst == 0 {
		c.DeleterFirst = i
	} else {
		process.deleterCalls.link(c.DeleterLast, i)
	}
	c.DeleterLast = i
}

// nextDeleter asks the entry guard for the oldest one's call. It leaves the list first: what
// the function does, it is called once.
func (c *Context) nextDeleter() {
	e := process.deleterCalls.give(c.DeleterFirst)
	c.DeleterFirst = e.next
	c.Callback, c.CallbackObject, c.CallbackContext = e.function, e.pointer, e.ctx
	c.CallbackArguments = e.arguments
}

func (c *Context) moveDeleters(me *Context) {
	if c.DeleterFirst == 0 {
		return
	}
	last := c.DeleterLast
	me.appendDeleters(c.DeleterFirst)
	me.DeleterLast = last
	c.DeleterFirst, c.DeleterLast = 0, 0
}
