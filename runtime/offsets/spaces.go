package offsets

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// assignment says where every item lies. Its cost is what it is first judged by.
type assignment struct {
	rank   []int32 // which of the item's choices it has
	drafts []*draft
	parts  [][]int32 // items by space; drafts[i].offset is in this order
}

const (
	// maxReturns bounds the tries to bring spilled items back.
	maxReturns = 64
	// maxPacks bounds the work of settling, and that of bringing back: so often what is done unasked for one space.
	maxPacks = 16
)

// several solves a problem with more than one space: every item asks for the space
// that it prefers, a space that overflows turns away what it cannot hold, and that
// asks for its next one. Then what was turned away is tried once more, and every
// frame is lowered for itself.
func (s *solver) several(in *instance) (*Solution, error) {
	granted, target := s.search, s.target
	s.search = false
	var a *assignment
	var err error
	work := maxPacks * (baseUnits + itemUnits*int64(len(in.items)))
	s.limited(work, none, func() { a, err = s.settle(in) })
	if limit := (*LimitError)(nil); errors.As(err, &limit) && !limit.Proved {
		s.search = granted
		a, err = s.jointly(in, limit)
		s.search = false
		if err != nil && !limit.Proved {
			a, err = s.lastly(in, err)
		}
	}
	if err != nil {
		return nil, err
	}
	s.limited(work, none, func() { s.bringBack(in, a) })
	s.search, s.target = granted, target
	s.finish(in, a)
	return s.gather(in, a), nil
}

// lastly is for what was refused: perhaps one pass through time finds room.
func (s *solver) lastly(in *instance, refusal error) (*assignment, error) {
	if a, err := s.spill(in); err == nil {
		return a, nil
	}
	return nil, refusal
}

// settle assigns items until every space holds what asked for it. When its grant is used up, the items are assigned in
// one pass instead.
func (s *solver) settle(in *instance) (*assignment, error) {
	a := s.newAssignment(in)
	for i := range in.items {
		space := s.preferred(&in.items[i], 0)
		a.parts[space] = append(a.parts[space], int32(i))
	}
	for settled := false; !settled; {
		settled = true
		for space := range s.spaces {
			if a.drafts[space] != nil {
				continue
			}
			if s.halted() {
				return s.spill(in)
			}
			turned, err := s.admit(in, a, space)
			if err != nil {
				return nil, err
			}
			settled = settled && len(turned) == 0
			s.turnAway(in, a, space, turned)
		}
	}
	return a, nil
}

func (s *solver) newAssignment(in *instance) *assignment {
	return &assignment{rank: make([]int32, len(in.items)), drafts: make([]*draft, len(s.spaces)),
		parts: make([][]int32, len(s.spaces))}
}

// turnAway moves items of a space, in ascending order, to their next choices.
func (s *solver) turnAway(in *instance, a *assignment, from int, turned []int32) {
	if len(turned) == 0 {
		return
	}
	a.parts[from] = slices.DeleteFunc(a.parts[from], func(i int32) bool {
		_, leaves := slices.BinarySearch(turned, i)
		return leaves
	})
	a.drafts[from] = nil
	for _, i := range turned {
		a.rank[i]++
		to := s.preferred(&in.items[i], int(a.rank[i]))
		a.parts[to] = append(a.parts[to], i)
		a.drafts[to] = nil
	}
}

// admit packs what asks for a space, and returns what it cannot hold, if anything.
func (s *solver) admit(in *instance, a *assignment, space int) ([]int32, error) {
	capacity := s.spaces[space].Capacity
	sub := in.only(a.parts[space])
	if turned := s.oversized(in, a, space); capacity > 0 && len(turned) > 0 {
		return s.checked(in, a, turned, space, nil)
	}
	s.target = capacity
	d := s.pack(sub)
	if capacity == 0 || d.frame <= capacity {
		a.drafts[space] = d
		return nil, nil
	}
	var turned []int32
	for k, i := range a.parts[space] {
		if d.offset[k]+in.items[i].size > capacity {
			turned = append(turned, i)
		}
	}
	return s.checked(in, a, turned, space, d)
}

