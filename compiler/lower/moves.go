package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// findMoves finds the operands at which an Owned variable is read for the last time
// and whose reference is stored: it moves there. A variable that gets its value by
// such a move is Owned from then on.
func (f *function) findMoves() {
	f.moves = map[use]bool{}
	if f.options.NoMoves {
		return
	}
	live := flow.Live(f.Function, f.borrowed)
	// Forward over the blocks, since a move can make its receiver one to move from.
	for block := range f.Blocks {
		behind := make([]flow.Set, len(f.Blocks[block].Ops))
		live.Backward(block, func(i int, o *flow.Op, after flow.Set) {
			if slices.ContainsFunc(o.Args, func(a flow.Operand) bool { return f.owned(a.Var) }) {
				behind[i] = slices.Clone(after)
			}
		})
		for i := range behind {
			if behind[i] != nil {
				f.moveInto(place{block, i}, behind[i])
			}
		}
	}
}

// moveInto finds the moves of one operation, whose operands stay in use when they
// are in after.
func (f *function) moveInto(p place, after flow.Set) {
	o := f.at(p)
	taken := map[flow.Var]bool{}
	for i := len(o.Args) - 1; i >= 0; i-- {
		v := o.Args[i].Var
		if !f.owned(v) || after.Has(v) || taken[v] || o.Dst == v || !f.takes(o, i) || !f.receives(o) || f.lends(o, v) {
			continue
		}
		taken[v] = true
		f.moves[use{p, i}] = true
		if o.Code == flow.Copy {
			f.kinds[o.Dst] = Owned
		}
	}
}

// lends tells whether a call borrows what looks into the value of a variable, so that it must not get the variable's
// reference as well.
func (f *function) lends(o *flow.Op, v flow.Var) bool {
	if o.Code != flow.Call {
		return false
	}
	for i, a := range o.Args {
		if !f.takes(o, i) && f.counted(a.Var) && f.looks(a.Var, v) {
			return true
		}
	}
	return false
}

// receives tells whether the operation would need a reference of its own. A copy to
// a variable that only borrows does not.
func (f *function) receives(o *flow.Op) bool {
	return o.Code != flow.Copy || f.kinds[o.Dst] != Borrowed
}
