package remat

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// boundStates is how many states lowest looks at for all nodes together, and for one.
const (
	boundStates = 20000
	nodeStates  = 2000
)

// lowest returns a number of bytes that no frame undercuts, whatever is computed again. Each node needs its arguments
// and results while it runs. Without a second space there is more: of the arguments one was computed last, and while
// that was done, all others were there, and what it was made of. So it goes back step by step, to where nothing has to
// be there; of all ways back the one counts that needs least (a shortest path for the highest number on it, Dijkstra,
// 1959). Arguments and results that might share memory count once.
func lowest(c *graph.Checked, o *Options) int64 {
	b := newBounder(c, o)
	var order []int
	first := make([]int64, len(c.Nodes))
	highest := int64(0)
	for i := range c.Nodes {
		order = append(order, i)
		first[i] = b.during(nil, i)
		highest = max(highest, first[i])
	}
	if o.Outside != nil {
		return highest
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(first[y], first[x]) })
	for _, i := range order {
		if b.left <= 0 || o.Plan.Late() {
			break
		}
		highest = max(highest, b.wayBack(i, highest))
	}
	return highest
}

// held is what of a value has to be in the frame.
type held struct {
	value int // that was computed; what is needed may be a view of it
	bytes int64
}

type bounder struct {
	c      *graph.Checked
	o      *Options
	align  int64
	source []int   // by value: the value whose elements it shows, itself if none; -1: of the caller
	bytes  []int64 // by value: what has to be there for it at least
	group  []int   // by value: those of one group may lie in one another
	left   int
}

func newBounder(c *graph.Checked, o *Options) *bounder {
	n := len(c.Values)
	b := &bounder{c: c, o: o, align: 64, source: make([]int, n), bytes: make([]int64, n),
		group: make([]int, n), left: boundStates}
	if o.Plan.Alignment > 0 {
		b.align = o.Plan.Alignment
	}
	for v := range c.Values {
		b.source[v], b.group[v] = v, v
		b.bytes[v] = c.Values[v].Bytes()
		if c.Values[v].Producer < 0 {
			b.source[v] = -1
		}
	}
	for i := range c.Nodes {
		b.join(&c.Nodes[i])
	}
	b.round()
	b.give()
	return b
}

// round aligns the bytes of values, but for those that may lie inside of another one: a smaller view, what a Concat
// joins, and a result that takes the place of one of these. Several of them may lie in one buffer, which is aligned as
// a whole.
func (b *bounder) round() {
	inside, joined := make([]bool, len(b.bytes)), make([]bool, len(b.bytes)) // joined: by group
	for i := range b.c.Nodes {
		if m := ops.MovementOf(b.c, &b.c.Nodes[i]); m != nil && m.Parts == ops.Joins {
			joined[b.find(b.c.Nodes[i].Outputs[0])] = true
		}
	}
	for v := range inside {
		inside[v] = joined[b.find(v)]
	}
	for i := range b.c.Nodes {
		n := &b.c.Nodes[i]
		m := ops.MovementOf(b.c, n)
		for k, v := range n.Inputs {
			for _, out := range n.Outputs {
				switch {
				case v < 0 || out < 0:
				case m != nil:
					inside[out] = inside[out] || inside[v] || b.bytes[out] < b.bytes[v]
				case inside[v] && out == n.Outputs[0] && plan.MayOverwrite(n.Op, k) && b.alike(v, out):
					inside[out] = true
				}
			}
		}
	}
	for v := range b.bytes {
		if !inside[v] || b.o.Plan.NoInPlace { // what lies in one buffer counts once then
			b.bytes[v] = (b.bytes[v] + b.align - 1) / b.align * b.align
		}
	}
}

// give leaves out what may lie in the caller's memory: outputs, and what a result that lies there may take the place
// of.
func (b *bounder) give() {
	given := make([]bool, len(b.group)) // by group
	for _, v := range b.c.Outputs {
		given[b.find(v)] = true
	}
	for i := len(b.c.Nodes) - 1; i >= 0 && !b.o.Plan.NoInPlace; i-- {
		n := &b.c.Nodes[i]
		if len(n.Outputs) == 0 || n.Outputs[0] < 0 || !given[b.find(n.Outputs[0])] {
			continue
		}
		for k, v := range n.Inputs {
			if v >= 0 && plan.MayOverwrite(n.Op, k) && b.alike(v, n.Outputs[0]) {
				given[b.find(v)] = true
			}
		}
	}
	for v := range b.group {
		if given[b.find(v)] {
			b.source[v] = -1
		}
	}
}

func (b *bounder) alike(v, w int) bool {
	x, y := &b.c.Values[v], &b.c.Values[w]
	return x.DType == y.DType && slices.Equal(x.Shape, y.Shape)
}

// find is the group of a value.
func (b *bounder) find(v int) int {
	for b.group[v] != v {
		v = b.group[v]
	}
	return v
}

