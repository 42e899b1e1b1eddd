package remat

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// live is what a plan keeps when. Time is counted in nodes of the graph, whose order is that of the plan.
type live struct {
	e       *plan.ExecutionPlan
	node    []int   // by instruction: its node
	bytes   []int64 // by node: bytes of the frame that are alive while it runs
	touches [][]int // by buffer: the nodes that touch it, ascending
	members [][]int // by buffer of the frame: the values in it
	last    []int   // by value: the last node that needs it or a view of it, -1 for none
	buffer  []int   // by value: its buffer in the frame, -1 for none
	users   [][]int // by value: the nodes that take it, ascending
}

func newLive(c *graph.Checked, e *plan.ExecutionPlan) *live {
	l := &live{e: e, node: make([]int, len(e.Instructions)), bytes: make([]int64, len(c.Nodes)),
		touches: make([][]int, len(e.Buffers)), members: make([][]int, len(e.Buffers)),
		buffer: make([]int, len(c.Values)), users: make([][]int, len(c.Values))}
	number := make(map[string]int, len(c.Nodes))
	for i := range c.Nodes {
		number[c.Nodes[i].Name] = i
	}
	at := 0
	works := make([]bool, len(c.Nodes))
	for k := range e.Instructions {
		if i, ok := number[e.Instructions[k].Node]; ok {
			at, works[i] = max(at, i), true
		}
		l.node[k] = at
		l.touch(&e.Instructions[k], at)
	}
	for b := range e.Buffers {
		l.add(b)
	}
	for t := 1; t < len(l.bytes); t++ {
		l.bytes[t] += l.bytes[t-1]
	}
	l.find(c)
	l.uses(c, works)
	return l
}

// find tells which values lie in which buffers.
func (l *live) find(c *graph.Checked) {
	lies := make(map[string]int, len(c.Values))
	for b := range l.e.Buffers {
		if l.e.Buffers[b].Offset >= 0 {
			for _, v := range l.e.Buffers[b].Values {
				lies[v] = b
			}
		}
	}
	for v := range c.Values {
		l.buffer[v] = -1
		if b, ok := lies[c.Values[v].Name]; ok {
			l.buffer[v] = b
			l.members[b] = append(l.members[b], v)
		}
	}
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

// add counts the bytes of a buffer that has a place in the frame, as differences.
func (l *live) add(b int) {
	x := &l.e.Buffers[b]
	if x.Offset < 0 || len(l.node) == 0 {
		return
	}
	first, last := 0, len(l.bytes)-1
	if x.First >= 0 {
		first = l.node[x.First]
	}
	if x.Last < len(l.node) {
		last = l.node[x.Last]
	}
	l.bytes[first] += x.Bytes
	if last+1 < len(l.bytes) {
		l.bytes[last+1] -= x.Bytes
	}
}

// uses finds the last node that needs each value; what a node without an instruction shows is needed as long as what
// it makes.
func (l *live) uses(c *graph.Checked, works []bool) {
	l.last = make([]int, len(c.Values))
	for v := range l.last {
		l.last[v] = -1
	}
	for _, v := range c.Outputs {
		l.last[v] = len(c.Nodes)
	}
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n, until := &c.Nodes[i], i
		if !works[i] {
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
	for i := range c.Nodes {
		for _, v := range c.Nodes[i].Inputs {
			if n := len(l.users[max(v, 0)]); v >= 0 && (n == 0 || l.users[v][n-1] != i) {
				l.users[v] = append(l.users[v], i)
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

// around are the last touch up to a node and the first from it on, -1 for none.
func around(touches []int, at int) (before, after int) {
	before, after = -1, -1
	k, found := slices.BinarySearch(touches, at)
	switch {
	case found:
		return at, at
	case k > 0:
		before = touches[k-1]
	}
	if k < len(touches) {
		after = touches[k]
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
		if less := l.relief(x, t); less != 0 {
			sum += max(0, l.bytes[t]-goal) - max(0, l.bytes[t]-less-goal)
		}
	}
	return sum
}

// overshoot is by how many bytes more than a goal is alive while the nodes of a choice run again, summed over them.
func (g *changed) overshoot(l *live, x *choice, goal int64) int64 {
	if x.to == 0 || len(x.nodes) == 0 {
		return 0
	}
	wanted := map[int]int{} // by value: how many of the nodes take it
	for _, i := range x.nodes {
		for _, v := range g.Nodes[i].Inputs {
			wanted[v]++
		}
	}
	for _, v := range x.values {
		wanted[v]++ // it stays
	}
	made := map[int]bool{}
	sum, alive := int64(0), l.bytes[x.to-1]-l.relief(x, x.to-1)
	for _, i := range x.nodes {
		if m := ops.MovementOf(g.Checked, &g.Nodes[i]); m != nil && m.Parts == ops.NoParts {
			continue
		}
		for _, v := range g.Nodes[i].Outputs {
			if v >= 0 && wanted[v] > 0 {
				made[v] = true
				alive += g.Values[v].Bytes()
			}
		}
		gone := int64(0)
		for _, v := range g.Nodes[i].Inputs {
			if wanted[v]--; made[v] && wanted[v] == 0 {
				gone += g.Values[v].Bytes()
			}
		}
		sum += max(0, alive-gone-goal)
		alive -= gone
	}
	return sum
}

// above is by how many bytes more than a goal is alive, summed over the nodes.
func (l *live) above(goal int64) int64 {
	sum := int64(0)
	for _, b := range l.bytes {
		sum += max(0, b-goal)
	}
	return sum
}

// least is how many bytes are alive at some node at least once a choice is taken back: each value that it made has to
// be kept since its last use, and what it was made of may go earlier.
func (l *live) least(g *changed, number int) int64 {
	most := int64(0)
	gone := map[int]bool{} // buffers that may go earlier
	for i, made := range g.choice {
		if made != number {
			continue
		}
		for _, v := range g.Nodes[i].Inputs {
			if v >= 0 && l.buffer[v] >= 0 {
				gone[l.buffer[v]] = true
			}
		}
	}
	freed := int64(0)
	for b := range gone {
		freed += l.e.Buffers[b].Bytes
	}
	for i, made := range g.choice {
		if made != number || len(l.users) == 0 {
			continue
		}
		for _, v := range g.Nodes[i].Outputs {
			if v < 0 || l.buffer[v] < 0 || len(l.users[v]) == 0 {
				continue
			}
			for t := l.last[g.of[v]] + 1; t < i; t++ {
				most = max(most, l.bytes[t]+g.Values[v].Bytes()-freed)
			}
		}
	}
	return most
}
