package ir

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Error is something that a program must not contain. Function is empty for a
// struct; Statement is the number of a statement in its function, counted from 1 in
// the order of the text, and 0 for what concerns the whole function.
type Error struct {
	Function  string
	Statement int
	Text      string // the statement's first line
	Part      any    // what is wrong, for Source.Pos
	Message   string
}

func (e *Error) Error() string {
	switch {
	case e.Function == "":
		return e.Message
	case e.Statement == 0:
		return fmt.Sprintf("function %s: %s", e.Function, e.Message)
	}
	return fmt.Sprintf("function %s, statement %d (%s): %s", e.Function, e.Statement, e.Text, e.Message)
}

// Info is what Verify found out about a program.
type Info struct {
	Program *Program
	Types   map[Expr]Type        // of every expression
	Calls   map[Expr]*Function   // what a Call or MethodCall calls
	Symbols map[string]*Function // by symbol
}

// Verify checks names and types and that every path returns. The error joins what
// was found, each an *Error, up to a hundred.
func Verify(p *Program) (*Info, error) {
	v := &verifier{Info: &Info{p, map[Expr]Type{}, map[Expr]*Function{}, map[string]*Function{}}}
	if slices.Contains(p.Structs, nil) || slices.Contains(p.Externs, nil) || slices.Contains(p.Functions, nil) {
		return nil, &Error{Message: "a struct or function is nil"}
	}
	for i, s := range p.Structs {
		v.structDef(i, s)
	}
	for _, f := range slices.Concat(p.Externs, p.Functions) {
		v.signature(f)
	}
	for _, f := range p.Functions {
		v.body(f)
	}
	if len(v.errors) > 0 {
		return nil, errors.Join(v.errors...)
	}
	return v.Info, nil
}

type verifier struct {
	*Info
	errors []error

	function  *Function
	number    int // of the statement in hand, and of those before it
	last      int
	statement Stmt
	part      any // what is looked at
	loops     int
	depth     int // of lists and expressions around what is in hand
	scopes    []map[string]Type
}

// maxTree bounds how deep trees are, since all that reads them recurses.
const maxTree = 10_000

// deeper tells whether a tree may go one level down, and reports where it may not.
func (v *verifier) deeper() bool {
	if v.depth++; v.depth == maxTree {
		v.fail("nested deeper than %d; use variables or functions", maxTree)
	}
	return v.depth < maxTree
}

// maxErrors is how many errors are reported.
const maxErrors = 100

func (v *verifier) fail(format string, args ...any) {
	if len(v.errors) == maxErrors {
		return
	}
	e := &Error{Part: v.part, Message: fmt.Sprintf(format, args...)}
	if v.function != nil {
		e.Function = v.function.Symbol()
	}
	if v.statement != nil {
		e.Statement, e.Text = v.number, brief(v.statement)
	}
	v.errors = append(v.errors, e)
}

func (v *verifier) name(what, name string) {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			v.fail("%s %q: a name consists of letters, digits and _, and begins with no digit", what, name)
			return
		}
	}
	if name == "" || slices.Contains(keywords, name) {
		v.fail("%s %q: choose a name that is not empty and no keyword", what, name)
	}
}

// about makes a part of the program that which errors are about, until it is called
// with what was before.
func (v *verifier) about(part any) (before any) {
	before, v.part = v.part, part
	return before
}

func (v *verifier) structDef(i int, s *StructDef) {
	v.about(s)
	v.name("struct", s.Name)
	if slices.IndexFunc(v.Program.Structs, func(o *StructDef) bool { return o.Name == s.Name }) < i {
		v.fail("struct %s is defined twice", s.Name)
	}
	for j, f := range s.Fields {
		v.about(&s.Fields[j])
		v.name("struct "+s.Name+", field", f.Name)
		if s.Field(f.Name) < j {
			v.fail("struct %s has two fields %s", s.Name, f.Name)
		}
		v.value("struct "+s.Name+", field "+f.Name, f.Type)
	}
}

// value checks a type that a variable can have.
func (v *verifier) value(what string, t Type) {
	switch {
	case t.Kind == Void:
		v.fail("%s has no type", what)
	case t.Kind > Vec:
		v.fail("%s: there is no kind %d of types", what, t.Kind)
	case t.Kind == Vec:
		v.vec(what, t)
	case t.Kind == Struct && v.Program.Struct(t.Name) == nil:
		v.fail("%s: there is no struct %s", what, t.Name)
	case t.Kind == Tensor:
		v.tensor(what, t)
	}
}

// maxVecs is how many vecs can be around each other.
const maxVecs = 100

func (v *verifier) vec(what string, t Type) {
	if t.Depth < 1 || t.Depth > maxVecs {
		v.fail("%s: at most %d vecs are around each other, not %d", what, maxVecs, t.Depth)
		return
	}
	innermost := t
	innermost.Kind, innermost.Of, innermost.Depth = t.Of, Void, 0
	if t.Of != Struct && t.Of != Tensor {
		v.fail("%s: the elements of a vec are structs, tensors or vecs, not of type %s; put numbers into a tensor "+
			"or a struct", what, innermost)
		return
	}
	v.value(what, innermost)
}

// maxElements keeps the bytes of any tensor within 2^34.
const maxElements = math.MaxInt32

