package offsets

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"
)

// assignment says where every item lies.
type assignment struct {
	rank   []int32   // which of the item's choices it has
	parts  [][]int32 // items by space
	drafts []*draft  // by space; their offsets are in the order of parts
}

const (
	// returnEjections may be made to give an item a better choice.
	returnEjections = 200
	// maxPacks bounds the work of assigning, and that of bringing back: so often what is done unasked for one space.
	maxPacks = 16
)

// several solves a problem with more than one space. First fit, the largest first, gives each item the first of its
// choices that has room; where one finds none, those with the fewest choices come first, and then a tree searches all
// spaces at once, as stretches of one line of addresses. What did not get its first choice is put there by ejections if
// they find room, and every frame is lowered for itself.
func (s *solver) several(in *instance) (*Solution, error) {
	a, offset := &assignment{rank: make([]int32, len(in.items))}, make([]int64, len(in.items))
	var err error
	work := maxPacks * (baseUnits + itemUnits*int64(len(in.items)))
	s.limited(work, none, func() {
		order := in.order(&rules[size], nil)
		if err = s.firstFit(in, order, a.rank, offset); err != nil {
			slices.SortStableFunc(order, func(x, y int32) int { return int(s.freedom(in, x) - s.freedom(in, y)) })
			err = s.firstFit(in, order, a.rank, offset)
		}
	})
	if limit := (*LimitError)(nil); errors.As(err, &limit) && !limit.Proved {
		err = s.onALine(in, a.rank, offset, limit)
		if err != nil && !limit.Proved && s.passThrough(in, a.rank, offset) == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	s.limited(work, none, func() { s.bringBack(in, a.rank, offset) })
	s.divide(in, a, offset)
	s.finish(in, a)
	return s.gather(in, a), nil
}

// freedom is 0 for what is pinned, 1 for what has no choice without a capacity, and else 2.
func (s *solver) freedom(in *instance, i int32) int32 {
	switch it := &in.items[i]; {
	case it.pinned >= 0:
		return 0
	case s.unlimited(it) < 0:
		return 1
	}
	return 2
}

// firstFit places items in an order, each in the first of its choices that has room. When its grant is used up, one
// pass through time does that.
func (s *solver) firstFit(in *instance, order, rank []int32, offset []int64) error {
	grounds := make([]*shelf, len(s.spaces))
	for _, i := range order {
		it := &in.items[i]
		space, err := s.choose(it, &rank[i], func(space int) int64 {
			if grounds[space] == nil {
				grounds[space] = newShelf(in, offset)
			}
			if offset[i] = it.pinned; it.pinned < 0 {
				offset[i] = grounds[space].lowest(it)
			}
			return offset[i] + it.size
		})
		if err != nil {
			return err
		}
		grounds[space].put(i)
		if s.tick(grounds[space].spent()) {
			return s.passThrough(in, rank, offset)
		}
	}
	return nil
}

// choose gives an item the first of its choices where it ends low enough, and returns that space.
func (s *solver) choose(it *item, rank *int32, end func(space int) int64) (int, error) {
	last, needed := 0, int64(0)
	for *rank = 0; s.preferred(it, int(*rank)) >= 0; *rank++ {
		last = s.preferred(it, int(*rank))
		s.watch(unitsToSort)
		needed = end(last)
		if c := s.spaces[last].Capacity; c == 0 || needed <= c {
			return last, nil
		}
	}
	return 0, s.limit(it, last, needed, s.nowhere(it))
}

// passThrough assigns and places all items in one pass, whatever their number, for when there is no time for more.
func (s *solver) passThrough(in *instance, rank []int32, offset []int64) error {
	into := in.swept
	if in.pinned() {
		into = in.stacked
	}
	return into(offset, len(s.spaces), func(i int32, end func(space int) int64) (int, error) {
		return s.choose(&in.items[i], &rank[i], end)
	})
}

// divide makes a draft for each space of where its items lie.
func (s *solver) divide(in *instance, a *assignment, offset []int64) {
	a.parts, a.drafts = make([][]int32, len(s.spaces)), make([]*draft, len(s.spaces))
	for i := range in.items {
		space := s.preferred(&in.items[i], int(a.rank[i]))
		a.parts[space] = append(a.parts[space], int32(i))
	}
	for space, part := range a.parts {
		sub, d := in.only(part), &draft{method: "first fit"}
		for _, i := range part {
			d.offset = append(d.offset, offset[i])
		}
		d.frame, d.bound = sub.frame(d.offset), sub.lowerBound(sub.load(), s.expired)
		a.drafts[space] = d
	}
}

// nowhere says that an item passes the capacity of each of its spaces alone.
func (s *solver) nowhere(it *item) bool {
	for k := 0; s.preferred(it, k) >= 0; k++ {
		c := s.spaces[s.preferred(it, k)].Capacity
		if c == 0 || max(it.pinned, it.residue)+it.size <= c {
			return false
		}
	}
	return true
}

// bringBack moves items to a better choice where ejections find room for them, the largest first.
func (s *solver) bringBack(in *instance, rank []int32, offset []int64) {
	var spilled []int32
	for i := range in.items {
		if rank[i] > 0 {
			spilled = append(spilled, int32(i))
		}
	}
	slices.SortFunc(spilled, func(x, y int32) int {
		return cmp.Or(cmp.Compare(in.items[y].size, in.items[x].size), cmp.Compare(x, y))
	})
	for space := range s.spaces {
		if s.tick(unitsOfVisit*int64(len(spilled)+len(in.items))) || s.halted() {
			return
		}
		var list []int32 // what lies there, and then what wants to
		for i := range in.items {
			if s.preferred(&in.items[i], int(rank[i])) == space {
				list = append(list, int32(i))
			}
		}
		inside := len(list)
		for _, i := range spilled {
			if s.choice(&in.items[i], space) < rank[i] {
				list = append(list, i)
			}
		}
		if inside < len(list) {
			s.moveIn(in, space, list, inside, rank, offset)
		}
	}
}

// choice is the rank of a space among those of an item, a large number where it is none of them.
func (s *solver) choice(it *item, space int) int32 {
	k := space
	if named := s.p.Buffers[it.buffer].Spaces; len(named) > 0 {
		k = slices.Index(named, space)
	}
	if k < 0 || k > 0 && it.pinned >= 0 {
		return math.MaxInt32
	}
	return int32(k)
}

// moveIn puts items into a space that has others, the first so many of a list, if ejections find room for them.
func (s *solver) moveIn(in *instance, space int, list []int32, inside int, rank []int32, offset []int64) {
	where := make([]int64, len(list))
	for k, i := range list {
		if where[k] = offset[i]; k >= inside {
			where[k] = -1
		}
	}
	e := s.newEjector(in.only(list), where)
	e.limit = s.spaces[space].Capacity
	for k := inside; k < len(list) && !s.halted(); k++ {
		if e.place(returnEjections, int32(k)) {
			rank[list[k]] = s.choice(&in.items[list[k]], space)
		}
	}
	for k, i := range list {
		if e.ground.offset[k] >= 0 {
			offset[i] = e.ground.offset[k]
		}
	}
}

// finish lowers each frame: first all do what needs no grant, so that no grant gives a larger frame, and then each
// searches with its share of what is left.
func (s *solver) finish(in *instance, a *assignment) {
	packings := make([]*packing, len(s.spaces))
	for space, part := range a.parts {
		if !s.expired() {
			packings[space] = s.newPacking(in.only(part))
			packings[space].begin()
		}
	}
	left, deadline := s.left, s.deadline
	for space, p := range packings {
		if p == nil {
			continue
		}
		share, before, d := int64(len(s.spaces)-space), s.steps, a.drafts[space]
		if left != none {
			s.left = left / share
		}
		if s.late = false; !deadline.IsZero() {
			s.deadline = s.clock().Add(deadline.Sub(s.clock()) / time.Duration(share))
		}
		if s.search {
			p.deepen()
		}
		left -= s.steps - before
		if c := s.spaces[space].Capacity; (c == 0 || p.d.frame <= c) && p.d.frame < d.frame {
			a.drafts[space] = p.d
		}
		a.drafts[space].bound = p.d.bound
	}
}

// gather makes the solution of an assignment.
func (s *solver) gather(in *instance, a *assignment) *Solution {
	offset, space := make([]int64, len(in.items)), make([]int, len(in.items))
	frames := make([]SpaceResult, len(s.spaces))
	optimal := !slices.ContainsFunc(a.rank, func(rank int32) bool { return rank > 0 })
	for k, d := range a.drafts {
		frames[k] = SpaceResult{Bytes: 0, LowerBound: d.bound}
		for j, i := range a.parts[k] {
			offset[i], space[i] = d.offset[j], k
			frames[k].Bytes = max(frames[k].Bytes, d.offset[j]+in.items[i].size)
		}
		optimal = optimal && frames[k].Bytes == d.bound
	}
	out := in.spread(s.p, offset)
	out.Space = in.spreadSpace(s.p, space)
	out.Frames, out.Optimal, out.Steps, out.Method = frames, optimal, s.steps, a.drafts[0].method
	return out
}

// spreadSpace turns the spaces of items into those of buffers.
func (in *instance) spreadSpace(p *Problem, space []int) []int {
	if in.links == nil {
		return space
	}
	out := make([]int, len(p.Buffers))
	for i := range out {
		out[i] = space[in.itemOf[in.links.root[i]]]
	}
	return out
}
