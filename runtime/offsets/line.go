package offsets

import (
	"fmt"
	"math"
	"slices"
)

const (
	// lineItems may be searched in all spaces at once, for lineSteps, or for the granted steps where they
	// are more.
	lineItems, lineSteps = 500, 30_000
	// lineRun is the number of nodes of one try, by the sequence of luby.
	lineRun = 1000
)

// line is all spaces with a capacity as stretches of one line of addresses, with walls between them. An item whose
// choices all have a capacity lies on it, and is barred from the spaces that it may not lie in.
type line struct {
	*instance
	from []int32 // the item of the whole instance, by item
	base []int64 // by space
	end  int64
}

// onALine assigns and places all items by a tree that searches the line, or says why it cannot: failure, now with a
// proof if the tree came to an end. What may lie in a space without a capacity does so.
func (s *solver) onALine(in *instance, rank []int32, offset []int64, failure *LimitError) error {
	l := s.newLine(in, rank)
	if l == nil {
		return failure
	}
	t := newTree(l.instance)
	t.tick = s.tick
	left := int64(lineSteps)
	if s.search {
		left = max(left, s.left)
	}
	for k := int64(0); ; k++ {
		t.prepare(s.random, k)
		before := t.nodes
		found, proved := t.ask(l.end, min(lineRun*luby(k+1), left))
		left -= t.nodes - before
		s.spend(t.nodes - before)
		switch {
		case found:
			s.unline(in, l, t.offset, rank, offset)
			return nil
		case proved:
			failure.Proved = true
			failure.reason = fmt.Sprintf("its %d bytes find no place: no choice of spaces and offsets holds all buffers; "+
				"raise a capacity, or shorten lifetimes", failure.Bytes)
			return failure
		case s.halted(), left <= 0:
			return failure
		}
	}
}

// newLine lays the spaces side by side; nil where they are too long, or the items too many.
func (s *solver) newLine(in *instance, rank []int32) *line {
	l, most, mask := &line{base: make([]int64, len(s.spaces))}, int64(0), int64(0)
	for i := range in.items {
		it := &in.items[i]
		most, mask = most+it.size+it.mask+max(0, it.pinned), max(mask, it.mask)
		if rank[i] = s.unlimited(it); it.size == 0 {
			_, _ = s.choose(it, &rank[i], func(int) int64 { return max(it.pinned, it.residue) })
		} else if rank[i] < 0 {
			l.from = append(l.from, int32(i))
		}
	}
	if len(l.from) > lineItems || most+2*mask+1 > none/int64(len(s.spaces)+1) {
		return nil
	}
	l.instance = in.only(l.from)
	for k, space := range s.spaces {
		l.base[k] = l.end
		if space.Capacity == 0 {
			continue
		}
		wall := l.end + min(space.Capacity, most)
		l.end = (wall + 1 + mask) &^ mask
		l.items = append(l.items, item{size: l.end - wall, pinned: wall, span: span{0, int32(l.sections)}})
	}
	for i := range l.from {
		it := &l.items[i]
		if it.pinned >= 0 {
			it.pinned += l.base[s.preferred(it, 0)]
		}
		bars := s.bars(it, l)
		at := slices.IndexFunc(l.barred, func(x []block) bool { return slices.Equal(x, bars) })
		if at < 0 {
			at, l.barred = len(l.barred), append(l.barred, bars)
		}
		it.bars = int32(at + 1)
	}
	return l
}

// unlimited is the first choice of an item without a capacity, -1 when there is none.
func (s *solver) unlimited(it *item) int32 {
	for k := 0; s.preferred(it, k) >= 0; k++ {
		if s.spaces[s.preferred(it, k)].Capacity == 0 {
			return int32(k)
		}
	}
	return -1
}

// bars are the stretches of the line that an item may not lie in.
func (s *solver) bars(it *item, l *line) []block {
	var list []block
	for space := range s.spaces {
		end := l.end
		if space+1 < len(l.base) {
			end = l.base[space+1]
		}
		if s.choice(it, space) == math.MaxInt32 && end > l.base[space] {
			list = append(list, block{l.base[space], end})
		}
	}
	return list
}

// unline takes the spaces and the offsets in them from a placement on the line. What lies in a space without a
// capacity is placed there one above the other, for finish.
func (s *solver) unline(in *instance, l *line, at []int64, rank []int32, offset []int64) {
	free := make([]int32, 0, len(in.items))
	for i := range in.items {
		if rank[i] >= 0 {
			free = append(free, int32(i))
		}
	}
	for k, i := range l.from {
		it := &in.items[i]
		for rank[i] = 0; ; rank[i]++ {
			space := s.preferred(it, int(rank[i]))
			if offset[i] = at[k] - l.base[space]; offset[i] >= 0 && offset[i]+it.size <= s.spaces[space].Capacity {
				break
			}
		}
	}
	placed := make([]int64, len(free))
	sub, spaces := in.only(free), len(s.spaces)
	_ = sub.stacked(placed, spaces, func(k int32, end func(space int) int64) (int, error) {
		space := s.preferred(&sub.items[k], int(rank[free[k]]))
		end(space)
		return space, nil
	})
	for k, i := range free {
		offset[i] = placed[k]
	}
}
