package offsets

import (
	"slices"
)

// load is the number of bytes alive in each section, to be read only.
func (in *instance) load() []int64 {
	if in.loads == nil {
		in.loads = in.sum(func(it *item) int64 { return it.size })
	}
	return in.loads
}

// sum adds up a figure of the items that are alive, by section.
func (in *instance) sum(figure func(*item) int64) []int64 {
	load := make([]int64, in.sections+1)
	for i := range in.items {
		it := &in.items[i]
		in.watch.visit(i, len(in.items))
		if it.holes == 0 {
			x := figure(it)
			load[it.first] += x
			load[it.end] -= x
			continue
		}
		in.watch(int64(len(in.alive[it.holes-1])))
		for _, part := range in.alive[it.holes-1] {
			load[part.first] += figure(it)
			load[part.end] -= figure(it)
		}
	}
	in.watch(int64(in.sections))
	for t := 1; t < len(load); t++ {
		load[t] += load[t-1]
	}
	return load[:in.sections]
}

// lowerBound is what no placement undercuts: the largest load, what a single item needs, and what alignment adds, as
// far as there is time for that.
func (in *instance) lowerBound(load []int64, late func() bool) int64 {
	bound := int64(0)
	for _, bytes := range load {
		bound = max(bound, bytes)
	}
	for i := range in.items {
		it := &in.items[i]
		bound = max(bound, max(it.pinned, it.residue)+it.size)
	}
	return max(bound, in.alignedBound(late))
}

// alignedBound uses that items whose offsets are multiples of an alignment take a multiple of it each, but for the
// highest of a section. Each alignment that occurs gives a bound, of the items that have it or a larger one; when it is
// late the smallest has to do, which most items have.
func (in *instance) alignedBound(late func() bool) int64 {
	masks := []int64{}
	for i := range in.items {
		if it := &in.items[i]; it.size > 0 && it.mask > 0 {
			if at, known := slices.BinarySearch(masks, it.mask); !known {
				masks = slices.Insert(masks, at, it.mask)
			}
		}
	}
	bound := int64(0)
	for k, mask := range masks {
		if k > 0 && late() {
			break
		}
		bound = max(bound, in.boundAt(mask))
	}
	return bound
}

// boundAt is the bound of the alignment mask + 1.
func (in *instance) boundAt(mask int64) int64 {
	aligned := func(it *item) bool { return it.mask >= mask && it.residue&mask == 0 }
	padding := func(it *item) int64 { return -it.size & mask }
	padded := in.sum(func(it *item) int64 {
		if !aligned(it) {
			return 0
		}
		return it.size + padding(it)
	})
	if len(padded) == 0 {
		return 0
	}
	most := int32(slices.Index(padded, slices.Max(padded)))
	widest := int64(0)
	for i := range in.items {
		if it := &in.items[i]; aligned(it) && in.liveIn(it, most) {
			widest = max(widest, padding(it))
		}
	}
	return padded[most] - widest
}

func (in *instance) liveIn(it *item, t int32) bool {
	return slices.ContainsFunc(in.spans(it), func(x span) bool { return x.first <= t && t < x.end })
}
