package object

import (
	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
)

// The part of the cycle collector that is about blocks of malloc's with a type. A candidate is a
// block that the calling context has registered and no other thread has counted since. While the
// collector looks it holds a reference of its own to each (Table.Pin): another thread that was given
// the block meanwhile may drop its reference, and must not free what the collector reads.

// blockValue is a candidate, and what heap.Side knows of an object. The record of the block in the registry
// has 1 + its position in the list.
type blockValue struct {
	entry layout.Entry
	value heap.SideValue
}

// findBlocks lists the candidates among blocks.
func (k *collector) findBlocks() {
	process.registry.EachTyped(func(b registry.Typed) {
		if k.failed || b.Owner != k.c.Owner || b.Shared {
			return
		}
		b, pinned := process.registry.Pin(b.Pointer, k.c.Owner)
		if !pinned {
			return
		}
		e := layout.Entry{Object: b.Pointer, Record: layout.Foreign, Gen: b.Gen}
		value := heap.SideValue{Flags: sideCandidate, Value: uint64(b.Count)}
		switch {
		case !k.blocks.Push(blockValue{e, value}):
			k.failed = true
			k.c.releaseForeignField(b.Pointer)
		case !k.candidates.Push(e):
			k.failed = true
		}
		process.registry.SetSide(b.Pointer, k.blocks.Len())
	})
}

// block returns the candidate that starts at p, nil when there is none.
func (k *collector) block(p uintptr) *blockValue {
	if k.blocks.Len() == 0 {
		return nil
	}
	at := process.registry.Side(p)
	if at == 0 {
		return nil
	}
	return k.blocks.At(at - 1)
}

func (k *collector) valueOf(e layout.Entry) *heap.SideValue {
	if e.Record == layout.Foreign {
		return &k.block(e.Object).value
	}
	return process.heap.Side().At(e.Record)
}

// kill ends a candidate, whatever is left of its count.
func (k *collector) kill(e layout.Entry) {
	if e.Record != layout.Foreign {
		k.c.kill(process.heap.Record(e.Record), e)
		return
	}
	k.block(e.Object).entry.Record = 0 // not pinned any more
	process.registry.SetSide(e.Object, 0)
	if ended, res := process.registry.End(e.Object, e.Gen); res == registry.Gone {
		k.c.freeForeign(ended)
	}
}

// unpin drops the collector's references.
func (k *collector) unpin() {
	for i := range k.blocks.Len() {
		if e := k.blocks.At(i).entry; e.Record == layout.Foreign {
			process.registry.SetSide(e.Object, 0)
			k.c.releaseForeignField(e.Object)
		}
	}
}
