package remat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// changed is a graph of which some nodes stand several times.
type changed struct {
	*graph.Checked
	given   *graph.Checked
	choice  []int // by node: the choice that it was made for, -1 for a node of the given graph
	first   []int // by node: which of the given graph it is, -1 for a transfer
	of      []int // by value: the value that it is computed again of, -1 for a value of the given graph
	choices int
	names   int
}

func newChanged(c *graph.Checked) *changed {
	g := &changed{Checked: c, given: c, choice: slices.Repeat([]int{-1}, len(c.Nodes)),
		first: make([]int, len(c.Nodes)), of: slices.Repeat([]int{-1}, len(c.Values))}
	for i := range g.first {
		g.first[i] = i
	}
	return g
}

// clone is a copy that may be changed; nodes and values are shared, which no change writes to.
func (g *changed) clone() *changed {
	c := *g
	c.choice, c.first, c.of = slices.Clone(g.choice), slices.Clone(g.first), slices.Clone(g.of)
	return &c
}

// choice gives a buffer up between two nodes.
type choice struct {
	buffer   int
	from, to int   // the nodes between which the buffer is free
	values   []int // what is needed from node to on
	nodes    []int // what is computed again before node to, in order
	moved    []int // values that are moved out after node from, and in again before node to
	kept     []kept
	cost     float64
}

// kept is a value that has to stay longer for a choice.
type kept struct {
	from  int // the last node that needed it
	bytes int64
}

// giveUp says what it takes to have a buffer free at a node: nodes are computed again whose arguments are there, up to
// a depth; what lies deeper is kept. nil: it cannot be done.
func (g *changed) giveUp(l *live, buffer, at, depth int) *choice {
	x := g.gap(l, buffer, at)
	if x == nil {
		return nil
	}
	seen := map[int]bool{}
	for _, v := range x.values {
		if !g.resolve(l, x, v, depth, seen) {
			return nil
		}
	}
	slices.Sort(x.nodes)
	return x
}

// gap finds how long a buffer is not touched around a node, and what is needed of it afterwards. nil: nothing is.
func (g *changed) gap(l *live, buffer, at int) *choice {
	x := &choice{buffer: buffer}
	x.from, x.to = around(l.touches[buffer], at)
	for _, v := range l.members[buffer] {
		if p := g.Values[v].Producer; p < 0 || p >= at {
			continue
		}
		if next, _ := slices.BinarySearch(l.users[v], at+1); next < len(l.users[v]) {
			x.values = append(x.values, v)
			x.to = min(x.to, l.users[v][next])
		}
	}
	if len(x.values) == 0 || x.to <= at {
		return nil
	}
	return x
}

// resolve adds what makes a value again; false: nothing does.
func (g *changed) resolve(l *live, x *choice, v, depth int, seen map[int]bool) bool {
	p := g.Values[v].Producer
	if seen[p] {
		return true
	}
	if !repeatable(&g.Nodes[p]) {
		return false
	}
	seen[p] = true
	x.nodes = append(x.nodes, p)
	for _, in := range g.Nodes[p].Inputs {
		if in < 0 || g.Values[in].Producer < 0 {
			continue
		}
		lost := l.buffer[in] == x.buffer
		switch {
		case !lost && l.last[in] >= x.to:
		case lost || depth > 1 && repeatable(&g.Nodes[g.Values[in].Producer]):
			if !g.resolve(l, x, in, depth-1, seen) {
				return false
			}
		case !seen[-2-in]:
			seen[-2-in] = true
			x.kept = append(x.kept, kept{l.last[in], g.Values[in].Bytes()})
		}
	}
	return true
}

// repeatable says that a node gives the same when it runs again, which is not known of operators without a row in the
// table, such as those that draw random numbers. What was moved out once can be moved in any number of times.
func repeatable(n *graph.TypedNode) bool {
	return ops.Known(n.Op) && len(n.Bodies) == 0 || n.Op == plan.OpMoveIn
}

