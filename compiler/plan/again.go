package plan

import (
	"fmt"
	"maps"
	"slices"

	"tlruntime/compiler/graph"
)

// made is the plan for some numbers, without offsets, or why it is another one.
type made struct {
	graph *graph.Checked
	plan  *ExecutionPlan
	err   error
}

// decided returns what is apart in a layout, for whatever reason: so laid, a graph of
// other sizes comes to share what this one shares, or less where it cannot, and no more.
func (l *layout) decided() *apartness {
	a := &apartness{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[[2]int]bool{}}
	maps.Copy(a.inPlace, l.apart.inPlace)
	maps.Copy(a.views, l.apart.views)
	maps.Copy(a.concats, l.apart.concats)
	maps.Copy(a.parts, l.apart.parts)
	for k := range l.steps {
		s := &l.steps[k]
		switch {
		case s.role == computes && len(s.out) > 0 && s.out[0] >= 0 && l.over[s.out[0]] < 0:
			a.inPlace[s.node] = true
		case s.role == shows && len(l.copies[k]) > 0:
			a.views[s.node] = true
		case s.role == joins && !l.joined[k]:
			a.concats[s.node] = true
		case s.role == joins:
			for i, v := range s.in {
				st := &l.storages[l.at[v].storage]
				a.parts[[2]int{s.node, i}] = st.parent < 0 || st.part != [2]int{s.node, i}
			}
		}
	}
	return a
}

// at is again for numbers of the grid, which are asked for several times.
func (s *sizing) at(numbers []int64) *made {
	key := fmt.Sprint(numbers)
	if _, known := s.known[key]; !known {
		s.known[key] = s.again(numbers)
	}
	return s.known[key]
}

// again makes the plan for these numbers, in the same way and order as that for the
// bounds.
func (s *sizing) again(numbers []int64) *made {
	bind := maps.Clone(s.bounds)
	for i := range s.Symbols {
		bind[s.Symbols[i].Name] = numbers[i]
	}
	m := &made{}
	if m.graph, m.err = s.check(bind); m.err != nil {
		return m
	}
	former := s.candidate.layout
	if m.err = sameNodes(former.c, m.graph); m.err != nil {
		return m
	}
	program := newProgram(m.graph, former.variant)
	if m.plan, m.err = emit(newLayout(program, s.apart), s.options); m.err == nil {
		m.err = samePlan(s.candidate.plan, m.plan)
	}
	return m
}

// sameNodes compares graphs before their nodes are put in order. Inputs are not looked
// at: chain has changed them, and the plans are compared.
func sameNodes(a, b *graph.Checked) error {
	if len(a.Nodes) != len(b.Nodes) || len(a.Values) != len(b.Values) {
		return fmt.Errorf("the graph has %d nodes and %d values, and %d and %d for the bounds", len(b.Nodes), len(b.Values),
			len(a.Nodes), len(a.Values))
	}
	for i := range a.Nodes {
		if a.Nodes[i].Op != b.Nodes[i].Op || a.Nodes[i].Name != b.Nodes[i].Name {
			return fmt.Errorf("node %q (%s) is %q (%s) for the bounds", b.Nodes[i].Name, b.Nodes[i].Op, a.Nodes[i].Name,
				a.Nodes[i].Op)
		}
	}
	return nil
}

// samePlan compares all of two plans but sizes and views.
func samePlan(a, b *ExecutionPlan) error {
	if len(a.Buffers) != len(b.Buffers) || len(a.Instructions) != len(b.Instructions) {
		return fmt.Errorf("the plan has %d buffers and %d instructions, and %d and %d for the bounds", len(b.Buffers),
			len(b.Instructions), len(a.Buffers), len(a.Instructions))
	}
	for i := range a.Buffers {
		x, y := &a.Buffers[i], &b.Buffers[i]
		if x.Name != y.Name || x.Kind != y.Kind || x.DType != y.DType || x.First != y.First || x.Last != y.Last {
			return fmt.Errorf("buffer %d is %q, steps %d to %d, and %q, steps %d to %d for the bounds", i, y.Name, y.First,
				y.Last, x.Name, x.First, x.Last)
		}
	}
	for k := range a.Instructions {
		x, y := &a.Instructions[k], &b.Instructions[k]
		if x.Node != y.Node || x.Op != y.Op || !sameBuffers(x.Inputs, y.Inputs) || !sameBuffers(x.Outputs, y.Outputs) ||
			(x.Scratch == nil) != (y.Scratch == nil) {
			return fmt.Errorf("node %q (%s) has other buffers than for the bounds", y.Node, y.Op)
		}
	}
	return nil
}

func sameBuffers(a, b []Operand) bool {
	return slices.EqualFunc(a, b, func(x, y Operand) bool { return x.Buffer == y.Buffer && x.Name == y.Name })
}
