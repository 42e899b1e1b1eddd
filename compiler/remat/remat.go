// Package remat makes a plan fit into a capacity that is smaller than its frame: values that are idle for long are
// given up and computed again where they are needed (rematerialization, also called activation checkpointing), or moved
// to a second space and back.
//
// What counts are the addresses: each step is judged by a plan of package plan, with views, results in place and
// offsets, and the answer is a plan whose frame is no larger than the capacity. Heuristics that add up live bytes can
// exceed it where the free bytes do not lie side by side: Chen et al., "Training deep nets with sublinear memory cost",
// 2016; Jain et al., "Checkmate", MLSys 2020; Kirisame et al., "Dynamic tensor rematerialization", ICLR 2021.
//
//	remat.go   Fit, the search
//	segments.go what some ways begin with
//	live.go    which bytes of a plan are alive when, and what may be given up
//	again.go   the change of the graph: what is computed again, and where
//	outside.go the same for what is moved to a second space
//	cost.go    what a node costs, by rates
//	rates.go   the rates of one machine, as bench/planner/cost measured them
package remat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// Options say what has to fit.
type Options struct {
	// Plan is how each plan is made. Its OffsetBudget holds for each plan that is tried.
	Plan plan.Options
	// Capacity is the most bytes that the frame may have.
	Capacity int64
	// Cost is the time of a node, in seconds or any other unit; nil is Estimate.
	Cost Cost
	// Outside is the space that values may be moved to; nil: they are computed again or stay.
	Outside *Outside
	// NoAgain leaves recomputation out: values are moved or stay.
	NoAgain bool
}

// Result is a graph that computes the same, and its plan.
type Result struct {
	Graph *graph.Checked
	Plan  *plan.ExecutionPlan
	Again []Again
	Moved []Moved
	// Cost is what all nodes cost, Given what they cost when none is computed again and nothing is moved.
	Cost, Given float64
}

// Moved is one transfer to the second space, or back.
type Moved struct {
	Value string // of the given graph
	In    bool
	Bytes int64
	Cost  float64
}

// Again is a node that is computed again; those that only show elements of others are not listed.
type Again struct {
	Node string // the node that stands for it in Graph
	Of   string // the node of the given graph
	Cost float64
}

// CapacityError says that no plan was found that fits.
type CapacityError struct {
	Capacity int64
	Reached  int64 // the smallest frame that was found
}

func (e *CapacityError) Error() string {
	return fmt.Sprintf("remat: the capacity is %d bytes; the smallest frame that was found, with values computed again "+
		"or moved out as far as that is allowed, has %d; raise the capacity", e.Capacity, e.Reached)
}

// maxVain rounds in a row that do not make the frame smaller end the search.
const maxVain = 24

// Fit plans c so that the frame fits into the capacity, at a low cost. Without need nothing is computed again, and the
// plan is that of plan.Build. It fails with a CapacityError when it finds no such plan. c is not changed.
//
// The same graph and options give the same result on every machine, unless Options.Plan.OffsetBudget ends a search for
// offsets.
func Fit(c *graph.Checked, o Options) (*Result, error) {
	if o.Capacity < 0 {
		return nil, fmt.Errorf("remat: the capacity is %d; it is a number of bytes, 0 or more", o.Capacity)
	}
	if o.Outside != nil && (o.Outside.Capacity < 0 || !(o.Outside.Bandwidth >= 0)) {
		return nil, fmt.Errorf("remat: the second space has the capacity %d and the bandwidth %v; neither is negative",
			o.Outside.Capacity, o.Outside.Bandwidth)
	}
	if o.Cost == nil {
		o.Cost = Estimate
	}
	o.Cost = o.Outside.with(o.Cost)
	given, err := plan.Build(c, o.Plan)
	if err != nil {
		return nil, err
	}
	base := total(c, o.Cost)
	if given.Frame.Bytes <= o.Capacity {
		return &Result{Graph: c, Plan: given, Cost: base, Given: base}, nil
	}
	var best *Result
	reached := given.Frame.Bytes
	for _, w := range o.ways() {
		if w.share < 1 && best != nil {
			break
		}
		f := &fitter{options: o, c: newChanged(inOrder(c, given)), way: w, reached: math.MaxInt64}
		f.options.Plan.NoReorder = true
		e, err := f.fit()
		if err != nil {
			return nil, err
		}
		reached = min(reached, f.reached)
		if e == nil {
			continue
		}
		if r := f.result(e, base); best == nil || r.Cost < best.Cost {
			best = r
		}
	}
	if best == nil {
		return nil, &CapacityError{Capacity: o.Capacity, Reached: reached}
	}
	return best, nil
}

// way is how a fitter chooses.
type way struct {
	greed        float64 // the power of the benefit when it is weighed against the cost
	again, moves bool    // what it may choose
	share        float64 // of the capacity, which is what it aims at
	segment      int     // it begins with segments of so many buffers; 0: with nothing
}

