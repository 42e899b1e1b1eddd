package offsets

// heights are those of what is placed, by section: a tree, the sections from half on. What covers the whole stretch of
// a node is noted there alone.
type heights struct {
	half  int32
	whole []int64 // covers every section of the node
	most  []int64 // the highest of the node
}

func newHeights(sections int) *heights {
	h := &heights{half: 1}
	for int(h.half) < sections {
		h.half *= 2
	}
	h.whole, h.most = make([]int64, 2*h.half), make([]int64, 2*h.half)
	return h
}

// over is the largest height of x below a node.
func (h *heights) over(x span, node int32, has span) int64 {
	switch {
	case has.end <= x.first || has.first >= x.end:
		return 0
	case x.first <= has.first && has.end <= x.end:
		return h.most[node]
	}
	middle := (has.first + has.end) / 2
	return max(h.whole[node], h.over(x, 2*node, span{has.first, middle}), h.over(x, 2*node+1, span{middle, has.end}))
}

// raise lifts x to a height.
func (h *heights) raise(x span, to int64, node int32, has span) {
	if has.end <= x.first || has.first >= x.end {
		return
	}
	h.most[node] = max(h.most[node], to)
	if x.first <= has.first && has.end <= x.end {
		h.whole[node] = max(h.whole[node], to)
		return
	}
	middle := (has.first + has.end) / 2
	h.raise(x, to, 2*node, span{has.first, middle})
	h.raise(x, to, 2*node+1, span{middle, has.end})
}

// stacked places every item above all that were placed before and live in its sections, gaps included: the pinned ones
// first, then the longest-lived. It looks into no hole, and takes everything.
func (in *instance) stacked(offset []int64, tick func(units int64) bool) {
	h := newHeights(in.sections)
	all := span{0, h.half}
	for _, i := range in.order(&rule{key: byDuration}, nil) {
		it := &in.items[i]
		switch {
		case it.pinned >= 0:
			offset[i] = it.pinned
		case it.size == 0:
			offset[i] = it.up(0)
			continue
		default:
			offset[i] = it.up(h.over(it.span, 1, all))
		}
		h.raise(it.span, offset[i]+it.size, 1, all)
		tick(64)
	}
}
