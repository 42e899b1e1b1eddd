package object

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const arenaAlign = 64

// ArenaInit makes an arena of n bytes for this thread, of all that is reserved for
// n = 0. One that is active keeps its contents and takes the new capacity.
func (c *Context) ArenaInit(n int64) status.Status {
	switch {
	case n < 0:
		return c.Fail(status.InvalidArgument, textNegative, 0, uint64(n))
	case uint64(n) > process.g.ArenaCapacity:
		return c.Fail(status.Limit, textArenaCapacity, 0, uint64(n), process.g.ArenaCapacity)
	case n == 0:
		n = int64(process.g.ArenaCapacity)
	}
	if n < c.ArenaOffset() {
		return c.Fail(status.Busy, textArenaActive, 0, uint64(n), uint64(c.ArenaOffset()))
	}
	if c.Arena.Base == 0 {
		c.Arena.Base = c.address() + uintptr(process.g.ArenaOffset)
		c.Arena.Top = c.Arena.Base
	}
	c.Arena.End = c.Arena.Base + uintptr(n)
	return status.OK
}

// ArenaAlloc bumps the arena by n bytes, aligned to 64. The memory ends with the
// scope in which it was taken.
func (c *Context) ArenaAlloc(n int64) uintptr {
	switch {
	case n < 0:
		c.Fail(status.InvalidArgument, textNegative, 0, uint64(n))
		return 0
	case c.Arena.Base == 0:
		c.Fail(status.NoFrame, textNoArena, 0)
		return 0
	case n == 0:
		return c.null()
	}
	at := memory.Round(c.Arena.Top, arenaAlign)
	if at > c.Arena.End || uint64(n) > uint64(c.Arena.End-at) {
		c.Fail(status.ArenaExhausted, textArenaFull, 0, uint64(n), uint64(c.Arena.Top-c.Arena.Base),
			uint64(c.Arena.End-c.Arena.Base))
		return 0
	}
	c.noteArena()
	c.Arena.Top = at + uintptr(n)
	return at
}

// noteArena lets the newest mark keep the arena's top before the first change since that mark. layout.Mark
// says what a mark without MarkArena stands for.
func (c *Context) noteArena() {
	if n := c.OpenMarks(); n > 0 {
		keepArena(c.OpenMark(n-1), c.Arena.Top)
	}
	c.ArenaMark = c.MarkTop
}

// noteTopsAbove is noteArena for a change that takes the arena back to top, and may take what is older than the
// newest mark: marks that stand for a higher top keep it. An older mark without MarkArena stands for what the next
// newer one keeps, so the first that keeps no more than top ends the search.
func (c *Context) noteTopsAbove(top uintptr) {
	kept := c.Arena.Top
	for n := c.OpenMarks(); n > 0 && kept > top; n-- {
		kept = keepArena(c.OpenMark(n-1), kept)
	}
}

// keepArena returns the arena's top of when m was opened, which is m's own or else top.
func keepArena(m *layout.Mark, top uintptr) uintptr {
	if m.Kind&layout.MarkArena == 0 {
		m.ArenaTop = top
		m.Kind |= layout.MarkArena
	}
	return m.ArenaTop
}

// ArenaMalloc is ArenaAlloc while an arena is active and has room, and a floating
// heap object otherwise.
func (c *Context) ArenaMalloc(n int64) uintptr {
	if n < 0 {
		c.Fail(status.InvalidArgument, textNegative, 0, uint64(n))
		return 0
	}
	if at := memory.Round(c.Arena.Top, arenaAlign); c.Arena.Base != 0 && at <= c.Arena.End &&
		uint64(n) <= uint64(c.Arena.End-at) {
		return c.ArenaAlloc(n)
	}
	return c.Alloc(uintptr(n))
}

// ArenaFree ends the arena and gives its pages back.
func (c *Context) ArenaFree() status.Status {
	if c.Arena.Base == 0 {
		return status.OK
	}
	c.noteTopsAbove(c.Arena.Base)
	c.trim(c.Arena.Base, c.Arena.End)
	c.Arena.Base, c.Arena.Top, c.Arena.End = 0, 0, 0
	return status.OK
}

// ArenaReset empties the arena and keeps it.
func (c *Context) ArenaReset() status.Status {
	c.noteTopsAbove(c.Arena.Base)
	c.Arena.Top = c.Arena.Base
	return status.OK
}

// ArenaActive reports whether this thread has an arena.
func (c *Context) ArenaActive() bool { return c.Arena.Base != 0 }

// ArenaContains reports whether p is live memory of this thread's arena.
func (c *Context) ArenaContains(p uintptr) bool {
	return c.Arena.Base != 0 && p >= c.Arena.Base && p < c.Arena.Top
}

// ArenaOffset returns the bytes in use.
func (c *Context) ArenaOffset() int64 { return int64(c.Arena.Top - c.Arena.Base) }

// ArenaSetOffset gives back what was taken since the offset was read.
func (c *Context) ArenaSetOffset(offset int64) status.Status {
	if c.Arena.Base == 0 {
		return c.Fail(status.NoFrame, textNoArena, 0)
	}
	if offset < 0 || offset > c.ArenaOffset() {
		return c.Fail(status.InvalidArgument, textArenaOffset, 0, uint64(offset), uint64(c.ArenaOffset()))
	}
	top := c.Arena.Base + uintptr(offset)
	c.noteTopsAbove(top)
	c.Arena.Top = top
	return status.OK
}

// ArenaCapacity returns the size of the arena, 0 without one.
func (c *Context) ArenaCapacity() int64 { return int64(c.Arena.End - c.Arena.Base) }
