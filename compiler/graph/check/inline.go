package check

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// chosen returns the branch that an If takes when its condition is constant, as one that
// asks for shapes is; else nil.
func (c *checker) chosen(i int) *graph.Body {
	n := &c.graph.Nodes[i]
	if n.Op != "If" || len(n.Inputs) != 1 {
		return nil
	}
	at, known := c.Index[n.Inputs[0]]
	if !known {
		return nil
	}
	t := c.Out.Values[at].Constant
	if t == nil || t.DType != graph.Bool || graph.Elements(t.Shape) != 1 {
		return nil
	}
	name := "then_branch"
	if t.IntAt(0) == 0 {
		name = "else_branch"
	}
	for k := range n.Bodies {
		if n.Bodies[k].Name == name {
			return &n.Bodies[k]
		}
	}
	return nil
}

// inline puts the nodes of a branch in the place of its If.
func (c *checker) inline(i int, b *graph.Body) error {
	n := &c.graph.Nodes[i]
	var inputs []int
	typed, err := c.checkBody(i, b, []graph.Value{}, map[int]int{}, &inputs)
	if err != nil {
		return err
	}
	if typed.Graph == nil {
		c.declaredResults(n)
		return nil
	}
	if len(typed.Graph.Outputs) < len(n.Outputs) {
		return c.Fault(i, fmt.Sprintf("it has %d results, and its %s %d", len(n.Outputs), b.Name,
			len(typed.Graph.Outputs)), "give both the same number")
	}
	s := &splice{c: c, from: typed.Graph, at: c.called(i), to: make([]int, len(typed.Graph.Values)),
		names: map[int]string{}}
	for k, v := range s.from.Inputs {
		s.to[v] = inputs[typed.Captures[k]]
	}
	for k, name := range n.Outputs {
		if v := s.from.Outputs[k]; name != "" && c.Asked[name] && s.from.Values[v].Producer >= 0 && s.names[v] == "" {
			s.names[v] = name
		}
	}
	s.body()
	s.results(n)
	return nil
}

// splice copies a checked graph into the one that is being checked.
type splice struct {
	c     *checker
	from  *graph.Checked
	at    string         // the node that it stands for
	to    []int          // by value of from: the value here
	names map[int]string // of values that are results of that node
}

func (s *splice) body() {
	for v := range s.from.Values {
		if t := s.from.Values[v].Constant; t != nil {
			s.to[v] = s.c.AddConstant(s.c.Fresh(s.from.Values[v].Name), *t)
		}
	}
	for i := range s.from.Nodes {
		n := s.from.Nodes[i]
		n.Name = s.at + "/" + n.Name
		for _, v := range n.Outputs {
			if v >= 0 {
				s.make(v)
			}
		}
		n.Inputs, n.Outputs = s.values(n.Inputs), s.values(n.Outputs)
		s.c.Out.Nodes = append(s.c.Out.Nodes, n)
	}
}

func (s *splice) make(v int) {
	name, x := s.names[v], &s.from.Values[v]
	if name == "" {
		name = s.c.Fresh(x.Name)
	}
	s.to[v] = s.c.AddValue(name, x.DType, x.Shape)
}

func (s *splice) values(list []int) []int {
	out := slices.Clone(list)
	for k, v := range out {
		if v >= 0 {
			out[k] = s.to[v]
		}
	}
	return out
}

// results adds those results of the node that are something else as well: a constant, what
// the branch captured, or another result.
func (s *splice) results(n *graph.Node) {
	for k, name := range n.Outputs {
		v := s.from.Outputs[k]
		if name == "" || !s.c.Asked[name] || s.names[v] == name {
			continue
		}
		s.c.Alias(name, s.to[v], fmt.Sprintf("%s/%d", s.at, k))
	}
}
