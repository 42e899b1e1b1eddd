package offsets

import (
	"math"
	"slices"
)

// draft is a complete placement in one space.
type draft struct {
	offset []int64
	frame  int64
	bound  int64 // proved
	method string
}

const (
	// fewItems may take their time: every rule, and steps of a search for each item.
	fewItems = 20_000
	// baseUnits and itemUnits are the work that is done unasked.
	baseUnits, itemUnits = 40_000_000, 200
	// near is the reciprocal of the gap below which little sticks out.
	near = 8
	// crowd is how many items alive at once are more for orders than for trees.
	crowd = 60
	// unaskedCost is the cost of the placements that a squeaky wheel may take unasked.
	unaskedCost = 20_000_000
	// goalSteps are the steps that are taken unasked to reach a goal.
	goalSteps = 1_000_000
	// tight is the reciprocal of the gap below which a large input needs no skyline.
	tight = 100
)

// packing is one instance on its way into one space.
type packing struct {
	*solver
	in     *instance
	load   *peaks
	ground *shelf
	d      *draft
	alive  int64  // the mean of a section
	plain  bool   // nothing is pinned or has gaps
	tried  []bool // by rule
	filled bool   // by skyline
}

// pack places an instance in one space. First it does what it would do unasked, whatever was granted, so that more
// time never gives a worse answer: rules, and repair of what sticks out. Then it searches for the goal, and last for
// less, while the grant lasts.
func (s *solver) pack(in *instance) *draft {
	load := in.load()
	p := &packing{solver: s, in: in, load: newPeaks(load), ground: newShelf(in, make([]int64, len(in.items))),
		d: &draft{bound: in.lowerBound(load)}, alive: in.alivePerSection(), plain: in.plain(),
		tried: make([]bool, len(rules))}
	granted := s.search
	s.search = false
	s.limited(baseUnits+itemUnits*int64(len(in.items)), none, p.unasked)
	if s.goal > 0 && p.d.bound <= s.goal && p.d.frame > s.goal {
		p.reach(granted)
	}
	if s.search = granted; granted {
		p.deepen()
	}
	return p.d
}

// reach searches for the goal with what was granted, or else with so many steps.
func (p *packing) reach(granted bool) {
	target := p.target
	p.search, p.target = true, p.goal
	if granted {
		p.deepen()
	} else {
		p.limited(none, goalSteps, p.deepen)
	}
	p.target = target
}

// unasked does what needs no grant.
func (p *packing) unasked() {
	p.surely()
	p.byRules(true)
	p.bySweepBack()
	if p.plain && (len(p.in.items) <= fewItems && !p.done(p.d) || p.d.frame-p.d.bound > p.d.bound/tight) {
		p.bySkyline()
	}
	cost := p.alive * int64(len(p.in.items))
	if rounds := min(50, unaskedCost/max(1, cost)); !p.done(p.d) && p.alive > crowd && rounds > 0 {
		p.squeak(p.in, p.ground, p.d, int(rounds))
		p.improved(p.d.frame, p.d.bound)
	}
	if !p.done(p.d) && p.alive <= windowItems/2 {
		p.improve(p.in, p.d, false)
	}
}

// surely makes a first placement of what may be too much for a rule, by what is cheapest.
func (p *packing) surely() {
	switch {
	case p.affords():
	case p.plain:
		p.spend(1)
		p.in.swept(p.ground.offset, false, p.tick, false)
		p.keep("sweep")
	default:
		p.spend(1)
		p.in.stacked(p.ground.offset, p.tick)
		p.keep("stack")
	}
}

// bySweepBack goes through time the other way where a sweep was the first answer.
func (p *packing) bySweepBack() {
	if p.affords() || !p.plain || p.done(p.d) || p.halted() {
		return
	}
	p.spend(1)
	if p.in.swept(p.ground.offset, true, p.tick, true) {
		p.keep("sweep")
	}
}

// affords says that all rules together are quick.
func (p *packing) affords() bool {
	return len(p.in.items) <= fewItems && p.alive*int64(len(p.in.items)) <= 1_000_000
}

