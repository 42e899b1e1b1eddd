package leak

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
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
	Cell                     // it is a cell
	Stuck                    // it is a cell whose count sticks
	Cycle                    // only what it refers to refers to it
	CellCycle                // the same of a cell
	Aliases                  // a buffer of which aliases are left
	Lent                     // a block of a memory pool
	LeftOpen                 // a scope of a thread that has ended held it, and it was released since
	Indirect                 // another leak refers to it
	HandedBack               // the host has it: no leak
	Held                     // a scope of a running thread or the caller, or nobody can release it: no leak
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

// Marks of the walk in heap.SideValue.Flags; the value counts the references that nothing
// explains yet.
const (
	leakNode = 1 << iota
	leakHeld
	leakFloating
	leakEnded
	leakZero
	leakCell
	leakStuck
	leakReached // from a scope of a running thread
	leakIndirect
	leakSeen // by the walk for cycles
	leakCycle
	leakImmortal
)

// search looks for leaks: every live object is a node, and its references are taken
// off the counts of what they lead to. What is left of a count is held by a caller.
type search struct {
	c       *object.Context
	heap    *heap.Heap
	nodes   memory.Array[layout.Entry]
	stack   memory.Array[layout.Entry]
	left    memory.Array[layout.Entry] // by the walk for cycles, in that order
	foreign foreignSearch
	tell    func(trace.Holding) // who holds what; may be nil
	failed  bool
}

// EachLive calls visit with every live allocation of the heap and of the registry, the
// cost of which is linear in all of them. It changes nothing and calls nothing of the
// program's. The caller holds a reference to each of held.
func EachLive(c *object.Context, visit func(Live), held ...uintptr) status.Status {
	return eachLive(c, nil, visit, held)
}

func eachLive(c *object.Context, of List, visit func(Live), held []uintptr) status.Status {
	return look(c, of, held, nil, func(s *search) {
		s.visitAll(visit)
		s.foreign.visitAll(visit)
	})
}

// look calls use with what was found, unless there is no memory, and tell with who holds what.
func look(c *object.Context, of List, held []uintptr, tell func(trace.Holding), use func(*search)) status.Status {
	h := object.Heap()
	if st := h.Side().Begin(); st != status.OK {
		return c.Fail(st, object.TextTables, 0)
	}
	defer h.Side().End()
	entries := func() memory.Array[layout.Entry] { return memory.NewArray[layout.Entry]("leaks") }
	s := search{c: c, heap: h, nodes: entries(), stack: entries(), left: entries(), tell: tell}
	defer s.nodes.Free()
	defer s.stack.Free()
	defer s.left.Free()
	s.foreign.find()
	s.find()
	s.foreign.typed(func(e layout.Entry) { s.add(&s.nodes, e) })
	object.EachContext(s.scopes)
	s.caller(held)
	s.explain()
	if of != nil {
		s.keepTo(of, held)
	}
	s.reach()
	s.cycles()
	if s.failed {
		return c.Fail(status.OutOfMemory, object.TextTables, 0)
	}
	use(&s)
	return status.OK
}

// find lists the live objects with the references that they have.
func (s *search) find() {
	s.heap.Slabs(func(slab heap.Slab) {
		for i := range slab.Slots {
			e := slab.Slot(i)
			if slab.Cells {
				if slab.HasCell(i) {
					s.addCell(s.heap.Side().At(e.Record), e.Object)
					s.add(&s.nodes, e)
				}
				continue
			}
			r := s.heap.Record(e.Record)
			sh := layout.UnpackSh(atomic.LoadUint32(&r.Sh))
			if !sh.Has(layout.ShAlive) {
				continue
			}
			held, floating, atZero := object.CountsOf(r)
			v := s.heap.Side().At(e.Record)
			v.Flags, v.Value = leakNode, uint64(held)
			switch {
			case sh.Has(layout.ShImmortal):
				v.Flags |= leakImmortal
			case atZero && object.IsCell(r):
				s.addCell(v, object.CellIn(e.Object))
			case atZero:
				v.Flags |= leakZero
			case floating > 0:
				v.Flags |= leakFloating
				v.Value -= uint64(floating)
			}
			e.Gen = atomic.LoadUint32(&r.Gen)
			s.add(&s.nodes, e)
		}
	})
}

