package remat

import (
	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// live is what a plan keeps when. Time is counted in nodes of the graph, whose order is that of the plan.
type live struct {
	e       *plan.ExecutionPlan
	node    []int         // by instruction: its node
	bytes   []int64       // by node: bytes of the frame that are alive while it runs
	touches map[int][]int // by buffer: the nodes that touch it, ascending
	last    []int         // by value: the last node that needs it or a view of it, -1 for none
	buffer  map[string]int
}

func newLive(c *graph.Checked, e *plan.ExecutionPlan) *live {
	l := &live{e: e, node: make([]int, len(e.Instructions)), bytes: make([]int64, len(c.Nodes)),
		touches: map[int][]int{}, buffer: map[string]int{}}
	number := map[string]int{}
	for i := range c.Nodes {
		number[c.Nodes[i].Name] = i
	}
	at := 0
	for k := range e.Instructions {
		if i, ok := number[e.Instructions[k].Node]; ok {
			at = max(at, i)
		}
		l.node[k] = at
		l.touch(&e.Instructions[k], at)
	}
	for b := range e.Buffers {
		l.add(b)
	}
	l.uses(c)
	return l
}

func (l *live) touch(in *plan.Instruction, at int) {
	for _, list := range [][]plan.Operand{in.Inputs, in.Outputs} {
		for _, x := range list {
			if x.Buffer < 0 {
				continue
			}
			if t := l.touches[x.Buffer]; len(t) == 0 || t[len(t)-1] != at {
				l.touches[x.Buffer] = append(t, at)
			}
		}
	}
}

// add counts the bytes of a buffer that has a place in the frame.
func (l *live) add(b int) {
	x := &l.e.Buffers[b]
	if x.Offset < 0 || len(l.node) == 0 {
		return
	}
	for _, v := range x.Values {
		l.buffer[v] = b
	}
	first, last := 0, len(l.bytes)-1
	if x.First >= 0 {
		first = l.node[x.First]
	}
	if x.Last < len(l.node) {
		last = l.node[x.Last]
	}
	for t := first; t <= last; t++ {
		l.bytes[t] += x.Bytes
	}
}

// uses finds the last node that needs each value; what a node without an instruction shows is needed as long as what
// it makes.
func (l *live) uses(c *graph.Checked) {
	l.last = make([]int, len(c.Values))
	for v := range l.last {
		l.last[v] = -1
	}
	for _, v := range c.Outputs {
		l.last[v] = len(c.Nodes)
	}
	works := map[string]bool{}
	for k := range l.e.Instructions {
		works[l.e.Instructions[k].Node] = true
	}
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n, until := &c.Nodes[i], i
		if !works[n.Name] {
			for _, v := range n.Outputs {
				if v >= 0 {
					until = max(until, l.last[v])
				}
			}
		}
		for _, v := range n.Inputs {
			if v >= 0 {
				l.last[v] = max(l.last[v], until)
			}
		}
	}
}

// idle lists the buffers that are alive while a node runs, which neither it nor the caller touches.
func (l *live) idle(at int) []int {
	var out []int
	for b := range l.e.Buffers {
		x, t := &l.e.Buffers[b], l.touches[b]
		if x.Offset < 0 || x.Kind != plan.Activation || x.Bytes == 0 || len(t) == 0 || t[0] >= at || t[len(t)-1] <= at {
			continue
		}
		if s, u := around(t, at); s < at && u > at {
			out = append(out, b)
		}
	}
	return out
}

// around are the last touch up to a node and the first from it on.
func around(touches []int, at int) (before, after int) {
	before, after = -1, -1
	for _, t := range touches {
		if t <= at {
			before = t
		}
		if t >= at && after < 0 {
			after = t
		}
	}
	return before, after
}

// relief is by how many bytes less is alive at a node once a choice was made.
func (l *live) relief(x *choice, at int) int64 {
	sum := int64(0)
	if x.from < at && at < x.to {
		sum = l.e.Buffers[x.buffer].Bytes
	}
	for _, k := range x.kept {
		if k.from < at && at < x.to {
			sum -= k.bytes
		}
	}
	return sum
}

// benefit is by how many bytes less is alive above a goal, summed over the nodes.
func (l *live) benefit(x *choice, goal int64) int64 {
	first := x.from
	for _, k := range x.kept {
		first = min(first, k.from)
	}
	sum := int64(0)
	for t := first + 1; t < x.to; t++ {
		sum += max(0, l.bytes[t]-goal) - max(0, l.bytes[t]-l.relief(x, t)-goal)
	}
	return sum
}
