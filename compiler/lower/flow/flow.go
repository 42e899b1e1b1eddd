// Package flow is the control-flow graph of a function: three-address operations
// over variables, first those of the program (Build), then those of the runtime,
// which the lowering puts in their place.
//
//	flow.go       functions, operations and scopes
//	build.go      the graph of a verified function
//	build_expr.go its expressions
//	print.go      its text
//	live.go       liveness, by operation
//	scan.go       slots by linear scan
//
// A graph belongs to who built it; nothing here is safe for concurrent changes.
package flow

import (
	"fmt"

	"tlruntime/compiler/lower/ir"
)

// Var is a variable of a function, as an index into Vars.
type Var int

// NoVar is no variable.
const NoVar Var = -1

// Variable is a parameter, a local variable or a temporary. Parameters come first.
type Variable struct {
	Name  string
	Type  ir.Type
	Scope int // where it was declared
}

// Operand is a variable or, when Var is NoVar, a constant of the type: Int, Float,
// or none.
type Operand struct {
	Var   Var
	Type  ir.Type
	Int   int64
	Float float64
}

// Code tells what an operation does.
type Code uint8

// Operations of the program. D is Dst, A and B are the operands.
const (
	Copy        Code = iota // D = A
	Arith                   // D = A op B, numbers
	Convert                 // D = A as the type of D
	IsNone                  // D = A is none
	New                     // D = a struct; once lowered, without its fields; in the memory of a token, if there is one
	Load                    // D = A.field
	SetField                // D.field = A, as a value: D is another value afterwards
	Call                    // D = callee(operands)
	Fill                    // D = a tensor of elements A
	Literal                 // D = a tensor of the operands
	TensorArith             // D = A op B, tensors
	Sum                     // D = sum of A
	Element                 // D = A[B], of a tensor
	SetElement              // D[B] = A, of a tensor, as a value
	NewVec                  // D = an empty vec
	Len                     // D = how many elements A has
	LoadAt                  // D = A[B], of a vec
	SetAt                   // D[B] = A, of a vec, as a value
	Push                    // D with A behind it, as a value
	Pop                     // D without its last element, as a value
	Open                    // a scope begins
	Close                   // a scope ends
	Jump                    // to the successor
	Branch                  // to the first successor when A is not 0, else to the second
	Return                  // A, if there is one
	Reset                   // D = the token of A, whose reference ends; the other operands get those of its fields
	Taken                   // D = A, with the reference that Reset has taken over for it
	Take                    // D = A.field with its reference; the field is none afterwards, in memory
	Put                     // D.field = A, in memory, where that is none since Take; nobody else refers to D

	// Operations of the runtime.

	FunctionEnter // with index slots
	FunctionExit
	EnterScope
	ExitScope
	Acquire      // A
	Release      // A
	Register     // A
	Unregister   // A
	Clear        // D = none; its reference has gone elsewhere
	Unshare      // D refers to a value of its own: a copy when others refer to it
	Store        // D.field = A, in memory
	StoreElement // D[B] = A, in memory, of a tensor
	StoreAt      // D[B] = A, in memory, of a vec, which acquires A and releases what was there
	Append       // A behind D's elements, in memory; D acquires it
	RemoveLast   // D's last element is gone, and released
)

// Op is an operation.
type Op struct {
	Code   Code
	Dst    Var // NoVar when there is none
	Args   []Operand
	Op     ir.Op   // of Arith and TensorArith
	Type   ir.Type // of the struct, vec or tensor that is made, read or changed
	Fields []int   // of New: where the operands go; of Reset: where those behind the first come from
	Index  int64   // a field, a scope, or how many slots
	Slot   int     // of what makes a tensor: its slot, or Heap
	Callee string  // symbol
	Scope  int     // the innermost scope around it
}

// Token is in Fields of New where the operand is one: a cell that ends and becomes the new one, or none.
const Token = -1

// Heap is the slot of a tensor that has none.
const Heap = -1

// Use is one that reads the variable.
func Use(v Var, t ir.Type) Operand { return Operand{Var: v, Type: t} }

