package object

import (
	"hash/maphash"
	"math"
	stdslices "slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Type describes the objects of a type: where their references are and what runs
// when one dies.
type Type struct {
	Name       string
	Size       uintptr
	Offsets    []uintptr // of pointer fields, ascending
	Destructor uintptr   // C function, 0 = none; called by the shim
	Context    uintptr   // not 0: what Destructor gets as its second argument
	OnDestroy  func(object uintptr)
	Vec        *VecShape // nil: no Vec
	OfCells    bool      // the type of slots with cells, whose heads are in front of the fields
}

// types is the table of defined types. Readers take no lock: a type stays where it
// is, and count is written after it.
type types struct {
	base    uintptr       // layout.TypeInfo by type
	limit   uint32        // types that there is room for
	count   atomic.Uint32 // of defined types
	chunks  [maxTypes / typeChunk]atomic.Pointer[[typeChunk]Type]
	mu      sync.Mutex        // guards writing, and what follows
	known   map[uint64]uint32 // hash of a definition, or the next number that is free -> type, from 0
	offsets []uint32          // free rest of the newest chunk, off the Go heap; chunks stay where they are
}

// maxTypes bounds what a defective program can make of the table. Where little may be
// mapped, there is room for fewer.
const maxTypes = 1 << 20

// Types stand on the Go heap in chunks of this many: a table that moved would be a
// large request now and then.
const typeChunk = 1 << 10

// open makes room for what the fast path reads of every type there can be.
func (t *types) open(g *layout.Globals) status.Status {
	t.limit = uint32(min(maxTypes, memory.AddressSpaceLeft()/64/layout.TypeInfoBytes))
	if memory.Instrumented {
		t.limit = 1 << 16
	}
	base, err := memory.Map(t.bytes(), "types")
	if err != nil {
		return status.OutOfMemory
	}
	t.base, g.Types, t.known = base, base, map[uint64]uint32{}
	return status.OK
}

func (t *types) bytes() uintptr {
	return memory.Round(uintptr(t.limit)*layout.TypeInfoBytes, layout.SpanBytes)
}

// close gives the table back. No type was defined.
func (t *types) close() {
	if t.base != 0 {
		memory.Unmap(t.base, t.bytes(), "types")
		t.base = 0
	}
}

// at returns type number n, from 0, which is defined.
func (t *types) at(n uint32) *Type { return &t.chunks[n/typeChunk].Load()[n%typeChunk] }

// info returns the fast path's view of type number n, from 0.
func (t *types) info(n uint32) *layout.TypeInfo {
	return layout.At[layout.TypeInfo](t.base + uintptr(n)*layout.TypeInfoBytes)
}

// defined returns the type that a program names; nil when it did not define it.
func (t *types) defined(id uint32) *Type {
	if ty := t.get(id); ty != nil && !ty.OfCells {
		return ty
	}
	return nil
}

// get returns the type that an object says it has, nil when there is none.
func (t *types) get(id uint32) *Type {
	if n := id - layout.TypeFirstUser; n < t.count.Load() { // below the first it wraps around
		return t.at(n)
	}
	return nil
}

// room returns n offsets' worth of memory that never moves.
func (t *types) room(n uint64) ([]uint32, error) {
	if uint64(len(t.offsets)) < n {
		bytes := memory.Round(uintptr(n*4), layout.SpanBytes)
		base, err := memory.Map(bytes, "types")
		if err != nil {
			return nil, err
		}
		t.offsets = layout.Slice[uint32](base, uint64(bytes)/4)
	}
	at := t.offsets[:n]
	t.offsets = t.offsets[n:]
	return at, nil
}

// publish writes the fast path's view of type number n.
func (t *types) publish(n uint32, ty *Type) bool {
	info := t.info(n)
	if len(ty.Offsets) > 0 {
		at, err := t.room(uint64(len(ty.Offsets)))
		if err != nil {
			return false
		}
		for i, offset := range ty.Offsets {
			at[i] = uint32(offset / 8)
		}
		info.Offsets = layout.Address(&at[0])
	}
	info.Fields = uint32(len(ty.Offsets))
	if ty.Vec != nil && !t.publishVec(info, ty.Vec) {
		return false
	}
	info.Destructor, info.Context = ty.Destructor, ty.Context
	info.Ends = ty.ends()
	if !ty.OfCells {
		info.Size = uint64(ty.Size)
	}
	return true
}

// ends tells what ends an object of the type.
func (t *Type) ends() uint32 {
	switch {
	case t.OfCells:
		return layout.EndsAsCell
	case t.OnDestroy != nil, t.Size >= 1<<34, len(t.Offsets) > layout.MostFields, t.Vec != nil && t.Destructor != 0:
		return layout.EndsInGo
	case t.Vec != nil:
		return layout.EndsAsVec
	case t.Destructor != 0:
		return layout.EndsWithCall
	}
	return layout.EndsSimply
}

// publishVec writes the fast path's view of a Vec's shape.
func (t *types) publishVec(info *layout.TypeInfo, v *VecShape) bool {
	n := uint64(len(v.references))
	t.offsets = t.offsets[len(t.offsets)%2:] // chunks are aligned, so what is left of one is for pairs
	at, err := t.room(layout.VecInfoBytes/4 + n)
	if err != nil {
		return false
	}
	references := at[layout.VecInfoBytes/4:]
	for i, offset := range v.references {
		references[i] = uint32(offset / 8)
	}
	info.Vec = layout.Address(&at[0])
	*layout.At[layout.VecInfo](info.Vec) = layout.VecInfo{Data: uint64(v.Data), Length: uint64(v.Length),
		Capacity: uint64(v.Capacity), ElementBytes: uint64(v.ElementBytes),
		References: info.Vec + layout.VecInfoBytes, Fields: uint32(n), NumberBytes: uint32(v.NumberBytes)}
	return true
}

// words are what tells a type from others, beside its name and its offsets.
func (t *Type) words() (w [10]uint64) {
	w[0], w[1], w[2] = uint64(t.Size), uint64(t.Destructor), uint64(t.Context)
	if v := t.Vec; v != nil {
		w[3], w[4], w[5], w[6] = uint64(v.Data), uint64(v.Length), uint64(v.Capacity), uint64(v.NumberBytes)
		w[7], w[8] = uint64(v.ElementBytes), uint64(v.Element)
		if v.Pointers {
			w[8] = math.MaxUint64
		}
	}
	if t.OfCells {
		w[9] = 1
	}
	return w
}

var typeSeed = maphash.MakeSeed()

func (t *Type) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(typeSeed)
	_, _ = h.WriteString(t.Name) // a hash takes whatever it gets
	words := t.words()
	_, _ = h.Write(layout.Bytes(layout.Address(&words[0]), uint64(unsafe.Sizeof(words))))
	if n := uint64(len(t.Offsets)); n > 0 {
		_, _ = h.Write(layout.Bytes(layout.Address(&t.Offsets[0]), n*8))
	}
	return h.Sum64()
}

