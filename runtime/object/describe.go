package object

import (
	"fmt"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// usable returns the bytes of a live object that its holder may write to.
func usable(e layout.Entry) uint64 {
	size := process.heap.Size(e.Object)
	if process.debug == nil {
		return size
	}
	return process.debug.Usable(e, size)
}

// ReferencesOf calls visit with every pointer that an object holds a reference of, and the address of the reference.
func (c *Context) ReferencesOf(e layout.Entry, visit func(p, slot uintptr)) {
	r := process.heap.Record(e.Record)
	switch atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask {
	case layout.TypeTensor:
		if h := layout.At[layout.TensorHeader](e.Object); h.Flags&layout.TensorView != 0 {
			visit(h.Base, layout.Address(&h.Base))
		}
	case layout.TypeSparse:
		c.partsOf(e.Object, visit)
	default:
		fieldsOf(r, e.Object, func(slot *uintptr) { visit(*slot, layout.Address(slot)) })
	}
}

// PlaceIn tells where in an object or a block with a type a reference stands: "field at offset 8".
func PlaceIn(e layout.Entry, typ uint32, slot uintptr) string {
	if e.Record != layout.Foreign {
		typ = atomic.LoadUint32(&process.heap.Record(e.Record).TypeFlags) & layout.TypeMask
	}
	switch typ {
	case layout.TypeTensor:
		return "base"
	case layout.TypeSparse:
		return "part"
	case layout.TypeVec:
		return fmt.Sprintf("element %d", (slot-layout.At[vec](e.Object).Data.Object)/8)
	}
	if t := process.types.get(typ); t != nil && t.Vec != nil && slot-e.Object >= t.Size {
		return fmt.Sprintf("element %d", (slot-t.Vec.read(e.Object).data)/t.Vec.ElementBytes)
	}
	if t := process.types.get(typ); t != nil && t.OfCells {
		slot -= layout.CellOffset
	}
	return fmt.Sprintf("field at offset %d", slot-e.Object)
}

// partsOf visits what a sparse matrix holds: its blocks, or the matrix whose table it shows.
func (c *Context) partsOf(p uintptr, visit func(p, slot uintptr)) {
	switch h := c.soundSparse(p); {
	case h == nil:
	case h.Parent != 0:
		visit(h.Parent, layout.Address(&h.Parent))
	default:
		for i := range SparseParts(p, h) {
			part := &SparseParts(p, h)[i]
			visit(part.Holder, layout.Address(&part.Holder))
		}
	}
}

// bytesOf returns what an object occupies, the table of a Vec included.
func bytesOf(e layout.Entry) uint64 {
	bytes := usable(e)
	if process.heap.Record(e.Record).TypeFlags&layout.TypeMask == layout.TypeVec {
		if v := layout.At[vec](e.Object); v.sound() && v.Data.Object != 0 {
			bytes += usable(v.Data)
		}
	}
	return bytes
}

// TableOf returns the table of a Vec, 0 of anything else.
func TableOf(e layout.Entry) uintptr {
	if e.Record == layout.Foreign || process.heap.Record(e.Record).TypeFlags&layout.TypeMask != layout.TypeVec {
		return 0
	}
	if v := layout.At[vec](e.Object); v.sound() {
		return v.Data.Object
	}
	return 0
}

// AskedOf returns the bytes that a program has asked for: a tensor's elements wherever they are, its header if they are
// another's, a Vec and its table, the size of a type. Those of plain bytes are known where TL_DEBUG is on; else it is
// what the object occupies.
func AskedOf(e layout.Entry) uint64 {
	bytes := bytesOf(e)
	switch typ := process.heap.Record(e.Record).TypeFlags & layout.TypeMask; typ {
	case layout.TypeTensor:
		if tensors != nil {
			return tensors.OwnBytes(e.Object, bytes)
		}
	case layout.TypeVec:
		if v := layout.At[vec](e.Object); v.sound() {
			return layout.VecPayloadBytes + v.Cap*8
		}
	default:
		if t := process.types.get(typ); t != nil && t.OfCells {
			return uint64(t.Size) - layout.CellOffset
		} else if t != nil {
			return uint64(t.Size)
		}
	}
	return bytes
}

// HasCell tells whether a cell has the slot of an object; before the first use none has.
func HasCell(e layout.Entry) bool {
	return process.heap != nil && IsCell(process.heap.Record(e.Record))
}

// IsTensor tells whether an object is live and a tensor; before the first use none is.
func IsTensor(e layout.Entry) bool {
	if process.heap == nil {
		return false
	}
	r := process.heap.Record(e.Record)
	return r.TypeFlags&layout.TypeMask == layout.TypeTensor && atomic.LoadUint32(&r.Gen) == e.Gen &&
		atomic.LoadUint32(&r.Sh)&layout.ShAlive != 0
}

// TypeAnywhere names the type of an object, and the device of a tensor that is elsewhere: "tensor on cuda:0".
func TypeAnywhere(e layout.Entry) string {
	name := TypeName(e.Record)
	if process.heap.Record(e.Record).TypeFlags&layout.TypeMask == layout.TypeTensor && tensors != nil {
		if on := tensors.DeviceName(e.Object); on != "" {
			name += " on " + on
		}
	}
	return name
}

// VecType is the name of the type of a Vec, whose bytes include its table.
const VecType = "Vec"

// TypeName names the type of the object that has a record; "" for plain bytes.
func TypeName(record uint32) string {
	switch typ := atomic.LoadUint32(&process.heap.Record(record).TypeFlags) & layout.TypeMask; typ {
	case layout.TypePlain:
		return ""
	case layout.TypeVec:
		return VecType
	case layout.TypeVecData:
		return "table of a Vec"
	case layout.TypeTensor:
		return "tensor"
	case layout.TypeSparse:
		return "sparse matrix"
	default:
		if t := process.types.get(typ); t != nil {
			return t.Name
		}
		return fmt.Sprint("type ", typ)
	}
}

// CountsOf returns how many references a live object has, how many of them float, and
// whether tl_ptr_dec_ref has brought it to zero.
func CountsOf(r *layout.Record) (held, floating int64, atZero bool) {
	held, floating = tally(r)
	return held, floating, heldAtZero(r)
}

// OpenEntries returns where the entries of c's open scopes begin; its top when none is open.
func (c *Context) OpenEntries() uintptr {
	if !c.hasOpenScopes() {
		return c.Top
	}
	return c.OpenMark(0).Top
}

// Allocation is what the heap knows of an object.
type Allocation struct {
	Entry layout.Entry
	Bytes uint64
	Count int64
	Type  string
}

// DescribeObject returns what is known of the live object at p.
func (c *Context) DescribeObject(p uintptr) (a Allocation, live bool) {
	at := c.locate(p)
	if at.where != inHeap {
		return a, false
	}
	o, live := at.object(p)
	if !live {
		return a, false
	}
	return Allocation{o.Entry, bytesOf(o.Entry), references(o.Record), TypeName(o.Entry.Record)}, true
}
