package offsets

import (
	"cmp"
	"math"
	"slices"
)

// ejector is a guided ejection search (Nagata and Bräysy, "A powerful route minimization heuristic for the vehicle
// routing problem with time windows", 2009). What is to be placed goes into the smallest hole below a limit, or, where
// none holds it, to where what is in the way is lightest; that is placed next, the heaviest first. What found no hole
// is heavier from then on, so that a search does not go in circles.
type ejector struct {
	in     *instance
	s      *solver
	ground *shelf  // what is placed; what is not has the offset -1
	limit  int64   // below which everything is to lie
	hard   []int32 // by item: its share of what is crowded, the mean being meanHard
	weight []int32 // by item: hard, and meanHard as often as it found no hole
	number int32   // of this search
	moved  []int32 // by item: the search that moved it last
	before []spot  // where the items of this search lay
	pool   []int32 // what is to be placed
	starts []edge
	ends   []edge
	noise  noise
}

// noise draws numbers by shifts (Marsaglia, 2003), where one is drawn for each thing that is looked at.
type noise uint64

func (n *noise) next() uint64 {
	*n ^= *n << 13
	*n ^= *n >> 7
	*n ^= *n << 17
	return uint64(*n)
}

type spot struct {
	item   int32
	offset int64
}

// edge is the start or the end of what is placed.
type edge struct{ at, weight int64 }

const (
	minHard, meanHard, maxHard = 16, 256, 1 << 14
	// maxWeight keeps the sum of a million weights below that of one item that cannot be ejected.
	maxWeight = 1 << 22
	immovable = int64(1) << 42
	// pinnedWeight stands in ejector.weight for an item that cannot be ejected.
	pinnedWeight = -1
	// One of so many times what is placed next is drawn, of whatever weight.
	draws = 8
)

// newEjector begins at a placement. It takes as crowded what is close to the largest load.
func (s *solver) newEjector(in *instance, offset []int64) *ejector {
	e := &ejector{in: in, s: s, ground: newShelf(in, slices.Clone(offset)), hard: make([]int32, len(in.items)),
		weight: make([]int32, len(in.items)), moved: make([]int32, len(in.items)), noise: noise(s.random.Uint64() | 1)}
	load := in.load()
	most, sums := float64(slices.Max(load)), make([]float64, len(load)+1)
	for t, bytes := range load {
		sums[t+1] = sums[t] + math.Pow(float64(bytes)/most, 4)
	}
	share := func(it *item) float64 { return float64(it.size) * (sums[it.end] - sums[it.first]) }
	mean := 0.0
	for i := range in.items {
		mean += share(&in.items[i]) / float64(len(in.items))
	}
	for i := range in.items {
		e.hard[i] = int32(min(maxHard, max(minHard, meanHard*share(&in.items[i])/mean)))
		if e.weight[i] = e.hard[i]; in.items[i].pinned >= 0 {
			e.weight[i] = pinnedWeight
		}
	}
	e.ground.fill()
	s.spend(int64(len(in.items) / itemsPerStep))
	return e
}

// fade halves what searches have added to the weights, so that a search begins with what the last ones learnt.
func (e *ejector) fade() {
	for i, hard := range e.hard {
		e.weight[i] -= max(0, e.weight[i]-hard) / 2
	}
}

// above lists what ends above the limit, the highest first.
func (e *ejector) above() []int32 {
	list := []int32{}
	for i := range e.in.items {
		if e.ground.end(int32(i)) > e.limit {
			list = append(list, int32(i))
		}
	}
	e.s.tick(int64(len(e.in.items)))
	slices.SortFunc(list, func(x, y int32) int {
		return cmp.Or(cmp.Compare(e.ground.end(y), e.ground.end(x)), cmp.Compare(x, y))
	})
	return list
}

// mend puts what ends above a limit below it, one by one, by so many ejections each at most. It ends at the first
// item that can go no lower. It says whether something moved.
func (e *ejector) mend(limit int64, most int) bool {
	e.limit = limit
	e.fade()
	changed := false
	for _, i := range e.above() {
		at := e.ground.offset[i]
		if at+e.in.items[i].size <= e.limit {
			continue
		}
		if e.s.tick(e.ground.spent()) {
			break
		}
		if e.s.spend(1); e.place(most, i) {
			changed = true
			continue
		}
		if e.in.items[i].pinned < 0 {
			e.ground.remove(i)
			e.ground.offset[i] = min(at, e.ground.lowest(&e.in.items[i]))
			e.ground.put(i)
		}
		e.limit = max(e.limit, e.ground.end(i))
		if e.ground.offset[i] == at {
			break
		}
		changed = true
	}
	e.s.tick(e.ground.spent())
	return changed
}

// place puts items below the limit by so many ejections at most, or changes nothing.
func (e *ejector) place(most int, items ...int32) bool {
	e.number++
	e.before, e.pool = e.before[:0], e.pool[:0]
	for _, i := range items {
		if e.in.items[i].pinned >= 0 {
			return false
		}
	}
	for _, i := range items {
		e.lift(i)
	}
	for len(e.pool) > 0 {
		x := e.next()
		it := &e.in.items[x]
		near := e.ground.around(it)
		at, fits := hole(it, near, e.limit)
		if !fits {
			most--
			e.s.spend(1)
			e.weight[x] = min(maxWeight, e.weight[x]+meanHard)
			if at, fits = e.cheapest(it, near); most < 0 || !fits || e.spent(8*len(near)) {
				e.undo()
				return false
			}
			e.clear(near, block{at, at + it.size})
		}
		e.ground.offset[x] = at
		e.ground.put(x)
	}
	return true
}

