package offsets

import (
	"cmp"
	"slices"
)

// lifetimes are in steps: the intervals in which items are alive, item by item.
type lifetimes struct {
	parts []Interval
	end   []int // by item: where its parts end; nil when item i has parts[i] alone
}

// collect makes one item for each root and returns its lifetimes.
func (in *instance) collect(p *Problem) *lifetimes {
	if in.links != nil {
		return in.collectAliases(p)
	}
	in.items = make([]item, len(p.Buffers))
	times := &lifetimes{parts: make([]Interval, 0, len(p.Buffers))}
	if some(p.Buffers, func(b *Buffer) bool { return len(b.Gaps) > 0 }) {
		times.end = make([]int, len(p.Buffers))
	}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		in.items[i].buffer = int32(i)
		times.parts = b.alive(times.parts)
		if times.end != nil {
			times.end[i] = len(times.parts)
		}
		in.watch.visit(i, len(p.Buffers))
		if len(b.Gaps) > 0 {
			in.watch(unitsToSort * int64(len(b.Gaps)))
		}
	}
	return times
}

// collectAliases is collect where buffers lie inside others.
func (in *instance) collectAliases(p *Problem) *lifetimes {
	times := &lifetimes{}
	members, start := in.links.members()
	in.itemOf = make([]int32, len(p.Buffers))
	for i := range p.Buffers {
		list := members[start[i]:start[i+1]]
		if in.watch(unitsOfVisit); len(list) == 0 {
			continue
		}
		in.itemOf[i] = int32(len(in.items))
		in.items = append(in.items, item{buffer: int32(i)})
		times.parts = in.lifetime(p, list, times.parts)
		times.end = append(times.end, len(times.parts))
	}
	return times
}

// members lists the buffers by their roots, and where those of each begin.
func (f *forest) members() (list, start []int32) {
	start = make([]int32, len(f.root)+1)
	for _, root := range f.root {
		start[root+1]++
	}
	for i := range f.root {
		start[i+1] += start[i]
	}
	list, next := make([]int32, len(f.root)), slices.Clone(start)
	for i, root := range f.root {
		list[next[root]] = int32(i)
		next[root]++
	}
	return list, start
}

// number translates steps into sections. A section begins where something starts
// to live after something has ended: the live set just before that is contained in
// no other.
func (in *instance) number(times *lifetimes) {
	spans, sections := sectionsOf(times.parts, in.watch)
	in.sections = sections
	first := 0
	for i := range in.items {
		end := i + 1
		if times.end != nil {
			end = times.end[i]
		}
		parts := spans[first:end:end]
		in.items[i].span = span{parts[0].first, parts[len(parts)-1].end}
		if len(parts) > 1 {
			in.alive = append(in.alive, parts)
			in.items[i].holes = int32(len(in.alive))
		}
		in.watch.visit(i, len(in.items))
		first = end
	}
}

// numbering gives sections to steps, which come in ascending order.
type numbering struct {
	current int32
	ended   bool // something has ended since the current section began
}

// at is the section of what starts at a step, and the end of what ends there.
func (n *numbering) at(starts, ends bool) (start, end int32) {
	n.ended = n.ended || ends
	end = n.current + 1
	if starts && n.ended {
		n.current++
		n.ended = false
	}
	return n.current, end
}

// sectionsOf gives every interval its sections, and says how many there are.
func sectionsOf(parts []Interval, w watch) ([]span, int) {
	if len(parts) == 0 {
		return nil, 0
	}
	low, high := parts[0].First, parts[0].End
	for k, x := range parts {
		low, high = min(low, x.First), max(high, x.End)
		w.visit(k, len(parts))
	}
	numbers := numbering{current: -1, ended: true}
	var spans []span
	if width := uint64(high) - uint64(low); width <= uint64(8*len(parts)+1024) {
		spans = numbers.dense(parts, low, int(width), w)
	} else {
		spans = numbers.sparse(parts, w)
	}
	return spans, int(numbers.current) + 1
}

// dense numbers by a table of all steps.
func (n *numbering) dense(parts []Interval, low int64, width int, w watch) []span {
	const starts, ends = 1, 2
	table := make([]span, width+1)
	for k, x := range parts {
		table[x.First-low].first |= starts
		table[x.End-low].end |= ends
		w.visit(k, len(parts))
	}
	for i := range table {
		t := &table[i]
		t.first, t.end = n.at(t.first != 0, t.end != 0)
		w.visit(i, len(table))
	}
	spans := make([]span, len(parts))
	for k, x := range parts {
		spans[k] = span{table[x.First-low].first, table[x.End-low].end}
		w.visit(k, len(parts))
	}
	return spans
}

// sparse numbers by the sorted ends of all intervals.
func (n *numbering) sparse(parts []Interval, w watch) []span {
	// Steps, each with 2 * the index of a part, and one more for its end.
	marks := make([]ranked, 0, 2*len(parts))
	for k, x := range parts {
		marks = append(marks, ranked{x.First, int32(2 * k)}, ranked{x.End, int32(2*k + 1)})
	}
	sortBy(marks, w, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	spans := make([]span, len(parts))
	for len(marks) > 0 {
		same, seen := 0, [2]bool{}
		for ; same < len(marks) && marks[same].rank == marks[0].rank; same++ {
			seen[marks[same].item&1] = true
		}
		start, end := n.at(seen[0], seen[1])
		for _, m := range marks[:same] {
			if m.item&1 == 0 {
				spans[m.item/2].first = start
			} else {
				spans[m.item/2].end = end
			}
		}
		w(unitsOfVisit * int64(same))
		marks = marks[same:]
	}
	return spans
}
