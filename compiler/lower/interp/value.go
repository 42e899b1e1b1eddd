package interp

import "tlruntime/compiler/lower/ir"

// object is a value of a struct type; nil fields are the value none.
type object struct {
	def    *ir.StructDef
	fields []any
}

// tensor is a value of a tensor type; nil elements are the value none.
type tensor struct {
	typ      ir.Type
	elements []float64
}

// round gives an element the precision of the tensor's.
func (t *tensor) round(x float64) float64 {
	if t.typ.DType == ir.F32 {
		return float64(float32(x))
	}
	return x
}

// at is an element; those of none, and those outside, are zeros.
func (t *tensor) at(i int64) float64 {
	if i < 0 || i >= int64(len(t.elements)) {
		return 0
	}
	return t.elements[i]
}

// make gives none its elements.
func (t *tensor) make() {
	if t.elements == nil {
		t.elements = make([]float64, t.typ.Elements())
	}
}

// vec is a value of a vec type; one that was not made is the value none.
type vec struct {
	typ      ir.Type
	elements []any
	made     bool
}

// element is an element of a vec; those outside are none.
func (m *machine) element(v *vec, i int64) any {
	if i < 0 || i >= int64(len(v.elements)) {
		return m.zero(v.typ.Element())
	}
	return v.elements[i]
}

// zero is the value of a variable that nobody has given one.
func (m *machine) zero(t ir.Type) any {
	switch t.Kind {
	case ir.Int:
		return int64(0)
	case ir.Float:
		return float64(0)
	case ir.Struct:
		return &object{def: m.info.Program.Struct(t.Name)}
	case ir.Vec:
		return &vec{typ: t}
	}
	return &tensor{typ: t}
}

func (m *machine) zeros(def *ir.StructDef) []any {
	fields := make([]any, len(def.Fields))
	for i, f := range def.Fields {
		fields[i] = m.zero(f.Type)
	}
	return fields
}

// copied returns a value that shares nothing with v.
func (m *machine) copied(v any) any {
	switch v := v.(type) {
	case *object:
		m.step(1)
		c := &object{def: v.def}
		for _, f := range v.fields {
			c.fields = append(c.fields, m.copied(f))
		}
		if v.fields != nil && c.fields == nil {
			c.fields = []any{}
		}
		return c
	case *tensor:
		m.step(1 + len(v.elements))
		return &tensor{v.typ, append([]float64(nil), v.elements...)}
	case *vec:
		m.step(1)
		c := &vec{typ: v.typ, made: v.made}
		for _, x := range v.elements {
			c.elements = append(c.elements, m.copied(x))
		}
		return c
	}
	return v
}
