package object

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const frameAlign = 64

// bump takes n bytes of the frame stack, aligned to 64; 0 when they do not fit.
func (c *Context) bump(n uint64) uintptr {
	at := memory.Round(c.Frame.Top, frameAlign)
	if at > c.Frame.End || n > uint64(c.Frame.End-at) {
		c.Fail(status.ArenaExhausted, textFrameFull, 0, n, uint64(c.Frame.Top-c.Frame.Base),
			uint64(c.Frame.End-c.Frame.Base))
		return 0
	}
	c.Frame.Top = at + uintptr(n)
	return at
}

// FunctionEnter opens a scope and a frame of n empty slots.
func (c *Context) FunctionEnter(n int64) status.Status {
	if n < 0 {
		return c.Fail(status.InvalidArgument, textNegative, 0, uint64(n))
	}
	if n > layout.MarkSlots {
		return c.Fail(status.Limit, textSlots, 0, layout.MarkSlots, uint64(n))
	}
	before := c.Frame.Top
	if st := c.pushMark(layout.MarkFunction, uint32(n)); st != status.OK {
		return st
	}
	table := c.bump(uint64(n) * layout.SlotBytes)
	if table == 0 {
		c.MarkTop -= layout.MarkBytes
		c.Frame.Top = before
		return status.Status(c.Error.Status)
	}
	clear(layout.Bytes(table, uint64(n)*layout.SlotBytes))
	c.enterFunction(c.OpenMarks())
	return status.OK
}

// enterFunction makes the function whose mark is number n (from 1) the current
// one; 0 is none. Its slot table is where its frame begins.
func (c *Context) enterFunction(n uint64) {
	c.Function = n
	if n == 0 {
		c.Floor, c.Slots, c.SlotTable = 0, 0, 0
		return
	}
	m := c.OpenMark(n - 1)
	c.Floor = c.entriesBelow(m)
	c.Slots = uint64(m.Kind & layout.MarkSlots)
	c.SlotTable = memory.Round(m.FrameTop, frameAlign)
}

// FunctionTarget returns the marks left after FunctionExit.
func (c *Context) FunctionTarget() (uint64, status.Status) {
	if c.Function == 0 {
		return 0, c.Fail(status.NoFrame, textNoFunction, 0)
	}
	return c.Function - 1, status.OK
}

// FunctionExit closes the scopes and planned frames that the function left open,
// then its own scope and frame.
func (c *Context) FunctionExit() status.Status {
	target, st := c.FunctionTarget()
	if st == status.OK {
		c.closeAndDrain(target)
	}
	return st
}

// GetBuffer returns the slot's buffer, making it when it is missing. A buffer that
// is too small grows where it stands if it ends at the top of the frame stack.
// Otherwise a larger one replaces it, and it stays valid until the function exits.
func (c *Context) GetBuffer(slot, n int64) uintptr {
	s, st := c.slotAt(slot)
	if st != status.OK {
		return 0
	}
	if n < 0 {
		c.Fail(status.InvalidArgument, textNegative, 0, uint64(n))
		return 0
	}
	if n == 0 {
		return c.null()
	}
	if s.Bytes < uint64(n) && !c.growSlot(s, uint64(n)) {
		return 0
	}
	return s.Buffer
}

// growSlot gives a slot n bytes, more than it has. A buffer that moves grows by
// half at least, so that all buffers of a slot together are a few times as large as
// the last; if half more does not fit, it gets n bytes.
func (c *Context) growSlot(s *layout.Slot, n uint64) bool {
	at := s.Buffer
	if at != 0 && at+uintptr(s.Bytes) == c.Frame.Top && n <= uint64(c.Frame.End-at) {
		c.Frame.Top = at + uintptr(n)
	} else {
		more, top := s.Bytes+s.Bytes/2, memory.Round(c.Frame.Top, frameAlign)
		if top <= c.Frame.End && more <= uint64(c.Frame.End-top) {
			n = max(n, more)
		}
		if at = c.bump(n); at == 0 {
			return false
		}
	}
	c.pinFrames()
	*s = layout.Slot{Buffer: at, Bytes: n}
	return true
}

// pinFrames keeps the frame stack where it is when the planned frames open in
// this function close: a slot's new buffer lies above them and lives longer.
func (c *Context) pinFrames() {
	for n := c.OpenMarks(); n > c.Function; n-- {
		if m := c.OpenMark(n - 1); m.Kind>>layout.MarkKindShift == layout.MarkPlanned {
			m.Kind |= pinned
		}
	}
}

// pinned stands in the slot bits of a planned frame's mark.
const pinned = 1

func (c *Context) slotAt(slot int64) (*layout.Slot, status.Status) {
	if c.Function == 0 {
		return nil, c.Fail(status.NoFrame, textNoFunction, 0)
	}
	if slot < 0 || uint64(slot) >= c.Slots {
		return nil, c.Fail(status.SlotOutOfRange, textSlotRange, 0, uint64(slot), c.Slots)
	}
	return layout.At[layout.Slot](c.SlotTable + uintptr(slot)*layout.SlotBytes), status.OK
}

// FrameEnter opens a planned frame: n bytes at once, 64-byte aligned.
func (c *Context) FrameEnter(n uintptr) uintptr {
	if c.MarkTop == c.MarkEnd {
		c.Fail(status.ArenaExhausted, textMarksFull, 0, c.OpenMarks())
		return 0
	}
	before := c.Frame.Top
	at := c.bump(uint64(n))
	if at == 0 {
		return 0
	}
	after := c.Frame.Top
	c.Frame.Top = before
	c.pushMark(layout.MarkPlanned, 0)
	c.Frame.Top = after
	return at
}

// FrameTarget returns the marks left after FrameExit: the newest planned frame of
// this function goes, with the scopes opened in it.
func (c *Context) FrameTarget() (uint64, status.Status) {
	for n := c.OpenMarks(); n > c.Function; n-- {
		if c.OpenMark(n-1).Kind>>layout.MarkKindShift == layout.MarkPlanned {
			return n - 1, status.OK
		}
	}
	return 0, c.Fail(status.NoFrame, textNoPlanned, 0)
}
