package remat

import (
	"cmp"
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// looked bounds the nodes at which leastCost compares: those during which most is kept.
const looked = 64

// pricer knows the lowest price of having a value back in the frame.
type pricer struct {
	*search
	*bounder
	takers []int   // by value: how many nodes take it
	shows  [][]int // by value: those that show its elements, itself among them
}

func (s *search) newPricer() *pricer {
	p := &pricer{search: s, bounder: newBounder(s.base, &s.options)}
	p.takers, p.shows = p.countTakers(), make([][]int, len(s.base.Values))
	for v, source := range p.source {
		if source >= 0 {
			p.shows[source] = append(p.shows[source], v)
		}
	}
	return p
}

// leastCost returns a cost that no graph undercuts whose plan fits and whose nodes run in the order of the given plan
// for the first time. While a node runs, each value that later nodes need of earlier ones is in the frame, or it has to
// come back: it is computed again or moved in. The bytes above the capacity have to come back; the bound takes the
// values that are cheapest for their bytes, the last of them in part (the fractional knapsack, Dantzig, 1957). Each
// node gives such a bound, and the highest one counts.
func (s *search) leastCost() float64 {
	p := s.newPricer()
	need := make([]int64, len(s.base.Values)) // by value: what later nodes need of it
	sums := make([]int64, len(s.base.Nodes))
	p.backwards(need, func(t int, kept int64) { sums[t] = kept })
	floor := slices.Sorted(slices.Values(sums))[max(0, len(sums)-looked)]
	most := 0.0
	clear(need)
	p.backwards(need, func(t int, sum int64) {
		if sum < floor {
			return
		}
		var kept []held
		for v, bytes := range need {
			if bytes > 0 {
				kept = append(kept, held{v, bytes})
			}
		}
		if above := p.during(kept, t) - s.options.Capacity; above > 0 {
			most = max(most, p.cheapest(kept, above))
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

// lot is the values that one run of a node gives back together.
type lot struct {
	values []held
	bytes  int64
	price  float64
}

// cheapest is the lowest price at which so many bytes of what is kept can leave and come back.
func (p *pricer) cheapest(kept []held, bytes int64) float64 {
	order := p.lots(kept)
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

// lots puts values together that have the same producer, and prices them: the cheapest of them counts.
func (p *pricer) lots(kept []held) (order []*lot) {
	by := map[int]*lot{} // by producer
	for _, h := range kept {
		producer := p.base.Values[h.value].Producer
		l := by[producer]
		if l == nil {
			l = &lot{price: math.Inf(1)}
			by[producer], order = l, append(order, l)
		}
		l.values, l.bytes = append(l.values, h), l.bytes+h.bytes
	}
	for _, l := range order {
		for _, h := range l.values {
			l.price = min(l.price, p.back(h, l.bytes))
		}
	}
	return order
}

// back is the least price of having a value back in the frame, when no other value of so many bytes is kept for it.
func (p *pricer) back(h held, bytes int64) float64 {
	return min(p.anew(h.value, bytes), p.movedIn(h))
}

// movedIn is the least price of moving a value out and in. A value that shows enough of its elements may be smaller.
func (p *pricer) movedIn(h held) float64 {
	least := math.Inf(1)
	if p.options.Outside == nil {
		return least
	}
	for _, v := range p.shows[h.value] {
		if p.bytes[v] >= h.bytes {
			move := graph.TypedNode{Op: plan.OpMoveIn, Inputs: []int{v}, Outputs: []int{v}}
			least = min(least, 2*p.options.Cost(p.base, &move))
		}
	}
	return least
}

// anew is the least price of computing a value again. An argument that only its producer takes, and that has at least
// as many bytes as all that comes back with the value, has to come back as well: keeping it would save no memory.
func (p *pricer) anew(v int, bytes int64) float64 {
	producer := p.base.Values[v].Producer
	if p.options.NoAgain || !repeatable(&p.base.Nodes[producer]) {
		return math.Inf(1)
	}
	price := p.costs[producer]
	for _, h := range p.takes(producer) {
		alone := len(p.base.Nodes[p.base.Values[h.value].Producer].Outputs) == 1
		if alone && p.takers[h.value] == 1 && h.bytes >= bytes {
			price += p.back(h, bytes)
		}
	}
	return price
}

// takes lists what a node needs of values; what only shows others needs nothing.
func (b *bounder) takes(i int) []held {
	if m := ops.MovementOf(b.c, &b.c.Nodes[i]); m != nil && m.Parts != ops.Joins {
		return nil
	}
	return b.needs(b.c.Nodes[i].Inputs)
}

// countTakers counts how many nodes take each value.
func (b *bounder) countTakers() []int {
	n := make([]int, len(b.c.Values))
	for i := range b.c.Nodes {
		for _, h := range b.takes(i) {
			n[h.value]++
		}
	}
	return n
}
