package offsets

import "slices"

const (
	// treeItems may be searched as a whole, if the work of a node is not above treeVolume; others are mended.
	treeItems, treeVolume = 4000, 1_000_000
	// baseSteps and itemSteps are the tree nodes and the ejections that are spent unasked.
	baseSteps, itemSteps = 120_000, 32
	// vainMends in a row end the unasked mending of what is too large for a tree; of a crowd crowdVainMends send a
	// search back to sweeps.
	vainMends, crowdVainMends = 8, 4
)

// area is a component that reaches above the bound of the instance: an instance
// of its own.
type area struct {
	in     *instance
	from   []int32 // the item of the whole instance, by item
	offset []int64 // the best placement so far
	frame  int64
	bound  int64
	grain  int64 // divides every canonical frame
	large  bool  // it is too much for a tree
	tree   *tree // it remembers what failed
	asked  int64 // how often
	// The work of the tree, and of ejections: what had less is next.
	searched, ejected int64
	ejector           *ejector // whose ground is offset
	most              int      // the ejections of the next search
	round             int64
	vain              int
	method            string
}

// repair is the draft as its areas, which stay as they are from one improvement to the next.
type repair struct {
	areas   []*area
	rest    int64 // the frame of the other components
	version int   // of the draft
	target  int64 // of the search
}

// improve lowers the frame of the draft, component by component: always the one with the largest frame, since that is
// the frame of all. It ends after so many searches in a row that were in vain, if that is not 0.
func (p *packing) improve(most int) {
	if p.done(p.d) || p.halted() {
		return
	}
	if r := &p.repair; r.areas == nil || r.version != p.d.version || r.target != p.target {
		r.areas, r.rest = p.areas(p.in, p.d)
		r.version, r.target = p.d.version, p.target
	}
	areas, d := p.repair.areas, p.d
	if len(areas) == 0 {
		return
	}
	stop := p.steps + int64(baseSteps+itemSteps*min(len(p.in.items), fewItems))
	for vain := 0; most == 0 || vain < most; vain++ {
		worst := slices.MaxFunc(areas, func(a, b *area) int { return int(min(1, max(-1, a.frame-b.frame))) })
		d.frame = max(p.repair.rest, worst.frame)
		d.bound = max(d.bound, worst.bound)
		p.improved(d.frame, d.bound)
		if p.done(d) || p.halted() || p.steps >= stop && (!p.search || p.left <= 0) {
			break
		}
		units, steps, frame := p.units, p.steps, worst.frame
		more := p.lower(worst, max(d.bound, p.target, p.repair.rest))
		p.charge(units, steps)
		if !more && !p.search {
			break
		}
		if worst.frame < frame {
			vain = -1
		}
	}
	d.frame = p.repair.rest
	for _, a := range areas {
		d.frame = max(d.frame, a.frame)
		for k, i := range a.from {
			d.offset[i] = a.offset[k]
		}
		if a.method != "" {
			d.method = a.method
		}
	}
	d.version++
	p.repair.version = d.version
}

// areas are the components that reach above the bound, and the frame of the others.
func (s *solver) areas(in *instance, d *draft) (areas []*area, rest int64) {
	for _, items := range in.components() {
		frame := int64(0)
		for _, i := range items {
			frame = max(frame, d.offset[i]+in.items[i].size)
		}
		if frame <= max(d.bound, s.target) {
			rest = max(rest, frame)
			continue
		}
		part := in
		if len(items) == len(in.items) {
			items = in.every()
		} else {
			part = in.only(items)
		}
		a := &area{in: part, from: items, offset: make([]int64, len(items)), frame: frame, grain: part.grain()}
		a.large = len(items) > treeItems || part.volume() > treeVolume
		for k, i := range items {
			a.offset[k] = d.offset[i]
		}
		a.bound = a.ceil(a.in.lowerBound(a.in.load(), s.expired))
		areas = append(areas, a)
	}
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			rest = max(rest, d.offset[i])
		}
	}
	return areas, rest
}

// volume is the sum of all lifetimes, in sections: what a tree reads to set itself up, and may read in a node.
func (in *instance) volume() int64 {
	sum := int64(0)
	for i := range in.items {
		sum += int64(in.items[i].end - in.items[i].first)
	}
	return sum
}

