package offsets

import (
	"cmp"
	"math/bits"
)

// sweep goes through time as an allocator does: what ends gives its bytes back, what begins takes the tightest hole,
// the largest first. It costs a few operations for each item, however many are alive at once. It takes an item with
// gaps for whole, and no pins.
type sweep struct {
	in     *instance
	offset []int64
	cells  []cell
	unused []int32 // indices of cells that are none
	top    int32   // the last cell, which has no end
	owner  []int32 // by item: its cell
	bins   [binCount]int32
	filled [binCount / 64]uint64
}

// cell is a stretch of bytes, free or of one item, in a list by offset; free ones are in a list of their bin, too.
type cell struct {
	block
	before, after int32
	prior, next   int32
	free          bool
	item          int32 // that lies there, nothing in a wall
	since         int32 // of a free one: no item lay there from this section on
	ends          int32 // of another one: when the item that lies there does
}

// Holes are in bins by size, eight to each power of two; maxTries of a bin are looked at.
const (
	binCount = 64 * 8
	maxTries = 16
	nothing  = int32(-1)
)

func bin(size int64) int {
	if size < 8 {
		return int(size)
	}
	n := bits.Len64(uint64(size))
	return (n-3)*8 + int(size>>(n-4))&7
}

// swept places every item as a sweep does in its space.
func (in *instance) swept(offset []int64, spaces int, choose chooser) error {
	sweeps, owner := make([]*sweep, spaces), make([]int32, len(in.items))
	where := make([]int32, len(in.items))
	for space := range sweeps {
		sweeps[space] = in.newSweep(offset, owner)
	}
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
			if _, err := choose(int32(i), func(int) int64 { return it.residue }); err != nil {
				return err
			}
		}
	}
	end := in.byEnd(false)
	for _, i := range in.byBegin(false) {
		for ; len(end) > 0 && in.items[end[0]].end <= in.items[i].first; end = end[1:] {
			sweeps[where[end[0]]].release(end[0], 0)
		}
		space, err := choose(i, func(space int) int64 { return sweeps[space].endOf(&in.items[i]) })
		if err != nil {
			return err
		}
		where[i] = int32(space)
		sweeps[space].take(i)
	}
	return nil
}

func (in *instance) newSweep(offset []int64, owner []int32) *sweep {
	s := &sweep{in: in, offset: offset, owner: owner}
	for k := range s.bins {
		s.bins[k] = nothing
	}
	s.top = s.newCell(cell{block: block{0, none}, before: nothing, after: nothing, prior: nothing, next: nothing,
		free: true})
	return s
}

// when is the life of an item, as a sweep sees it.
func (in *instance) when(i int32, backwards bool) span {
	it := &in.items[i]
	if backwards {
		return span{int32(in.sections) - it.end, int32(in.sections) - it.first}
	}
	return it.span
}

// orders are lists of the items with bytes, one for each direction of a sweep, once they were asked for.
type orders struct{ begin, end [2][]int32 }

// byBegin lists the items with bytes as they begin, the largest of each section first; byEnd as they end.
func (in *instance) byBegin(backwards bool) []int32 {
	list := &in.orders.begin[direction(backwards)]
	if *list == nil {
		order, start := in.grouped(backwards, backwards)
		for t := range in.sections {
			in.watch.visit(t, in.sections)
			sortBy(order[start[t]:start[t+1]], in.watch, func(a, b int32) int {
				return cmp.Or(cmp.Compare(in.items[b].size, in.items[a].size), cmp.Compare(a, b))
			})
		}
		*list = order
	}
	return *list
}

func (in *instance) byEnd(backwards bool) []int32 {
	list := &in.orders.end[direction(backwards)]
	if *list == nil {
		*list, _ = in.grouped(!backwards, backwards)
	}
	return *list
}

// direction is an index for one.
func direction(backwards bool) int {
	if backwards {
		return 1
	}
	return 0
}

// grouped lists the items with bytes by their first section, or by their end, counted from the other end of time if
// that is wanted, and says where each group starts, up to the number of all sections.
func (in *instance) grouped(byEnd, backwards bool) (order, start []int32) {
	start = make([]int32, in.sections+2)
	section := make([]int32, len(in.items)) // by item: one more, 0 without bytes
	count := int32(0)
	for i := range in.items {
		in.watch.visit(i, len(in.items))
		it := &in.items[i]
		if it.size == 0 {
			continue
		}
		t := it.first
		if byEnd {
			t = it.end
		}
		if backwards {
			t = int32(in.sections) - t
		}
		section[i] = t + 1
		start[t+1]++
		count++
	}
	in.watch(int64(in.sections))
	for t := range in.sections + 1 {
		start[t+1] += start[t]
	}
	order = make([]int32, count)
	for i, t := range section {
		in.watch.visit(i, len(in.items))
		if t > 0 {
			order[start[t-1]] = int32(i)
			start[t-1]++
		}
	}
	copy(start[1:], start) // each group has reached the start of the next one
	start[0] = 0
	return order, start
}

