package remat

import (
	"math"
	"slices"
)

// maxVain choices in a row after which no fewer bytes are above the goal end a way.
const maxVain = 24

// way is how a fitter chooses.
type way struct {
	greed        float64 // the power of the benefit when it is weighed against the cost
	again, moves bool    // what it may choose
	share        float64 // of the capacity, which is what it aims at
	careful      bool    // what is alive while values are computed again counts against a choice
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
			w.share = share
			for _, w.greed = range []float64{1, 0.5, 2, 4} {
				list = append(list, w)
			}
			w.careful = true
			for _, w.greed = range []float64{1, 2} {
				list = append(list, w)
			}
		}
		if share == 1 && !o.NoAgain {
			for segment := 2; segment <= 8; segment++ {
				for _, careful := range []bool{true, false} {
					list = append(list, way{greed: 1, again: true, share: 1, segment: segment, careful: careful})
				}
			}
		}
	}
	return list
}

// fitter is one way to a plan that fits.
type fitter struct {
	*search
	c *changed
	way
}

// fit gives values up, one at a time, until the plan fits.
func (f *fitter) fit() error {
	if f.segment > 0 {
		if err := f.segments(); err != nil {
			return err
		}
	}
	limit := f.options.Capacity
	goal := int64(f.share * float64(limit))
	least := int64(math.MaxInt64)
	for vain := 0; vain < maxVain && !f.over(); vain++ {
		e, err := f.draft(f.c)
		if err != nil {
			return err
		}
		if !f.roomFor(e.Outside) {
			f.c, f.moves = f.c.without(f.c.choices-1), false // the last choice was one too many
			if f.c == nil {
				return nil
			}
			continue
		}
		peak := e.Frame.Order.Peak
		if peak <= limit {
			if done, err := f.settle(f.c); done || err != nil {
				return err
			}
			// The bytes alive fit and the addresses do not: fewer have to be alive.
			limit = peak - 1 - peak/64
			goal, least = min(goal, limit), math.MaxInt64
		}
		l := newLive(f.c.Checked, e)
		if above := l.above(goal); above < least {
			least, vain = above, 0
		}
		x := f.choose(l, goal)
		if x == nil {
			return nil
		}
		f.c.apply(x)
	}
	return nil
}

// choose returns what to give up where most is alive: what lowers the bytes above the goal by most for its cost.
func (f *fitter) choose(l *live, goal int64) *choice {
	var best *choice
	worth := 0.0
	worst := slices.Index(l.bytes, slices.Max(l.bytes))
	for _, b := range l.idle(worst) {
		for _, x := range f.choices(l, b, worst) {
			benefit := l.benefit(x, goal)
			if f.careful && benefit > 0 {
				benefit -= f.c.overshoot(l, x, goal)
			}
			if benefit <= 0 || l.relief(x, worst) <= 0 {
				continue
			}
			x.cost = f.c.transferCost(x, f.options.Cost)
			for _, i := range x.nodes {
				x.cost += f.nodeCost(f.c, i)
			}
			if w := math.Pow(float64(benefit), f.greed) / (x.cost + 1e-12); w > worth {
				best, worth = x, w
			}
		}
	}
	return best
}

// choices lists the ways to have a buffer free at a node.
func (f *fitter) choices(l *live, buffer, at int) (list []*choice) {
	nodes := -1
	for _, depth := range []int{1, 2, 3, 5, 8, 16, 64} {
		x := f.c.giveUp(l, buffer, at, depth)
		if x == nil || !f.again && !f.c.onlyMoves(x) {
			continue
		}
		if len(x.nodes) == nodes {
			break // what lies deeper is there
		}
		nodes = len(x.nodes)
		list = append(list, x)
	}
	if x := f.c.moveOut(l, buffer, at); f.moves && x != nil {
		list = append(list, x)
	}
	return list
}
