package remat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// weights say what a replay gives up: what has the least
//
//	price^cost / (bytes x distance^ahead)
//
// where the price is that of having the value again, and the distance how many nodes lie before its next use.
type weights struct {
	cost, ahead float64
	factors     []float64 // by value: what its weight is multiplied with; nil: 1
	straight    bool      // all that a value needs is made in the order of the graph, not depth first
}

// Bounds of a replay: how many nodes it may run, of those that the graph has; how many values it weighs at once; and
// how many nodes it looks at to find what a value costs.
const (
	mostReplayed = 24
	mostWeighed  = 200
	mostPriced   = 100
)

// replay runs a graph in its order in so many bytes, as a runtime would that computes again what it has given up
// (Kirisame et al., "Dynamic tensor rematerialization", ICLR 2021), and that knows when each value is needed next.
// Views take nothing and are shown when they are asked for. What it finds is a graph to begin with: it knows less of
// what is shared than a plan does.
type replay struct {
	*search
	weights
	again, moves bool
	room         int64   // bytes that are free
	most         float64 // of what may be spent
	random       *rand.Rand

	under   []int   // by value: whose elements it shows, itself if none; -1: of the caller
	bytes   []int64 // by value
	uses    [][]int // by such a value: nodes that need it, ascending
	now     int     // the node of the graph that is run, or that values are made for
	there   []bool  // by such a value: in the frame
	outside []int   // by such a value: the value that stands for it in the second space, -1: none
	pinned  []int   // by such a value: how many nodes in work need it
	fresh   []int   // by value: the value of the new graph that it is now, -1: none
	shows   []int   // by value that shows: of which value of the new graph fresh shows elements
	priced  []int   // by such a value: the look that has come to it
	look    int

	out      changed
	earliest []int   // by value: the first value of the new graph that it was, -1: none
	made     []int   // by value of the new graph: the choice that made it, -1: none
	extra    float64 // what was run again or moved costs
	failed   bool
}

// replayed runs the graph; nil: it cannot be done, or costs more than most.
func (s *search) replayed(room int64, w weights, kinds way, most float64) *changed {
	c := s.base
	n := len(c.Values)
	r := &replay{search: s, weights: w, again: kinds.again, moves: kinds.moves, room: room, most: most,
		random: rand.New(rand.NewPCG(s.options.Seed, 0)), bytes: make([]int64, n), uses: make([][]int, n),
		there: make([]bool, n), pinned: make([]int, n)}
	for _, list := range []*[]int{&r.under, &r.outside, &r.fresh, &r.shows, &r.priced, &r.earliest} {
		*list = slices.Repeat([]int{-1}, n)
	}
	r.begin()
	for i := range c.Nodes {
		if r.now = i; !r.isView(i) {
			r.run(i)
		} else if v := c.Nodes[i].Outputs[0]; slices.Contains(c.Outputs, v) {
			r.show(v)
		}
		if r.failed || r.tooLong() {
			return nil
		}
	}
	return r.end()
}

// tooLong says that what was computed again costs more than is asked for, or is more than a replay may have.
func (r *replay) tooLong() bool {
	return r.extra > r.most || len(r.out.Nodes) > mostReplayed*len(r.base.Nodes)
}

func (r *replay) isView(i int) bool {
	m := ops.MovementOf(r.base, &r.base.Nodes[i])
	return m != nil && m.Parts == ops.NoParts && r.base.Nodes[i].Inputs[0] >= 0
}

