package remat

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// Outside is a second space, into which values may be moved: memory of the host beside that of a device, or a file.
type Outside struct {
	// Capacity is the most bytes there, 0 for any number.
	Capacity int64
	// Bandwidth is how many bytes a second are moved, 0 as many as a copy in memory moves by Options.Cost.
	Bandwidth float64
}

// with is a cost that knows what a transfer to the space takes.
func (o *Outside) with(cost Cost) Cost {
	if o == nil || o.Bandwidth == 0 {
		return cost
	}
	return func(c *graph.Checked, n *graph.TypedNode) float64 {
		if plan.Transfers(n.Op) {
			return float64(c.Values[n.Outputs[0]].Bytes()) / o.Bandwidth
		}
		return cost(c, n)
	}
}

// moveOut says what it takes to move what is needed of a buffer out before a node, and in again after it. Values that
// show others are shown once more; what they show is moved. nil: it cannot be done.
func (g *changed) moveOut(l *live, buffer, at int) *choice {
	x := g.gap(l, buffer, at)
	if x == nil {
		return nil
	}
	seen := map[int]bool{}
	for _, v := range x.values {
		if !g.base(l, x, v, seen) {
			return nil
		}
	}
	slices.Sort(x.nodes)
	for _, v := range x.moved {
		x.from = max(x.from, g.Values[v].Producer)
	}
	if x.from >= at {
		return nil
	}
	return x
}

// base adds the value that v shows to those that are moved, and the nodes on the way to those that run again.
func (g *changed) base(l *live, x *choice, v int, seen map[int]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	p := g.Values[v].Producer
	n := &g.Nodes[p]
	if n.Op == plan.OpMoveIn {
		return false // it lies outside already: giveUp moves it in again
	}
	if m := ops.MovementOf(g.Checked, n); m != nil && m.Parts == ops.NoParts && g.Values[n.Inputs[0]].Producer >= 0 &&
		l.buffer[n.Inputs[0]] == x.buffer {
		x.nodes = append(x.nodes, p)
		return g.base(l, x, n.Inputs[0], seen)
	}
	x.moved = append(x.moved, v)
	return true
}

// transfers makes the nodes that move values out, and those that move them in again.
func (g *changed) transfers(x *choice, values *[]graph.TypedValue, again map[int]int) (out, in []graph.TypedNode) {
	add := func(v int, what string) int {
		w := (*values)[v]
		w.Name = fmt.Sprintf("%s/%s%d", (*values)[g.root(v)].Name, what, g.names)
		*values, g.of = append(*values, w), append(g.of, v)
		return len(*values) - 1
	}
	for _, v := range x.moved {
		g.names++
		token := add(v, "out")
		again[v] = add(v, "in")
		node := func(op string, from, to int) graph.TypedNode {
			return graph.TypedNode{Name: (*values)[to].Name, Op: op, Inputs: []int{from}, Outputs: []int{to}}
		}
		out = append(out, node(plan.OpMoveOut, v, token))
		in = append(in, node(plan.OpMoveIn, token, again[v]))
	}
	return out, in
}

// transferCost is what the transfers of a choice take.
func (g *changed) transferCost(x *choice, cost Cost) float64 {
	sum := 0.0
	for _, v := range x.moved {
		for _, op := range []string{plan.OpMoveOut, plan.OpMoveIn} {
			sum += cost(g.Checked, &graph.TypedNode{Op: op, Inputs: []int{v}, Outputs: []int{v}})
		}
	}
	return sum
}

// onlyMoves reports whether a choice runs nothing again but transfers and what shows elements of others.
func (g *changed) onlyMoves(x *choice) bool {
	return !slices.ContainsFunc(x.nodes, func(i int) bool {
		m := ops.MovementOf(g.Checked, &g.Nodes[i])
		return !plan.Transfers(g.Nodes[i].Op) && (m == nil || m.Parts != ops.NoParts)
	})
}
