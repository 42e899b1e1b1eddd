package remat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"tlruntime/compiler/plan"
)

// How much replays and improve do.
const (
	settled = 6   // graphs of replays that are made answers
	climbed = 3   // those that are changed
	changes = 300 // of each, in one go
	rescues = 10  // more rounds while nothing fits

	mostSpent = 20 // times what the graph costs without a capacity
)

// trial is a graph that a replay has made, and how.
type trial struct {
	*changed
	weights
	way
	room  int64
	peak  int64
	above int64 // bytes above the capacity, summed over the nodes; 0: it fits
	extra float64
}

// replays runs the graph with many weights, and makes answers of those that fit and cost least.
func (s *search) replays(with []weights) ([]trial, error) {
	var list []trial
	for _, w := range s.options.kinds() {
		room := s.options.Capacity
		for _, o := range with {
			t, err := s.trial(trial{weights: o, way: w, room: room})
			if err != nil {
				return nil, err
			}
			if t.changed == nil {
				continue
			}
			room = t.room
			list = append(list, t)
			if s.best == nil && t.peak <= s.options.Capacity {
				if _, err := s.settle(t.changed); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortStableFunc(list, s.compare)
	list = slices.CompactFunc(list, func(a, b trial) bool { return a.extra == b.extra && a.peak == b.peak })
	for k := range min(len(list), settled) {
		if s.over() || list[k].peak > s.options.Capacity {
			break
		}
		if _, err := s.settle(list[k].changed); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// compare says which trial is better: what fits, or is closest to that, and then what costs less.
func (s *search) compare(a, b trial) int {
	return cmp.Or(cmp.Compare(a.above, b.above), cmp.Compare(a.extra, b.extra))
}

// drafted says what a graph of a trial comes to.
func (s *search) drafted(t *trial, g *changed) (*plan.ExecutionPlan, error) {
	e, err := s.draft(g)
	if err != nil {
		return nil, err
	}
	t.peak, t.above, t.extra = e.Frame.Order.Peak, 0, s.cost(g)-s.given
	if t.peak > s.options.Capacity {
		t.above = max(1, newLive(g.Checked, e).above(s.options.Capacity)) // live bytes are not aligned
	}
	return e, nil
}

// trial looks for the room in which a graph that a replay makes just fits: what a replay counts and what a plan takes
// are not the same.
func (s *search) trial(t trial) (trial, error) {
	best := t
	for range 4 {
		if s.over() {
			break
		}
		s.steps++
		g := s.replayed(t.room, t.weights, t.way, mostSpent*s.given)
		if g == nil {
			t.room += t.room / 8
			continue
		}
		e, err := s.drafted(&t, g)
		if err != nil {
			return best, err
		}
		t.changed = g
		if s.roomFor(e.Outside) && (best.changed == nil || s.compare(t, best) < 0) {
			best = t
		}
		if t.peak <= s.options.Capacity && t.peak > s.options.Capacity*98/100 {
			break
		}
		t.room = int64(float64(t.room) * float64(s.options.Capacity) / float64(t.peak))
	}
	return best, nil
}

// improve changes which values the cheapest of the replays give up. With steps or time it goes on until they are used
// up; otherwise it makes at most `rescues` more rounds, and only while nothing fits.
func (s *search) improve(list []trial) error {
	random := rand.New(rand.NewPCG(s.options.Seed, 1))
	endless := s.options.MaxSteps > 0 || s.options.Budget > 0
	for k := range list[:min(len(list), climbed)] {
		if err := s.climb(&list[k], random); err != nil {
			return err
		}
	}
	if err := s.polish(); err != nil {
		return err
	}
	for k := 0; len(list) > 0 && !s.over() && (endless || s.best == nil && k < rescues); k++ {
		at := &list[k%len(list)]
		if s.best == nil {
			if err := s.shake(at, random); err != nil {
				return err
			}
		}
		if err := s.climb(at, random); err != nil {
			return err
		}
		if k%len(list) == len(list)-1 {
			if err := s.polish(); err != nil {
				return err
			}
		}
	}
	return nil
}

// shake replaces a replay of which no small change is closer to the capacity by one with new weights for all values.
func (s *search) shake(at *trial, random *rand.Rand) error {
	next := trial{weights: at.weights, way: at.way, room: at.room}
	next.factors = make([]float64, len(s.base.Values))
	for v := range next.factors {
		next.factors[v] = math.Exp(2*random.Float64() - 1)
	}
	next, err := s.trial(next)
	if err == nil && next.changed != nil {
		*at = next
	}
	return err
}

// climb tries changes of one replay, and keeps what is no worse.
func (s *search) climb(at *trial, random *rand.Rand) error {
	if at.factors == nil {
		at.factors = slices.Repeat([]float64{1}, len(s.base.Values))
	}
	for range changes {
		if s.over() {
			return nil
		}
		next, err := s.neighbour(at, random)
		if err != nil {
			return err
		}
		if next.changed != nil && s.compare(next, *at) <= 0 {
			*at = next
		}
	}
	if at.peak > s.options.Capacity {
		return nil
	}
	_, err := s.settle(at.changed)
	return err
}

// neighbour is a replay with some weights changed, most of them of values that were given up. Without a graph it costs
// too much.
func (s *search) neighbour(at *trial, random *rand.Rand) (trial, error) {
	next := *at
	next.changed, next.factors = nil, slices.Clone(at.factors)
	var given []int
	for v, of := range at.of {
		if of >= 0 {
			given = append(given, s.numbers[at.Values[at.root(v)].Name])
		}
	}
	for range 1 + random.IntN(3) {
		v := random.IntN(len(next.factors))
		if len(given) > 0 && random.IntN(3) > 0 {
			v = given[random.IntN(len(given))]
		}
		next.factors[v] *= math.Exp(4*random.Float64() - 2)
	}
	next.room = int64(float64(at.room) * (0.98 + 0.04*random.Float64()))
	s.steps++
	most := at.extra
	if at.peak > s.options.Capacity {
		most = mostSpent * s.given
	}
	g := s.replayed(next.room, next.weights, next.way, most)
	if g == nil {
		return next, nil
	}
	e, err := s.drafted(&next, g)
	if err != nil {
		return next, err
	}
	if s.roomFor(e.Outside) {
		next.changed = g
	}
	return next, nil
}

// kinds lists what may be chosen: all, or one of the two.
func (o *Options) kinds() (list []way) {
	for _, w := range []way{{again: true, moves: true}, {again: true}, {moves: true}} {
		if (!w.moves || o.Outside != nil) && (!w.again || !o.NoAgain) {
			list = append(list, w)
		}
	}
	return list
}

// variants lists the weights that replays begin with.
func variants() (list []weights) {
	for _, straight := range []bool{true, false} {
		for _, cost := range []float64{1, 0.5} {
			for _, ahead := range []float64{1, 0.5, 0, 2} {
				list = append(list, weights{cost: cost, ahead: ahead, straight: straight})
			}
		}
	}
	return list
}