func (v *verifier) tensor(what string, t Type) {
	if t.Rank < 0 || t.Rank > MaxRank {
		v.fail("%s: a tensor has at most %d dimensions, not %d", what, MaxRank, t.Rank)
	}
	if t.DType != F32 && t.DType != F64 {
		v.fail("%s: elements are f32 or f64", what)
	}
	n := int64(1)
	for _, extent := range t.Extents() {
		if extent < 1 || extent > maxElements/n {
			v.fail("%s: extents of %s have to be positive, with at most %d elements in all", what, t,
				int64(maxElements))
			return
		}
		n *= extent
	}
}

func (v *verifier) signature(f *Function) {
	v.function = f
	v.about(f)
	defer func() { v.function = nil }()
	v.name("function", f.Name)
	if v.Symbols[f.Symbol()] != nil {
		v.fail("defined twice")
	}
	v.Symbols[f.Symbol()] = f
	if f.Receiver != "" && (len(f.Params) == 0 || f.Params[0].Type != StructType(f.Receiver)) {
		v.fail("the first parameter of a method is its receiver, of type %s", f.Receiver)
	}
	for i, p := range f.Params {
		v.about(&f.Params[i])
		v.name("parameter", p.Name)
		v.value("parameter "+p.Name, p.Type)
		if slices.IndexFunc(f.Params, func(o Variable) bool { return o.Name == p.Name }) < i {
			v.fail("there are two parameters %s", p.Name)
		}
	}
	v.about(f)
	if f.Result.Kind != Void {
		v.value("the result", f.Result)
	}
}

func (v *verifier) body(f *Function) {
	v.function, v.last, v.loops, v.depth = f, 0, 0, 0
	params := map[string]Type{}
	for _, p := range f.Params {
		params[p.Name] = p.Type
	}
	v.scopes = []map[string]Type{params}
	v.list(f.Body)
	v.statement = nil
	v.about(f)
	if f.Result.Kind != Void && !Ends(f.Body) {
		v.fail("a path ends without a return of %s; end it with one, a loop too", f.Result)
	}
	v.function = nil
}

// Ends tells whether control never reaches the end of a list.
func Ends(list []Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *Return, *Break, *Continue:
		return true
	case *If:
		return Ends(s.Then) && Ends(s.Else)
	case *Block:
		return Ends(s.Body)
	}
	return false
}

func (v *verifier) list(list []Stmt) {
	defer func() { v.depth-- }()
	if !v.deeper() {
		return
	}
	v.scopes = append(v.scopes, map[string]Type{})
	for i, s := range list {
		v.last++
		v.number, v.statement, v.part = v.last, s, s
		if i > 0 && Ends(list[:i]) {
			v.fail("nothing leads here; remove it")
		}
		v.stmt(s)
	}
	v.scopes = v.scopes[:len(v.scopes)-1]
}

func (v *verifier) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		v.let(s)
	case *Assign:
		v.want("the value", s.Value, v.variable(s.Name))
	case *SetField:
		v.want("the value", s.Value, v.field(v.variable(s.Name), s.Field))
	case *SetElement:
		v.want("the value", s.Value, v.element(v.variable(s.Name), s.Index))
	case *Push:
		v.want("the value", s.Value, v.vecOf(s.Name).Element())
	case *Pop:
		v.vecOf(s.Name)
	case *If:
		v.want("the condition", s.Cond, IntType)
		v.list(s.Then)
		v.list(s.Else)
	case *While:
		v.want("the condition", s.Cond, IntType)
		v.loops++
		v.list(s.Body)
		v.loops--
	case *Block:
		v.list(s.Body)
	default:
		v.simple(s)
	}
}

// simple checks statements that hold no variable and no list.
func (v *verifier) simple(s Stmt) {
	switch s := s.(type) {
	case *Do:
		v.Types[s.Call] = v.call(s.Call)
	case *Return:
		v.result(s.Value)
	case *Break, *Continue:
		if v.loops == 0 {
			v.fail("there is no loop around it; break and continue stand in the body of a while")
		}
	default:
		v.fail("%T is no statement", s)
	}
}

func (v *verifier) let(s *Let) {
	v.name("variable", s.Name)
	t := v.expr(s.Value)
	scope := v.scopes[len(v.scopes)-1]
	if _, known := scope[s.Name]; known {
		v.fail("%s is declared twice in this list; leave out let to give it another value", s.Name)
	}
	scope[s.Name] = t
}

func (v *verifier) result(value Expr) {
	switch want := v.function.Result; {
	case value == nil && want.Kind != Void:
		v.fail("a value of type %s has to be returned", want)
	case value != nil && want.Kind == Void:
		v.fail("the function returns nothing")
	case value != nil:
		v.want("the result", value, want)
	}
}

// variable returns the type of the innermost variable of that name.
func (v *verifier) variable(name string) Type {
	for _, scope := range slices.Backward(v.scopes) {
		if t, known := scope[name]; known {
			return t
		}
	}
	v.fail("there is no variable %s; declare it by let before, in this list or one around it", name)
	return VoidType
}

// vecOf is the type of a variable that is a vec; one with void elements stands for what
// is wrong already.
func (v *verifier) vecOf(name string) Type {
	t := v.variable(name)
	if t.Kind == Vec {
		return t
	}
	if t.Kind != Void {
		v.fail("%s is of type %s; elements are pushed to a vec and popped from one", name, t)
	}
	return VecType(VoidType)
}
