package offsets

import (
	"fmt"
	"slices"
)

// span is a half-open range of sections.
type span struct{ first, end int32 }

// item is a buffer with its aliases merged. Time is in sections: the steps in
// which the set of live items is maximal, numbered from 0.
type item struct {
	size    int64
	mask    int64 // alignment - 1
	residue int64 // offset & mask == residue
	pinned  int64 // its offset, -1 when it is free
	span          // from its first to its last section
	holes   int32 // index into instance.alive plus 1, 0 when it is alive throughout
	buffer  int32 // the buffer that it came from
}

// up is the lowest offset from at on where the item may lie.
func (it *item) up(at int64) int64 { return at + (it.residue-at)&it.mask }

// down is the highest offset up to at where the item may lie, if that is not negative.
func (it *item) down(at int64) int64 { return at - (at-it.residue)&it.mask }

// instance is a problem without names, aliases and time.
type instance struct {
	items    []item
	alive    [][]span // of items with gaps
	sections int
	links    *forest // nil without aliases
	itemOf   []int32 // the item of a root; nil when buffer i is item i
}

// conflict says whether two items are alive in one section.
func (in *instance) conflict(a, b *item) bool {
	if a.first >= b.end || b.first >= a.end {
		return false
	}
	if a.holes|b.holes == 0 {
		return true
	}
	x, y := in.spans(a), in.spans(b)
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].end <= y[0].first:
			x = x[1:]
		case y[0].end <= x[0].first:
			y = y[1:]
		default:
			return true
		}
	}
	return false
}

// spans are the sections in which an item is alive.
func (in *instance) spans(it *item) []span {
	if it.holes == 0 {
		return []span{it.span}
	}
	return in.alive[it.holes-1]
}

// newInstance normalises a problem that validate has passed.
func newInstance(p *Problem) (*instance, error) {
	links, err := aliases(p)
	if err != nil {
		return nil, err
	}
	in := &instance{links: links}
	times := in.collect(p)
	for i := range in.items {
		if err := in.constrain(p, &in.items[i]); err != nil {
			return nil, err
		}
	}
	if links != nil {
		if err := in.constrainAliases(p); err != nil {
			return nil, err
		}
	}
	in.number(times)
	return in, nil
}

// collect makes one item for each root and returns its lifetimes.
func (in *instance) collect(p *Problem) *lifetimes {
	times := &lifetimes{}
	if in.links == nil {
		in.items = make([]item, len(p.Buffers))
		times.hull = make([]Interval, len(p.Buffers))
		for i := range p.Buffers {
			b := &p.Buffers[i]
			in.items[i].buffer = int32(i)
			times.hull[i] = Interval{b.First, b.End}
			if len(b.Gaps) > 0 {
				times.set(in, i, b.alive(nil))
			}
		}
		return times
	}
	members := make([][]*Buffer, len(p.Buffers))
	for i, root := range in.links.root {
		members[root] = append(members[root], &p.Buffers[i])
	}
	in.itemOf = make([]int32, len(p.Buffers))
	for i := range members {
		if members[i] == nil {
			continue
		}
		in.itemOf[i] = int32(len(in.items))
		in.items = append(in.items, item{buffer: int32(i)})
		times.hull = append(times.hull, Interval{})
		times.set(in, len(in.items)-1, lifetime(members[i]))
	}
	return times
}

// constrain takes size, alignment and pin from the item's own buffer.
func (in *instance) constrain(p *Problem, it *item) error {
	b := &p.Buffers[it.buffer]
	it.size, it.mask, it.pinned = b.Bytes, max(b.Alignment, 1)-1, -1
	if b.Pinned {
		it.pinned = b.Offset
	}
	if b.Pinned && b.Offset&it.mask != 0 {
		return &InputError{Buffer: int(it.buffer), Name: b.Name,
			Reason: fmt.Sprintf("it is pinned at offset %d, which is no multiple of its alignment %d; change one of them",
				b.Offset, b.Alignment)}
	}
	return nil
}

// constrainAliases makes each root obey the alignments and pins of its aliases.
func (in *instance) constrainAliases(p *Problem) error {
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if !b.Alias {
			continue
		}
		it := &in.items[in.itemOf[in.links.root[i]]]
		if reason := it.obey(b, in.links.shift[i]); reason != "" {
			return &InputError{Buffer: i, Name: b.Name, Reason: reason}
		}
	}
	for i := range in.items {
		it := &in.items[i]
		if b := &p.Buffers[it.buffer]; it.pinned >= 0 && it.pinned&it.mask != it.residue {
			return &InputError{Buffer: int(it.buffer), Name: b.Name,
				Reason: fmt.Sprintf("it or an alias is pinned so that it starts at %d, where one of its aliases is not "+
					"aligned; change the pin or the alignment", it.pinned)}
		}
	}
	return nil
}

