package offsets

// draft is a complete placement in one space.
type draft struct {
	offset  []int64
	frame   int64
	bound   int64 // proved
	method  string
	version int // how often offset was replaced
}

const (
	// fewItems may take their time: every rule, and steps of a search for each item.
	fewItems = 20_000
	// More than manyItems get one outward sweep unasked; more than twice as many get no slow rules.
	manyItems = 5 * fewItems
	// baseUnits and itemUnits are the work that is done unasked.
	baseUnits, itemUnits = 60_000_000, 200
	// orderUnits is the work of a rule for each pair alive together, crowdUnits what rules may do unasked where they
	// are not quick.
	orderUnits, crowdUnits = 3, 300_000_000
	// goalSteps are the steps that are taken unasked to reach a goal.
	goalSteps = 1_000_000
	// quickWork is the number of pairs alive together up to which rules come before mending.
	quickWork = 1_000_000
	// slowWork is the number of such pairs up to which a search tries all rules, too.
	slowWork = 500_000_000
	// outwardTries are made between two rounds of mending.
	outwardTries = 4
	// crowdLooks are the cells that the ejections of an outward sweep may look at where many are alive at once, beside
	// some for each item.
	crowdLooks = 16_000_000
	// tight is the reciprocal of the gap below which a large input needs no skyline, and many items no outward sweep
	// unasked. Many items have no skyline unasked: none was better than an outward sweep.
	tight = 100
	// tighter is the same for many items, many alive at once, that mending does not come to.
	tighter = 1000
)

// packing is one instance on its way into one space.
type packing struct {
	*solver
	in      *instance
	load    *heights
	ground  *shelf
	d       *draft
	alive   int64  // the mean of a section
	plain   bool   // nothing is pinned or has gaps
	tried   []bool // by rule
	filled  bool   // by skyline, or it cannot be
	sweeps  bool   // outward sweeps can be made
	outward int    // sweeps
	repair  repair
}

// pack places an instance in one space. First it does what it would do unasked, whatever was granted, so that more
// time never gives a worse answer: rules, and repair of what sticks out. Then it searches for the goal, and last for
// less, while the grant lasts.
func (s *solver) pack(in *instance) *draft {
	p := s.newPacking(in)
	warm := p.begun()
	if warm != nil && p.done(warm) {
		return warm
	}
	p.begin()
	if warm != nil && warm.offset != nil {
		p.d.keep(warm.offset, warm.frame, warm.method)
	}
	granted := s.search
	if s.goal > 0 && p.d.bound <= s.goal && p.d.frame > s.goal {
		p.reach(granted)
	}
	if s.search = granted; granted {
		p.deepen()
	}
	return p.d
}

func (s *solver) newPacking(in *instance) *packing {
	load := in.load()
	p := &packing{solver: s, in: in, load: heightsOf(load), ground: newShelf(in, make([]int64, len(in.items))),
		d: &draft{bound: in.lowerBound(load, s.expired)}, alive: in.alivePerSection(), plain: in.plain(),
		tried: make([]bool, len(rules))}
	p.filled, p.sweeps = !p.plain || in.lacks(PartSkyline), p.plain && !in.lacks(PartOutward)
	return p
}

