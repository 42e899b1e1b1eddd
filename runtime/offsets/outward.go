package offsets

import (
	"cmp"
	"math"
	"slices"
)

// outward is a sweep that begins in the section with the largest load, whose items are stacked without a hole between
// them, and goes from there to one end of time, below a limit. Away from that section the load falls, so there is room
// for the holes that a sweep leaves.
//
// An item goes where little is left of the hole, and beside what ends when it ends, so that both leave one hole later.
// Where none fits, those that began lately make room by ejections; nothing that comes later is placed yet, so that
// only the past is in their way.
type outward struct {
	*sweep
	*sweeping
	*marks
	backwards  bool
	limit      int64
	stretch    int64   // by which the limit goes up where nothing else helps, 0: it does not
	floor      int32   // the wall below the first cell
	unplaced   []int32 // what found no room
	mean       float64 // life
	looks      int64   // cells that were looked at since the clock was
	chain      chain
	begin, end []int32 // the items in the order in which they begin, and end
	ended      int     // so many of end are over
}

// sweeping is what outward sweeps are asked for.
type sweeping struct {
	apart float64 // how holes are judged
	below int64   // the limit
	most  int64   // the limit goes up below it while the grant lasts; 0: what finds no room lies above the limit
	seed  uint64
	grant int64 // of cells that ejections may look at
	tick  func(units int64) bool
}

// aparts are weights of the time between the ends of neighbours, which take turns. With 0 the tightest hole is taken:
// it is the best where sizes are few.
var aparts = []float64{1, 0, 4, 2}

const (
	// holesSeen is how many holes are compared for an item.
	holesSeen = 24
	// The first stretch of the limit is so small a part of it, each next one longer by so small a part.
	stretches, longer = 4096, 16
	// forever is the section since which the place of an item is free that no ejection moves.
	forever = math.MaxInt32
)

// outwards places every item. It says whether it came to the end.
func (in *instance) outwards(offset []int64, w sweeping) bool {
	peak := peakOf(in.load())
	stack := in.within(span{peak, peak + 1})
	var unplaced []int32
	m := in.newMarks()
	in.band(stack, w.seed)
	for _, backwards := range []bool{false, true} {
		section := peak
		if backwards {
			section = int32(in.sections) - 1 - peak
		}
		o := in.newOutward(offset, m, &w, backwards, len(stack))
		if !o.stack(stack) || !o.run(section) {
			return false
		}
		w.below = o.limit
		unplaced = append(unplaced, o.unplaced...)
	}
	in.stackAbove(offset, m.where, unplaced, w.below)
	return true
}

// marks are what an outward sweep knows of each item. Both directions share them: the items of the stack alone are
// placed in both, and no chain moves those.
type marks struct {
	where []int32 // its cell, sweep.owner
	since []int32 // its place was free from this section on
	vain  []int32 // how often it found no hole
	moved []int32 // the number of the chain that moved it last
}

func (in *instance) newMarks() *marks {
	n := len(in.items)
	all := make([]int32, 4*n)
	return &marks{all[:n:n], all[n : 2*n : 2*n], all[2*n : 3*n : 3*n], all[3*n:]}
}

// peakOf is the first section with the largest load.
func peakOf(load []int64) int32 { return int32(slices.Index(load, slices.Max(load))) }

// within lists the items that take bytes in a stretch of time.
func (in *instance) within(x span) []int32 {
	var list []int32
	for i := range in.items {
		if it := &in.items[i]; it.size > 0 && it.first < x.end && x.first < it.end {
			list = append(list, int32(i))
		}
	}
	return list
}

// stackAbove places what found no room above the limit. What was to be stacked is lost in both directions.
func (in *instance) stackAbove(offset []int64, owner, unplaced []int32, limit int64) {
	slices.SortFunc(unplaced, func(a, b int32) int {
		return cmp.Or(cmp.Compare(in.items[a].first, in.items[b].first), cmp.Compare(a, b))
	})
	unplaced = slices.Compact(unplaced)
	ends := slices.Clone(unplaced)
	slices.SortFunc(ends, func(a, b int32) int {
		return cmp.Or(cmp.Compare(in.items[a].end, in.items[b].end), cmp.Compare(a, b))
	})
	s := in.newSweep(offset, owner)
	s.cells[s.top].at = limit
	for _, i := range unplaced {
		for ; in.items[ends[0]].end <= in.items[i].first; ends = ends[1:] {
			s.release(ends[0], 0)
		}
		s.take(i)
	}
}

// newOutward makes a sweep with a wall below and one at the limit, and room for so many items.
func (in *instance) newOutward(offset []int64, m *marks, w *sweeping, backwards bool, alive int) *outward {
	for i := range in.items {
		if it := &in.items[i]; it.size == 0 {
			offset[i] = it.up(0)
		}
	}
	o := &outward{sweep: in.newSweep(offset, m.where), sweeping: w, backwards: backwards, limit: w.below, marks: m,
		mean: in.meanLife(), chain: chain{noise: noise(w.seed | 1)}}
	o.cells = slices.Grow(o.cells, 2*alive+2)
	if w.most > 0 {
		o.stretch = max(1, w.below/stretches)
	}
	top := &o.cells[o.top]
	top.at, top.free, top.ends = o.limit, false, forever
	o.floor = o.newCell(cell{before: nothing, after: o.top, ends: forever})
	o.cells[o.top].before = o.floor
	o.free(0)
	return o
}

