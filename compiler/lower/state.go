package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// holding tells what an Owned variable may hold: the bits of the ways that lead to
// an operation.
type holding uint8

const (
	gone holding = 1 << iota // nothing: its reference moved away, or it has no value yet
	none                     // the value none
	full                     // a reference
)

// findStates computes forwards what Owned variables may hold before each block, and
// finds those that are released where their reference moved away on one way and
// not on another: a move has to leave none there.
func (f *function) findStates() {
	f.rankOwned()
	f.in = make([][]holding, len(f.Blocks))
	for i := range f.in {
		f.in[i] = make([]holding, f.numOwned)
	}
	for v := range flow.Var(len(f.Vars)) {
		if f.isOwner(v) {
			f.in[0][f.rank[v]] = full
		} else if f.owned(v) {
			f.in[0][f.rank[v]] = gone
		}
	}
	for changed := true; changed; {
		changed = false
		for i, b := range f.Blocks {
			out := slices.Clone(f.in[i])
			for j := range b.Ops {
				f.step(place{i, j}, out)
			}
			for _, s := range b.Successors {
				changed = join(f.in[s], out) || changed
			}
		}
	}
	f.needNull = flow.NewSet(len(f.Vars))
	for i, b := range f.Blocks {
		state := slices.Clone(f.in[i])
		for j := range b.Ops {
			f.released(&b.Ops[j], func(v flow.Var) {
				if h := state[f.rank[v]]; h&gone != 0 && h&full != 0 {
					f.needNull.Add(v)
				}
			})
			f.step(place{i, j}, state)
		}
	}
}

// rankOwned numbers the Owned variables, since most variables are none, and finds the
// scopes at whose ends they are released.
func (f *function) rankOwned() {
	f.rank, f.numOwned = make([]int, len(f.Vars)), 0
	f.ending = make([][]flow.Var, len(f.Scopes))
	for v := range flow.Var(len(f.Vars)) {
		if f.owned(v) {
			f.rank[v] = f.numOwned
			f.numOwned++
			f.ending[f.home(v)] = append(f.ending[f.home(v)], v)
		}
	}
}

// home is the scope at whose end an Owned variable is released: its own, or one around a
// statement whose target may look into the value.
func (f *function) home(v flow.Var) int {
	scope := f.Vars[v].Scope
	for f.Scopes[scope].Kind == flow.StatementScope && !f.owned(f.Scopes[scope].Target) {
		scope = f.Scopes[scope].Parent
	}
	return scope
}

func join(into, from []holding) (grew bool) {
	for v, h := range from {
		grew = grew || h&^into[v] != 0
		into[v] |= h
	}
	return grew
}

// step turns what is held before an operation, by rank, into what is held after it.
func (f *function) step(p place, state []holding) {
	o := f.at(p)
	for i, a := range o.Args {
		if f.moves[use{p, i}] {
			state[f.rank[a.Var]] = gone
		}
	}
	switch {
	case o.Code == flow.Open || o.Code == flow.Close:
		f.ownedIn(int(o.Index), func(v flow.Var) { state[f.rank[v]] = gone })
	case f.owned(o.Dst) && o.Code == flow.Copy && o.Args[0].Var == flow.NoVar:
		state[f.rank[o.Dst]] = none
	case f.owned(o.Dst):
		state[f.rank[o.Dst]] = full
	}
}

// released calls visit with the Owned variables whose references an operation
// drops if there are any, in the order in which it does.
func (f *function) released(o *flow.Op, visit func(v flow.Var)) {
	switch o.Code {
	case flow.Copy:
		if f.owned(o.Dst) {
			visit(o.Dst)
		}
	case flow.Close:
		f.ownedIn(int(o.Index), visit)
	case flow.Return:
		for s := o.Scope; s != flow.NoScope; s = f.Scopes[s].Parent {
			f.ownedIn(s, visit)
		}
	}
}

// ownedIn visits the Owned variables of a scope, the last declared first.
func (f *function) ownedIn(scope int, visit func(v flow.Var)) {
	for _, v := range slices.Backward(f.ending[scope]) {
		visit(v)
	}
}
