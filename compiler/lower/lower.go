// Package lower is the ownership lowering of a compiler as a library. It takes a
// verified program of package ir, in which everything is a value, and decides which
// values share memory, who holds a reference to it, and when the reference is
// dropped. What it returns are graphs of package flow whose operations are those of the
// runtime; package llvm writes them as LLVM IR.
//
//	lower.go    what is done to a function, in order
//	classify.go which variables change, and which tensors leave their function
//	borrow.go   which variables look into another's value
//	cursors.go  which variables walk through what others keep
//	moves.go    last uses that hand a reference over
//	cells.go    which structs are cells, and which functions get their references
//	reuse.go    cells that become others
//	ahead.go    cells that end before a branch, each arm of which makes one
//	state.go    where a variable holds a reference
//	scopes.go   which scopes the runtime has to know
//	emit.go     the runtime's operations
//	cancel.go   acquires and releases that cancel out
//	stats.go    what is left of it, in figures
//
// Every counted variable has one of these kinds:
//
//	Borrowed  it has no reference; another variable, or the caller, keeps the value
//	Held      a scope of the runtime has the reference
//	Owned     it has a reference of its own, released when the variable is given
//	          another value and when its scope ends
//	Slotted   a tensor in a slot of the function's frame, which is not counted
//	Floating  a result that is returned at once; nobody has the reference
//
// Variables that change (are assigned to more than once, or field by field) are
// Owned, and what is made or returned by a call is Held. A variable that does
// not change, and gets its value from another that does not, is Borrowed: no
// operation is spent on it; neither on one that changes only to walk through
// such a value. At the last use of an Owned variable its reference
// moves into the field or variable that receives it; no acquire and no release
// is emitted. The idea is old; "Counting Immutable Beans" (Ullrich and de Moura, IFL
// 2019) and "Perceus" (Reinking, Xie, de Moura and Leijen, PLDI 2021) describe it for
// languages in which all references are the program's own. Here some belong to
// scopes, which end them more cheaply than a release does.
//
// Cells, an option, have all references in the program. What is Held or Floating otherwise
// is Owned, and a function owns the parameters that it would store, change or build anew.
//
// The reference that a call hands over floats between `unregister` in the callee
// and `register` in the caller, and nowhere else: a register elsewhere means to add
// a reference, and must not meet one that floats.
package lower

