package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/registry"
)

// Block is memory of the heap, or a registered block.
type Block struct {
	Ref            track.Ref
	Address, Bytes uint64 // of the whole slot
	Used           bool   // it belongs to an object; a slot of the heap that waits for one does not
}

// HeapBlocks calls visit with every slot of the heap's slabs, slab by slab.
func HeapBlocks(visit func(Block)) {
	process.heap.Slabs(func(first uint32, start uintptr, slots, size uint32) {
		for i := range slots {
			r := process.heap.Record(first + i)
			e := layout.Entry{Object: start + uintptr(i*size), Record: first + i, Gen: atomic.LoadUint32(&r.Gen)}
			used := atomic.LoadUint32(&r.Sh)&layout.ShAlive != 0 || atomic.LoadUint32(&r.TypeFlags)&layout.TypeMask == layout.TypeVecData
			bytes := uint64(size)
			if slots == 1 {
				bytes = process.heap.Size(e.Object)
			}
			visit(Block{objectRef(e), uint64(e.Object), bytes, used})
		}
	})
}

// RegisteredBlocks calls visit with every registered block, once for all its addresses.
func RegisteredBlocks(visit func(Block)) {
	seen := map[uint32]bool{}
	var all []registry.Info
	process.registry.Each(func(info registry.Info) bool { all = append(all, info); return true })
	for _, info := range all {
		b := Block{Ref: foreignRef(info), Address: uint64(info.Pointer), Bytes: uint64(info.Bytes), Used: true}
		if info.Link != 0 {
			d, known := process.registry.Outline(info)
			if !known || seen[info.Link] {
				continue
			}
			seen[info.Link] = true
			b.Address, b.Bytes = uint64(d.Real), uint64(d.Bytes)
		}
		visit(b)
	}
}
