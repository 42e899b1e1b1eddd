package offsets

import (
	"cmp"
	"slices"
)

// elastic packs up to some thousand items below a limit by ejections. What is placed has no offset but an order, from
// the bottom to the top: each item may lie anywhere from its lowest offset, where all before it lie as low as they
// can, to its highest, where all after it lie as high as they can. An item fits where some of what lives with it can
// lie below it and the rest above; nothing has to be moved by itself to make a hole wider. Else the lightest of what
// can do neither is ejected. The item that is placed next is the one that found no room most often, where its size and
// its life count at first: were each time weighed by them, the large would push the small about for long.
type elastic struct {
	in        *instance
	s         *solver
	limit     int64
	offset    []int64   // where items lie at first, and in the end
	order     []int32   // what is placed
	placed    []bool    // by item
	low, high []int64   // by item: its lowest and its highest offset
	near      [][]int32 // by item: what is alive together with it
	ejector   *ejector
	pieces    []piece   // what a neighbour takes wherever it lies: from its highest offset to its end at the lowest
	later     []int32   // what lies above the item that is inserted
	profile   horizon   // of what an order was followed through
	floors    []horizon // the profile before every so many items of order
	ceilings  []horizon // the same from the end of order
	cost      int64     // units of work since it was counted
	made      int       // ejections, one for each item that found no room
	stuck     bool      // an item fits nowhere
}

const (
	// Each profileEvery items of an order the profile is kept, so that what is before a change is not looked at again.
	profileEvery = 32
	// ejectionsEach item may be made before all begin anew, and more from time to time. To begin anew
	// forgets the weights, and few ejections teach too little.
	ejectionsEach = 100
)

// elastic places all items below a limit with so many ejections at most. It begins with the order of
// their offsets; each stays where it was unless that is taken. It says whether it succeeded.
func (s *solver) elastic(in *instance, near [][]int32, offset []int64, limit int64, most int) bool {
	n := len(in.items)
	if s.tick(in.volume() + 64*int64(n)) {
		return false
	}
	for k := int64(1); ; k++ {
		e := &elastic{in: in, s: s, limit: limit, offset: offset, placed: make([]bool, n), low: make([]int64, n),
			high: make([]int64, n), near: near, ejector: in.newEjector(s.random.Uint64()),
			profile: newHorizon(in.sections)}
		e.start()
		if e.run(min(most, ejectionsEach*n*int(luby(k)))) {
			e.settle()
			return true
		}
		if most -= e.made; most <= 0 || e.stuck || s.over() {
			return false
		}
	}
}

// run places what is not placed, with so many ejections at most.
func (e *elastic) run(most int) bool {
	for len(e.ejector.pool) > 0 && !e.stuck && e.made <= most {
		e.placeNext()
		late := e.s.tick(e.cost)
		if e.cost = 0; late || e.s.left <= 0 {
			return false
		}
	}
	return len(e.ejector.pool) == 0 && !e.stuck
}

// together lists by item what is alive together with it, and counts that.
func (in *instance) together() (near [][]int32, pairs int64) {
	begin := in.every()
	near = make([][]int32, len(in.items))
	slices.SortFunc(begin, func(a, b int32) int { return cmp.Compare(in.items[a].first, in.items[b].first) })
	for k, i := range begin {
		for _, x := range begin[k+1:] {
			if in.items[x].first >= in.items[i].end {
				break
			}
			near[i], near[x] = append(near[i], x), append(near[x], i)
			pairs += 2
		}
	}
	return near, pairs
}

// start takes the order of the offsets. What is in the way of another item there is to be placed.
func (e *elastic) start() {
	begin, pinned := e.in.every(), e.in.pinned()
	slices.SortFunc(begin, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.offset[a], e.offset[b]), cmp.Compare(a, b))
	})
	e.profile.flatten(0)
	for _, i := range begin {
		it := &e.in.items[i]
		at := it.pinned
		if at < 0 {
			at = it.up(e.profile.over(it.span))
		}
		if it.size > 0 && (it.pinned >= 0 || at+it.size <= e.roof(i, pinned)) {
			e.join(it)
			e.profile.height[it.first] = at + it.size
			e.order = append(e.order, i)
			e.placed[i] = true
		}
	}
	for i := range e.in.items { // what does not fit as it lies
		if !e.placed[i] && e.in.items[i].size > 0 {
			e.ejector.pool = append(e.ejector.pool, int32(i))
		}
	}
	e.sink(0)
	e.rise(0)
}

// roof is the lowest of what is pinned above where an item lay, or else the limit.
func (e *elastic) roof(i int32, pinned bool) int64 {
	roof := e.limit
	if !pinned {
		return roof
	}
	e.cost += int64(len(e.near[i]))
	for _, x := range e.near[i] {
		if at := e.in.items[x].pinned; at >= e.offset[i] {
			roof = min(roof, at)
		}
	}
	return roof
}