import (
	"slices"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// Options turn parts of the lowering off, to measure what they are worth or to
// find a defect. The zero value is the complete lowering.
type Options struct {
	NoMoves   bool // every reference that is stored is acquired
	NoBorrows bool // every variable has a reference, its own or a scope's
	NoSlots   bool // all tensors are on the heap
	NoCancel  bool // pairs of an acquire and a release stay
	Cells     bool // structs are cells, except those in vecs and of other modules
	NoReuse   bool // no cell becomes another one
}

// Module is a lowered program.
type Module struct {
	Program   *ir.Program
	Functions []*flow.Function
	// Kinds tells of each function's variables, by their index, what holds their
	// references.
	Kinds [][]Kind
	// Cells has the names of the structs that are cells.
	Cells map[string]bool
	// Owners tells of each function, by its symbol, the parameters whose references its caller gives up.
	Owners map[string]flow.Set
	// Moves is how many references move at a last use, each sparing an acquire and a
	// release.
	Moves int
	// Cancelled is how many pairs of an acquire and a release were removed, since
	// nothing between them needed the reference.
	Cancelled int

	spared []Stats // by function, with what it has fewer of alone
}

// Kind tells what holds the reference of a variable.
type Kind uint8

// The kinds of variables. Plain ones are numbers.
const (
	Plain Kind = iota
	Borrowed
	Held
	Owned
	Slotted
	Floating
)

// Lower verifies a program and lowers it. The error is that of ir.Verify. The
// program is not changed. Concurrent calls are independent.
func Lower(p *ir.Program, options Options) (*Module, error) {
	info, err := ir.Verify(p)
	if err != nil {
		return nil, err
	}
	functions := make([]*function, len(p.Functions))
	for i, f := range flow.Build(info) {
		functions[i] = classify(f, options)
	}
	summary := escapes(functions)
	m := &Module{Program: p, Owners: map[string]flow.Set{}}
	if options.Cells {
		m.Cells = cellTypes(p, functions)
	}
	for _, f := range functions {
		f.cells, f.owners = m.Cells, m.Owners
		f.Owned = flow.NewSet(max(f.Params, 1))
		f.owners[f.Symbol] = f.Owned
		f.assignSlots(summary)
		f.splitDefinitions()
	}
	if options.Cells {
		for _, f := range functions {
			f.readEarly()
			f.consume()
		}
		findOwners(functions)
	}
	for _, f := range functions {
		f.lower()
		m.Functions = append(m.Functions, f.Function)
		m.Kinds = append(m.Kinds, f.kinds)
		m.Moves += len(f.moves)
		m.Cancelled += f.cancelled
		m.spared = append(m.spared, Stats{moved: len(f.moves), cancelled: f.cancelled, reused: f.reused})
	}
	return m, nil
}

// function is a function on its way through the lowering.
type function struct {
	*flow.Function
	options Options
	cells   map[string]bool // Module.Cells and Owners
	owners  map[string]flow.Set

	changes   flow.Set     // variables that are given a value more than once, or in parts
	kinds     []Kind       // by variable
	borrowed  []flow.Var   // by variable: into whose value it looks, or NoVar
	def       []place      // by variable that does not change: where it gets its value
	copied    []bool       // by variable: its value is that of another one, not a field's
	uses      [][]place    // by variable: what reads it
	moves     map[use]bool // operands whose reference is handed over
	registers []bool       // by scope: something is registered in it
	cursors   flow.Set     // variables that change, and are Borrowed all the same
	consumed  flow.Set     // variables that could be cursors, and own their values: a nil set is empty
	roots     []root       // by variable: what keeps its value
	cancelled int          // pairs
	reused    int          // cells

	needNull flow.Set // Owned variables that are released where they may hold nothing
	rank     []int    // by variable: the number of an Owned one among them
	numOwned int
	ending   [][]flow.Var // by scope: the Owned variables that end with it, as they were declared
	in       [][]holding  // by block and rank: what Owned variables may hold before it
}

// place is an operation of a function.
type place struct{ block, op int }

// nowhere is the place of a parameter's definition.
var nowhere = place{-1, -1}

// use is an operand of an operation.
type use struct {
	place
	arg int
}

func (f *function) at(p place) *flow.Op { return &f.Blocks[p.block].Ops[p.op] }

func (f *function) lower() {
	f.takeOut()
	f.analyse()
	f.reuse()
	f.emit()
	f.cancel()
}

// analyse decides what holds references, and where they go.
func (f *function) analyse() {
	f.findPlaces()
	f.findCursors()
	f.findKinds()
	f.findMoves()
	f.findScopes()
	f.findStates()
}

// findPlaces notes where variables get their values and where they are read.
func (f *function) findPlaces() {
	f.def = slices.Repeat([]place{nowhere}, len(f.Vars))
	f.uses = make([][]place, len(f.Vars))
	f.copied = make([]bool, len(f.Vars))
	for i, b := range f.Blocks {
		for j := range b.Ops {
			o := &b.Ops[j]
			if o.Dst != flow.NoVar {
				f.def[o.Dst], f.copied[o.Dst] = place{i, j}, o.Code == flow.Copy
			}
			for _, a := range o.Args {
				if a.Var != flow.NoVar {
					f.uses[a.Var] = append(f.uses[a.Var], place{i, j})
				}
			}
		}
	}
}

func (f *function) counted(v flow.Var) bool { return v != flow.NoVar && f.Vars[v].Type.Counted() }

func (f *function) owned(v flow.Var) bool { return v != flow.NoVar && f.kinds[v] == Owned }
