package ir

import "math"

// want checks that an expression has a type. Void stands for a type that is
// wrong already, and is not reported again.
func (v *verifier) want(what string, e Expr, want Type) {
	if got := v.expr(e); got != want && want.Kind != Void && got.Kind != Void {
		defer v.about(v.about(e))
		v.fail("%s is of type %s, not %s", what, got, want)
	}
}

// expr returns the type of an expression, Void when it has none.
func (v *verifier) expr(e Expr) Type {
	if t, known := v.Types[e]; known {
		v.fail("the node of %s stands in two places; every place needs its own", briefText(e))
		return t
	}
	defer func() { v.depth-- }()
	if !v.deeper() {
		return VoidType
	}
	defer v.about(v.about(e))
	t := v.typeOf(e)
	if f := v.Calls[e]; f != nil && f.Result.Kind == Void {
		v.fail("%s returns nothing, and a value is needed; call it as a statement", f.Symbol())
	}
	v.Types[e] = t
	return t
}

func (v *verifier) typeOf(e Expr) Type {
	switch e := e.(type) {
	case *IntLit:
		return IntType
	case *FloatLit:
		if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
			v.fail("a constant has to be finite")
		}
		return FloatType
	case *Var:
		return v.variable(e.Name)
	case *Binary:
		return v.binary(e)
	case *Convert:
		return v.convert(e)
	case *Call, *MethodCall:
		return v.call(e)
	}
	return v.reference(e)
}

// reference is the type of expressions about structs and tensors.
func (v *verifier) reference(e Expr) Type {
	switch e := e.(type) {
	case *None:
		return v.counted("none", e.Type)
	case *IsNone:
		if t := v.expr(e.Value); t.Kind != Void && !t.Counted() {
			v.fail("a value of type %s is never none", t)
		}
		return IntType
	case *New:
		return v.newStruct(e)
	case *Field:
		return v.field(v.expr(e.Value), e.Name)
	case *Fill, *TensorLit:
		return v.makeTensor(e)
	case *NewVec:
		v.value("the vec", e.Type)
		if e.Type.Kind != Vec {
			v.fail("%s is no type of vecs", e.Type)
		}
		return e.Type
	case *Len:
		if t := v.expr(e.Value); t.Kind != Void && t.Kind != Vec {
			v.fail("a value of type %s has no length; len is for vecs", t)
		}
		return IntType
	case *Sum:
		if t := v.expr(e.Value); t.Kind != Void && t.Kind != Tensor {
			v.fail("a sum is over a tensor, not a value of type %s", t)
		}
		return FloatType
	case *Element:
		return v.element(v.expr(e.Value), e.Index)
	}
	v.fail("%T is no expression", e)
	return VoidType
}

func (v *verifier) counted(what string, t Type) Type {
	v.value(what, t)
	if !t.Counted() {
		v.fail("%s is of a struct, vec or tensor type, not of %s", what, t)
	}
	return t
}

func (v *verifier) binary(e *Binary) Type {
	t := v.expr(e.Left)
	v.want("the right operand", e.Right, t)
	allowed := t.Number()
	switch {
	case t.Kind == Void:
		return VoidType
	case t.Kind == Tensor:
		allowed = e.Op <= Mul
	case t.Kind == Float && e.Op == Rem:
		allowed = false
	}
	if !allowed || e.Op > Ge {
		v.fail("values of type %s have no %s%s", t, e.Op, remedy(t, e.Op))
	}
	if e.Op.Comparison() {
		return IntType
	}
	return t
}

// remedy tells what there is in the place of an operator that a type has not.
func remedy(t Type, op Op) string {
	switch {
	case t.Kind == Tensor && op <= Rem:
		return "; tensors have +, - and *"
	case t.Kind == Tensor:
		return "; compare their elements or sums"
	case t.Counted() && op.Comparison():
		return "; compare numbers in them, or ask by `is none`"
	}
	return ""
}

