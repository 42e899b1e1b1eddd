package offsets

import "slices"

// spill assigns and places all items in one pass through time, whatever their number, for when there is no time for
// more: each takes the first of its choices that has room for it.
func (s *solver) spill(in *instance) (*assignment, error) {
	a := s.newAssignment(in)
	offset := make([]int64, len(in.items))
	into := s.sweepInto
	if !in.plain() {
		into = s.stackInto
	}
	if err := into(in, a, offset); err != nil {
		return nil, err
	}
	for i := range in.items {
		space := s.preferred(&in.items[i], int(a.rank[i]))
		a.parts[space] = append(a.parts[space], int32(i))
	}
	for space, part := range a.parts {
		sub := in.only(part)
		d := &draft{offset: make([]int64, len(part)), bound: sub.lowerBound(sub.load()), method: "spill"}
		for k, i := range part {
			d.offset[k] = offset[i]
		}
		d.frame = sub.frame(d.offset)
		a.drafts[space] = d
	}
	return a, nil
}

// choose gives an item the first of its choices where it can end low enough, and returns that space.
func (s *solver) choose(it *item, rank *int32, end func(space int) int64) (int, error) {
	lowest, last := none, 0
	for *rank = 0; s.preferred(it, int(*rank)) >= 0; *rank++ {
		last = s.preferred(it, int(*rank))
		at := end(last)
		if c := s.spaces[last].Capacity; c == 0 || at <= c {
			return last, nil
		}
		lowest = at
	}
	return 0, s.limit(it, last, lowest, s.nowhere(it))
}

// sweepInto places as a sweep does in each space.
func (s *solver) sweepInto(in *instance, a *assignment, offset []int64) error {
	sweeps, owner := make([]*sweep, len(s.spaces)), make([]int32, len(in.items))
	where := make([]int32, len(in.items))
	for space := range sweeps {
		sweeps[space] = in.newSweep(offset, owner)
	}
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
			if _, err := s.choose(it, &a.rank[i], func(int) int64 { return it.residue }); err != nil {
				return err
			}
		}
	}
	begin, end := in.byBegin(false), in.byEnd(false)
	for _, i := range begin {
		it := &in.items[i]
		for ; len(end) > 0 && in.items[end[0]].end <= it.first; end = end[1:] {
			sweeps[where[end[0]]].release(end[0], 0)
		}
		space, err := s.choose(it, &a.rank[i], func(space int) int64 { return sweeps[space].endOf(it) })
		if err != nil {
			return err
		}
		where[i] = int32(space)
		sweeps[space].take(i)
	}
	return nil
}

// maxCells bounds the memory of all stacks together, in cells of 16 bytes.
const maxCells = 1 << 23

// stackInto places the pinned ones, then the longest-lived, above all that lives in their sections, or near them where
// there are too many sections and spaces.
func (s *solver) stackInto(in *instance, a *assignment, offset []int64) error {
	shift := 0
	for (in.sections>>shift+1)*len(s.spaces) > maxCells {
		shift++
	}
	stacks := make([]*heights, len(s.spaces))
	for space := range stacks {
		stacks[space] = newHeights(in.sections>>shift + 1)
	}
	for _, i := range in.order(&rule{key: byDuration}, nil) {
		it := &in.items[i]
		life, all := span{it.first >> shift, (it.end-1)>>shift + 1}, span{0, stacks[0].half}
		space, err := s.choose(it, &a.rank[i], func(space int) int64 {
			switch {
			case it.pinned >= 0:
				offset[i] = it.pinned
			case it.size == 0:
				offset[i] = it.up(0)
			default:
				offset[i] = it.up(stacks[space].over(life, 1, all))
			}
			return offset[i] + it.size
		})
		if err != nil {
			return err
		}
		if it.size > 0 {
			stacks[space].raise(life, offset[i]+it.size, 1, all)
		}
	}
	return nil
}

// only is the instance of some of the items. Where they are few it has sections of its own.
func (in *instance) only(items []int32) *instance {
	sub := &instance{alive: in.alive, sections: in.sections, items: make([]item, len(items))}
	for k, i := range items {
		sub.items[k] = in.items[i]
	}
	if in.sections > 8*len(items) && in.alive == nil {
		sub.renumber()
	}
	return sub
}

// renumber keeps the sections in which an item begins or ends.
func (in *instance) renumber() {
	kept := make([]int32, 0, 2*len(in.items))
	for i := range in.items {
		kept = append(kept, in.items[i].first, in.items[i].end)
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	place := func(t int32) int32 {
		at, _ := slices.BinarySearch(kept, t)
		return int32(at)
	}
	for i := range in.items {
		it := &in.items[i]
		it.span = span{place(it.first), place(it.end)}
	}
	in.sections = max(0, len(kept)-1)
}
