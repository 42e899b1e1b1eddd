package tensor

import (
	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// A tensor grows along its first axis: the elements that it has stay where they are while there is room. It begins in
// its slot. What no longer fits moves into data that stands apart, at least by half larger: a slot of the heap, and
// from rangeFrom bytes a range, which grows where it is. cshim/tensor/grow.c answers while the room lasts that the
// header tells; the header lies in a program's reach, so what is given back stands in the table of blocks.

// rangeFrom is where data becomes a range. Below it a copy is cheap, and a system allows each process so many ranges.
const rangeFrom = 1 << 20

// grown is the data of a tensor that has left its slot: a slot or a range.
type grown struct {
	gen   uint32 // of the tensor's life
	slot  layout.Entry
	bytes uint64 // of the slot
	rng   *object.Range
}

// room returns how many bytes of elements it can have where it is.
func (g *grown) room() uint64 {
	if g.rng != nil {
		return uint64(g.rng.Bytes())
	}
	return g.bytes
}

func (g *grown) address() uintptr {
	if g.rng != nil {
		return g.rng.Start
	}
	return g.slot.Object
}

func (g *grown) end(c *object.Context) {
	if g.rng != nil {
		object.Heap().Release(g.rng)
		return
	}
	c.GiveTable(g.slot)
}

// growing is a tensor that may grow.
type growing struct {
	c     *object.Context
	entry layout.Entry
	h     *layout.TensorHeader
	data  *grown // nil: its elements stand behind its header
}

// grownOf returns the data that a tensor has grown to; nil: none. What an earlier life of its slot has left there,
// since its header was overwritten and its end went unnoticed, ends with this one.
func grownOf(e layout.Entry) *grown {
	if b, _ := blocks.find(e.Object); b.grown != nil && b.grown.gen == e.Gen {
		return b.grown
	}
	return nil
}

// findGrowing looks a tensor up that nobody else holds, and whose memory is its own, and tells what it is with another
// extent.
func findGrowing(c *object.Context, p uintptr, extent int64) (g growing, s spec, st status.Status) {
	e, st := c.FindTensor(p)
	if st != status.OK {
		return g, s, st
	}
	if e.Object == 0 {
		return g, s, c.Failf(status.Unsupported, "%#x stands in a slot of a frame, whose size is fixed; clone it", p)
	}
	h := header(p)
	switch {
	case h.Flags&layout.TensorView != 0:
		return g, s, c.Failf(status.Unsupported, "%#x is a view of other elements; resize a clone of it", p)
	case h.Flags&layout.TensorExternal != 0:
		return g, s, c.Failf(status.Unsupported, "the memory of %#x was lent; resize a clone of it", p)
	case h.Device != CPU:
		return g, s, c.Failf(status.Unsupported, "%#x is on device %d; only tensors of the CPU grow", p, h.Device)
	case ElementType(h.Dtype).Size() == 0 || h.Rank > layout.MaxRank ||
		h.Flags&^layout.TensorGrown != layout.TensorContiguous:
		g = growing{c: c, entry: e}
		return g, s, g.overwritten()
	case h.Rank == 0:
		return g, s, c.Failf(status.InvalidArgument, "%#x has no axis to grow along; make it with one dimension at least", p)
	}
	if n := c.References(e); n != 1 {
		return g, s, c.Failf(status.Busy, "%#x has %d references, and a view, a NumPy array or a DLPack capsule may be one; "+
			"release the others first", p, n)
	}
	g = growing{c: c, entry: e, h: h}
	data := p + layout.TensorHeaderBytes
	if g.data = grownOf(e); g.data != nil {
		data = g.data.address()
	}
	if h.Data != data || h.Nbytes > g.room() {
		return g, s, g.overwritten()
	}
	s = specOf(h, CPU)
	s.shape[0] = extent
	return g, s, s.compact(c)
}

func (g *growing) overwritten() status.Status {
	return g.c.Failf(status.InvalidArgument, "the header of the tensor at %#x was overwritten; write to its data only",
		g.entry.Object)
}

// room returns how many bytes of elements fit where they are. With TL_DEBUG a red zone begins behind those in a slot.
func (g *growing) room() uint64 {
	switch {
	case g.data != nil:
		return g.data.room()
	case g.c.Guards():
		return g.h.Nbytes
	}
	return object.Heap().Size(g.entry.Object) - layout.TensorHeaderBytes
}

// move gives the elements room for so many bytes, or for the least of them where more are refused; `used` of them are
// in use then. On failure nothing has changed.
func (g *growing) move(bytes, least, used uint64) status.Status {
	h := object.Heap()
	switch {
	case g.data != nil && g.data.rng != nil:
		if !h.Extend(g.data.rng, uintptr(bytes)) && !h.Extend(g.data.rng, uintptr(least)) {
			return g.refuse(status.OutOfMemory, least)
		}
		g.h.Data = g.data.address()
		return status.OK
	case bytes >= rangeFrom:
		return g.moveToRange(bytes, least, used)
	}
	e, got, st := g.c.TakeTable(uintptr(bytes), uintptr(least))
	if st != status.OK {
		return g.refuse(st, least)
	}
	room := h.Size(e.Object)
	if g.c.Guards() {
		room = min(room, uint64(got)) // the red zone begins there
	}
	g.moveTo(&grown{gen: g.entry.Gen, slot: e, bytes: room})
	return st
}

func (g *growing) moveToRange(bytes, least, used uint64) status.Status {
	h := object.Heap()
	rng := h.Reserve(uintptr(bytes), g.entry)
	if rng == nil {
		rng = h.Reserve(uintptr(least), g.entry)
	}
	if rng == nil {
		return g.refuse(status.OutOfMemory, least)
	}
	if st := use(rng, uintptr(used)); st != status.OK {
		h.Release(rng)
		return g.refuse(st, used)
	}
	g.moveTo(&grown{gen: g.entry.Gen, rng: rng})
	return status.OK
}

// moveTo copies the elements. Of a large object where they stood, what the header does not need goes back to the heap.
func (g *growing) moveTo(to *grown) {
	p, data := g.entry.Object, to.address()
	copyMemory(data, g.h.Data, uintptr(g.h.Nbytes))
	blocks.enter(g.c, p, block{grown: to})
	begins := g.data == nil
	g.data = to
	g.h.Data, g.h.Flags, g.h.Mark = data, layout.TensorContiguous|layout.TensorGrown, 0
	if begins && !g.c.Guards() {
		g.c.CutTensor(g.entry)
	}
	g.c.GuardTensor(g.entry, layout.TensorHeaderBytes)
}

// refuse records why so many bytes were refused. For a range OutOfMemory means address space: its memory is refused by
// limits alone.
func (g *growing) refuse(st status.Status, bytes uint64) status.Status {
	if st == status.OutOfMemory && bytes >= rangeFrom {
		return g.c.Failf(st, "the system has no address space of %d bytes left; ask for a smaller capacity, or leave more "+
			"of it free with a smaller TL_HEAP_RESERVE", bytes)
	}
	g.c.NoMemory(st, bytes)
	return st
}

// use is heap.Use; where a limit refuses, it empties caches and tries again.
func use(r *object.Range, bytes uintptr) status.Status {
	st := object.Heap().Use(r, bytes)
	for reclaim := limit.NewReclaim(limit.CPU, uint64(bytes-r.Used())); st != status.OK && reclaim.Step(); {
		st = object.Heap().Use(r, bytes)
	}
	limit.Settle(limit.CPU)
	return st
}

// settle has a range be used as far as the elements reach; the header tells how far they may. Where the use is refused,
// the range may have moved already.
func (g *growing) settle(nbytes uint64) status.Status {
	switch {
	case g.data == nil:
	case g.data.rng == nil:
		g.h.TellRoom(uintptr(g.data.room()))
	case nbytes < g.h.Nbytes:
		object.Heap().Trim(g.data.rng, uintptr(nbytes))
	default:
		if st := use(g.data.rng, uintptr(nbytes)); st != status.OK {
			return g.refuse(st, nbytes)
		}
	}
	return status.OK
}

// Reserve makes room for an extent of a tensor's first axis, so that it can grow to it where it is.
func Reserve(c *object.Context, p uintptr, extent int64) status.Status {
	if p == 0 {
		return status.OK
	}
	g, s, st := findGrowing(c, p, extent)
	if st != status.OK || s.nbytes <= g.room() {
		return st
	}
	if st = g.move(s.nbytes, s.nbytes, g.h.Nbytes); st != status.OK {
		return st
	}
	return g.settle(g.h.Nbytes)
}

// Resize changes the extent of a tensor's first axis. New elements are undefined, or zero.
func Resize(c *object.Context, p uintptr, extent int64, zero bool) status.Status {
	if p == 0 {
		return status.OK
	}
	g, s, st := findGrowing(c, p, extent)
	if st != status.OK {
		return st
	}
	if room := g.room(); s.nbytes > room {
		if st = g.move(max(s.nbytes, room+room/2), s.nbytes, s.nbytes); st != status.OK {
			return st
		}
	}
	had := g.h.Nbytes
	if st = g.settle(s.nbytes); st != status.OK {
		return st
	}
	if g.data == nil {
		c.GuardTensor(g.entry, layout.TensorHeaderBytes+s.nbytes)
	}
	if zero && s.nbytes > had {
		core.Clear(g.h.Data+uintptr(had), s.nbytes-had)
	}
	g.h.Shape[0], g.h.Numel, g.h.Nbytes = extent, s.numel, s.nbytes
	return status.OK
}

// Capacity returns the extent of the first axis up to which a tensor grows where it is; the extent that it has, for one
// that cannot grow.
func Capacity(c *object.Context, p uintptr) int64 {
	return ask(c, p, 0, -1, func(h *layout.TensorHeader) int64 {
		if h.Rank == 0 || h.Rank > layout.MaxRank {
			return 0
		}
		e, _ := c.FindTensor(p)
		g := growing{c: c, entry: e, h: h, data: grownOf(e)}
		row := ElementType(h.Dtype).Size()
		for _, d := range h.Shape[1:h.Rank] {
			row *= uint64(max(d, 0))
		}
		if row == 0 || e.Object == 0 || g.data == nil && !(hooks{}).IsWhole(p) {
			return h.Shape[0]
		}
		return int64(g.room() / row)
	})
}
