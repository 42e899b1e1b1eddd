// Package remat makes a plan fit into a capacity that is smaller than its frame: values that are idle for long are
// given up and computed again where they are needed (rematerialization, also called activation checkpointing), or moved
// to a second space and back.
//
// An answer is a plan of package plan, with views, results in place and offsets, whose frame is no larger than the
// capacity. Published heuristics add up the bytes that are alive, and can exceed a capacity where the free bytes do not
// lie side by side: Chen et al., "Training deep nets with sublinear memory cost", 2016; Jain et al., "Checkmate", MLSys
// 2020; Kirisame et al., "Dynamic tensor rematerialization", ICLR 2021.
//
//	remat.go    Fit: what goes in and what comes out
//	search.go   the order of the search, and what its parts share: drafts, plans, the clock, the best answer
//	replay.go   runs the graph on paper in little memory, and gives up values where there is no room
//	price.go    chooses which value a replay gives up
//	rewrite.go  writes a replay down as a graph
//	ways.go     gives up one value at a time where most bytes are alive
//	segments.go begins that with Chen's segments
//	prune.go    takes back what is not needed
//	improve.go  changes replays at random
//	live.go     tells which bytes of a plan are alive at each node
//	again.go    changes a graph: nodes are computed again
//	outside.go  changes a graph: values are moved to a second space and back
//	bound.go    proves a lower bound of the frame
//	gap.go      proves a lower bound of the cost
//	cost.go     estimates the time of a node by rates
//	rates.go    has the rates of one machine, which bench/planner/cost measured
package remat