// next takes the heaviest item of the pool, or now and then any.
func (e *ejector) next() int32 {
	at := 0
	if draw := e.noise.next(); draw%draws == 0 {
		at = int(draw >> 32 % uint64(len(e.pool)))
	} else {
		for k, i := range e.pool {
			if e.weight[i] > e.weight[e.pool[at]] {
				at = k
			}
		}
	}
	x := e.pool[at]
	e.pool = slices.Delete(e.pool, at, at+1)
	return x
}

// lift takes an item from its place to the pool.
func (e *ejector) lift(i int32) {
	if e.moved[i] != e.number {
		e.moved[i] = e.number
		e.before = append(e.before, spot{i, e.ground.offset[i]})
	}
	if e.ground.offset[i] >= 0 {
		e.ground.remove(i)
	}
	e.ground.offset[i] = -1
	e.pool = append(e.pool, i)
}

// clear ejects what shares bytes with a range.
func (e *ejector) clear(near []piece, x block) {
	for _, n := range near {
		if n.at < x.end && x.at < n.end {
			e.lift(n.item)
		}
	}
}

// undo puts everything back to where it lay before this search.
func (e *ejector) undo() {
	for _, b := range e.before {
		if e.ground.offset[b.item] >= 0 {
			e.ground.remove(b.item)
		}
	}
	for _, b := range e.before {
		if e.ground.offset[b.item] = b.offset; b.offset >= 0 {
			e.ground.put(b.item)
		}
	}
}

// spent counts work, and says that no more is granted.
func (e *ejector) spent(units int) bool {
	return e.s.tick(e.ground.spent()+int64(units)) || e.s.left <= 0
}

// hole is the start of the smallest hole below a limit that holds an item.
func hole(it *item, near []piece, limit int64) (best int64, fits bool) {
	at, room := it.up(0), none
	for _, x := range near {
		if wide := min(x.at, limit) - at; wide >= it.size && wide < room {
			best, room = at, wide
		}
		if x.end > at {
			at = it.up(x.end)
		}
	}
	if wide := limit - at; wide >= it.size && wide < room {
		best, room = at, wide
	}
	return best, room < none
}

// cheapest is the offset below the limit where what would have to go weighs least: the lowest, the end of something, or
// just below its start.
func (e *ejector) cheapest(it *item, near []piece) (best int64, found bool) {
	e.edges(near)
	least, noise, lowest := immovable, e.noise, it.up(0)
	for _, below := range []bool{false, true} {
		c := cover{starts: e.starts, ends: e.ends}
		for k := range len(near) + 1 {
			at := lowest
			switch {
			case below:
				at = it.down(e.starts[k].at - it.size)
			case k > 0:
				at = it.up(e.ends[k-1].at)
			}
			if at+it.size > e.limit {
				break
			}
			if at < lowest {
				continue
			}
			if weight := noise.upon(c.weight(at, at+it.size)); weight < least {
				best, least = at, weight
			}
		}
	}
	e.noise = noise
	return best, least < immovable
}

// upon adds up to all of it to a weight, by chance.
func (n *noise) upon(weight int64) int64 {
	x := n.next()
	if weight >= immovable {
		return weight
	}
	return weight + weight*int64(x>>60)/16
}

// edges lists the starts and the ends of what is near, each in order, and a last one above all.
func (e *ejector) edges(near []piece) {
	e.starts = slices.Grow(e.starts[:0], len(near)+1)[:len(near)+1]
	e.ends = slices.Grow(e.ends[:0], len(near)+1)[:len(near)+1]
	for k := range near {
		x := &near[k]
		weight := int64(e.weight[x.item])
		if weight == pinnedWeight {
			weight = immovable
		}
		e.starts[k], e.ends[k] = edge{x.at, weight}, edge{x.end, weight}
	}
	e.starts[len(near)], e.ends[len(near)] = edge{at: math.MaxInt64}, edge{at: math.MaxInt64}
	sortEdges(e.ends[:len(near)])
}

// maxShifts is how far an edge is moved on average where insertion sorts.
const maxShifts = 8

// sortEdges sorts what is nearly in order: ends by where they begin.
func sortEdges(list []edge) {
	left := maxShifts * len(list)
	for k := 1; k < len(list); k++ {
		x, to := list[k], k
		for ; to > 0 && list[to-1].at > x.at; to-- {
			list[to] = list[to-1]
		}
		list[to] = x
		if left -= k - to; left < 0 {
			slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
			return
		}
	}
}

// cover weighs what a range that moves up shares bytes with.
type cover struct {
	starts, ends []edge // with a last one above all
	start, end   int    // so many the range has passed
	sum          int64
}

func (c *cover) weight(at, end int64) int64 {
	for c.starts[c.start].at < end {
		c.sum += c.starts[c.start].weight
		c.start++
	}
	for c.ends[c.end].at <= at {
		c.sum -= c.ends[c.end].weight
		c.end++
	}
	return c.sum
}
