package offsets

import "fmt"

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
	bars    int32 // index into instance.barred plus 1, 0 when it may lie anywhere
	buffer  int32 // the buffer that it came from
}

// up is the lowest offset from at on where the item may lie.
func (it *item) up(at int64) int64 { return at + (it.residue-at)&it.mask }

// down is the highest offset up to at where the item may lie, if that is not negative.
func (it *item) down(at int64) int64 { return at - (at-it.residue)&it.mask }

// instance is a problem without names, aliases and time.
type instance struct {
	items    []item
	alive    [][]span  // of items with gaps
	barred   [][]block // stretches of a line of spaces that items may not lie in
	sections int
	loads    []int64 // once load was asked for it
	orders   orders
	links    *forest // nil without aliases
	itemOf   []int32 // the item of a root; nil when buffer i is item i
	watch    watch
	without  Part
}

// some says that one of a list is such.
func some[T any](list []T, such func(x *T) bool) bool {
	for k := range list {
		if such(&list[k]) {
			return true
		}
	}
	return false
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

// every lists all items.
func (in *instance) every() []int32 {
	list := make([]int32, len(in.items))
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// spans are the sections in which an item is alive.
func (in *instance) spans(it *item) []span {
	if it.holes == 0 {
		return []span{it.span}
	}
	return in.alive[it.holes-1]
}

// newInstance normalises a problem that validate has passed.
func newInstance(p *Problem, w watch) (*instance, error) {
	links, err := aliases(p, w)
	if err != nil {
		return nil, err
	}
	in := &instance{links: links, watch: w}
	times := in.collect(p)
	for i := range in.items {
		if err := in.constrain(p, &in.items[i]); err != nil {
			return nil, err
		}
		w.visit(i, len(in.items))
	}
	if links != nil {
		if err := in.constrainAliases(p); err != nil {
			return nil, err
		}
	}
	in.number(times)
	return in, nil
}

// constrain takes size, alignment and pin from the item's own buffer.
func (in *instance) constrain(p *Problem, it *item) error {
	b := &p.Buffers[it.buffer]
	it.size, it.mask, it.pinned = b.Bytes, p.alignment(b)-1, -1
	if b.Pinned {
		it.pinned = b.Offset
	}
	if b.Pinned && b.Offset&it.mask != 0 {
		return &InputError{Buffer: int(it.buffer), Name: b.Name,
			Reason: fmt.Sprintf("it is pinned at offset %d, which is no multiple of its alignment %d; change one of them",
				b.Offset, it.mask+1)}
	}
	return nil
}

// alignment of a buffer: its own, or that of a space which it may lie in. A pinned one lies in the first.
func (p *Problem) alignment(b *Buffer) int64 {
	most := max(b.Alignment, 1)
	for k := range p.Spaces {
		i := k
		if len(b.Spaces) > 0 {
			if k >= len(b.Spaces) {
				break
			}
			i = b.Spaces[k]
		}
		most = max(most, p.Spaces[i].Alignment)
		if b.Pinned {
			break
		}
	}
	return most
}

// constrainAliases makes each root obey the alignments and pins of its aliases.
func (in *instance) constrainAliases(p *Problem) error {
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if in.watch(unitsOfVisit); !b.Alias {
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
