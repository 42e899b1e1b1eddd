package ir

import "fmt"

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
	// NewVec makes an empty vec of a type.
	NewVec struct{ Type Type }
	// Len is how many elements a vec has; none has 0.
	Len struct{ Value Expr }
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
	// Element reads an element of a vec or tensor. Index, an int, counts in
	// row-major order. Outside are zeros and none.
	Element struct{ Value, Index Expr }
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
func (*NewVec) expr()     {}
func (*Len) expr()        {}
func (*Field) expr()      {}
func (*Call) expr()       {}
func (*MethodCall) expr() {}
func (*Fill) expr()       {}
func (*TensorLit) expr()  {}
func (*Sum) expr()        {}
func (*Element) expr()    {}

// Op is an operator of Binary.
type Op uint8

// The operators. Div and Rem of ints round towards zero; what is divided by 0 gives
// 0, and its remainder is all of it. Floats have no Rem; tensors have Add, Sub and Mul.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Rem
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
)

var operators = [...]string{"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="}

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
	case Mul, Div, Rem:
		return 3
	}
	return 1
}