// ways lists those that the options allow. Those that aim below the capacity are for where the others lead
// nowhere: they give more up first, and take back what was not needed.
func (o *Options) ways() (list []way) {
	for _, share := range []float64{1, 0.85, 0.7, 0.5} {
		for _, w := range []way{{again: true, moves: true}, {again: true}, {moves: true}} {
			if w.moves && o.Outside == nil || w.again && o.NoAgain ||
				share < 1 && (w.moves != (o.Outside != nil) || w.again == o.NoAgain) {
				continue
			}
			for _, w.greed = range []float64{1, 0.5, 2, 4} {
				w.share = share
				list = append(list, w)
			}
		}
		if share == 1 && !o.NoAgain {
			for segment := 2; segment <= 8; segment++ {
				list = append(list, way{greed: 1, again: true, share: 1, segment: segment})
			}
		}
	}
	return list
}

// fitter is one way to a plan that fits.
type fitter struct {
	options Options
	c       *changed
	way
	reached int64 // the smallest frame so far
}

// fit gives values up, one at a time, until the plan fits; then it takes back what turned out not to be needed.
func (f *fitter) fit() (*plan.ExecutionPlan, error) {
	if f.segment > 0 {
		if err := f.segments(); err != nil {
			return nil, err
		}
	}
	goal := int64(f.share * float64(f.options.Capacity))
	for vain := 0; vain < maxVain; vain++ {
		e, err := f.build()
		if err != nil {
			return nil, err
		}
		if o := f.options.Outside; o != nil && o.Capacity > 0 && e.Outside > o.Capacity {
			f.c, f.moves = f.c.without(f.c.choices-1), false // the last choice was one too many
			if f.c == nil {
				return nil, nil
			}
			continue
		}
		if e.Frame.Bytes < f.reached {
			f.reached, vain = e.Frame.Bytes, 0
		}
		if e.Frame.Bytes <= f.options.Capacity {
			return f.prune(e)
		}
		l := newLive(f.c.Checked, e)
		// Where the bytes alive fit and the addresses do not, fewer have to be alive.
		if most := slices.Max(l.bytes); most <= goal {
			goal = most - 1 - most/64
		}
		choice := f.choose(l, goal)
		if choice == nil {
			return nil, nil
		}
		f.c.apply(choice)
	}
	return nil, nil
}

func (f *fitter) build() (*plan.ExecutionPlan, error) { return plan.Build(f.c.Checked, f.options.Plan) }

// choose returns what to give up where most is alive: what lowers the bytes above the goal by most for its cost.
func (f *fitter) choose(l *live, goal int64) *choice {
	var best *choice
	worth := 0.0
	worst := slices.Index(l.bytes, slices.Max(l.bytes))
	for _, b := range l.idle(worst) {
		for _, x := range f.choices(l, b, worst) {
			benefit := l.benefit(x, goal)
			if benefit <= 0 || l.relief(x, worst) <= 0 {
				continue
			}
			x.cost = f.c.costOf(x.nodes, f.options.Cost) + f.c.transferCost(x, f.options.Cost)
			if w := math.Pow(float64(benefit), f.greed) / (x.cost + 1e-12); w > worth {
				best, worth = x, w
			}
		}
	}
	return best
}

// choices lists the ways to have a buffer free at a node.
func (f *fitter) choices(l *live, buffer, at int) (list []*choice) {
	for _, depth := range []int{1, 2, 3, 5, 8, 16, 64} {
		if x := f.c.giveUp(l, buffer, at, depth); x != nil && (f.again || f.c.onlyMoves(x)) {
			list = append(list, x)
		}
	}
	if x := f.c.moveOut(l, buffer, at); f.moves && x != nil {
		list = append(list, x)
	}
	return list
}

// prune takes back choices, the most expensive first, while the plan still fits.
func (f *fitter) prune(e *plan.ExecutionPlan) (*plan.ExecutionPlan, error) {
	order := make([]int, f.c.choices)
	costs := make([]float64, f.c.choices)
	for i := range order {
		order[i] = i
		costs[i] = f.c.costOf(f.c.madeBy(i), f.options.Cost)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(costs[b], costs[a]), cmp.Compare(a, b)) })
	for _, i := range order {
		less := f.c.without(i)
		if less == nil {
			continue
		}
		p, err := plan.Build(less.Checked, f.options.Plan)
		if err != nil {
			return nil, err
		}
		if o := f.options.Outside; p.Frame.Bytes <= f.options.Capacity &&
			(o == nil || o.Capacity == 0 || p.Outside <= o.Capacity) {
			f.c, e = less, p
		}
	}
	return e, nil
}

func (f *fitter) result(e *plan.ExecutionPlan, given float64) *Result {
	r := &Result{Graph: f.c.Checked, Plan: e, Given: given, Cost: given}
	for i := range f.c.Nodes {
		if f.c.choice[i] < 0 {
			continue
		}
		n := &f.c.Nodes[i]
		cost := f.options.Cost(f.c.Checked, n)
		r.Cost += cost
		if plan.Transfers(n.Op) {
			v := &f.c.Values[f.c.root(n.Outputs[0])]
			r.Moved = append(r.Moved, Moved{v.Name, n.Op == plan.OpMoveIn, v.Bytes(), cost})
			continue
		}
		if m := f.c.MovementOf(n); m != nil && m.Parts == graph.NoParts {
			continue // it shows what is there
		}
		r.Again = append(r.Again, Again{n.Name, f.c.Nodes[f.c.original(i)].Name, cost})
	}
	return r
}
