package offsets

// spill assigns and places all items in one pass through time, whatever their number, for when there is no time for
// more: each takes the first of its choices that has room for it.
func (s *solver) spill(in *instance) (*assignment, error) {
	a := s.newAssignment(in)
	offset := make([]int64, len(in.items))
	into := s.sweepInto
	if in.pinned() {
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
		d := &draft{offset: make([]int64, len(part)), bound: sub.lowerBound(sub.load(), s.expired), method: "spill"}
		for k, i := range part {
			d.offset[k] = offset[i]
		}
		d.frame = sub.frame(d.offset)
		a.drafts[space] = d
	}
	return a, nil
}

// chooser finds spaces for items. However many spaces there are, it tries few for an item on average: where that does
// not suffice to try all from the first on, it goes on from the one that had room last. It tries all of them before it
// refuses an item.
type chooser struct {
	s    *solver
	end  func(it *item, space int) int64 // where an item would end there
	left int                             // of what may be spent
	last int                             // the rank that had room last
	full []int64                         // by space: items of so many bytes or more find no room
	// what finds no room in a space finds none until something ends there: in sweeps, not in stacks
	bySize bool
}

// firstTries of an item are from its first choice on. A try costs tryCost, a look at a full space 1; each item adds
// spendable.
const firstTries, tryCost, spendable = 4, 16, 8 * 16

func (s *solver) newChooser(bySize bool, end func(it *item, space int) int64) *chooser {
	c := &chooser{s: s, end: end, full: make([]int64, len(s.spaces)), bySize: bySize}
	for space := range c.full {
		c.full[space] = none
	}
	return c
}

// choose gives an item one of its choices where it can end low enough, the first if all can be tried, and returns that
// space.
func (c *chooser) choose(it *item, rank *int32) (int, error) {
	c.left += spendable
	choices, last := c.s.choices(it), c.last
	for k := 0; k < choices && (k < firstTries || c.left >= choices-k); k++ {
		if c.fits(it, k) {
			*rank = int32(k)
			return c.s.preferred(it, k), nil
		}
	}
	for k := 0; k < choices && c.left > 0; k++ {
		if turn := (last + k) % choices; c.fits(it, turn) {
			*rank, c.last = int32(turn), turn
			return c.s.preferred(it, turn), nil
		}
	}
	for k := range choices { // the other way is an error
		if c.fits(it, k) {
			*rank, c.last = int32(k), k
			return c.s.preferred(it, k), nil
		}
	}
	space := c.s.preferred(it, choices-1)
	return 0, c.s.limit(it, space, c.end(it, space), c.s.nowhere(it))
}

// fits tries the k-th choice of an item.
func (c *chooser) fits(it *item, k int) bool {
	space := c.s.preferred(it, k)
	if c.left--; it.size >= c.full[space] {
		return false
	}
	c.left -= tryCost - 1
	c.s.watch(unitsToSort)
	capacity := c.s.spaces[space].Capacity
	if c.end(it, space) <= capacity || capacity == 0 {
		return true
	}
	if c.bySize {
		c.full[space] = min(c.full[space], it.size+it.mask)
	}
	return false
}

// choices is how many choices an item has.
func (s *solver) choices(it *item) int {
	switch n := len(s.p.Buffers[it.buffer].Spaces); {
	case it.pinned >= 0:
		return 1
	case n > 0:
		return n
	}
	return len(s.spaces)
}

// sweepInto places as a sweep does in each space.
func (s *solver) sweepInto(in *instance, a *assignment, offset []int64) error {
	sweeps, owner := make([]*sweep, len(s.spaces)), make([]int32, len(in.items))
	where := make([]int32, len(in.items))
	for space := range sweeps {
		sweeps[space] = in.newSweep(offset, owner)
	}
	empty := s.newChooser(true, func(it *item, _ int) int64 { return it.residue })
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
			if _, err := empty.choose(it, &a.rank[i]); err != nil {
				return err
			}
		}
	}
	c := s.newChooser(true, func(it *item, space int) int64 { return sweeps[space].endOf(it) })
	begin, end := in.byBegin(false), in.byEnd(false)
	for _, i := range begin {
		it := &in.items[i]
		for ; len(end) > 0 && in.items[end[0]].end <= it.first; end = end[1:] {
			sweeps[where[end[0]]].release(end[0], 0)
			c.full[where[end[0]]] = none
		}
		space, err := c.choose(it, &a.rank[i])
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
	life := func(it *item) span { return span{it.first >> shift, (it.end-1)>>shift + 1} }
	all := span{0, stacks[0].half}
	at := func(it *item, space int) int64 {
		switch {
		case it.pinned >= 0:
			return it.pinned
		case it.size == 0:
			return it.up(0)
		}
		return it.up(stacks[space].over(life(it), 1, all))
	}
	c := s.newChooser(false, func(it *item, space int) int64 { return at(it, space) + it.size })
	for _, i := range in.order(&rule{key: byDuration}, nil) {
		it := &in.items[i]
		space, err := c.choose(it, &a.rank[i])
		if err != nil {
			return err
		}
		if offset[i] = at(it, space); it.size > 0 {
			stacks[space].raise(life(it), offset[i]+it.size, 1, all)
		}
	}
	return nil
}
