package offsets

const (
	// leastCore to coreItems about a peak of the load are placed first: a quarter more at a time.
	leastCore, coreItems = 50, 363
	// leastSweepUnits to sweepUnits are the work of the sweeps that place them, coreTreeUnits that of the tree.
	leastSweepUnits, sweepUnits, coreTreeUnits = 200_000, 1_600_000, 16_000_000
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
	limit, load := p.coreLimit(), p.in.load()
	if p.sweepAbout(p.core(p.in, load, peakOf(load), limit, coreTreeUnits), limit) {
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
	var best []int64
	for ; sweeps > 0 && least > 0 && !p.over(); sweeps-- {
		w := p.sweeping(limit)
		w.attempts, w.again, w.preference = attempts, placedAgain+int64(len(p.in.items)), preferences[p.outward%2]
		c.lay(&w, p.ground.offset)
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

// lay puts a core, if there is one, where a sweep begins.
func (c *core) lay(w *sweeping, offset []int64) {
	if c == nil {
		return
	}
	w.core = c.span
	for k, i := range c.items {
		offset[i] = c.offset[k]
	}
}

// core places what lives about a peak of the load below a limit: the longest stretch of time for which that succeeds,
// of those with few items, with so much work for a tree. It is nil where none does.
func (s *solver) core(in *instance, load []int64, peak int32, limit, units int64) *core {
	var c *core
	g := in.newGrowing(load, peak)
	for most := int32(leastCore); most <= coreItems; most += most / 4 {
		if !g.grow(most) {
			continue
		}
		if s.tick(int64(len(in.items))) {
			break
		}
		items := in.within(g.span)
		offset := s.placeCore(in.cutTo(g.span, items), limit, units)
		if offset == nil {
			break
		}
		c = &core{g.span, items, offset}
	}
	return c
}

// growing is a stretch of time about a peak of the load.
type growing struct {
	span
	load         []int64
	begun, ended []int32 // by section: so many items have begun, and ended, before it
}

func (in *instance) newGrowing(load []int64, peak int32) *growing {
	g := &growing{span: span{peak, peak + 1}, load: load, begun: make([]int32, len(load)+1),
		ended: make([]int32, len(load)+1)}
	for i := range in.items {
		if it := &in.items[i]; it.size > 0 {
			g.begun[it.first+1]++
			g.ended[it.end]++
		}
	}
	for t := range load {
		g.begun[t+1] += g.begun[t]
		g.ended[t+1] += g.ended[t]
	}
	return g
}

// grow takes the section with the larger load of the two beside, again and again, while no more than so many items live
// in all. It says whether it took one.
func (g *growing) grow(most int32) (more bool) {
	for g.first > 0 || int(g.end) < len(g.load) {
		x := g.span
		if x.first == 0 || int(x.end) < len(g.load) && g.load[x.end] > g.load[x.first-1] {
			x.end++
		} else {
			x.first--
		}
		if g.begun[x.end]-g.ended[x.first] > most {
			break
		}
		g.span, more = x, true
	}
	return more
}

// placeCore places few items below a limit; nil when that failed. Outward sweeps are quick, and the tree finds what
// they do not.
func (s *solver) placeCore(in *instance, limit, units int64) []int64 {
	offset := make([]int64, len(in.items))
	stop := s.units + min(sweepUnits, leastSweepUnits+units/8)
	for k := 0; s.units < stop && !s.over(); k++ {
		w := sweeping{preference: preferences[k%len(preferences)], below: limit, seed: s.random.Uint64(),
			grant: 500 * int64(len(in.items)), tick: s.tick}
		s.spend(1 + int64(len(in.items)/itemsPerStep))
		if lost, finished := in.outwards(offset, w); lost == 0 && finished {
			return offset
		}
	}
	t := newTree(in)
	t.tick = s.tick
	defer func() { s.spend(t.nodes) }()
	stop = s.units + units
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