// find returns the type that equals ty. Where there is none, key is where to note it.
// Go functions cannot be compared, so a type with one is never found.
func (t *types) find(ty *Type) (n uint32, key uint64, found bool) {
	words := ty.words()
	for key = ty.hash(); ; key++ {
		if n, found = t.known[key]; !found {
			return 0, key, false
		}
		if have := t.at(n); have.Name == ty.Name && have.words() == words && stdslices.Equal(have.Offsets, ty.Offsets) {
			return n, key, true
		}
	}
}

// add returns the number of a type: that of an equal one, or a new one.
func (t *types) add(ty *Type) (uint32, status.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var key uint64
	if ty.OnDestroy == nil {
		n, free, found := t.find(ty)
		if found {
			return n + layout.TypeFirstUser, status.OK
		}
		key = free
	}
	n := t.count.Load()
	if n == t.limit {
		return 0, status.Limit
	}
	if !t.publish(n, ty) {
		return 0, status.OutOfMemory
	}
	if n%typeChunk == 0 {
		t.chunks[n/typeChunk].Store(new([typeChunk]Type))
	}
	*t.at(n) = *ty
	if ty.OnDestroy == nil {
		t.known[key] = n
	}
	t.count.Store(n + 1)
	return n + layout.TypeFirstUser, status.OK
}

// maxTypeBytes is more than any object can have.
const maxTypeBytes = 1 << 47

