// Package remat makes a plan fit into a capacity that is smaller than its frame: values that are idle for long are
// given up and computed again where they are needed (rematerialization, also called activation checkpointing).
//
// What counts are the addresses: each step is judged by a plan of package plan, with views, results in place and
// offsets, and the answer is a plan whose frame is no larger than the capacity. Heuristics that add up live bytes can
// exceed it where the free bytes do not lie side by side: Chen et al., "Training deep nets with sublinear memory cost",
// 2016; Jain et al., "Checkmate", MLSys 2020; Kirisame et al., "Dynamic tensor rematerialization", ICLR 2021.
//
//	remat.go   Fit, the search
//	live.go    which bytes of a plan are alive when, and what may be given up
//	again.go   the change of the graph: what is computed again, and where
//	cost.go    what a node costs
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
}

// Result is a graph that computes the same, and its plan.
type Result struct {
	Graph *graph.Checked
	Plan  *plan.ExecutionPlan
	Again []Again
	// Cost is what all nodes cost, Given what they cost when none is computed again.
	Cost, Given float64
}

// Again is a node that is computed again.
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
	return fmt.Sprintf("remat: the capacity is %d bytes; the smallest frame that was found, with values computed again, "+
		"has %d; raise the capacity", e.Capacity, e.Reached)
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
	if o.Cost == nil {
		o.Cost = Estimate
	}
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
	for _, greed := range []float64{1, 0.5, 2} {
		f := &fitter{options: o, c: newChanged(inOrder(c, given)), greed: greed, reached: math.MaxInt64}
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

// fitter is one way to a plan that fits.
type fitter struct {
	options Options
	c       *changed
	greed   float64 // the power of the benefit when it is weighed against the cost
	reached int64   // the smallest frame so far
}

// fit gives values up, one at a time, until the plan fits; then it takes back what turned out not to be needed.
func (f *fitter) fit() (*plan.ExecutionPlan, error) {
	goal := f.options.Capacity
	for vain := 0; vain < maxVain; vain++ {
		e, err := f.build()
		if err != nil {
			return nil, err
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
		for _, depth := range []int{1, 2, 3, 5, 8, 16, 64} {
			x := f.c.giveUp(l, b, worst, depth)
			if x == nil {
				continue
			}
			benefit := l.benefit(x, goal)
			if benefit <= 0 || l.relief(x, worst) <= 0 {
				continue
			}
			x.cost = f.c.costOf(x.nodes, f.options.Cost)
			if w := math.Pow(float64(benefit), f.greed) / (x.cost + 1e-12); w > worth {
				best, worth = x, w
			}
		}
	}
	return best
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
		p, err := plan.Build(less.Checked, f.options.Plan)
		if err != nil {
			return nil, err
		}
		if p.Frame.Bytes <= f.options.Capacity {
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
		a := Again{f.c.Nodes[i].Name, f.c.Nodes[f.c.original(i)].Name, f.options.Cost(f.c.Checked, &f.c.Nodes[i])}
		r.Again = append(r.Again, a)
		r.Cost += a.Cost
	}
	return r
}
