package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Reason is why a live allocation counts as leaked, or does not.
type Reason int

// The reasons. What comes before Held is a leak by itself.
const (
	Floating   Reason = iota // nobody has taken its floating reference
	Acquired                 // somebody has acquired it and did not release
	EndedScope               // a scope of a thread that has ended holds it
	AtZero                   // it was brought to zero and not freed
	Cycle                    // only what it refers to refers to it
	Aliases                  // a buffer of which aliases are left
	Lent                     // a block of a memory pool
	LeftOpen                 // a scope of a thread that has ended held it, and it was released since
	Indirect                 // another leak refers to it
	HandedBack               // the host has it: no leak
	Held                     // a scope of a running thread, or nobody can release it: no leak
)

// IsLeak tells whether a reason makes a leak.
func IsLeak(r Reason) bool { return r <= Indirect }

// Live is a live allocation.
type Live struct {
	Ref     track.Ref
	Address uintptr
	Bytes   uint64
	Type    string // "" = plain bytes
	Reason  Reason
}

// Marks of the walk in sideValue.flags; the value counts the references that nothing
// explains yet.
const (
	leakNode = 1 << iota
	leakHeld
	leakFloating
	leakEnded
	leakZero
	leakReached // from a scope of a running thread
	leakIndirect
	leakSeen // by the walk for cycles
	leakCycle
	leakImmortal
)

// search looks for leaks: every live object is a node, and its references are taken
// off the counts of what they lead to. What is left of a count is held by a caller.
type search struct {
	c       *Context
	nodes   memory.Array[layout.Entry]
	stack   memory.Array[layout.Entry]
	left    memory.Array[layout.Entry] // by the walk for cycles, in that order
	foreign foreignSearch
	failed  bool
}

// Leaks calls visit with every live allocation of the heap and of the registry, the
// cost of which is linear in all of them. It changes nothing and calls nothing of the
// program's.
func (c *Context) Leaks(visit func(Live)) status.Status {
	if st := process.side.begin(); st != status.OK {
		return c.Fail(st, textTables, 0)
	}
	defer process.side.end()
	entries := func() memory.Array[layout.Entry] { return memory.NewArray[layout.Entry]("leaks") }
	s := search{c: c, nodes: entries(), stack: entries(), left: entries()}
	defer s.nodes.Free()
	defer s.stack.Free()
	defer s.left.Free()
	s.foreign.find()
	s.find()
	process.slices.each(s.scopes)
	s.explain()
	s.reach()
	s.cycles()
	if s.failed {
		return c.Fail(status.OutOfMemory, textTables, 0)
	}
	s.visitAll(visit)
	s.foreign.visitAll(visit)
	return status.OK
}

// find lists the live objects with the references that they have.
func (s *search) find() {
	process.heap.Slabs(func(first uint32, start uintptr, slots, size uint32) {
		for i := range slots {
			r := process.heap.Record(first + i)
			sh := layout.UnpackSh(atomic.LoadUint32(&r.Sh))
			if !sh.Has(layout.ShAlive) {
				continue
			}
			v := process.side.at(first + i)
			v.flags, v.value = leakNode, uint64(references(r))
			switch n := floats(r); {
			case sh.Has(layout.ShImmortal):
				v.flags |= leakImmortal
			case heldAtZero(r):
				v.flags |= leakZero
			case n > 0:
				v.flags |= leakFloating
				v.value -= uint64(n)
			}
			s.add(&s.nodes, layout.Entry{Object: start + uintptr(i*size), Record: first + i, Gen: atomic.LoadUint32(&r.Gen)})
		}
	})
}

func (s *search) add(to *memory.Array[layout.Entry], e layout.Entry) {
	if !to.Push(e) {
		s.failed = true
	}
}

// scopes explains the references of a context's scopes. What an ended thread's root scope
// holds waits for the next slow call, which releases it: that is no leak.
func (s *search) scopes(c *Context) {
	if c.Self == 0 {
		return
	}
	ended := atomic.LoadUint64(&c.Word)&layout.CtxState == layout.CtxParked && c.hasOpenScopes()
	for at := c.Entries; at < atomic.LoadUintptr(&c.Top); at += layout.EntryBytes {
		e, mark := *layout.At[layout.Entry](at), uint32(leakHeld)
		if ended && uint64(at-c.Entries)/layout.EntryBytes >= c.mark(0).Entries {
			mark = leakEnded
		}
		switch {
		case e.Object == 0:
		case e.Record == layout.Foreign:
			s.foreign.explain(e.Object, mark)
		case atomic.LoadUint32(&process.heap.Record(e.Record).Gen) == e.Gen:
			v := process.side.at(e.Record)
			v.flags |= mark
			v.value--
		}
	}
}

