package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// ahead is a cell that ends in a block before a call, and becomes what every path behind the
// block makes. So what was read from a unique cell is unique when the call gets it, though
// which cell is made depends on what the call returns.
type ahead struct {
	reuse
	block  int
	made   []place // of each path the operation New
	behind []int   // all blocks that the block leads to
}

// endAhead ends the first cell that can end ahead; false: there is none.
func (f *function) endAhead() bool {
	live := flow.Live(f.Function, nil)
	isCall := func(o flow.Op) bool { return o.Code == flow.Call }
	for block, b := range f.Blocks {
		if len(b.Successors) == 0 || !slices.ContainsFunc(b.Ops, isCall) {
			continue
		}
		before := make([]flow.Set, len(b.Ops)+1)
		before[0] = live.Backward(block, func(i int, _ *flow.Op, after flow.Set) {
			before[i+1] = slices.Clone(after)
		})
		for v := range flow.Var(len(f.Vars)) {
			a := ahead{reuse: reuse{of: v, at: len(b.Ops) - 1}, block: block}
			for a.at > 0 && !touches(&b.Ops[a.at-1], v) {
				a.at--
			}
			if f.owned(v) && f.isCell(f.Vars[v].Type) && !before[a.at].Has(v) &&
				slices.ContainsFunc(b.Ops[a.at:], isCall) && f.hasBefore(v, place{block, a.at}) &&
				f.onEachPath(&a) && f.keep(&a.reuse, before[a.at], flow.NewSet(len(f.Vars))) {
				f.end(&a)
				return true
			}
		}
	}
	return false
}

// hasBefore tells whether a variable has a reference before an operation, for certain.
func (f *function) hasBefore(v flow.Var, p place) bool {
	state := f.in[p.block]
	if p.op > 0 { // else nothing changes it, and most variables of a large function are asked for here
		state = slices.Clone(state)
	}
	for i := range p.op {
		f.step(place{p.block, i}, state)
	}
	return f.mayEnd(v, state)
}

// onEachPath finds what the paths behind a block make; false where one makes no such cell,
// where one makes two that would both take the token, or where the blocks behind are
// reached otherwise.
func (f *function) onEachPath(a *ahead) bool {
	if !f.finds(a, a.block, map[int]bool{}) {
		return false
	}
	behind := f.reached(a.block)
	for i, b := range f.Blocks {
		for _, s := range b.Successors {
			if behind[s] && !behind[i] && i != a.block {
				return false
			}
		}
		if behind[i] {
			a.behind = append(a.behind, i)
			if i == a.block || slices.ContainsFunc(b.Ops, func(o flow.Op) bool { return touches(&o, a.of) }) {
				return false
			}
		}
	}
	for _, p := range a.made {
		after := f.reached(p.block)
		if slices.ContainsFunc(a.made, func(q place) bool { return after[q.block] }) || !f.hasBefore(a.of, p) {
			return false
		}
	}
	return true
}

// finds adds to what is made the first cell of the type on each path behind a block.
func (f *function) finds(a *ahead, block int, seen map[int]bool) bool {
	for _, s := range f.Blocks[block].Successors {
		if seen[s] {
			continue
		}
		seen[s] = true
		i := slices.IndexFunc(f.Blocks[s].Ops, func(o flow.Op) bool {
			return f.makesCell(o) && o.Type == f.Vars[a.of].Type
		})
		if i >= 0 {
			a.made = append(a.made, place{s, i})
		} else if len(f.Blocks[s].Successors) == 0 || !f.finds(a, s, seen) {
			return false
		}
	}
	return true
}

// reached are the blocks that a block leads to.
func (f *function) reached(block int) []bool {
	reached := make([]bool, len(f.Blocks))
	for next := slices.Clone(f.Blocks[block].Successors); len(next) > 0; next = next[1:] {
		if !reached[next[0]] {
			reached[next[0]] = true
			next = append(next, f.Blocks[next[0]].Successors...)
		}
	}
	return reached
}

// end inserts Reset, and has what is made take its token.
func (f *function) end(a *ahead) {
	b := f.Blocks[a.block]
	tail := slices.Clone(b.Ops[a.at:])
	rest := [][]flow.Op{tail}
	for _, i := range a.behind {
		rest = append(rest, f.Blocks[i].Ops)
	}
	made := make([]*flow.Op, len(a.made))
	for i, p := range a.made {
		made[i] = f.at(p)
	}
	ops := f.reset(a.reuse, f.scopeBefore(&b.Ops[a.at]), made, rest)
	b.Ops = append(append(b.Ops[:a.at:a.at], ops...), tail...)
	f.reused += len(made)
}
