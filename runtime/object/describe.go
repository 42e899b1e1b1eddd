package object

import (
	"fmt"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// referencesOf calls visit with every pointer that an object holds a reference of.
func (c *Context) referencesOf(e layout.Entry, visit func(p uintptr)) {
	r := process.heap.Record(e.Record)
	switch atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask {
	case layout.TypeTensor:
		if h := layout.At[layout.TensorHeader](e.Object); h.Flags&layout.TensorView != 0 {
			visit(h.Base)
		}
	case layout.TypeSparse:
		c.partsOf(e.Object, visit)
	default:
		fieldsOf(r, e.Object, func(slot *uintptr) { visit(*slot) })
	}
}

// partsOf visits what a sparse matrix holds: its blocks, or the matrix whose table it shows.
func (c *Context) partsOf(p uintptr, visit func(p uintptr)) {
	switch h := c.soundSparse(p); {
	case h == nil:
	case h.Parent != 0:
		visit(h.Parent)
	default:
		for _, part := range SparseParts(p, h) {
			visit(part.Holder)
		}
	}
}

// bytesOf returns what an object occupies, the table of a Vec included.
func (c *Context) bytesOf(e layout.Entry) uint64 {
	bytes := usable(e)
	if process.heap.Record(e.Record).TypeFlags&layout.TypeMask == layout.TypeVec {
		if v := layout.At[vec](e.Object); v.sound() && v.data.Object != 0 {
			bytes += usable(v.data)
		}
	}
	return bytes
}

// bytesAnywhere is bytesOf and what a tensor has on a device.
func (c *Context) bytesAnywhere(e layout.Entry) uint64 {
	bytes := c.bytesOf(e)
	if process.heap.Record(e.Record).TypeFlags&layout.TypeMask == layout.TypeTensor && TensorHooks.DeviceBytes != nil {
		bytes += TensorHooks.DeviceBytes(e.Object)
	}
	return bytes
}

// VecType is the name of the type of a Vec, whose bytes include its table.
const VecType = "Vec"

// TypeName names the type of an object; "" for plain bytes.
func (c *Context) TypeName(e layout.Entry) string {
	return typeName(atomic.LoadUint32(&process.heap.Record(e.Record).TypeFlags) & layout.TypeMask)
}

func typeName(typ uint32) string {
	switch typ {
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
	return Allocation{o.Entry, c.bytesOf(o.Entry), references(o.Record), c.TypeName(o.Entry)}, true
}
