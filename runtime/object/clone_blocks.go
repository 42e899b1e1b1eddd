package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// The part of a deep clone that is about blocks of malloc's with a type, and about a compiler's own
// Vecs. The copy of a block is another one of malloc's, of the same size and type.

// What the registry's record of a block says of it while a graph is cloned: 1 + the position of its
// copy in the list; or that it is a copy.
const blockCopy = 1 << 63

func isTypedBlock(p uintptr) bool {
	_, live := process.registry.TypedAt(p)
	return live
}

// typeAt returns the type of an object or of a block with a type.
func typeAt(e layout.Entry) uint32 {
	if e.Record == layout.Foreign {
		block, _ := process.registry.TypedAt(e.Object)
		return block.Type
	}
	return atomic.LoadUint32(&process.heap.Record(e.Record).TypeFlags) & layout.TypeMask
}

// clear sets the references of a new copy to NULL.
func (t *Type) clear(p uintptr) {
	for _, offset := range t.Offsets {
		*field(p + offset) = 0
	}
	if t.Vec != nil {
		t.Vec.write(p, contents{})
	}
}

// copyOfBlock is copyOf for a block.
func (k *cloner) copyOfBlock(p uintptr) layout.Entry {
	old, live := process.registry.TypedAt(p)
	t := process.types.get(old.Type)
	if !live || t == nil {
		k.st = k.c.foreign(p, registry.Stale)
		return layout.Entry{}
	}
	if !k.todo.Push(pair{old: p}) {
		k.st = status.OutOfMemory
		return layout.Entry{}
	}
	e, st := k.c.newBlock(old, t)
	if st != status.OK {
		k.todo.Pop()
		k.st, k.wanted = st, uint64(old.Bytes)
		return layout.Entry{}
	}
	k.todo.At(k.todo.Len() - 1).new = e
	process.registry.SetSide(p, k.todo.Len())
	process.registry.SetSide(e.Object, blockCopy)
	return e
}

// newBlock returns a block like another one, without its references; the caller holds the only one
// to it.
func (c *Context) newBlock(old registry.Typed, t *Type) (layout.Entry, status.Status) {
	if process.cfg.Malloc == nil {
		return layout.Entry{}, status.OutOfMemory
	}
	p := process.cfg.Malloc(old.Bytes)
	if p == 0 {
		return layout.Entry{}, status.OutOfMemory
	}
	copy(layout.Bytes(p, uint64(old.Bytes)), layout.Bytes(old.Pointer, uint64(old.Bytes)))
	t.clear(p)
	gen, res := process.registry.InsertTyped(p, old.Bytes, old.Type, c.Owner)
	if res != registry.OK {
		c.freeMalloc(p)
		return layout.Entry{}, status.OutOfMemory
	}
	c.ForeignAdopted++
	c.spendForeign(p, old.Bytes)
	return layout.Entry{Object: p, Record: layout.Foreign, Gen: gen}, status.OK
}

// referenceToBlock returns what stands in a copy for a reference to a block.
func (k *cloner) referenceToBlock(p uintptr) uintptr {
	seen := process.registry.Side(p)
	switch seen {
	case 0:
		return k.copyOfBlock(p).Object
	case blockCopy: // malloc has given the copy the memory of a dead block
		k.st = k.c.foreign(p, registry.Stale)
		return 0
	}
	e := k.todo.At(seen - 1).new
	k.c.acquireForeign(e.Object)
	return e.Object
}

// discardBlock frees a copy that nobody has seen.
func (c *Context) discardBlock(e layout.Entry) {
	process.registry.SetSide(e.Object, 0)
	if ended, res := process.registry.End(e.Object, e.Gen); res == registry.Gone {
		process.registry.SettleTyped(ended.Record)
		c.ForeignFreed++
		c.freeMalloc(e.Object)
	}
}

// forget takes back what the registry's records say of the blocks that were copied.
func (k *cloner) forget() {
	if !process.registry.HasTyped() {
		return
	}
	for i := range k.todo.Len() {
		if p := k.todo.At(i); p.new.Record == layout.Foreign {
			process.registry.SetSide(p.old, 0)
			process.registry.SetSide(p.new.Object, 0)
		}
	}
}

// fillShape gives the copy of a compiler's own Vec its elements. There is room for as many as there are.
func (k *cloner) fillShape(t *Type, p pair) {
	old, sound := contentsOf(t, p.old, headerBytes(t, p.old))
	if !sound {
		k.st = k.c.failContents(t, p.old)
		return
	}
	bytes := uintptr(old.length) * t.Vec.ElementBytes
	if bytes == 0 {
		return
	}
	v, st := k.c.newShapeData(old, bytes)
	if st != status.OK {
		k.st, k.wanted = st, uint64(bytes)
		return
	}
	copy(layout.Bytes(v.data, uint64(bytes)), layout.Bytes(old.data, uint64(bytes)))
	v.length, v.capacity = old.length, old.length
	t.Vec.write(p.new.Object, v)
	if len(t.Vec.references) == 0 {
		return
	}
	t.elements(p.new.Object, func(slot *uintptr) { *slot = 0 })
	for i := range v.length {
		for _, offset := range t.Vec.references {
			at := uintptr(i)*t.Vec.ElementBytes + offset
			*field(v.data + at) = k.reference(*field(old.data + at))
		}
	}
}
