package offsets

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// jointItems may have their spaces and offsets searched together.
	jointItems = 500
	// jointSteps bounds that search when neither steps nor time were granted.
	jointSteps = 30_000
	// jointRun is the unit of steps of one try, by the sequence of luby.
	jointRun = 1000
	// maxKnown bounds the memory for the sets of items that were placed.
	maxKnown = 1 << 14
)

// joint searches the spaces of all items and their offsets together, depth first, in tries that differ in their order.
// In the first one an item takes its choices in the order of preference, in the others the fullest space first. A
// branch ends where a section needs more bytes than a space has, or than all spaces have left; where first fit finds
// no place in a space, a tree looks for one or proves that there is none. A try that was not cut off is a proof.
type joint struct {
	s      *solver
	in     *instance
	order  []int32   // items by depth
	same   []bool    // by depth: the item is the same as the one before, so it takes no better choice
	bound  []bool    // by item: each of its spaces has a capacity
	rank   []int32   // the choice of an item
	parts  [][]int32 // items by space
	load   [][]int64 // by space and section
	slack  []int64   // by section: what all spaces with a capacity have left
	rest   []int64   // by section: what the items that are bound and unassigned need
	known  map[set]attempt
	sets   []set     // by space
	found  [][]int64 // by space: the placement of all its items
	tries  int64
	stop   int64 // the number of steps that ends this try
	unsure bool  // a search was cut off, so that a failure proves nothing
}

// set identifies a set of items in a space.
type set struct {
	items digest
	space int
}

// attempt is what is known of a set of items in one space.
type attempt struct {
	offset []int64 // a placement, in the order of depth; nil when none was found
	never  bool    // there is none
	last   bool    // what was cut off is not tried again
}

// jointly assigns all items, or says why it cannot: failure, now with a proof if every assignment was tried.
func (s *solver) jointly(in *instance, failure *LimitError) (*assignment, error) {
	if len(in.items) > jointItems {
		return nil, failure
	}
	j := s.newJoint(in)
	if !j.crowded() && j.search() {
		return j.assignment(), nil
	}
	if !j.unsure {
		failure.Proved = true
		failure.reason = fmt.Sprintf("its %d bytes find no place: no choice of spaces and offsets holds all buffers; "+
			"raise a capacity, or shorten lifetimes", failure.Bytes)
	}
	return nil, failure
}

// crowded says that a section needs more than all spaces have.
func (j *joint) crowded() bool {
	for t := range j.rest {
		if j.rest[t] > j.slack[t] {
			return true
		}
	}
	return false
}

// search tries until all items have a place, or that is proved impossible, or its steps are used up.
func (j *joint) search() bool {
	for end := j.s.steps + jointSteps; ; {
		j.sort()
		j.tries++
		j.unsure = false
		j.stop = j.s.steps + jointRun*luby(j.tries)
		if !j.s.search {
			j.stop = min(j.stop, end)
		}
		switch {
		case j.assign(0) == len(j.order):
			return true
		case !j.unsure, !j.s.search && j.s.steps >= end, j.s.search && j.s.over(), j.s.expired():
			return false
		}
	}
}

func (s *solver) newJoint(in *instance) *joint {
	j := &joint{s: s, in: in, rank: make([]int32, len(in.items)), bound: make([]bool, len(in.items)),
		parts: make([][]int32, len(s.spaces)), load: make([][]int64, len(s.spaces)),
		slack: make([]int64, in.sections), rest: make([]int64, in.sections), known: map[set]attempt{},
		sets: make([]set, len(s.spaces)), found: make([][]int64, len(s.spaces))}
	for k, space := range s.spaces {
		j.load[k], j.sets[k].space = make([]int64, in.sections), k
		if space.Capacity > 0 {
			for t := range j.slack {
				j.slack[t] += space.Capacity
			}
		}
	}
	for i := range in.items {
		it := &in.items[i]
		j.order = append(j.order, int32(i))
		if j.bound[i] = s.bounded(it); j.bound[i] {
			in.each(it, func(t int32) { j.rest[t] += it.size })
		}
	}
	return j
}

