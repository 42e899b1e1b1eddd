package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// vec is the payload of a Vec. Its element table is a heap slot of its own whose
// record stays dead, so that no user pointer can be taken for it. A program can
// scribble over its Vec, so the table is checked at every use.
type vec struct{ layout.VecPayload }

const (
	minVec = 4
	maxVec = ^uint64(0) / 8 // elements whose bytes can be counted
)

// VecNew returns a Vec for object pointers, registered in the current scope.
func (c *Context) VecNew(capacity uintptr) uintptr {
	if uint64(capacity) > maxVec {
		c.Fail(status.InvalidArgument, textVecSize, 0, uint64(capacity))
		return 0
	}
	p := c.makeObject(layout.VecPayloadBytes, layout.TypeVec, true)
	if p == 0 || capacity == 0 {
		return p
	}
	if st := c.growVec(layout.At[vec](p), uint64(capacity)); st != status.OK {
		c.Unregister(p)
		c.Free(p)
		c.failAlloc(st, uint64(capacity)*8)
		return 0
	}
	return p
}

// vecAt returns the Vec at p.
func (c *Context) vecAt(p uintptr) (*vec, status.Status) {
	at := c.locate(p)
	if at.where != inHeap || at.Kind != heap.Live { // also one at zero: its elements are the caller's to release
		if st := c.Check(p); st != status.OK {
			return nil, st
		}
		return nil, c.Fail(status.Unsupported, textNotVec, p)
	}
	v := layout.At[vec](p)
	if process.heap.Record(at.Record).TypeFlags&layout.TypeMask != layout.TypeVec || !v.sound() {
		return nil, c.Fail(status.Unsupported, textNotVec, p)
	}
	return v, status.OK
}

// sound checks the header against the element table's record.
//
//	len <= cap, cap * 8 <= bytes of the table
func (v *vec) sound() bool {
	if v.Data.Object == 0 {
		return v.Len == 0 && v.Cap == 0
	}
	at := process.heap.Find(v.Data.Object)
	if at.Start != v.Data.Object || at.Record != v.Data.Record || at.Gen != v.Data.Gen {
		return false
	}
	r := process.heap.Record(at.Record)
	return r.TypeFlags == layout.TypeVecData && v.Len <= v.Cap && v.Cap <= process.heap.Size(v.Data.Object)/8
}

func (v *vec) at(i uint64) *uintptr { return layout.At[uintptr](v.Data.Object + uintptr(i)*8) }

// growVec makes room for n elements.
func (c *Context) growVec(v *vec, n uint64) status.Status {
	if n <= v.Cap {
		return status.OK
	}
	n = max(n, 2*v.Cap, minVec)
	if n > process.g.HeapBytes/8 {
		return status.OutOfMemory
	}
	e, _, st := c.take(uintptr(n) * 8)
	if st != status.OK {
		return st
	}
	c.ownTable(e)
	old := v.Data
	if v.Len > 0 {
		copy(layout.Slice[uintptr](e.Object, v.Len), layout.Slice[uintptr](old.Object, v.Len))
	}
	v.Data, v.Cap = e, usable(e)/8
	c.recycleData(old)
	return status.OK
}

// ownTable makes a slot memory that belongs to another object.
func (c *Context) ownTable(e layout.Entry) {
	c.countTyped(layout.TypeVecData, e)
	process.heap.Record(e.Record).TypeFlags = layout.TypeVecData
}

// recycleData gives such a slot back.
func (c *Context) recycleData(e layout.Entry) {
	if e.Object != 0 {
		c.recycle(process.heap.Record(e.Record), e)
	}
}

// freeVecData frees the element table without looking at the elements.
func (c *Context) freeVecData(p uintptr) {
	if v := layout.At[vec](p); v.sound() {
		c.recycleData(v.Data)
		*v = vec{}
	}
}

// dismantleVec releases the elements, last first, and the table.
func (c *Context) dismantleVec(p uintptr) {
	v := layout.At[vec](p)
	if !v.sound() {
		return
	}
	for v.Len > 0 {
		v.Len--
		element := *v.at(v.Len)
		c.lookAtField(p, uintptr(v.Len)*8, VecType, element, true)
		c.dropField(element)
	}
	c.freeVecData(p)
}

// VecPush appends an element and acquires it.
func (c *Context) VecPush(p, element uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	v, st := c.vecAt(p)
	if st != status.OK {
		return st
	}
	if st := c.growVec(v, v.Len+1); st != status.OK {
		c.failAlloc(st, (v.Len+1)*8)
		return st
	}
	if st := c.Acquire(element); st != status.OK {
		return st
	}
	*v.at(v.Len) = element
	v.Len++
	return status.OK
}