// join notes whose elements the results of a node show, and what may lie in what.
func (b *bounder) join(n *graph.TypedNode) {
	m := ops.MovementOf(b.c, n)
	if m == nil || len(n.Inputs) == 0 || n.Inputs[0] < 0 {
		return
	}
	for _, out := range n.Outputs {
		if out < 0 {
			continue
		}
		for _, in := range n.Inputs {
			if m.Parts != ops.Joins && in != n.Inputs[0] || in < 0 || b.source[in] < 0 && m.Parts == ops.Joins {
				continue
			}
			b.group[b.find(out)] = b.find(in)
			if m.Parts != ops.Joins {
				b.source[out], b.bytes[out] = b.source[in], min(b.bytes[out], b.bytes[in])
			}
		}
	}
}

// needs lists what the values of a list have to have in the frame.
func (b *bounder) needs(values []int) (list []held) {
	for _, v := range values {
		if v >= 0 && b.source[v] >= 0 {
			list = with(list, held{b.source[v], b.bytes[v]})
		}
	}
	return list
}

// with adds to a list that is sorted by value.
func with(list []held, h held) []held {
	at, found := slices.BinarySearchFunc(list, h, func(x, y held) int { return cmp.Compare(x.value, y.value) })
	if found {
		list[at].bytes = max(list[at].bytes, h.bytes)
		return list
	}
	return slices.Insert(list, at, h)
}

// sum is how many bytes a list needs: of what may lie in one another the largest.
func (b *bounder) sum(list []held) int64 {
	sum, groups := int64(0), map[int]int64{}
	for _, h := range list {
		g := b.find(h.value)
		sum += max(0, h.bytes-groups[g])
		groups[g] = max(groups[g], h.bytes)
	}
	return sum
}

// during is how many bytes a node needs while it runs and other values are kept, at least.
func (b *bounder) during(kept []held, i int) int64 {
	n := &b.c.Nodes[i]
	if m := ops.MovementOf(b.c, n); m != nil {
		return 0 // a view takes nothing, and a copy reads and writes what others need
	}
	all := slices.Clone(kept)
	for _, h := range slices.Concat(b.needs(n.Inputs), b.needs(n.Outputs)) {
		all = with(all, h)
	}
	sum := b.sum(all)
	if b.o.Plan.NoInPlace || len(n.Outputs) == 0 || n.Outputs[0] < 0 || b.source[n.Outputs[0]] < 0 {
		return sum
	}
	saved := int64(0)
	for k, v := range n.Inputs {
		if v < 0 || b.source[v] < 0 || !plan.MayOverwrite(n.Op, k) {
			continue
		}
		stays := int64(0)
		for _, h := range kept {
			if b.find(h.value) == b.find(v) {
				stays = max(stays, h.bytes)
			}
		}
		saved = max(saved, min(b.bytes[v], b.bytes[n.Outputs[0]])-stays)
	}
	return sum - saved
}

// back is a state on the way back from a node to the graph's inputs: the values that have to be in memory then, and the
// most bytes that the steps from there to the node need.
type back struct {
	list []held
	most int64
	sum  int64
}

type backs []back

func (q backs) Len() int { return len(q) }
func (q backs) Less(i, j int) bool {
	return q[i].most < q[j].most || q[i].most == q[j].most && q[i].sum < q[j].sum
}
func (q backs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *backs) Push(x any)   { *q = append(*q, x.(back)) }
func (q *backs) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// wayBack returns a lower bound of the bytes that are needed until a node has run. The caller knows
// a bound already; the search does not tell smaller ones apart.
func (b *bounder) wayBack(node int, known int64) int64 {
	n := &b.c.Nodes[node]
	start := b.needs(n.Inputs)
	open := &backs{{start, max(known, b.during(nil, node)), b.sum(start)}}
	seen := map[string]bool{}
	for states := 0; ; states++ {
		at := heap.Pop(open).(back)
		if len(at.list) == 0 || states >= nodeStates || b.left <= 0 {
			return at.most
		}
		k := key(at.list)
		if seen[k] {
			continue
		}
		seen[k] = true
		b.left--
		for _, h := range at.list {
			p := b.c.Values[h.value].Producer
			made := func(x held) bool { return b.c.Values[x.value].Producer == p }
			rest := slices.DeleteFunc(slices.Clone(at.list), made)
			most := max(at.most, b.during(rest, p))
			for _, x := range b.needs(b.c.Nodes[p].Inputs) {
				rest = with(rest, x)
			}
			if !seen[key(rest)] {
				heap.Push(open, back{rest, most, b.sum(rest)})
			}
		}
	}
}

func key(list []held) string {
	var k []byte
	for _, h := range list {
		k = binary.AppendUvarint(binary.AppendUvarint(k, uint64(h.value)), uint64(h.bytes))
	}
	return string(k)
}
