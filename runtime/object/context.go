package object

import (
	"sync/atomic"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Context is a mutator: a C thread has one of its own, a Go program makes as
// many as it likes with NewContext. One goroutine or thread at a time may use it.
type Context struct{ layout.Context }

const contextBytes = unsafe.Sizeof(Context{})

// At returns the context at addr, an address the runtime gave out.
func At(addr uintptr) *Context { return layout.At[Context](addr) }

func (c *Context) address() uintptr { return layout.Address(c) }

// NewContext adopts a parked context or makes one. Its status is
// TL_E_OUT_OF_MEMORY when every slice is in use: the C path then shares the locked
// context, a Go program has too many open.
func NewContext() (*Context, status.Status) {
	if st := Open(Config{}); st != status.OK {
		return nil, st
	}
	c := adopt()
	if c == nil {
		c = process.slices.create()
	}
	if c == nil {
		return nil, status.OutOfMemory
	}
	c.HonourTracking()
	return c, status.OK
}

// ThreadOf returns the system's number of the thread that has the context with that number; 0: it is not known.
func ThreadOf(id uint32) uint32 {
	if id > process.slices.created.Load() {
		return 0
	}
	return process.slices.slice(id).ThreadNumber
}

// Shared returns the context of threads that have none of their own: exited
// ones, and those beyond the number of slices. Its objects are unbiased. The
// caller holds the lock that goes with it.
func Shared() *Context {
	s := &process.slices
	c := s.slice(0)
	if c.Self == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.prepare(c, 0)
		s.countIn(c)
		atomic.StoreUint64(&c.Word, layout.CtxActive)
	}
	return c
}

// adopt takes over a parked context, never a borrowed one, and finishes what its
// thread left.
func adopt() *Context {
	s := &process.slices
	if atomic.LoadUint32(&process.g.Parked) == 0 {
		return nil
	}
	for id := uint32(1); id <= s.created.Load(); id++ {
		c := s.slice(id)
		w := atomic.LoadUint64(&c.Word)
		if w&layout.CtxState != layout.CtxParked {
			continue
		}
		if atomic.CompareAndSwapUint64(&c.Word, w, w&^layout.CtxState|layout.CtxActive) {
			atomic.AddUint32(&process.g.Parked, ^uint32(0))
			atomic.StoreUint32(&c.Finished, 0)
			c.ThreadNumber = 0 // what follows is done by another one
			c.drain(c)
			c.noteLeftOpen()
			c.finish(c)
			c.reset()
			return c
		}
	}
	return nil
}

// Park gives the context up: its open scopes and inbox are finished by whoever
// comes next. The C path parks on its own when a thread ends.
func (c *Context) Park() {
	work := c.hasWork() // looked at before the context is given away
	for {
		w := atomic.LoadUint64(&c.Word)
		if atomic.CompareAndSwapUint64(&c.Word, w, w&^layout.CtxState|layout.CtxParked) {
			work = work || w>>2 != 0
			break
		}
	}
	atomic.AddUint32(&process.g.Parked, 1)
	if work {
		atomic.SwapUint32(&process.g.Reap, 1)
	}
}

// Finish ends a Go program's use of a context: its scopes are left, its memory goes
// back, and it is parked for the next NewContext.
func (c *Context) Finish() {
	c.drain(c)
	c.finish(c)
	c.Drain()
	c.returnMagazines()
	c.Park()
}

// Poll does what other threads ask of this context: releases that wait for the
// owner, contexts to reap, magazines to return.
func (c *Context) Poll() {
	c.drain(c)
	c.Reap()
	c.HonourPurge()
	c.HonourTracking()
}

func (c *Context) hasOpenScopes() bool { return c.MarkTop != c.Marks }

// noteLeftOpen has what an ended thread left open noted, if leaks are looked for; the
// caller has taken c over.
func (c *Context) noteLeftOpen() {
	if leftOpen != nil && c.hasOpenScopes() && atomic.LoadUint32(&process.g.LeakCheck) != layout.LeakCheckOff {
		leftOpen(c)
	}
}

func (c *Context) hasWork() bool {
	return atomic.LoadUint64(&c.Word)>>2 != 0 || c.Waiting != 0 || c.Top != c.Entries || c.hasToDestroy() ||
		c.hasOpenScopes()
}

// reset makes an adopted context look new: nothing open, no arena, no error.
func (c *Context) reset() {
	c.Arena.Base, c.Arena.Top, c.Arena.End = 0, 0, 0
	c.Draining.Active, c.Draining.Arguments, c.InGo = 0, 0, 0
	c.Error.Status, c.Error.MessageReady = 0, 0
	c.Tracking.Tags, c.Tracking.Sampled, c.Tracking.Pending = 0, 0, 0
}

// finish leaves every scope that c has open, and takes its dying objects over to me, who
// drains them. The caller holds c: it is its own, adopted or borrowed.
func (c *Context) finish(me *Context) {
	for c.Top > c.Entries {
		c.Top -= layout.EntryBytes
		c.releaseEntry(me, *layout.At[layout.Entry](c.Top))
	}
	for i := range c.OpenMarks() {
		if Tracing.Load() {
			recorder.Abandoned(c)
		}
		if m := c.OpenMark(i); m.Kind&layout.MarkArena != 0 {
			c.Arena.Top = min(c.Arena.Top, m.ArenaTop)
		}
	}
	c.ArenaMark = 0
	c.MarkTop, c.Planned, c.Holes = c.Marks, 0, 0
	c.enterFunction(0)
	c.dropIndex()
	c.trimStacks()
	c.Frame.Top = c.Frame.Base
	c.moveDestruction(me)
}

// Reap finishes what ended threads left behind; every slow call does it when the
// flag is up.
func (c *Context) Reap() {
	if !atomic.CompareAndSwapUint32(&process.g.Reap, 1, 0) {
		return
	}
	process.slices.each(func(p *Context) {
		w := atomic.LoadUint64(&p.Word)
		if w&layout.CtxState != layout.CtxParked || w>>2 == 0 && atomic.LoadUint32(&p.Finished) != 0 {
			return
		}
		if atomic.CompareAndSwapUint64(&p.Word, w, w&^layout.CtxState|layout.CtxBorrowed) {
			p.giveBack(c)
		}
	})
}

// giveBack does a borrowed context's work and parks it again; more may have been
// delivered meanwhile. Only the first borrower finds something open.
func (c *Context) giveBack(me *Context) {
	for {
		c.drain(me)
		if c.Finished == 0 {
			c.noteLeftOpen()
			c.finish(me)
			atomic.StoreUint32(&c.Finished, 1)
		}
		if atomic.CompareAndSwapUint64(&c.Word, layout.CtxBorrowed, layout.CtxParked) {
			return
		}
	}
}

// trimStacks gives the pages of emptied stacks back where they are worth a call.
func (c *Context) trimStacks() {
	c.Cool()
	c.trim(c.Top, c.endOfEntries())
}

// Trim drops the pages of the scope stack above its top. The fast path asks for
// it after leaving a scope of many objects.
func (c *Context) Trim() { c.trimStacks() }

func (c *Context) trim(from, to uintptr) {
	if memory.Instrumented {
		return
	}
	from = memory.Round(from, layout.SpanBytes)
	if to > from {
		memory.Purge(from, to-from)
	}
}