// each calls visit with every reference of an object that leads to a live one, and
// onForeign with those that lead to a registered pointer.
func (s *search) each(e layout.Entry, visit func(layout.Entry, *sideValue), onForeign func(uintptr)) {
	s.c.referencesOf(e, func(p uintptr) {
		if p == 0 {
			return
		}
		if !process.heap.Contains(p) {
			if onForeign != nil {
				onForeign(p)
			}
			return
		}
		at := process.heap.Find(p)
		if at.Kind != heap.Live || at.Start != p {
			return
		}
		if v := process.side.at(at.Record); v.flags&leakNode != 0 {
			visit(layout.Entry{Object: p, Record: at.Record, Gen: at.Gen}, v)
		}
	})
}

// explain takes the references that objects hold off the counts.
func (s *search) explain() {
	for i := range s.nodes.Len() {
		s.each(*s.nodes.At(i), func(_ layout.Entry, v *sideValue) { v.value-- }, func(p uintptr) { s.foreign.explain(p, 0) })
	}
}

// isDirect tells whether an object is a leak by itself, whoever else holds it.
func isDirect(v *sideValue) bool {
	return v.flags&leakImmortal == 0 && (v.flags&(leakFloating|leakEnded|leakZero) != 0 || int64(v.value) > 0)
}

// isHeld tells whether a scope of a running thread, or for ever, holds an object.
func isHeld(v *sideValue) bool { return v.flags&(leakHeld|leakImmortal) != 0 }

// reach marks what running threads' scopes lead to, and then what leaks lead to.
func (s *search) reach() {
	for _, from := range []struct {
		starts func(*sideValue) bool
		mark   uint32
	}{
		{isHeld, leakReached},
		{isDirect, leakIndirect},
	} {
		for i := range s.nodes.Len() {
			if e := *s.nodes.At(i); from.starts(process.side.at(e.Record)) {
				s.spread(e, from.mark)
			}
		}
	}
}

// spread marks what an object leads to and has no mark yet.
func (s *search) spread(e layout.Entry, mark uint32) {
	s.add(&s.stack, e)
	for s.stack.Len() > 0 {
		onForeign := func(p uintptr) { s.foreign.mark(p, mark) }
		s.each(s.stack.Pop(), func(child layout.Entry, v *sideValue) {
			if v.flags&(leakReached|leakIndirect) == 0 {
				v.flags |= mark
				s.add(&s.stack, child)
			}
		}, onForeign)
	}
}

// leakSettled are the marks that tell who holds an object, or what leads to it.
const leakSettled = leakHeld | leakImmortal | leakReached | leakIndirect | leakCycle

// cycles names one object of each cycle that is left, unless another one leads to it:
// what is left is held by what is left alone. The object that a walk in depth leaves last
// can be reached from none that it did not reach itself; so that is named, all it
// leads to is marked, and the next one to be left late is looked at. (Sharir, "A
// strong-connectivity algorithm and its applications in data flow analysis", 1981.)
func (s *search) cycles() {
	for i := range s.nodes.Len() {
		e := *s.nodes.At(i)
		if v := process.side.at(e.Record); v.flags&(leakSettled|leakSeen) == 0 && !isDirect(v) {
			s.walk(e)
		}
	}
	for s.left.Len() > 0 {
		e := s.left.Pop()
		if v := process.side.at(e.Record); v.flags&leakSettled == 0 {
			v.flags |= leakCycle
			s.spread(e, leakIndirect)
		}
	}
}

// walk lists what e leads to in the order in which it is left. An entry without a
// generation on the stack ends the path below its object.
func (s *search) walk(e layout.Entry) {
	s.add(&s.stack, e)
	for s.stack.Len() > 0 {
		at := s.stack.Pop()
		v := process.side.at(at.Record)
		switch {
		case at.Gen == 0:
			s.add(&s.left, at)
		case v.flags&(leakSettled|leakSeen) == 0:
			v.flags |= leakSeen
			s.add(&s.stack, layout.Entry{Object: at.Object, Record: at.Record})
			s.each(at, func(child layout.Entry, _ *sideValue) { s.add(&s.stack, child) }, nil)
		}
	}
}

func reasonOf(v *sideValue) Reason {
	switch {
	case !isDirect(v) && (isHeld(v) || v.flags&leakReached != 0):
		return Held
	case v.flags&leakZero != 0:
		return AtZero
	case v.flags&leakEnded != 0:
		return EndedScope
	case v.flags&leakFloating != 0:
		return Floating
	case int64(v.value) > 0:
		return Acquired
	case v.flags&leakCycle != 0:
		return Cycle
	}
	return Indirect
}

// visitAll visits the objects.
func (s *search) visitAll(visit func(Live)) {
	for i := range s.nodes.Len() {
		e := *s.nodes.At(i)
		visit(Live{Ref: objectRef(e), Address: e.Object, Bytes: s.c.bytesAnywhere(e), Type: s.c.TypeName(e),
			Reason: reasonOf(process.side.at(e.Record))})
	}
}
