package offsets

import "cmp"

const (
	// crowded is how many items alive at once are too many for mending unasked, and for a stack in one order.
	crowded = windowItems / 2
	// A stack has so many bands at least, and up to so many more.
	leastBands, moreBands = 6, 8
)

// stacking orders the items of a stack, the lowest first.
func (in *instance) stacking(stack []int32, seed uint64) {
	if len(stack) > crowded {
		in.band(stack, seed)
	} else {
		in.shuffle(stack, seed)
	}
}

// band orders a stack so that neighbours end together in both directions of time: few holes are left then, and large
// ones. An item has a rank in each direction, the next to end having the lowest. The lower of its ranks decides its
// band. The lowest band, which either direction breaks up last, lies lowest. A band has a side for each direction; it
// holds the items that end first in that direction, in the order in which they end in the other one. So each direction
// frees whole sides, and the other side of the same bands then from one end to the other.
func (in *instance) band(stack []int32, seed uint64) {
	n := len(stack)
	forward := in.ranks(stack, func(it *item) int32 { return it.end })
	backward := in.ranks(stack, func(it *item) int32 { return -it.first })
	draw := scramble(seed)
	bands, turned := leastBands+int(draw%moreBands), int(draw>>32&1)
	type place struct {
		side, rank int // of the band and of the item
		item       int32
	}
	list := make([]place, n)
	for k, i := range stack {
		x := place{side: forward[k] * bands / n * 2, rank: backward[k], item: i}
		if backward[k] < forward[k] {
			x.side, x.rank = backward[k]*bands/n*2+1, forward[k]
		}
		x.side ^= turned
		list[k] = x
	}
	sortBy(list, in.watch, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.side, a.side), cmp.Compare(b.rank, a.rank))
	})
	for k := range list {
		stack[k] = list[k].item
	}
}

// ranks of items by a key, the lowest first.
func (in *instance) ranks(items []int32, key func(*item) int32) []int {
	order, rank := make([]int, len(items)), make([]int, len(items))
	for k := range order {
		order[k] = k
	}
	sortBy(order, in.watch, func(a, b int) int {
		return cmp.Or(cmp.Compare(key(&in.items[items[a]]), key(&in.items[items[b]])), cmp.Compare(a, b))
	})
	for r, k := range order {
		rank[k] = r
	}
	return rank
}
