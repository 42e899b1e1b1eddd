package plan

import "tlruntime/compiler/graph"

// Drafter plans many variants of one graph, whose nodes are those of the graph, some of them several times. It decides
// once, for that graph, which values share memory, and does not search for offsets, so that a draft takes a small part
// of the time of Build. Build decides for each variant anew, and seldom has a higher peak.
type Drafter struct {
	options Options
	sharing sharing
	apart   *apartness // by node of the first graph, as all of options that goes by node
}

// NewDrafter decides for a graph in its order.
func NewDrafter(c *graph.Checked, o Options) (*Drafter, error) {
	o.NoReorder = true
	b, err := newBuilder(c, o)
	if err != nil {
		return nil, err
	}
	var best *candidate
	for _, v := range b.variants() {
		if best != nil && b.options.Late() {
			break
		}
		x, err := b.given(v)
		if err != nil {
			return nil, err
		}
		if best == nil || x.peak < best.peak {
			best = x
		}
	}
	return &Drafter{*b.options, best.layout.variant.sharing, best.layout.apart}, nil
}

// Draft plans a variant in its order. of has for each node of c the node of the Drafter's graph that it repeats, or -1.
// Buffers of the frame have the offset 0, since they have no places. Frame.Order.Peak is the highest number of bytes
// that are alive there at once, and Outside the same for the second space. Draft does not check c. Several goroutines
// may call it at once.
func (d *Drafter) Draft(c *graph.Checked, of []int) (*ExecutionPlan, error) {
	o := d.options
	o.bodies = map[int][]Body{}
	apart := &apartness{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[[2]int]bool{}}
	for i, first := range of {
		if bodies := d.options.bodies[first]; bodies != nil {
			o.bodies[i] = bodies
		}
		apart.copy(i, d.apart, first)
	}
	given := make([]int, len(c.Nodes))
	for i := range given {
		given[i] = i
	}
	e, err := emit(newLayout(newProgram(c, variant{d.sharing, given}), apart), &o)
	if err != nil {
		return nil, err
	}
	for i := range e.Buffers {
		if o.placed(e.Buffers[i].Kind) {
			e.Buffers[i].Offset = 0
		}
	}
	e.Frame.Alignment = o.Alignment
	e.Frame.Order.Peak = peak(e, &o, o.placed)
	e.Outside = peak(e, &o, func(k Kind) bool { return k == Outside })
	return e, nil
}

// copy has a node apart as another one is in another graph.
func (a *apartness) copy(node int, from *apartness, other int) {
	if from.inPlace[other] {
		a.inPlace[node] = true
	}
	if from.views[other] {
		a.views[node] = true
	}
	if from.concats[other] {
		a.concats[node] = true
	}
	for part := range from.parts {
		if part[0] == other {
			a.parts[[2]int{node, part[1]}] = true
		}
	}
}
