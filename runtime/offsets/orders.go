package offsets

import (
	"cmp"
	"math/bits"
	"slices"
)

// rule is an order in which items are placed one by one, first come lowest.
type rule struct {
	name string
	key  func(in *instance, load []int64, it *item) (high, low uint64) // large first
}

// rules are the orders of the literature, the most successful first. Among equals
// what starts earlier comes first; on large inputs that alone is worth some per
// cent.
//
// By size: Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020. By area: the order of minimalloc's authors (Moffitt, "MiniMalloc",
// ASPLOS 2023) among others. By breadth: Pisarchyk and Lee, taken at the steps of
// highest load. By duration: the temporal order of XLA's heap simulator.
var rules = []rule{
	{"size", func(_ *instance, _ []int64, it *item) (uint64, uint64) {
		return uint64(it.size), uint64(it.end - it.first)
	}},
	{"area", func(_ *instance, _ []int64, it *item) (uint64, uint64) {
		return bits.Mul64(uint64(it.size), uint64(it.end-it.first))
	}},
	{"duration", func(_ *instance, _ []int64, it *item) (uint64, uint64) {
		return uint64(it.end - it.first), uint64(it.size)
	}},
	{"breadth", func(_ *instance, load []int64, it *item) (uint64, uint64) {
		return uint64(peak(load, it)), uint64(it.size)
	}},
	{"start", func(_ *instance, _ []int64, it *item) (uint64, uint64) {
		return uint64(-it.first) + 1<<32, uint64(it.size)
	}},
}

// peak is the largest load during the life of it.
func peak(load []int64, it *item) int64 { return slices.Max(load[it.first:it.end]) }

// order lists the items as a rule wants them; those that are pinned come first.
func (in *instance) order(r *rule, load []int64) []int32 {
	type keyed struct {
		high, low uint64
		item      int32
	}
	keys := make([]keyed, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		keys[i].item = int32(i)
		keys[i].high, keys[i].low = r.key(in, load, it)
		if it.pinned >= 0 {
			keys[i].high = ^uint64(0)
		}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(b.high, a.high), cmp.Compare(b.low, a.low),
			cmp.Compare(in.items[a.item].first, in.items[b.item].first), cmp.Compare(a.item, b.item))
	})
	order := make([]int32, len(keys))
	for i := range keys {
		order[i] = keys[i].item
	}
	return order
}