// byRules tries the rules that were not tried, each that the work allowed is likely to suffice for.
func (p *packing) byRules(mend bool) {
	cost := 3 * p.alive * int64(len(p.in.items))
	for k := range rules {
		if p.tried[k] || p.d.offset != nil && (p.done(p.d) || p.halted() || cost > p.allowance-p.units) {
			continue
		}
		p.tried[k] = true
		p.tryRule(&rules[k])
		// Where little sticks out, mending is cheaper than more rules, the second one of a large input included.
		early := k == 1 || k == 0 && len(p.in.items) > fewItems
		if mend && early && !p.done(p.d) && p.d.frame-p.d.bound <= p.d.bound/near {
			p.improve(p.in, p.d, true)
		}
	}
}

// bySkyline takes an instance without pins and gaps.
func (p *packing) bySkyline() {
	p.spend(1)
	if p.in.skylined(p.ground.offset, p.tick, true) {
		p.filled = true
		p.keep("skyline")
	}
}

// deepen goes on while the grant lasts.
func (p *packing) deepen() {
	if p.done(p.d) || p.over() {
		return
	}
	if p.alive > crowd || len(p.in.items) > treeItems {
		p.byRules(false)
	}
	if p.plain && !p.filled && !p.done(p.d) && p.d.frame-p.d.bound > p.d.bound/tight {
		p.bySkyline()
	}
	if !p.done(p.d) && p.alive > crowd {
		p.squeak(p.in, p.ground, p.d, math.MaxInt)
		p.improved(p.d.frame, p.d.bound)
	}
	if !p.done(p.d) {
		p.improve(p.in, p.d, false)
	}
}

// keep takes the placement on the ground if it is better.
func (p *packing) keep(method string) {
	p.d.keep(p.ground.offset, p.in.frame(p.ground.offset), method)
	p.improved(p.d.frame, p.d.bound)
}

// keep takes a placement that is better.
func (d *draft) keep(offset []int64, frame int64, method string) {
	if d.offset == nil || frame < d.frame {
		d.offset = append(d.offset[:0], offset...)
		d.frame, d.method = frame, method
	}
}

// alivePerSection is the mean number of items alive in a section.
func (in *instance) alivePerSection() int64 {
	sum := int64(0)
	for i := range in.items {
		sum += int64(in.items[i].end - in.items[i].first)
	}
	return sum / int64(max(1, in.sections))
}

// plain says that nothing is pinned or has gaps.
func (in *instance) plain() bool {
	return !slices.ContainsFunc(in.items, func(it item) bool { return it.pinned >= 0 || it.holes > 0 })
}

// done says that d needs no more work.
func (s *solver) done(d *draft) bool { return d.frame <= max(d.bound, s.target) }

// tryRule places by one rule, and keeps the result if it is the best.
func (p *packing) tryRule(r *rule) {
	if p.place(p.in, p.ground, p.in.order(r, p.load), r.tight, p.d.offset != nil) {
		p.d.keep(p.ground.offset, p.ground.frame, r.name)
		p.improved(p.d.frame, p.d.bound)
	}
}

// placeBy puts one item after the other as low as it can go.
func (s *solver) placeBy(in *instance, ground *shelf, order []int32) {
	s.place(in, ground, order, false, false)
}

// place puts one item after the other as low as it can go, or into the tightest hole. With stop it may give up, and
// says whether it did not.
func (s *solver) place(in *instance, ground *shelf, order []int32, tightest, stop bool) bool {
	s.spend(1 + int64(len(order)/itemsPerStep))
	ground.reset()
	for _, i := range order {
		it := &in.items[i]
		switch {
		case it.pinned >= 0:
			ground.offset[i] = it.pinned
		case tightest:
			ground.offset[i] = ground.tightest(it)
		default:
			ground.offset[i] = ground.lowest(it)
		}
		ground.put(i)
		if s.tick(ground.spent()) && stop {
			return false
		}
	}
	return true
}