// addCell notes the references that a cell has.
func (s *search) addCell(v *heap.SideValue, cell uintptr) {
	count, stuck := object.CellCount(cell)
	if v.Flags, v.Value = leakNode|leakCell, uint64(count); stuck {
		v.Flags |= leakStuck
	}
}

func (s *search) add(to *memory.Array[layout.Entry], e layout.Entry) {
	if !to.Push(e) {
		s.failed = true
	}
}

// scopes explains the references of a context's scopes. What an ended thread's root scope
// holds waits for the next slow call, which releases it: that is no leak.
func (s *search) scopes(c *object.Context) {
	ended := ^uintptr(0) // where entries of an ended thread's scopes begin
	if atomic.LoadUint64(&c.Word)&layout.CtxState == layout.CtxParked {
		ended = c.OpenEntries()
	}
	for at := c.Entries; at < atomic.LoadUintptr(&c.Top); at += layout.EntryBytes {
		e, mark := *layout.At[layout.Entry](at), uint32(leakHeld)
		if at >= ended {
			mark = leakEnded
		}
		switch {
		case e.Object == 0:
		case e.Record == layout.Foreign:
			if n := s.foreign.at[e.Object]; n != nil {
				s.inScope(c, at, &n.SideValue, mark)
				s.foreign.explain(e.Object, mark)
			}
		case atomic.LoadUint32(&s.heap.Record(e.Record).Gen) == e.Gen:
			v := s.heap.Side().At(e.Record)
			s.inScope(c, at, v, mark)
			v.Flags |= mark
			v.Value--
		}
	}
}

// caller explains the references that the caller says are its own, as those of a scope.
func (s *search) caller(held []uintptr) {
	for _, p := range held {
		if !s.heap.Contains(p) {
			s.foreign.explain(p, leakHeld)
			continue
		}
		at := s.heap.Find(p)
		if at.Kind != heap.Live || at.Start != p {
			continue
		}
		if v := s.heap.Side().At(at.Record); v.Flags&leakNode != 0 {
			v.Flags |= leakHeld
			v.Value--
		}
	}
}

// value returns what the walk knows of an object, or of a block with a type.
func (s *search) value(e layout.Entry) *heap.SideValue {
	if e.Record == layout.Foreign {
		return &s.foreign.at[e.Object].SideValue
	}
	return s.heap.Side().At(e.Record)
}

func (s *search) references(e layout.Entry, visit func(p, slot uintptr)) {
	if e.Record == layout.Foreign {
		object.FieldsOfBlock(s.foreign.at[e.Object].Info, visit)
		return
	}
	s.c.ReferencesOf(e, visit)
}

// each calls visit with every reference of an object that leads to a live one, and
// onForeign with those that lead to a registered pointer without a type; slot is where the reference stands.
func (s *search) each(e layout.Entry, visit func(child layout.Entry, v *heap.SideValue, slot uintptr),
	onForeign func(p, slot uintptr)) {
	fromCell := e.Record != layout.Foreign && s.value(e).Flags&leakCell != 0
	s.references(e, func(p, slot uintptr) {
		if p == 0 {
			return
		}
		if !s.heap.Contains(p) {
			if n := s.foreign.at[p]; n != nil && n.isTyped() {
				visit(n.entry(), &n.SideValue, slot)
			} else if onForeign != nil {
				onForeign(p, slot)
			}
			return
		}
		at := s.heap.Find(p)
		v := s.heap.Side().At(at.Record)
		if at.Kind != heap.Live && at.Kind != heap.Interior || v.Flags&leakNode == 0 {
			return
		}
		start, cell := at.Start, object.CellIn(at.Start)
		if class, _ := s.heap.CellAt(p); class != 0 {
			start, cell = p, p
		}
		isCell := v.Flags&leakCell != 0
		if !isCell && p == start || isCell && fromCell && p == cell {
			visit(layout.Entry{Object: start, Record: at.Record, Gen: at.Gen}, v, slot)
		}
	})
}

// explain takes the references that objects hold off the counts.
func (s *search) explain() {
	for i := range s.nodes.Len() {
		s.each(*s.nodes.At(i), func(_ layout.Entry, v *heap.SideValue, _ uintptr) {
			v.Value--
		}, func(p, _ uintptr) { s.foreign.explain(p, 0) })
	}
}