// Define copies a description of a type and returns the type's number. Equal
// descriptions have one number.
func (c *Context) Define(t Type) (uint32, status.Status) {
	if t.Size == 0 || t.Size > maxTypeBytes {
		return 0, c.Fail(status.InvalidArgument, textTypeSize, 0, uint64(t.Size), maxTypeBytes)
	}
	if t.Vec != nil {
		shape, st := c.checkShape(&t)
		if st != status.OK {
			return 0, st
		}
		t.Vec = shape
	}
	t.Offsets = stdslices.Clone(t.Offsets)
	stdslices.Sort(t.Offsets)
	for i, o := range t.Offsets {
		if i > 0 && t.Offsets[i-1] == o {
			return 0, c.Fail(status.InvalidArgument, textTypeTwice, 0, uint64(o))
		}
		if o%8 != 0 || o > t.Size-min(8, t.Size) || t.Size < 8 {
			return 0, c.Fail(status.InvalidArgument, textTypeOffset, 0, uint64(o), uint64(t.Size))
		}
	}
	return c.addType(&t)
}

func (c *Context) addType(t *Type) (uint32, status.Status) {
	id, st := process.types.add(t)
	switch st {
	case status.Limit:
		return 0, c.Fail(st, textTypeFull, 0, uint64(process.types.limit))
	case status.OutOfMemory:
		return 0, c.Fail(st, TextTables, 0)
	}
	return id, st
}

// ObjectNew returns a zeroed object of a type, registered in the current scope.
func (c *Context) ObjectNew(typ uint32) uintptr {
	t := process.types.defined(typ)
	if t == nil {
		c.Fail(status.InvalidArgument, textTypeUnknown, 0, uint64(typ))
		return 0
	}
	return c.makeObject(t.Size, typ, true)
}

// field returns the pointer field at addr.
func field(addr uintptr) *uintptr { return layout.At[uintptr](addr) }

// DropField releases a reference that a dying object of c held.
func (c *Context) DropField(p uintptr) { c.dropField(p) }

// dropField releases a reference that a dying container held. A pointer that is
// not a live object is passed over: the container may have held anything.
func (c *Context) dropField(p uintptr) {
	if p == 0 {
		return
	}
	at := c.locate(p)
	switch at.where {
	case inHeap:
		if o, ok := at.object(p); ok && c.drop(c, o.Record, o.Entry) == zero {
			c.kill(o.Record, o.Entry)
		}
	case elsewhere:
		c.releaseForeignField(p)
	}
}

// dropFieldOf is dropField of the reference at an offset of an object that ends, at which TL_DEBUG looks first.
func (c *Context) dropFieldOf(holder, offset uintptr, typ string, p uintptr) {
	c.lookAtField(holder, offset, typ, p, false)
	c.dropField(p)
}

// lookAtField has TL_DEBUG look at the reference at an offset of an object that ends. It may be to memory of an arena
// or a frame where allowsStack says so.
func (c *Context) lookAtField(holder, offset uintptr, typ string, p uintptr, allowsStack bool) {
	if process.debug == nil || p == 0 {
		return
	}
	at := c.locate(p)
	_, live := at.object(p)
	switch {
	case at.where == elsewhere || live:
	case at.where == inHeap && at.Kind == heap.Interior && (isAlive(at) || at.Start == c.locate(holder).Start):
		process.debug.StaleField(c, holder, offset, typ, p, FieldInside)
	case at.where == inHeap:
		process.debug.StaleField(c, holder, offset, typ, p, FieldReleased)
	case !allowsStack:
		process.debug.StaleField(c, holder, offset, typ, p, FieldInStack)
	}
}

// isAlive tells whether the slot that a place is in has a live object or cell.
func isAlive(at place) bool {
	return atomic.LoadUint32(&process.heap.Record(at.Record).Sh)&layout.ShAlive != 0
}

// FieldFault is what is wrong with a reference in an object that ends.
type FieldFault uint8

// The faults.
const (
	FieldReleased FieldFault = iota // the object was released before
	FieldInStack                    // it is memory of an arena or a frame
	FieldInside                     // it is the inside of an object, as a cell is
)

// Field returns the pointer field of a live object at an offset of its type, for
// Go programs. The container holds a reference to what is stored: acquire it.
func Field(object, offset uintptr) *uintptr { return field(object + offset) }
