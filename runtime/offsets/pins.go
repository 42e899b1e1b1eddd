package offsets

import (
	"cmp"
	"slices"
)

// pinsApart reports two pinned buffers that share bytes at one time in one space. It goes through time, in
// O(n log n) however many are pinned at once.
func (s *solver) pinsApart(in *instance) error {
	spaces := map[int][]int32{}
	for i := range in.items {
		if it := &in.items[i]; it.pinned >= 0 && it.size > 0 {
			space := s.preferred(it, 0)
			spaces[space] = append(spaces[space], int32(i))
		}
	}
	fault := int32(-1)
	for _, list := range spaces {
		if i := in.collision(list); i >= 0 && (fault < 0 || i < fault) {
			fault = i
		}
	}
	if fault < 0 {
		return nil
	}
	return s.pinFault(&in.items[fault])
}

// change is where a part of the life of a pinned item begins or ends.
type change struct {
	section int32
	item    int32
	begins  bool
}

// collision is the first of some pinned items that begins where another one lies; -1 when none does.
func (in *instance) collision(list []int32) int32 {
	edges := make([]int64, 0, 2*len(list))
	changes := make([]change, 0, 2*len(list))
	for _, i := range list {
		it := &in.items[i]
		edges = append(edges, it.pinned, it.pinned+it.size)
		for _, part := range in.spans(it) {
			changes = append(changes, change{part.first, i, true}, change{part.end, i, false})
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	slices.SortFunc(changes, func(a, b change) int {
		order := cmp.Compare(a.section, b.section)
		if order == 0 && a.begins != b.begins {
			if b.begins { // what ends makes room
				return -1
			}
			return 1
		}
		return cmp.Or(order, cmp.Compare(a.item, b.item))
	})
	t := newTaken(len(edges))
	for _, c := range changes {
		it := &in.items[c.item]
		low, _ := slices.BinarySearch(edges, it.pinned)
		high, _ := slices.BinarySearch(edges, it.pinned+it.size)
		x := span{int32(low), int32(high)}
		if c.begins && t.any(x, 1, span{0, t.half}) {
			return c.item
		}
		t.set(x, c.begins, 1, span{0, t.half})
	}
	return -1
}

// taken are stretches of cells that do not overlap: a tree, the cells from half on.
type taken struct {
	half int32
	full []bool // a stretch covers the node, and ends in none above it
	some []bool // a stretch reaches into the node
}

func newTaken(cells int) *taken {
	t := &taken{half: 1}
	for int(t.half) < cells {
		t.half *= 2
	}
	t.full, t.some = make([]bool, 2*t.half), make([]bool, 2*t.half)
	return t
}

// any says whether a cell of x is taken, below a node.
func (t *taken) any(x span, node int32, has span) bool {
	switch {
	case has.end <= x.first || has.first >= x.end || !t.some[node]:
		return false
	case t.full[node], x.first <= has.first && has.end <= x.end:
		return true
	}
	middle := (has.first + has.end) / 2
	return t.any(x, 2*node, span{has.first, middle}) || t.any(x, 2*node+1, span{middle, has.end})
}

// set takes the cells of x, which are free, or frees them, which were taken together.
func (t *taken) set(x span, to bool, node int32, has span) {
	if has.end <= x.first || has.first >= x.end {
		return
	}
	if x.first <= has.first && has.end <= x.end {
		t.full[node], t.some[node] = to, to
		return
	}
	middle := (has.first + has.end) / 2
	t.set(x, to, 2*node, span{has.first, middle})
	t.set(x, to, 2*node+1, span{middle, has.end})
	t.some[node] = t.some[2*node] || t.some[2*node+1]
}
