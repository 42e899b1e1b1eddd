package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// cancel removes the pairs of an acquire and a release of one object between which
// nobody can tell whether the object has that reference: nothing ends the object, and
// no variable that may have it is asked whether its reference is the only one. LLVM
// cannot, because it does not know what the calls do to the count.
func (f *function) cancel() {
	if f.options.NoCancel {
		return
	}
	entries := make([]int, len(f.Blocks))
	for _, b := range f.Blocks {
		for _, s := range b.Successors {
			entries[s]++
		}
	}
	// Backwards, so that pairs inside of others go first. Pairs that overlap take more turns.
	for before := -1; before < f.cancelled; {
		before = f.cancelled
		for i := len(f.Blocks) - 1; i >= 0; i-- {
			for j := len(f.Blocks[i].Ops) - 1; j >= 0; j-- {
				if end, found := f.partner(place{i, j}, entries); found {
					f.drop(end)
					f.drop(place{i, j})
					f.cancelled++
				}
			}
		}
	}
}

func (f *function) drop(p place) {
	b := f.Blocks[p.block]
	b.Ops = slices.Delete(b.Ops, p.op, p.op+1)
}

// partner finds the release that an acquire can be cancelled with. The search follows
// jumps to blocks that nothing else leads to.
func (f *function) partner(p place, entries []int) (end place, found bool) {
	first := f.at(p)
	if first.Code != flow.Acquire || first.Args[0].Var == flow.NoVar {
		return p, false
	}
	w := witness{function: f, of: first.Args[0], same: map[flow.Var]bool{first.Args[0].Var: true}}
	for p.op++; len(w.same) > 0; p.op++ {
		o := f.at(p)
		switch {
		case o.Code == flow.Release && w.same[o.Args[0].Var]:
			return p, true
		case o.Code == flow.Jump:
			next := f.Blocks[p.block].Successors[0]
			if entries[next] != 1 || next <= p.block {
				return p, false
			}
			p = place{next, -1}
		case w.sees(o):
			return p, false
		default:
			w.follow(o)
		}
	}
	return p, false
}

// witness looks for operations to which the reference matters that an acquire has made.
type witness struct {
	*function
	of   flow.Operand      // what was acquired
	same map[flow.Var]bool // the variables that have the object
}

// follow notes which variables have the object behind an operation.
func (w *witness) follow(o *flow.Op) {
	if o.Dst == flow.NoVar || o.InMemory() {
		return
	}
	delete(w.same, o.Dst)
	if o.Code == flow.Copy && w.same[o.Args[0].Var] {
		w.same[o.Dst] = true
	}
}

// sees tells whether the reference matters to an operation. A call of the program's own
// borrows, and changes a copy. Where a parameter or a scope keeps the object, no release
// ends it, and whoever else has it shares it.
func (w *witness) sees(o *flow.Op) bool {
	kept := w.kept(w.of.Var)
	switch o.Code {
	case flow.Branch, flow.Return, flow.ExitScope, flow.FunctionExit:
		return true
	case flow.Release, flow.StoreAt, flow.RemoveLast:
		return !kept
	case flow.Reset:
		return !kept || w.same[o.Args[0].Var]
	case flow.Unshare:
		return w.same[o.Dst] || !kept && o.Type == w.of.Type
	case flow.Call:
		for i, a := range o.Args {
			if w.takes(o, i) && (!kept || w.same[a.Var]) {
				return true
			}
		}
		return slices.ContainsFunc(w.Program.Externs, func(e *ir.Function) bool { return e.Name == o.Callee })
	}
	return false
}

// kept tells whether a parameter that is borrowed, or a variable that a scope has, keeps
// what a variable has.
func (f *function) kept(v flow.Var) bool {
	if int(v) >= len(f.roots) || f.roots[v] < 0 {
		return int(v) < len(f.roots) && f.roots[v] == params
	}
	return f.kinds[f.roots[v]] != Owned
}
