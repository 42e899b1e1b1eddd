package remat

import (
	"cmp"
	"slices"

	"tlruntime/compiler/plan"
)

// polishTries bounds how many plans with offsets polish makes, pruneWork how many nodes prune looks at in one go.
const (
	polishTries = 24
	pruneWork   = 400000
)

// settle takes back what a graph that fits without offsets does not need, and makes it an answer if its plan fits.
// done: the plan fits, or would cost too much.
func (s *search) settle(g *changed) (done bool, err error) {
	less, removed, err := s.prune(g)
	if err != nil || s.best != nil && s.cost(less) >= s.best.cost {
		return true, err
	}
	e, fits, err := s.plan(less)
	if err != nil || fits {
		if fits {
			s.take(less, e)
		}
		return true, err
	}
	if len(removed) == 0 {
		return false, nil
	}
	if e, fits, err = s.plan(g); err != nil || !fits {
		return false, err
	}
	s.take(g, e)
	return true, s.bisect(g, removed)
}

// bisect looks for how many choices can be taken back, where none of them fits and all do not.
func (s *search) bisect(g *changed, removed []int) error {
	low, high := 0, len(removed)
	for high-low > 1 && !s.over() {
		middle, less := (low+high)/2, g
		for _, number := range removed[:middle] {
			less = less.without(number)
		}
		e, fits, err := s.plan(less)
		if err != nil {
			return err
		}
		if fits {
			low = middle
			s.take(less, e)
		} else {
			high = middle
		}
	}
	return nil
}

// prune takes back choices, the most expensive first, while the bytes alive fit.
func (s *search) prune(g *changed) (less *changed, removed []int, err error) {
	e, err := s.draft(g)
	if err != nil {
		return nil, nil, err
	}
	l := newLive(g.Checked, e)
	work := pruneWork
	for _, number := range s.dearest(g) {
		if s.over() || work < 0 {
			break
		}
		if l.least(g, number) > s.options.Capacity {
			continue
		}
		next := g.without(number)
		if next == nil {
			continue
		}
		work -= len(next.Nodes)
		if e, err = s.draft(next); err != nil {
			return nil, nil, err
		}
		if e.Frame.Order.Peak <= s.options.Capacity && s.roomFor(e.Outside) {
			g, removed, l = next, append(removed, number), newLive(next.Checked, e)
		}
	}
	return g, removed, nil
}

// dearest lists the choices of a graph, those first that cost most.
func (s *search) dearest(g *changed) []int {
	costs := map[int]float64{}
	var list []int
	for i, number := range g.choice {
		if number < 0 {
			continue
		}
		if _, known := costs[number]; !known {
			list = append(list, number)
		}
		costs[number] += s.nodeCost(g, i)
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(costs[b], costs[a]), cmp.Compare(a, b)) })
	return list
}

// polish takes back what the best answer does not need, by plans with offsets: a plan may share more than a draft.
func (s *search) polish() error {
	if s.best == nil {
		return nil
	}
	tries := 0
	for _, number := range s.dearest(s.best.changed) {
		if tries++; tries > polishTries || s.over() {
			break
		}
		if err := s.tryWithout(number); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) tryWithout(number int) error {
	less := s.best.without(number)
	if less == nil {
		return nil
	}
	var e *plan.ExecutionPlan
	e, fits, err := s.plan(less)
	if err == nil && fits {
		s.take(less, e)
	}
	return err
}
