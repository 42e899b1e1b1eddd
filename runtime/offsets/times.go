package offsets

import (
	"cmp"
	"slices"
)

// lifetimes are in steps: the intervals in which items are alive, item by item.
type lifetimes struct {
	parts []Interval
	end   []int // by item: where its parts end
}

// collect makes one item for each root, of the lives of all that lie inside it, and returns its lifetimes.
func (in *instance) collect(p *Problem) *lifetimes {
	times := &lifetimes{parts: make([]Interval, 0, len(p.Buffers)), end: make([]int, 0, len(p.Buffers))}
	in.items = make([]item, 0, len(p.Buffers))
	var members, start []int32
	if in.links != nil {
		members, start = in.links.members()
		in.itemOf = make([]int32, len(p.Buffers))
	}
	for i := range p.Buffers {
		in.watch(unitsOfVisit)
		list := []int32{int32(i)}
		if in.links != nil {
			in.itemOf[i] = int32(len(in.items))
			if list = members[start[i]:start[i+1]]; len(list) == 0 {
				continue
			}
		}
		in.items = append(in.items, item{buffer: int32(i)})
		if more := len(p.Buffers[i].Gaps); more > 0 {
			in.watch(unitsToSort * int64(more))
		}
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
		end := times.end[i]
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

// sectionsOf gives every interval its sections, and says how many there are, from a table of all steps.
func sectionsOf(parts []Interval, w watch) ([]span, int) {
	if len(parts) == 0 {
		return nil, 0
	}
	low, high := parts[0].First, parts[0].End
	for k, x := range parts {
		low, high = min(low, x.First), max(high, x.End)
		w.visit(k, len(parts))
	}
	if uint64(high)-uint64(low) > uint64(8*len(parts)+1024) {
		parts, low, high = counted(parts, w), 0, int64(2*len(parts))
	}
	const starts, ends = 1, 2
	table := make([]span, high-low+1)
	for k, x := range parts {
		table[x.First-low].first |= starts
		table[x.End-low].end |= ends
		w.visit(k, len(parts))
	}
	section, ended := int32(-1), true // something has ended since the section began
	for i := range table {
		t := &table[i]
		ended = ended || t.end != 0
		t.end = section + 1
		if t.first != 0 && ended {
			section, ended = section+1, false
		}
		t.first = section
		w.visit(i, len(table))
	}
	spans := make([]span, len(parts))
	for k, x := range parts {
		spans[k] = span{table[x.First-low].first, table[x.End-low].end}
		w.visit(k, len(parts))
	}
	return spans, int(section) + 1
}

// counted replaces each step by how many others are before it.
func counted(parts []Interval, w watch) []Interval {
	steps, out := make([]int64, 0, 2*len(parts)), make([]Interval, len(parts))
	for _, x := range parts {
		steps = append(steps, x.First, x.End)
	}
	sortBy(steps, w, cmp.Compare)
	steps = slices.Compact(steps)
	for k, x := range parts {
		first, _ := slices.BinarySearch(steps, x.First)
		end, _ := slices.BinarySearch(steps, x.End)
		out[k] = Interval{int64(first), int64(end)}
		w(unitsOfVisit)
	}
	return out
}
