package order

import (
	"cmp"
	"slices"
)

const (
	narrowest = 4
	widest    = 64
)

// beam follows the most promising states in step, as many at once as the number of
// states that it may come to allows, and keeps the best order that it comes to.
func (s *search) beam(states int) {
	width := min(max(states/max(len(s.Nodes), 1), narrowest), widest)
	first := s.start()
	s.runFree(first)
	for level := []*state{first}; len(level) > 0; {
		level = slices.DeleteFunc(s.widen(level, width), func(st *state) bool {
			if len(st.ready) == 0 && max(st.peak, s.bound) < s.limit {
				s.accept(st)
			}
			return len(st.ready) == 0
		})
	}
}

// advance is a node that may run next.
type advance struct {
	state      *state
	from, node int // from: the state's place in the level
	peak, left int64
}

// widen returns the states that follow, each set once: the best, by what they cost
// and then by what they leave alive.
func (s *search) widen(level []*state, width int) []*state {
	var list []advance
	for from, st := range level {
		s.visited++
		for _, n := range st.ready {
			if s.isLate() {
				return nil
			}
			if during, left := s.cost(st, n); max(during, st.peak) < s.limit {
				list = append(list, advance{st, from, n, max(during, st.peak), left})
			}
		}
	}
	slices.SortFunc(list, func(a, b advance) int {
		return cmp.Or(cmp.Compare(a.peak, b.peak), cmp.Compare(a.left, b.left), cmp.Compare(a.from, b.from),
			cmp.Compare(a.node, b.node))
	})
	var next []*state
	seen := map[string]bool{}
	for _, a := range list {
		if len(next) == width || s.isLate() {
			break
		}
		if st := s.after(a.state, a.node); st != nil && !seen[st.ran.key()] {
			seen[st.ran.key()] = true
			next = append(next, st)
		}
	}
	return next
}
