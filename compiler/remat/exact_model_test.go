package remat

import (
	"container/heap"
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// Exact is an exhaustive search for the lowest cost at which a small graph can be computed when the bytes that are
// alive at once are bounded: every value may be computed, moved out and moved in any number of times. It shares no
// rule with Fit and its bounds but what a node costs and which arguments an operator may overwrite.
type Exact struct {
	Graph    *graph.Checked
	Plan     plan.Options
	Capacity int64
	Cost     Cost
	Moves    bool // there is a second space
	NoAgain  bool
	AnyOrder bool // the nodes need not run in the order of the graph for the first time
	Most     int  // states; 0: any number

	outputs uint64
	views   []bool // by node: it shows its argument
}

// With is a cost that knows what a transfer to the space takes.
func (o *Outside) With(cost Cost) Cost { return o.with(cost) }

// Step is one thing that is done: a node runs, or a value is shown in memory of its own, moved out, moved in or
// dropped.
type Step struct {
	Op   string // run, show or drop, or the operator of a transfer
	What int    // node or value
}

const (
	opRun  = "run"
	opShow = "show"
	opDrop = "drop"
)

// moment is what is where, and which node is the next to run for the first time.
type moment struct {
	next           int
	frame, outside uint64
}

type reached struct {
	moment
	cost float64
	from *reached
	by   Step
}

type queue []*reached

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].cost < q[j].cost }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*reached)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// Solve returns the lowest cost, infinite when nothing fits, and the steps that take it. known is false when the graph
// has more states than Most.
func (x *Exact) Solve() (cost float64, steps []Step, known bool) {
	x.views = make([]bool, len(x.Graph.Nodes))
	for i := range x.Graph.Nodes {
		m := ops.MovementOf(x.Graph, &x.Graph.Nodes[i])
		x.views[i] = m != nil && m.Parts != ops.Joins && !x.Plan.NoViews
	}
	x.outputs = 0
	for _, v := range x.Graph.Outputs {
		x.outputs |= 1 << v
	}
	open, settled := &queue{{}}, map[moment]bool{}
	for open.Len() > 0 {
		at := heap.Pop(open).(*reached)
		if settled[at.moment] {
			continue
		}
		if x.done(at) {
			return at.cost, at.steps(), true
		}
		if settled[at.moment] = true; x.Most > 0 && len(settled) > x.Most {
			return 0, nil, false
		}
		x.from(at, func(m moment, cost float64, by Step) {
			if !settled[m] {
				heap.Push(open, &reached{m, at.cost + cost, at, by})
			}
		})
	}
	return math.Inf(1), nil, true
}

func (r *reached) steps() (list []Step) {
	for ; r.from != nil; r = r.from {
		list = append(list, r.by)
	}
	slices.Reverse(list)
	return list
}

func (x *Exact) done(at *reached) bool {
	if x.AnyOrder {
		return at.frame&x.outputs == x.outputs
	}
	return at.next == len(x.Graph.Nodes)
}

// size is what a value takes in the frame; outputs are the caller's.
func (x *Exact) size(v int) int64 {
	if x.outputs>>v&1 == 1 {
		return 0
	}
	return x.rounded(v)
}

func (x *Exact) rounded(v int) int64 { return (x.Graph.Values[v].Bytes() + 63) / 64 * 64 }

func (x *Exact) alive(frame uint64) (sum int64) {
	for v := range x.Graph.Values {
		if frame>>v&1 == 1 {
			sum += x.size(v)
		}
	}
	return sum
}

// from tells of all that can be done next.
func (x *Exact) from(at *reached, to func(moment, float64, Step)) {
	if !x.AnyOrder && x.views[at.next] {
		to(moment{at.next + 1, at.frame, at.outside}, x.cost(at.next), Step{opRun, at.next})
		return
	}
	for i := range x.Graph.Nodes {
		first := !x.AnyOrder && i == at.next
		if !x.views[i] && (first || x.AnyOrder || i < at.next && !x.NoAgain && ops.Known(x.Graph.Nodes[i].Op)) {
			x.run(at, i, first, to)
		}
	}
	alive := x.alive(at.frame)
	for v := range x.Graph.Values {
		bit, p := uint64(1)<<v, x.Graph.Values[v].Producer
		fits := alive+x.size(v) <= x.Capacity
		switch {
		case p < 0 || x.outputs&bit != 0:
		case at.frame&bit != 0:
			to(moment{at.next, at.frame &^ bit, at.outside}, 0, Step{opDrop, v})
			if x.Moves && at.outside&bit == 0 {
				to(moment{at.next, at.frame, at.outside | bit}, x.moves(plan.OpMoveOut, v), Step{plan.OpMoveOut, v})
			}
		case at.outside&bit != 0 && fits:
			to(moment{at.next, at.frame | bit, at.outside}, x.moves(plan.OpMoveIn, v), Step{plan.OpMoveIn, v})
		case x.views[p] && p < at.next && fits && at.frame>>x.Graph.Nodes[p].Inputs[0]&1 == 1:
			if !x.NoAgain {
				to(moment{at.next, at.frame | bit, at.outside}, 0, Step{opShow, v})
			}
		}
	}
}

func (x *Exact) cost(i int) float64 { return x.Cost(x.Graph, &x.Graph.Nodes[i]) }

func (x *Exact) moves(op string, v int) float64 {
	return x.Cost(x.Graph, &graph.TypedNode{Op: op, Inputs: []int{v}, Outputs: []int{v}})
}

