package plan

import (
	"reflect"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// meaning says which elements each value of a graph has: elements of its own, or
// those that operators took from others without computing.
type meaning struct {
	c      *graph.Checked
	values map[string]int
	own    []bool  // by value: has elements of its own
	taken  [][]tag // by value: whose elements it has, once they were asked for
}

// newMeaning holds the instructions of p to the nodes of c.
func newMeaning(p *ExecutionPlan, c *graph.Checked) (*meaning, error) {
	m := &meaning{c: c, values: map[string]int{}, own: make([]bool, len(c.Values)), taken: make([][]tag, len(c.Values))}
	for v := range c.Values {
		m.values[c.Values[v].Name] = v
		m.own[v] = c.Values[v].Producer < 0
	}
	done := make([]bool, len(c.Nodes))
	for k := range p.Instructions {
		i := &p.Instructions[k]
		if i.Op == OpCopy {
			continue
		}
		node, err := m.nodeOf(i)
		if err != nil {
			return nil, err
		}
		if err := sameBodies(i, &c.Nodes[node]); err != nil {
			return nil, err
		}
		if done[node] {
			return nil, errorf("node %q (%s) has two instructions", i.Node, i.Op)
		}
		done[node] = true
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; !done[i] && ops.MovementOf(c, n) == nil {
			return nil, errorf("node %q (%s) has no instruction", n.Name, n.Op)
		}
	}
	return m, m.ends(p)
}

// nodeOf returns the node of an instruction, with the same arguments and results.
func (m *meaning) nodeOf(i *Instruction) (int, error) {
	for node := range m.c.Nodes {
		n := &m.c.Nodes[node]
		if n.Name != i.Node || n.Op != i.Op || !m.match(i.Inputs, n.Inputs) || !m.match(i.Outputs, n.Outputs) ||
			!reflect.DeepEqual(i.Attrs, n.Attrs) {
			continue
		}
		for _, v := range n.Outputs {
			if v >= 0 && !moves(i.Op) {
				m.own[v] = true
			}
		}
		return node, nil
	}
	return 0, errorf("instruction of node %q (%s) has no node with its operator, attributes, arguments and results",
		i.Node, i.Op)
}

// sameBodies verifies the plans of an instruction's bodies against the node's graphs.
func sameBodies(i *Instruction, n *graph.TypedNode) error {
	if len(i.Bodies) != len(n.Bodies) {
		return errorf("node %q (%s) has %d bodies, its instruction %d", n.Name, n.Op, len(n.Bodies), len(i.Bodies))
	}
	for k := range n.Bodies {
		if !slices.Equal(i.Bodies[k].Captures, n.Bodies[k].Captures) {
			return errorf("node %q (%s): its %s does not capture what the graph's does", n.Name, n.Op, n.Bodies[k].Name)
		}
		if err := Verify(i.Bodies[k].Plan, n.Bodies[k].Graph); err != nil {
			return errorf("node %q (%s): its %s: %w", n.Name, n.Op, n.Bodies[k].Name, err)
		}
	}
	return nil
}

func (m *meaning) match(operands []Operand, values []int) bool {
	if len(operands) != len(values) {
		return false
	}
	for k, v := range values {
		if (v < 0) != (operands[k].Buffer < 0) || v >= 0 && m.c.Values[v].Name != operands[k].Name {
			return false
		}
	}
	return true
}

// ends looks whether the plan has the graph's inputs and outputs.
func (m *meaning) ends(p *ExecutionPlan) error {
	if !m.match(p.Inputs, m.c.Inputs) || !m.match(p.Outputs, m.c.Outputs) {
		return errorf("the plan's inputs or outputs are not those of the graph")
	}
	seen := map[int]bool{}
	for _, o := range p.Outputs {
		if seen[o.Buffer] {
			return errorf("output %q shares its buffer with another output", o.Name)
		}
		seen[o.Buffer] = true
	}
	return nil
}

func (m *meaning) count(v int) int64 { return graph.Elements(m.c.Values[v].Shape) }

// element returns whose element, and which, element nth of v is.
func (m *meaning) element(v int, nth int64) (source int, element int64) {
	if m.own[v] {
		return v, nth
	}
	if m.taken[v] == nil {
		m.taken[v] = m.take(v)
	}
	t := m.taken[v][nth]
	return t.value(), t.grain()
}

// take walks over v, which has at least one element, and asks its operator for
// each.
func (m *meaning) take(v int) []tag {
	n := &m.c.Nodes[m.c.Values[v].Producer]
	shape := m.c.Values[v].Shape
	index := make([]int64, len(shape))
	list := make([]tag, m.count(v))
	for nth := range list {
		argument, from := m.origin(n, v, index, int64(nth))
		list[nth] = tagOf(m.element(n.Inputs[argument], from))
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return list
}

// origin returns the argument of n, and the element of it, that stands at an index
// of its result v.
func (m *meaning) origin(n *graph.TypedNode, v int, index []int64, nth int64) (argument int, element int64) {
	if Transfers(n.Op) {
		return 0, nth
	}
	shape := m.c.Values[n.Inputs[0]].Shape
	in := make([]int64, len(shape))
	axis, move := n.Attrs.Int("axis"), ops.MovementOf(m.c, n)
	switch {
	case move.Parts == ops.Splits:
		copy(in, index)
		for k, part := range n.Outputs {
			if part == v {
				break
			}
			in[axis] += n.Attrs.Ints("split")[k]
		}
	case move.Parts == ops.Joins:
		copy(in, index)
		for in[axis] >= shape[axis] {
			in[axis] -= shape[axis]
			argument++
			shape = m.c.Values[n.Inputs[argument]].Shape
		}
	case move.Source == nil:
		return 0, nth
	default:
		move.Source(n.Attrs, shape, index, in)
	}
	for k, d := range shape {
		element = element*d + in[k]
	}
	return argument, element
}