// None is the constant none of a type.
func None(t ir.Type) Operand { return Operand{Var: NoVar, Type: t} }

// Updates tells whether the operation changes a part of Dst, so that it reads Dst
// as well.
func (o *Op) Updates() bool {
	switch o.Code {
	case SetField, SetElement, SetAt, Push, Pop:
		return true
	}
	return o.InMemory() || o.Code == Unshare
}

// InMemory tells whether the operation changes what Dst refers to, so that Dst has the
// value that it had.
func (o *Op) InMemory() bool {
	switch o.Code {
	case Put, Store, StoreElement, StoreAt, Append, RemoveLast:
		return true
	}
	return false
}

// MakesTensor tells whether Dst is a new tensor.
func (o *Op) MakesTensor() bool {
	return o.Code == Fill || o.Code == Literal || o.Code == TensorArith
}

// Fresh tells whether the operation makes Dst a reference that nobody had: to
// what it makes, or to what a call returns.
func (o *Op) Fresh() bool {
	switch o.Code {
	case New, NewVec, Call, Reset, Taken, Take:
		return true
	}
	return o.MakesTensor()
}

// LooksInto tells whether Dst is a value that an operand has or holds.
func (o *Op) LooksInto() bool { return o.Code == Copy || o.Code == Load || o.Code == LoadAt }

// Block is a basic block. Its last operation is a Jump, Branch or Return.
type Block struct {
	Ops        []Op
	Successors []int // blocks
}

// ScopeKind tells what a scope is there for.
type ScopeKind uint8

// The kinds of scopes. Branches of an if have scopes for their variables alone.
const (
	FunctionScope ScopeKind = iota
	BlockScope
	LoopScope   // one turn of a loop: the condition, and the body's scope
	BranchScope // never one of the runtime's
	// StatementScope is around the statement that gives Target a value. It lets go
	// of temporaries at once, so that Target alone refers to its value.
	StatementScope
)

// Scope is a lexical scope.
type Scope struct {
	Kind    ScopeKind
	Parent  int // NoScope for the function's
	Vars    []Var
	Target  Var  // of a StatementScope
	Runtime bool // the runtime opens and closes it
}

// NoScope is the parent of a function's scope.
const NoScope = -1

// Function is the graph of a function. Block 0 is the entry, and blocks stand in
// the order of the text, so that loops are contiguous.
type Function struct {
	Program *ir.Program
	Symbol  string
	Params  int // how many of Vars are parameters
	Result  ir.Type
	Vars    []Variable
	Scopes  []Scope
	Blocks  []*Block
	Slots   []int64 // once lowered: the bytes of the largest tensor in each
	Owned   Set     // once lowered: the parameters whose references the function gets; nil: none

	taken map[string]bool // names of variables
}

// Temp adds a temporary variable.
func (f *Function) Temp(t ir.Type, scope int) Var {
	return f.variable("", t, scope)
}

// Double adds a variable with the name, type and scope of another.
func (f *Function) Double(v Var) Var {
	return f.variable(f.Vars[v].Name, f.Vars[v].Type, f.Vars[v].Scope)
}

// Scratch adds a variable that belongs to no scope, for what a single operation of
// the program is replaced by.
func (f *Function) Scratch(t ir.Type) Var {
	v := Var(len(f.Vars))
	f.Vars = append(f.Vars, Variable{fmt.Sprintf("%%%d", v), t, NoScope})
	return v
}

// Use reads a variable.
func (f *Function) Use(v Var) Operand { return Use(v, f.Vars[v].Type) }

// RuntimeScope returns the innermost scope of the runtime that a scope is in,
// itself included.
func (f *Function) RuntimeScope(scope int) int {
	for !f.Scopes[scope].Runtime && f.Scopes[scope].Parent != NoScope {
		scope = f.Scopes[scope].Parent
	}
	return scope
}

// Each calls visit with every operation, in order.
func (f *Function) Each(visit func(o *Op)) {
	for _, b := range f.Blocks {
		for i := range b.Ops {
			visit(&b.Ops[i])
		}
	}
}
