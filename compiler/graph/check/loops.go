package check

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// bodyResults returns what the bodies of a node tell of its results: one entry for each
// result, with the reason where they do not tell.
func (c *checker) bodyResults(i int, bodies []graph.TypedBody) ([]resultType, error) {
	switch c.graph.Nodes[i].Op {
	case "If":
		return c.ifResults(i, bodies)
	case "Loop":
		return c.loopResults(i, bodies)
	case "Scan":
		return c.scanResults(i, bodies)
	}
	return nil, nil
}

func outputOf(b *graph.TypedBody, k int) *graph.TypedValue {
	return &b.Graph.Values[b.Graph.Outputs[k]]
}

// ifResults: both branches give the same, or the graph has to declare what holds both.
func (c *checker) ifResults(i int, bodies []graph.TypedBody) ([]resultType, error) {
	n := &c.graph.Nodes[i]
	if len(bodies) != 2 || len(n.Inputs) != 1 {
		return nil, c.Fault(i, fmt.Sprintf("it has %d inputs and %d branches", len(n.Inputs), len(bodies)),
			"give it a condition, then_branch and else_branch")
	}
	a, b := &bodies[0], &bodies[1]
	if len(a.Graph.Outputs) != len(b.Graph.Outputs) || len(n.Outputs) > len(a.Graph.Outputs) {
		return nil, c.Fault(i, fmt.Sprintf("it has %d results, its %s %d and its %s %d", len(n.Outputs), a.Name,
			len(a.Graph.Outputs), b.Name, len(b.Graph.Outputs)), "give all the same number")
	}
	var list []resultType
	for k := range a.Graph.Outputs {
		x, y := outputOf(a, k), outputOf(b, k)
		r := resultType{dtype: x.DType, shape: x.Shape}
		if x.DType != y.DType {
			return nil, c.Fault(i, fmt.Sprintf("its result %d is %s in %s and %s in %s", k, x.DType, a.Name, y.DType, b.Name),
				"put a Cast into one of them")
		}
		if !slices.Equal(x.Shape, y.Shape) {
			r.why = fmt.Sprintf("its branches give %s and %s", graph.ShapeText(x.Shape), graph.ShapeText(y.Shape))
		}
		list = append(list, r)
	}
	return list, nil
}

// loopResults: what is carried keeps its type, what is collected gets an axis of as many
// turns as there can be.
func (c *checker) loopResults(i int, bodies []graph.TypedBody) ([]resultType, error) {
	n := &c.graph.Nodes[i]
	if len(bodies) != 1 || len(n.Inputs) < 2 {
		return nil, c.Fault(i, fmt.Sprintf("it has %d inputs and %d bodies", len(n.Inputs), len(bodies)),
			"give it a number of turns, a condition and a body; \"\" stands for one of the first two")
	}
	b, carried := &bodies[0], len(n.Inputs)-2
	list, err := c.carried(i, b, n.Inputs[2:], 1)
	if err != nil {
		return nil, err
	}
	turns, why := int64(0), "the number of turns is not constant"
	if name := n.Inputs[0]; name != "" {
		if t := c.Out.Values[c.Index[name]].Constant; t != nil && graph.Elements(t.Shape) == 1 {
			turns, why = max(t.IntAt(0), 0), ""
		}
	}
	for k := 1 + carried; k < len(b.Graph.Outputs); k++ {
		v := outputOf(b, k)
		list = append(list, resultType{v.DType, slices.Concat([]int64{turns}, v.Shape), why})
	}
	return list, nil
}

// carried holds the values that go from turn to turn to one type: their memory is used
// again in each.
func (c *checker) carried(i int, b *graph.TypedBody, names []string, first int) ([]resultType, error) {
	if len(b.Graph.Outputs) < first+len(names) {
		return nil, c.Fault(i, fmt.Sprintf("its %s has %d outputs, and %d are carried from turn to turn", b.Name,
			len(b.Graph.Outputs), first+len(names)), "give it one for each value that is carried")
	}
	var list []resultType
	for k, name := range names {
		before, after := c.typeOf(name), outputOf(b, first+k)
		was := graph.Declaration{Value: before}
		if now := declarationOf(after); contradict(&was, now) {
			return nil, c.Fault(i, fmt.Sprintf("%q is %s before and %s after a turn", name, declared(&was), declared(now)),
				"carry it in one type and shape, that of its largest")
		}
		list = append(list, resultType{dtype: after.DType, shape: after.Shape})
	}
	return list, nil
}