// apply puts the nodes of a choice once more before the first that needs its values, and has all later ones take these.
func (g *changed) apply(x *choice) {
	number := g.choices
	g.choices++
	again := map[int]int{} // by value: the same once more
	values := slices.Clone(g.Values)
	out, nodes := g.transfers(x, &values, again)
	first := slices.Repeat([]int{-1}, len(nodes))
	for _, i := range x.nodes {
		n := g.Nodes[i]
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		g.names++
		n.Name = fmt.Sprintf("%s/again%d", g.nameOf(i), g.names)
		for k, v := range n.Inputs {
			if w, ok := again[v]; ok {
				n.Inputs[k] = w
			}
		}
		for k, v := range n.Outputs {
			if v < 0 {
				continue
			}
			w := values[v]
			w.Name = fmt.Sprintf("%s/again%d", values[g.root(v)].Name, g.names)
			n.Outputs[k], again[v] = len(values), len(values)
			values, g.of = append(values, w), append(g.of, v)
		}
		nodes, first = append(nodes, n), append(first, g.first[i])
	}
	c := *g.Checked
	c.Values = values
	c.Nodes = slices.Concat(g.Nodes[:x.from+1], out, g.Nodes[x.from+1:x.to], nodes, g.Nodes[x.to:])
	for i := x.to + len(out) + len(nodes); i < len(c.Nodes); i++ {
		c.Nodes[i].Inputs = replaced(c.Nodes[i].Inputs, again)
	}
	g.Checked = &c
	g.choice = slices.Insert(g.choice, x.to, slices.Repeat([]int{number}, len(nodes))...)
	g.choice = slices.Insert(g.choice, x.from+1, slices.Repeat([]int{number}, len(out))...)
	g.first = slices.Insert(g.first, x.to, first...)
	g.first = slices.Insert(g.first, x.from+1, slices.Repeat([]int{-1}, len(out))...)
	g.produce()
}

// replaced maps values; the list is only copied when it changes.
func replaced(list []int, by map[int]int) []int {
	out := list
	for k, v := range list {
		if w, ok := by[v]; ok {
			if &out[0] == &list[0] {
				out = slices.Clone(list)
			}
			out[k] = w
		}
	}
	return out
}

// produce tells each value its producer.
func (g *changed) produce() {
	for i := range g.Nodes {
		for _, v := range g.Nodes[i].Outputs {
			if v >= 0 {
				g.Values[v].Producer = i
			}
		}
	}
}

// root is the value of the given graph that v is.
func (g *changed) root(v int) int {
	for g.of[v] >= 0 {
		v = g.of[v]
	}
	return v
}

// nameOf is the name of the node of the given graph that node i is.
func (g *changed) nameOf(i int) string {
	if g.first[i] < 0 {
		return g.Values[g.root(g.Nodes[i].Outputs[0])].Name
	}
	return g.given.Nodes[g.first[i]].Name
}

// without is the graph as if a choice had not been made: its nodes go, and what they made is taken from what they were
// made of. Values keep their numbers; those that nobody makes any more are left out at the end. nil: another choice
// moves in what this one has moved out.
func (g *changed) without(number int) *changed {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op == plan.OpMoveIn && g.choice[i] != number && g.choice[g.Values[n.Inputs[0]].Producer] == number {
			return nil
		}
	}
	c := *g.Checked
	c.Values, c.Nodes = slices.Clone(g.Values), nil
	out := &changed{Checked: &c, given: g.given, of: g.of, choices: g.choices, names: g.names}
	back := map[int]int{}
	for i := range g.Nodes {
		if g.choice[i] == number {
			for _, v := range g.Nodes[i].Outputs {
				if v >= 0 {
					back[v] = g.of[v]
				}
			}
			continue
		}
		n := g.Nodes[i]
		n.Inputs = replaced(n.Inputs, back)
		c.Nodes = append(c.Nodes, n)
		out.choice, out.first = append(out.choice, g.choice[i]), append(out.first, g.first[i])
	}
	out.compact()
	return out
}

