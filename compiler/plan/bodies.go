package plan

import (
	"slices"

	"tlruntime/compiler/graph"
)

// Body is a graph that an instruction runs: a branch of If, what a Loop or a Scan repeats.
// Its plan is one of its own. What the body needs lies in the instruction's temporary
// memory, so it is alive during that instruction alone.
type Body struct {
	Name string // as the operator calls it
	Plan *ExecutionPlan

	// Frame is where the plan's frame begins, in bytes of the temporary memory.
	Frame int64

	// Inputs and Outputs are where those of the plan lie in the temporary memory. -1: an
	// input is an argument of the instruction, or an output is written where the result
	// lies, as that of a branch is.
	Inputs, Outputs []int64

	// Captures are the arguments of the instruction that the plan's last inputs are.
	Captures []int
}

// called are the planned bodies of a node, and the temporary memory that they need.
type called struct {
	bodies []Body
	bytes  int64
}

// opIf runs one of its bodies; whatever else runs bodies may run them in turns.
const opIf = "If"

// planBodies plans the bodies of all nodes. Branches share one piece of memory, that of
// the largest.
func planBodies(c *graph.Checked, o *Options) (map[int]*called, error) {
	all := map[int]*called{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if len(n.Bodies) == 0 {
			continue
		}
		one := &called{}
		for k := range n.Bodies {
			if err := one.add(n, &n.Bodies[k], o); err != nil {
				return nil, errorf("node %q (%s): its %s: %w", n.Name, n.Op, n.Bodies[k].Name, err)
			}
		}
		all[i] = one
	}
	return all, nil
}

// add plans a body and gives it room.
func (c *called) add(n *graph.TypedNode, b *graph.TypedBody, o *Options) error {
	own := *o
	own.PlaceInputs, own.PlaceOutputs, own.bodies, own.alone = false, false, nil, nil
	p, err := Build(b.Graph, own)
	if err != nil {
		return err
	}
	body := Body{Name: b.Name, Plan: p, Captures: slices.Clone(b.Captures)}
	at := int64(0)
	if n.Op != opIf {
		at = c.bytes
	}
	room := func(bytes int64) int64 {
		begin := at
		at += o.rounded(bytes)
		return begin
	}
	body.Frame = room(p.Frame.Bytes)
	given := len(p.Inputs) - len(b.Captures)
	for k, in := range p.Inputs {
		begin := int64(-1)
		if k < given {
			begin = room(p.Buffers[in.Buffer].Bytes)
		}
		body.Inputs = append(body.Inputs, begin)
	}
	for _, out := range p.Outputs {
		begin := int64(-1)
		if n.Op != opIf {
			begin = room(p.Buffers[out.Buffer].Bytes)
		}
		body.Outputs = append(body.Outputs, begin)
	}
	c.bodies, c.bytes = append(c.bodies, body), max(c.bytes, at)
	return nil
}

// checkBodies holds the bodies of a node that was put together by hand to its inputs.
func checkBodies(n *graph.TypedNode) error {
	for k := range n.Bodies {
		b := &n.Bodies[k]
		if b.Graph == nil || len(b.Captures) > len(b.Graph.Inputs) {
			return errorf("node %q (%s): its %s has no graph, or captures more than it has inputs", n.Name, n.Op, b.Name)
		}
		for _, i := range b.Captures {
			if i < 0 || i >= len(n.Inputs) || n.Inputs[i] < 0 {
				return errorf("node %q (%s): its %s captures argument %d, which is not there", n.Name, n.Op, b.Name, i)
			}
		}
	}
	return nil
}

// inspectBodies validates the plans of an instruction's bodies, and that each has its
// room in the temporary memory.
func inspectBodies(p *ExecutionPlan, i *Instruction) error {
	size := int64(0)
	if i.Scratch != nil {
		size = p.Buffers[i.Scratch.Buffer].Bytes
	}
	var taken []span
	for k := range i.Bodies {
		b := &i.Bodies[k]
		if err := Validate(b.Plan); err != nil {
			return errorf("node %q (%s): its %s: %w", i.Node, i.Op, b.Name, err)
		}
		if i.Op == opIf {
			taken = nil
		}
		spans, err := b.spans(i)
		if err != nil {
			return err
		}
		for _, s := range spans {
			if s.begin < 0 || s.end > size || slices.ContainsFunc(taken, s.meets) {
				return errorf("node %q (%s): bytes %d to %d of its %s are beyond its temporary memory of %d, or taken "+
					"twice", i.Node, i.Op, s.begin, s.end, b.Name, size)
			}
			taken = append(taken, s)
		}
	}
	return nil
}

// span is a piece of an instruction's temporary memory.
type span struct{ begin, end int64 }

func (s span) meets(t span) bool { return s.begin < t.end && t.begin < s.end }

// spans lists what a body takes of the temporary memory, and holds it to what it captures.
func (b *Body) spans(i *Instruction) ([]span, error) {
	p := b.Plan
	if len(b.Inputs) != len(p.Inputs) || len(b.Outputs) != len(p.Outputs) || len(b.Captures) > len(p.Inputs) {
		return nil, errorf("node %q (%s): its %s has places for %d inputs and %d outputs; its plan has %d and %d", i.Node,
			i.Op, b.Name, len(b.Inputs), len(b.Outputs), len(p.Inputs), len(p.Outputs))
	}
	list := []span{{b.Frame, b.Frame + p.Frame.Bytes}}
	given := len(p.Inputs) - len(b.Captures)
	for k, in := range p.Inputs {
		if k >= given {
			a := b.Captures[k-given]
			if a < 0 || a >= len(i.Inputs) || i.Inputs[a].Buffer < 0 ||
				!slices.Equal(i.Inputs[a].View.Shape, in.View.Shape) {
				return nil, errorf("node %q (%s): its %s captures argument %d, which is not what it reads", i.Node, i.Op,
					b.Name, a)
			}
			continue
		}
		list = append(list, span{b.Inputs[k], b.Inputs[k] + p.Buffers[in.Buffer].Bytes})
	}
	for k, out := range p.Outputs {
		if i.Op != opIf {
			list = append(list, span{b.Outputs[k], b.Outputs[k] + p.Buffers[out.Buffer].Bytes})
		}
	}
	return slices.DeleteFunc(list, func(s span) bool { return s.begin == s.end && s.begin >= 0 }), nil
}
