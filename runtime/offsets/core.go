package offsets

const (
	// coreItems about the largest load are placed first.
	coreItems = 200
	// coreSweepUnits and coreTreeUnits are the work of the sweeps, and then of the tree, that place them.
	coreSweepUnits, coreTreeUnits = 1_600_000, 16_000_000
	// coreSweeps are made from a core, and the best is kept; one with more than manyItems.
	coreSweeps = 4
	// attempts are made to get past what finds no room. In all of them as many items as there are, and placedAgain
	// more, may be placed again.
	attempts, placedAgain = 100, 1_000_000
	// fewAbove and manyAbove are the reciprocals of the part of the goal that their limit is above it: with many items,
	// hot places are rarer and shorter, and there is less time for each.
	fewAbove, manyAbove = 24, 64
)

// core is what lives about the largest load, placed as if there was nothing else.
type core struct {
	span
	items  []int32
	offset []int64
}

// byCore sweeps outward from a core, with attempts to get past what finds no room. Where few are alive at once and
// many over time, a few hot places in time decide the frame, and everything that began before is in the way there. It
// says whether the frame is far enough above the bound for that.
func (p *packing) byCore() bool {
	if !p.plain || !p.local() || !p.above(near) {
		return false
	}
	limit := p.coreLimit()
	if p.sweepAbout(p.core(limit), limit) {
		p.keep("outward sweep")
	}
	return true
}

// coreLimit is the limit of sweeps from a core.
func (p *packing) coreLimit() int64 {
	part := int64(fewAbove)
	if len(p.in.items) > manyItems {
		part = manyAbove
	}
	goal := max(p.d.bound, p.target)
	return goal + goal/part
}

// sweepAbout keeps the best of some sweeps on the ground, and says whether one came to the end. Without a core they
// begin at the section with the largest load.
func (p *packing) sweepAbout(c *core, limit int64) bool {
	sweeps, least := coreSweeps, len(p.in.items)+1
	if len(p.in.items) > manyItems {
		sweeps = 1
	}
	if c != nil { // no sweep moves it
		for k, i := range c.items {
			p.ground.offset[i] = c.offset[k]
		}
	}
	var best []int64
	for ; sweeps > 0 && least > 0 && !p.over(); sweeps-- {
		w := p.sweeping(limit)
		w.attempts, w.again, w.taste = attempts, placedAgain+int64(len(p.in.items)), tastes[p.outward%2]
		if c != nil {
			w.core = c.span
		}
		lost, finished := p.in.outwards(p.ground.offset, w)
		if !finished {
			break
		}
		if lost < least {
			least = lost
			best = append(best[:0], p.ground.offset...)
		}
	}
	copy(p.ground.offset, best)
	return best != nil
}

// core places what lives about the largest load below a limit: the longest stretch of time for which that succeeds, of
// those with few items. It is nil where none does.
func (p *packing) core(limit int64) *core {
	var c *core
	load := p.in.load()
	peak := peakOf(load)
	for _, part := range []int64{32, 16, 8, 6, 5} {
		hot := around(load, peak, limit-limit/part)
		items := p.in.within(hot)
		if len(items) > coreItems || p.tick(int64(len(p.in.items))) {
			break
		}
		if offset := p.placeCore(p.in.cutTo(hot, items, nil, nil).in, limit); offset != nil {
			c = &core{hot, items, offset}
		}
	}
	return c
}

// placeCore places few items below a limit; nil when that failed. Outward sweeps are quick, and the tree finds what
// they do not.
func (s *solver) placeCore(in *instance, limit int64) []int64 {
	offset := make([]int64, len(in.items))
	stop := s.units + coreSweepUnits
	for k := 0; s.units < stop && !s.over(); k++ {
		w := sweeping{taste: tastes[k%len(tastes)], below: limit, seed: s.random.Uint64(),
			grant: 500 * int64(len(in.items)), tick: s.tick}
		s.spend(1 + int64(len(in.items)/itemsPerStep))
		if lost, finished := in.outwards(offset, w); lost == 0 && finished {
			return offset
		}
	}
	t := newTree(in)
	t.tick = s.tick
	defer func() { s.spend(t.nodes) }()
	stop = s.units + coreTreeUnits
	s.tick(2 * in.volume())
	for k := int64(0); s.units < stop && !s.over(); k++ {
		t.prepare(s.random, k)
		switch found, proved := t.ask(limit, int64(2*len(in.items)+200)*luby(k+1)); {
		case found:
			return t.offset
		case proved:
			return nil
		}
	}
	return nil
}
