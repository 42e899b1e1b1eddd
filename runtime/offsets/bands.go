package offsets

const (
	// crowded is how many items alive at once are too many for mending unasked.
	crowded = 200
	// A stack has leastBands bands, and fewer than moreBands more.
	leastBands, moreBands = 6, 8
)

// band orders a stack so that neighbours end together in both directions of time: few holes are left then, and large
// ones. An item has a rank in each direction, the next to end having the lowest. The lower of its ranks decides its
// band. The band of what ends last in both directions lies lowest. A band has a side for each direction; it holds the
// items that end first in that direction, in the order in which they end in the other one. So each direction frees
// whole sides of bands first, and then the other sides from one end to the other.
func (in *instance) band(stack []int32, seed uint64) {
	n := len(stack)
	forward := in.ranks(stack, func(it *item) int32 { return it.end })
	backward := in.ranks(stack, func(it *item) int32 { return -it.first })
	draw := scramble(seed)
	bands, turned := leastBands+int(draw%moreBands), int(draw>>32&1)
	list := make([]ranked, n)
	for k, i := range stack {
		side, rank := forward[k]*bands/n*2, backward[k]
		if backward[k] < forward[k] {
			side, rank = backward[k]*bands/n*2+1, forward[k]
		}
		list[k] = ranked{-int64((side^turned)*n + rank), i}
	}
	sortBy(list, in.watch, byRank)
	for k := range list {
		stack[k] = list[k].item
	}
}

// ranks of items by a key, the lowest first.
func (in *instance) ranks(items []int32, key func(*item) int32) []int {
	order, rank := make([]ranked, len(items)), make([]int, len(items))
	for k, i := range items {
		order[k] = ranked{int64(key(&in.items[i])), int32(k)}
	}
	sortBy(order, in.watch, byRank)
	for r, x := range order {
		rank[x.item] = r
	}
	return rank
}
