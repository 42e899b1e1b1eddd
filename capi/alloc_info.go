package main

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

func registryInfo(o *object.Context, pointer, out uintptr) status.Status {
	d, st := o.Describe(pointer)
	if st != status.OK {
		return st
	}
	return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
		return withType(pointer, describedInfo(pointer, d))
	})
}

// withType adds the name of a type to what is known of a block that was registered with one.
func withType(p uintptr, info tl_alloc_info) tl_alloc_info {
	if block, live := object.Registry().TypedAt(p); live {
		info.Type = track.NameAddress(track.Intern(object.BlockTypeName(block.Info)))
	}
	return info
}

func allocationInfo(o *object.Context, pointer, out uintptr) status.Status {
	if a, live := o.DescribeObject(pointer); live {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return objectInfo(pointer, a) })
	}
	if bytes := blockBytes(pointer); bytes != 0 {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
			info := tl_alloc_info{Block: pointer, Bytes: bytes, Count: 1, BlockCount: 1, Addresses: 1}
			return recorded(info, track.Ref{Kind: track.Block, Key: uint64(pointer)})
		})
	}
	if d, unheld := alignedBlock(pointer); unheld {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return describedInfo(pointer, d) })
	}
	if st := o.Check(pointer); st != status.OK {
		return st
	}
	return registryInfo(o, pointer, out)
}

// alignedBlock describes memory of tl_aligned_alloc that nobody has registered: it is
// live with a count of 0.
func alignedBlock(p uintptr) (d registry.Described, unheld bool) {
	info, known := object.Registry().Info(p)
	if !known || info.Count != 0 || info.HandedBack || info.Kind != layout.ForeignAligned {
		return d, false
	}
	return registry.Described{Real: p, Bytes: info.Bytes, Kind: info.Kind, Aliases: 1}, true
}

// blockBytes returns the size of the memory pools' block that starts at an
// address; 0 if none does.
func blockBytes(p uintptr) (found uintptr) {
	if p == 0 || object.Heap().Contains(p) || object.Registry().Count(p) >= 0 {
		return 0
	}
	mempool.Live(func(_ mempool.Handle, address, bytes uintptr) {
		if address == p {
			found = bytes
		}
	})
	return found
}

func objectInfo(p uintptr, a object.Allocation) tl_alloc_info {
	info := tl_alloc_info{Block: p, Bytes: uintptr(a.Bytes), Count: uint64(a.Count), BlockCount: uint64(a.Count),
		Addresses: 1,
		Type:      track.NameAddress(track.Intern(a.Type))}
	return recorded(info, track.Ref{Kind: track.Object, Key: uint64(a.Entry.Record), Gen: a.Entry.Gen})
}

// describedInfo is what the registry and tracking know of a pointer; zeros for
// NULL.
func describedInfo(p uintptr, d registry.Described) tl_alloc_info {
	info := tl_alloc_info{Block: d.Real, Bytes: d.Bytes, Count: d.Count, BlockCount: d.References, Addresses: d.Aliases,
		BufferId: d.Id, Kind: int64(d.Kind)}
	if d.Id != 0 { // recorded by its number, whatever address is asked for
		return recorded(info, track.OfBuffer(d.Id))
	}
	for _, at := range []uintptr{p, d.Real} {
		if ref, ok := track.RefOf(at); ok && at != 0 && info.Number == 0 {
			info = recorded(info, ref)
		}
	}
	return info
}

// recorded adds what tracking knows.
func recorded(info tl_alloc_info, ref track.Ref) tl_alloc_info {
	e, known := track.Find(ref)
	if !known {
		return info
	}
	if e.Bytes != 0 && info.Type == 0 {
		info.Bytes = uintptr(e.Bytes)
	}
	site := track.SiteOf(e.Site)
	info.Number, info.Time, info.Thread, info.Tag = e.Seq, e.Time, uint64(e.Thread), track.NameAddress(e.Tag)
	file, line := site.Told()
	info.File, info.Line = track.NameAddress(track.Intern(file)), uint64(line)
	if info.Frames = uint64(len(site.Stack)); info.Frames > 0 {
		info.Stack = layout.Address(&site.Stack[0])
	}
	return info
}

func numPointers() uintptr {
	sum := object.Registry().Totals()
	return uintptr(sum.Pointers - min(sum.Pointers, sum.HandedBack+sum.Zeros))
}
