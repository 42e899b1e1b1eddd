package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// cloner copies a graph of objects breadth first: sharing and cycles inside what
// it copies are kept, because each object is copied once and found again by its
// record. Tensors, sparse matrices and foreign memory without a type are shared by count. A block of
// malloc's with a type is found again by its record of the registry.
type cloner struct {
	c    *Context
	todo memory.Array[pair]
	st   status.Status

	wanted uint64 // bytes that there was no memory for
}

type pair struct {
	old uintptr
	new layout.Entry
}

// DeepClone copies p and everything it refers to, registered in the current scope.
func (c *Context) DeepClone(p uintptr) uintptr {
	if p == 0 {
		return c.null()
	}
	if st := c.Check(p); st != status.OK {
		return 0
	}
	at := c.locate(p)
	o, ok := at.object(p)
	if at.where == inLiveStack {
		c.Fail(status.Unsupported, textCopyOut, p)
		return 0
	}
	if at.where == elsewhere && isTypedBlock(p) {
		return c.cloneGraph(p, func(k *cloner) layout.Entry { return k.copyOfBlock(p) })
	}
	if at.where != inHeap || !ok || isShared(o.typ()) {
		return c.shareInScope(p, at)
	}
	return c.cloneGraph(p, func(k *cloner) layout.Entry { return k.copyOf(p, o) })
}

// shareInScope is what a clone of what is shared is: one more
// reference, held by the scope; floating ones stay with whoever has them.
func (c *Context) shareInScope(p uintptr, at place) uintptr {
	if !c.hasRoomFor(p) {
		return 0
	}
	if c.Acquire(p) != status.OK {
		return 0
	}
	e := layout.Entry{Object: p, Record: layout.Foreign}
	if at.where == inHeap {
		e = layout.Entry{Object: p, Record: at.Record, Gen: at.Gen}
	} else {
		known, _ := process.registry.Info(p)
		e.Gen = known.Gen
	}
	c.push(e)
	return p
}

func (c *Context) cloneGraph(p uintptr, first func(k *cloner) layout.Entry) uintptr {
	if !c.hasRoomFor(p) {
		return 0
	}
	if st := process.heap.Side().Begin(); st != status.OK {
		return c.failAlloc(st, 0)
	}
	k := cloner{c: c, todo: memory.NewArray[pair]("deep clone")}
	root := first(&k)
	for i := uint64(0); i < k.todo.Len() && k.st == status.OK; i++ {
		k.fill(*k.todo.At(i))
	}
	if k.st != status.OK {
		k.undo()
	}
	k.forget()
	k.todo.Free()
	process.heap.Side().End()
	if k.st != status.OK {
		c.Drain()
		if isShort(k.st) {
			c.failAlloc(k.st, k.wanted)
		}
		return 0
	}
	c.push(root)
	return root.Object
}

// copyOf returns the copy of an object, with one reference for the caller when the copy
// is new. The copy's fields are NULL until fill writes them. The list gets room for the copy
// first, and the record becomes live last: while the slot holds what its last owner left,
// no step can fail and no thread can look at the slot.
func (k *cloner) copyOf(p uintptr, o object) layout.Entry {
	if !k.todo.Push(pair{old: p}) {
		k.st = status.OutOfMemory
		return layout.Entry{}
	}
	size := usable(o.Entry)
	typ := o.TypeFlags & layout.TypeMask
	if typ == layout.TypeVec {
		size = layout.VecPayloadBytes
	}
	e, _, st := k.c.take(uintptr(size))
	if st != status.OK {
		k.todo.Pop()
		k.st, k.wanted = st, size
		return layout.Entry{}
	}
	k.todo.At(k.todo.Len() - 1).new = e
	process.heap.Side().At(o.Entry.Record).Value = uint64(k.todo.Len())
	process.heap.Side().At(e.Record).Flags = sideCopy
	copy(layout.Bytes(e.Object, size), layout.Bytes(p, size))
	if typ == layout.TypeVec {
		*layout.At[vec](e.Object) = vec{}
	} else if t := process.types.get(typ); t != nil {
		t.clear(e.Object)
	}
	k.c.enliven(e, typ)
	return e
}

// fill gives a copy its references.
func (k *cloner) fill(p pair) {
	typ := typeAt(p.new)
	if typ == layout.TypeVec {
		k.fillVec(p)
		return
	}
	if t := process.types.get(typ); t != nil {
		for _, offset := range t.Offsets {
			*field(p.new.Object + offset) = k.reference(*field(p.old + offset))
		}
		if t.Vec != nil {
			k.fillShape(t, p)
		}
	}
}

func (k *cloner) fillVec(p pair) {
	elements := elementsOf(p.old)
	v := layout.At[vec](p.new.Object)
	if st := k.c.growVec(v, uint64(len(elements))); st != status.OK {
		k.st = st
		return
	}
	for i, e := range elements {
		*v.at(uint64(i)) = k.reference(e)
		v.Len++
	}
}

// reference returns what stands in the copy for a reference of the original.
func (k *cloner) reference(p uintptr) uintptr {
	if p == 0 || k.st != status.OK {
		return 0
	}
	at := k.c.locate(p)
	o, ok := at.object(p)
	switch {
	case at.where == elsewhere && isTypedBlock(p):
		return k.referenceToBlock(p)
	case at.where == elsewhere:
		process.registry.Acquire(p)
		return p
	case at.where != inHeap:
		return p
	case !ok:
		k.st = k.c.failPlace(p, at)
		return 0
	case process.heap.Side().At(o.Entry.Record).Flags == sideCopy: // a copy has got the slot of a dead object
		k.st = k.c.orDead(p, status.NotLive)
		return 0
	}
	if isShared(o.typ()) {
		if k.st = k.c.orDead(p, k.c.retain(o.Record)); k.st != status.OK {
			return 0
		}
		return p
	}
	if seen := process.heap.Side().At(o.Entry.Record).Value; seen != 0 {
		e := k.todo.At(seen - 1).new
		k.c.retain(process.heap.Record(e.Record))
		return e.Object
	}
	return k.copyOf(p, o).Object
}

// undo takes the copies back, none of which anybody has seen: without destructors, and
// whatever they refer to each other.
func (k *cloner) undo() {
	for i := range k.todo.Len() {
		e := k.todo.At(i).new
		fieldsOfType(typeAt(e), e.Object, func(slot *uintptr) {
			if !isCopy(*slot) {
				k.c.dropField(*slot)
			}
		})
	}
	for i := range k.todo.Len() {
		k.discard(k.todo.At(i).new)
	}
}

func (k *cloner) discard(e layout.Entry) {
	typ := typeAt(e)
	if t := process.types.get(typ); t != nil && t.Vec != nil {
		if v, sound := contentsOf(t, e.Object, headerBytes(t, e.Object)); sound {
			k.c.freeShapeData(v)
		}
	}
	if e.Record == layout.Foreign {
		k.c.discardBlock(e)
		return
	}
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.Sh, 0)
	atomic.StoreUint32(&r.Loc, 0)
	if typ == layout.TypeVec {
		k.c.freeVecData(e.Object)
	}
	k.c.recycle(r, e)
}

func isCopy(p uintptr) bool {
	if !process.heap.Contains(p) {
		return process.registry.Side(p) == blockCopy
	}
	at := process.heap.Find(p)
	return at.Start == p && at.Record != 0 && process.heap.Side().At(at.Record).Flags == sideCopy
}
