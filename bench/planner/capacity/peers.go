package main

import (
	"math"
	"slices"
)

// heuristic makes schedules for a problem: many, from which the cheapest that fits is taken.
type heuristic struct {
	name      string
	schedules func(p *problem) ([][]int, error)
}

// heuristics are what others do, re-implemented.
var heuristics = []heuristic{
	{"segments (Chen)", func(p *problem) ([][]int, error) { return segments(p), nil }},
	{"knapsack (PyTorch)", func(p *problem) ([][]int, error) { return knapsacks(p), nil }},
	{"Checkmate", checkmate},
}

// needed says for each step whether some step of the backward pass needs it.
func (p *problem) needed() []bool {
	out := make([]bool, len(p.steps))
	for k := range p.steps {
		if !p.steps[k].forward {
			for _, s := range p.steps[k].needs {
				out[s] = true
			}
		}
	}
	return out
}

// segments cuts the forward pass into segments and keeps what goes from one into another; when the backward pass
// comes to a segment, all of it is computed again, except for the last one (Chen, Xu, Zhang and Guestrin,
// "Training deep nets with sublinear memory cost", 2016). One schedule cuts into sqrt(n) segments of as many
// steps, the others where a segment has so many bytes, as the paper's third algorithm does for many budgets.
func segments(p *problem) (list [][]int) {
	var forward []int
	total := int64(0)
	for k := range p.steps {
		if p.steps[k].forward {
			forward = append(forward, k)
			total += p.steps[k].bytes
		}
	}
	segment := make([]int, len(p.steps))
	root := max(1, int(math.Ceil(math.Sqrt(float64(len(forward))))))
	for i, k := range forward {
		segment[k] = i / root
	}
	list = append(list, p.segmented(segment))
	for budget := float64(total); budget > float64(total)/200; budget *= 0.8 {
		bytes, number := int64(0), 0
		for _, k := range forward {
			if bytes += p.steps[k].bytes; float64(bytes) > budget {
				bytes, number = p.steps[k].bytes, number+1
			}
			segment[k] = number
		}
		list = append(list, p.segmented(segment))
	}
	return list
}

func (p *problem) segmented(segment []int) (schedule []int) {
	last, kept := 0, make([]bool, len(p.steps))
	for k := range p.steps {
		if !p.steps[k].forward {
			continue
		}
		last = max(last, segment[k])
		for _, s := range p.steps[k].needs {
			kept[s] = kept[s] || segment[s] < segment[k]
		}
	}
	want := p.needed()
	for k := len(p.steps) - 1; k >= 0; k-- { // and what these are made of, within their segment
		if p.steps[k].forward && want[k] && !kept[k] {
			for _, s := range p.steps[k].needs {
				want[s] = want[s] || segment[s] == segment[k]
			}
		}
	}
	again := map[int]bool{}
	for k := range p.steps {
		if !p.steps[k].forward {
			for _, s := range p.steps[k].needs {
				if !p.steps[s].forward || kept[s] || segment[s] == last || again[segment[s]] {
					continue
				}
				again[segment[s]] = true
				for i := range p.steps {
					if p.steps[i].forward && segment[i] == segment[s] && want[i] && !kept[i] {
						schedule = append(schedule, i)
					}
				}
			}
		}
		schedule = append(schedule, k)
	}
	return schedule
}

// knapsacks keeps of the forward pass those results that save most time for the bytes that a budget allows, and
// computes all others again, once, when the backward pass needs them: what PyTorch's activation_memory_budget
// does, with budgets from all to nothing. The knapsack is solved by dynamic programming over a thousandth of the
// bytes.
func knapsacks(p *problem) (list [][]int) {
	var items []int
	want, total := p.needed(), int64(0)
	for k := range p.steps {
		if p.steps[k].forward {
			items = append(items, k)
			if want[k] {
				total += p.steps[k].bytes
			}
		}
	}
	for share := 50; share >= 0; share-- {
		list = append(list, p.saving(p.knapsack(items, total*int64(share)/50, max(1, total/1000))))
	}
	return list
}

func (p *problem) knapsack(items []int, budget, grain int64) []bool {
	room := int(budget / grain)
	best := make([]float64, room+1)
	taken := make([][]bool, len(items))
	for i, k := range slices.Backward(items) { // of equal ones the last, which the backward pass needs first
		taken[i] = make([]bool, room+1)
		weight := int((p.steps[k].bytes + grain - 1) / grain)
		for r := room; r >= weight; r-- {
			if x := best[r-weight] + p.steps[k].cost; x > best[r] {
				best[r], taken[i][r] = x, true
			}
		}
	}
	saved, r := make([]bool, len(p.steps)), room
	for i, k := range items {
		if taken[i][r] {
			saved[k] = true
			r -= int((p.steps[k].bytes + grain - 1) / grain)
		}
	}
	return saved
}

// saving is the schedule that computes every forward result again that is not saved.
func (p *problem) saving(saved []bool) (schedule []int) {
	there := slices.Clone(saved)
	var ensure func(k int)
	ensure = func(k int) {
		if there[k] || !p.steps[k].forward {
			return
		}
		for _, s := range p.steps[k].needs {
			ensure(s)
		}
		there[k] = true
		schedule = append(schedule, k)
	}
	for k := range p.steps {
		if !p.steps[k].forward {
			for _, s := range p.steps[k].needs {
				ensure(s)
			}
		}
		schedule = append(schedule, k)
	}
	return schedule
}
