package offsets

// only is the instance of some of the items. Where they are few, or live in a part of the time, it has
// sections of its own.
func (in *instance) only(items []int32) *instance {
	sub := &instance{alive: in.alive, sections: in.sections, items: make([]item, len(items)), watch: in.watch,
		without: in.without}
	parts := 0
	for k, i := range items {
		sub.items[k] = in.items[i]
		parts += len(in.spans(&in.items[i]))
		in.watch(unitsOfVisit)
	}
	if in.sections > 2*parts {
		sub.renumber()
	}
	return sub
}

// renumber leaves out the sections that need not be told apart.
func (in *instance) renumber() {
	times := &lifetimes{}
	for i := range in.items {
		it := &in.items[i]
		for _, x := range in.spans(it) {
			times.parts = append(times.parts, Interval{int64(x.first), int64(x.end)})
		}
		times.end, it.holes = append(times.end, len(times.parts)), 0
	}
	in.alive = nil
	in.number(times)
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
