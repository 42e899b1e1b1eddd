package offsets

import (
	"cmp"
	"slices"
)

// ejections is how many an outward sweep makes at most to place an item.
const ejections = 20

// chain is the state of the ejections of an outward sweep.
type chain struct {
	number int32
	before []spot  // where the items of this chain lay, nothing for the one that lay nowhere
	pool   []int32 // what is to be placed
	weight []float64
	noise  noise
}

// eject makes room for an item that begins now, or changes nothing.
func (o *outward) eject(i int32) bool {
	if o.grant < 0 || o.in.lacks(PartChains) {
		return false
	}
	looks := o.looks
	defer func() { o.grant -= o.looks - looks }()
	c := &o.chain
	c.number++
	c.before, c.pool = c.before[:0], append(c.pool[:0], i)
	o.owner[i] = nothing
	o.note(i, int64(nothing))
	now := o.in.when(i, o.backwards).first
	for most := ejections; len(c.pool) > 0; {
		x := c.pool[len(c.pool)-1]
		c.pool = c.pool[:len(c.pool)-1]
		if k, at := o.choose(x, 4*holesSeen); k >= 0 {
			o.settle(x, k, at)
			continue
		}
		most--
		o.vain[x]++
		from, at := o.cheapest(x, now)
		if from < 0 || most < 0 {
			o.undo()
			return false
		}
		o.clear(from, x, at)
	}
	return true
}

// note keeps where an item lay before this chain.
func (o *outward) note(i int32, at int64) {
	if c := &o.chain; o.moved[i] != c.number {
		o.moved[i] = c.number
		c.before = append(c.before, spot{i, at})
	}
}

// heavy is how hard an item is to place elsewhere: the larger, the longer ago it began, the more often it was in vain.
func (o *outward) heavy(i, now int32) float64 {
	age := 16 * float64(now-o.in.when(i, o.backwards).first) / o.mean
	return float64(o.in.items[i].size) * (1 + float64(o.vain[i])) * (1 + age) * (64 + float64(o.chain.noise.next()>>60))
}

// cheapest is the first of the cells that weigh least of those that are side by side, long enough for an item, and
// free since it began but for what began later.
func (o *outward) cheapest(i, now int32) (from int32, at int64) {
	it, first := &o.in.items[i], o.in.when(i, o.backwards).first
	from = nothing
	left, least, sum := o.cells[o.floor].after, 0.0, 0.0
	weight, out := o.chain.weight[:0], 0 // of the cells from left on, but for so many at the start
	for k := left; k != o.top; k = o.cells[k].after {
		c := &o.cells[k]
		o.looks++
		since, w := c.since, 0.0
		if !c.free {
			since = o.since[c.item]
		}
		if since > first {
			left, sum, out = c.after, 0, len(weight)
			continue
		}
		if !c.free {
			w = o.heavy(c.item, now)
		}
		sum += w
		weight = append(weight, w)
		for low := it.up(o.cells[left].at); low+it.size <= c.end; low = it.up(o.cells[left].at) {
			if from < 0 || sum < least {
				from, at, least = left, low, sum
			}
			sum -= weight[out]
			out++
			if left = o.cells[left].after; left == c.after {
				break
			}
		}
	}
	o.chain.weight = weight
	return from, at
}

// clear ejects what lies in the cells from one on, and puts an item there. What is largest is placed again first.
func (o *outward) clear(from, x int32, at int64) {
	c, end := &o.chain, at+o.in.items[x].size
	before := len(c.pool)
	for k := from; o.cells[k].at < end; k = o.cells[k].after {
		if n := &o.cells[k]; !n.free {
			o.note(n.item, n.at)
			c.pool = append(c.pool, n.item)
		}
	}
	for _, y := range c.pool[before:] {
		o.lift(y)
	}
	o.restore(x, at)
	slices.SortFunc(c.pool[before:], func(a, b int32) int {
		return cmp.Or(cmp.Compare(o.in.items[a].size, o.in.items[b].size), cmp.Compare(a, b))
	})
}

func (o *outward) lift(i int32) {
	o.release(i, o.since[i])
	o.owner[i] = nothing
}

// restore puts an item at an offset where there is room.
func (o *outward) restore(i int32, at int64) {
	k := o.cells[o.floor].after
	for ; o.cells[k].end <= at; k = o.cells[k].after {
		o.looks++
	}
	o.settle(i, k, at)
}

// undo puts everything back to where it lay before this chain.
func (o *outward) undo() {
	for _, m := range o.chain.before {
		if o.owner[m.item] >= 0 {
			o.lift(m.item)
		}
	}
	for _, m := range o.chain.before {
		if m.offset >= 0 {
			o.restore(m.item, m.offset)
		}
	}
}
