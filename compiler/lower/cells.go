package lower

import (
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// mostPointers is how many references a cell with a type may have (tl_cell_new_typed).
const mostPointers = 2048

// cellTypes returns the names of the structs that are cells. No scope, Vec or typed object has cells. Elements
// of vecs, what functions of other modules get or return, and what these refer to stay objects.
func cellTypes(p *ir.Program, functions []*function) map[string]bool {
	cells := map[string]bool{}
	for _, s := range p.Structs {
		cells[s.Name] = true
	}
	var object func(t ir.Type)
	object = func(t ir.Type) {
		for t.Kind == ir.Vec {
			t = t.Element()
		}
		if t.Kind != ir.Struct || !cells[t.Name] {
			return
		}
		delete(cells, t.Name)
		for _, f := range p.Struct(t.Name).Fields {
			object(f.Type)
		}
	}
	elements := func(t ir.Type) {
		if t.Kind == ir.Vec {
			object(t)
		}
	}
	for _, s := range p.Structs {
		pointers := 0
		for _, f := range s.Fields {
			elements(f.Type)
			if f.Type.Counted() {
				pointers++
			}
		}
		if pointers > mostPointers {
			object(ir.StructType(s.Name))
		}
	}
	for _, f := range functions {
		for _, v := range f.Vars {
			elements(v.Type)
		}
	}
	for _, e := range p.Externs {
		object(e.Result)
		for _, v := range e.Params {
			object(v.Type)
		}
	}
	return cells
}

// isCell tells whether the values of a type are cells.
func (f *function) isCell(t ir.Type) bool { return t.Kind == ir.Struct && f.cells[t.Name] }

// owns tells whether a function gets the reference of an argument.
func (f *function) owns(callee string, arg int) bool {
	return f.owners[callee] != nil && f.owners[callee].Has(flow.Var(arg))
}

// isOwner tells whether a variable is a parameter whose reference the function gets.
func (f *function) isOwner(v flow.Var) bool { return int(v) < f.Params && f.owns(f.Symbol, int(v)) }

// findOwners finds the parameters whose references functions get: cells that they would store, hand to a function that
// gets them, or build anew, where they have no other use of them ("Counting Immutable Beans"). All others are borrowed.
func findOwners(functions []*function) {
	for grew := true; grew; {
		grew = false
		for _, f := range functions {
			f.analyse()
			grew = f.owners[f.Symbol].Union(f.wanted()) || grew
		}
	}
}

// wanted are the parameters for whose references the function has a use.
func (f *function) wanted() flow.Set {
	wanted := flow.NewSet(max(f.Params, 1))
	want := func(v flow.Var) {
		if int(v) < f.Params && f.isCell(f.Vars[v].Type) {
			wanted.Add(v)
		}
	}
	live := flow.Live(f.Function, f.borrowed)
	for block := range f.Blocks {
		live.Backward(block, func(_ int, o *flow.Op, after flow.Set) {
			for i, a := range o.Args {
				if a.Var != flow.NoVar && !after.Has(a.Var) && o.Code != flow.Return && f.takes(o, i) &&
					(o.Code != flow.Copy || f.kinds[o.Dst] == Owned) {
					want(a.Var)
				}
			}
		})
	}
	for _, r := range f.reuses() {
		want(r.of)
	}
	return wanted
}
