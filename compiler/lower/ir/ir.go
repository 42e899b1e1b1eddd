// Package ir is a small typed function IR for structs, vecs and tensors: what a
// compiler has in hand before it decides who owns what.
//
// Every type has value semantics. An assignment, an argument, a field and a result
// are values of their own, and changing one of them is never seen through another.
// How many of them share memory is for the lowering to decide, and a program
// cannot tell.
//
// A variable or field of a struct, vec or tensor type may be none. None is the value
// that nobody has made yet: its fields and elements read as zeros, and assigning
// to one of them makes it. An index outside of a vec or tensor reads zero or none,
// and an assignment there changes nothing. So every program has a meaning,
// whatever its data; a compiler whose language has errors for these emits its checks.
//
//	ir.go                      types, functions and statements
//	expr.go                    expressions
//	print.go                   the text of a program
//	parse.go, parse_expr.go    a program from its text
//	source.go                  where in the text a part of a program stands
//	verify.go, verify_expr.go  what a program must satisfy before it is lowered
//
// Trees are plain data. They may be shared between readers, and no function here
// changes one.
package ir

import (
	"fmt"
	"strings"

	"tlruntime/runtime/dtype"
)

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. Void is the result of a function that returns nothing.
const (
	Void   Kind = iota
	Int         // 64 bits, wrapping
	Float       // IEEE 754 binary64
	Struct      // a counted object
	Tensor      // a counted tensor of a fixed shape
	Vec         // a counted, growing array of structs, tensors or vecs
)

// DType is the element type of a tensor.
type DType = dtype.Type

// The element types that the lowering computes with. Elements are read and written
// as Float; F32 rounds to nearest.
const F32, F64 = dtype.F32, dtype.F64

// MaxRank is how many dimensions a tensor of the runtime can have.
const MaxRank = 8

// Type is a type. Types are equal when == says so.
type Type struct {
	Kind  Kind
	Name  string // of a struct
	DType DType  // of a tensor, like Rank and Shape
	Rank  int
	Shape [MaxRank]int64
	// A vec has in the fields above what its innermost elements are, except that
	// their kind is Of, and Depth vecs around them.
	Of    Kind
	Depth int
}

// Types without parameters.
var (
	VoidType  = Type{Kind: Void}
	IntType   = Type{Kind: Int}
	FloatType = Type{Kind: Float}
)

// StructType is the type of the struct of that name.
func StructType(name string) Type { return Type{Kind: Struct, Name: name} }

// TensorType is the type of tensors of a shape. More than MaxRank extents are
// cut off here and refused by Verify.
func TensorType(d DType, shape ...int64) Type {
	t := Type{Kind: Tensor, DType: d, Rank: len(shape)}
	copy(t.Shape[:], shape)
	return t
}

// VecType is the type of vecs of elements.
func VecType(element Type) Type {
	if element.Kind != Vec {
		element.Of = element.Kind
	}
	element.Kind = Vec
	element.Depth++
	return element
}

// Element is the type of a vec's elements, and Float for a tensor.
func (t Type) Element() Type {
	if t.Kind != Vec {
		return FloatType
	}
	if t.Depth--; t.Depth < 1 {
		t.Kind, t.Of, t.Depth = t.Of, Void, 0
	}
	return t
}

// Counted tells whether values of the type are references that the runtime counts.
func (t Type) Counted() bool { return t.Kind == Struct || t.Kind == Tensor || t.Kind == Vec }

// Number tells whether the type is Int or Float.
func (t Type) Number() bool { return t.Kind == Int || t.Kind == Float }

// Extents is the shape of a tensor.
func (t Type) Extents() []int64 { return t.Shape[:max(0, min(t.Rank, MaxRank))] }

// Elements is how many elements a tensor has.
func (t Type) Elements() int64 {
	n := int64(1)
	for _, extent := range t.Extents() {
		n *= extent
	}
	return n
}