func (s *sweep) newCell(c cell) int32 {
	if n := len(s.unused); n > 0 {
		k := s.unused[n-1]
		s.unused = s.unused[:n-1]
		s.cells[k] = c
		return k
	}
	s.cells = append(s.cells, c)
	return int32(len(s.cells) - 1)
}

// take gives item i the tightest hole, of those that were looked at.
func (s *sweep) take(i int32) {
	it := &s.in.items[i]
	k := s.hole(it)
	s.lay(i, k, it.up(s.cells[k].at))
}

// lay puts item i at an offset inside of a free cell.
func (s *sweep) lay(i, k int32, at int64) {
	s.offset[i] = at
	if k != s.top {
		s.unlist(k)
	}
	c := s.cells[k]
	before := c.before
	if at > c.at {
		before = s.newCell(cell{block: block{c.at, at}, before: before, after: k, since: c.since})
		s.link(before)
		s.list(before)
	}
	end := at + s.in.items[i].size
	s.owner[i] = s.newCell(cell{block: block{at, end}, before: before, after: k, item: i})
	s.link(s.owner[i])
	s.cells[k].at = end
	switch {
	case k == s.top:
	case end == c.end:
		s.drop(k)
	default:
		s.list(k)
	}
}

// endOf is where an item would end that is taken now.
func (s *sweep) endOf(it *item) int64 { return it.up(s.cells[s.hole(it)].at) + it.size }

// link tells the neighbours of a new cell of it.
func (s *sweep) link(k int32) {
	c := &s.cells[k]
	s.cells[c.after].before = k
	if c.before >= 0 {
		s.cells[c.before].after = k
	}
}

// drop takes a cell, never the top, out of the list by offset.
func (s *sweep) drop(k int32) {
	c := s.cells[k]
	s.cells[c.after].before = c.before
	if c.before >= 0 {
		s.cells[c.before].after = c.after
	}
	s.unused = append(s.unused, k)
}

// hole is the smallest hole for an item among some of the first bins that have one, else the top.
func (s *sweep) hole(it *item) int32 {
	first := bin(it.size)
	for b := s.filledFrom(first); b < binCount; b = s.filledFrom(b + 1) {
		best, tries := nothing, 0
		for k := s.bins[b]; k >= 0 && tries < maxTries; k = s.cells[k].next {
			c := &s.cells[k]
			if it.up(c.at)+it.size <= c.end && (best < 0 || c.end-c.at < s.cells[best].end-s.cells[best].at) {
				best = k
			}
			tries++
		}
		if best >= 0 {
			return best
		}
	}
	return s.top
}

// filledFrom is the first bin from b on that has a hole.
func (s *sweep) filledFrom(b int) int {
	for w := b / 64; w < len(s.filled); w++ {
		word := s.filled[w]
		if w == b/64 {
			word &= ^uint64(0) << (b % 64)
		}
		if word != 0 {
			return w*64 + bits.TrailingZeros64(word)
		}
	}
	return binCount
}

// list puts a free cell into its bin, first.
func (s *sweep) list(k int32) {
	c := &s.cells[k]
	b := bin(c.end - c.at)
	c.free, c.prior, c.next = true, nothing, s.bins[b]
	if c.next >= 0 {
		s.cells[c.next].prior = k
	}
	s.bins[b] = k
	s.filled[b/64] |= 1 << (b % 64)
}

// unlist takes it out, by the size with which it was put in.
func (s *sweep) unlist(k int32) {
	c := &s.cells[k]
	b := bin(c.end - c.at)
	if c.prior >= 0 {
		s.cells[c.prior].next = c.next
	} else if s.bins[b] = c.next; c.next < 0 {
		s.filled[b/64] &^= 1 << (b % 64)
	}
	if c.next >= 0 {
		s.cells[c.next].prior = c.prior
	}
}

// release gives the bytes of item i back, and joins them with the holes beside them, which are all as old as the
// youngest of them.
func (s *sweep) release(i, since int32) {
	k := s.owner[i]
	s.cells[k].since = since
	if b := s.cells[k].before; b >= 0 && s.cells[b].free {
		s.unlist(b)
		s.cells[k].at, s.cells[k].since = s.cells[b].at, max(since, s.cells[b].since)
		s.drop(b)
	}
	a := s.cells[k].after
	if !s.cells[a].free {
		s.list(k)
		return
	}
	if a == s.top {
		s.cells[a].at = s.cells[k].at
		s.drop(k)
		return
	}
	s.unlist(a)
	s.cells[k].end, s.cells[k].since = s.cells[a].end, max(s.cells[k].since, s.cells[a].since)
	s.drop(a)
	s.list(k)
}
