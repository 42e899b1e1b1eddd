// Package ir is a small typed function IR for struct types and tensors: what a
// compiler has in hand before it decides who owns what.
//
// Every type has value semantics. An assignment, an argument, a field and a result
// are values of their own, and changing one of them is never seen through another.
// How many of them share memory is for the lowering to decide, and a program
// cannot tell.
//
// A variable or field of a struct or tensor type may be none. None is the value
// that nobody has made yet: its fields and elements read as zeros, and assigning
// to one of them makes it. So every program has a meaning, whatever its data.
//
//	ir.go      types, statements and expressions
//	print.go   the text of a program
//	parse.go   a program from its text
//	verify.go  what a program must satisfy before it is lowered
//
// Trees are plain data. They may be shared between readers, and no function here
// changes one.
package ir

import (
	"fmt"
	"strings"
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
)

// DType is the element type of a tensor, with the number that the runtime gives it.
type DType uint8

// The element types that the lowering computes with. Elements are read and written
// as Float; F32 rounds to nearest.
const (
	F32 DType = 0
	F64 DType = 1
)

// Bytes is the size of an element.
func (d DType) Bytes() int64 {
	if d == F32 {
		return 4
	}
	return 8
}

func (d DType) String() string {
	if d == F32 {
		return "f32"
	}
	return "f64"
}

// MaxRank is how many dimensions a tensor of the runtime can have.
const MaxRank = 8

// Type is a type. Types are equal when == says so.
type Type struct {
	Kind  Kind
	Name  string // of a struct
	DType DType  // of a tensor, like Rank and Shape
	Rank  int
	Shape [MaxRank]int64
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

// Counted tells whether values of the type are references that the runtime counts.
func (t Type) Counted() bool { return t.Kind == Struct || t.Kind == Tensor }

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
func (t Type) Bytes() int64 { return t.Elements() * t.DType.Bytes() }

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
	}
	return "void"
}

// Program is a set of types and of functions that call each other.
type Program struct {
	Structs   []*StructDef
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
	// SetElement changes an element of a variable's tensor. Index counts in
	// row-major order.
	SetElement struct {
		Name  string
		Index int64
		Value Expr
	}
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
	// Break leaves the innermost loop.
	Break struct{}
	// Continue goes on with the next turn of the innermost loop.
	Continue struct{}
)

func (*Let) stmt()        {}
func (*Assign) stmt()     {}
func (*SetField) stmt()   {}
func (*SetElement) stmt() {}
func (*If) stmt()         {}
func (*While) stmt()      {}
func (*Block) stmt()      {}
func (*Do) stmt()         {}
func (*Return) stmt()     {}
func (*Break) stmt()      {}
func (*Continue) stmt()   {}

// Expr is an expression: one of the pointer types below. Operands are evaluated
// from left to right.
type Expr interface{ expr() }

// The expressions.
type (
	// IntLit is a constant.
	IntLit struct{ Value int64 }
	// FloatLit is a finite constant.
	FloatLit struct{ Value float64 }
	// None is the value that nobody has made yet, of a struct or tensor type.
	None struct{ Type Type }
	// Var is the value of a variable.
	Var struct{ Name string }
	// Binary computes with two ints or two floats, or element by element with two
	// tensors of one type. Comparisons are ints, 1 or 0.
	Binary struct {
		Op          Op
		Left, Right Expr
	}
	// Convert makes an Int of a Float or the reverse. To Int it rounds towards
	// zero and saturates; NaN gives 0.
	Convert struct {
		To    Kind
		Value Expr
	}
	// IsNone is 1 when the value is none, else 0.
	IsNone struct{ Value Expr }
	// New makes a struct. Fields that are not given are zeros and none.
	New struct {
		Struct string
		Fields []FieldValue
	}
	// Field reads a field.
	Field struct {
		Value Expr
		Name  string
	}
	// Call calls a function.
	Call struct {
		Function string
		Args     []Expr
	}
	// MethodCall calls a method of the receiver's type.
	MethodCall struct {
		Receiver Expr
		Method   string
		Args     []Expr
	}
	// Fill makes a tensor with all elements equal; a nil Value is 0.
	Fill struct {
		Type  Type
		Value Expr
	}
	// TensorLit makes a tensor of its elements, in row-major order.
	TensorLit struct {
		Type     Type
		Elements []Expr
	}
	// Sum is the sum of a tensor's elements, added from the first to the last.
	Sum struct{ Value Expr }
	// Element reads an element. Index counts in row-major order.
	Element struct {
		Value Expr
		Index int64
	}
)

// FieldValue is a field of a New.
type FieldValue struct {
	Name  string
	Value Expr
}

func (*IntLit) expr()     {}
func (*FloatLit) expr()   {}
func (*None) expr()       {}
func (*Var) expr()        {}
func (*Binary) expr()     {}
func (*Convert) expr()    {}
func (*IsNone) expr()     {}
func (*New) expr()        {}
func (*Field) expr()      {}
func (*Call) expr()       {}
func (*MethodCall) expr() {}
func (*Fill) expr()       {}
func (*TensorLit) expr()  {}
func (*Sum) expr()        {}
func (*Element) expr()    {}

// Op is an operator of Binary.
type Op uint8

// The operators. Div is for floats alone, since an int division has no value for
// every operand; tensors have Add, Sub and Mul.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
)

var operators = [...]string{"+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="}

func (o Op) String() string {
	if int(o) < len(operators) {
		return operators[o]
	}
	return fmt.Sprintf("operator %d", uint8(o))
}

// Comparison tells whether the operator compares.
func (o Op) Comparison() bool { return o >= Eq && o <= Ge }

// binding is how tightly an operator binds in text: 1 comparisons, 3 products.
func (o Op) binding() int {
	switch o {
	case Add, Sub:
		return 2
	case Mul, Div:
		return 3
	}
	return 1
}
