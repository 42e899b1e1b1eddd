package heap

import "tlruntime/runtime/layout"

// LargeGone returns how many large objects came back, and their bytes.
func (h *Heap) LargeGone() (objects, bytes uint64) {
	h.lock()
	defer h.unlock()
	return h.s.LargeGone, h.s.LargeGiven
}

// LargeTaken returns the bytes of large objects, ever.
func (h *Heap) LargeTaken() uint64 {
	h.lock()
	defer h.unlock()
	return h.s.LargeTaken
}

// Usage is a snapshot of the heap; exact when no other thread is in it.
type Usage struct {
	Reserved  uint64                // address space
	Committed uint64                // usable without a system call
	Slabs     uint64                // bytes of spans in use
	Idle      uint64                // bytes of free spans that may be resident
	Out       [layout.Classes]int64 // slots handed to contexts, by class
	Slots     [layout.Classes]int64 // of slabs in use, by class, but for those whose record is retired
	Held      [layout.Classes]int64 // bytes of those slabs, and of large objects
}

// Usage reads the counters.
func (h *Heap) Usage() Usage {
	u := Usage{Reserved: h.G.HeapBytes}
	for class := uint32(0); class < layout.ClassLarge; class++ {
		d := &h.s.Depots[class]
		layout.Lock(&d.Lock)
		u.Out[class] = d.Out
		info := &h.G.Classes[class]
		u.Held[class], u.Slots[class] = d.Slabs*int64(info.Mask+1), d.Slabs*int64(info.Slots)-d.Retired
		u.Slabs += uint64(u.Held[class])
		layout.Unlock(&d.Lock)
	}
	h.lock()
	d := &h.s.Depots[layout.ClassLarge]
	u.Out[layout.ClassLarge], u.Slots[layout.ClassLarge] = d.Out, d.Out
	u.Held[layout.ClassLarge] = d.Slabs << layout.SpanShift
	u.Slabs += uint64(u.Held[layout.ClassLarge])
	u.Committed, u.Idle = uint64(h.s.Committed)<<layout.SpanShift, h.s.Dirty
	h.unlock()
	return u
}
