package snapshot

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/registry"
)

// slot is memory of the heap, or a registered block.
type slot struct {
	ref            track.Ref
	address, bytes uint64 // all of it
	used           bool   // it belongs to an object; a slot of the heap that waits for one does not
}

// heapSlots calls visit with every slot of the heap's slabs, slab by slab.
func heapSlots(visit func(slot)) {
	h := object.Heap()
	h.Slabs(func(s heap.Slab) {
		for i := range s.Slots {
			e := s.Slot(i)
			r := h.Record(e.Record)
			e.Gen = atomic.LoadUint32(&r.Gen)
			used := atomic.LoadUint32(&r.Sh)&layout.ShAlive != 0 ||
				atomic.LoadUint32(&r.TypeFlags)&layout.TypeMask == layout.TypeVecData
			if s.Cells {
				used = s.HasCell(i)
			}
			bytes := uint64(s.Size)
			if s.Size == 0 {
				bytes = h.Size(e.Object)
			}
			visit(slot{track.OfObject(e), uint64(e.Object), bytes, used})
		}
	})
}

// registeredBlocks calls visit with every registered block, once for all its addresses.
func registeredBlocks(visit func(slot)) {
	seen := map[uint32]bool{}
	var all []registry.Info
	object.Registry().Each(func(info registry.Info) bool { all = append(all, info); return true })
	for _, info := range all {
		b := slot{ref: track.OfForeign(object.Registry(), info), address: uint64(info.Pointer),
			bytes: uint64(info.Bytes), used: true}
		if info.Link != 0 {
			d, known := object.Registry().Outline(info)
			if !known || seen[info.Link] {
				continue
			}
			seen[info.Link] = true
			b.address, b.bytes = uint64(d.Real), uint64(d.Bytes)
		}
		visit(b)
	}
}