// isDirect tells whether an object is a leak by itself, whoever else holds it.
func isDirect(v *heap.SideValue) bool {
	return v.Flags&leakImmortal == 0 && (v.Flags&(leakFloating|leakEnded|leakZero|leakStuck) != 0 || int64(v.Value) > 0)
}

// isHeld tells whether a scope of a running thread, or for ever, holds an object.
func isHeld(v *heap.SideValue) bool { return v.Flags&(leakHeld|leakImmortal) != 0 }

// reach marks what running threads' scopes lead to, and then what leaks lead to.
func (s *search) reach() {
	s.alone()
	for _, from := range []struct {
		starts func(*heap.SideValue) bool
		mark   uint32
	}{
		{isHeld, leakReached},
		{isDirect, leakIndirect},
	} {
		for i := range s.nodes.Len() {
			if e := *s.nodes.At(i); from.starts(s.value(e)) {
				s.add(&s.stack, e)
			}
		}
		s.spread(from.mark)
	}
}

// spread marks what the objects on the stack lead to and has no mark yet, the nearest first.
func (s *search) spread(mark uint32) {
	for i := uint64(0); i < s.stack.Len(); i++ {
		at := *s.stack.At(i)
		s.each(at, func(child layout.Entry, v *heap.SideValue, slot uintptr) {
			if v.Flags&(leakReached|leakIndirect) == 0 {
				v.Flags |= mark
				s.add(&s.stack, child)
				s.inObject(at, child.Object, v, slot)
			}
		}, func(p, slot uintptr) {
			if n := s.foreign.at[p]; n != nil && n.Flags&(leakReached|leakIndirect) == 0 {
				n.Flags |= mark
				s.inObject(at, p, &n.SideValue, slot)
			}
		})
	}
	s.stack.Clear()
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
		if v := s.value(e); v.Flags&(leakSettled|leakSeen) == 0 && !isDirect(v) {
			s.walk(e)
		}
	}
	for s.left.Len() > 0 {
		e := s.left.Pop()
		if v := s.value(e); v.Flags&leakSettled == 0 {
			v.Flags |= leakCycle
			s.holds(e.Object, what[reasonOf(v)], 0, 0)
			s.add(&s.stack, e)
			s.spread(leakIndirect)
		}
	}
}

// walk lists what e leads to in the order in which it is left. An entry without a
// generation on the stack ends the path below its object.
func (s *search) walk(e layout.Entry) {
	s.add(&s.stack, e)
	for s.stack.Len() > 0 {
		at := s.stack.Pop()
		v := s.value(at)
		switch {
		case at.Gen == 0:
			s.add(&s.left, at)
		case v.Flags&(leakSettled|leakSeen) == 0:
			v.Flags |= leakSeen
			s.add(&s.stack, layout.Entry{Object: at.Object, Record: at.Record})
			s.each(at, func(child layout.Entry, _ *heap.SideValue, _ uintptr) { s.add(&s.stack, child) }, nil)
		}
	}
}

func reasonOf(v *heap.SideValue) Reason {
	switch {
	case !isDirect(v) && (isHeld(v) || v.Flags&leakReached != 0):
		return Held
	case v.Flags&leakStuck != 0:
		return Stuck
	case v.Flags&leakCell != 0 && int64(v.Value) > 0:
		return Cell
	case v.Flags&leakZero != 0:
		return AtZero
	case v.Flags&leakEnded != 0:
		return EndedScope
	case v.Flags&leakFloating != 0:
		return Floating
	case int64(v.Value) > 0:
		return Acquired
	case v.Flags&(leakCycle|leakCell) == leakCycle|leakCell:
		return CellCycle
	case v.Flags&leakCycle != 0:
		return Cycle
	}
	return Indirect
}

// visitAll visits the objects.
func (s *search) visitAll(visit func(Live)) {
	for i := range s.nodes.Len() {
		e := *s.nodes.At(i)
		if e.Record == layout.Foreign {
			continue // with the other registered blocks
		}
		visit(Live{Ref: track.OfObject(e), Address: e.Object, Bytes: object.AskedOf(e),
			Type:   object.TypeAnywhere(e),
			Reason: reasonOf(s.heap.Side().At(e.Record))})
	}
}