// bounded says that each space of an item has a capacity.
func (s *solver) bounded(it *item) bool {
	for k := 0; s.preferred(it, k) >= 0; k++ {
		if s.spaces[s.preferred(it, k)].Capacity == 0 {
			return false
		}
	}
	return true
}

// sort puts what is pinned first, then the largest, after the first try with noise, and items that are the same beside
// each other.
func (j *joint) sort() {
	weight, noise := make([]int64, len(j.in.items)), j.s.random.Uint64()
	for i := range j.in.items {
		it := &j.in.items[i]
		weight[i] = log2(uint64(it.size))
		if j.tries > 0 {
			x := scramble(noise ^ uint64(it.size)<<20 ^ uint64(it.first)<<10 ^ uint64(it.end))
			weight[i] += int64(x % uint64(min(j.tries, 4)<<15))
		}
	}
	slices.SortFunc(j.order, func(a, b int32) int {
		x, y := &j.in.items[a], &j.in.items[b]
		return cmp.Or(cmp.Compare(y.pinned, x.pinned), cmp.Compare(weight[b], weight[a]), cmp.Compare(y.size, x.size),
			cmp.Compare(y.end-y.first, x.end-x.first), cmp.Compare(x.first, y.first), cmp.Compare(x.mask, y.mask),
			cmp.Compare(x.residue, y.residue), slices.Compare(j.choices(a), j.choices(b)), cmp.Compare(a, b))
	})
	j.same = make([]bool, len(j.order))
	for d := 1; d < len(j.order); d++ {
		a, b := j.order[d-1], j.order[d]
		x, y := &j.in.items[a], &j.in.items[b]
		j.same[d] = x.pinned < 0 && y.pinned < 0 && x.twin(y) && slices.Equal(j.choices(a), j.choices(b))
	}
}

// choices are the spaces that an item names.
func (j *joint) choices(i int32) []int { return j.s.p.Buffers[j.in.items[i].buffer].Spaces }

// assign gives spaces to the items from a depth on. It returns the number of items when all have a place, or the depth
// whose item has to change before anything below can succeed; -1 when none is left.
func (j *joint) assign(depth int) int {
	if depth == len(j.order) {
		return j.complete()
	}
	i := j.order[depth]
	for _, rank := range j.ranks(depth) {
		if j.over() {
			return -1
		}
		space := j.s.preferred(&j.in.items[i], int(rank))
		j.rank[i] = rank
		j.put(i, space, 1)
		back := depth
		if j.allowed(&j.in.items[i], space) && !j.try(space, false).never {
			back = j.assign(depth + 1)
		}
		if back == len(j.order) {
			return back
		}
		j.put(i, space, -1)
		if back < depth {
			return back
		}
	}
	return depth - 1
}

// ranks are the choices of the item at a depth in the order in which they are tried.
func (j *joint) ranks(depth int) []int32 {
	it, first := &j.in.items[j.order[depth]], int32(0)
	if j.same[depth] {
		first = j.rank[j.order[depth-1]]
	}
	var ranks []int32
	for k := first; j.s.preferred(it, int(k)) >= 0; k++ {
		ranks = append(ranks, k)
	}
	if j.tries > 1 && len(ranks) > 1 {
		room := func(rank int32) int64 {
			space := j.s.preferred(it, int(rank))
			if j.s.spaces[space].Capacity == 0 {
				return none
			}
			return j.s.spaces[space].Capacity - peak(j.load[space], it)
		}
		slices.SortStableFunc(ranks, func(a, b int32) int { return cmp.Compare(room(a), room(b)) })
	}
	return ranks
}

// over says that the search has to end; it then proves nothing.
func (j *joint) over() bool {
	j.s.spend(1)
	over := j.s.steps >= j.stop || j.s.expired() || j.s.search && j.s.over()
	j.unsure = j.unsure || over
	return over
}

