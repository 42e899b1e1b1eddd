package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// OpenMarks returns how many scopes, functions and planned frames are open.
func (c *Context) OpenMarks() uint64 { return uint64(c.MarkTop-c.Marks) / layout.MarkBytes }

// OpenMark returns the mark of one of them, the oldest first.
func (c *Context) OpenMark(i uint64) *layout.Mark {
	return layout.At[layout.Mark](c.Marks + uintptr(i)*layout.MarkBytes)
}

func (c *Context) entryCount() uint64 { return uint64(c.Top-c.Entries) / layout.EntryBytes }

func (c *Context) entry(i uint64) *layout.Entry {
	return layout.At[layout.Entry](c.Entries + uintptr(i)*layout.EntryBytes)
}

// entriesBelow returns how many entries are older than what m opened.
func (c *Context) entriesBelow(m *layout.Mark) uint64 {
	return uint64(m.Top-c.Entries) / layout.EntryBytes
}

// push records a reference in the current scope; the caller has checked for room.
func (c *Context) push(e layout.Entry) {
	*layout.At[layout.Entry](c.Top) = e
	c.Top += layout.EntryBytes
}

// pushMark opens a scope, a function or a planned frame.
func (c *Context) pushMark(kind, slots uint32) status.Status {
	if c.MarkTop == c.MarkEnd {
		return c.Fail(status.ArenaExhausted, textMarksFull, 0, c.OpenMarks())
	}
	*layout.At[layout.Mark](c.MarkTop) = layout.Mark{
		Top:      c.Top,
		FrameTop: c.Frame.Top,
		Kind:     kind<<layout.MarkKindShift | slots,
		Outer:    uint32(c.Function),
	}
	c.MarkTop += layout.MarkBytes
	if kind == layout.MarkPlanned {
		c.Planned++
	}
	if Tracing.Load() {
		recorder.Opened(c, markNames[kind])
	}
	if process.debug != nil {
		process.debug.Entered(c)
	}
	return status.OK
}

// EnterScope opens a scope.
func (c *Context) EnterScope() status.Status { return c.pushMark(layout.MarkScope, 0) }

func (c *Context) depth() uint64 { return c.OpenMarks() - c.Planned }

// Depth returns the number of open scopes, those of functions included.
func (c *Context) Depth() int64 { return int64(c.depth()) }

// ExitTarget returns the number of marks that is left after ExitScope, or why
// there is no scope to leave: none is open, or the newest thing open is a function
// or a planned frame.
func (c *Context) ExitTarget() (uint64, status.Status) {
	n := c.OpenMarks()
	if n == 0 {
		return 0, c.Fail(status.ScopeUnderflow, textNoScope, 0)
	}
	switch c.OpenMark(n-1).Kind >> layout.MarkKindShift {
	case layout.MarkFunction:
		return 0, c.Fail(status.ScopeUnderflow, textFunctionScope, 0)
	case layout.MarkPlanned:
		return 0, c.Fail(status.ScopeUnderflow, textPlannedOpen, 0)
	}
	return n - 1, status.OK
}

// DepthTarget returns the number of marks that leaves depth scopes open.
func (c *Context) DepthTarget(depth int64) (uint64, status.Status) {
	if depth < 0 {
		return 0, c.Fail(status.InvalidArgument, textNegative, 0, uint64(depth))
	}
	if uint64(depth) > c.depth() {
		return 0, c.Fail(status.ScopeUnderflow, textDepth, 0, uint64(depth), c.depth())
	}
	n := c.OpenMarks()
	for open := c.depth(); open > uint64(depth); n-- {
		if c.OpenMark(n-1).Kind>>layout.MarkKindShift != layout.MarkPlanned {
			open--
		}
	}
	return n, status.OK
}

// CloseTo leaves scopes, functions and planned frames, newest first, until
// target are open. It returns true when a destructor has to run first: the caller
// drains the destruction queue and calls again. Each entry is popped before it is released and
// the top read again afterwards, since a destructor may have opened scopes or
// registered objects; the mark goes last.
func (c *Context) CloseTo(target uint64) (again bool) {
	for n := c.OpenMarks(); n > target; n = c.OpenMarks() {
		m := c.OpenMark(n - 1)
		for c.Top > m.Top {
			c.Top -= layout.EntryBytes
			e := *layout.At[layout.Entry](c.Top)
			if c.Index.Below > c.entryCount() {
				c.popped(e)
			}
			c.releaseEntry(c, e)
			if c.hasToDestroy() && c.Draining.Active == 0 {
				return true
			}
		}
		c.popMark()
	}
	return false
}

