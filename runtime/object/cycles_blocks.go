package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
)

// The part of the cycle collector that is about blocks of malloc's with a type. A candidate is a
// block that the calling context has registered and no other thread has counted since. Another
// thread may have been given one all the same, and may count or end it while the collector looks.
// So the collector counts nothing, copies the references of each block once, while nobody can end
// that block (Table.StartReading), and looks at the memory of blocks again only where they are garbage.

// candidateBlock is a candidate. The record of the block in the registry has 1 + its position in the list, and
// so has the layout.Entry that stands for it in lists of candidates: as its Gen.
type candidateBlock struct {
	block       registry.Typed // as it was when its references were copied
	value       heap.SideValue // as of an object
	first, last uint64         // its references: [first, last) of collector.references
}

// findBlocks lists the candidates among blocks, after those among objects. Threads that own no objects share one owner,
// which does not tell whose a block is: they have no candidates.
func (k *collector) findBlocks() {
	if k.c.Owner == layout.OwnerNever {
		return
	}
	process.registry.EachTyped(func(b registry.Typed) {
		if k.failed || b.Owner != k.c.Owner || b.Shared {
			return
		}
		if b, reading := process.registry.StartReading(b.Pointer, k.c.Owner); reading {
			k.failed = !k.addBlock(b)
		}
	})
}

// addBlock adds a block that is being read, and ends the reading.
func (k *collector) addBlock(b registry.Typed) (added bool) {
	defer process.registry.StopReading(b.Pointer)
	candidate := candidateBlock{block: b, first: k.references.Len()}
	candidate.value = heap.SideValue{Flags: sideCandidate, Value: uint64(b.Count)}
	added = true
	fieldsOfType(b.Type, b.Pointer, func(slot *uintptr) {
		if added && k.mayLeadOn(*slot) {
			added = k.references.Push(*slot)
		}
	})
	candidate.last = k.references.Len()
	at := k.blocks.Len() + 1
	e := layout.Entry{Object: b.Pointer, Record: layout.Foreign, Gen: uint32(at)}
	if !added || !k.blocks.Push(candidate) || !k.candidates.Push(e) {
		return false
	}
	process.registry.SetSide(b.Pointer, at)
	return true
}

// mayLeadOn tells whether a reference leads to a candidate or to a block that may become one.
func (k *collector) mayLeadOn(p uintptr) bool {
	switch {
	case p == 0:
		return false
	case !process.heap.Contains(p):
		return true
	}
	_, v := k.object(p)
	return v != nil
}

// block returns the candidate among blocks that starts at p; nil: there is none.
func (k *collector) block(p uintptr) (layout.Entry, *heap.SideValue) {
	if k.blocks.Len() == 0 {
		return layout.Entry{}, nil
	}
	at := process.registry.Side(p)
	if at == 0 {
		return layout.Entry{}, nil
	}
	e := layout.Entry{Object: p, Record: layout.Foreign, Gen: uint32(at)}
	return e, k.valueOf(e)
}

func (k *collector) blockOf(e layout.Entry) *candidateBlock { return k.blocks.At(uint64(e.Gen) - 1) }

func (k *collector) valueOf(e layout.Entry) *heap.SideValue {
	if e.Record == layout.Foreign {
		return &k.blockOf(e).value
	}
	return process.heap.Side().At(e.Record)
}

// keepTouched reaches objects that another thread has counted, and blocks that were counted or ended, while the
// collector looked: somebody had been given one. What is left afterwards is nobody's.
func (k *collector) keepTouched() {
	for i := range k.candidates.Len() - k.blocks.Len() { // the objects are before the blocks
		e := *k.candidates.At(i)
		v := k.valueOf(e)
		if v.Flags&sideReached == 0 && !ownersAlone(atomic.LoadUint32(&process.heap.Record(e.Record).Sh)) {
			k.reachAll(e, v)
		}
	}
	for i := range k.blocks.Len() {
		b := k.blocks.At(i)
		if b.value.Flags&sideReached == 0 && !process.registry.IsUntouched(b.block) {
			k.reachAll(layout.Entry{Object: b.block.Pointer, Record: layout.Foreign, Gen: uint32(i + 1)}, &b.value)
		}
	}
}

// kill ends a candidate, whatever is left of its count.
func (k *collector) kill(e layout.Entry) {
	if e.Record != layout.Foreign {
		k.c.kill(process.heap.Record(e.Record), e)
		return
	}
	if ended, res := process.registry.End(e.Object, k.blockOf(e).block.Gen); res == registry.Gone {
		k.c.freeForeign(ended)
	}
}

// forgetBlocks takes back what the registry's records say.
func (k *collector) forgetBlocks() {
	for i := range k.blocks.Len() {
		process.registry.SetSide(k.blocks.At(i).block.Pointer, 0)
	}
}
