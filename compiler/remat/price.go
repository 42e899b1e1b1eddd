package remat

import (
	"math"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// candidates lists what may be given up; of very many some.
func (r *replay) candidates(over int) []int {
	var list []int
	for b, there := range r.there {
		if there && (r.pinned[b] == 0 || b == over) {
			list = append(list, b)
		}
	}
	if len(list) > mostWeighed {
		r.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:mostWeighed]
	}
	return list
}

// weight of a value that is there: infinite when it cannot be had again.
func (r *replay) weight(b int) float64 {
	next := r.next(b)
	if next < 0 {
		return 0
	}
	w := math.Pow(r.loss(b), r.weights.cost) / float64(r.bytes[b]) / math.Pow(float64(next-r.now), r.ahead)
	if r.factors != nil {
		w *= r.factors[b]
	}
	return w
}

// loss is what it takes to have a value again that is given up.
func (r *replay) loss(b int) float64 { return min(r.anew(b), r.moved(b)) }

// moved is what it takes to move a value out and in again.
func (r *replay) moved(b int) float64 {
	if !r.moves && r.outside[b] < 0 {
		return math.Inf(1)
	}
	ways := 2.0
	if r.outside[b] >= 0 {
		ways = 1
	}
	node := graph.TypedNode{Op: plan.OpMoveIn, Inputs: []int{b}, Outputs: []int{b}}
	return ways * r.options.Cost(r.base, &node)
}

// price is what it takes to have a value.
func (r *replay) price(b int) float64 {
	if r.there[b] {
		return 0
	}
	if r.outside[b] >= 0 {
		return r.moved(b)
	}
	return r.anew(b)
}

// anew is what it takes to compute a value, and all that is not there any more of what it is made of.
func (r *replay) anew(b int) float64 {
	if !r.again {
		return math.Inf(1)
	}
	c, sum, open, visited := r.base, 0.0, []int{b}, 0
	r.look++
	r.priced[b] = r.look
	for len(open) > 0 && visited < mostPriced {
		p := c.Values[open[len(open)-1]].Producer
		open = open[:len(open)-1]
		visited++
		if !repeatable(&c.Nodes[p]) {
			return math.Inf(1)
		}
		sum += r.costs[p]
		for _, v := range c.Nodes[p].Inputs {
			if v < 0 || r.under[v] < 0 || r.there[r.under[v]] || r.priced[r.under[v]] == r.look {
				continue
			}
			x := r.under[v]
			r.priced[x] = r.look
			if r.outside[x] >= 0 {
				sum += r.moved(x)
				continue
			}
			open = append(open, x)
		}
	}
	return sum
}
