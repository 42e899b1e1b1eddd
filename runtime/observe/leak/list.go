package leak

import (
	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// A caller that is asked what it holds answers later than the heap is looked at, and other
// threads go on meanwhile. So the heap is looked at before and afterwards. What the first
// look has not found to be open was made since, or left its scope since; and of what it has
// found, no more references are open than were then.

// List is what was live at one moment and leaks unless a caller holds it, with the number of
// references that nothing explained.
type List map[track.Ref]int64

// covers tells whether something is on a list; no list covers everything.
func (l List) covers(r track.Ref) bool {
	_, listed := l[r]
	return listed || l == nil
}

// ListOf lists what leaks unless a caller holds it: of everything, or of what a list has and
// the caller has not held when it was asked first.
func ListOf(c *object.Context, of List, held ...uintptr) (List, status.Status) {
	list := List{}
	st := look(c, of, held, nil, func(s *search) {
		s.everyNode(func(r track.Ref, _ uintptr, v *heap.SideValue) {
			switch {
			case !IsLeak(reasonOf(v)):
			case of == nil:
				list[r] = max(list[r], int64(v.Value)) // a block may have several addresses
			default:
				list[r] = of[r]
			}
		})
	})
	Blocks(func(l Live) {
		if of.covers(l.Ref) {
			list[l.Ref] = 1
		}
	})
	return list, st
}

// everyNode visits what the search knows of each object and each registered address.
func (s *search) everyNode(visit func(track.Ref, uintptr, *heap.SideValue)) {
	for i := range s.nodes.Len() {
		if e := *s.nodes.At(i); e.Record != layout.Foreign {
			visit(track.OfObject(e), e.Object, s.heap.Side().At(e.Record))
		}
	}
	for p, n := range s.foreign.at {
		visit(track.OfForeign(object.Registry(), n.Info), p, &n.SideValue)
	}
}

// keepTo leaves open only what a list has, less the caller's references. What it does not
// have counts as held, and so does what that refers to.
func (s *search) keepTo(of List, held []uintptr) {
	callers := map[uintptr]int64{}
	for _, p := range held {
		callers[p]++
	}
	s.everyNode(func(r track.Ref, p uintptr, v *heap.SideValue) {
		open, listed := of[r]
		if !listed {
			v.Flags = v.Flags&^(leakFloating|leakEnded|leakZero|leakStuck) | leakHeld
		}
		v.Value = uint64(min(int64(v.Value), open-callers[p]))
	})
}
