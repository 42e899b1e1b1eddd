package offsets

import (
	"math"
	"slices"
)

// draft is a complete placement in one space.
type draft struct {
	offset []int64
	frame  int64
	bound  int64 // proved
	method string
}

const (
	// fewItems may have every rule tried; more of them have the first alone.
	fewItems = 20_000
	// crowded is the product of the items and of those alive at once above which
	// one rule takes too long.
	crowded = 50_000_000
	// near is the reciprocal of the gap below which little sticks out.
	near = 8
	// crowd is how many items alive at once are more for orders than for trees.
	crowd = 60
	// unaskedCost is the cost of the placements that a squeaky wheel may take unasked.
	unaskedCost = 20_000_000
	// tight is the reciprocal of the gap below which a large input needs no skyline.
	tight = 100
)

// pack places an instance in one space: by rules and by skyline, by repair of what
// sticks out, and by search when it is granted.
func (s *solver) pack(in *instance) *draft {
	load := in.load()
	d := &draft{bound: in.lowerBound(load)}
	alive, plain := in.alivePerSection(), in.plain()
	ground := newShelf(in, make([]int64, len(in.items)))
	if !plain || alive*int64(len(in.items)) < crowded {
		for k := range rules {
			if !s.tryRule(in, ground, &rules[k], load, d) {
				break
			}
			// Where little sticks out, mending is cheaper than more rules.
			if k == 1 && d.frame-d.bound <= d.bound/near {
				s.improve(in, d, true)
			}
			if s.done(d) {
				break
			}
		}
	}
	if plain && (d.offset == nil || len(in.items) <= fewItems && !s.done(d) || d.frame-d.bound > d.bound/tight) {
		s.spend(1)
		in.skylined(ground.offset)
		d.keep(ground.offset, in.frame(ground.offset), "skyline")
	}
	if rounds := s.rounds(alive * int64(len(in.items))); !s.done(d) && alive > crowd {
		s.squeak(in, ground, d, rounds)
	}
	if !s.done(d) && (s.search || alive <= windowItems/2) {
		s.improve(in, d, false)
	}
	return d
}

// rounds is how often a squeaky wheel may turn on the whole, at the given cost of
// a placement.
func (s *solver) rounds(cost int64) int {
	if s.search {
		return math.MaxInt
	}
	return int(min(50, unaskedCost/max(1, cost)))
}

// keep takes a placement that is better.
func (d *draft) keep(offset []int64, frame int64, method string) {
	if d.offset == nil || frame < d.frame {
		d.offset = append(d.offset[:0], offset...)
		d.frame, d.method = frame, method
	}
}

// alivePerSection is the mean number of items alive in a section.
func (in *instance) alivePerSection() int64 {
	sum := int64(0)
	for i := range in.items {
		sum += int64(in.items[i].end - in.items[i].first)
	}
	return sum / int64(max(1, in.sections))
}

// plain says that nothing is pinned or has gaps.
func (in *instance) plain() bool {
	return !slices.ContainsFunc(in.items, func(it item) bool { return it.pinned >= 0 || it.holes > 0 })
}

// done says that d needs no more work.
func (s *solver) done(d *draft) bool { return d.frame <= max(d.bound, s.target) }

// tryRule places by one rule, keeps the result if it is the best, and says whether
// another rule is worth its time.
func (s *solver) tryRule(in *instance, ground *shelf, r *rule, load []int64, d *draft) bool {
	s.placeBy(in, ground, in.order(r, load))
	d.keep(ground.offset, ground.frame, r.name)
	return len(in.items) <= fewItems && !s.done(d)
}

// placeBy puts one item after the other as low as it can go.
func (s *solver) placeBy(in *instance, ground *shelf, order []int32) {
	s.spend(1 + int64(len(order)/itemsPerStep))
	ground.reset()
	for _, i := range order {
		it := &in.items[i]
		ground.offset[i] = it.pinned
		if it.pinned < 0 {
			ground.offset[i] = ground.lowest(it)
		}
		ground.put(i)
	}
}
