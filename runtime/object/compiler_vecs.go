package object

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// VecShape is where a compiler's own Vec has its parts. The header may be an object of the type or a
// block of malloc's that was registered with it. Its data is memory of malloc's that nobody
// registered, which the Vec owns, or a block of the runtime or of the registry, of which the Vec
// holds a reference. A program can scribble over its Vec, so the header is checked at every use:
//
//	length <= capacity;  data == 0  =>  length == 0
//	capacity * ElementBytes <= bytes of the block at data
type VecShape struct {
	Data, Length, Capacity uintptr // offsets in the header
	NumberBytes            uintptr // of length and of capacity: 4 or 8
	ElementBytes           uintptr
	Pointers               bool   // each element is a reference
	Element                uint32 // or a struct of this type; 0: plain bytes

	references []uintptr // offsets of the references in an element
}

// Kinds of a Vec's data.
const (
	noData = iota
	ownData
	heapData
	registeredData
)

// contents is what a header says, once it was checked.
type contents struct {
	data             uintptr
	length, capacity uint64
	kind             int
}

// checkShape returns the shape of a type with what follows from it.
func (c *Context) checkShape(t *Type) (*VecShape, status.Status) {
	s := *t.Vec
	if s.NumberBytes != 4 && s.NumberBytes != 8 {
		return nil, c.Fail(status.InvalidArgument, textVecNumbers, 0, uint64(s.NumberBytes))
	}
	parts := [...]struct{ at, bytes uintptr }{{s.Data, 8}, {s.Length, s.NumberBytes}, {s.Capacity, s.NumberBytes}}
	for i, x := range parts {
		if x.at%x.bytes != 0 || t.Size < x.bytes || x.at > t.Size-x.bytes {
			return nil, c.Fail(status.InvalidArgument, textVecPart, 0, uint64(x.at), uint64(x.bytes), uint64(t.Size))
		}
		for _, y := range parts[:i] {
			if x.at < y.at+y.bytes && y.at < x.at+x.bytes {
				return nil, c.Fail(status.InvalidArgument, textVecOverlap, 0, uint64(y.at), uint64(x.at))
			}
		}
	}
	return c.checkElements(&s)
}

func (c *Context) checkElements(s *VecShape) (*VecShape, status.Status) {
	s.references = nil
	switch element := process.types.defined(s.Element); {
	case s.Pointers:
		if s.Element != 0 || s.ElementBytes != 0 && s.ElementBytes != 8 {
			return nil, c.Fail(status.InvalidArgument, textVecPointers, 0, uint64(s.ElementBytes))
		}
		s.ElementBytes, s.references = 8, []uintptr{0}
	case s.Element != 0 && element == nil:
		return nil, c.Fail(status.InvalidArgument, textTypeUnknown, 0, uint64(s.Element))
	case element != nil && (element.Vec != nil || element.Destructor != 0 || element.OnDestroy != nil):
		return nil, c.Fail(status.Unsupported, textVecElement, 0, uint64(s.Element))
	case element != nil:
		if s.ElementBytes == 0 {
			s.ElementBytes = element.Size
		}
		if s.ElementBytes < element.Size || len(element.Offsets) > 0 && s.ElementBytes%8 != 0 {
			return nil, c.Fail(status.InvalidArgument, textVecBytes, 0, uint64(s.ElementBytes))
		}
		s.references = element.Offsets
	}
	if s.ElementBytes == 0 || s.ElementBytes > layout.ForeignBytes {
		return nil, c.Fail(status.InvalidArgument, textVecBytes, 0, uint64(s.ElementBytes))
	}
	return s, status.OK
}

func (s *VecShape) number(at uintptr) uint64 {
	if s.NumberBytes == 4 {
		return uint64(*layout.At[uint32](at))
	}
	return *layout.At[uint64](at)
}

func (s *VecShape) setNumber(at uintptr, n uint64) {
	if s.NumberBytes == 4 {
		*layout.At[uint32](at) = uint32(n)
	} else {
		*layout.At[uint64](at) = n
	}
}

func (s *VecShape) read(p uintptr) contents {
	return contents{data: *field(p + s.Data), length: s.number(p + s.Length), capacity: s.number(p + s.Capacity)}
}

func (s *VecShape) write(p uintptr, v contents) {
	*field(p + s.Data) = v.data
	s.setNumber(p+s.Length, v.length)
	s.setNumber(p+s.Capacity, v.capacity)
}

