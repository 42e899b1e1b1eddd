package object

import (
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
)

// Endings are foreign blocks that nobody refers to any more and that a C function
// frees: a deleter, or operator delete. It is called as destructors are, by the
// entry guard, from C and with no lock held, so that it may call back. A context's endings
// are linked through process.endings, first in first out; 0 ends the list.
type endings struct {
	mu   sync.Mutex // guards the rest; nothing is called under it
	all  []ending   // all[0] is none
	free uint32
}

type ending struct {
	function, pointer, ctx uintptr
	arguments              uint32
	next                   uint32
}

func (s *endings) take(e ending) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		if len(s.all) == 0 {
			s.all = append(s.all, ending{})
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
func (s *endings) give(i uint32) ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all[i]
	s.all[i] = ending{next: s.free}
	s.free = i
	return e
}

func (s *endings) link(last, next uint32) {
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
	case ended.Returned:
		c.traceForeignGone(ended.Pointer, ended.Bytes)
	}
}

// freeForeign frees a block that nobody refers to any more, by its kind. What free()
// does not take waits for the entry guard, a few instructions from here.
func (c *Context) freeForeign(ended registry.Ended) {
	if ended.Pointer == 0 {
		return // one name of several
	}
	c.ForeignFreed++
	if !ended.Returned {
		c.traceForeignGone(ended.Pointer, ended.Bytes)
	}
	e := ending{function: ended.Deleter, pointer: ended.Pointer, ctx: ended.Ctx, arguments: 2}
	switch ended.Kind {
	case layout.ForeignMalloc, layout.ForeignAligned:
		if process.cfg.Free != nil {
			process.cfg.Free(ended.Pointer)
		}
		return
	case layout.ForeignNewArray, layout.ForeignNewScalar:
		e.function, e.arguments = process.cfg.Deleter(ended.Kind), 1
	}
	c.appendEndings(process.endings.take(e))
}

// appendEndings adds a list of one.
func (c *Context) appendEndings(i uint32) {
	if c.Ending == 0 {
		c.Ending = i
	} else {
		process.endings.link(c.EndingLast, i)
	}
	c.EndingLast = i
}

// nextEnding asks the entry guard for the oldest one's call. It leaves the list first: what
// the function does, it is called once.
func (c *Context) nextEnding() {
	e := process.endings.give(c.Ending)
	c.Ending = e.next
	c.Callback, c.CallbackObject, c.CallbackContext = e.function, e.pointer, e.ctx
	c.CallbackArguments = e.arguments
}

func (c *Context) moveEndings(me *Context) {
	if c.Ending == 0 {
		return
	}
	last := c.EndingLast
	me.appendEndings(c.Ending)
	me.EndingLast = last
	c.Ending, c.EndingLast = 0, 0
}