// put assigns an item to a space, or with -1 takes it out; it is the last one there.
func (j *joint) put(i int32, space int, sign int64) {
	it := &j.in.items[i]
	if sign > 0 {
		j.parts[space] = append(j.parts[space], i)
	} else {
		j.parts[space] = j.parts[space][:len(j.parts[space])-1]
	}
	x := scramble(uint64(i) + 1)
	j.sets[space].items[0] ^= x
	j.sets[space].items[1] ^= scramble(x)
	limited := j.s.spaces[space].Capacity > 0
	j.in.each(it, func(t int32) {
		j.load[space][t] += sign * it.size
		if limited {
			j.slack[t] -= sign * it.size
		}
		if j.bound[i] {
			j.rest[t] -= sign * it.size
		}
	})
}

// allowed says that the bytes alive with it fit: those of its space, and what is left of all for what is to come.
func (j *joint) allowed(it *item, space int) bool {
	capacity, ok := j.s.spaces[space].Capacity, true
	if capacity > 0 && max(it.pinned, it.residue)+it.size > capacity {
		return false
	}
	j.in.each(it, func(t int32) {
		ok = ok && (capacity == 0 || j.load[space][t] <= capacity) && j.rest[t] <= j.slack[t]
	})
	return ok
}

// complete says whether every space holds its items: the number of items, or the depth of the last item in a space
// that does not.
func (j *joint) complete() int {
	for space := range j.parts {
		if a := j.try(space, true); a.offset == nil {
			j.unsure = j.unsure || !a.never
			return slices.Index(j.order, j.parts[space][len(j.parts[space])-1])
		} else {
			j.found[space] = a.offset
		}
	}
	return len(j.order)
}

// try places the items of a space, with more steps when they are all that it gets.
func (j *joint) try(space int, last bool) attempt {
	a, known := j.known[j.sets[space]]
	if known && (a.offset != nil || a.never || a.last || !last) {
		return a
	}
	a.offset, a.never = j.s.within(j.in.only(j.parts[space]), j.s.spaces[space].Capacity, last)
	a.last = last
	if len(j.known) == maxKnown {
		clear(j.known)
	}
	j.known[j.sets[space]] = a
	return a
}

// within places all items of an instance below a capacity, 0 for none, by first fit or else by tree. Without a
// placement it says whether that is proved.
func (s *solver) within(in *instance, capacity int64, last bool) (offset []int64, never bool) {
	ground := newShelf(in, make([]int64, len(in.items)))
	s.placeBy(in, ground, in.order(&rules[0], nil))
	switch {
	case capacity == 0 || ground.frame <= capacity:
		return ground.offset, false
	case in.lowerBound(in.load(), s.expired) > capacity:
		return nil, true
	}
	sized := make([]int32, 0, len(in.items))
	for i := range in.items {
		if in.items[i].size > 0 {
			sized = append(sized, int32(i))
		}
	}
	steps := int64(2*len(sized) + 50)
	if last {
		steps *= 40
	}
	placed, never := s.fell(in.only(sized), capacity, steps)
	if placed == nil {
		return nil, never
	}
	for k, i := range sized {
		ground.offset[i] = placed[k]
	}
	return ground.offset, false
}

// fell asks a tree twice, the second time for twice as long.
func (s *solver) fell(in *instance, limit, steps int64) (offset []int64, never bool) {
	t := newTree(in)
	t.tick = s.tick
	defer func() { s.spend(t.nodes) }()
	for k := int64(1); k <= 2; k++ {
		t.shuffle(s.random)
		if found, proved := t.ask(limit, k*steps); found {
			return t.offset, false
		} else if proved {
			return nil, true
		}
	}
	return nil, false
}

// assignment is what was found.
func (j *joint) assignment() *assignment {
	a := &assignment{rank: j.rank, parts: j.parts, drafts: make([]*draft, len(j.parts))}
	for space := range j.parts {
		sub, offset := j.in.only(j.parts[space]), j.found[space]
		bound := sub.lowerBound(sub.load(), j.s.expired)
		a.drafts[space] = &draft{offset: offset, frame: sub.frame(offset), bound: bound, method: "joint"}
	}
	return a
}
