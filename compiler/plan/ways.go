package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// way is one way to plan an entry of an arena.
type way struct {
	graph *graph.Checked
	alone map[int]bool
	given bool // nodes stay in the order of the graph
}

func (w way) options(o Options) Options {
	o.alone = w.alone
	o.NoReorder = o.NoReorder || w.given
	return o
}

// waysOf lists how an entry may be planned so that its states change in place: as it is
// always planned; with a buffer of its own for what writes a state, which is then not
// alive before; and with these writers as late as the graph allows.
func waysOf(e *Entry) []way {
	ways := []way{{graph: e.Graph}}
	pairs := changes(e)
	if len(pairs) == 0 {
		return ways
	}
	late := writersLate(e.Graph, pairs)
	return append(ways, way{graph: e.Graph, alone: writers(e.Graph, pairs)},
		way{graph: late, alone: writers(late, pairs), given: true})
}

// change is a state's value before and after a call.
type change struct{ before, after int }

func changes(e *Entry) []change {
	var list []change
	for _, in := range e.Graph.Inputs {
		state, is := e.States[e.Graph.Values[in].Name]
		for _, out := range e.Graph.Outputs {
			if other, also := e.States[e.Graph.Values[out].Name]; is && also && other == state && in != out {
				list = append(list, change{in, out})
			}
		}
	}
	return list
}

// writer returns the node that computes what a value shows, or -1.
func writer(c *graph.Checked, v int) int {
	for {
		producer := c.Values[v].Producer
		if producer < 0 || !isView(c, &c.Nodes[producer]) && partsOf(c.Nodes[producer].Op) != ops.Splits {
			return producer
		}
		v = c.Nodes[producer].Inputs[0]
	}
}

func writers(c *graph.Checked, pairs []change) map[int]bool {
	all := map[int]bool{}
	for _, p := range pairs {
		if w := writer(c, p.after); w >= 0 {
			all[w] = true
		}
	}
	return all
}

// writersLate returns c with each node that writes a state behind those that read its
// former content, as far as they do not depend on it. Other nodes stay where they are as
// far as that can be.
func writersLate(c *graph.Checked, pairs []change) *graph.Checked {
	before := make([][]int, len(c.Nodes)) // by node: the nodes that have to run earlier
	for i := range c.Nodes {
		for _, v := range c.Nodes[i].Inputs {
			if v >= 0 && c.Values[v].Producer >= 0 {
				before[i] = append(before[i], c.Values[v].Producer)
			}
		}
	}
	for _, p := range pairs {
		w := writer(c, p.after)
		for _, r := range readers(c, p.before) {
			if w >= 0 && r != w && !reaches(before, r, w) {
				before[w] = append(before[w], r)
			}
		}
	}
	return ordered(c, before)
}

// readers lists the nodes that read a value or a view of it.
func readers(c *graph.Checked, v int) []int {
	shown := map[int]bool{v: true}
	var list []int
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !slices.ContainsFunc(n.Inputs, func(u int) bool { return shown[u] }) {
			continue
		}
		list = append(list, i)
		if shown[n.Inputs[0]] && (isView(c, n) || partsOf(n.Op) == ops.Splits) {
			for _, u := range n.Outputs {
				shown[u] = shown[u] || u >= 0
			}
		}
	}
	return list
}

// reaches reports whether node from has to run later than node to.
func reaches(before [][]int, from, to int) bool {
	seen, open := map[int]bool{}, []int{from}
	for len(open) > 0 {
		i := open[len(open)-1]
		open = open[:len(open)-1]
		if i == to {
			return true
		}
		for _, j := range before[i] {
			if !seen[j] {
				seen[j] = true
				open = append(open, j)
			}
		}
	}
	return false
}

// ordered returns c with its nodes in an order that before allows: at each place the
// first node of c that can be there.
func ordered(c *graph.Checked, before [][]int) *graph.Checked {
	out := *c
	out.Nodes, out.Values = nil, slices.Clone(c.Values)
	after, missing := make([][]int, len(c.Nodes)), make([]int, len(c.Nodes))
	var ready []int // in the order of c
	for i, list := range before {
		missing[i] = len(list)
		if len(list) == 0 {
			ready = append(ready, i)
		}
		for _, j := range list {
			after[j] = append(after[j], i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, v := range c.Nodes[i].Outputs {
			if v >= 0 {
				out.Values[v].Producer = len(out.Nodes)
			}
		}
		out.Nodes = append(out.Nodes, c.Nodes[i])
		for _, j := range after[i] {
			if missing[j]--; missing[j] == 0 {
				at, _ := slices.BinarySearch(ready, j)
				ready = slices.Insert(ready, at, j)
			}
		}
	}
	return &out
}