// oversized are the items of a space that pass its capacity alone.
func (s *solver) oversized(in *instance, a *assignment, space int) []int32 {
	var turned []int32
	for _, i := range a.parts[space] {
		if it := &in.items[i]; max(it.pinned, it.residue)+it.size > s.spaces[space].Capacity {
			turned = append(turned, i)
		}
	}
	return turned
}

// checked replaces what has no other choice by its neighbours that have one.
func (s *solver) checked(in *instance, a *assignment, turned []int32, space int, d *draft) ([]int32, error) {
	var out []int32
	for _, i := range turned {
		if len(out) > 0 && s.halted() {
			break
		}
		it := &in.items[i]
		switch {
		case s.preferred(it, int(a.rank[i])+1) >= 0:
			out = append(out, i)
		case d == nil:
			return nil, s.limit(it, space, max(it.pinned, it.residue)+it.size, s.nowhere(it))
		default:
			s.tick(int64(len(a.parts[space])))
			other := s.neighbour(in, a, i, space)
			if other < 0 {
				return nil, s.limit(it, space, d.frame, false)
			}
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
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

// neighbour is the largest item in a space that conflicts with item i and has
// another choice, -1 when there is none.
func (s *solver) neighbour(in *instance, a *assignment, i int32, space int) int32 {
	best := int32(-1)
	for _, x := range a.parts[space] {
		it := &in.items[x]
		if x != i && it.size > 0 && (best < 0 || it.size > in.items[best].size) &&
			s.preferred(it, int(a.rank[x])+1) >= 0 && in.conflict(it, &in.items[i]) {
			best = x
		}
	}
	return best
}

// bringBack moves items to a better choice where that has room after all, the
// largest first.
func (s *solver) bringBack(in *instance, a *assignment) {
	var spilled []int32
	for i, rank := range a.rank {
		if rank > 0 && in.items[i].size > 0 {
			spilled = append(spilled, int32(i))
		}
	}
	slices.SortFunc(spilled, func(x, y int32) int {
		return cmp.Or(cmp.Compare(in.items[y].size, in.items[x].size), cmp.Compare(x, y))
	})
	for _, i := range spilled[:min(len(spilled), maxReturns)] {
		it := &in.items[i]
		for rank := range a.rank[i] {
			from, to := s.preferred(it, int(a.rank[i])), s.preferred(it, int(rank))
			if s.tick(unitsToSort * int64(len(a.parts[to]))) {
				return
			}
			if s.readmit(in, a, i, from, to) {
				a.rank[i] = rank
				break
			}
		}
	}
}

// readmit moves item i if that fits.
func (s *solver) readmit(in *instance, a *assignment, i int32, from, to int) bool {
	capacity := s.spaces[to].Capacity
	if in.items[i].size+in.items[i].residue > capacity || s.halted() {
		return false
	}
	with := append(slices.Clone(a.parts[to]), i)
	sub := in.only(with)
	if sub.lowerBound(sub.load(), s.expired) > capacity {
		return false
	}
	s.target = capacity
	d := s.pack(sub)
	if d.frame > capacity {
		return false
	}
	k := slices.Index(a.parts[from], i)
	a.parts[from] = slices.Delete(a.parts[from], k, k+1)
	a.drafts[from].offset = slices.Delete(a.drafts[from].offset, k, k+1)
	rest := in.only(a.parts[from])
	a.drafts[from].bound = rest.lowerBound(rest.load(), s.expired)
	a.parts[to], a.drafts[to] = with, d
	return true
}

// finish lowers each frame with its share of what is left of the grant.
func (s *solver) finish(in *instance, a *assignment) {
	left, deadline := s.left, s.deadline
	for space := range s.spaces {
		share := int64(len(s.spaces) - space)
		s.late = false
		if left != none {
			s.left = left / share
		}
		if !deadline.IsZero() {
			s.deadline = s.clock().Add(deadline.Sub(s.clock()) / time.Duration(share))
		}
		if s.expired() {
			continue
		}
		before, old := s.steps, a.drafts[space]
		sub := in.only(a.parts[space])
		d := s.pack(sub)
		left -= s.steps - before
		if c := s.spaces[space].Capacity; (c == 0 || d.frame <= c) && d.frame < sub.frame(old.offset) {
			a.drafts[space] = d
		}
		a.drafts[space].bound = d.bound
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
