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

// heightsOf are those of a list.
func heightsOf(list []int64) *heights {
	h := newHeights(len(list))
	copy(h.most[h.half:], list)
	for node := h.half - 1; node > 0; node-- {
		h.most[node] = max(h.most[2*node], h.most[2*node+1])
	}
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

// chooser gives an item one of several spaces; end is where the item would end there.
type chooser func(i int32, end func(space int) int64) (space int, err error)

// maxCells bounds the memory of all stacks together, in cells of 16 bytes.
const maxCells = 1 << 23

// stacked places every item above all that were placed before in its space and live in its sections, gaps included:
// the pinned ones first, then the longest-lived. It looks into no hole, and takes everything. Of too many sections and
// spaces, some sections count as one.
func (in *instance) stacked(offset []int64, spaces int, choose chooser) error {
	shift := 0
	for (in.sections>>shift+1)*spaces > maxCells {
		shift++
	}
	stacks := make([]*heights, spaces)
	for space := range stacks {
		stacks[space] = newHeights(in.sections>>shift + 1)
	}
	all := span{0, stacks[0].half}
	for _, i := range in.order(&rule{key: byDuration}, nil) {
		it := &in.items[i]
		life := span{it.first >> shift, (it.end-1)>>shift + 1}
		space, err := choose(i, func(space int) int64 {
			switch {
			case it.pinned >= 0:
				offset[i] = it.pinned
			case it.size == 0:
				offset[i] = it.up(0)
			default:
				offset[i] = it.up(stacks[space].over(life, 1, all))
			}
			return offset[i] + it.size
		})
		if err != nil {
			return err
		}
		if it.size > 0 {
			stacks[space].raise(life, offset[i]+it.size, 1, all)
		}
	}
	return nil
}
