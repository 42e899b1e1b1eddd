package main

import (
	"cmp"
	"fmt"
	"slices"

	"tlruntime/bench/planner/training"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// step is a node that takes time, as others see a graph: it needs the results of steps, and its own takes bytes. What
// only shows elements of another value is no step.
type step struct {
	node    int
	cost    float64
	bytes   int64 // of what lies in the frame: results that the caller gets take none
	needs   []int
	forward bool
}

// problem is a training graph as a list of steps, in the order of the plan that has the smallest frame.
type problem struct {
	c     *graph.Checked
	steps []step
	of    []int // by node: its step, -1 for one that shows
	frame int64 // without a capacity
	base  float64
}

func newProblem(c *graph.Checked) (*problem, error) {
	given, err := plan.Build(c, plan.Options{})
	if err != nil {
		return nil, err
	}
	p := &problem{c: c, of: make([]int, len(c.Nodes)), frame: given.Frame.Bytes}
	forward := training.Forward(c)
	for _, i := range ordered(c, given) {
		n := &c.Nodes[i]
		p.of[i] = -1
		if m := ops.MovementOf(c, n); m != nil && m.Parts == ops.NoParts {
			continue
		}
		p.of[i] = len(p.steps)
		s := step{node: i, cost: remat.Measured.Node(c, n), forward: forward[i]}
		for _, v := range n.Outputs {
			if v >= 0 && !slices.Contains(c.Outputs, v) {
				s.bytes += c.Values[v].Bytes()
			}
		}
		p.base += s.cost
		p.steps = append(p.steps, s)
	}
	for k := range p.steps {
		for _, v := range c.Nodes[p.steps[k].node].Inputs {
			if from := p.producer(v); from >= 0 && !slices.Contains(p.steps[k].needs, from) {
				p.steps[k].needs = append(p.steps[k].needs, from)
			}
		}
		slices.Sort(p.steps[k].needs)
	}
	return p, nil
}

// ordered lists the nodes in the order of a plan; one without an instruction comes right after what it shows.
func ordered(c *graph.Checked, e *plan.ExecutionPlan) []int {
	position := map[string]int{}
	for k := range e.Instructions {
		if e.Instructions[k].Op != plan.OpCopy {
			position[e.Instructions[k].Node] = k
		}
	}
	key, order := make([]int, len(c.Nodes)), make([]int, len(c.Nodes))
	for i := range c.Nodes {
		order[i] = i
		for _, v := range c.Nodes[i].Inputs {
			if v >= 0 && c.Values[v].Producer >= 0 {
				key[i] = max(key[i], key[c.Values[v].Producer])
			}
		}
		if k, ok := position[c.Nodes[i].Name]; ok {
			key[i] = max(key[i], k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	return order
}

// producer is the step whose result a value is, or shows; -1 for what the caller gives.
func (p *problem) producer(v int) int {
	for v >= 0 && p.c.Values[v].Producer >= 0 {
		i := p.c.Values[v].Producer
		if p.of[i] >= 0 {
			return p.of[i]
		}
		v = p.c.Nodes[i].Inputs[0]
	}
	return -1
}

// answer is what a schedule comes to: its time, the most bytes that are alive at once, after views and results
// in place, and the frame at addresses, by package plan and by the best hole in program order.
type answer struct {
	cost   float64
	sum    int64
	frame  int64
	simple int64
}

// evaluate plans a schedule: a list of steps, some of which stand several times. A step takes what its needs have made
// last.
func (p *problem) evaluate(schedule []int) (answer, error) {
	a := answer{}
	for _, s := range schedule {
		a.cost += p.steps[s].cost
	}
	e, err := plan.Build(p.graph(schedule), plan.Options{NoReorder: true})
	if err != nil {
		return a, err
	}
	a.sum, a.frame, a.simple = e.Frame.Order.Peak, e.Frame.Bytes, programOrder(e)
	return a, nil
}

// graph writes a schedule as a graph.
func (p *problem) graph(schedule []int) *graph.Checked {
	w := &writer{problem: p, now: make([]int, len(p.c.Values)), shown: map[int]int{}}
	w.out = *p.c
	w.out.Values, w.out.Nodes, w.out.Inputs, w.out.Outputs = nil, nil, nil, nil
	for v := range p.c.Values {
		w.now[v] = -1
		if p.c.Values[v].Producer < 0 {
			w.now[v] = len(w.out.Values)
			w.out.Values = append(w.out.Values, p.c.Values[v])
		}
	}
	for _, s := range schedule {
		w.node(p.steps[s].node)
	}
	for _, v := range p.c.Inputs {
		w.out.Inputs = append(w.out.Inputs, w.now[v])
	}
	for _, v := range p.c.Outputs {
		w.out.Outputs = append(w.out.Outputs, w.value(v))
	}
	return &w.out
}

type writer struct {
	*problem
	out   graph.Checked
	now   []int       // by value: the value of the new graph that is it, -1: not made yet
	shown map[int]int // by value of a node that shows: of which value of the new graph now[value] shows elements
}

// value is a value of the new graph; what shows is written when it is asked for.
func (w *writer) value(v int) int {
	if v < 0 || w.c.Values[v].Producer < 0 || w.of[w.c.Values[v].Producer] >= 0 {
		if v < 0 {
			return -1
		}
		return w.now[v]
	}
	i := w.c.Values[v].Producer
	from := w.value(w.c.Nodes[i].Inputs[0])
	if of, ok := w.shown[v]; !ok || of != from {
		w.node(i)
		w.shown[v] = from
	}
	return w.now[v]
}

func (w *writer) node(i int) {
	n := w.c.Nodes[i]
	n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	for k, v := range n.Inputs {
		n.Inputs[k] = w.value(v)
	}
	n.Name = fmt.Sprintf("%s (%d)", n.Name, len(w.out.Nodes))
	for k, v := range n.Outputs {
		if v < 0 {
			continue
		}
		x := w.c.Values[v]
		x.Producer = len(w.out.Nodes)
		if w.now[v] >= 0 {
			x.Name = fmt.Sprintf("%s (%d)", x.Name, len(w.out.Values))
		}
		w.now[v] = len(w.out.Values)
		n.Outputs[k] = w.now[v]
		w.out.Values = append(w.out.Values, x)
	}
	w.out.Nodes = append(w.out.Nodes, n)
}

// programOrder is the frame when each buffer, as it comes to life, goes into the smallest hole that holds it: what an
// allocator does that knows nothing of what comes.
func programOrder(e *plan.ExecutionPlan) int64 {
	type block struct{ at, bytes int64 }
	var live []int
	at := make([]int64, len(e.Buffers))
	frame := int64(0)
	order := make([]int, 0, len(e.Buffers))
	for b := range e.Buffers {
		if e.Buffers[b].Offset >= 0 && e.Buffers[b].Bytes > 0 {
			order = append(order, b)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(e.Buffers[x].First, e.Buffers[y].First) })
	for _, b := range order {
		x := &e.Buffers[b]
		live = slices.DeleteFunc(live, func(o int) bool { return e.Buffers[o].Last < x.First })
		blocks := make([]block, len(live))
		for k, o := range live {
			blocks[k] = block{at[o], e.Buffers[o].Bytes}
		}
		slices.SortFunc(blocks, func(x, y block) int { return cmp.Compare(x.at, y.at) })
		end, best, place := int64(0), int64(-1), int64(-1)
		for _, o := range blocks {
			if hole := o.at - end; hole >= x.Bytes && (best < 0 || hole < best) {
				best, place = hole, end
			}
			end = max(end, (o.at+o.bytes+e.Frame.Alignment-1)/e.Frame.Alignment*e.Frame.Alignment)
		}
		if place < 0 {
			place = end
		}
		at[b] = place
		live = append(live, b)
		frame = max(frame, place+x.Bytes)
	}
	return frame
}