// obey adds to a root what an alias at shift bytes from its start demands.
func (it *item) obey(b *Buffer, shift int64) string {
	mask := max(b.Alignment, 1) - 1
	residue := -shift & mask
	if common := min(mask, it.mask); residue&common != it.residue&common {
		return fmt.Sprintf("it is aligned to %d and lies %d bytes into a base that is aligned to %d; no offset "+
			"serves both", b.Alignment, shift, it.mask+1)
	}
	if mask > it.mask {
		it.mask, it.residue = mask, residue
	}
	if !b.Pinned {
		return ""
	}
	at := b.Offset - shift
	switch {
	case at < 0:
		return fmt.Sprintf("it is pinned at offset %d and lies %d bytes into its base, which would start below 0",
			b.Offset, shift)
	case it.pinned >= 0 && it.pinned != at:
		return fmt.Sprintf("its pin puts the start of its base at %d, another pin at %d; keep one", at, it.pinned)
	}
	it.pinned = at
	return ""
}

// lifetimes are in steps, one hull for each item, and the parts where there are gaps.
type lifetimes struct {
	hull  []Interval
	parts [][]Interval // beside instance.alive
}

func (l *lifetimes) set(in *instance, i int, alive []Interval) {
	l.hull[i] = Interval{alive[0].First, alive[len(alive)-1].End}
	if len(alive) > 1 {
		l.parts = append(l.parts, alive)
		in.alive = append(in.alive, make([]span, len(alive)))
		in.items[i].holes = int32(len(l.parts))
	}
}

// each calls visit with every interval in which something is alive.
func (l *lifetimes) each(items []item, visit func(Interval)) {
	for i, x := range l.hull {
		if items[i].holes == 0 {
			visit(x)
		}
	}
	for _, parts := range l.parts {
		for _, x := range parts {
			visit(x)
		}
	}
}

// number translates steps into sections. A section begins where something starts
// to live after something has ended: the live set just before that is contained in
// no other.
func (in *instance) number(times *lifetimes) {
	axis := newAxis(times, in.items)
	in.sections = axis.sections
	for i, x := range times.hull {
		if h := in.items[i].holes; h > 0 {
			for k, part := range times.parts[h-1] {
				in.alive[h-1][k] = axis.span(part)
			}
			parts := in.alive[h-1]
			in.items[i].span = span{parts[0].first, parts[len(parts)-1].end}
			continue
		}
		in.items[i].span = axis.span(x)
	}
}

// axis maps steps to sections, by a table when the steps are dense.
type axis struct {
	origin   int64
	table    []section // by step - origin
	steps    []int64   // sorted, beside table, when the steps are sparse
	sections int
}

// section of a step: that of what starts there, and the end of what ends there.
type section struct{ start, end int32 }

const begins, ends = 1, 2

func newAxis(times *lifetimes, items []item) *axis {
	a := &axis{}
	low, high, count := int64(0), int64(-1), 0
	times.each(items, func(x Interval) {
		if count == 0 {
			low, high = x.First, x.End
		}
		low, high = min(low, x.First), max(high, x.End)
		count++
	})
	if count == 0 {
		return a
	}
	a.origin = low
	if width := uint64(high) - uint64(low); width <= uint64(8*count+1024) {
		a.table = make([]section, width+1)
	} else {
		a.sparse(times, items, count)
	}
	times.each(items, func(x Interval) {
		a.table[a.at(x.First)].start |= begins
		a.table[a.at(x.End)].end |= ends
	})
	a.count()
	return a
}

func (a *axis) sparse(times *lifetimes, items []item, count int) {
	a.steps = make([]int64, 0, 2*count)
	times.each(items, func(x Interval) { a.steps = append(a.steps, x.First, x.End) })
	slices.Sort(a.steps)
	a.steps = slices.Compact(a.steps)
	a.table = make([]section, len(a.steps))
}

// count replaces the marks by section numbers.
func (a *axis) count() {
	current, ended := int32(-1), true
	for i := range a.table {
		s := &a.table[i]
		ended = ended || s.end != 0
		s.end = current + 1
		if s.start != 0 && ended {
			current++
			ended = false
		}
		s.start = current
	}
	a.sections = int(current) + 1
}

func (a *axis) at(step int64) int {
	if a.steps == nil {
		return int(step - a.origin)
	}
	i, _ := slices.BinarySearch(a.steps, step)
	return i
}

func (a *axis) span(x Interval) span {
	return span{a.table[a.at(x.First)].start, a.table[a.at(x.End)].end}
}

// spread turns the offsets of items into those of buffers.
func (in *instance) spread(p *Problem, offsets []int64) *Solution {
	s := &Solution{Offsets: offsets}
	if in.links == nil {
		return s
	}
	s.Offsets = make([]int64, len(p.Buffers))
	for i := range p.Buffers {
		s.Offsets[i] = offsets[in.itemOf[in.links.root[i]]] + in.links.shift[i]
	}
	return s
}
