package offsets

import "slices"

// window is a part of an instance that is placed anew while the rest stays.
type window struct {
	in   *instance
	from []int32 // the item of the whole instance, by item of the window
	free int     // so many at the start of from move; the others are pinned
}

// cut makes a window of the items in free; those in fixed stay where they are.
func (in *instance) cut(free, fixed []int32, offset []int64) *window {
	return in.cutTo(in.hull(free), free, fixed, offset)
}

// hull is the stretch of time in which some items live.
func (in *instance) hull(items []int32) span {
	hull := in.items[items[0]].span
	for _, i := range items {
		hull.first, hull.end = min(hull.first, in.items[i].first), max(hull.end, in.items[i].end)
	}
	return hull
}

// cutTo makes a window of a stretch of time.
func (in *instance) cutTo(hull span, free, fixed []int32, offset []int64) *window {
	w := &window{from: append(slices.Clone(free), fixed...), free: len(free)}
	w.in = &instance{items: make([]item, 0, len(w.from)), sections: int(hull.end - hull.first),
		watch: in.watch}
	for k, i := range w.from {
		it := in.items[i]
		if k >= len(free) {
			it.pinned = offset[i]
		}
		in.watch.visit(k, len(w.from))
		if it.holes > 0 {
			w.in.alive = append(w.in.alive, clip(in.alive[it.holes-1], hull))
			it.holes = int32(len(w.in.alive))
		}
		it.span = it.span.clip(hull)
		w.in.items = append(w.in.items, it)
	}
	return w
}

// clip is the part of x inside hull, counted from its start.
func (x span) clip(hull span) span {
	return span{max(x.first, hull.first) - hull.first, min(x.end, hull.end) - hull.first}
}

func clip(parts []span, hull span) []span {
	out := make([]span, 0, len(parts))
	for _, x := range parts {
		if x = x.clip(hull); x.first < x.end {
			out = append(out, x)
		}
	}
	return out
}

// components are the groups of items that no lifetime connects. Items without
// bytes are in none.
func (in *instance) components() [][]int32 {
	order, _ := in.grouped(false, false)
	var out [][]int32
	end, start := int32(0), 0
	for k, i := range order {
		if it := &in.items[i]; k > start && it.first >= end {
			out = append(out, order[start:k:k])
			start = k
		}
		end = max(end, in.items[i].end)
	}
	if start < len(order) {
		out = append(out, order[start:])
	}
	return out
}