// begin does what needs no grant, with a grant of its own.
func (p *packing) begin() {
	granted := p.search
	p.search = false
	p.limited(baseUnits+itemUnits*int64(len(p.in.items)), none, p.unasked)
	p.search = granted
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

// unasked does what needs no grant, in an order that no grant changes. Where rules are not quick, the skyline comes
// before outward sweeps, and mending takes the place of most rules if it can.
func (p *packing) unasked() {
	many := len(p.in.items) > manyItems // which the skyline places no better than an outward sweep
	if !p.quick() || len(p.in.items) > fewItems {
		p.surely()
		if !many {
			p.besides(p.bySkyline)
		}
		p.besides(p.outwardUnasked)
		if len(p.in.items) <= 2*manyItems {
			p.besides(func() { p.byRules(breadth, size) }) // at their best on training steps
		}
	}
	if p.quick() || !p.local() {
		p.byRules(allRules...)
		if !many {
			p.bySkyline()
		}
	}
	if p.quick() || p.local() {
		p.improve(0)
	}
}

// besides does work with a grant of its own.
func (p *packing) besides(work func()) {
	before := p.units
	p.allowance += crowdUnits
	work()
	p.allowance += p.units - before - crowdUnits
}

// quick says that a rule costs less than mending.
func (p *packing) quick() bool { return p.alive*int64(len(p.in.items)) <= quickWork }

// local says that few enough are alive at once for mending unasked.
func (p *packing) local() bool { return p.alive <= crowded }

// above says that the frame is above the bound by more than a fraction of it.
func (p *packing) above(fraction int64) bool {
	return !p.done(p.d) && p.d.frame-p.d.bound > p.d.bound/fraction
}

// eighths of the way from the goal to the frame are where the limits of outward sweeps begin.
var eighths = []int64{3, 5, 2, 4, 6}

// byOutward sweeps from the largest load so often, below limits between the goal and the frame. Where many are alive
// at once, the limit goes up when something finds no room; else that is for mending.
func (p *packing) byOutward(tries int) {
	for range tries {
		if !p.sweeps || p.done(p.d) || p.over() {
			return
		}
		goal := max(p.d.bound, p.target)
		turn, gap := p.outward%len(eighths), p.d.frame-goal
		w := sweeping{apart: aparts[p.outward%len(aparts)], below: goal + gap/8*eighths[turn], seed: p.random.Uint64(),
			grant: min(crowdLooks, 64*int64(len(p.in.items))) << min(p.outward/2, 8), tick: p.tick}
		if !p.local() {
			w.grant += crowdLooks
			if turn != 3 { // from far below takes long
				w.below, w.most = goal+gap/8*5, p.d.frame
			}
			if p.outward == 0 {
				w.below = goal + max(0, gap/8-goal/tight)
			}
		}
		p.spend(1 + int64(len(p.in.items)/itemsPerStep))
		p.outward++
		if p.in.outwards(p.ground.offset, w) {
			p.keep("outward sweep")
		}
	}
}

// outwardUnasked makes a few outward sweeps where what was placed so far is not close to the bound.
func (p *packing) outwardUnasked() {
	switch many := len(p.in.items) > manyItems; {
	case many && (p.above(tight) || !p.local() && p.above(tighter)):
		p.byOutward(1)
	case !many && p.above(tight):
		p.byOutward(outwardTries - 1)
	}
}

// surely makes a first placement of what may be too much for a rule, by what is cheapest: a sweep, which takes items
// with gaps for whole, or with pins a stack.
func (p *packing) surely() {
	only := func(_ int32, end func(space int) int64) (int, error) {
		end(0)
		p.tick(16)
		return 0, nil
	}
	pinned := p.in.pinned()
	if !pinned {
		p.spend(1)
		_ = p.in.swept(p.ground.offset, 1, only)
		p.keep("sweep")
	}
	if pinned || !p.plain && !p.done(p.d) && !p.halted() {
		p.spend(1)
		_ = p.in.stacked(p.ground.offset, 1, only)
		p.keep("stack")
	}
}

// byRules tries those of some rules that were not tried, or were cut off, each that the work allowed is likely to
// suffice for.
func (p *packing) byRules(list ...int) {
	cost := orderUnits * p.alive * int64(len(p.in.items))
	for _, k := range list {
		first := p.d.offset == nil
		if first || !p.tried[k] && !p.done(p.d) && !p.halted() && cost <= p.allowance-p.units &&
			(k == size || !p.in.lacks(PartOrders)) {
			p.tried[k] = p.tryRule(&rules[k])
		}
	}
}

// bySkyline places an instance without pins and gaps, once.
func (p *packing) bySkyline() {
	if p.filled || p.done(p.d) {
		return
	}
	p.spend(1)
	if p.in.skylined(p.ground.offset, p.tick) {
		p.filled = true
		p.keep("skyline")
	}
}

// deepen goes on while the grant lasts. Of a crowd, mending, rules and sweeps take turns.
func (p *packing) deepen() {
	if p.done(p.d) || p.over() {
		return
	}
	if len(p.in.items) > manyItems && p.outward == 0 {
		p.byOutward(1)
	}
	if p.local() {
		p.slowly()
	}
	for p.sweeps && !p.local() && !p.done(p.d) && !p.over() {
		p.improve(crowdVainMends)
		p.slowly()
		p.byOutward(outwardTries)
	}
	p.improve(0)
}

// slowly tries what was too slow to be tried unasked, but for many items, of which sweeps and mending are better.
func (p *packing) slowly() {
	if len(p.in.items) <= manyItems && p.alive*int64(len(p.in.items)) <= slowWork {
		p.byRules(allRules...)
		p.bySkyline()
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
		d.version++
	}
}

// alivePerSection is the mean number of items alive in a section.
func (in *instance) alivePerSection() int64 {
	return in.volume() / int64(max(1, in.sections))
}

// plain says that nothing is pinned or has gaps.
func (in *instance) plain() bool {
	return !some(in.items, func(it *item) bool { return it.pinned >= 0 || it.holes > 0 })
}

// pinned says that an item is.
func (in *instance) pinned() bool {
	return some(in.items, func(it *item) bool { return it.pinned >= 0 })
}

// done says that d needs no more work.
func (s *solver) done(d *draft) bool { return d.frame <= max(d.bound, s.target) }

// tryRule places by one rule, and keeps the result if it is the best. It says whether the rule was not cut off, as it
// is, but for the first, where its frame is not below that.
func (p *packing) tryRule(r *rule) bool {
	p.spend(1 + int64(len(p.in.items)/itemsPerStep))
	g := p.ground
	g.reset()
	for _, i := range p.in.order(r, p.load) {
		it := &p.in.items[i]
		switch {
		case it.pinned >= 0:
			g.offset[i] = it.pinned
		case r.tight:
			g.offset[i], _ = hole(it, g.around(it), none)
		default:
			g.offset[i] = g.lowest(it)
		}
		g.put(i)
		if late := p.tick(g.spent()); p.d.offset != nil && (late || g.frame >= p.d.frame) {
			return !p.halted()
		}
	}
	p.keep(r.name)
	return true
}
