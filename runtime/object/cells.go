package object

import (
	"sync/atomic"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// The slow path of cells; cshim/object/cells.c is the fast one, and has the protocol of the count.

const headBytes = layout.CellHeadBytes

// IsCell tells the record of a cell from that of an object which tl_ptr_dec_ref has brought to zero.
func IsCell(r *layout.Record) bool {
	return heldAtZero(r) && atomic.LoadUint32(&r.Loc) == layout.LocCell
}

// CellCount returns the references of the cell in a slot, or that their count has overflowed.
func CellCount(slot uintptr) (count int32, stuck bool) {
	count = int32(atomic.LoadUint32(&headAt(slot).Count))
	return max(count, -count), isStuck(count)
}

// CellIn returns the cell in a slot.
func CellIn(slot uintptr) uintptr { return slot + headBytes }

func headAt(slot uintptr) *layout.CellHead { return layout.At[layout.CellHead](slot) }

// isStuck: no operation leaves 0.
func isStuck(count int32) bool { return count < -layout.CellMost || count == 0 }

// NewCell returns a cell of n bytes. A call frees it, so that its end is told where this was. With TL_DEBUG each
// operation makes a call, as with a cell that is shared.
func (c *Context) NewCell(n uintptr) uintptr { return c.newCell(n, layout.TypePlain) }

func (c *Context) newCell(n uintptr, typ uint32) uintptr {
	if uint64(n) > process.g.HeapBytes {
		return c.failAlloc(status.OutOfMemory, uint64(n))
	}
	e, zero, st := c.takeAligned(n+headBytes, 1)
	if st != status.OK {
		return c.failAlloc(st, uint64(n))
	}
	count := int32(1)
	if process.debug != nil {
		count = -1
	}
	r := process.heap.Record(e.Record)
	if typ != layout.TypePlain {
		if !zero {
			core.Clear(e.Object, uint64(n+headBytes))
		}
		c.countTyped(typ, e)
		atomic.StoreUint32(&r.TypeFlags, typ)
	}
	*headAt(e.Object) = layout.CellHead{Count: uint32(count)}
	publish(r, layout.LocCell, layout.ShCell)
	return e.Object + headBytes
}

// cellAt finds the live cell at p, if there is one.
func (c *Context) cellAt(p uintptr) (o object, ok bool) {
	start := p - headBytes
	at := c.locate(start)
	if p < headBytes || at.where != inHeap || at.Kind != heap.Live {
		return o, false
	}
	r := process.heap.Record(at.Record)
	return object{r, layout.Entry{Object: start, Record: at.Record, Gen: at.Gen}}, IsCell(r)
}

// cell returns the live cell at p; ok is false for NULL, and where the error is recorded.
func (c *Context) cell(p uintptr) (o object, ok bool, st status.Status) {
	if p == 0 {
		return o, false, status.OK
	}
	if o, ok = c.cellAt(p); ok {
		return o, true, status.OK
	}
	start := p - headBytes
	at := c.locate(start)
	if at.where == inHeap && at.Kind == heap.Live {
		return o, false, c.Fail(status.InteriorPointer, textNoCell, p)
	}
	if at.where == inHeap && at.Kind == heap.Dead {
		return o, false, c.failPlace(start, at)
	}
	if at = c.locate(p); at.where == inHeap && at.Kind != heap.Live {
		return o, false, c.failPlace(p, at)
	}
	return o, false, c.Fail(status.UnknownPointer, textNoCell, p)
}

// changeCount changes the count of the cell at p until it sticks; change returns false to leave it.
func (c *Context) changeCount(p uintptr, change func(n int32) (int32, bool)) (before int32, st status.Status) {
	o, ok, st := c.cell(p)
	if !ok {
		return 0, st
	}
	return o.changeCount(change), status.OK
}

func (o object) changeCount(change func(n int32) (int32, bool)) (before int32) {
	word := &headAt(o.Entry.Object).Count
	for {
		before = int32(atomic.LoadUint32(word))
		after, changed := change(before)
		if !changed || atomic.CompareAndSwapUint32(word, uint32(before), uint32(after)) {
			return before
		}
	}
}

// DupCell adds a reference.
func (c *Context) DupCell(p uintptr) status.Status {
	_, st := c.changeCount(p, func(n int32) (int32, bool) {
		if n > 0 {
			return n + 1, true
		}
		return n - 1, !isStuck(n)
	})
	return st
}

// IsCellUnique reports whether there is one reference.
func (c *Context) IsCellUnique(p uintptr) bool {
	n, _ := c.changeCount(p, func(n int32) (int32, bool) { return n, false })
	return n == 1 || n == -1
}

// DropCell drops a reference that is not the last one, and reports whether it is the last one.
func (c *Context) DropCell(p uintptr) bool {
	n, _ := c.changeCount(p, dropped)
	return n == 1 || n == -1
}

// dropped is a count with a reference fewer that is not the last one.
func dropped(n int32) (int32, bool) {
	if n > 0 {
		return n - 1, n > 1
	}
	return n + 1, n < -1 && !isStuck(n)
}

// FreeCell frees a cell that has one reference.
func (c *Context) FreeCell(p uintptr) status.Status {
	o, ok, st := c.cell(p)
	if !ok {
		return st
	}
	if n := int32(atomic.LoadUint32(&headAt(o.Object).Count)); n != 1 && n != -1 {
		if n < 0 && !isStuck(n) {
			n = -n
		}
		return c.Fail(status.Busy, textCellHeld, p, uint64(n))
	}
	if !c.endCell(o) {
		return c.orDead(o.Object, status.NotLive)
	}
	return status.OK
}

// endCell ends a cell whose only reference is the caller's; false: it was ended already.
func (c *Context) endCell(o object) bool {
	if !atomic.CompareAndSwapUint32(&o.Loc, layout.LocCell, 0) {
		return false
	}
	if o.typ() != layout.TypePlain {
		c.queueDestruction(o.Record, o.Entry)
		return true
	}
	atomic.StoreUint32(&o.Sh, 0)
	c.recycle(o.Record, o.Entry)
	return true
}