// sink finds the lowest offsets, of which the first so many are known.
func (e *elastic) sink(known int) {
	k := known / profileEvery * profileEvery
	e.load(e.floors, k, 0)
	for ; ; k++ {
		e.floors = e.keep(e.floors, k)
		if k == len(e.order) {
			return
		}
		i := e.order[k]
		it := &e.in.items[i]
		if e.low[i] = it.up(e.join(it)); it.pinned >= 0 {
			e.low[i] = it.pinned
		}
		e.profile.height[it.first] = e.low[i] + it.size
	}
}

// rise finds the highest offsets, of which the last so many are known. The profile is that of a frame upside down.
func (e *elastic) rise(known int) {
	k := known / profileEvery * profileEvery
	e.load(e.ceilings, k, -e.limit)
	for ; ; k++ {
		e.ceilings = e.keep(e.ceilings, k)
		if k == len(e.order) {
			return
		}
		i := e.order[len(e.order)-1-k]
		it := &e.in.items[i]
		if e.high[i] = it.down(-e.join(it) - it.size); it.pinned >= 0 {
			e.high[i] = it.pinned
		}
		e.profile.height[it.first] = -e.high[i]
	}
}

// join is the height of the profile in the life of an item, which becomes one stretch.
func (e *elastic) join(it *item) int64 {
	most, looks := e.profile.join(it.span)
	e.cost += 8 + 2*looks
	return most
}

// load takes the profile after k items, which was kept if there are any.
func (e *elastic) load(kept []horizon, k int, without int64) {
	if k == 0 {
		e.profile.flatten(without)
		return
	}
	e.profile.copy(&kept[k/profileEvery-1])
}

// keep keeps the profile after k items, if that is due.
func (e *elastic) keep(kept []horizon, k int) []horizon {
	if k == 0 || k%profileEvery != 0 {
		return kept
	}
	at := k/profileEvery - 1
	if at == len(kept) {
		kept = append(kept, newHorizon(e.in.sections))
	}
	kept[at].copy(&e.profile)
	e.cost += int64(e.in.sections) / 8
	return kept
}

// placeNext places the heaviest of what is to be placed.
func (e *elastic) placeNext() {
	j := e.ejector
	heaviest := 0
	for k, i := range j.pool {
		if j.weight[i] > j.weight[j.pool[heaviest]] {
			heaviest = k
		}
	}
	i := j.pool[heaviest]
	j.pool = slices.Delete(j.pool, heaviest, heaviest+1)
	e.pieces = e.pieces[:0]
	it := &e.in.items[i]
	for _, x := range e.near[i] {
		if end := e.low[x] + e.in.items[x].size; e.placed[x] && e.high[x]-it.size < end {
			e.pieces = append(e.pieces, piece{block{e.high[x], end}, x})
		}
	}
	slices.SortFunc(e.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.item, b.item))
	})
	e.cost += int64(len(e.near[i]) + 32*len(e.pieces))
	at, fits := j.cheapest(it, e.pieces, e.limit)
	if e.stuck = !fits; !fits {
		return
	}
	before := len(j.pool)
	for _, x := range e.pieces {
		if x.at < at+it.size && at < x.end {
			e.placed[x.item] = false
			j.pool = append(j.pool, x.item)
		}
	}
	if len(j.pool) > before {
		e.made++
		e.s.spend(1)
		j.weight[i] = min(maxWeight, j.weight[i]+meanHard)
	}
	e.insert(i, at)
}

// insert places an item above all that end by an offset at their lowest, and below the others. What was ejected leaves
// the order.
func (e *elastic) insert(i int32, at int64) {
	from, to := len(e.order), 0 // what is ordered anew
	lower := e.order[:0]
	e.later = append(e.later[:0], i)
	for k, x := range e.order {
		below := e.low[x]+e.in.items[x].size <= at
		switch {
		case !e.placed[x]:
		case below:
			lower = append(lower, x)
		default:
			e.later = append(e.later, x)
		}
		if !e.placed[x] || !below {
			from = min(from, k)
		}
		if !e.placed[x] || below {
			to = k + 1
		}
	}
	known := len(e.order) - to
	e.order = append(lower, e.later...)
	e.placed[i] = true
	e.cost += int64(len(e.order))
	e.sink(from)
	e.rise(known)
}

// settle gives each item the offset closest to where it was.
func (e *elastic) settle() {
	e.profile.flatten(0)
	for _, i := range e.order {
		it := &e.in.items[i]
		if below := it.up(e.join(it)); it.pinned < 0 {
			e.offset[i] = max(below, min(e.offset[i], e.high[i]))
		}
		e.profile.height[it.first] = e.offset[i] + it.size
	}
}
