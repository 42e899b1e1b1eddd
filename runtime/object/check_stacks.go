package object

import (
	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// CheckStacks verifies what a context has open, each by a way of its own. It is the
// caller's, or nobody uses it.
//
//	marks:   entries and frame bytes below a mark never fall; the current function, its
//	         floor and its slots are those of the newest function's mark
//	entries: holes == entries that were taken out
//	index:   chain(p) == the positions below Indexed whose entry is p, newest first
//	slots:   buffers lie in the frame stack, below its top
func (c *Context) CheckStacks() error {
	k := stackChecker{c: c}
	k.bounds()
	if k.Err() == nil {
		k.marks()
		k.entries()
		k.index()
		k.slots()
	}
	return k.Err()
}

type stackChecker struct {
	invariant.Found
	c *Context
}

func (k *stackChecker) bounds() {
	c := k.c
	within := func(what string, from, top, end uintptr, unit uintptr) {
		k.Want(from <= top && top <= end && (top-from)%unit == 0, "context %d: %s from %#x to %#x, room to %#x", c.Id,
			what, from, top, end)
	}
	within("entries", c.Entries, c.Top, c.End, layout.EntryBytes)
	if c.Warm == 0 {
		k.Want(c.End == c.endOfEntries(), "context %d: the entries end at %#x, not %#x", c.Id, c.End, c.endOfEntries())
	} else {
		within("warm places", c.End, c.Warm, c.endOfEntries(), layout.EntryBytes)
		k.Want(c.Warm-c.End <= layout.WarmEntries*layout.EntryBytes, "context %d: warm places from %#x to %#x", c.Id,
			c.End, c.Warm)
	}
	within("marks", c.Marks, c.MarkTop, c.MarkEnd, layout.MarkBytes)
	within("frames", c.Frame.Base, c.Frame.Top, c.Frame.End, 1)
	within("the arena", c.Arena.Base, c.Arena.Top, c.Arena.End, 1)
	k.Want(c.Arena.Base == 0 && c.Arena.End == 0 || c.Arena.Base == c.address()+uintptr(process.g.ArenaOffset) &&
		uint64(c.Arena.End-c.Arena.Base) <= process.g.ArenaCapacity, "context %d: an arena from %#x to %#x", c.Id,
		c.Arena.Base, c.Arena.End)
	k.Want(c.Tracking.Tags <= layout.MaxTags, "context %d: %d tags", c.Id, c.Tracking.Tags)
}

func (k *stackChecker) marks() {
	c := k.c
	before := layout.Mark{Top: c.Entries, FrameTop: c.Frame.Base}
	function, planned := uint64(0), uint64(0)
	for i := range c.OpenMarks() {
		m := *c.OpenMark(i)
		kind := m.Kind >> layout.MarkKindShift
		if kind == layout.MarkScope { // has neither a frame nor a function of its own
			m.FrameTop, m.Outer = before.FrameTop, uint32(function)
		}
		k.Want(m.Top >= before.Top && m.FrameTop >= before.FrameTop && (m.Top-c.Entries)%layout.EntryBytes == 0,
			"context %d: mark %d is %+v, the one below %+v", c.Id, i, m, before)
		k.Want(uint64(m.Outer) == function, "context %d: mark %d is in function %d, not %d", c.Id, i, function, m.Outer)
		switch kind {
		case layout.MarkFunction:
			function = i + 1
		case layout.MarkPlanned:
			planned++
		case layout.MarkScope:
		default:
			k.Want(false, "context %d: mark %d is %+v", c.Id, i, m)
		}
		arena := c.address() + uintptr(process.g.ArenaOffset)
		k.Want(m.Kind&layout.MarkArena == 0 || uint64(m.ArenaTop-arena) <= process.g.ArenaCapacity,
			"context %d: the arena at %#x, mark %d is %+v", c.Id, arena, i, m)
		before = m
	}
	k.Want(c.ArenaMark != c.MarkTop || c.OpenMarks() == 0 || c.OpenMark(c.OpenMarks()-1).Kind&layout.MarkArena != 0,
		"context %d: arena_mark is mark_top, but mark %d keeps no top of the arena", c.Id, c.OpenMarks()-1)
	k.Want(before.Top <= c.Top && before.FrameTop <= c.Frame.Top, "context %d: entries to %#x, frames to %#x, below %+v",
		c.Id, c.Top, c.Frame.Top, before)
	k.Want(function == c.Function && planned == c.Planned, "context %d: function %d, %d planned frames, counted %d, %d",
		c.Id, function, planned,
		c.Function, c.Planned)
	var floor, slots uint64
	var table uintptr
	if function != 0 {
		m := c.OpenMark(function - 1)
		floor, slots = c.entriesBelow(m), uint64(m.Kind&layout.MarkSlots)
		table = memory.Round(m.FrameTop, frameAlign)
	}
	k.Want(c.Floor == floor && c.Slots == slots && c.SlotTable == table,
		"context %d: floor %d, %d slots at %#x, not %d, %d at %#x", c.Id,
		c.Floor, c.Slots, c.SlotTable, floor, slots, table)
}

func (k *stackChecker) entries() {
	c, holes := k.c, uint64(0)
	for i := range c.entryCount() {
		if e := c.entry(i); e.Object == 0 {
			holes++
			k.Want(e.Record == layout.Foreign, "context %d: the hole %d has record %d", c.Id, i, e.Record)
		}
	}
	k.Want(holes == c.Holes, "context %d: %d holes, counted %d", c.Id, holes, c.Holes)
}

// index follows the chain of every pointer that has a position below Indexed: entries are
// visited from the newest one down, and each is the one that is due in its chain.
func (k *stackChecker) index() {
	c := k.c
	k.Want(c.Index.Below <= c.entryCount() && (c.Index.Slots != 0 || c.Index.Below == 0),
		"context %d: %d entries indexed of %d, at %#x", c.Id, c.Index.Below,
		c.entryCount(), c.Index.Slots)
	if c.Index.Slots == 0 {
		return
	}
	due := map[uintptr]uint32{} // what the slot or the link above says: older | 1 + position
	for i := min(c.Index.Below, c.entryCount()); i > 0; i-- {
		e := c.entry(i - 1)
		if e.Object == 0 {
			continue
		}
		word, seen := due[e.Object]
		if !seen {
			word = k.head(e)
		}
		k.Want(uint64(word&positionMask) == i, "context %d: entry %d of %#x, its chain goes on with %d", c.Id, i-1,
			e.Object,
			int64(word&positionMask)-1)
		due[e.Object] = 0
		if word&older != 0 {
			due[e.Object] = *c.link(i - 1)
		}
	}
	for p, word := range due {
		k.Want(word&positionMask == 0, "context %d: the chain of %#x goes on with %d", c.Id, p, word&positionMask-1)
	}
	used := 0
	for i := range c.Index.Mask + 1 {
		if c.indexSlot(i).pointer != 0 {
			used++
		}
	}
	k.Want(used == len(due), "context %d: %d slots of the index are in use, for %d pointers", c.Id, used, len(due))
}

// head returns what the index knows of a pointer's newest entry.
func (k *stackChecker) head(e *layout.Entry) uint32 {
	s := k.c.probe(e.Object)
	if s == nil {
		k.Want(false, "context %d: %#x is not in the index", k.c.Id, e.Object)
		return 0
	}
	k.Want(s.gen == e.Gen, "context %d: %#x has generation %#x, in the index %#x", k.c.Id, e.Object, e.Gen, s.gen)
	return s.position &^ passedMask
}

func (k *stackChecker) slots() {
	c := k.c
	for i := range c.Slots {
		s := layout.At[layout.Slot](c.SlotTable + uintptr(i)*layout.SlotBytes)
		k.Want(s.Bytes == 0 || s.Buffer >= c.Frame.Base && s.Buffer <= c.Frame.Top &&
			s.Bytes <= uint64(c.Frame.Top-s.Buffer),
			"context %d: slot %d has %d bytes at %#x, frames from %#x to %#x", c.Id, i, s.Bytes, s.Buffer, c.Frame.Base,
			c.Frame.Top)
	}
}
