package offsets

import "slices"

const (
	// The lowest limit is above the goal by goal/closeTo at first, then, while all hot places succeed, by so small a
	// part of that each time, that of many items by a larger one; below goal/closest it is the goal. Beyond ended there
	// is no stretching.
	closeTo              = 105
	closer, closerOfMany = 32, 4
	closest              = 256 * closeTo
	ended                = closer * closest
	// Limits between the lowest and the frame are at least goal/finest apart.
	finest = 500
	// A hot place has stretchChain ejections before it is placed anew.
	stretchChain = 200
	// fewEjections place a hot place of many items anew in the first round below a limit, moreEjections one of fewer,
	// growEjections is by how many times that grows from then on, manyEjections the most.
	fewEjections, moreEjections, growEjections, manyEjections = 2_000, 20_000, 4, 2_000_000
	// mergeEjections merge a hot place with what lives beyond it at most.
	mergeEjections = 4_000
	// unitsPerEjection is the work of a tree for a core, for each ejection beyond fewEjections.
	unitsPerEjection = 500
	// stretchPeaks of a hot place are tried as the middle of a core. From a core stretchSweeps are made; of those that
	// place everything, stretchDisplacements are tried in the whole.
	stretchPeaks, stretchSweeps, stretchDisplacements = 3, 4, 2
	// placedAgainEach times as many items as a hot place has may be placed again by a sweep.
	placedAgainEach = 20
	// stretchShare is how many times the work of mending stretching may have.
	stretchShare = 24
	// stretchItems are too few to have hot places far from each other: the tree searches them as a whole.
	stretchItems = 1000
	// stretchLength is the longest hot place, in reaches to each side.
	stretchLength = 32
)

// stretching places anew what is above a limit close to the goal. A few hot places in time decide the frame, far from
// each other; between them are valleys of the load, where what two of them need can be brought together. So a hot place
// is placed anew from valley to valley, with what is alive at the same time as that: what reaches beyond both stays.
// Many items have more hot places, which have less time each. They are placed as if there was nothing else, which is
// quicker, and what is in their way beyond the valleys is ejected or placed anew with them. Where all succeed, the next
// limit is closer to the goal; where some fail, limits between that and the frame follow, and then there is more work
// for each. It takes turns with mending, which lowers what reaches highest.
type stretching struct {
	*mender
	reach  int32 // twice the mean life
	part   int64 // 1/part of the goal is between it and the lowest limit
	aim    int64 // the limit of the next round; 0: the lowest
	least  int   // ejections for a hot place at the lowest limit
	most   int   // the same in this round
	first  int   // the same in the first round below a limit
	closer int64 // how much smaller the next part is
	many   bool  // there are more than manyItems
	spent  int64 // units of stretching
	mended int64 // units of mending
	placed int   // hot places placed anew, in all rounds
	gained bool  // the last round lowered the frame
}

// stretches says whether the next round is one of stretching, for which few are alive at once. Limits that the frame is
// below are skipped.
func (a *area) stretches(goal int64) bool {
	if a.hot == nil {
		if a.load == nil {
			a.load, a.plain = a.in.load(), a.in.plain()
		}
		reach := 1 + int32(2*a.in.meanLife())
		a.hot = &stretching{reach: reach, part: ended, first: moreEjections, closer: closer,
			many: len(a.in.items) > manyItems}
		if a.hot.many {
			a.hot.first, a.hot.closer = fewEjections, closerOfMany
		}
		a.hot.least = a.hot.first
		if a.plain && a.in.alivePerSection() <= crowded {
			a.hot.part = closeTo
		}
	}
	h := a.hot
	for h.part < ended && h.lowest(goal) >= a.frame {
		h.descend()
	}
	return h.part < ended && (h.gained || h.spent <= stretchShare*h.mended)
}

// lowest is the limit that all hot places are to come below.
func (h *stretching) lowest(goal int64) int64 {
	if h.part >= closest {
		return goal
	}
	return goal + goal/h.part
}

