package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// The cycle collector is synchronous trial deletion (Bacon and Rajan, "Concurrent
// Cycle Collection in Reference Counted Systems", ECOOP 2001) with the trial
// counts beside the records. Candidates are the objects with references that the
// calling context owns and never shared:
//
//	trial(o) = count(o) - references to o from candidates
//
// A candidate with trial > 0 is held from outside (a scope, a float, another
// thread, an object that is no candidate); what it reaches stays. The rest is
// garbage. Each candidate and each of its references is visited three times. Blocks of malloc's with
// a type are candidates like objects (cycles_blocks.go).
const (
	sideCandidate = 1
	sideReached   = 2
	sideHanging   = 4 // no candidate; the value counts references that are left
	sideCopy      = 8 // made by the clone that goes on
)

type collector struct {
	c          *Context
	candidates memory.Array[layout.Entry]
	reached    memory.Array[layout.Entry]
	blocks     memory.Array[candidateBlock]
	references memory.Array[uintptr] // of blocks
	failed     bool
}

// CollectCycles frees the garbage cycles of the calling context and returns how
// many objects died, -1 when there was no memory to look.
func (c *Context) CollectCycles() int64 {
	if st := process.heap.Side().Begin(); st != status.OK {
		c.failAlloc(st, 0)
		return -1
	}
	k := newCollector(c)
	k.find()
	k.findBlocks()
	died := k.collect()
	k.close()
	process.heap.Side().End()
	if k.failed {
		c.failAlloc(status.OutOfMemory, 0)
		return -1
	}
	c.Drain()
	return died
}

func newCollector(c *Context) *collector {
	const purpose = "cycles"
	return &collector{c: c, candidates: memory.NewArray[layout.Entry](purpose),
		reached: memory.NewArray[layout.Entry](purpose), blocks: memory.NewArray[candidateBlock](purpose),
		references: memory.NewArray[uintptr](purpose)}
}

// collect frees what is garbage of the candidates, and returns how many objects go.
func (k *collector) collect() (died int64) {
	if k.failed {
		return 0
	}
	k.subtract()
	k.restore()
	k.keepTouched()
	if k.failed {
		return 0
	}
	return k.free()
}

func (k *collector) close() {
	k.forgetBlocks()
	k.candidates.Free()
	k.reached.Free()
	k.blocks.Free()
	k.references.Free()
}

// find lists the candidates.
func (k *collector) find() {
	process.heap.Slabs(func(s heap.Slab) {
		for i := range s.Slots {
			e := s.Slot(i)
			r := process.heap.Record(e.Record)
			typ := atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask
			if typ == layout.TypePlain || typ == layout.TypeVecData || isShared(typ) {
				continue
			}
			loc := atomic.LoadUint32(&r.Loc)
			if !k.c.owns(loc) || !ownersAlone(atomic.LoadUint32(&r.Sh)) {
				continue
			}
			v := process.heap.Side().At(e.Record)
			v.Flags, v.Value = sideCandidate, uint64(layout.LocCountOf(loc))
			e.Gen = r.Gen
			if !k.candidates.Push(e) {
				k.failed = true
			}
		}
	})
}

// candidate returns the candidate that starts at p; nil: there is none.
func (k *collector) candidate(p uintptr) (layout.Entry, *heap.SideValue) {
	switch {
	case p == 0:
		return layout.Entry{}, nil
	case process.heap.Contains(p):
		return k.object(p)
	}
	return k.block(p)
}

// object is candidate for an address in the heap.
func (k *collector) object(p uintptr) (layout.Entry, *heap.SideValue) {
	at := process.heap.Find(p)
	if at.Start != p || at.Record == 0 {
		return layout.Entry{}, nil
	}
	v := process.heap.Side().At(at.Record)
	if v.Flags&sideCandidate == 0 {
		return layout.Entry{}, nil
	}
	return layout.Entry{Object: p, Record: at.Record, Gen: at.Gen}, v
}

// children visits the candidates that a candidate refers to, once for each reference.
func (k *collector) children(e layout.Entry, visit func(child layout.Entry, v *heap.SideValue)) {
	follow := func(p uintptr) {
		if child, v := k.candidate(p); v != nil {
			visit(child, v)
		}
	}
	if e.Record != layout.Foreign {
		fieldsOfType(typeAt(e), e.Object, func(slot *uintptr) { follow(*slot) })
		return
	}
	for b, i := k.blockOf(e), uint64(0); i < b.last-b.first; i++ {
		follow(*k.references.At(b.first + i))
	}
}

// subtract removes the references among candidates from the trial counts.
func (k *collector) subtract() {
	for i := range k.candidates.Len() {
		k.children(*k.candidates.At(i), func(_ layout.Entry, v *heap.SideValue) { v.Value-- })
	}
}

// restore marks everything that a held candidate reaches.
func (k *collector) restore() {
	for i := range k.candidates.Len() {
		e := *k.candidates.At(i)
		if v := k.valueOf(e); int64(v.Value) > 0 {
			k.reachAll(e, v)
		}
	}
}

// reachAll marks a candidate and everything that it reaches.
func (k *collector) reachAll(e layout.Entry, v *heap.SideValue) {
	k.reach(e, v)
	for k.reached.Len() > 0 {
		k.children(k.reached.Pop(), k.reach)
	}
}

func (k *collector) reach(e layout.Entry, v *heap.SideValue) {
	if v.Flags&sideReached != 0 {
		return
	}
	v.Flags |= sideReached
	if !k.reached.Push(e) {
		k.failed = true
	}
}

// free kills what was not reached and returns how many objects go, those included
// that only the garbage refers to. References among the garbage are cleared first, so
// that releasing fields never meets a slot that was reused meanwhile; destructors see
// those fields as NULL.
func (k *collector) free() (died int64) {
	garbage := func(v *heap.SideValue) bool { return v.Flags&sideReached == 0 }
	for i := range k.candidates.Len() {
		e := *k.candidates.At(i)
		if garbage(k.valueOf(e)) {
			died += 1 + k.hanging(e)
			fieldsOfType(typeAt(e), e.Object, func(slot *uintptr) {
				if _, v := k.candidate(*slot); v != nil && garbage(v) {
					*slot = 0
				}
			})
		}
	}
	for i := range k.candidates.Len() {
		e := *k.candidates.At(i)
		if garbage(k.valueOf(e)) {
			k.kill(e)
		}
	}
	return died
}

// hanging returns how many objects that are no candidates lose their last reference
// with this one.
func (k *collector) hanging(e layout.Entry) (n int64) {
	fieldsOfType(typeAt(e), e.Object, func(slot *uintptr) {
		if *slot == 0 || !process.heap.Contains(*slot) {
			return
		}
		at := process.heap.Find(*slot)
		if at.Kind != heap.Live {
			return
		}
		v := process.heap.Side().At(at.Record)
		if v.Flags&sideCandidate != 0 {
			return
		}
		if v.Flags == 0 {
			v.Flags, v.Value = sideHanging, uint64(references(process.heap.Record(at.Record)))
		}
		if v.Value--; v.Value == 0 {
			n++
		}
	})
	return n
}
