package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// What package sparse needs of contexts. A matrix counts like a tensor: it has no
// owner, so that its memory returns with the last reference, on any thread.

// FindSparse looks p up and returns the matrix there.
func (c *Context) FindSparse(p uintptr) (*layout.SparseHeader, status.Status) {
	at := c.locate(p)
	if at.where == inHeap {
		o, ok := at.object(p)
		if !ok {
			return nil, c.failPlace(p, at)
		}
		if o.typ() == layout.TypeSparse {
			if h := c.soundSparse(p); h != nil {
				return h, status.OK
			}
		}
		return nil, c.Fail(status.Unsupported, TextNotSparse, p)
	}
	if at.where == inLiveStack || at.where == elsewhere && process.registry.Count(p) >= 0 {
		return nil, c.Fail(status.Unsupported, TextNotSparse, p)
	}
	return nil, c.failPlace(p, at)
}

// soundSparse returns the header of the matrix at p, nil when something has written
// over it. A program can reach it, and the table is walked by its length.
func (c *Context) soundSparse(p uintptr) *layout.SparseHeader {
	h := layout.At[layout.SparseHeader](p)
	room := process.heap.Size(p)
	if room < layout.SparseHeaderBytes || h.Mark != uint64(p)^layout.SparseMark {
		return nil
	}
	if h.Parent != 0 {
		if parent := c.sparseParent(h.Parent); parent == nil || parent.Blocks != h.Blocks {
			return nil
		}
		return h
	}
	if h.Blocks > (room-layout.SparseHeaderBytes)/layout.SparsePartBytes {
		return nil
	}
	return h
}

// sparseParent returns the header of the matrix at p, which has a table of its own.
func (c *Context) sparseParent(p uintptr) *layout.SparseHeader {
	at := c.locate(p)
	if at.where != inHeap {
		return nil
	}
	o, ok := at.object(p)
	if !ok || o.typ() != layout.TypeSparse || layout.At[layout.SparseHeader](p).Parent != 0 {
		return nil
	}
	return c.soundSparse(p)
}

// TakeSparse obtains a slot of n bytes for a matrix; its record is dead still. No
// slot: Object 0, the error recorded.
func (c *Context) TakeSparse(n uintptr) layout.Entry {
	e, _, st := c.take(n)
	if st != status.OK {
		c.failAlloc(st, uint64(n))
		return layout.Entry{}
	}
	c.countTyped(layout.TypeSparse, e)
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.TypeFlags, layout.TypeSparse)
	atomic.StoreUint32(&r.Loc, 0)
	return e
}

// PushSparse makes a matrix live with one reference, which the current scope
// holds; the caller has asked HasRoom.
func (c *Context) PushSparse(e layout.Entry) {
	atomic.StoreUint32(&process.heap.Record(e.Record).Sh, unbiasedHeld)
	c.push(e)
}

// SlotBytes returns what the object at p occupies of the heap.
func (c *Context) SlotBytes(p uintptr) uint64 { return process.heap.Size(p) }

// SparseParts returns the table of the matrix at p.
func SparseParts(p uintptr, h *layout.SparseHeader) []layout.SparsePart {
	if h.Parent != 0 {
		p = h.Parent
	}
	return layout.Slice[layout.SparsePart](p+layout.SparseHeaderBytes, h.Blocks)
}

// dismantleSparse releases the blocks of a dying matrix. Those that die with it go
// onto the destruction queue, so that their number needs no stack.
func (c *Context) dismantleSparse(p uintptr) {
	h := c.soundSparse(p)
	if h == nil {
		return
	}
	if h.Parent != 0 {
		c.dropField(h.Parent)
		return
	}
	for i := range SparseParts(p, h) {
		c.dropField(SparseParts(p, h)[i].Holder)
	}
}

// isShared tells the kinds of objects whose clone is one more reference.
func isShared(typ uint32) bool { return typ == layout.TypeTensor || typ == layout.TypeSparse }
