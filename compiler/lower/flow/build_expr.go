package flow

import "tlruntime/compiler/lower/ir"

// value returns an expression as an operand: a constant, a variable, or a
// temporary that was computed.
func (b *builder) value(e ir.Expr) Operand {
	switch e := e.(type) {
	case *ir.IntLit:
		return Operand{Var: NoVar, Type: ir.IntType, Int: e.Value}
	case *ir.FloatLit:
		return Operand{Var: NoVar, Type: ir.FloatType, Float: e.Value}
	case *ir.None:
		return None(e.Type)
	case *ir.Var:
		return b.Use(b.lookup(e.Name))
	}
	v := b.Temp(b.info.Types[e], b.scope)
	b.define(v, e)
	return b.Use(v)
}

func (b *builder) values(exprs ...ir.Expr) []Operand {
	operands := make([]Operand, len(exprs))
	for i, e := range exprs {
		operands[i] = b.value(e)
	}
	return operands
}

// define computes an expression into a variable.
func (b *builder) define(dst Var, e ir.Expr) {
	switch e := e.(type) {
	case *ir.Binary:
		o := Op{Code: Arith, Dst: dst, Args: b.values(e.Left, e.Right), Op: e.Op}
		if t := b.info.Types[e.Left]; t.Kind == ir.Tensor {
			o.Code, o.Type, o.Slot = TensorArith, t, Heap
		}
		b.emit(o)
	case *ir.Convert:
		b.emit(Op{Code: Convert, Dst: dst, Args: b.values(e.Value)})
	case *ir.IsNone:
		b.emit(Op{Code: IsNone, Dst: dst, Args: b.values(e.Value)})
	case *ir.Call:
		b.emit(Op{Code: Call, Dst: dst, Args: b.values(e.Args...), Callee: e.Function})
	case *ir.MethodCall:
		args := append(b.values(e.Receiver), b.values(e.Args...)...)
		b.emit(Op{Code: Call, Dst: dst, Args: args, Callee: b.info.Calls[e].Symbol()})
	case *ir.New:
		b.newStruct(dst, e)
	case *ir.Field:
		b.load(dst, e)
	case *ir.Element:
		o := Op{Code: Element, Dst: dst, Args: b.values(e.Value, e.Index), Type: b.info.Types[e.Value]}
		if o.Type.Kind == ir.Vec {
			o.Code = LoadAt
		}
		b.emit(o)
	case *ir.NewVec:
		b.emit(Op{Code: NewVec, Dst: dst, Type: e.Type})
	case *ir.Len:
		b.emit(Op{Code: Len, Dst: dst, Args: b.values(e.Value), Type: b.info.Types[e.Value]})
	default:
		b.tensor(dst, e)
	}
}

func (b *builder) tensor(dst Var, e ir.Expr) {
	switch e := e.(type) {
	case *ir.Fill:
		element := Operand{Var: NoVar, Type: ir.FloatType}
		if e.Value != nil {
			element = b.value(e.Value)
		}
		b.emit(Op{Code: Fill, Dst: dst, Args: []Operand{element}, Type: e.Type, Slot: Heap})
	case *ir.TensorLit:
		b.emit(Op{Code: Literal, Dst: dst, Args: b.values(e.Elements...), Type: e.Type, Slot: Heap})
	case *ir.Sum:
		b.emit(Op{Code: Sum, Dst: dst, Args: b.values(e.Value), Type: b.info.Types[e.Value]})
	default:
		b.emit(Op{Code: Copy, Dst: dst, Args: []Operand{b.value(e)}})
	}
}

func (b *builder) newStruct(dst Var, e *ir.New) {
	def := b.info.Program.Struct(e.Struct)
	o := Op{Code: New, Dst: dst, Type: ir.StructType(e.Struct)}
	for _, f := range e.Fields {
		o.Args = append(o.Args, b.value(f.Value))
		o.Fields = append(o.Fields, def.Field(f.Name))
	}
	b.emit(o)
}

func (b *builder) load(dst Var, e *ir.Field) {
	t := b.info.Types[e.Value]
	field := b.info.Program.Struct(t.Name).Field(e.Name)
	b.emit(Op{Code: Load, Dst: dst, Args: b.values(e.Value), Type: t, Index: int64(field)})
}
