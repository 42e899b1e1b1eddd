package interp

import "tlruntime/compiler/lower/ir"

// expr computes a value that shares nothing with any variable.
func (f *frame) expr(e ir.Expr) any {
	f.step(1)
	switch e := e.(type) {
	case *ir.IntLit:
		return e.Value
	case *ir.FloatLit:
		return e.Value
	case *ir.None:
		return f.zero(e.Type)
	case *ir.Var:
		return f.copied(f.variable(e.Name)[e.Name])
	case *ir.Binary:
		return f.binary(e)
	case *ir.Convert:
		v := f.expr(e.Value)
		if e.To == ir.Int {
			return toInt(v.(float64))
		}
		return float64(v.(int64))
	case *ir.Call:
		return f.machine.call(f.info.Calls[e], f.exprs(e.Args))
	case *ir.MethodCall:
		args := append([]any{f.expr(e.Receiver)}, f.exprs(e.Args)...)
		return f.machine.call(f.info.Calls[e], args)
	}
	return f.reference(e)
}

func (f *frame) exprs(exprs []ir.Expr) (values []any) {
	for _, e := range exprs {
		values = append(values, f.expr(e))
	}
	return values
}

// reference computes expressions about structs and tensors.
func (f *frame) reference(e ir.Expr) any {
	switch e := e.(type) {
	case *ir.IsNone:
		return isNone(f.expr(e.Value))
	case *ir.New:
		def := f.info.Program.Struct(e.Struct)
		o := &object{def, f.zeros(def)}
		for _, field := range e.Fields {
			o.fields[def.Field(field.Name)] = f.expr(field.Value)
		}
		return o
	case *ir.Field:
		o := f.expr(e.Value).(*object)
		if o.fields == nil {
			return f.zero(o.def.Fields[o.def.Field(e.Name)].Type)
		}
		return o.fields[o.def.Field(e.Name)]
	case *ir.Element:
		v, i := f.expr(e.Value), f.expr(e.Index).(int64)
		if v, ok := v.(*vec); ok {
			return f.element(v, i)
		}
		return v.(*tensor).at(i)
	case *ir.NewVec:
		return &vec{typ: e.Type, made: true}
	case *ir.Len:
		return int64(len(f.expr(e.Value).(*vec).elements))
	case *ir.Sum:
		return sum(f.expr(e.Value).(*tensor))
	case *ir.Fill:
		return f.fill(e)
	case *ir.TensorLit:
		t := &tensor{typ: e.Type}
		for _, x := range e.Elements {
			t.elements = append(t.elements, t.round(f.expr(x).(float64)))
		}
		return t
	}
	return nil
}

func isNone(v any) int64 {
	switch v := v.(type) {
	case *object:
		return bit(v.fields == nil)
	case *tensor:
		return bit(v.elements == nil)
	case *vec:
		return bit(!v.made)
	}
	return 0
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func sum(t *tensor) (total float64) {
	for _, x := range t.elements {
		total += x
	}
	return total
}

func (f *frame) fill(e *ir.Fill) *tensor {
	t := &tensor{typ: e.Type, elements: make([]float64, e.Type.Elements())}
	f.step(len(t.elements))
	if e.Value != nil {
		x := t.round(f.expr(e.Value).(float64))
		for i := range t.elements {
			t.elements[i] = x
		}
	}
	return t
}

func (f *frame) binary(e *ir.Binary) any {
	left, right := f.expr(e.Left), f.expr(e.Right)
	switch a := left.(type) {
	case int64:
		return integers(e.Op, a, right.(int64))
	case float64:
		return floats(e.Op, a, right.(float64))
	}
	a, b := left.(*tensor), right.(*tensor)
	t := &tensor{typ: a.typ, elements: make([]float64, a.typ.Elements())}
	f.step(len(t.elements))
	for i := range t.elements {
		t.elements[i] = t.round(floats(e.Op, a.at(int64(i)), b.at(int64(i))).(float64))
	}
	return t
}

func integers(op ir.Op, a, b int64) int64 {
	switch op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.Div:
		if b == 0 {
			return 0
		}
		return a / b
	case ir.Rem:
		if b == 0 {
			return a
		}
		return a % b
	}
	return compare(op, a, b)
}

func floats(op ir.Op, a, b float64) any {
	switch op {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.Div:
		return a / b
	}
	return compare(op, a, b)
}

func compare[N int64 | float64](op ir.Op, a, b N) int64 {
	switch op {
	case ir.Eq:
		return bit(a == b)
	case ir.Ne:
		return bit(a != b)
	case ir.Lt:
		return bit(a < b)
	case ir.Le:
		return bit(a <= b)
	case ir.Gt:
		return bit(a > b)
	}
	return bit(a >= b)
}
