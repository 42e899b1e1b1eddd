package offsets

import (
	"cmp"
	"math"
	"slices"
)

// An item that fits nowhere below a limit is placed all the same, where what is in the way is easiest to place
// elsewhere; then that is placed, and so on, until nothing is left over: ejection chains. What found no place is harder
// to eject from then on, so that a chain does not go in circles (Nagata and Bräysy, "A powerful route minimization
// heuristic for the vehicle routing problem with time windows", 2009).
type ejector struct {
	hard   []int32 // by item: its share of what is crowded, the mean being meanHard
	weight []int32 // by item: hard, as often as it found no place, and once more
	chain  int32   // the number of this chain
	moved  []int32 // by item: the chain that moved it last
	before []spot  // where the items of this chain lay, -1 for the one that lay nowhere
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
)

// newEjector takes as crowded what is close to the largest load.
func (in *instance) newEjector(seed uint64) *ejector {
	e := &ejector{hard: make([]int32, len(in.items)), moved: make([]int32, len(in.items)), noise: noise(seed | 1)}
	load := in.load()
	most, sums := float64(slices.Max(load)), make([]float64, len(load)+1)
	for t, bytes := range load {
		crowded := float64(bytes) / most
		crowded *= crowded
		sums[t+1] = sums[t] + crowded*crowded
	}
	share := func(it *item) float64 { return float64(it.size) * (sums[it.end] - sums[it.first]) }
	mean := 0.0
	for i := range in.items {
		mean += share(&in.items[i]) / float64(len(in.items))
	}
	for i := range in.items {
		e.hard[i] = int32(min(maxHard, max(minHard, meanHard*share(&in.items[i])/mean)))
	}
	e.weight = slices.Clone(e.hard)
	for i := range in.items {
		if in.items[i].pinned >= 0 {
			e.weight[i] = pinnedWeight
		}
	}
	return e
}

// eject puts a lifted item below the limit by a chain of so many ejections at most, or changes nothing.
func (m *mender) eject(i int32, most int) bool {
	e := m.ejector
	e.chain++
	e.before, e.pool = e.before[:0], append(e.pool[:0], i)
	return m.chase(most)
}

// chase places what is in the pool.
func (m *mender) chase(most int) bool {
	e := m.ejector
	for len(e.pool) > 0 {
		x := e.pool[len(e.pool)-1]
		e.pool = e.pool[:len(e.pool)-1]
		it := &m.in.items[x]
		near := m.ground.around(it)
		at, fits := hole(it, near, m.limit)
		if !fits {
			most--
			m.s.spend(1)
			e.weight[x] = min(maxWeight, e.weight[x]+e.hard[x])
			if at, fits = e.cheapest(it, near, m.limit); most < 0 || !fits || m.spent(4*len(near)) {
				m.undo()
				return false
			}
			m.clear(near, block{at, at + it.size})
		}
		m.note(x, -1)
		m.put(x, at)
	}
	m.changed = true
	return true
}

// spent counts work, and says that no more is granted.
func (m *mender) spent(units int) bool {
	return m.s.tick(m.ground.spent()+int64(units)) || m.s.left <= 0
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

// cheapest is the offset below a limit where what would have to go weighs least. It is the end of something, or just
// below its start.
func (e *ejector) cheapest(it *item, near []piece, limit int64) (best int64, found bool) {
	e.edges(near)
	least, noise := immovable, e.noise
	c := cover{starts: e.starts, ends: e.ends}
	at := it.up(0)
	for k := 0; at+it.size <= limit; k++ {
		if weight := noise.upon(c.weight(at, at+it.size)); weight < least {
			best, least = at, weight
		}
		if k == len(near) {
			break
		}
		at = it.up(e.ends[k].at)
	}
	c = cover{starts: e.starts, ends: e.ends}
	lowest := it.up(0)
	for k := range near {
		at := it.down(e.starts[k].at - it.size)
		if at+it.size > limit {
			break
		}
		if at < lowest {
			continue
		}
		if weight := noise.upon(c.weight(at, at+it.size)); weight < least {
			best, least = at, weight
		}
	}
	e.noise = noise
	return best, least < immovable
}

// upon adds up to a quarter of it to a weight, by chance.
func (n *noise) upon(weight int64) int64 {
	x := n.next()
	if weight >= immovable {
		return weight
	}
	return weight + weight*int64(x>>60)/64
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

// clear ejects what shares bytes with a range, to be placed again the hardest first.
func (m *mender) clear(near []piece, x block) {
	e := m.ejector
	before := len(e.pool)
	for _, n := range near {
		if n.at < x.end && x.at < n.end {
			m.note(n.item, n.at)
			m.lift(n.item)
			e.pool = append(e.pool, n.item)
		}
	}
	slices.SortFunc(e.pool[before:], func(a, b int32) int { return cmp.Compare(e.hard[a], e.hard[b]) })
}

// note keeps where an item lay before this chain.
func (m *mender) note(i int32, at int64) {
	if e := m.ejector; e.moved[i] != e.chain {
		e.moved[i] = e.chain
		e.before = append(e.before, spot{i, at})
	}
}

// undo puts everything back to where it lay before this chain.
func (m *mender) undo() {
	for _, b := range m.ejector.before {
		if !m.lifted[b.item] {
			m.lift(b.item)
		}
	}
	for _, b := range m.ejector.before {
		if b.offset >= 0 {
			m.put(b.item, b.offset)
		}
	}
}
