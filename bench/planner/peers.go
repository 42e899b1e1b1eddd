package main

import (
	"math/rand/v2"
	"slices"

	"tlruntime/runtime/offsets"
)

// peer is what others do, re-implemented in a few lines: the frame, in bytes.
type peer struct {
	name  string
	place func(list []offsets.Buffer) int64
	slow  bool // it places many times
}

// By size: Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020, which is TFLite's
// planner; by breadth: theirs, too, the buffers of the step with the most bytes first. XLA's heap simulator takes the
// better of two orders.
var peers = []peer{
	{name: "by size (TFLite)", place: func(b []offsets.Buffer) int64 { return bestFit(b, sorted(b, bySize)) }},
	{name: "by breadth (TFLite)", place: func(b []offsets.Buffer) int64 { return bestFit(b, byBreadth(b)) }},
	{name: "best of two (XLA)", place: func(b []offsets.Buffer) int64 {
		return min(bestFit(b, sorted(b, bySize)), bestFit(b, sorted(b, byDuration)))
	}},
	{name: "program order (IREE)", place: func(b []offsets.Buffer) int64 { return bestFit(b, sorted(b, byStart)) }},
	{name: "hill climb (USMP)", place: hillClimb, slow: true},
}

func bySize(a, b offsets.Buffer) int64     { return b.Bytes - a.Bytes }
func byDuration(a, b offsets.Buffer) int64 { return (b.End - b.First) - (a.End - a.First) }
func byStart(a, b offsets.Buffer) int64    { return a.First - b.First }

// sorted is a stable order.
func sorted(list []offsets.Buffer, less func(a, b offsets.Buffer) int64) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return sign(less(list[x], list[y])) })
	return order
}

func sign(d int64) int { return int(min(1, max(-1, d))) }