// grain divides the offsets and sizes of every canonical placement.
func (in *instance) grain() int64 {
	g := int64(0)
	for i := 0; i < len(in.items) && g != 1; i++ {
		it := &in.items[i]
		g = gcd(g, it.size)
		if it.mask > 0 {
			g = gcd(gcd(g, it.mask+1), it.residue)
		}
		if it.pinned > 0 {
			g = gcd(g, it.pinned)
		}
	}
	return max(g, 1)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (a *area) ceil(bytes int64) int64 { return (bytes + a.grain - 1) / a.grain * a.grain }

// lower tries to bring an area down to the goal, or else a part of the way there.
// It says whether more of the same may help.
func (s *solver) lower(a *area, goal int64) bool {
	a.round++
	s.spend(1)
	units := s.units
	switch {
	case a.large || a.round == 1:
		return s.mendTowards(a, goal)
	case a.forTree():
		a.ask(s, goal)
		a.searched += s.units - units
	default:
		s.ejectTowards(a, goal)
		a.ejected += s.units - units
	}
	return true
}

// forTree gives the tree a third of the work: it needs few nodes or very many.
func (a *area) forTree() bool {
	if a.in.lacks(PartEjections | PartTree) {
		return !a.in.lacks(PartTree)
	}
	return a.ejected > 2*a.searched
}

// ask searches the whole area by tree. Where nothing fits below the limit, that raises the bound.
func (a *area) ask(s *solver, limit int64) {
	if a.tree == nil {
		a.tree = newTree(a.in)
		a.tree.tick = s.tick
	}
	before := a.tree.nodes
	a.tree.prepare(s.random, a.asked)
	a.asked++
	found, proved := a.tree.ask(limit, int64(2*len(a.in.items)+200)*luby(a.asked/staticEach+1))
	s.spend(a.tree.nodes - before)
	if found {
		a.take(a.tree.offset, "tree")
		a.ejector = nil
	}
	if proved {
		a.bound = a.ceil(limit + 1)
	}
}

// take makes a placement the best one.
func (a *area) take(offset []int64, method string) {
	copy(a.offset, offset)
	a.frame, a.method = a.in.frame(offset), method
}

// luby is the k-th number of the sequence 1 1 2 1 1 2 4 ..., k from 1.
func luby(k int64) int64 {
	for {
		p := int64(1)
		for p < k+1 {
			p <<= 1
		}
		if p == k+1 {
			return p / 2
		}
		k -= p/2 - 1
	}
}

const (
	// stepsDown is the reciprocal of the part of the gap that the next limit is below the frame; after each vainEach
	// searches in vain it is stepShrinks times as large, up to leastStep.
	stepsDown, stepShrinks, leastStep = 8, 4, 128
	vainEach                          = 4
	// fewEjections are made in a search at first, twice as many after each in vain, up to eachMost for each item, and
	// half as many after one that was not.
	fewEjections, eachMost = 200, 50
)

// ejectTowards searches by ejections below a limit that falls from the frame to the goal.
func (s *solver) ejectTowards(a *area, goal int64) {
	part := int64(stepsDown)
	for k := vainEach; k <= a.vain && part < leastStep; k += vainEach {
		part *= stepShrinks
	}
	e := a.ejections(s)
	e.limit = max(goal, a.frame-max(a.grain, (a.frame-goal)/part))
	e.fade()
	a.most = max(a.most, fewEjections)
	if e.place(a.most, e.above()...) {
		a.take(e.ground.offset, "ejections")
		a.vain, a.most = 0, a.most/2
		return
	}
	a.vain++
	a.most = min(eachMost*len(a.in.items), 2*a.most)
}

// ejections begin at the best placement of an area.
func (a *area) ejections(s *solver) *ejector {
	if a.ejector == nil {
		a.ejector = s.newEjector(a.in, a.offset)
	}
	return a.ejector
}

// shortChain is the number of ejections for an item at first; it doubles with every mend in vain, up to longChain.
const shortChain, longChain = 100, 100 << 10

// mendTowards mends a part of the way to the goal, at first and now and then all of it. It says whether more of it
// may help.
func (s *solver) mendTowards(a *area, goal int64) bool {
	limit := goal
	if a.round%8 != 1 {
		limit = max(goal, a.frame-max(a.grain, (a.frame-goal)/stepsDown))
	}
	before := a.frame
	if !a.in.lacks(PartMending) && a.ejections(s).mend(limit, min(longChain, shortChain<<min(a.vain, 10))) {
		a.take(a.ejector.ground.offset, "mending")
	}
	switch {
	case a.frame <= limit:
		a.vain = max(0, a.vain-1)
	case a.round > 1 && before-a.frame <= (before-limit)/4:
		a.vain++
	}
	return a.vain < vainMends
}

// frame is the end of the highest item.
func (in *instance) frame(offset []int64) int64 {
	frame := int64(0)
	for i := range in.items {
		frame = max(frame, offset[i]+in.items[i].size)
	}
	return frame
}
