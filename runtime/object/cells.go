package object

import (
	"sync/atomic"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// The slow path of cells; cshim/object/cells.c is the fast one, and has the protocol of the count. A plain cell of a
// class of cells has no record; others have the slot of an object.

// IsCell tells the record of a cell from that of an object which tl_ptr_dec_ref has brought to zero.
func IsCell(r *layout.Record) bool {
	return heldAtZero(r) && atomic.LoadUint32(&r.Loc) == layout.LocCell
}

// CellCount returns the references of a live cell, or that their count has overflowed.
func CellCount(cell uintptr) (count int32, stuck bool) {
	count = int32(atomic.LoadUint32(&heap.CellHead(cell).Count))
	return max(count, -count), isStuck(count)
}

// CellIn returns the cell in the slot of an object.
func CellIn(slot uintptr) uintptr { return slot + layout.CellOffset }

// cellIn returns the cell that a place is in, and whether it lives; 0: it is in the slot of something else.
func cellIn(at place) (cell uintptr, live bool) {
	small := at.Start + layout.CellHeadBytes
	if class, live := process.heap.CellAt(small); class != 0 {
		return small, live
	}
	if at.Kind != heap.Live && at.Kind != heap.Interior || !IsCell(process.heap.Record(at.Record)) {
		return 0, false
	}
	return CellIn(at.Start), true
}

// isStuck: no operation leaves 0.
func isStuck(count int32) bool { return count < -layout.CellMost || count == 0 }

// cell is a live cell: the class of its slot, or the object whose slot it has.
type cell struct {
	address uintptr
	class   uint32
	object
}

// NewCell returns a cell of n bytes. What is recorded or checked has the slot of an object, so that its end is told
// where this was, and with TL_DEBUG each operation makes a call, as with a cell that is shared.
func (c *Context) NewCell(n uintptr) uintptr {
	class := layout.CellClassOf(n)
	if class == 0 || process.debug != nil {
		return c.newCell(n, layout.TypePlain)
	}
	if c.count(class) {
		atomic.StoreUint64(&c.Magazines[class].Allocs, c.Magazines[class].Allocs-1)
		c.arm(class)
		return c.newRecordedCell(n, class)
	}
	e, st := c.slot(class)
	if isShort(st) {
		st = c.reclaimFor(process.g.Classes[class].Mask+1, st, func() (st status.Status) {
			e, st = c.slot(class)
			return st
		})
	}
	limit.Settle(limit.CPU)
	if st != status.OK {
		atomic.StoreUint64(&c.Magazines[class].Allocs, c.Magazines[class].Allocs-1)
		return c.failAlloc(st, uint64(n))
	}
	usdt.Allocate(e.Object, n)
	*heap.CellHead(e.Object) = layout.CellHead{Count: 1}
	return e.Object
}

// newRecordedCell makes the cell that its class has drawn as a sample.
func (c *Context) newRecordedCell(n uintptr, class uint32) uintptr {
	c.Tracking.Pending &^= PendingRecords
	p := c.newCell(n, layout.TypePlain)
	// The object's class drew none.
	if o, ok := c.cellAt(p); ok && c.Tracking.Pending&PendingRecords == 0 && isRecording() {
		recorder.Object(c, o.Entry, uint64(n+layout.CellOffset), uint64(process.g.Classes[class].Size))
	}
	return p
}

// newCell makes a cell in the slot of an object.
func (c *Context) newCell(n uintptr, typ uint32) uintptr {
	if uint64(n) > process.g.HeapBytes {
		return c.failAlloc(status.OutOfMemory, uint64(n))
	}
	e, zero, st := c.takeAligned(n+layout.CellOffset, 1)
	if st != status.OK {
		return c.failAlloc(st, uint64(n))
	}
	count := int32(1)
	if process.debug != nil {
		count = -1
	}
	r, p := process.heap.Record(e.Record), CellIn(e.Object)
	if typ != layout.TypePlain {
		if !zero {
			core.Clear(e.Object, uint64(n+layout.CellOffset))
		}
		c.countTyped(typ, e)
		atomic.StoreUint32(&r.TypeFlags, typ)
	}
	*heap.CellHead(p) = layout.CellHead{Count: uint32(count)}
	publish(r, layout.LocCell, layout.ShCell)
	return p
}

// cellAt finds the live cell at p, if there is one.
func (c *Context) cellAt(p uintptr) (found cell, ok bool) {
	if class, live := process.heap.CellAt(p); class != 0 {
		return cell{address: p, class: class}, live
	}
	start := p - layout.CellOffset
	at := c.locate(start)
	if p < layout.CellOffset || at.where != inHeap || at.Kind != heap.Live {
		return found, false
	}
	r := process.heap.Record(at.Record)
	o := object{r, layout.Entry{Object: start, Record: at.Record, Gen: at.Gen}}
	return cell{address: p, object: o}, IsCell(r)
}

// cell returns the live cell at p; ok is false for NULL, and where the error is recorded.
func (c *Context) cell(p uintptr) (o cell, ok bool, st status.Status) {
	if p == 0 {
		return o, false, status.OK
	}
	if o, ok = c.cellAt(p); ok {
		return o, true, status.OK
	}
	if class, _ := process.heap.CellAt(p); class != 0 {
		return o, false, c.Fail(status.NotLive, textDead, p)
	}
	start := p - layout.CellOffset
	at := c.locate(start)
	if at.where == inHeap && at.Kind == heap.Live {
		return o, false, c.Fail(status.InteriorPointer, textNoCell, p)
	}
	if at.where == inHeap && at.Kind == heap.Dead && !layout.IsCellClass(process.heap.ClassOf(start)) {
		return o, false, c.failPlace(p, at)
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

func (o cell) changeCount(change func(n int32) (int32, bool)) (before int32) {
	word := &heap.CellHead(o.address).Count
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
	n := int32(atomic.LoadUint32(&heap.CellHead(p).Count))
	if n != 1 && n != -1 {
		if _, live := c.cellAt(p); !live { // what was read is no count: another thread has ended it meanwhile
			return c.Fail(status.NotLive, textDead, p)
		}
		if n < 0 && !isStuck(n) {
			n = -n
		}
		return c.Fail(status.Busy, textCellHeld, p, uint64(n))
	}
	if !c.endCell(o) {
		return c.Fail(status.NotLive, textDead, p)
	}
	return status.OK
}

// endCell ends a cell whose only reference is the caller's; false: it was ended already.
func (c *Context) endCell(o cell) bool {
	if o.class != 0 {
		return c.endSmallCell(o)
	}
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

func (c *Context) endSmallCell(o cell) bool {
	word := &heap.CellHead(o.address).Count
	n := atomic.LoadUint32(word)
	if int32(n) != 1 && int32(n) != -1 || !atomic.CompareAndSwapUint32(word, n, 0) {
		return false
	}
	usdt.Free(o.address)
	if Tracing.Load() { // it was told as live when the trace began
		recorder.Rested(c, layout.Entry{Object: o.address, Record: process.heap.Find(o.address).Record})
	}
	c.giveSlot(layout.Entry{Object: o.address, Gen: o.class})
	return true
}
