package order

import (
	"cmp"
	"slices"
)

const (
	narrowest = 4
	widest    = 256
)

// beam follows the most promising states in step, as many at once as the number of
// states that it may visit allows, and keeps the best order that it comes to.
func (s *search) beam(states int) {
	width := min(max(states/max(len(s.Nodes), 1), narrowest), widest)
	first := s.start()
	s.runFree(first)
	level := []*state{first}
	for len(level) > 0 {
		level = s.widen(level)
		level = slices.DeleteFunc(level, func(st *state) bool {
			if len(st.ready) == 0 && max(st.peak, s.bound) < s.limit {
				s.accept(st)
			}
			return len(st.ready) == 0
		})
		slices.SortStableFunc(level, func(a, b *state) int {
			return cmp.Or(cmp.Compare(a.peak, b.peak), cmp.Compare(a.live, b.live), cmp.Compare(b.ran.count(), a.ran.count()))
		})
		level = level[:min(len(level), width)]
	}
}

// widen returns the states that follow, each set once.
func (s *search) widen(level []*state) []*state {
	var next []*state
	seen := map[string]int{}
	for _, st := range level {
		s.visited++
		for _, n := range st.ready {
			after := s.after(st, n)
			if after == nil {
				continue
			}
			key := after.ran.key()
			if at, ok := seen[key]; !ok {
				seen[key] = len(next)
				next = append(next, after)
			} else if after.peak < next[at].peak {
				next[at] = after
			}
		}
	}
	return next
}
