package offsets

import (
	"cmp"
	"math/bits"
)

// rule is an order in which items are placed one by one, first come lowest.
type rule struct {
	name string
	// key of an item: large first.
	key   func(in *instance, load *heights, it *item) (high, low uint64)
	tight bool // into the smallest hole, instead of the lowest
	given bool // equals stay in the order of the problem
}

// rules are the orders of the literature, the most successful first. Among equals
// what starts earlier comes first; on large inputs that alone is worth some per
// cent.
//
// By size: Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020. By area: the order of minimalloc's authors (Moffitt, "MiniMalloc",
// ASPLOS 2023) among others. By breadth: Pisarchyk and Lee, taken at the steps of
// highest load. By duration: the temporal order of XLA's heap simulator, whose
// best fit by size and by duration the last two are.
var rules = []rule{
	{name: "size", key: bySize},
	{name: "area", key: func(_ *instance, _ *heights, it *item) (uint64, uint64) {
		return bits.Mul64(uint64(it.size), uint64(it.end-it.first))
	}},
	{name: "duration", key: byDuration},
	{name: "breadth", key: func(_ *instance, load *heights, it *item) (uint64, uint64) {
		return uint64(load.over(it.span, 1, span{0, load.half})), uint64(it.size)
	}},
	{name: "start", key: func(_ *instance, _ *heights, it *item) (uint64, uint64) {
		return uint64(-it.first) + 1<<32, uint64(it.size)
	}},
	{name: "size, best fit", key: bySize, tight: true, given: true},
	{name: "duration, best fit", key: byDuration, tight: true, given: true},
}

// Indices of rules.
const size, breadth = 0, 3

var allRules = []int{0, 1, 2, 3, 4, 5, 6}

func bySize(_ *instance, _ *heights, it *item) (uint64, uint64) {
	return uint64(it.size), uint64(it.end - it.first)
}

func byDuration(_ *instance, _ *heights, it *item) (uint64, uint64) {
	return uint64(it.end - it.first), uint64(it.size)
}

// order lists the items as a rule wants them; those that are pinned come first.
func (in *instance) order(r *rule, load *heights) []int32 {
	type keyed struct {
		high, low uint64
		item      int32
	}
	keys := make([]keyed, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		keys[i].item = int32(i)
		keys[i].high, keys[i].low = r.key(in, load, it)
		if r.given {
			keys[i].low = 0
		}
		if it.pinned >= 0 {
			keys[i].high = ^uint64(0)
		}
		in.watch.visit(i, len(in.items))
	}
	sortBy(keys, in.watch, func(a, b keyed) int {
		if c := cmp.Or(cmp.Compare(b.high, a.high), cmp.Compare(b.low, a.low)); c != 0 || r.given {
			return cmp.Or(c, cmp.Compare(a.item, b.item))
		}
		return cmp.Or(cmp.Compare(in.items[a.item].first, in.items[b.item].first), cmp.Compare(a.item, b.item))
	})
	order := make([]int32, len(keys))
	for i := range keys {
		order[i] = keys[i].item
	}
	return order
}
