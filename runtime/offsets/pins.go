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

// collision is the first of some pinned items that begins where another one lies; -1 when none does.
func (in *instance) collision(list []int32) int32 {
	starts, apart := in.starts(list)
	if apart {
		return -1
	}
	// By where a part of a pinned item's life begins or ends: 2 * the section, and one more where it begins, since what
	// ends makes room.
	changes, cells := make([]ranked, 0, 2*len(list)), make([]span, len(list))
	for k, i := range list {
		it := &in.items[i]
		for _, part := range in.spans(it) {
			changes = append(changes, ranked{2*int64(part.first) + 1, int32(k)}, ranked{2 * int64(part.end), int32(k)})
		}
		low, _ := slices.BinarySearch(starts, it.pinned)
		high, _ := slices.BinarySearch(starts, it.pinned+it.size)
		cells[k] = span{int32(low), int32(high)}
		in.watch(unitsToSort)
	}
	sortBy(changes, in.watch, byRank)
	t := newTaken(len(starts))
	for _, c := range changes {
		x, begins := cells[c.item], c.rank&1 == 1
		if begins && t.any(x, 1, span{0, t.half}) {
			return list[c.item]
		}
		t.set(x, begins, 1, span{0, t.half})
		in.watch(unitsToSort)
	}
	return -1
}

// starts are the offsets where pinned items lie: two of them share bytes if they share one of these. It says whether
// no two do.
func (in *instance) starts(list []int32) (starts []int64, apart bool) {
	sorted := slices.Clone(list)
	sortBy(sorted, in.watch, func(a, b int32) int { return cmp.Compare(in.items[a].pinned, in.items[b].pinned) })
	apart = true
	for k, i := range sorted {
		it := &in.items[i]
		if starts = append(starts, it.pinned); k > 0 {
			before := &in.items[sorted[k-1]]
			apart = apart && before.pinned+before.size <= it.pinned
		}
	}
	return slices.Compact(starts), apart
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