// free adds a free cell below the limit that begins at an offset.
func (o *outward) free(at int64) {
	k := o.newCell(cell{block: block{at, o.limit}, before: o.cells[o.top].before, after: o.top})
	o.link(k)
	o.list(k)
}

// stack places the items that are alive where the sweep begins. It says whether to go on.
func (o *outward) stack(items []int32) bool {
	for _, i := range items {
		it := &o.in.items[i]
		for o.over(it) && o.stretch > 0 {
			if !o.raise() {
				return false
			}
		}
		if o.over(it) {
			o.giveUp(i)
			continue
		}
		rest := o.cells[o.top].before
		o.settle(i, rest, it.up(o.cells[rest].at))
		o.since[i] = forever
	}
	return true
}

// over says that the highest cell holds an item no more.
func (o *outward) over(it *item) bool {
	rest := &o.cells[o.cells[o.top].before]
	return !rest.free || it.up(rest.at)+it.size > o.limit
}

func (o *outward) giveUp(i int32) {
	o.owner[i] = nothing
	o.unplaced = append(o.unplaced, i)
}

// run places what begins after a section. It says whether it came to the end.
func (o *outward) run(section int32) bool {
	when := func(i int32) span { return o.in.when(i, o.backwards) }
	o.begin, o.end = o.in.byBegin(o.backwards), o.in.byEnd(o.backwards)
	next := 0
	for next < len(o.begin) && when(o.begin[next]).first <= section {
		next++
	}
	for o.ended < len(o.end) && when(o.end[o.ended]).end <= section {
		o.ended++
	}
	for next < len(o.begin) {
		i := o.begin[next]
		for ; when(o.end[o.ended]).end <= when(i).first; o.ended++ {
			if x := o.end[o.ended]; o.owner[x] >= 0 {
				o.release(x, when(x).end)
			}
		}
		k, at := o.choose(i, holesSeen)
		switch {
		case k >= 0:
			o.settle(i, k, at)
			next++
		case o.eject(i):
			next++
		case o.force(i):
			next++
		default:
			return false
		}
		if o.late(16) {
			return false
		}
	}
	return true
}

// late counts the work since it was asked last, and says that there is no time left.
func (o *outward) late(more int64) bool {
	looks := o.looks
	o.looks = 0
	return o.tick(more + 4*looks)
}

// force places an item for which there is no hole and no ejection, above the limit if need be. It says whether to go
// on.
func (o *outward) force(i int32) bool {
	stretch := o.stretch
	defer func() { o.stretch = stretch + stretch/longer }()
	for {
		switch {
		case o.stretch == 0, o.grant < 0:
			o.giveUp(i)
			return true
		case !o.raise(), o.late(0):
			return false
		case o.eject(i):
			return true
		}
	}
}

// raise lifts the limit, unless that is in vain.
func (o *outward) raise() bool {
	at := o.limit
	o.limit += o.stretch
	o.stretch += o.stretch / 2
	if o.limit >= o.most {
		return false
	}
	o.extend(at)
	return true
}

// extend makes what is between an earlier limit and this one free.
func (o *outward) extend(from int64) {
	o.cells[o.top].at = o.limit
	k := o.cells[o.top].before
	if !o.cells[k].free {
		o.free(from)
		return
	}
	o.unlist(k)
	o.cells[k].end = o.limit
	o.list(k)
}

// settle puts an item into a free cell.
func (o *outward) settle(i, k int32, at int64) {
	o.since[i] = o.cells[k].since
	o.lay(i, k, at)
	o.cells[o.owner[i]].ends = o.in.when(i, o.backwards).end
}

// choose takes the best of so many holes for an item, the tightest first, and the better end of it.
func (o *outward) choose(i int32, most int) (best int32, at int64) {
	it, life := &o.in.items[i], o.in.when(i, o.backwards)
	j := judge{o.apart, float64(it.size), float64(life.first), float64(life.end)}
	best = nothing
	least := math.Inf(1)
	cells := o.cells
	for b := o.filledFrom(bin(it.size)); b < binCount && most > 0; b = o.filledFrom(b + 1) {
		for k := o.bins[b]; k >= 0 && most > 0; k = cells[k].next {
			c := &cells[k]
			o.looks++
			low, high := it.up(c.at), it.down(c.end-it.size)
			if low+it.size > c.end || c.since > life.first {
				continue
			}
			most--
			below, above := float64(cells[c.before].ends), float64(cells[c.after].ends)
			room := float64(c.end - c.at - it.size)
			x, y := j.cost(room, below, above), j.cost(room, above, below)
			if x < least {
				best, at, least = k, low, x
			}
			if y < least {
				best, at, least = k, high, y
			}
		}
	}
	return best, at
}

// judge compares holes for an item of a size and a life.
type judge struct{ apart, size, begin, end float64 }

// cost of a hole, in bytes times sections: of what is left of it, up to the size of the item, until the item or what is
// beyond ends, and of the time between the ends of the item and of what it lies beside, up to its life. A hole that it
// fills costs less than nothing.
func (j *judge) cost(room, beside, beyond float64) float64 {
	if j.apart == 0 {
		return room
	}
	alive := j.end - j.begin
	apart := float64(j.apart * j.size * min(alive, math.Abs(beside-j.end)))
	if room == 0 {
		return apart - float64(j.size*alive)
	}
	return apart + float64(min(room, j.size)*(min(j.end, beyond)-j.begin))
}

// meanLife is the mean number of sections that an item is alive in.
func (in *instance) meanLife() float64 { return float64(in.volume()) / float64(max(1, len(in.items))) }
