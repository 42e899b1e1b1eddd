package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/order"
)

// ordering reduces a layout to what package order knows: nodes, and the buffers
// that they touch.
type ordering struct {
	*layout
	options *Options
	problem order.Problem
	group   []int       // by value: its buffer in the problem, -1: none that counts
	whole   map[int]int // buffers of storages that are not taken apart, by storage
}

// ordering returns the problem of finding an order in which the layout has a lower
// peak. Storages are taken apart into the values that were written one over the
// other, so that another order may do without; those that gather parts or are
// overwritten in part stay whole.
func (l *layout) ordering(o *Options) order.Problem {
	g := &ordering{layout: l, options: o, group: make([]int, len(l.c.Values)), whole: map[int]int{}}
	g.problem.Nodes = make([]order.Node, len(l.c.Nodes))
	for v := range g.group {
		g.group[v] = g.groupOf(v)
	}
	for i := range l.c.Nodes {
		g.node(i)
	}
	for k := range l.steps {
		g.touches(k)
	}
	return g.problem
}

// groupOf returns the buffer of v. Values come after what they show.
func (g *ordering) groupOf(v int) int {
	if g.at[v].storage < 0 {
		return -1
	}
	i := g.rootIndex(g.at[v].storage)
	st := &g.storages[i]
	if !g.options.placed(st.kind) {
		return -1
	}
	if len(st.nested) > 0 || g.patched(i) {
		return g.wholeOf(i)
	}
	if k := g.born[v]; k >= 0 && g.steps[k].role != joins && !g.written(v) {
		return g.group[g.steps[k].in[0]]
	}
	return g.add(order.Buffer{Bytes: g.options.rounded(g.c.Values[v].Bytes()), Before: st.kind == Input,
		After: g.kept[v] || g.final[v]})
}

// patched reports whether some result took the place of a part of the storage.
func (g *ordering) patched(i int) bool {
	return slices.ContainsFunc(g.storages[i].members, func(v int) bool { return g.over[v] >= 0 && !g.fills(v) })
}

func (g *ordering) wholeOf(i int) int {
	if _, ok := g.whole[i]; !ok {
		st := &g.storages[i]
		g.whole[i] = g.add(order.Buffer{Bytes: g.options.rounded(st.bytes), After: st.kind == Output})
	}
	return g.whole[i]
}

func (g *ordering) add(b order.Buffer) int {
	g.problem.Buffers = append(g.problem.Buffers, b)
	return len(g.problem.Buffers) - 1
}

// node notes what has to run before a node.
func (g *ordering) node(i int) {
	n := &g.problem.Nodes[i]
	n.Scratch = g.options.rounded(g.scratch[i])
	for _, v := range g.c.Nodes[i].Inputs {
		if v >= 0 && g.c.Values[v].Producer >= 0 {
			n.After = append(n.After, g.c.Values[v].Producer)
		}
	}
}

// touches notes the buffers of step k. Deliveries are not ordered; they follow what
// they copy.
func (g *ordering) touches(k int) {
	s := &g.steps[k]
	if s.role == delivers {
		return
	}
	n := &g.problem.Nodes[s.node]
	touch := func(v int) {
		if v >= 0 && g.group[v] >= 0 && !slices.Contains(n.Touches, g.group[v]) {
			n.Touches = append(n.Touches, g.group[v])
		}
	}
	for _, t := range g.copies[k] {
		touch(t.in)
		touch(t.out)
	}
	if g.joined[k] && len(g.copies[k]) > 0 {
		touch(s.out[0])
	}
	if s.role == computes || s.role == joins && !g.joined[k] {
		for _, v := range slices.Concat(s.in, s.out) {
			touch(v)
		}
		g.exchanges(s, n)
	}
}

// exchanges notes which arguments the first result may take the place of.
func (g *ordering) exchanges(s *step, n *order.Node) {
	if g.variant.noInPlace || s.role != computes || len(s.out) == 0 || s.out[0] < 0 || !g.alone(s.out[0]) {
		return
	}
	y := s.out[0]
	for i, v := range s.in {
		if MayOverwrite(s.op, i) && v >= 0 && v != y && g.alone(v) && alike(&g.c.Values[v], &g.c.Values[y]) &&
			g.kindOf(v) != Input {
			n.Exchanges = append(n.Exchanges, order.Exchange{From: g.group[v], To: g.group[y]})
		}
	}
}

// alone reports whether v has a buffer that it fills and that is not kept whole.
func (g *ordering) alone(v int) bool {
	if g.group[v] < 0 || !g.fills(v) {
		return false
	}
	_, whole := g.whole[g.rootIndex(g.at[v].storage)]
	return !whole
}

func (l *layout) kindOf(v int) Kind { return l.root(l.at[v].storage).kind }

func alike(a, b *graph.TypedValue) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape)
}
