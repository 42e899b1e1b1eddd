package leak

import (
	"fmt"
	"sort"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Who holds what is live. The search for leaks meets each holder: scopes first, then references that nothing explains,
// and then the objects that lead to what neither holds, nearest first. A reader of a trace goes from one to the next.

// TraceHolders tells a trace that runs, before it ends, who holds each live allocation.
func TraceHolders(c *object.Context) status.Status {
	if !trace.On() {
		return status.OK
	}
	return look(c, nil, nil, trace.Held, func(s *search) {
		for i := range s.nodes.Len() {
			if e := *s.nodes.At(i); object.TableOf(e) != 0 {
				s.holds(object.TableOf(e), "table", e.Object, 0)
			}
		}
		s.everyNode(func(ref track.Ref, p uintptr, _ *heap.SideValue) {
			if class, _ := s.heap.CellAt(p); class != 0 {
				track.Drop(ref) // such a slot has no generations: nobody tells its end from now on
			}
		})
		Blocks(func(l Live) { s.holds(l.Address, what[Lent], 0, 0) })
	})
}

func (s *search) holds(p uintptr, by string, from uintptr, site uint32) {
	if s.tell != nil {
		s.tell(trace.Holding{Address: uint64(p), By: by, From: uint64(from), Site: site})
	}
}

// inScope tells that an entry of a running thread's scopes holds what v is of, unless an older one was told.
func (s *search) inScope(c *object.Context, at uintptr, v *heap.SideValue, mark uint32) {
	if s.tell == nil || isHeld(v) || mark == leakEnded {
		return
	}
	by, site := "outside of scopes", uint32(0)
	marks := int(atomic.LoadUintptr(&c.MarkTop)-c.Marks) / layout.MarkBytes
	newer := sort.Search(marks, func(i int) bool { return atomic.LoadUintptr(&c.OpenMark(uint64(i)).Top) > at })
	if newer > 0 {
		mark := uint64(newer - 1)
		by, site = c.MarkName(mark), track.EnteredAt(layout.Address(c), mark)
	}
	if n := atomic.LoadUint32(&c.ThreadNumber); n != 0 {
		by += fmt.Sprintf(", thread %d", n)
	}
	s.holds(layout.At[layout.Entry](at).Object, by, 0, site)
}

// alone tells of what a reference holds that nothing explains, or nothing will ever release.
func (s *search) alone() {
	if s.tell == nil {
		return
	}
	s.everyNode(func(_ track.Ref, p uintptr, v *heap.SideValue) {
		switch {
		case v.Flags&leakImmortal != 0:
			s.holds(p, "immortal", 0, 0)
		case isDirect(v) && reasonOf(v) == Cell:
			s.holds(p, "a reference of compiled code", 0, 0) // no scope has cells
		case isDirect(v) && reasonOf(v) == Acquired:
			s.holds(p, "a reference that was acquired", 0, 0) // as a program that goes on may release it
		case isDirect(v):
			s.holds(p, what[reasonOf(v)], 0, 0)
		}
	})
}

// inObject tells that an object leads to what v is of and nothing else was told of.
func (s *search) inObject(e layout.Entry, p uintptr, v *heap.SideValue, slot uintptr) {
	if s.tell == nil || isHeld(v) || isDirect(v) || v.Flags&leakCycle != 0 {
		return
	}
	typ := uint32(0)
	if e.Record == layout.Foreign {
		typ = s.foreign.at[e.Object].Type
	}
	s.holds(p, object.PlaceIn(e, typ, slot), e.Object, 0)
}
