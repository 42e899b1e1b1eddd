package offsets

// load is the number of bytes alive in each section.
func (in *instance) load() []int64 {
	load := make([]int64, in.sections+1)
	for i := range in.items {
		it := &in.items[i]
		if it.holes == 0 {
			load[it.first] += it.size
			load[it.end] -= it.size
			continue
		}
		for _, part := range in.alive[it.holes-1] {
			load[part.first] += it.size
			load[part.end] -= it.size
		}
	}
	for t := 1; t < len(load); t++ {
		load[t] += load[t-1]
	}
	return load[:in.sections]
}

// lowerBound is what no placement undercuts.
func (in *instance) lowerBound(load []int64) int64 {
	bound := int64(0)
	for _, bytes := range load {
		bound = max(bound, bytes)
	}
	for i := range in.items {
		it := &in.items[i]
		bound = max(bound, max(it.pinned, it.residue)+it.size)
	}
	return bound
}