// VecGet returns element i, borrowed.
func (c *Context) VecGet(p, i uintptr) uintptr {
	if p == 0 {
		return c.null()
	}
	v, st := c.vecIndex(p, i)
	if st != status.OK {
		return 0
	}
	if e := *v.at(uint64(i)); e != 0 {
		return e
	}
	return c.null()
}

func (c *Context) vecIndex(p, i uintptr) (*vec, status.Status) {
	v, st := c.vecAt(p)
	if st == status.OK && uint64(i) >= v.Len {
		st = c.Fail(status.InvalidArgument, textVecIndex, 0, uint64(i), v.Len)
	}
	return v, st
}

// VecSet replaces element i: the new one is acquired, then the old one released.
func (c *Context) VecSet(p, i, element uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	v, st := c.vecIndex(p, i)
	if st != status.OK {
		return st
	}
	if st := c.Acquire(element); st != status.OK {
		return st
	}
	old := *v.at(uint64(i))
	*v.at(uint64(i)) = element
	c.dropField(old)
	return status.OK
}

// VecPop removes the last element; the Vec's reference becomes floating.
func (c *Context) VecPop(p uintptr) uintptr {
	if p == 0 {
		return c.null()
	}
	v, st := c.vecAt(p)
	if st != status.OK {
		return 0
	}
	if v.Len == 0 {
		c.Fail(status.InvalidArgument, textVecEmpty, p)
		return 0
	}
	e := *v.at(v.Len - 1)
	if e == 0 {
		v.Len--
		return c.null()
	}
	if st := c.floatElement(e); st != status.OK {
		return 0
	}
	v.Len--
	return e
}

func (c *Context) floatElement(p uintptr) status.Status {
	return c.handle(p,
		func(o object) status.Status {
			if st := c.float(o.Record); st != status.OK {
				return c.Fail(st, textFloats, p)
			}
			return status.OK
		},
		func() status.Status {
			known, _ := process.registry.Info(p)
			c.touch(p)
			ended, res := process.registry.Float(p, known.Gen)
			c.dropped(ended, res)
			return c.foreign(p, res)
		})
}

// VecLen returns the number of elements, -1 when p is no Vec, 0 for NULL.
func (c *Context) VecLen(p uintptr) int64 {
	if p == 0 {
		return 0
	}
	v, st := c.vecAt(p)
	if st != status.OK {
		return -1
	}
	return int64(v.Len)
}

// VecReserve makes room for n elements in all.
func (c *Context) VecReserve(p, n uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	v, st := c.vecAt(p)
	if st != status.OK {
		return st
	}
	if uint64(n) > maxVec {
		return c.Fail(status.InvalidArgument, textVecSize, p, uint64(n))
	}
	if st := c.growVec(v, uint64(n)); st != status.OK {
		c.failAlloc(st, uint64(n)*8)
		return st
	}
	return status.OK
}

// VecClear releases every element, last first, and keeps the room.
func (c *Context) VecClear(p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	v, st := c.vecAt(p)
	if st != status.OK {
		return st
	}
	for v.Len > 0 {
		v.Len--
		c.dropField(*v.at(v.Len))
	}
	return status.OK
}

// elementsOf returns the record's elements for the walkers of clone and cycles.
func elementsOf(p uintptr) []uintptr {
	v := layout.At[vec](p)
	if !v.sound() || v.Len == 0 {
		return nil
	}
	return layout.Slice[uintptr](v.Data.Object, v.Len)
}

// fieldsOf calls visit with the address of every reference that an object holds.
func fieldsOf(r *layout.Record, p uintptr, visit func(slot *uintptr)) {
	fieldsOfType(atomic.LoadUint32(&r.TypeFlags)&layout.TypeMask, p, visit)
}

// fieldsOfType is fieldsOf for what has a type and perhaps no record.
func fieldsOfType(typ uint32, p uintptr, visit func(slot *uintptr)) {
	switch typ {
	case layout.TypePlain, layout.TypeTensor, layout.TypeSparse, layout.TypeVecData:
	case layout.TypeVec:
		elements := elementsOf(p)
		for i := range elements {
			visit(&elements[i])
		}
	default:
		if t := process.types.get(typ); t != nil {
			for _, offset := range t.Offsets {
				visit(field(p + offset))
			}
			if t.Vec != nil {
				t.elements(p, visit)
			}
		}
	}
}