// compact leaves out the values and the nodes that were made again and that nobody needs.
func (g *changed) compact() {
	needed := make([]bool, len(g.Values))
	for _, v := range g.Outputs {
		needed[v] = true
	}
	keep := make([]bool, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		wanted := func(v int) bool { return v >= 0 && needed[v] }
		keep[i] = g.choice[i] < 0 || slices.ContainsFunc(g.Nodes[i].Outputs, wanted)
		for _, v := range g.Nodes[i].Inputs {
			if keep[i] && v >= 0 {
				needed[v] = true
			}
		}
	}
	to := make([]int, len(g.Values))
	values, of := g.Values[:0:0], g.of[:0:0]
	made := make([]bool, len(g.Values))
	for i := range g.Nodes {
		for _, v := range g.Nodes[i].Outputs {
			if keep[i] && v >= 0 {
				made[v] = true
			}
		}
	}
	for v := range g.Values {
		to[v] = -1
		if made[v] || g.of[v] < 0 {
			to[v] = len(values)
			values, of = append(values, g.Values[v]), append(of, g.of[v])
		}
	}
	for k, v := range of {
		for v >= 0 && to[v] < 0 {
			v = g.of[v]
		}
		if v >= 0 {
			v = to[v]
		}
		of[k] = v
	}
	var nodes []graph.TypedNode
	var choice, first []int
	for i, n := range g.Nodes {
		if !keep[i] {
			continue
		}
		n.Inputs, n.Outputs = renumbered(n.Inputs, to), renumbered(n.Outputs, to)
		nodes, choice, first = append(nodes, n), append(choice, g.choice[i]), append(first, g.first[i])
	}
	g.Values, g.Nodes, g.choice, g.first, g.of = values, nodes, choice, first, of
	g.Inputs, g.Outputs = renumbered(g.Inputs, to), renumbered(g.Outputs, to)
	g.produce()
}

func renumbered(list, to []int) []int {
	out := make([]int, len(list))
	for k, v := range list {
		out[k] = -1
		if v >= 0 {
			out[k] = to[v]
		}
	}
	return out
}

// inOrder is the graph with its nodes in the order of a plan, and names that are unique. Of the nodes without an
// instruction, one that shows elements comes right after what it shows, and a Concat right before the first node that
// takes its result: if it came earlier, giving up its result would cost another Concat.
func inOrder(c *graph.Checked, e *plan.ExecutionPlan) *graph.Checked {
	out := *c
	out.Values, out.Nodes = slices.Clone(c.Values), slices.Clone(c.Nodes)
	position := map[string]int{}
	for k := range e.Instructions {
		if _, ok := position[e.Instructions[k].Node]; !ok {
			position[e.Instructions[k].Node] = k
		}
	}
	named := map[string]int{}
	for i := range out.Nodes {
		named[out.Nodes[i].Name]++
	}
	key := placesOf(c, func(n *graph.TypedNode) (int, bool) {
		k, ok := position[n.Name]
		return k, ok && named[n.Name] == 1
	})
	order := make([]int, len(out.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
	for k, i := range order {
		out.Nodes[k] = c.Nodes[i]
		if named[c.Nodes[i].Name] > 1 {
			out.Nodes[k].Name = fmt.Sprintf("%s (%d)", c.Nodes[i].Name, i)
		}
	}
	newChanged(&out).produce()
	return &out
}

// placesOf returns the place of each node in an order that instruction knows of the nodes that have an instruction.
func placesOf(c *graph.Checked, instruction func(*graph.TypedNode) (place int, has bool)) []int {
	key := make([]int, len(c.Nodes))
	taken := slices.Repeat([]int{math.MaxInt}, len(c.Nodes)) // by node: the first instruction that takes a result
	for i := len(c.Nodes) - 1; i >= 0; i-- {
		n := &c.Nodes[i]
		if k, ok := instruction(n); ok {
			key[i], taken[i] = k, k
		} else if m := ops.MovementOf(c, n); m != nil && m.Parts == ops.Joins && taken[i] < math.MaxInt {
			key[i] = taken[i]
		}
		for _, v := range n.Inputs {
			if v >= 0 && c.Values[v].Producer >= 0 {
				p := c.Values[v].Producer
				taken[p] = min(taken[p], taken[i])
			}
		}
	}
	for i := range c.Nodes {
		for _, v := range c.Nodes[i].Inputs {
			if v >= 0 && c.Values[v].Producer >= 0 {
				key[i] = max(key[i], key[c.Values[v].Producer])
			}
		}
	}
	return key
}
