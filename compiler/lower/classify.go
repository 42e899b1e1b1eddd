package lower

import (
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// classify finds the variables that change. A parameter that changes gets a
// variable of its own for that: the caller's value is only lent.
func classify(f *flow.Function, options Options) *function {
	c := &function{Function: f, options: options}
	c.changes = changing(f)
	copies := map[flow.Var]flow.Var{}
	for p := range flow.Var(f.Params) {
		if c.changes.Has(p) && c.counted(p) {
			copies[p] = f.Double(p)
		}
	}
	if len(copies) > 0 {
		rename(f, copies)
		c.changes = changing(f)
	}
	return c
}

// changing returns the variables with more than one definition, the call being that
// of a parameter, and those that are changed in parts.
func changing(f *flow.Function) flow.Set {
	defined, changes := flow.NewSet(len(f.Vars)), flow.NewSet(len(f.Vars))
	for p := range flow.Var(f.Params) {
		defined.Add(p)
	}
	f.Each(func(o *flow.Op) {
		if o.Dst == flow.NoVar {
			return
		}
		if o.Updates() || defined.Has(o.Dst) {
			changes.Add(o.Dst)
		}
		defined.Add(o.Dst)
	})
	return changes
}

// rename puts the copies in the place of parameters, and makes them at the entry.
func rename(f *flow.Function, copies map[flow.Var]flow.Var) {
	f.Each(func(o *flow.Op) {
		if v, renamed := copies[o.Dst]; renamed {
			o.Dst = v
		}
		for i := range o.Args {
			if v, renamed := copies[o.Args[i].Var]; renamed {
				o.Args[i].Var = v
			}
		}
	})
	for i := range f.Scopes {
		if v, renamed := copies[f.Scopes[i].Target]; renamed {
			f.Scopes[i].Target = v
		}
	}
	var entry []flow.Op
	for p := range flow.Var(f.Params) {
		if v, renamed := copies[p]; renamed {
			entry = append(entry, flow.Op{Code: flow.Copy, Dst: v, Args: []flow.Operand{f.Use(p)}, Slot: flow.Heap})
		}
	}
	f.Blocks[0].Ops = append(entry, f.Blocks[0].Ops...)
}

// escapeSummary tells, by symbol, which tensor parameters a function keeps beyond
// the call: stores, returns, or hands to one that does.
type escapeSummary map[string]flow.Set

// escapes computes the summary of all functions, to the least fixed point: a
// parameter that is only handed around in a recursion stays.
func escapes(functions []*function) escapeSummary {
	summary := escapeSummary{}
	for _, f := range functions {
		summary[f.Symbol] = flow.NewSet(max(f.Params, 1))
	}
	for changed := true; changed; {
		changed = false
		for _, f := range functions {
			f.Each(func(o *flow.Op) {
				for i, a := range o.Args {
					if v := a.Var; v >= 0 && int(v) < f.Params && !summary[f.Symbol].Has(v) && summary.keeps(o, i) {
						summary[f.Symbol].Add(v)
						changed = true
					}
				}
			})
		}
	}
	return summary
}

// keeps tells whether an operand may be referred to after the operation. A function of
// another module may keep all that it gets.
func (s escapeSummary) keeps(o *flow.Op, arg int) bool {
	switch o.Code {
	case flow.TensorArith, flow.Sum, flow.Element, flow.IsNone, flow.SetElement:
		return false
	case flow.Call:
		kept, known := s[o.Callee]
		return !known || kept.Has(flow.Var(arg))
	}
	return true
}

// assignSlots puts the tensors that never leave the function into its frame: those
// that are made by every operation that defines them, and kept by none that reads
// them.
func (f *function) assignSlots(summary escapeSummary) {
	f.kinds = make([]Kind, len(f.Vars))
	if f.options.NoSlots {
		return
	}
	stays := flow.NewSet(len(f.Vars))
	for v := f.Params; v < len(f.Vars); v++ {
		if f.Vars[v].Type.Kind == ir.Tensor {
			stays.Add(flow.Var(v))
		}
	}
	f.Each(func(o *flow.Op) {
		if stays.Has(o.Dst) && !o.MakesTensor() && o.Code != flow.SetElement {
			stays.Remove(o.Dst)
		}
		for i, a := range o.Args {
			if stays.Has(a.Var) && summary.keeps(o, i) {
				stays.Remove(a.Var)
			}
		}
	})
	slots, bytes := flow.AssignSlots(f.Function, stays)
	f.Slots = bytes
	stays.Each(func(v flow.Var) { f.kinds[v] = Slotted })
	f.Each(func(o *flow.Op) {
		if stays.Has(o.Dst) && o.MakesTensor() {
			o.Slot = slots[o.Dst]
		}
	})
}

// splitDefinitions lets Owned variables get their values by Copy alone: what makes a
// value makes it for a temporary.
func (f *function) splitDefinitions() {
	for _, b := range f.Blocks {
		var ops []flow.Op
		for _, o := range b.Ops {
			v := o.Dst
			if !f.counted(v) || !f.changes.Has(v) || f.kinds[v] == Slotted || o.Updates() || o.Code == flow.Copy {
				ops = append(ops, o)
				continue
			}
			o.Dst = f.Temp(f.Vars[v].Type, o.Scope)
			f.kinds = append(f.kinds, Plain)
			copied := flow.Op{Code: flow.Copy, Dst: v, Args: []flow.Operand{f.Use(o.Dst)}, Slot: flow.Heap,
				Scope: o.Scope}
			ops = append(ops, o, copied)
		}
		b.Ops = ops
	}
	f.growChanges()
}

// growChanges makes room for new variables, which do not change.
func (f *function) growChanges() {
	grown := flow.NewSet(len(f.Vars))
	grown.Union(f.changes)
	f.changes = grown
}
