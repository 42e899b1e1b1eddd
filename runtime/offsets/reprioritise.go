package offsets

import (
	"cmp"
	"slices"
)

// vainRounds in a row end a squeaky wheel.
const vainRounds = 150

// reprioritise places again and again by an order that starts as that by size, and in
// which whatever ends above the bound moves forward: squeaky wheel optimisation
// (Joslin and Clements, 1999). It ends after so many rounds, at the bound, or when
// many rounds in a row were in vain.
func (s *solver) reprioritise(in *instance, ground *shelf, d *draft, rounds int) {
	order, weight := make([]int32, len(in.items)), make([]int64, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		order[i], weight[i] = int32(i), log2(uint64(it.size))
		if it.pinned >= 0 {
			weight[i] = none
		}
	}
	vain := 0
	for range rounds {
		if vain == vainRounds || s.done(d) || s.halted() || s.search && s.left <= 0 {
			return
		}
		s.tick(32 * int64(len(order)))
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(in.items[a].first, in.items[b].first),
				cmp.Compare(a, b))
		})
		units, steps := s.units, s.steps
		if !s.place(in, ground, order, false, true, none) {
			return
		}
		s.charge(units, steps)
		if vain++; ground.frame < d.frame {
			vain = 0
		}
		d.keep(ground.offset, ground.frame, "squeaky wheel")
		s.blame(in, ground, d, weight)
	}
}

// blame moves forward what ends above the bound, the more the higher it ends.
func (s *solver) blame(in *instance, ground *shelf, d *draft, weight []int64) {
	above := max(1, ground.frame-d.bound)
	for i := range in.items {
		it := &in.items[i]
		if over := ground.offset[i] + it.size - d.bound; over > 0 && it.pinned < 0 {
			weight[i] += 1<<14 + (1<<15)*(over*16/above)/16 + s.random.Int64N(1<<13)
		}
	}
}