// byBreadth takes the steps with the most bytes first, and of each what it has, the largest first.
func byBreadth(list []offsets.Buffer) []int {
	var steps []int64
	for _, b := range list {
		steps = append(steps, b.First, b.End)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	bytes := make([]int64, len(steps))
	at := func(step int64) int {
		k, _ := slices.BinarySearch(steps, step)
		return k
	}
	for _, b := range list {
		bytes[at(b.First)] += b.Bytes
		bytes[at(b.End)] -= b.Bytes
	}
	for k := 1; k < len(bytes); k++ {
		bytes[k] += bytes[k-1]
	}
	ranges := largest(bytes)
	breadth := make([]int64, len(list))
	for i, b := range list {
		breadth[i] = ranges(at(b.First), at(b.End))
	}
	order := sorted(list, bySize)
	slices.SortStableFunc(order, func(x, y int) int { return sign(breadth[y] - breadth[x]) })
	return order
}

// largest answers for the largest of list[from:to].
func largest(list []int64) func(from, to int) int64 {
	levels := [][]int64{list} // of 1, 2, 4, ... neighbours
	for wide := 1; 2*wide <= len(list); wide *= 2 {
		last := levels[len(levels)-1]
		next := make([]int64, len(list)-2*wide+1)
		for k := range next {
			next[k] = max(last[k], last[k+wide])
		}
		levels = append(levels, next)
	}
	return func(from, to int) int64 {
		level, wide := 0, 1
		for 2*wide <= to-from {
			level, wide = level+1, 2*wide
		}
		return max(levels[level][from], levels[level][to-wide])
	}
}

// bestFit puts one buffer after the other into the smallest hole that holds it.
func bestFit(list []offsets.Buffer, order []int) int64 {
	return greedy(list, order, func(hole, best int64) bool { return best < 0 || hole < best })
}

// firstFit puts one buffer after the other as low as it can go.
func firstFit(list []offsets.Buffer, order []int) int64 {
	return greedy(list, order, func(_, best int64) bool { return best < 0 })
}

// placed is a buffer at an offset.
type placed struct {
	offsets.Interval
	at, end int64
}

// stretches keep what is placed by time, so that a million can be placed: one list for each so many steps.
type stretches struct {
	lists [][]placed
	all   [][]placed // by offset, in parts of up to manyPlaced, for what lives through several stretches
	count int        // of what is placed
	first int64
	wide  int64
}

const (
	manyPlaced = 1024
	// sortWork is how many buffers are read in the time in which one is sorted, about.
	sortWork = 16
)

func newStretches(list []offsets.Buffer) *stretches {
	s := &stretches{wide: 1}
	if len(list) == 0 {
		return s
	}
	first, end, life := list[0].First, list[0].End, int64(0)
	for _, b := range list {
		first, end = min(first, b.First), max(end, b.End)
		life += b.End - b.First
	}
	s.first, s.wide = first, max(1, life/int64(len(list)), (end-first)/int64(len(list)))
	s.lists = make([][]placed, (end-first)/s.wide+1)
	return s
}

func (s *stretches) of(b offsets.Buffer) (from, to int64) {
	return (b.First - s.first) / s.wide, (b.End - 1 - s.first) / s.wide
}

// during appends what is alive with b, by offset: from the stretches of its life, or from all, where that is less work
// than sorting.
func (s *stretches) during(b offsets.Buffer, to []placed) []placed {
	from, last := s.of(b)
	near := 0
	for _, list := range s.lists[from : last+1] {
		near += len(list)
	}
	if from < last && near*sortWork > s.count {
		for _, list := range s.all {
			to = together(b, list, to)
		}
		return to
	}
	for k := from; k <= last; k++ {
		begin := len(to)
		to = together(b, s.lists[k], to)
		if k > from { // what began earlier stands in the stretch before, too
			kept := slices.DeleteFunc(to[begin:], func(x placed) bool { return (x.First-s.first)/s.wide < k })
			to = to[:begin+len(kept)]
		}
	}
	if from < last {
		slices.SortFunc(to, func(x, y placed) int { return sign(x.at - y.at) })
	}
	return to
}

// together appends what of a list is alive with b.
func together(b offsets.Buffer, list, to []placed) []placed {
	for k := range list {
		if x := &list[k]; x.First < b.End && b.First < x.End {
			to = append(to, *x)
		}
	}
	return to
}

func (s *stretches) add(b offsets.Buffer, at int64) {
	x := placed{offsets.Interval{First: b.First, End: b.End}, at, at + b.Bytes}
	s.count++
	from, last := s.of(b)
	for k := from; k <= last; k++ {
		s.lists[k] = insert(s.lists[k], x)
	}
	if len(s.all) == 0 {
		s.all = [][]placed{{x}}
		return
	}
	k, _ := slices.BinarySearchFunc(s.all[1:], at, func(list []placed, at int64) int { return sign(list[0].at - at) })
	s.all[k] = insert(s.all[k], x)
	if part := s.all[k]; len(part) == manyPlaced {
		s.all[k] = part[: manyPlaced/2 : manyPlaced/2]
		s.all = slices.Insert(s.all, k+1, slices.Clone(part[manyPlaced/2:]))
	}
}

func insert(list []placed, x placed) []placed {
	place, _ := slices.BinarySearchFunc(list, x.at, func(x placed, at int64) int { return sign(x.at - at) })
	return slices.Insert(list, place, x)
}

// greedy puts one buffer after the other into the best hole between what is placed.
func greedy(list []offsets.Buffer, order []int, better func(hole, best int64) bool) int64 {
	below, near, frame := newStretches(list), []placed{}, int64(0)
	for _, i := range order {
		b := list[i]
		at, best, end := int64(-1), int64(-1), int64(0)
		near = below.during(b, near[:0])
		for _, x := range near {
			if hole := x.at - end; hole >= b.Bytes && better(hole, best) {
				at, best = end, hole
			}
			end = max(end, x.end)
		}
		if at < 0 {
			at = end
		}
		below.add(b, at)
		frame = max(frame, at+b.Bytes)
	}
	return frame
}

// hillClimb swaps two positions of the order by size, 500 times, and keeps what is
// no worse.
func hillClimb(list []offsets.Buffer) int64 {
	r := rand.New(rand.NewPCG(1, 1))
	order := sorted(list, bySize)
	best := firstFit(list, order)
	for range 500 {
		i, j := r.IntN(len(order)), r.IntN(len(order))
		order[i], order[j] = order[j], order[i]
		if frame := firstFit(list, order); frame <= best {
			best = frame
		} else {
			order[i], order[j] = order[j], order[i]
		}
	}
	return best
}
