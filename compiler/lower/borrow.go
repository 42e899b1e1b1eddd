package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
)

// findKinds decides what holds the reference of every counted variable. Whether a
// variable that gets its value from one that changes becomes Owned is left to
// findMoves.
func (f *function) findKinds() {
	f.borrowed = slices.Repeat([]flow.Var{flow.NoVar}, len(f.Vars))
	for v := range flow.Var(len(f.Vars)) {
		switch {
		case !f.counted(v) || f.kinds[v] == Slotted:
		case f.cursors.Has(v):
			f.kinds[v], f.borrowed[v] = Borrowed, f.keeper(v)
		case f.changes.Has(v):
			f.kinds[v] = Owned
		case f.isOwner(v):
			f.kinds[v] = Owned
		case int(v) < f.Params:
			f.kinds[v] = Borrowed
		default:
			if f.kinds[v] = f.kindByDefinition(v); f.kinds[v] == Held && f.isCell(f.Vars[v].Type) {
				f.kinds[v] = Owned
			}
		}
	}
	for v := range flow.Var(len(f.Vars)) {
		if f.holds(v) && f.looksInto(v) != flow.NoVar && f.isShort(v) {
			f.kinds[v] = Borrowed
		}
	}
}

// holds tells whether a variable that does not change has a reference, its own or a scope's.
func (f *function) holds(v flow.Var) bool {
	return f.kinds[v] == Held || f.kinds[v] == Owned && !f.changes.Has(v) && int(v) >= f.Params
}

// kindByDefinition is the kind of a variable with one definition.
func (f *function) kindByDefinition(v flow.Var) Kind {
	if f.def[v] == nowhere {
		return Borrowed // a temporary of code that nothing leads to
	}
	o := f.at(f.def[v])
	switch {
	case o.Code == flow.Call && f.isReturned(v):
		return Floating
	case o.Code == flow.Taken || o.Code == flow.Take:
		return Owned
	case o.Fresh():
		return Held
	case o.Args[0].Var == flow.NoVar:
		return Borrowed // none
	}
	source := o.Args[0].Var
	if f.options.NoBorrows || f.changes.Has(source) && !f.cursors.Has(source) {
		return Held
	}
	f.borrowed[v] = source
	return Borrowed
}

// isReturned tells whether the next thing that happens to a call's result is that
// it is returned.
func (f *function) isReturned(v flow.Var) bool {
	d := f.def[v]
	if ops := f.Blocks[d.block].Ops; d.op+1 < len(ops) {
		next := &ops[d.op+1]
		return next.Code == flow.Return && len(next.Args) == 1 && next.Args[0].Var == v
	}
	return false
}

// looksInto is the variable that a Copy or Load gets the value from.
func (f *function) looksInto(v flow.Var) flow.Var {
	if o := f.at(f.def[v]); !o.Fresh() {
		return o.Args[0].Var
	}
	return flow.NoVar
}

// isShort tells whether a variable, with all that borrows from it, is read for the
// last time in its block and before the value that it looks into can change. Then it
// needs no reference. The operation that reads it last may change that value: it
// acquires what it stores before it releases anything.
func (f *function) isShort(v flow.Var) bool {
	if f.options.NoBorrows {
		return false
	}
	start, source := f.def[v], f.looksInto(v)
	last := start.op
	for w := range flow.Var(len(f.Vars)) {
		if !f.borrowsFrom(w, v) {
			continue
		}
		for _, u := range f.uses[w] {
			if u.block != start.block {
				return false
			}
			if f.at(u).Code != flow.Taken { // Reset has read it
				last = max(last, u.op)
			}
		}
	}
	for i := start.op + 1; i < last; i++ {
		if f.ends(&f.Blocks[start.block].Ops[i], source) {
			return false
		}
	}
	return true
}

// borrowsFrom tells whether w is v, or looks into its value.
func (f *function) borrowsFrom(w, v flow.Var) bool {
	for w != v && w != flow.NoVar {
		w = f.borrowed[w]
	}
	return w == v
}

// ends tells whether an operation may change or release the value of a variable, or
// move it elsewhere. The end of its scope is none: what looks into it has ended.
func (f *function) ends(o *flow.Op, v flow.Var) bool {
	if o.Dst == v {
		return true
	}
	for i, a := range o.Args {
		if a.Var == v && f.takes(o, i) {
			return true
		}
	}
	return false
}

// takes tells whether an operation stores, ends or hands on the reference of an operand.
func (f *function) takes(o *flow.Op, arg int) bool {
	switch o.Code {
	case flow.New, flow.Copy, flow.SetField, flow.Put:
		return true
	case flow.Reset:
		return arg == 0
	case flow.Return:
		return f.isCell(o.Args[arg].Type)
	case flow.Call:
		return f.owns(o.Callee, arg)
	}
	return false
}