// scanned says how a Scan goes over its inputs.
type scanned struct {
	states    int   // inputs that are carried
	in        []int // axis of each input that is gone over
	turns     int64
	collected []int64 // axes of what is collected, as the node has them
}

func (c *checker) scanned(i int) (s scanned, err error) {
	n := &c.graph.Nodes[i]
	count := n.Attrs.Int("num_scan_inputs")
	if count < 1 || count > int64(len(n.Inputs)) || slices.Contains(n.Inputs, "") {
		return s, c.Fault(i, fmt.Sprintf("its attribute \"num_scan_inputs\" is %d, and it has %d inputs", count,
			len(n.Inputs)), "give the number of the inputs that it goes over")
	}
	for _, name := range []string{"scan_input_directions", "scan_output_directions"} {
		for _, way := range n.Attrs.Ints(name) {
			if way != 0 && way != 1 {
				return s, c.Fault(i, fmt.Sprintf("its attribute %q has %d", name, way), "use 0, or 1 to go backwards")
			}
		}
	}
	s.states = len(n.Inputs) - int(count)
	axes := n.Attrs.Ints("scan_input_axes")
	for k, name := range n.Inputs[s.states:] {
		shape, axis := c.typeOf(name).Shape, int64(0)
		if k < len(axes) {
			axis = axes[k]
		}
		if axis < 0 {
			axis += int64(len(shape))
		}
		if axis < 0 || axis >= int64(len(shape)) {
			return s, c.Fault(i, fmt.Sprintf("it goes over axis %d of %q, which has the shape %s", axis, name,
				graph.DimsText(shape)), "use an axis that there is")
		}
		if k > 0 && shape[axis].Size != s.turns {
			return s, c.Fault(i, fmt.Sprintf("it goes over %d elements of %q and over %d of the inputs before", shape[axis].Size,
				name, s.turns), "give it inputs of one length")
		}
		s.turns = shape[axis].Size
		s.in = append(s.in, int(axis))
	}
	s.collected = n.Attrs.Ints("scan_output_axes")
	return s, nil
}

func (c *checker) scanTypes(i int) ([]graph.Value, error) {
	n := &c.graph.Nodes[i]
	s, err := c.scanned(i)
	if err != nil {
		return nil, err
	}
	types := []graph.Value{}
	for k, name := range n.Inputs {
		v := c.typeOf(name)
		if k >= s.states {
			v.Shape = slices.Delete(slices.Clone(v.Shape), s.in[k-s.states], s.in[k-s.states]+1)
		}
		types = append(types, v)
	}
	return types, nil
}

func (c *checker) scanResults(i int, bodies []graph.TypedBody) ([]resultType, error) {
	n := &c.graph.Nodes[i]
	s, err := c.scanned(i)
	if err != nil {
		return nil, err
	}
	if len(bodies) != 1 {
		return nil, c.Fault(i, fmt.Sprintf("it has %d bodies", len(bodies)), "give it one, called body")
	}
	b := &bodies[0]
	list, err := c.carried(i, b, n.Inputs[:s.states], 0)
	if err != nil {
		return nil, err
	}
	for k := s.states; k < len(b.Graph.Outputs); k++ {
		v, axis := outputOf(b, k), int64(0)
		if at := k - s.states; at < len(s.collected) {
			axis = s.collected[at]
		}
		if axis < 0 {
			axis += int64(len(v.Shape)) + 1
		}
		if axis < 0 || axis > int64(len(v.Shape)) {
			return nil, c.Fault(i, fmt.Sprintf("it collects %q, which has the shape %s, along axis %d", v.Name,
				graph.ShapeText(v.Shape), axis), "use an axis that there is")
		}
		list = append(list, resultType{dtype: v.DType, shape: slices.Insert(slices.Clone(v.Shape), int(axis), s.turns)})
	}
	return list, nil
}