// isThere reports whether a node finds a value: itself, or what it shows.
func (x *Exact) isThere(frame uint64, v int) bool {
	if v < 0 || x.Graph.Values[v].Producer < 0 || frame>>v&1 == 1 {
		return true
	}
	p := x.Graph.Values[v].Producer
	return x.views[p] && x.isThere(frame, x.Graph.Nodes[p].Inputs[0])
}

// run runs a node; its first result may take the place of an argument, which is lost.
func (x *Exact) run(at *reached, i int, first bool, to func(moment, float64, Step)) {
	n := &x.Graph.Nodes[i]
	if slices.ContainsFunc(n.Inputs, func(v int) bool { return !x.isThere(at.frame, v) }) {
		return
	}
	alive, made := x.alive(at.frame), uint64(0)
	for _, v := range n.Outputs {
		switch {
		case v < 0:
			continue
		case x.outputs&at.frame>>v&1 == 1:
			alive += x.rounded(v) // the caller has it: now it is made in the frame
		default:
			alive += x.size(v)
		}
		made |= 1 << v
	}
	next := at.next
	if first {
		next++
	}
	if alive <= x.Capacity {
		to(moment{next, at.frame | made, at.outside}, x.cost(i), Step{opRun, i})
	}
	for k, v := range n.Inputs {
		if x.Plan.NoInPlace || v < 0 || at.frame>>v&1 == 0 || !plan.MayOverwrite(n.Op, k) || x.outputs>>v&1 == 1 ||
			x.outputs>>n.Outputs[0]&1 == 1 ||
			!slices.Equal(x.Graph.Values[v].Shape, x.Graph.Values[n.Outputs[0]].Shape) {
			continue
		}
		if alive-x.size(v) <= x.Capacity {
			to(moment{next, at.frame&^(1<<v) | made, at.outside}, x.cost(i), Step{opRun, i})
		}
	}
}

// Replayed is the graph that does the steps: what is done again has names of its own.
func (x *Exact) Replayed(steps []Step) *graph.Checked {
	c := *x.Graph
	c.Values, c.Nodes = slices.Clone(x.Graph.Values), nil
	r := &replayed{out: &c, x: x, now: make([]int, len(c.Values)), token: map[int]int{}, made: map[int]bool{}}
	for v := range r.now {
		r.now[v] = v
	}
	frame := uint64(0)
	for _, s := range steps {
		switch s.Op {
		case opRun:
			frame = r.run(s.What, frame)
		case opShow:
			r.show(s.What, frame)
			frame |= 1 << s.What
		case opDrop:
			frame &^= 1 << s.What
		case plan.OpMoveOut:
			r.token[s.What] = r.again(s.What)
			r.node(graph.TypedNode{Op: s.Op, Inputs: []int{r.now[s.What]}, Outputs: []int{r.token[s.What]}})
		case plan.OpMoveIn:
			r.now[s.What] = r.again(s.What)
			r.node(graph.TypedNode{Op: s.Op, Inputs: []int{r.token[s.What]}, Outputs: []int{r.now[s.What]}})
			frame |= 1 << s.What
		}
	}
	newChanged(&c).produce()
	return &c
}

// replayed is a graph that is being written.
type replayed struct {
	out   *graph.Checked
	x     *Exact
	now   []int        // by value of the given graph: what it is now
	token map[int]int  // by such a value: what stands for it in the second space
	made  map[int]bool // nodes that ran
}

func (r *replayed) again(v int) int {
	w := r.x.Graph.Values[v]
	w.Name = fmt.Sprintf("%s/%d", w.Name, len(r.out.Values))
	r.out.Values = append(r.out.Values, w)
	return len(r.out.Values) - 1
}

func (r *replayed) node(n graph.TypedNode) {
	n.Name = fmt.Sprintf("%s/%d", n.Name, len(r.out.Nodes))
	r.out.Nodes = append(r.out.Nodes, n)
}

func (r *replayed) run(i int, frame uint64) uint64 {
	n := r.x.Graph.Nodes[i]
	if r.x.views[i] {
		return frame // it is shown where it is wanted
	}
	n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	for k, v := range n.Inputs {
		n.Inputs[k] = r.find(v, frame)
	}
	for k, v := range n.Outputs {
		if v < 0 {
			continue
		}
		if r.made[i] {
			n.Outputs[k] = r.again(v)
		}
		if frame |= 1 << v; r.x.outputs>>v&1 == 0 {
			r.now[v] = n.Outputs[k]
		}
	}
	r.made[i] = true
	r.node(n)
	return frame
}

// find is a value as it is now; what has no memory of its own is shown.
func (r *replayed) find(v int, frame uint64) int {
	if v < 0 || r.x.Graph.Values[v].Producer < 0 || frame>>v&1 == 1 {
		if v >= 0 {
			return r.now[v]
		}
		return v
	}
	r.show(v, frame)
	return r.now[v]
}

func (r *replayed) show(v int, frame uint64) {
	p := r.x.Graph.Values[v].Producer
	n := r.x.Graph.Nodes[p]
	n.Inputs, n.Outputs = []int{r.find(n.Inputs[0], frame)}, slices.Clone(n.Outputs)
	for k, w := range n.Outputs {
		if w < 0 {
			continue
		}
		if r.made[p] {
			n.Outputs[k] = r.again(w)
		}
		if w == v || frame>>w&1 == 0 {
			r.now[w] = n.Outputs[k]
		}
	}
	r.made[p] = true
	r.node(n)
}