// contentsOf reads the header at p, which has so many bytes; false: it cannot be that of a Vec.
func contentsOf(t *Type, p, bytes uintptr) (v contents, sound bool) {
	v = t.Vec.read(p)
	switch {
	case v.length > v.capacity:
		return v, false
	case v.data == 0:
		return v, v.length == 0
	case v.data-p < max(bytes, t.Size), len(t.Vec.references) > 0 && v.data%8 != 0:
		return v, false
	}
	room := uint64(0)
	room, v.kind = roomOf(v.data)
	high, need := bits.Mul64(v.capacity, uint64(t.Vec.ElementBytes))
	return v, v.kind != noData && high == 0 && need <= room
}

// roomOf returns how many bytes there are at a Vec's data, and whose they are; noData: it is nobody's,
// or of an arena or a frame, which may end before the Vec does.
func roomOf(p uintptr) (room uint64, kind int) {
	if process.heap.Contains(p) {
		at := place{Place: process.heap.Find(p), where: inHeap}
		if o, live := at.object(p); live && o.typ() == layout.TypePlain {
			return usable(o.Entry), heapData
		}
		return 0, noData
	}
	if p-process.slices.base < uintptr(process.g.SlicesBytes) {
		return 0, noData
	}
	if d, known := process.registry.Describe(p); known {
		return uint64(d.Real + d.Bytes - p), registeredData
	}
	if process.cfg.UsableSize == nil || p%process.cfg.MallocAlign != 0 || p < layout.LowestAddress ||
		p >= 1<<layout.ProgramBits || process.registry.Covered(p) {
		return 0, noData
	}
	n, _ := measure(p, layout.ForeignBytes)
	if n == 0 {
		return 0, noData
	}
	return uint64(n), ownData
}

func (c *Context) failContents(t *Type, p uintptr) status.Status {
	v := t.Vec.read(p)
	return c.Fail(status.InvalidArgument, textVecDamaged, p, v.length, v.capacity, uint64(v.data))
}

// headerBytes is how far a Vec's header reaches.
func headerBytes(t *Type, p uintptr) uintptr {
	if process.heap.Contains(p) {
		return uintptr(process.heap.Size(p))
	}
	return t.Size
}

// elements calls visit with the address of every reference in the elements.
func (t *Type) elements(p uintptr, visit func(slot *uintptr)) {
	if len(t.Vec.references) == 0 {
		return
	}
	v, sound := contentsOf(t, p, headerBytes(t, p))
	if !sound {
		return
	}
	for i := range v.length {
		for _, offset := range t.Vec.references {
			visit(field(v.data + uintptr(i)*t.Vec.ElementBytes + offset))
		}
	}
}

// dismantleShape releases the elements, last first, and then the data. The header is dead, and is
// empty while its elements go. Of a damaged one nothing is released.
func (c *Context) dismantleShape(t *Type, p uintptr) {
	v, sound := contentsOf(t, p, headerBytes(t, p))
	if !sound {
		c.failContents(t, p)
		return
	}
	t.Vec.write(p, contents{})
	if len(t.Vec.references) > 0 {
		for i := v.length; i > 0; i-- {
			for _, offset := range t.Vec.references {
				at := uintptr(i-1)*t.Vec.ElementBytes + offset
				c.dropFieldOf(p, at, t.Name, *field(v.data + at))
			}
		}
	}
	c.freeShapeData(v)
}

// freeShapeData gives up a Vec's data.
func (c *Context) freeShapeData(v contents) {
	switch v.kind {
	case ownData:
		c.freeMalloc(v.data)
	case heapData, registeredData:
		c.dropField(v.data)
	}
}

// newShapeData allocates data of the same kind, plain bytes; zeros without memory.
func (c *Context) newShapeData(old contents, bytes uintptr) (v contents, st status.Status) {
	if old.kind == heapData {
		e, st := c.newHeld(bytes, layout.TypePlain, false)
		return contents{data: e.Object, kind: heapData}, st
	}
	if process.cfg.Malloc == nil {
		return v, status.OutOfMemory
	}
	v = contents{data: process.cfg.Malloc(bytes), kind: ownData}
	if v.data == 0 {
		return v, status.OutOfMemory
	}
	return v, status.OK
}
