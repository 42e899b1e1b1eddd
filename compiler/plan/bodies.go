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

	// Inputs and Outputs are where those of the plan lie in the temporary memory. -1: the
	// memory is that of an operand of the instruction; see Lends.
	Inputs, Outputs []int64

	// Captures are the arguments of the instruction that the plan's last inputs are.
	Captures []int
}

// planBodies plans the bodies of all nodes, for which half of the budget is.
func planBodies(c *graph.Checked, o *Options) (map[int][]Body, error) {
	all, count := map[int][]Body{}, 0
	for i := range c.Nodes {
		count += len(c.Nodes[i].Bodies)
	}
	budget := portion(o.Budget/2, count)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for k := range n.Bodies {
			b := &n.Bodies[k]
			own := *o
			own.Budget = budget
			own.PlaceInputs, own.PlaceOutputs, own.bodies, own.alone = false, false, nil, nil
			p, err := Build(b.Graph, own)
			if err != nil {
				return nil, errorf("node %q (%s): its %s: %w", n.Name, n.Op, b.Name, err)
			}
			all[i] = append(all[i], Body{Name: b.Name, Plan: p, Captures: slices.Clone(b.Captures)})
		}
	}
	return all, nil
}

// giveRoom gives the bodies of an instruction their places in its temporary memory, and
// returns how much they take. Branches share one piece, that of the largest.
func (i *Instruction) giveRoom(o *Options) (bytes int64) {
	i.Bodies = slices.Clone(i.Bodies)
	for k := range i.Bodies {
		b := &i.Bodies[k]
		at := int64(0)
		if i.Op != OpIf {
			at = bytes
		}
		room := func(bytes int64) int64 {
			begin := at
			at += o.rounded(bytes)
			return begin
		}
		places := func(list []Operand, ports []Port, input bool) []int64 {
			places := make([]int64, len(list))
			for n, x := range list {
				if places[n] = -1; !i.Lends(ports[n], input) {
					places[n] = room(b.Plan.Buffers[x.Buffer].Bytes)
				}
			}
			return places
		}
		b.Frame = room(b.Plan.Frame.Bytes)
		in, out := i.Ports(k)
		b.Inputs, b.Outputs = places(b.Plan.Inputs, in, true), places(b.Plan.Outputs, out, false)
		bytes = max(bytes, at)
	}
	return bytes
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
		if i.Op == OpIf {
			taken = nil
		}
		spans, err := i.spans(k)
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

// spans lists what body k takes of the temporary memory, and holds it to the operands that
// lend it memory.
func (i *Instruction) spans(k int) ([]span, error) {
	b := &i.Bodies[k]
	p := b.Plan
	if len(b.Inputs) != len(p.Inputs) || len(b.Outputs) != len(p.Outputs) || len(b.Captures) > len(p.Inputs) {
		return nil, errorf("node %q (%s): its %s has places for %d inputs and %d outputs; its plan has %d and %d", i.Node,
			i.Op, b.Name, len(b.Inputs), len(b.Outputs), len(p.Inputs), len(p.Outputs))
	}
	for _, a := range b.Captures {
		if a < 0 || a >= len(i.Inputs) || i.Inputs[a].Buffer < 0 {
			return nil, errorf("node %q (%s): its %s captures argument %d, which is not there", i.Node, i.Op, b.Name, a)
		}
	}
	in, out := i.Ports(k)
	list := []span{{b.Frame, b.Frame + p.Frame.Bytes}}
	for n, x := range slices.Concat(p.Inputs, p.Outputs) {
		input, place, port := n < len(in), int64(0), Port{}
		if input {
			place, port = b.Inputs[n], in[n]
		} else {
			place, port = b.Outputs[n-len(in)], out[n-len(in)]
		}
		if place >= 0 {
			list = append(list, span{place, place + p.Buffers[x.Buffer].Bytes})
		}
		if text := i.misfit(port, input, place, x.View.Shape); text != "" {
			return nil, errorf("node %q (%s): its %s has %q, which %s", i.Node, i.Op, b.Name, x.Name, text)
		}
	}
	return slices.DeleteFunc(list, func(s span) bool { return s.begin == s.end && s.begin >= 0 }), nil
}

// misfit tells why an input or output of a body cannot have its place; "" where it can.
func (i *Instruction) misfit(p Port, input bool, place int64, shape []int64) string {
	if place < 0 && (place != -1 || !i.Lends(p, input)) {
		return "has no place"
	}
	o, ok := i.Of(p, input)
	if !ok || o.Buffer < 0 {
		return ""
	}
	whole := o.View
	if p.Role == Scanned || p.Role == Collected {
		if whole, ok = without(o.View, p.Axis); !ok {
			return "is no part of what it is a part of"
		}
	}
	if !slices.Equal(whole.Shape, shape) {
		return "has another shape than what it is, or is a part of"
	}
	return ""
}
