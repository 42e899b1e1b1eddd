package plan

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

func errorf(format string, arguments ...any) error {
	return fmt.Errorf("plan: "+format, arguments...)
}

// role says how a step comes to its results.
type role uint8

const (
	computes role = iota // an instruction writes them
	shows                // its result is a view of its first argument
	joins                // Concat
	splits               // Split: its results are views of its first argument
	delivers             // copies a value into the output buffer that it has to itself
)

// step is a node at its place in the order, or the delivery of an output.
type step struct {
	node    int // index into Checked.Nodes; for a delivery: of the producer, or -1
	op      string
	role    role
	in, out []int // values, -1: left out
	output  int   // delivers: index into Checked.Outputs
}

// sharing is what of memory is not shared.
type sharing struct {
	noViews, noInPlace, noConcat bool
	chained                      bool // Concats that contain others are rewritten; see chain
	plain                        bool // results are written row by row, whatever is wished
}

// variant is one way to plan.
type variant struct {
	sharing
	order []int // of the nodes
}

// program is a graph as a list of steps in strict order.
type program struct {
	c        *graph.Checked
	chained  map[int]bool // nodes that chain rewrote
	variant  variant
	steps    []step
	scratch  map[int]int64 // by node: bytes of temporary memory
	alone    map[int]bool  // nodes whose result takes no argument's place
	position []int         // by node: where it stands in the order
	kept     []bool        // by value: lies in the output buffer from when it is written on
	wishes   map[int]wish  // by value: how it should be written
	lastUse  []int         // by value: the last step that needs it or a view of it, len(steps) for ever, -1 none
	lastTake []int         // by value: the last step that reads it, or makes a view of it, by this name
	lastRead []int         // by value: the last step that reads it by this name
}

// newProgram puts the nodes in the variant's order and the deliveries of outputs
// between them.
func newProgram(c *graph.Checked, v variant) *program {
	p := &program{c: c, variant: v, kept: make([]bool, len(c.Values)), position: make([]int, len(c.Nodes)),
		scratch: map[int]int64{}}
	if v.chained {
		p.c, p.chained = chain(c)
	}
	for at, node := range v.order {
		p.position[node] = at
	}
	before := p.deliveries()
	for at, node := range v.order {
		p.steps = append(p.steps, before[at]...)
		p.steps = append(p.steps, p.stepOf(node))
	}
	p.steps = append(p.steps, before[len(v.order)]...)
	p.findUses()
	p.findWishes()
	return p
}

func (p *program) stepOf(node int) step {
	n := &p.c.Nodes[node]
	s := step{node: node, op: n.Op, in: n.Inputs, out: n.Outputs}
	switch {
	case isView(p.c, n):
		s.role = shows
	case partsOf(n.Op) == ops.Joins && !p.variant.noConcat && n.Outputs[0] >= 0:
		s.role = joins
	case partsOf(n.Op) == ops.Splits && !p.variant.noConcat && !p.variant.noViews:
		s.role = splits
	}
	return s
}

// shares reports whether the results of a node are views of its argument.
func (p *program) shares(node int) bool {
	r := p.stepOf(node).role
	return r == splits || r == shows && !p.variant.noViews
}

// deliveries decides which outputs are written where they belong, and returns the
// copies that the others need, by the position in the order before which each
// stands.
//
// A copy stands before the last reader of what it copies: the reader may then take
// over the memory.
func (p *program) deliveries() map[int][]step {
	before, last := map[int][]step{}, p.lastReaders()
	for i, v := range p.c.Outputs {
		producer := p.c.Values[v].Producer
		if producer >= 0 && !p.shares(producer) && !p.kept[v] {
			p.kept[v] = true
			continue
		}
		at := len(p.variant.order)
		if base := p.base(v); !p.kept[base] {
			at = last[base]
		}
		if producer >= 0 {
			at = max(at, p.position[producer]+1)
		} else if at < 0 {
			at = len(p.variant.order)
		}
		before[at] = append(before[at], step{node: producer, op: OpCopy, role: delivers, in: []int{v}, output: i})
	}
	return before
}

// base follows the views to the value whose elements v shows.
func (p *program) base(v int) int {
	for {
		producer := p.c.Values[v].Producer
		if producer < 0 || !p.shares(producer) {
			return v
		}
		v = p.c.Nodes[producer].Inputs[0]
	}
}

// lastReaders returns by value the position of the last node that reads it or a view of
// it and is no view itself, or -1.
func (p *program) lastReaders() []int {
	last := slices.Repeat([]int{-1}, len(p.c.Values))
	for at, node := range p.variant.order {
		if p.shares(node) {
			continue
		}
		for _, v := range p.c.Nodes[node].Inputs {
			if v >= 0 {
				last[p.base(v)] = at
			}
		}
	}
	return last
}

// findUses walks the steps backwards, so that what a view is used for counts for
// its argument too.
func (p *program) findUses() {
	p.lastUse = make([]int, len(p.c.Values))
	for i := range p.lastUse {
		p.lastUse[i] = -1
		if p.kept[i] {
			p.lastUse[i] = len(p.steps)
		}
	}
	p.lastTake, p.lastRead = slices.Clone(p.lastUse), slices.Clone(p.lastUse)
	for k, s := range slices.Backward(p.steps) {
		isView := s.role != delivers && p.shares(s.node)
		need := k
		for _, v := range s.out {
			if isView && v >= 0 {
				need = max(need, p.lastUse[v])
			}
		}
		for _, v := range s.in {
			if v < 0 {
				continue
			}
			p.lastUse[v] = max(p.lastUse[v], need)
			p.lastTake[v] = max(p.lastTake[v], k)
			if !isView {
				p.lastRead[v] = max(p.lastRead[v], k)
			}
		}
	}
}
