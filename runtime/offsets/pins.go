package offsets

import "cmp"

// pinsApart reports two pinned buffers that share bytes at one time in one space.
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

// collision is the lowest of some pinned items that lies where another one does, -1 when none does. It goes from the
// bottom up with the heights of what is below, in O(n log n) however many are pinned at once.
func (in *instance) collision(list []int32) int32 {
	pinned := in.only(list)
	order := pinned.every()
	sortBy(order, in.watch, func(a, b int32) int {
		return cmp.Or(cmp.Compare(pinned.items[a].pinned, pinned.items[b].pinned), cmp.Compare(a, b))
	})
	below := newHeights(pinned.sections)
	all := span{0, below.half}
	for _, k := range order {
		it := &pinned.items[k]
		for _, part := range pinned.spans(it) {
			if below.over(part, 1, all) > it.pinned {
				return list[k]
			}
			below.raise(part, it.pinned+it.size, 1, all)
			in.watch(unitsToSort)
		}
	}
	return -1
}
