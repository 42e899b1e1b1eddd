package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// root is what keeps the value of a variable alive: a variable that does not change,
// or one of these.
type root int

const (
	noRoot  root = -1 // nothing has to: the value is none
	params  root = -2 // several parameters
	unknown root = -3 // nothing that stays
)

// findCursors finds the variables that change, but only walk through values that
// another variable keeps: every definition copies or reads a field or element of a
// parameter, of one variable that does not change, or of what was read there before.
// Such a variable needs no reference. What it looks at cannot change either, because
// a change copies what others refer to.
func (f *function) findCursors() {
	f.cursors = flow.NewSet(len(f.Vars))
	f.roots = slices.Repeat([]root{unknown}, len(f.Vars))
	if f.options.NoBorrows {
		return
	}
	for v := flow.Var(f.Params); int(v) < len(f.Vars); v++ {
		if f.counted(v) && f.changes.Has(v) && f.kinds[v] != Slotted && !(f.consumed != nil && f.consumed.Has(v)) {
			f.cursors.Add(v)
		}
	}
	f.Each(func(o *flow.Op) {
		if f.cursors.Has(o.Dst) && !o.LooksInto() {
			f.cursors.Remove(o.Dst)
		}
		if o.Code == flow.Reset && o.Args[0].Var != flow.NoVar {
			f.cursors.Remove(o.Args[0].Var)
		}
	})
	for changed := true; changed; {
		f.findRoots()
		changed = false
		f.cursors.Each(func(v flow.Var) {
			if !f.keptFor(v) {
				f.cursors.Remove(v)
				changed = true
			}
		})
	}
}

// findRoots computes what keeps the values of all variables, to the least fixed point.
func (f *function) findRoots() {
	for v := range f.roots {
		f.roots[v] = noRoot
		switch v := flow.Var(v); {
		case f.cursors.Has(v) || !f.counted(v):
		case f.changes.Has(v) || f.kinds[v] == Slotted:
			f.roots[v] = unknown
		case f.def[v] == nowhere || f.at(f.def[v]).Fresh():
			f.roots[v] = root(v)
		}
	}
	for grew := true; grew; {
		grew = false
		f.Each(func(o *flow.Op) {
			if !f.counted(o.Dst) || !o.LooksInto() || o.Args[0].Var == flow.NoVar {
				return
			}
			before := f.roots[o.Dst]
			f.roots[o.Dst] = f.either(before, f.roots[o.Args[0].Var])
			grew = grew || f.roots[o.Dst] != before
		})
	}
}

// either is the root of a value that one or the other keeps.
func (f *function) either(a, b root) root {
	lent := func(r root) bool { return r == params || r >= 0 && int(r) < f.Params && !f.isOwner(flow.Var(r)) }
	switch {
	case a == b || b == noRoot:
		return a
	case a == noRoot:
		return b
	case lent(a) && lent(b):
		return params
	}
	return unknown
}

// keptFor tells whether the root of a variable is there for as long as the variable.
func (f *function) keptFor(v flow.Var) bool {
	r := f.roots[v]
	if r < 0 {
		return r != unknown
	}
	for s := f.Vars[v].Scope; s != flow.NoScope; s = f.Scopes[s].Parent {
		if s == f.Vars[r].Scope {
			return true
		}
	}
	return false
}

// keeper is the variable that has to live as long as a cursor, or NoVar: several parameters
// that are borrowed do in any case.
func (f *function) keeper(v flow.Var) flow.Var { return max(flow.Var(f.roots[v]), flow.NoVar) }
