package remat

import (
	"time"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// now is the clock. Tests replace it.
var now = time.Now

// progressEvery is the time between two reports when nothing improves.
const progressEvery = 10 * time.Millisecond

// search is one run of Fit.
type search struct {
	options Options
	base    *graph.Checked // the graph in the order of its plan
	drafter *plan.Drafter
	costs   []float64 // by node of base
	given   float64   // their sum
	bound   int64     // no frame is smaller
	best    *answer   // nil: none yet
	reached int64     // the smallest frame so far

	fixed    bool     // the order is the caller's
	smallest *changed // of which least is alive, and how much
	lowest   int64

	numbers     map[string]int // by name: values of base
	steps       int64
	start, next time.Time // next: of the next report
	stopped     bool
}

// answer is a graph whose plan fits.
type answer struct {
	*changed
	plan *plan.ExecutionPlan
	cost float64
}

func newSearch(c *graph.Checked, given *plan.ExecutionPlan, o Options, start time.Time) (*search, error) {
	s := &search{options: o, base: inOrder(c, given), reached: given.Frame.Bytes, lowest: given.Frame.Bytes,
		start: start, next: start, numbers: map[string]int{}}
	s.fixed, s.options.Plan.NoReorder = o.Plan.NoReorder, true
	for i := range s.base.Nodes {
		s.costs = append(s.costs, o.Cost(s.base, &s.base.Nodes[i]))
		s.given += s.costs[i]
	}
	s.bound = lowest(s.base, &s.options)
	for v := range s.base.Values {
		s.numbers[s.base.Values[v].Name] = v
	}
	var err error
	s.drafter, err = plan.NewDrafter(s.base, s.options.Plan)
	return s, err
}

// run looks for answers: by replays, by giving up one value at a time, and by changes of what was found.
func (s *search) run() error {
	if s.bound > s.options.Capacity {
		return s.least()
	}
	list, err := s.replays(variants())
	if err != nil {
		return err
	}
	if err := s.giveUp(list); err != nil {
		return err
	}
	if err := s.improve(list); err != nil || s.best != nil {
		return err
	}
	return s.reach()
}

// giveUp takes all ways from the graph as it is and, where no replay fits, from those that come closest.
func (s *search) giveUp(list []trial) error {
	for _, w := range s.options.ways() {
		if w.share < 1 && s.best != nil {
			continue
		}
		if err := s.giveUpFrom(newChanged(s.base), w); err != nil {
			return err
		}
	}
	for _, t := range list[:min(len(list), climbed)] {
		if t.peak <= s.options.Capacity {
			break
		}
		for _, careful := range []bool{false, true} {
			w := way{greed: 1, again: t.way.again, moves: t.way.moves, share: 1, careful: careful}
			if err := s.giveUpFrom(t.changed.clone(), w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) giveUpFrom(g *changed, w way) error {
	if s.over() {
		return nil
	}
	f := &fitter{search: s, c: g, way: w}
	return f.fit()
}

// least looks for a small frame where none fits, for the error to tell.
func (s *search) least() error {
	s.options.Capacity = s.bound
	for n, kinds := range s.options.kinds() {
		if n > 0 {
			break // the first has most to choose from
		}
		for _, w := range variants() {
			if _, err := s.trial(trial{weights: w, way: kinds, room: s.bound}); err != nil {
				return err
			}
		}
	}
	err := s.reach()
	s.best = nil
	return err
}

// reach plans the graph of which least is alive: in its order and, where that does not fit, in one that is better now
// that values were given up.
func (s *search) reach() error {
	if s.smallest == nil {
		return nil
	}
	given := s.options.Plan.NoReorder
	defer func() { s.options.Plan.NoReorder = given }()
	for _, s.options.Plan.NoReorder = range []bool{true, s.fixed} {
		e, fits, err := s.plan(s.smallest)
		if err != nil {
			return err
		}
		if fits {
			s.take(s.smallest, e)
			return nil
		}
	}
	return nil
}

// over says that the steps or the time are used up, or that the caller wants to end.
func (s *search) over() bool {
	if s.stopped {
		return true
	}
	o := &s.options
	s.stopped = o.MaxSteps > 0 && s.steps >= o.MaxSteps
	s.stopped = s.stopped || o.Plan.Late()
	if o.Budget > 0 || o.Progress != nil {
		at := now()
		s.stopped = s.stopped || o.Budget > 0 && at.Sub(s.start) >= o.Budget
		if o.Progress != nil && !at.Before(s.next) {
			s.tell(at)
		}
	}
	return s.stopped
}

// tell reports, and takes the answer.
func (s *search) tell(at time.Time) {
	p := Progress{Cost: -1, Given: s.given, Frame: s.reached, LowerBound: s.bound, Elapsed: at.Sub(s.start),
		Steps: s.steps}
	if s.best != nil {
		p.Cost = s.best.cost
	}
	s.next = at.Add(progressEvery)
	s.stopped = s.options.Progress(p) || s.stopped
}

// draft plans a graph without offsets.
func (s *search) draft(g *changed) (*plan.ExecutionPlan, error) {
	s.steps++
	e, err := s.drafter.Draft(g.Checked, g.first)
	if err == nil && e.Frame.Order.Peak < s.lowest && s.roomFor(e.Outside) {
		s.smallest, s.lowest = g.clone(), e.Frame.Order.Peak
	}
	return e, err
}

// plan plans a graph with offsets, and reports whether the plan fits.
func (s *search) plan(g *changed) (e *plan.ExecutionPlan, fits bool, err error) {
	s.steps++
	if e, err = plan.Build(g.Checked, s.options.Plan); err != nil {
		return nil, false, err
	}
	if !s.roomFor(e.Outside) {
		return e, false, nil
	}
	s.reached = min(s.reached, e.Frame.Bytes)
	return e, e.Frame.Bytes <= s.options.Capacity, nil
}

// roomFor reports whether the second space may have so many bytes.
func (s *search) roomFor(outside int64) bool {
	o := s.options.Outside
	return o == nil || o.Capacity == 0 || outside <= o.Capacity
}

// cost is what all nodes of a graph cost.
func (s *search) cost(g *changed) float64 {
	sum := s.given
	for i := range g.Nodes {
		if g.choice[i] >= 0 {
			sum += s.nodeCost(g, i)
		}
	}
	return sum
}

func (s *search) nodeCost(g *changed, i int) float64 {
	if g.first[i] >= 0 {
		return s.costs[g.first[i]]
	}
	return s.options.Cost(g.Checked, &g.Nodes[i])
}

// take makes a graph the best answer when it costs less than the one so far.
func (s *search) take(g *changed, e *plan.ExecutionPlan) {
	cost := s.cost(g)
	if s.best != nil && cost >= s.best.cost {
		return
	}
	s.best = &answer{g, e, cost}
	if s.options.Progress != nil {
		s.tell(now())
	}
}
