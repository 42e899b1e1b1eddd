package offsets

// cut is an instance of some items alone.
func (in *instance) cut(items []int32) *instance {
	hull := in.items[items[0]].span
	for _, i := range items {
		hull.first, hull.end = min(hull.first, in.items[i].first), max(hull.end, in.items[i].end)
	}
	part := &instance{items: make([]item, 0, len(items)), sections: int(hull.end - hull.first), watch: in.watch,
		without: in.without}
	for k, i := range items {
		it := in.items[i]
		in.watch.visit(k, len(items))
		if it.holes > 0 {
			part.alive = append(part.alive, clip(in.alive[it.holes-1], hull))
			it.holes = int32(len(part.alive))
		}
		it.span = it.span.clip(hull)
		part.items = append(part.items, it)
	}
	return part
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