// begin finds which values there are, and when they are needed.
func (r *replay) begin() {
	c := r.base
	r.out.Checked, r.out.given = &graph.Checked{Name: c.Name, Symbols: c.Symbols}, c
	for v := range c.Values {
		switch p := c.Values[v].Producer; {
		case p < 0:
			r.fresh[v] = r.add(c.Values[v], -1, -1)
			r.earliest[v] = r.fresh[v]
		case r.isView(p):
			r.under[v] = r.under[c.Nodes[p].Inputs[0]]
		case !slices.Contains(c.Outputs, v):
			r.under[v], r.bytes[v] = v, max(1, c.Values[v].Bytes())
		}
	}
	for i := range c.Nodes {
		for _, v := range c.Nodes[i].Inputs {
			if v < 0 || r.under[v] < 0 || r.isView(i) && !slices.Contains(c.Outputs, c.Nodes[i].Outputs[0]) {
				continue
			}
			if b := r.under[v]; len(r.uses[b]) == 0 || r.uses[b][len(r.uses[b])-1] != i {
				r.uses[b] = append(r.uses[b], i)
			}
		}
	}
}

// add adds a value to the new graph.
func (r *replay) add(v graph.TypedValue, of, choice int) int {
	r.out.Values, r.out.of, r.made = append(r.out.Values, v), append(r.out.of, of), append(r.made, choice)
	return len(r.out.Values) - 1
}

// end puts inputs and outputs into the new graph.
func (r *replay) end() *changed {
	c := r.base
	for _, v := range c.Inputs {
		r.out.Inputs = append(r.out.Inputs, r.fresh[v])
	}
	for _, v := range c.Outputs {
		r.out.Outputs = append(r.out.Outputs, r.earliest[v])
	}
	r.out.produce()
	r.out.compact()
	return &r.out
}

// run has the arguments of a node there, and then the node.
func (r *replay) run(i int) {
	needs := r.needs(i)
	r.pin(needs)
	// What takes most to have comes first, while least else is kept for it.
	slices.SortStableFunc(needs, func(a, b int) int { return cmp.Compare(r.price(b), r.price(a)) })
	r.finish(i, needs)
}

// needs lists the values that have to be in the frame for a node.
func (r *replay) needs(i int) (list []int) {
	for _, v := range r.base.Nodes[i].Inputs {
		if v >= 0 && r.under[v] >= 0 && !slices.Contains(list, r.under[v]) {
			list = append(list, r.under[v])
		}
	}
	return list
}

// finish runs a node whose arguments are pinned.
func (r *replay) finish(i int, needs []int) {
	for _, b := range needs {
		if r.have(b); r.failed {
			return
		}
	}
	if r.compute(i); !r.failed {
		r.unpin(needs)
	}
}

func (r *replay) pin(needs []int) {
	for _, b := range needs {
		r.pinned[b]++
	}
}

func (r *replay) unpin(needs []int) {
	for _, b := range needs {
		if r.pinned[b]--; r.pinned[b] == 0 && r.next(b) < 0 {
			r.drop(b)
		}
	}
}

// show has an output that shows a value stand in the new graph.
func (r *replay) show(v int) {
	var needs []int
	if r.under[v] >= 0 {
		needs = []int{r.under[v]}
	}
	r.pin(needs)
	for _, b := range needs {
		r.have(b)
	}
	if !r.failed {
		r.value(v)
		r.unpin(needs)
	}
}

// have makes a value be in the frame.
func (r *replay) have(b int) {
	switch p := r.base.Values[b].Producer; {
	case r.there[b]:
	case r.outside[b] >= 0:
		if r.free(r.bytes[b], -1); !r.failed {
			r.transfer(plan.OpMoveIn, b, r.outside[b], "in")
			r.arrive(b)
		}
	case !r.again || !repeatable(&r.base.Nodes[p]) || r.tooLong():
		r.failed = true
	case r.straight:
		r.all(r.missing(b))
	default:
		r.run(p)
	}
}