import (
	"fmt"
	"time"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// Options say what has to fit.
type Options struct {
	// Plan has the options of each plan. Its budget holds for each plan with offsets; most graphs are compared
	// without.
	Plan plan.Options
	// Given is a plan of the graph that was made without a capacity; Fit reads it. nil: Fit makes one.
	Given *plan.ExecutionPlan
	// Capacity is the most bytes that the frame may have.
	Capacity int64
	// Cost is the time of a node, in seconds or any other unit; nil is Estimate.
	Cost Cost
	// Outside is the space that values may be moved to; nil: they are computed again or stay.
	Outside *Outside
	// NoAgain leaves recomputation out: values are moved or stay.
	NoAgain bool

	// Without MaxSteps and Budget the search does a fixed amount of work. With one of them it goes on until that is
	// used up; more of it never gives an answer that costs more.

	// MaxSteps ends the search after so many steps: each graph that it makes or plans is one. 0 leaves the end to
	// Budget.
	MaxSteps int64
	// Budget ends all that Fit does after so much time; 0 leaves the end to MaxSteps. An answer that time cut short may
	// differ from run to run.
	Budget time.Duration
	// Seed of every random choice.
	Seed uint64
	// Progress is called after each improvement, and otherwise about every 10 ms. When it returns true the search ends
	// with the best answer so far.
	Progress func(Progress) (stop bool)
}

// Progress tells how far a search is.
type Progress struct {
	// Cost of the best answer so far, -1 while there is none; Given is the cost without a capacity.
	Cost, Given float64
	// Frame is the smallest so far, LowerBound a proved lower bound of all.
	Frame, LowerBound int64
	// Elapsed since the call.
	Elapsed time.Duration
	// Steps as Options.MaxSteps counts them.
	Steps int64
}

// Result is a graph that computes the same, and its plan.
type Result struct {
	Graph *graph.Checked
	Plan  *plan.ExecutionPlan
	Again []Again
	Moved []Moved
	// Cost is the sum over all nodes, Given the same when none is computed again and nothing is moved.
	Cost, Given float64
	// LeastCost is a proved lower bound of Cost, for all answers in which the nodes run for the first time in the same
	// order: the lowest cost lies between LeastCost and Cost.
	LeastCost float64
	// Steps that the search took, as Options.MaxSteps counts them.
	Steps int64
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
	Capacity   int64
	Reached    int64 // the smallest frame that was found
	LowerBound int64 // proved: no plan has a smaller frame, as far as the options allow
}

func (e *CapacityError) Error() string {
	text := fmt.Sprintf("the capacity in bytes is %d; the smallest frame that was found, with values computed again "+
		"or moved out as far as that is allowed, has %d; raise the capacity", e.Capacity, e.Reached)
	if e.LowerBound > e.Capacity {
		return fmt.Sprintf("%s: no plan can have fewer than %d bytes", text, e.LowerBound)
	}
	return fmt.Sprintf("%s, or the budget: it is proved only that no plan can have fewer than %d bytes", text,
		e.LowerBound)
}

// AsItIs is the result for a plan of a graph of which nothing is given up. It keeps both.
func AsItIs(c *graph.Checked, p *plan.ExecutionPlan, o Options) *Result {
	cost := Total(c, o.Cost)
	return &Result{Graph: c, Plan: p, Cost: cost, Given: cost, LeastCost: cost}
}

// Fit plans c so that the frame fits into the capacity, at a low cost. Where the plan of plan.Build fits, that is the
// answer. Fit fails with a CapacityError when it finds no plan that fits. It does not change c.
//
// The same graph and options give the same result on every machine, unless Budget, Progress or
// a budget or a deadline of Options.Plan ends a search.
func Fit(c *graph.Checked, o Options) (*Result, error) {
	if o.Capacity < 0 {
		return nil, fmt.Errorf("remat: the capacity is %d; it is a number of bytes, 0 or more", o.Capacity)
	}
	if o.Outside != nil && (o.Outside.Capacity < 0 || !(o.Outside.Bandwidth >= 0)) {
		return nil, fmt.Errorf("remat: the second space has the capacity %d and the bandwidth %v; neither is negative",
			o.Outside.Capacity, o.Outside.Bandwidth)
	}
	if o.MaxSteps < 0 || o.Budget < 0 {
		return nil, fmt.Errorf("remat: the search has %d steps and %v; neither is negative", o.MaxSteps, o.Budget)
	}
	if o.Cost == nil {
		o.Cost = Estimate
	}
	o.Cost = o.Outside.with(o.Cost)
	start := now()
	o.Plan.EndAfter(o.Budget)
	given, err := o.Given, error(nil)
	if given == nil {
		given, err = plan.Build(c, o.Plan)
	}
	if err != nil {
		return nil, err
	}
	if given.Frame.Bytes <= o.Capacity {
		return AsItIs(c, given, o), nil
	}
	if o.Plan.Late() {
		return nil, &CapacityError{Capacity: o.Capacity, Reached: given.Frame.Bytes, LowerBound: lowest(c, &o)}
	}
	s, err := newSearch(c, given, o, start)
	if err != nil {
		return nil, err
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	if s.best == nil {
		return nil, &CapacityError{Capacity: o.Capacity, Reached: s.reached, LowerBound: s.bound}
	}
	return s.result(), nil
}

// result describes the best answer.
func (s *search) result() *Result {
	g := s.best.changed
	r := &Result{Graph: g.Checked, Plan: s.best.plan, Given: s.given, Cost: s.given,
		LeastCost: s.leastCost(), Steps: s.steps}
	for i := range g.Nodes {
		if g.choice[i] < 0 {
			continue
		}
		n := &g.Nodes[i]
		cost := s.options.Cost(g.Checked, n)
		r.Cost += cost
		if plan.Transfers(n.Op) {
			v := &g.Values[g.root(n.Outputs[0])]
			r.Moved = append(r.Moved, Moved{v.Name, n.Op == plan.OpMoveIn, v.Bytes(), cost})
			continue
		}
		if m := ops.MovementOf(g.Checked, n); m != nil && m.Parts == ops.NoParts {
			continue // it shows what is there
		}
		r.Again = append(r.Again, Again{n.Name, g.nameOf(i), cost})
	}
	return r
}
