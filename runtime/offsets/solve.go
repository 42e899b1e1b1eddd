package offsets

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Solve places the buffers of p. It fails with an InputError when p means nothing,
// and with a LimitError when a buffer finds no place in its spaces.
//
// Safe for concurrent use; p is not changed and not kept.
func Solve(p Problem, o Options) (*Solution, error) {
	if o.Start != nil && len(o.Start) != len(p.Buffers) {
		return nil, &InputError{Buffer: -1, Reason: fmt.Sprintf("it is told where %d buffers lay and has %d; tell all or none",
			len(o.Start), len(p.Buffers))}
	}
	s := newSolver(&p, o)
	if err := validate(&p, s.watch); err != nil {
		return nil, err
	}
	in, err := newInstance(&p, s.watch)
	if err != nil {
		return nil, err
	}
	in.without = o.Without
	if err := s.pinsApart(in); err != nil {
		return nil, err
	}
	if len(s.spaces) == 1 {
		return s.one(in)
	}
	s.start = nil // where a buffer lay is of no use without the space that it lay in
	return s.several(in)
}

// solver is what the parts of one call share.
type solver struct {
	p         *Problem
	spaces    []Space
	goal      int64 // a frame that is wanted more than time; 0: none
	target    int64 // a frame that is small enough
	seed      uint64
	random    *rand.Rand
	search    bool  // steps or time were granted
	left      int64 // steps that are left
	steps     int64 // steps that were taken
	units     int64 // of work that was done
	allowance int64 // the units at which work stops
	unseen    int64 // units since the clock was looked at
	deadline  time.Time
	clock     func() time.Time
	start     []int64 // by buffer: where it lay; nil: nobody knows
	late      bool
	report    reporter
}

func newSolver(p *Problem, o Options) *solver {
	s := &solver{p: p, spaces: p.Spaces, target: o.Target, random: rand.New(rand.NewPCG(o.Seed, 0)), left: none,
		allowance: none, clock: o.Clock, start: o.Start}
	if s.clock == nil {
		s.clock = now
	}
	s.report = newReporter(o.Progress, s.clock)
	if len(s.spaces) == 0 {
		s.spaces = make([]Space, 1)
	}
	s.search = o.MaxSteps > 0 || o.Budget > 0
	if o.MaxSteps > 0 {
		s.left = o.MaxSteps
	}
	if o.Budget > 0 {
		s.deadline = s.clock().Add(o.Budget)
	}
	return s
}

// itemsPerStep is how many items that are placed by an order are one step.
const itemsPerStep = 64

// one solves a problem of a single space.
func (s *solver) one(in *instance) (*Solution, error) {
	capacity := s.spaces[0].Capacity
	if err := s.tooLarge(in, capacity); err != nil {
		return nil, err
	}
	s.aimAt(capacity)
	d := s.pack(in)
	if capacity > 0 && d.frame > capacity {
		return nil, s.overflow(in, d, 0)
	}
	out := in.spread(s.p, d.offset)
	out.Space = make([]int, len(s.p.Buffers))
	out.Frames = []SpaceResult{{Bytes: d.frame, LowerBound: d.bound}}
	out.Optimal = d.frame == d.bound
	out.Steps, out.Method = s.steps, d.method
	return out, nil
}

// preferred is the k-th space of an item's choice, -1 when there is none.
func (s *solver) preferred(it *item, k int) int {
	b := &s.p.Buffers[it.buffer]
	switch {
	case it.pinned >= 0 && k > 0:
		return -1
	case len(b.Spaces) > 0 && k < len(b.Spaces):
		return b.Spaces[k]
	case len(b.Spaces) == 0 && k < len(s.spaces):
		return k
	}
	return -1
}

// aimAt makes the capacity of the only space the goal, unless the caller's target is smaller.
func (s *solver) aimAt(capacity int64) {
	if s.target > 0 && capacity > 0 {
		s.target = min(s.target, capacity)
	}
	s.goal = s.target
	if s.goal == 0 {
		s.goal = capacity
	}
}