// missing lists the nodes that make a value again, and what of their arguments is not there, in the order of the graph.
func (r *replay) missing(b int) (nodes []int) {
	r.look++
	r.priced[b] = r.look
	for open := []int{b}; len(open) > 0; {
		p := r.base.Values[open[len(open)-1]].Producer
		open = open[:len(open)-1]
		if !slices.Contains(nodes, p) {
			nodes = append(nodes, p)
		}
		for _, x := range r.needs(p) {
			if !r.there[x] && r.outside[x] < 0 && r.priced[x] != r.look {
				r.priced[x] = r.look
				open = append(open, x)
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}

// all runs nodes again, one after the other.
func (r *replay) all(nodes []int) {
	for _, p := range nodes {
		if !repeatable(&r.base.Nodes[p]) {
			r.failed = true
			return
		}
		r.pin(r.needs(p))
	}
	for _, p := range nodes {
		if r.finish(p, r.needs(p)); r.failed {
			return
		}
	}
}

func (r *replay) arrive(b int) {
	r.there[b], r.room = true, r.room-r.bytes[b]
}

func (r *replay) drop(b int) {
	if r.there[b] {
		r.there[b], r.room = false, r.room+r.bytes[b]
	}
}

// next is the next node that needs a value, -1: none does. The node in work counts while the value is pinned.
func (r *replay) next(b int) int {
	k, _ := slices.BinarySearch(r.uses[b], r.now+1)
	if k == len(r.uses[b]) {
		return -1
	}
	return r.uses[b][k]
}

// compute writes a node once its arguments are there, and gives up values for the room of its results.
func (r *replay) compute(i int) {
	c := r.base
	n := &c.Nodes[i]
	need := int64(0)
	var results []int
	for _, v := range n.Outputs {
		if v >= 0 && r.under[v] == v && !r.there[v] {
			need += r.bytes[v]
			results = append(results, v)
		}
	}
	need -= r.parts(n)
	over := r.overwritten(n)
	if over >= 0 && r.next(over) < 0 {
		need, over = need-r.bytes[over], -1
	}
	if r.free(need, over); r.failed {
		return
	}
	r.write(i)
	for _, v := range results {
		r.arrive(v)
		if r.next(v) < 0 && r.pinned[v] == 0 && r.now == i {
			r.drop(v)
		}
	}
}

// parts is how many bytes of arguments lie in the result of a Concat already.
func (r *replay) parts(n *graph.TypedNode) (sum int64) {
	if m := ops.MovementOf(r.base, n); m == nil || m.Parts != ops.Joins {
		return 0
	}
	for _, v := range n.Inputs {
		if v >= 0 && r.under[v] == v && r.pinned[v] == 1 && r.next(v) < 0 {
			sum += r.bytes[v]
		}
	}
	return sum
}

// overwritten is the argument whose place the first result can take over: one that is needed no more, or else any; -1:
// there is none.
func (r *replay) overwritten(n *graph.TypedNode) int {
	best := -1
	if r.options.Plan.NoInPlace || len(n.Outputs) == 0 || n.Outputs[0] < 0 || r.under[n.Outputs[0]] != n.Outputs[0] {
		return -1
	}
	for k, v := range n.Inputs {
		if v < 0 || r.under[v] != v || r.pinned[v] != 1 || r.bytes[v] != r.bytes[n.Outputs[0]] ||
			!plan.MayOverwrite(n.Op, k) {
			continue
		}
		if best < 0 || r.next(v) < 0 {
			best = v
		}
	}
	return best
}

// free gives values up until there is room. One of those that are needed right now may be among them: the result takes
// its place.
func (r *replay) free(need int64, over int) {
	for r.room < need {
		best, least := -1, math.Inf(1)
		for _, b := range r.candidates(over) {
			if w := r.weight(b); w < least {
				best, least = b, w
			}
		}
		if best < 0 {
			r.failed = true
			return
		}
		r.giveUp(best)
	}
}

// giveUp has a value leave the frame, by the cheaper way.
func (r *replay) giveUp(b int) {
	if r.next(b) >= 0 && r.outside[b] < 0 && r.moved(b) < r.anew(b) {
		r.outside[b] = r.transfer(plan.OpMoveOut, b, r.fresh[b], "out")
	}
	r.drop(b)
}