// Bytes is how many bytes the elements of a tensor take.
func (t Type) Bytes() int64 { return t.Elements() * int64(t.DType.Size()) }

func (t Type) String() string {
	switch t.Kind {
	case Int:
		return "int"
	case Float:
		return "float"
	case Struct:
		return t.Name
	case Tensor:
		parts := []string{t.DType.String()}
		for _, extent := range t.Extents() {
			parts = append(parts, fmt.Sprint(extent))
		}
		return "tensor<" + strings.Join(parts, ", ") + ">"
	case Vec:
		return "vec<" + t.Element().String() + ">"
	}
	return "void"
}

// Program is a set of types and of functions that call each other.
type Program struct {
	Structs   []*StructDef
	Externs   []*Function // without bodies: another module has them
	Functions []*Function
}

// Struct returns the struct of that name, or nil.
func (p *Program) Struct(name string) *StructDef {
	for _, s := range p.Structs {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// StructDef is a struct type.
type StructDef struct {
	Name   string
	Fields []Variable
}

// Field returns the position of a field, or -1.
func (s *StructDef) Field(name string) int {
	for i, f := range s.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Variable is a name with a type: a parameter or a field.
type Variable struct {
	Name string
	Type Type
}

// Function is a function, or a method when Receiver names a struct. Parameters of
// a method begin with "self". A parameter is the callee's own value: assigning to
// it, or to its fields, changes nothing for the caller.
type Function struct {
	Receiver string
	Name     string
	Params   []Variable
	Result   Type
	Body     []Stmt
}

// Symbol is the name by which the function is known in a module.
func (f *Function) Symbol() string { return Symbol(f.Receiver, f.Name) }

// Symbol is the name of a method, or of a function when receiver is empty.
func Symbol(receiver, name string) string {
	if receiver == "" {
		return name
	}
	return receiver + "." + name
}

// Stmt is a statement: one of the pointer types below.
type Stmt interface{ stmt() }

// The statements.
type (
	// Let declares a variable that lives to the end of the enclosing list.
	Let struct {
		Name  string
		Value Expr
	}
	// Assign gives a variable another value.
	Assign struct {
		Name  string
		Value Expr
	}
	// SetField changes a field of a variable's value.
	SetField struct {
		Name, Field string
		Value       Expr
	}
	// SetElement changes an element of a variable's vec or tensor. Index, an int,
	// counts in row-major order. An index outside changes nothing.
	SetElement struct {
		Name         string
		Index, Value Expr
	}
	// Push appends a value to a variable's vec.
	Push struct {
		Name  string
		Value Expr
	}
	// Pop removes the last element of a variable's vec, if there is one.
	Pop struct{ Name string }
	// If takes Then when Cond, an int, is not 0, else Else.
	If struct {
		Cond       Expr
		Then, Else []Stmt
	}
	// While repeats Body as long as Cond is not 0.
	While struct {
		Cond Expr
		Body []Stmt
	}
	// Block is a scope: what is made in it is released at its end.
	Block struct{ Body []Stmt }
	// Do calls a function or method for its effects; a result is dropped.
	Do struct{ Call Expr }
	// Return ends the function. Value is nil when it returns nothing.
	Return struct{ Value Expr }
	// Break leaves the innermost loop. Its byte gives every one an address of its own.
	Break struct{ _ byte }
	// Continue goes on with the next turn of the innermost loop.
	Continue struct{ _ byte }
)

func (*Let) stmt()        {}
func (*Assign) stmt()     {}
func (*SetField) stmt()   {}
func (*SetElement) stmt() {}
func (*Push) stmt()       {}
func (*Pop) stmt()        {}
func (*If) stmt()         {}
func (*While) stmt()      {}
func (*Block) stmt()      {}
func (*Do) stmt()         {}
func (*Return) stmt()     {}
func (*Break) stmt()      {}
func (*Continue) stmt()   {}