// descend goes on to the next such limit: the goal comes last, for many items more than once.
func (h *stretching) descend() { h.part, h.aim, h.least = h.closer*h.part, 0, h.first }

// stretch makes a round of stretching.
func (s *solver) stretch(a *area, goal int64) {
	if a.mender == nil {
		a.mender = a.newMender(s)
	}
	h, units, frame := a.hot, s.units, a.frame
	h.mender = a.mender
	h.chain = stretchChain
	lowest := h.lowest(goal)
	all := h.aim <= lowest || h.aim >= frame
	if h.limit, h.most = h.aim, min(h.least, growEjections*h.first); all {
		h.limit, h.most = lowest, h.least
	}
	h.lowerAll(all)
	a.settle("mending")
	h.gained = a.frame < frame
	s.tick(h.ground.spent())
	h.spent += s.units - units
	if s.over() {
		return
	}
	left := a.frame > h.limit
	switch {
	case left && all && h.placed == 0: // no hot place was placed anew: it is not worth more
		h.part = ended
	case left:
		h.aim = h.limit + (a.frame-h.limit)/2
	case all:
		h.descend()
	default:
		h.aim = lowest + (h.limit-lowest)/2
	}
	if left && all {
		h.least = min(manyEjections, growEjections*h.least)
	}
	if a.frame-h.aim < goal/finest || h.aim-lowest < goal/finest {
		h.aim = 0
	}
}

// lowerAll puts what ends above the limit below it, the highest first. Unless all is set, it ends with the first item
// that fails.
func (h *stretching) lowerAll(all bool) {
	hopeless := map[int32]bool{} // by where a hot place begins
	for _, i := range h.above() {
		if h.s.over() || h.s.tick(h.ground.spent()) {
			return
		}
		if h.ground.end(i) <= h.limit {
			continue
		}
		at := h.ground.offset[i]
		h.ground.remove(i)
		h.seen[i] = lifted
		h.s.spend(1)
		if h.eject(i, h.chain) {
			continue
		}
		peak := h.peak(i)
		place := h.valleys(peak, h.reach).first
		if !hopeless[place] && h.stretch(i, peak) {
			h.placed++
			continue
		}
		hopeless[place] = true
		h.ground.offset[i], h.seen[i] = at, 0
		h.ground.put(i)
		if !all {
			return
		}
	}
}

// stretch places the hot place about a peak anew, with a lifted item. Where what is beyond the valleys finds no other
// place, it goes on to valleys that are farther away.
func (h *stretching) stretch(i, peak int32) bool {
	for reach := h.reach; reach <= 4*h.reach; reach += h.reach {
		h.query++
		x := h.valleys(peak, reach)
		free := h.list(x, []int32{i}, stackItems)
		if len(free) > stackItems || h.s.tick(h.ground.spent()) {
			return false
		}
		offset := h.offsets(free)
		if !h.many {
			return h.merge(i, free, offset, h.most)
		}
		in := h.in.cutTo(x, free, nil, nil).in
		displace := func(offset []int64) bool { return h.displace(i, free, offset, searchEjections) }
		sweep := func() (placed, laid bool) { return h.apart(in, displace) }
		eject := func() (placed, laid bool) {
			placed = h.s.elastic(in, offset, h.limit, h.most)
			return placed, placed && (displace(offset) || h.merge(i, free, offset, min(h.most, mergeEjections)))
		}
		// Ejections are quick where few stick out; sweeps from a core need less luck where the load is close to the
		// limit.
		ways := []func() (placed, laid bool){eject, sweep}
		if h.most > fewEjections {
			slices.Reverse(ways)
		}
		placed := false
		for _, way := range ways {
			found, laid := way()
			if laid {
				return true
			}
			placed = placed || found
		}
		if !placed {
			return false
		}
	}
	return false
}

