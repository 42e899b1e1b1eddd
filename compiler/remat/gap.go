package remat

import (
	"cmp"
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// looked is how many nodes leastCost looks at: those during which most is kept.
const looked = 64

// leastCost returns what no graph costs less than whose plan fits, as long as its nodes run in the order of the plan
// for the first time. While a node runs, what later nodes need of earlier ones is there, or is computed again or moved,
// each at its price at least. How much has to go is known; the cheapest for their bytes go first, the last of them in
// part, as in the fractional knapsack (Dantzig, 1957). The node for which this comes to most counts.
func (s *search) leastCost() float64 {
	b := newBounder(s.base, &s.options)
	takers := b.takers()
	need := make([]int64, len(s.base.Values)) // by value: what later nodes need of it
	sums := make([]int64, len(s.base.Nodes))
	b.backwards(need, func(t int, kept int64) { sums[t] = kept })
	floor := slices.Sorted(slices.Values(sums))[max(0, len(sums)-looked)]
	most := 0.0
	clear(need)
	b.backwards(need, func(t int, sum int64) {
		if sum < floor {
			return
		}
		var kept []held
		for v, bytes := range need {
			if bytes > 0 {
				kept = append(kept, held{v, bytes})
			}
		}
		if above := b.during(kept, t) - s.options.Capacity; above > 0 {
			most = max(most, s.cheapest(b, kept, above, takers))
		}
	})
	return s.given + most
}

// backwards goes from the last node to the first. At each, need is what later ones need of values of earlier ones, and
// kept is the sum.
func (b *bounder) backwards(need []int64, at func(t int, kept int64)) {
	kept := int64(0)
	for t := len(b.c.Nodes) - 1; t >= 0; t-- {
		for _, v := range b.c.Nodes[t].Outputs {
			if v >= 0 {
				kept, need[v] = kept-need[v], 0
			}
		}
		at(t, kept)
		for _, h := range b.takes(t) {
			more := max(0, h.bytes-need[h.value])
			kept, need[h.value] = kept+more, need[h.value]+more
		}
	}
}

// cheapest is the lowest price at which so many bytes of what is kept can go.
func (s *search) cheapest(b *bounder, kept []held, bytes int64, takers []int) float64 {
	type lot struct {
		bytes int64
		price float64
	}
	lots := map[int]*lot{} // by producer: its results come together
	var order []*lot
	for _, h := range kept {
		p := s.base.Values[h.value].Producer
		if lots[p] == nil {
			lots[p] = &lot{price: math.Inf(1)}
			order = append(order, lots[p])
		}
		lots[p].bytes += h.bytes
		lots[p].price = min(lots[p].price, s.priceOf(b, h, takers))
	}
	slices.SortStableFunc(order, func(a, b *lot) int {
		return cmp.Compare(a.price/float64(a.bytes), b.price/float64(b.bytes))
	})
	sum := 0.0
	for _, l := range order {
		if bytes <= 0 || math.IsInf(l.price, 1) {
			break
		}
		sum += l.price * min(1, float64(bytes)/float64(l.bytes))
		bytes -= l.bytes
	}
	return sum
}

// priceOf is what it takes at least to have a value again.
func (s *search) priceOf(b *bounder, h held, takers []int) float64 {
	price := s.anew(b, h.value, h.bytes, takers)
	if s.options.Outside != nil {
		move := graph.TypedNode{Op: plan.OpMoveIn, Inputs: []int{h.value}, Outputs: []int{h.value}}
		price = min(price, 2*s.options.Cost(s.base, &move))
	}
	return price
}

// anew is what it takes at least to compute a value again, when nothing that has so many bytes is kept for it. What
// only this value is made of has to be computed again as well.
func (s *search) anew(b *bounder, v int, bytes int64, takers []int) float64 {
	p := s.base.Values[v].Producer
	if s.options.NoAgain || !repeatable(&s.base.Nodes[p]) {
		return math.Inf(1)
	}
	price := s.costs[p]
	for _, h := range b.takes(p) {
		alone := len(s.base.Nodes[s.base.Values[h.value].Producer].Outputs) == 1
		if alone && takers[h.value] == 1 && h.bytes >= bytes {
			price += s.anew(b, h.value, bytes, takers)
		}
	}
	return price
}

// takes lists what a node needs of values; what only shows others needs nothing.
func (b *bounder) takes(i int) []held {
	if m := b.c.MovementOf(&b.c.Nodes[i]); m != nil && m.Parts != graph.Joins {
		return nil
	}
	return b.needs(b.c.Nodes[i].Inputs)
}

// takers counts how many nodes take each value.
func (b *bounder) takers() []int {
	n := make([]int, len(b.c.Values))
	for i := range b.c.Nodes {
		for _, h := range b.takes(i) {
			n[h.value]++
		}
	}
	return n
}