func (v *verifier) convert(e *Convert) Type {
	switch e.To {
	case Int:
		v.want("what becomes an int", e.Value, FloatType)
	case Float:
		v.want("what becomes a float", e.Value, IntType)
	default:
		v.fail("conversions are to int and to float")
	}
	return Type{Kind: e.To}
}

func (v *verifier) newStruct(e *New) Type {
	def := v.Program.Struct(e.Struct)
	if def == nil {
		v.fail("there is no struct %s", e.Struct)
		return VoidType
	}
	given := map[string]bool{}
	for _, f := range e.Fields {
		if given[f.Name] {
			v.fail("field %s is given twice", f.Name)
		}
		given[f.Name] = true
		v.want("field "+f.Name, f.Value, v.field(StructType(e.Struct), f.Name))
	}
	return StructType(e.Struct)
}

// field is the type of a field of a value of type t.
func (v *verifier) field(t Type, name string) Type {
	if t.Kind == Void {
		return t
	}
	def := v.Program.Struct(t.Name)
	if t.Kind != Struct || def == nil {
		v.fail("a value of type %s has no fields", t)
		return VoidType
	}
	i := def.Field(name)
	if i < 0 {
		v.fail("struct %s has no field %s", t.Name, name)
		return VoidType
	}
	return def.Fields[i].Type
}

// element is the type of an element of a value of type t.
func (v *verifier) element(t Type, index Expr) Type {
	v.want("the index", index, IntType)
	switch {
	case t.Kind == Void:
		return t
	case t.Kind != Tensor && t.Kind != Vec:
		v.fail("a value of type %s has no elements", t)
		return VoidType
	}
	if i, ok := index.(*IntLit); ok && t.Kind == Tensor && (i.Value < 0 || i.Value >= t.Elements()) {
		v.fail("element %d of %s: there are %d", i.Value, t, t.Elements())
	}
	return t.Element()
}

func (v *verifier) makeTensor(e Expr) Type {
	switch e := e.(type) {
	case *Fill:
		if e.Value != nil {
			v.want("the element", e.Value, FloatType)
		}
		return v.shaped(e.Type)
	case *TensorLit:
		for _, x := range e.Elements {
			v.want("the element", x, FloatType)
		}
		if n := e.Type.Elements(); n != int64(len(e.Elements)) {
			v.fail("%s has %d elements, not %d", e.Type, n, len(e.Elements))
		}
		return v.shaped(e.Type)
	}
	return VoidType
}

func (v *verifier) shaped(t Type) Type {
	if t.Kind != Tensor {
		v.fail("%s is no type of tensors", t)
		return VoidType
	}
	v.value("the tensor", t)
	return t
}

// call checks a call of a function or method and returns the type of its result.
func (v *verifier) call(e Expr) Type {
	switch e := e.(type) {
	case *Call:
		return v.arguments(e, e.Function, e.Args, nil)
	case *MethodCall:
		t := v.expr(e.Receiver)
		if t.Kind == Void {
			return t
		}
		if t.Kind != Struct {
			v.fail("a value of type %s has no methods", t)
			return VoidType
		}
		return v.arguments(e, Symbol(t.Name, e.Method), e.Args, e.Receiver)
	}
	v.fail("a statement is no expression but a call")
	return VoidType
}

func (v *verifier) arguments(e Expr, symbol string, args []Expr, receiver Expr) Type {
	f := v.Symbols[symbol]
	if f == nil || (f.Receiver != "") != (receiver != nil) {
		v.fail("there is no function %s", symbol)
		return VoidType
	}
	v.Calls[e] = f
	params := f.Params
	if receiver != nil && len(params) > 0 {
		params = params[1:]
	}
	if len(params) != len(args) {
		v.fail("%s takes %d arguments, not %d", symbol, len(params), len(args))
		return f.Result
	}
	for i, a := range args {
		v.want("argument "+params[i].Name, a, params[i].Type)
	}
	return f.Result
}
