package object

import (
	stdslices "slices"
	"sync"
	"sync/atomic"

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
}

// types is the table of defined types. Readers take no lock: the slice behind
// `all` only ever grows.
type types struct {
	base    uintptr    // layout.TypeInfo by type
	mu      sync.Mutex // guards writing
	all     atomic.Pointer[[]*Type]
	slots   atomic.Pointer[[]uint64] // what an object of each type occupies; not shorter than all
	offsets []uint32                 // free rest of the newest chunk, off the Go heap; chunks stay where they are
}

// open makes room for what the fast path reads of every type there can be.
func (t *types) open(g *layout.Globals) status.Status {
	base, err := memory.Map(maxTypes*layout.TypeInfoBytes, "types")
	if err != nil {
		return status.OutOfMemory
	}
	t.base, g.Types = base, base
	return status.OK
}

// close gives the table back. No type was defined.
func (t *types) close() {
	if t.base != 0 {
		memory.Unmap(t.base, maxTypes*layout.TypeInfoBytes, "types")
		t.base = 0
	}
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
	info := layout.At[layout.TypeInfo](process.g.Types + uintptr(n)*layout.TypeInfoBytes)
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
	switch {
	case ty.Destructor != 0 || ty.OnDestroy != nil || ty.Size >= 1<<34:
		info.Ends = layout.EndsInGo
	case ty.Vec != nil:
		info.Ends = layout.EndsAsVec
	}
	info.Size = uint64(ty.Size)
	return true
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

// maxTypes bounds what a defective program can make of the table.
const maxTypes = 1 << 16

func (t *types) get(id uint32) *Type {
	all := t.all.Load()
	if all == nil || id < layout.TypeFirstUser || int(id-layout.TypeFirstUser) >= len(*all) {
		return nil
	}
	return (*all)[id-layout.TypeFirstUser]
}

func (t *types) add(ty *Type) (uint32, status.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*Type
	if old := t.all.Load(); old != nil {
		list = *old
	}
	if len(list) >= maxTypes {
		return 0, status.Limit
	}
	if !t.publish(uint32(len(list)), ty) {
		return 0, status.OutOfMemory
	}
	var slots []uint64
	if old := t.slots.Load(); old != nil {
		slots = *old
	}
	slots = append(slots, slotBytes(ty.Size))
	t.slots.Store(&slots)
	list = append(list, ty)
	t.all.Store(&list)
	return uint32(len(list)-1) + layout.TypeFirstUser, status.OK
}

// maxTypeBytes is more than any object can have.
const maxTypeBytes = 1 << 47

// Define copies a description of a type and returns the type's number.
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
	id, st := process.types.add(&t)
	switch st {
	case status.Limit:
		return 0, c.Fail(st, textTypeFull, 0, maxTypes)
	case status.OutOfMemory:
		return 0, c.Fail(st, TextTables, 0)
	}
	return id, st
}

// ObjectNew returns a zeroed object of a type, registered in the current scope.
func (c *Context) ObjectNew(typ uint32) uintptr {
	t := process.types.get(typ)
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

// Field returns the pointer field of a live object at an offset of its type, for
// Go programs. The container holds a reference to what is stored: acquire it.
func Field(object, offset uintptr) *uintptr { return field(object + offset) }
