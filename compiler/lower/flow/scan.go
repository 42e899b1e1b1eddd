package flow

import (
	"cmp"
	"slices"
)

// interval is where a variable is live: from the position that defines it to the
// last that reads it, in the order of the blocks. An operation reads at an even
// position and defines at the odd one that follows, so that a result can have the
// slot of an operand that dies.
type interval struct {
	v          Var
	start, end int
	bytes      int64
}

// AssignSlots gives each of the variables, which are tensors, a slot of the
// function's frame, such that no two that are live together share one. It returns
// the slots and the bytes of the largest tensor in each.
//
// This is the linear scan of Poletto and Sarkar, "Linear Scan Register
// Allocation" (TOPLAS 21(5), 1999), without spilling, since a frame has as many slots
// as it needs. Of the slots that are free it takes the one whose size fits best,
// because a slot that has to grow wastes what it had.
func AssignSlots(f *Function, variables Set) (slots map[Var]int, bytes []int64) {
	slots = map[Var]int{}
	var active, free []int // active: indexes of intervals; free: slots
	all := intervals(f, variables)
	for i, it := range all {
		active = slices.DeleteFunc(active, func(j int) bool {
			if all[j].end < it.start {
				free = append(free, slots[all[j].v])
				return true
			}
			return false
		})
		if len(free) == 0 {
			free = append(free, len(bytes))
			bytes = append(bytes, 0)
		}
		best := bestFit(free, bytes, it.bytes)
		slot := free[best]
		free = slices.Delete(free, best, best+1)
		slots[it.v], bytes[slot] = slot, max(bytes[slot], it.bytes)
		active = append(active, i)
	}
	return slots, bytes
}

// bestFit returns the position of the smallest free slot that is large enough, or
// of the largest.
func bestFit(free []int, bytes []int64, need int64) int {
	best := 0
	for i, slot := range free {
		have, bestHas := bytes[slot], bytes[free[best]]
		switch fits, bestFits := have >= need, bestHas >= need; {
		case fits && !bestFits, fits && have < bestHas, !fits && !bestFits && have > bestHas:
			best = i
		}
	}
	return best
}

// intervals returns the intervals of the variables by start.
func intervals(f *Function, variables Set) []interval {
	live := Live(f, nil)
	found := map[Var]*interval{}
	mark := func(v Var, position int) {
		if !variables.Has(v) {
			return
		}
		it := found[v]
		if it == nil {
			it = &interval{v, position, position, f.Vars[v].Type.Bytes()}
			found[v] = it
		}
		it.start, it.end = min(it.start, position), max(it.end, position)
	}
	position := 0
	for block, b := range f.Blocks {
		first := position
		in := live.Backward(block, func(i int, o *Op, after Set) {
			after.Each(func(v Var) { mark(v, first+2*i+2) })
			for _, a := range o.Args {
				mark(a.Var, first+2*i)
			}
			if o.Dst != NoVar {
				mark(o.Dst, first+2*i+1)
			}
		})
		in.Each(func(v Var) { mark(v, first) })
		position += 2 * len(b.Ops)
	}
	list := make([]interval, 0, len(found))
	for _, it := range found {
		list = append(list, *it)
	}
	slices.SortFunc(list, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.v, b.v))
	})
	return list
}