// apart places what is at a hot place as if there was nothing else: a core about one of its peaks, and outward sweeps
// from there. It says whether there was a placement, and whether one of them could be laid.
func (h *stretching) apart(in *instance, lay func(offset []int64) bool) (placed, laid bool) {
	load, offset := in.load(), make([]int64, len(in.items))
	units := int64(h.most-fewEjections) * unitsPerEjection
	tried := span{}
	for range stretchPeaks {
		peak := peakBeside(load, tried)
		if peak < 0 {
			break
		}
		c := h.s.core(in, load, peak, h.limit, units)
		if h.s.over() {
			break
		}
		if c == nil {
			tried = tried.with(peak)
			continue
		}
		tried = tried.with(c.first).with(c.end - 1)
		displacements := stretchDisplacements
		for k := 0; k < stretchSweeps && displacements > 0; k++ {
			w := sweeping{preference: preferences[k%2], below: h.limit, seed: h.s.random.Uint64(), tick: h.s.tick,
				grant: 500 * int64(len(in.items)), attempts: attempts, again: placedAgainEach * int64(len(in.items))}
			c.lay(&w, offset)
			h.s.spend(1 + int64(len(in.items)/itemsPerStep))
			lost, finished := in.outwards(offset, w)
			if !finished || h.s.over() {
				return placed, false
			}
			if lost == 0 {
				if displacements--; lay(offset) {
					return true, true
				}
				placed = true
			}
		}
		if placed {
			break
		}
	}
	return placed, false
}

// peakBeside is the first section with the largest load of those that are not in a stretch of time, negative without
// one.
func peakBeside(load []int64, x span) int32 {
	peak := nothing
	for t, bytes := range load {
		if (int32(t) < x.first || int32(t) >= x.end) && (peak < 0 || bytes > load[peak]) {
			peak = int32(t)
		}
	}
	return peak
}

// with is the shortest span that holds x and a section.
func (x span) with(section int32) span {
	if x.first == x.end {
		return span{section, section + 1}
	}
	return span{min(x.first, section), max(x.end, section+1)}
}

// offsets are those of some items.
func (h *stretching) offsets(items []int32) []int64 {
	at := make([]int64, len(items))
	for k, i := range items {
		at[k] = h.ground.offset[i]
	}
	return at
}

// merge lays items at new offsets, of which item i lay nowhere, and places anew what lives with them where that is in
// the way, with so many ejections at most. What reaches beyond all of them in time stays.
func (h *stretching) merge(i int32, free []int32, offset []int64, most int) bool {
	hull := h.in.hull(free)
	h.query++
	for _, x := range free {
		if x != i {
			h.seen[x] = h.query
		}
	}
	all := h.list(hull, slices.Clone(free), stackItems)
	if len(all) > stackItems {
		return false
	}
	movable, fixed := all[:len(free)], []int32{}
	for _, x := range all[len(free):] {
		if it := &h.in.items[x]; it.first < hull.first || it.end > hull.end {
			fixed = append(fixed, x)
		} else {
			movable = append(movable, x)
		}
	}
	w := h.in.cutTo(hull, movable, fixed, h.ground.offset)
	h.clip(w)
	offset = append(offset, h.offsets(w.from[len(free):])...)
	if !h.s.elastic(w.in, offset, h.limit, most) {
		return false
	}
	h.move(i, w, offset)
	h.seen[i] = 0
	return true
}

// valleys are the sections about a peak: as far as the load stays above three quarters of the limit, and from there to
// the least load within reach on both sides, both valleys included.
func (h *stretching) valleys(peak, reach int32) span {
	load, far := h.load, stretchLength*h.reach
	begin, end := max(0, peak-far), min(int32(len(load)), peak+far)
	x := around(load[begin:end], peak-begin, min(load[peak], h.limit-h.limit/4))
	x.first, x.end = x.first+begin, x.end+begin
	low, high := max(0, x.first-reach), min(int32(len(load)), x.end+reach)
	h.ground.cost += int64(high - low)
	return span{low + least(load[low:x.first+1]), x.end + least(load[x.end-1:high])}
}

// least is the index of the least.
func least(load []int64) int32 { return int32(slices.Index(load, slices.Min(load))) }