// popMark forgets the newest mark and restores what it kept: the arena where it
// has changed, the frame stack when a function or a planned frame ends.
func (c *Context) popMark() {
	c.MarkTop -= layout.MarkBytes
	m := *layout.At[layout.Mark](c.MarkTop)
	if m.Kind&layout.MarkArena != 0 {
		c.Arena.Top, c.ArenaMark = min(c.Arena.Top, m.ArenaTop), 0
	}
	kind := m.Kind >> layout.MarkKindShift
	if kind == layout.MarkPlanned {
		c.Planned--
	}
	if kind == layout.MarkFunction || kind == layout.MarkPlanned && m.Kind&pinned == 0 {
		c.Frame.Top = m.FrameTop
	}
	if kind == layout.MarkFunction {
		c.enterFunction(uint64(m.Outer))
	}
	if Tracing.Load() {
		recorder.Closed(c)
	}
}

// markNames are the names of marks in a trace.
var markNames = [...]string{layout.MarkScope: "scope", layout.MarkFunction: "function",
	layout.MarkPlanned: "planned frame"}

// Close is CloseTo for the C path: when a destructor has to run it leaves word in
// the context, and the entry guard drains the destruction queue and calls again.
func (c *Context) Close(target uint64) {
	if c.CloseTo(target) {
		c.CloseTarget, c.Unfinished = target, 1
	}
}

// closeAndDrain is CloseTo for Go programs: destructors run here.
func (c *Context) closeAndDrain(target uint64) {
	for c.CloseTo(target) {
		c.Drain()
	}
	c.Drain()
}

// The C path's twins: they end in Close.

// LeaveScope, LeaveScopesTo, LeaveFunction and LeaveFrame are ExitScope,
// ExitScopesTo, FunctionExit and FrameExit up to the first destructor.
func (c *Context) LeaveScope() status.Status { return c.leaveNewest(c.ExitTarget()) }

// LeaveScopesTo also starts the drain again that a longjmp has left standing.
func (c *Context) LeaveScopesTo(depth int64) status.Status { return c.leave(c.DepthTarget(depth)) }

// LeaveFunction leaves the newest function.
func (c *Context) LeaveFunction() status.Status { return c.leaveNewest(c.FunctionTarget()) }

// LeaveFrame leaves the newest planned frame.
func (c *Context) LeaveFrame() status.Status { return c.leaveNewest(c.FrameTarget()) }

// leaveNewest is leave for who names no depth, and so can only mean what it has entered itself.
func (c *Context) leaveNewest(target uint64, st status.Status) status.Status {
	if st == status.OK && process.debug != nil {
		process.debug.Leaving(c, target, c.MarkName(target))
	}
	return c.leave(target, st)
}

// MarkName names what a mark has opened.
func (c *Context) MarkName(mark uint64) string {
	return markNames[c.OpenMark(mark).Kind>>layout.MarkKindShift]
}

func (c *Context) leave(target uint64, st status.Status) status.Status {
	if st == status.OK {
		c.Close(target)
	}
	return st
}

// ReleaseEntry releases a reference that a scope of c held.
func (c *Context) ReleaseEntry(e layout.Entry) { c.releaseEntry(c, e) }

// ExitScope leaves the newest scope and releases what is registered in it,
// newest first.
func (c *Context) ExitScope() status.Status {
	target, st := c.ExitTarget()
	if st == status.OK {
		c.closeAndDrain(target)
	}
	return st
}

// releaseEntry releases the reference that a scope of c held. An object that was
// freed by hand has another generation: its entry is skipped and counted.
func (c *Context) releaseEntry(me *Context, e layout.Entry) {
	if e.Object == 0 {
		if c.Holes > 0 {
			c.Holes--
		}
		return
	}
	if e.Record == layout.Foreign {
		me.releaseForeignEntry(e)
		return
	}
	r := process.heap.Record(e.Record)
	out := dead
	if atomic.LoadUint32(&r.Gen) == e.Gen {
		out = c.drop(me, r, e)
	}
	switch out {
	case zero:
		me.kill(r, e)
	case dead:
		me.Skipped++
		if process.debug != nil {
			process.debug.DeadEntry(me, e)
		}
	}
}

func (c *Context) releaseForeignEntry(e layout.Entry) {
	c.touchEntry(e)
	ended, res := process.registry.ReleaseEntry(e.Object, e.Gen)
	c.dropped(ended, res)
	if res == registry.Stale || res == registry.Miss {
		c.Skipped++
	}
}
